/* Helpers for the derivatives of matrix products, joins, strided views and
 * activations.
 */

#include <string.h>

#include "grad/formula/helpers.h"

/* -- Matrix products ------------------------------------------------------ */

/* mm_like(like, a, b): the matrix product of a and b, column-major if `like`
 * is, so that the gradient of a transposed weight needs no copy. */
ST_HELPER_FN(st__help_mm_like) {
  ST_READ(GEOMETRY(g), TENSOR(a), TENSOR(b));
  st_op_scope c = {.status = ST_OK};
  /* a script may have changed its rank before it was saved */
  if (!g || g->ndim != 2 || g->dims[2] != 1 || g->dims[3] != g->dims[0]) {
    return st__scope_return(&c, st__apply2(&c, ST_OP_mm, a, b), out);
  }
  const st_tensor *transposed = st__apply2(&c, ST_OP_mm,
                                           st__apply1(&c, ST_OP_t, b),
                                           st__apply1(&c, ST_OP_t, a));
  return st__scope_return(&c, st__apply1(&c, ST_OP_t, transposed), out);
}

/* -- Joins ---------------------------------------------------------------- */

/* front(t, shape): t, padded with zeros after its elements to that shape. */
ST_HELPER_FN(st__help_front) {
  ST_READ(TENSOR(t), BOXED(want));
  st_op_scope c = {.status = ST_OK};
  for (int d = 0; st__scope_ok(&c) && d < t->ndim && d < (int)want->len; d++) {
    int64_t sizes[ST_MAX_DIMS];
    const int64_t more = want->u.ints[d] - t->sizes[d];
    if (more <= 0) continue;
    for (int k = 0; k < t->ndim; k++) sizes[k] = k == d ? more : t->sizes[k];
    const st_tensor *zeros =
      ST_APPLY(&c, ST_OP_new_zeros, t, st__of_ints(sizes, t->ndim));
    st_tensor *list[] = {(st_tensor *)(uintptr_t)t,
                         (st_tensor *)(uintptr_t)zeros};
    if (st__scope_ok(&c)) {
      t = ST_APPLY(&c, ST_OP_cat, st__of_tensors(list, 2), d);
    }
  }
  return st__scope_return(&c, (st_tensor *)(uintptr_t)t, out);
}

static bool is_empty_vector(const st_saved_geometry *g) {
  return !g || (g->ndim == 1 && g->dims[0] == 0);
}

/* cat_back(tensors, grad, dim): the slice of grad of each tensor; an empty one
 * for an empty vector, which cat skips. */
ST_HELPER_FN(st__help_cat_back) {
  const st_saved *list = args->list;
  const uint32_t len = st__read_value(&args)->len;
  ST_READ(MUTABLE(grad));
  int dim;
  int64_t at = 0;
  ST_TRY(st__wrap_dim(st__read_int(&args), grad->ndim, &dim));
  ST_TRY(st__value_new_tensors((int)len, out));
  for (uint32_t i = 0; i < len; i++) {
    const st_saved_geometry *g = list[i].geometry;
    if (!is_empty_vector(g) && g->ndim != grad->ndim) {
      st__value_clear(out); /* the result was reshaped without recording */
      return st__fail(ST_BAD_SHAPE, "cat: the gradient has %d dimensions, "
                      "tensor %d has %d", grad->ndim, (int)i + 1, g->ndim);
    }
    const bool is_empty = is_empty_vector(g) && grad->ndim != 1;
    const int64_t size = is_empty_vector(g) ? 0 : g->dims[dim];
    st_op_scope c = {.status = ST_OK};
    st_tensor *part = is_empty ? ST_APPLY(&c, ST_OP_new_zeros, grad, ST_INTS(0))
                               : st__apply_narrow(&c, grad, dim, at, size);
    if (st__scope_ok(&c)) st__tensor_retain(out->u.tensors[i] = part);
    at += size;
    const st_status status = st__scope_end(&c, 0, NULL, NULL);
    if (status == ST_OK) continue;
    st__value_clear(out);
    return status;
  }
  return ST_OK;
}

/* repeat_back(self, grad, repeats): the sum over the repetitions. */
ST_HELPER_FN(st__help_repeat_back) {
  ST_READ(GEOMETRY(g), TENSOR(grad), BOXED(times));
  st_op_scope c = {.status = ST_OK};
  int64_t split[2 * ST_MAX_DIMS], dims[ST_MAX_DIMS];
  const int lead = (int)times->len - g->ndim;
  int ns = 0, nd = 0;
  for (int d = 0; d < (int)times->len; d++) {
    dims[nd++] = ns;
    split[ns++] = times->u.ints[d];
    if (d >= lead) split[ns++] = g->dims[d - lead];
  }
  const st_value sizes = st__of_ints(g->dims, g->ndim);
  if (ns > ST_MAX_DIMS) {
    return st__scope_return(&c, ST_APPLY(&c, ST_OP_new_zeros, grad, sizes),
                            out);
  }
  const st_tensor *t =
    ST_APPLY(&c, ST_OP_reshape, grad, st__of_ints(split, ns));
  if (nd > 0) {
    t = ST_APPLY(&c, ST_OP_sum_dim_IntList, t, st__of_ints(dims, nd));
  }
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_reshape, t, sizes), out);
}

