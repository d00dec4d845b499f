/* Calls of operators by composite rows: Note [Operators that a composite row
 * calls].
 */

#include "op/row/typed.h"

static st_status view(const st_tensor *self, int n, const int64_t *sizes,
                      const int64_t *strides, st_tensor **out) {
  (void)strides;
  return st__invoke1(ST_OP_view, ST_VALUES(self, st__of_ints(sizes, n)), out);
}

static st_status permute(const st_tensor *self, int n, const int64_t *dims,
                         st_tensor **out) {
  return st__invoke1(ST_OP_permute, ST_VALUES(self, st__of_ints(dims, n)), out);
}

static st_status slice(const st_tensor *self, int64_t dim, int64_t start,
                       int64_t end, int64_t step, st_tensor **out) {
  return st__invoke1(ST_OP_slice_Tensor, ST_VALUES(self, dim, start, end, step),
                     out);
}

static st_status clone(const st_tensor *self, st_format format,
                       st_tensor **out) {
  return st__invoke1(ST_OP_clone, ST_VALUES(self, format), out);
}

static st_status to_copy(const st_tensor *self, st_dtype dtype,
                         st_device device, st_format format,
                         st_tensor **out) {
  return st__invoke1(ST_OP__to_copy,
                     ST_VALUES(self, dtype, st__none(), device, st__none(),
                               st__of_bool(false), format),
                     out);
}

const st_callees st__operators = {view, permute, slice, clone, to_copy};
