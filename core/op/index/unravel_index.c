/* Positions in a flattened tensor and their coordinates: unravel_index,
 * ravel_multi_index, flatnonzero; nonzero_static.
 */

#include <inttypes.h>
#include <string.h>

#include "op/create/factory.h"
#include "op/device/device.h"
#include "op/index/index.h"
#include "op/row/composite.h"

static st_status check_integers(const st_tensor *t, const char *name) {
  if (st__is_integral(t->dtype) && t->dtype != ST_BOOL) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "%s must have an integer dtype, not %s", name,
                  st__dtype_name(t->dtype));
}

/* The number of elements of a tensor with these sizes, whose distances fit: a
 * size of 0 counts as 1 there. */
static st_status count_elements(st_ints sizes, const char *name, int64_t *n) {
  int64_t most = 1;
  *n = 1;
  if (sizes.n > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "%s has more than %d entries", name,
                    ST_MAX_DIMS);
  }
  for (uint32_t d = 0; d < sizes.n; d++) {
    if (sizes.p[d] < 0) {
      return st__fail(ST_BAD_SHAPE, "%s must not be negative, entry %u is %"
                      PRId64, name, d + 1, sizes.p[d]);
    }
    if (sizes.p[d] == 0) *n = 0;
    else if (!st__mul_sizes(most, sizes.p[d], &most)) {
      return st__fail(ST_BAD_SHAPE, "%s is of a tensor that is too large",
                      name);
    }
  }
  if (*n != 0) *n = most;
  return ST_OK;
}

/* Positions that count from base as ones that count from 0; negative ones stay
 * as they are. */
static const st_tensor *from_zero(st_op_scope *c, const st_tensor *index,
                                  int64_t base) {
  if (base == 0) return index;
  return st__minus(c, index, ST_APPLY(c, ST_OP_clamp, index, 0, base));
}

/* -- unravel_index -------------------------------------------------------- */

/* Positions of any integer dtype as int64, checked. */
static const st_tensor *positions(st_op_scope *c, const st_tensor *index,
                                  int64_t numel, int64_t base) {
  bool is_bad = false;
  int64_t bad = 0;
  index = st__apply_to(c, index, ST_INT64);
  if (st__scope_ok(c)) {
    c->status = st__has_bad_index(index, numel, base, &is_bad);
  }
  if (st__scope_ok(c) && is_bad) {
    st__find_bad_index(index, numel, base, &bad);
    c->status = st__fail(ST_BAD_INDEX, "position %" PRId64 " of %" PRId64
                         " elements; positions count from %" PRId64, bad,
                         numel, base);
  }
  return index;
}

/* The sizes, and the distances in a contiguous tensor, at least 1: two vectors
 * on the CPU or Meta. */
static st_status size_vectors(st_ints sizes, bool is_meta, st_tensor *out[2]) {
  const int64_t n = sizes.n;
  const st_device device = is_meta ? ST_DEVICE_META : ST_DEVICE_CPU;
  out[0] = out[1] = NULL;
  for (int i = 0; i < 2; i++) {
    const st_status status = st__tensor_empty(device, ST_INT64, 1, &n,
                                              ST_FORMAT_CONTIGUOUS, &out[i]);
    if (status != ST_OK) {
      st__tensor_release(&out[0]);
      return status;
    }
  }
  if (is_meta) return ST_OK;
  int64_t step = 1;
  int64_t *size = (int64_t *)(void *)st__data(out[0]);
  int64_t *distance = (int64_t *)(void *)st__data(out[1]);
  for (int64_t d = n - 1; d >= 0; d--) {
    size[d] = sizes.p[d] > 0 ? sizes.p[d] : 1;
    distance[d] = step;
    step *= size[d];
  }
  return ST_OK;
}

static st_status unravel_index(const st_tensor *indices, st_ints shape,
                               int64_t base, st_value *rets) {
  int64_t numel = 0;
  st_tensor *vectors[2] = {NULL};
  st_value rows;
  ST_TRY(check_integers(indices, "indices"));
  ST_TRY(count_elements(shape, "shape", &numel));
  st_op_scope c = {.n = 0};
  indices = from_zero(&c, positions(&c, indices, numel, base), base);
  if (st__scope_ok(&c)) {
    c.status = size_vectors(shape, !st__has_elements(indices), vectors);
  }
  for (int i = 0; st__scope_ok(&c) && i < 2; i++) c.t[c.n++] = vectors[i];
  const st_tensor *t = ST_APPLY(&c, ST_OP_unsqueeze, indices, -1);
  t = st__apply2(&c, ST_OP_floor_divide, t, vectors[1]);
  t = st__apply2(&c, ST_OP_remainder_Tensor, t, vectors[0]);
  ST_TRY(st__scope_return(&c, ST_APPLY(&c, ST_OP_add_Scalar, t, base), &rows));
  const st_status status =
    st__invoke(ST_OP_unbind_int, ST_VALUES(rows, -1), rets);
  st__value_clear(&rows);
  return status;
}

ST_BOXED(st__box_unravel_index) {
  if (st__is_privateuse(args->u.tensor)) {
    return st_cpu_fallback(call, args, rets);
  }
  return unravel_index(args[0].u.tensor, (st_ints){args[1].u.ints, args[1].len},
                       args[2].u.i, rets);
}

