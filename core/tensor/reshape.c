/* Views with other sizes or another dtype over the same bytes. */

#include "tensor/view.h"

#include <inttypes.h>
#include <string.h>

#include "tensor/subbyte.h"
#include "tensor/view_spec.h"

#define TEXT(n, v) st__shape_text(n, v, (char[160]){0}, 160)

/* -- view ----------------------------------------------------------------- */

static st_status does_not_fit(int64_t numel, int ndim, const int64_t *sizes) {
  return st__fail(ST_BAD_SHAPE, "shape %s is not a shape of %" PRId64
                  " elements", TEXT(ndim, sizes), numel);
}

st_status st__view_infer_size(int64_t numel, int ndim, const int64_t *sizes,
                              int64_t *out) {
  int64_t known = 1;
  int inferred = -1;
  bool overflow = false, empty = false;
  if (ndim > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "a tensor has at most %d dimensions, not "
                    "%d", ST_MAX_DIMS, ndim);
  }
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == -1 && inferred < 0) {
      inferred = d;
    } else if (sizes[d] < 0) {
      return st__fail(ST_BAD_SHAPE, "shape %s: %s", TEXT(ndim, sizes),
                      sizes[d] == -1 ? "only one size can be -1"
                                     : "sizes cannot be negative");
    } else if (sizes[d] == 0) {
      empty = true;
    } else {
      overflow |= !st__mul_sizes(known, sizes[d], &known);
    }
  }
  if (overflow) return does_not_fit(numel, ndim, sizes);
  if (empty) known = 0;
  for (int d = 0; d < ndim; d++) {
    out[d] = sizes[d];
    ST_KEEP_LOOP(out);
  }
  if (inferred < 0) {
    return known == numel ? ST_OK : does_not_fit(numel, ndim, sizes);
  }
  if (known == 0) {
    return st__fail(ST_BAD_SHAPE, "shape %s: the size -1 is ambiguous, as "
                    "there are no elements", TEXT(ndim, sizes));
  }
  if (numel % known) return does_not_fit(numel, ndim, sizes);
  out[inferred] = numel / known;
  return ST_OK;
}

/* Collapses t's dimensions, from the right, into runs with one stride each. The
 * new sizes must fill each run exactly. */
bool st__view_strides(const st_tensor *t, int ndim, const int64_t *sizes,
                      int64_t *strides) {
  if (t->numel == 0) {
    if (ndim == t->ndim &&
        memcmp(sizes, t->sizes, t->ndim * sizeof *sizes) == 0) {
      memcpy(strides, t->strides, t->ndim * sizeof *strides);
    } else {
      st__contiguous_strides(ndim, sizes, strides);
    }
    return true;
  }
  if (t->ndim == 0) {
    for (int d = 0; d < ndim; d++) strides[d] = 1;
    return true;
  }
  int v = ndim - 1;
  int64_t base = t->strides[t->ndim - 1], run = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    run *= t->sizes[d];
    if (d > 0 && (t->sizes[d - 1] == 1 || t->strides[d - 1] == run * base)) {
      continue;
    }
    int64_t filled = 1;
    for (; v >= 0 && (filled < run || sizes[v] == 1); v--) {
      strides[v] = filled * base;
      filled *= sizes[v];
    }
    if (filled != run) return false;
    if (d > 0) base = t->strides[d - 1];
    run = 1;
  }
  return v < 0;
}

st_status st__view_view(const st_tensor *t, int ndim, const int64_t *sizes,
                        st_tensor **out) {
  int64_t full[ST_MAX_DIMS], strides[ST_MAX_DIMS];
  ST_TRY(st__view_infer_size(t->numel, ndim, sizes, full));
  if (!st__view_strides(t, ndim, full, strides)) {
    return st__fail(ST_BAD_LAYOUT, "shape %s with strides %s cannot be viewed "
                    "as %s without a copy; use reshape",
                    ST_SHAPE_TEXT(t), TEXT(t->ndim, t->strides),
                    TEXT(ndim, full));
  }
  return st__tensor_view_inside(
    t, &(st_geometry){ndim, full, strides, t->offset}, out);
}