/* -- Strides -------------------------------------------------------------- */

/* The index in `memory` of each element of a geometry, flattened. */
static st_tensor *storage_indices(st_op_scope *c, const st_tensor *memory,
                                  int ndim, const int64_t *sizes,
                                  const int64_t *strides, int64_t offset) {
  const st_tensor *all = ST_APPLY(c, ST_OP_arange, memory->numel, ST_INT64,
                                  st__none(), memory->device);
  const st_tensor *seen =
    ST_APPLY(c, ST_OP_as_strided, all, st__of_ints(sizes, ndim),
             st__of_ints(strides, ndim), offset);
  return st__apply_flatten(c, seen);
}

/* The number of elements from the first of the storage to the last. It wraps
 * for sizes that only a kernel in Lua accepts; as_strided checks them then. */
static int64_t extent(int ndim, const int64_t *sizes, const int64_t *strides,
                      int64_t offset) {
  uint64_t last = (uint64_t)offset;
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == 0) return 0;
    last += ((uint64_t)sizes[d] - 1) * (uint64_t)strides[d];
  }
  return (int64_t)(last + 1);
}

/* True if two elements may have the same address. They do not if, sorted by
 * stride, each dimension steps over the extent of all smaller ones. */
static bool may_overlap(int ndim, const int64_t *sizes,
                        const int64_t *strides) {
  uint64_t done = 0;
  int64_t reach = 0;
  for (int k = 0; k < ndim; k++) {
    int best = -1;
    for (int d = 0; d < ndim; d++) {
      if (done >> d & 1) continue;
      if (best < 0 || strides[d] < strides[best]) best = d;
    }
    done |= (uint64_t)1 << best;
    if (sizes[best] < 2) continue;
    if (strides[best] <= reach) return true;
    reach = (int64_t)((uint64_t)reach + ((uint64_t)sizes[best] - 1) *
                                        (uint64_t)strides[best]);
  }
  return false;
}

typedef struct strided {
  int n;
  const int64_t *sizes, *strides;
  int64_t offset;
} strided;

/* A buffer of `size` elements with grad scattered into it by the geometry s;
 * elements with the same address are added. */
static st_tensor *scatter_strided(st_op_scope *c, const st_tensor *grad,
                                  int64_t size, const strided *s) {
  const st_tensor *memory =
    ST_APPLY(c, ST_OP_new_zeros, grad, st__of_ints(&size, 1));
  if (!st__scope_ok(c) || grad->numel == 0) {
    return (st_tensor *)(uintptr_t)memory;
  }
  if (!may_overlap(s->n, s->sizes, s->strides)) {
    return ST_APPLY(c, ST_OP_as_strided_scatter, memory, grad,
                    st__of_ints(s->sizes, s->n), st__of_ints(s->strides, s->n),
                    s->offset);
  }
  const st_tensor *at = storage_indices(c, memory, s->n, s->sizes, s->strides,
                                        s->offset);
  const st_value args[] = {st__of_tensor(memory), st__of_int(0),
                           st__of_tensor(at),
                           st__of_tensor(st__apply_flatten(c, grad))};
  return st__scope_ok(c) ? st__apply(c, ST_OP_index_add, 4, args) : NULL;
}

/* Divides each element of memory by the number of the input's elements that
 * have its address. */
static st_tensor *divide_shared(st_op_scope *c, const st_tensor *memory,
                                const strided *in) {
  st_tensor *ones =
    ST_APPLY(c, ST_OP_new_ones, memory, st__of_ints(in->sizes, in->n));
  if (!st__scope_ok(c)) return NULL;
  const st_tensor *times = scatter_strided(c, ones, memory->numel, in);
  return st__div(c, memory, times);
}

