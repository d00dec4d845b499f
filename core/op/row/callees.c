/* Calls of operators by composite rows: Note [Operators that a composite row
 * calls].
 */

#include "op/row/typed.h"

static st_status view(const st_tensor *self, int n, const int64_t *sizes,
                      const int64_t *strides, st_tensor **out) {
  (void)strides;
  const st_value args[] = {st__of_tensor(self), st__of_ints(sizes, n)};
  return st__invoke1(ST_OP_view, 2, args, out);
}

static st_status permute(const st_tensor *self, int n, const int64_t *dims,
                         st_tensor **out) {
  const st_value args[] = {st__of_tensor(self), st__of_ints(dims, n)};
  return st__invoke1(ST_OP_permute, 2, args, out);
}

static st_status slice(const st_tensor *self, int64_t dim, int64_t start,
                       int64_t end, int64_t step, st_tensor **out) {
  const st_value args[] = {st__of_tensor(self), st__of_int(dim),
                           st__of_int(start), st__of_int(end),
                           st__of_int(step)};
  return st__invoke1(ST_OP_slice_Tensor, 5, args, out);
}

static st_status clone(const st_tensor *self, st_format format,
                       st_tensor **out) {
  const st_value args[] = {st__of_tensor(self), st__of_int(format)};
  return st__invoke1(ST_OP_clone, 2, args, out);
}

static st_status to_copy(const st_tensor *self, st_dtype dtype,
                         st_device device, st_format format,
                         st_tensor **out) {
  const st_value args[] = {st__of_tensor(self), st__of_int(dtype),
                           st__none(), st__of_int(device), st__none(),
                           st__of_bool(false), st__of_int(format)};
  return st__invoke1(ST_OP__to_copy, 7, args, out);
}

const st_callees st__operators = {view, permute, slice, clone, to_copy};