/* -- flatten, unflatten --------------------------------------------------- */

st_status st__view_flatten_shape(const st_tensor *t, int64_t start,
                                 int64_t end, int64_t *sizes, int *ndim) {
  int a = 0, b = 0;
  ST_TRY(st__wrap_dim(start, t->ndim, &a));
  ST_TRY(st__wrap_dim(end, t->ndim, &b));
  if (a > b) {
    return st__fail(ST_BAD_DIM, "the first dimension to flatten, %d, comes "
                    "after the last, %d", (int)st__display_index(a),
                    (int)st__display_index(b));
  }
  int n = 0;
  for (int d = 0; d < a; d++) sizes[n++] = t->sizes[d];
  int64_t merged = 1;
  ST_TRY(st__numel_of(t->ndim ? b - a + 1 : 0, t->sizes + a, &merged));
  sizes[n++] = merged;
  for (int d = b + 1; d < t->ndim; d++) sizes[n++] = t->sizes[d];
  *ndim = n;
  return ST_OK;
}

st_status st__view_unflatten_shape(const st_tensor *t, int64_t dim, int n,
                                   const int64_t *split, int64_t *sizes,
                                   int *ndim) {
  int d = 0;
  ST_TRY(st__wrap_dim(dim, t->ndim, &d));
  if (n == 0 || t->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "cannot split dimension %d of shape %s into "
                    "%s", (int)st__display_index(d), ST_SHAPE_TEXT(t),
                    TEXT(n, split));
  }
  if (t->ndim - 1 + n > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "a tensor has at most %d dimensions, not "
                    "%d", ST_MAX_DIMS, t->ndim - 1 + n);
  }
  ST_TRY(st__view_infer_size(t->sizes[d], n, split, sizes + d));
  for (int i = 0; i < d; i++) sizes[i] = t->sizes[i];
  for (int i = d + 1; i < t->ndim; i++) sizes[i - 1 + n] = t->sizes[i];
  *ndim = t->ndim - 1 + n;
  return ST_OK;
}

/* -- Complex and real ----------------------------------------------------- */

static st_status needs_complex(const st_tensor *t) {
  return st__fail(ST_BAD_DTYPE, "needs a complex tensor, got %s",
                  st__dtype_name(t->dtype));
}

/* The geometry of t in units of half an element: real and imaginary parts. */
static void load_halves(st_view_spec *g, const st_tensor *t) {
  st__view_spec_load(g, t);
  g->offset *= 2;
  for (int d = 0; d < g->ndim; d++) g->strides[d] *= 2;
}

st_status st__view_as_real(const st_tensor *t, st_tensor **out) {
  if (!st__is_complex(t->dtype)) return needs_complex(t);
  if (st__is_conj(t)) {
    return st__fail(ST_BAD_STATE, "self is a lazy conjugate, whose imaginary "
                    "parts are not in memory: clone it first, or use real or "
                    "imag");
  }
  st_view_spec g;
  load_halves(&g, t);
  st__view_spec_insert(&g, g.ndim, 2, 1);
  return st__view_spec_apply_as(t, st__real_dtype(t->dtype), &g, out);
}

st_status st__view_imag(const st_tensor *t, st_tensor **out) {
  if (!st__is_complex(t->dtype)) return needs_complex(t);
  st_view_spec g;
  load_halves(&g, t);
  g.offset++;
  return st__view_spec_apply_as(t, st__real_dtype(t->dtype), &g, out);
}