/* as_strided_back(self, grad, size, stride, storage_offset) */
ST_HELPER_FN(st__help_as_strided_back) {
  ST_READ(GEOMETRY(g), TENSOR(grad), BOXED(sizes), BOXED(strides));
  const int64_t offset = st__to_int(st__read_value(&args), g->offset);
  st_op_scope c = {.status = ST_OK};
  if (sizes->len != strides->len) { /* a kernel in Lua had accepted them */
    return st__fail(ST_BAD_SHAPE, "as_strided: %d sizes, but %d strides",
                    (int)sizes->len, (int)strides->len);
  }
  if (offset < 0) {
    return st__fail(ST_BAD_VALUE, "as_strided: the offset is negative");
  }
  strided view = {(int)sizes->len, sizes->u.ints, strides->u.ints, offset};
  strided in = {g->ndim, g->dims, g->dims + g->ndim, g->offset};
  const int64_t low = view.offset < in.offset ? view.offset : in.offset;
  view.offset -= low;
  in.offset -= low;
  const int64_t need[] = {
    extent(view.n, view.sizes, view.strides, view.offset),
    extent(in.n, in.sizes, in.strides, in.offset)};
  const int64_t size = need[0] > need[1] ? need[0] : need[1];
  const st_tensor *memory = scatter_strided(&c, grad, size, &view);
  if (st__scope_ok(&c) && size > 0 &&
      may_overlap(in.n, in.sizes, in.strides)) {
    memory = divide_shared(&c, memory, &in);
  }
  return st__scope_return(&c,
                          ST_APPLY(&c, ST_OP_as_strided, memory,
                                   st__of_ints(in.sizes, in.n),
                                   st__of_ints(in.strides, in.n), in.offset),
                          out);
}

/* -- Second derivatives of activations ------------------------------------ */

static st_tensor *square(st_op_scope *c, const st_tensor *a) {
  return st__apply1(c, ST_OP_square, a);
}

/* 1 - tanh(u)^2 */
static st_tensor *one_less_square(st_op_scope *c, const st_tensor *u) {
  const st_tensor *one = st__apply1(c, ST_OP_ones_like, u);
  return st__apply2(c, ST_OP__tanh_slope, one, u);
}

/* y = x t, t = tanh(softplus(x)), s = sigmoid(x):
 * y'' = (1 - t^2) s (2 + x (1 - s - 2 t s)). */
ST_HELPER_FN(st__help_mish_curvature) {
  ST_READ(TENSOR(x));
  st_op_scope c = {.status = ST_OK};
  const st_tensor *s = st__apply1(&c, ST_OP_sigmoid, x);
  const st_tensor *t = st__apply1(&c, ST_OP_tanh,
                                  st__apply1(&c, ST_OP_softplus, x));
  const st_tensor *slope =
    st__mul(&c, s, one_less_square(&c, st__apply1(&c, ST_OP_softplus, x)));
  const st_tensor *bend =
    st__minus(&c, st__apply1(&c, ST_OP_sigmoid, st__scaled(&c, x, -1)),
              st__scaled(&c, st__mul(&c, t, s), 2));
  return st__scope_return(
    &c, st__mul(&c, slope, st__shifted(&c, st__mul(&c, x, bend), 2)), out);
}

/* Both second derivatives of gelu are 0 from |x| = 100 on, in float16 from 10:
 * powers of greater x are infinite there. */
static st_tensor *clamp_gelu(st_op_scope *c, const st_tensor *x) {
  if (!st__scope_ok(c)) return NULL;
  const double top = x->dtype == ST_FLOAT16 ? 10 : 100;
  return ST_APPLY(c, ST_OP_clamp, x, st__of_float(-top), top);
}

/* y = x Phi(x): y'' = phi(x) (2 - x^2). */
static st_tensor *exact_gelu(st_op_scope *c, const st_tensor *x) {
  const st_tensor *xx = square(c, x);
  const st_tensor *phi = st__scaled(
    c, st__apply1(c, ST_OP_exp, st__scaled(c, xx, -0.5)), 0.3989422804014327);
  return st__mul(c, phi, st__shifted(c, st__scaled(c, xx, -1), 2));
}

/* y = x (1 + t) / 2, t = tanh(u), u = k (x + a x^3):
 * y'' = (1 - t^2) (u' + x (u'' - 2 t u'^2) / 2). */
static st_tensor *tanh_gelu(st_op_scope *c, const st_tensor *x) {
  const double k = 0.7978845608028654, a = 0.044715;
  const st_tensor *xx = square(c, x);
  const st_tensor *u =
    st__mul(c, x, st__shifted(c, st__scaled(c, xx, k * a), k));
  const st_tensor *t = st__apply1(c, ST_OP_tanh, u);
  const st_tensor *du = st__shifted(c, st__scaled(c, xx, 3 * a * k), k);
  const st_tensor *bend =
    st__minus(c, st__scaled(c, x, 6 * k * a),
              st__scaled(c, st__mul(c, t, square(c, du)), 2));
  const st_tensor *sum =
    st__plus(c, du, st__scaled(c, st__mul(c, x, bend), 0.5));
  return st__mul(c, one_less_square(c, u), sum);
}

/* gelu_curvature(self, approximate) */
ST_HELPER_FN(st__help_gelu_curvature) {
  ST_READ(TENSOR(x), BOXED(approximate));
  const char *how = approximate->tag == ST_TAG_STRING
                    ? approximate->u.string : "none";
  st_op_scope c = {.status = ST_OK};
  x = clamp_gelu(&c, x);
  return st__scope_return(&c, strcmp(how, "tanh") == 0
                              ? tanh_gelu(&c, x) : exact_gelu(&c, x), out);
}
