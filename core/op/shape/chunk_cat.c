/* Pieces of several tensors side by side: _chunk_cat.
 */

#include "base/memory.h"
#include "op/row/composite.h"

static st_status check_tensors(st_tensors list, int dim) {
  const st_tensor *first = list.p[0];
  for (uint32_t i = 0; i < list.n; i++) {
    const st_tensor *t = list.p[i];
    bool fits = t->ndim > dim;
    for (int d = 0; fits && d < dim; d++) fits = t->sizes[d] == first->sizes[d];
    if (!fits) {
      return st__fail(ST_BAD_SHAPE, "tensor number %u of shape %s does not "
                      "have the first %d dimensions of %s and one more", i + 1,
                      ST_SHAPE_TEXT(t), dim, ST_SHAPE_TEXT(first));
    }
    if (t->numel == 0) {
      return st__fail(ST_BAD_SHAPE, "tensor number %u of shape %s is empty",
                      i + 1, ST_SHAPE_TEXT(t));
    }
    if (t->dtype != first->dtype) {
      return st__fail(ST_BAD_DTYPE, "tensor number %u has dtype %s, the first "
                      "one %s", i + 1, st__dtype_name(t->dtype),
                      st__dtype_name(first->dtype));
    }
  }
  return ST_OK;
}

/* t as n rows after its first dim dimensions: dimension dim is filled up with
 * zeros to a multiple of n, and what follows is merged. */
static st_tensor *as_rows(st_op_scope *c, const st_tensor *t, int dim,
                          int64_t n) {
  int64_t pad[2 * ST_MAX_DIMS] = {0}, sizes[ST_MAX_DIMS];
  const int after = t->ndim - dim - 1;
  const int64_t missing = (n - t->sizes[dim] % n) % n;
  for (int d = 0; d < dim; d++) sizes[d] = t->sizes[d];
  sizes[dim] = n;
  sizes[dim + 1] = -1;
  if (missing > 0) {
    pad[2 * after + 1] = missing;
    t = ST_APPLY(c, ST_OP_constant_pad_nd, t, st__of_ints(pad, 2 * after + 2));
  }
  return ST_APPLY(c, ST_OP_reshape, t, st__of_ints(sizes, dim + 2));
}

/* The rows of a tensor, owned. */
static st_status rows_of(const st_tensor *t, int dim, int64_t n,
                         st_tensor **out) {
  st_op_scope c = {.status = ST_OK};
  st_value rows;
  ST_TRY(st__scope_return(&c, as_rows(&c, t, dim, n), &rows));
  *out = rows.u.tensor;
  return ST_OK;
}

static st_status join_rows(st_tensors list, int dim, int64_t n,
                           st_value *rets) {
  const size_t bytes = list.n * sizeof(st_tensor *);
  st_tensor **rows = st__alloc(ST_MEM_SCRATCH, bytes);
  st_status status = rows ? ST_OK : ST_NO_MEMORY;
  uint32_t made = 0;
  while (made < list.n && status == ST_OK) {
    status = rows_of(list.p[made], dim, n, &rows[made]);
    if (status == ST_OK) made++;
  }
  if (status == ST_OK) {
    status = st__invoke(ST_OP_cat,
                        ST_VALUES(st__of_tensors(rows, list.n), dim + 1), rets);
  }
  while (made > 0) st__tensor_release(&rows[--made]);
  st__free(ST_MEM_SCRATCH, rows, bytes);
  return status;
}

ST_BOXED(st__box_chunk_cat) {
  ST_ARGS(TENSORS(list), INT(given), INT(n));
  int dim;
  if (list.n == 0) return st__fail(ST_BAD_VALUE, "tensors is an empty list");
  if (n < 1) {
    return st__fail(ST_BAD_VALUE, "num_chunks must be positive, not %lld",
                    (long long)n);
  }
  ST_TRY(st__wrap_dim(given, list.p[0]->ndim, &dim));
  ST_TRY(check_tensors(list, dim));
  if (dim + 2 > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "the result would have %d dimensions, the "
                    "most are %d", dim + 2, ST_MAX_DIMS);
  }
  return join_rows(list, dim, n, rets);
}