/* -- ravel_multi_index ---------------------------------------------------- */

typedef enum outside { RAISE, WRAP, CLIP, OUTSIDE_COUNT } outside;

static st_status read_mode(const st_value *v, outside *mode) {
  static const char *const words[] = {"raise", "wrap", "clip"};
  for (int i = 0; i < OUTSIDE_COUNT; i++) {
    *mode = (outside)i;
    if (strcmp(v->u.string, words[i]) == 0) return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "mode must be 'raise', 'wrap' or 'clip', not "
                  "'%s'", v->u.string);
}

/* Coordinates as int64, each from base to base + size - 1. */
static const st_tensor *checked(st_op_scope *c, const st_tensor *index,
                                int d, int64_t size, int64_t base) {
  index = st__apply_to(c, index, ST_INT64);
  if (st__scope_ok(c)) c->status = st__check_indices(index, d, size, base);
  if (!st__scope_ok(c) || index->numel == 0 || !st__has_elements(index)) {
    return index;
  }
  const st_value least = st__of_tensor(st__apply1(c, ST_OP_min, index));
  st_value item = st__of_int(base);
  if (st__scope_ok(c)) c->status = st__invoke(ST_OP_item, 1, &least, &item);
  if (st__scope_ok(c) && item.u.i < base) {
    c->status = st__fail(ST_BAD_INDEX, "coordinate %" PRId64 " of dimension %"
                         PRId64 " is less than %" PRId64, item.u.i,
                         st__display_index(d), base);
  }
  return index;
}

/* Coordinates along dimension d, of the given size, that count from 0. */
static const st_tensor *coordinates(st_op_scope *c, const st_tensor *index,
                                    int d, int64_t size, outside mode,
                                    int64_t base) {
  if (mode == RAISE || size == 0) {
    return ST_APPLY(c, ST_OP_sub_Scalar, checked(c, index, d, size, base),
                    base);
  }
  index = ST_APPLY(c, ST_OP_sub_Scalar, st__apply_to(c, index, ST_INT64), base);
  if (mode == WRAP) return ST_APPLY(c, ST_OP_remainder_Scalar, index, size);
  return ST_APPLY(c, ST_OP_clamp, index, 0, size - 1);
}

ST_BOXED(st__box_ravel_multi_index) {
  ST_ARGS(TENSORS(index), INTS(dims), BOXED(word), INT(base));
  st_op_scope c = {.n = 0};
  st_tensor *sum = NULL;
  outside mode;
  int64_t numel;
  if (index.n == 0 || index.n != dims.n) {
    return st__fail(ST_BAD_SHAPE, "multi_index has %u tensors, dims has %u "
                    "entries", index.n, dims.n);
  }
  ST_TRY(read_mode(word, &mode));
  ST_TRY(count_elements(dims, "dims", &numel));
  for (uint32_t d = 0; d < index.n; d++) {
    ST_TRY(check_integers(index.p[d], "multi_index"));
  }
  for (uint32_t d = 0; d < index.n && st__scope_ok(&c); d++) {
    st_op_scope round = {.n = 0};
    const st_tensor *t = coordinates(&round, index.p[d], (int)d, dims.p[d],
                                     mode, base);
    sum = d == 0
            ? (st_tensor *)(uintptr_t)t
            : st__plus(&round,
                       ST_APPLY(&round, ST_OP_mul_Scalar, sum, dims.p[d]), t);
    st__scope_replace(&c, &round, &sum);
  }
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_add_Scalar, sum, base), rets);
}

/* -- flatnonzero, nonzero_static ------------------------------------------ */

ST_BOXED(st__box_flatnonzero) {
  ST_ARGS(TENSOR(self), VALUE(base));
  st_op_scope c = {.n = 0};
  const st_tensor *rows =
    ST_APPLY(&c, ST_OP_nonzero, st__apply_flatten(&c, self), base);
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_squeeze_dim, rows, 1), rets);
}

static st_status nonzero_static(const st_tensor *self, int64_t size,
                                int64_t fill, int64_t base, st_value *rets) {
  const int64_t sizes[] = {size, self->ndim};
  st_op_scope c = {.n = 0};
  if (size < 0) {
    return st__fail(ST_BAD_VALUE, "size must not be negative, it is %" PRId64,
                    size);
  }
  st_tensor *out = ST_APPLY(&c, ST_OP_full, st__of_ints(sizes, 2), fill,
                            ST_INT64, st__none(), self->device);
  if (st__is_strided(self) && !st__has_elements(self)) {
    return st__scope_return(&c, out, rets);
  }
  const st_tensor *rows = ST_APPLY(&c, ST_OP_nonzero, self, base);
  if (!st__scope_ok(&c)) return st__scope_return(&c, NULL, rets);
  const int64_t n = rows->sizes[0] < size ? rows->sizes[0] : size;
  st__apply2(&c, ST_OP_copy_, st__apply_narrow(&c, out, 0, 0, n),
             st__apply_narrow(&c, rows, 0, 0, n));
  return st__scope_return(&c, out, rets);
}
ST_TYPED_ARGS(st__box_nonzero_static, nonzero_static, (TENSOR, INT, INT, INT))