st_status st__view_as_complex(const st_tensor *t, st_tensor **out) {
  const st_dtype dtype = t->dtype;
  const int last = t->ndim - 1;
  if (dtype != ST_FLOAT16 && dtype != ST_FLOAT32 && dtype != ST_FLOAT64) {
    return st__fail(ST_BAD_DTYPE, "needs float16, float32 or float64, got %s",
                    st__dtype_name(dtype));
  }
  if (last < 0 || t->sizes[last] != 2) {
    return st__fail(ST_BAD_SHAPE, "the last dimension must have size 2, got "
                    "shape %s", ST_SHAPE_TEXT(t));
  }
  st_view_spec g;
  st__view_spec_load(&g, t);
  bool odd = g.offset & 1;
  for (int d = 0; d < last; d++) {
    odd |= g.strides[d] & 1;
    g.strides[d] /= 2;
  }
  if (odd || g.strides[last] != 1) {
    return st__fail(ST_BAD_LAYOUT, "the last stride must be 1, the others and "
                    "the storage offset even; got strides %s, offset %" PRId64,
                    TEXT(t->ndim, t->strides), t->offset);
  }
  g.ndim = last;
  g.offset /= 2;
  return st__view_spec_apply_as(t, st__complex_dtype(dtype), &g, out);
}

/* -- Another dtype -------------------------------------------------------- */

static st_status cannot_regroup(const st_tensor *t, st_dtype dtype) {
  const bool helps = st__is_subbyte_tensor(t) && !st__is_contiguous(t);
  return st__fail(ST_BAD_LAYOUT, "%s with shape %s, strides %s, offset %"
                  PRId64 " cannot be viewed as %s%s", st__dtype_name(
                    t->dtype), ST_SHAPE_TEXT(t),
                  TEXT(t->ndim, t->strides), t->offset,
                  st__dtype_name(dtype), helps ? ": call contiguous()" : "");
}

/* The geometry of g, whose last stride is 1, with elements of `to` bits instead
 * of `from`. False if it has none. */
static bool regroup(st_view_spec *g, int64_t from, int64_t to) {
  const int last = g->ndim - 1;
  const int64_t more = from > to ? from / to : 1; /* powers of two */
  const int64_t fewer = to > from ? to / from : 1;
  bool fits = g->offset % fewer == 0 && g->sizes[last] % fewer == 0;
  fits &= st__mul_sizes(g->offset / fewer, more, &g->offset);
  fits &= st__mul_sizes(g->sizes[last] / fewer, more, &g->sizes[last]);
  for (int d = 0; d < last; d++) {
    fits &= g->strides[d] % fewer == 0;
    fits &= st__mul_sizes(g->strides[d] / fewer, more, &g->strides[d]);
  }
  return fits;
}

/* The padding of rows of elements of fewer than eight bits counts. */
static void round_row(st_view_spec *g, const st_tensor *t) {
  const int64_t per = st__per_byte((st_dtype)t->dtype);
  int64_t *const row = &g->sizes[g->ndim - 1];
  if (st__is_contiguous(t) && t->numel) *row += (per - *row % per) % per;
}

st_status st__view_dtype(const st_tensor *t, st_dtype dtype,
                         st_tensor **out) {
  if (!st__is_tensor_dtype(dtype)) {
    return st__fail(ST_BAD_DTYPE, "a tensor cannot have dtype %s",
                    st__dtype_name(dtype));
  }
  if ((st__is_conj(t) || st__is_neg(t)) && t->dtype != dtype) {
    return st__fail(ST_BAD_STATE, "self is a lazy %s, which cannot be viewed "
                    "as another dtype: clone it first",
                    st__is_conj(t) ? "conjugate" : "negative");
  }
  const int64_t from = st__bits(t->dtype), to = st__bits(dtype);
  const int last = t->ndim - 1;
  st_view_spec g;
  st__view_spec_load(&g, t);
  if (from != to) {
    if (last < 0 || g.strides[last] != 1) return cannot_regroup(t, dtype);
    if (to > from) round_row(&g, t);
    if (!regroup(&g, from, to)) return cannot_regroup(t, dtype);
  }
  return st__view_spec_apply_as(t, dtype, &g, out);
}
