/* Views that permute, slice, remove, add or expand dimensions.
 *
 * Each copies the geometry to a view spec, edits it and makes a header of it,
 * which checks the bounds unless all its elements are elements of the tensor.
 */

#include "tensor/view.h"

#include <inttypes.h>
#include <string.h>

#include "tensor/view_spec.h"

/* -- as_strided and alias ------------------------------------------------- */

st_status st__view_as_strided(const st_tensor *t, int ndim,
                              const int64_t *sizes, const int64_t *strides,
                              int64_t offset, st_tensor **out) {
  return st__tensor_view(t, ndim, sizes, strides, offset, out);
}

st_status st__view_alias(const st_tensor *t, st_tensor **out) {
  const st_geometry g = st__geometry(t);
  if (t->storage->layout) {
    return st__tensor_unstrided(t->storage, (st_dtype)t->dtype,
                                t->keys & ~ST_AUTOGRAD_BITS, t->ndim, t->sizes,
                                out);
  }
  return st__tensor_view_within(t, &g, out);
}

/* -- Permutations --------------------------------------------------------- */

st_status st__view_transpose(const st_tensor *t, int64_t d0, int64_t d1,
                             st_tensor **out) {
  int a = 0, b = 0;
  ST_TRY(st__wrap_dim(d0, t->ndim, &a));
  ST_TRY(st__wrap_dim(d1, t->ndim, &b));
  st_view_spec g;
  st__view_spec_load(&g, t);
  if (t->ndim) {
    g.sizes[a] = t->sizes[b];
    g.sizes[b] = t->sizes[a];
    g.strides[a] = t->strides[b];
    g.strides[b] = t->strides[a];
  }
  return st__view_spec_apply_within(t, &g, out);
}

st_status st__view_permute(const st_tensor *t, int n, const int64_t *dims,
                           st_tensor **out) {
  if (n != t->ndim) {
    return st__fail(ST_BAD_DIM, "%d dimensions are given for shape %s",
                    n, ST_SHAPE_TEXT(t));
  }
  uint64_t seen = 0;
  ST_TRY(st__wrap_dims(dims, n, t->ndim, &seen));
  st_view_spec g;
  st__view_spec_load(&g, t);
  for (int i = 0; i < n; i++) {
    const int64_t d = dims[i] < 0 ? dims[i] + n : dims[i];
    g.sizes[i] = t->sizes[d];
    g.strides[i] = t->strides[d];
  }
  return st__view_spec_apply_within(t, &g, out);
}

st_status st__view_movedim_dims(int ndim, int n, const int64_t *from,
                                const int64_t *to, int64_t *dims) {
  uint64_t leave = 0, taken = 0;
  if (n == 0) {
    for (int d = 0; d < ndim; d++) dims[d] = d;
    return ST_OK;
  }
  ST_TRY(st__wrap_dims(from, n, ndim, &leave));
  ST_TRY(st__wrap_dims(to, n, ndim, &taken));
  if (ndim == 0) return ST_OK;
  for (int i = 0; i < n; i++) {
    dims[to[i] < 0 ? to[i] + ndim : to[i]] =
      from[i] < 0 ? from[i] + ndim : from[i];
  }
  for (int d = 0, next = 0; d < ndim; d++) {
    if (taken >> d & 1) continue;
    while (leave >> next & 1) next++;
    dims[d] = next++;
  }
  return ST_OK;
}

/* -- Indexing and slicing ------------------------------------------------- */

static st_status wrap_dim_of(const st_tensor *t, int64_t dim, int *out) {
  if (t->ndim == 0) {
    return st__fail(ST_BAD_DIM, "a 0-dimensional tensor has no dimension to "
                    "index");
  }
  return st__wrap_dim(dim, t->ndim, out);
}

st_status st__view_select(const st_tensor *t, int64_t dim, int64_t index,
                          st_tensor **out) {
  int d = 0;
  ST_TRY(wrap_dim_of(t, dim, &d));
  const int64_t size = t->sizes[d];
  if (index < -size || index >= size) {
    return st__fail(ST_BAD_INDEX, "index %" PRId64 " is out of range for "
                    "shape %s at dimension %d", st__display_index(index),
                    ST_SHAPE_TEXT(t), (int)st__display_index(d));
  }
  st_view_spec g;
  g.ndim = t->ndim - 1;
  g.offset = t->offset + (index < 0 ? index + size : index) * t->strides[d];
  st__copy_dims(g.sizes, t->sizes, d);
  st__copy_dims(g.strides, t->strides, d);
  st__copy_dims(g.sizes + d, t->sizes + d + 1, g.ndim - d);
  st__copy_dims(g.strides + d, t->strides + d + 1, g.ndim - d);
  return st__view_spec_apply_within(t, &g, out);
}

static int64_t clamp(int64_t i, int64_t low, int64_t high) {
  return i < low ? low : i > high ? high : i;
}

st_status st__view_slice(const st_tensor *t, int64_t dim, int64_t start,
                         int64_t end, int64_t step, st_tensor **out) {
  int d = 0;
  ST_TRY(wrap_dim_of(t, dim, &d));
  if (step <= 0) {
    return st__fail(ST_BAD_VALUE, "step must be positive, got %" PRId64,
                    step);
  }
  const int64_t size = t->sizes[d];
  start = clamp(start < 0 ? start + size : start, 0, size);
  end = clamp(end < 0 ? end + size : end, start, size);
  st_view_spec g;
  st__view_spec_load(&g, t);
  g.offset += start * t->strides[d];
  g.sizes[d] = end > start ? (end - start - 1) / step + 1 : 0;
  if (!st__mul_sizes(t->strides[d], step, &g.strides[d])) {
    return st__fail(ST_BAD_VALUE, "step %" PRId64 " is too large", step);
  }
  return step == 1 && g.sizes[d] > 0
         ? st__view_spec_apply_within(t, &g, out)
         : st__view_spec_apply_inside(t, &g, out);
}

st_status st__view_narrow_start(const st_tensor *t, int64_t dim,
                                int64_t start, int64_t length, int64_t *out) {
  int d = 0;
  ST_TRY(wrap_dim_of(t, dim, &d));
  const int64_t size = t->sizes[d];
  if (length < 0) {
    return st__fail(ST_BAD_VALUE, "length must not be negative, got %" PRId64,
                    length);
  }
  if (start < -size || start > size) {
    return st__fail(ST_BAD_INDEX, "start %" PRId64 " is out of range for "
                    "shape %s at dimension %d", st__display_index(start),
                    ST_SHAPE_TEXT(t), (int)st__display_index(d));
  }
  if (start < 0) start += size;
  if (length > size - start) {
    return st__fail(ST_BAD_INDEX, "start %" PRId64 " and length %" PRId64
                    " reach beyond shape %s at dimension %d",
                    st__display_index(start),
                    length, ST_SHAPE_TEXT(t), (int)st__display_index(d));
  }
  *out = start;
  return ST_OK;
}

st_status st__view_narrow(const st_tensor *t, int64_t dim, int64_t start,
                          int64_t length, st_tensor **out) {
  ST_TRY(st__view_narrow_start(t, dim, start, length, &start));
  return st__view_slice(t, dim, start, start + length, 1, out);
}

st_status st__view_diagonal(const st_tensor *t, int64_t offset, int64_t dim1,
                            int64_t dim2, st_tensor **out) {
  int a = 0, b = 0;
  ST_TRY(st__wrap_dim(dim1, t->ndim, &a));
  ST_TRY(st__wrap_dim(dim2, t->ndim, &b));
  if (a == b) {
    return st__fail(ST_BAD_DIM, "a diagonal needs two different dimensions, "
                    "got %" PRId64 " and %" PRId64, st__display_index(dim1),
                    st__display_index(dim2));
  }
  const int64_t rows = offset < 0 ? t->sizes[a] + offset : t->sizes[a];
  const int64_t cols = offset < 0 ? t->sizes[b] : t->sizes[b] - offset;
  const int64_t size = rows < cols ? rows : cols;
  st_view_spec g;
  st__view_spec_load(&g, t);
  if (size > 0) {
    g.offset += offset < 0 ? -offset * t->strides[a]
                           : offset * t->strides[b];
  }
  const int64_t stride = t->strides[a] + t->strides[b];
  st__view_spec_drop(&g, a > b ? a : b);
  st__view_spec_drop(&g, a > b ? b : a);
  st__view_spec_insert(&g, g.ndim, size > 0 ? size : 0, stride);
  return st__view_spec_apply_inside(t, &g, out);
}

st_status st__view_unfold(const st_tensor *t, int64_t dim, int64_t size,
                          int64_t step, st_tensor **out) {
  int d = 0;
  ST_TRY(st__wrap_dim(dim, t->ndim, &d));
  const int64_t length = t->ndim ? t->sizes[d] : 1;
  if (size < 0 || size > length) {
    return st__fail(ST_BAD_VALUE, "windows of %" PRId64 " do not fit in shape "
                    "%s at dimension %d", size, ST_SHAPE_TEXT(t),
                    (int)st__display_index(d));
  }
  if (step <= 0) {
    return st__fail(ST_BAD_VALUE, "step must be positive, got %" PRId64,
                    step);
  }
  st_view_spec g;
  st__view_spec_load(&g, t);
  if (t->ndim) {
    g.sizes[d] = (length - size) / step + 1;
    if (!st__mul_sizes(t->strides[d], step, &g.strides[d])) {
      return st__fail(ST_BAD_VALUE, "step %" PRId64 " is too large", step);
    }
  }
  st__view_spec_insert(&g, g.ndim, size, t->ndim ? t->strides[d] : 1);
  return st__view_spec_apply_inside(t, &g, out);
}

/* -- Squeezing and expanding ---------------------------------------------- */

st_status st__view_squeeze(const st_tensor *t, uint64_t dims,
                           st_tensor **out) {
  st_view_spec g;
  st__view_spec_load(&g, t);
  for (int d = t->ndim - 1; d >= 0; d--) {
    if (dims >> d & 1 && t->sizes[d] == 1) st__view_spec_drop(&g, d);
  }
  return st__view_spec_apply_within(t, &g, out);
}

st_status st__view_squeeze_all(const st_tensor *t, st_tensor **out) {
  return st__view_squeeze(t, ~(uint64_t)0, out);
}

st_status st__view_unsqueeze(const st_tensor *t, int64_t dim,
                             st_tensor **out) {
  int d = 0;
  ST_TRY(st__wrap_dim(dim, t->ndim + 1, &d));
  st_view_spec g;
  st__view_spec_load(&g, t);
  st__view_spec_insert(&g, d, 1,
                       d < t->ndim ? t->sizes[d] * t->strides[d] : 1);
  return st__view_spec_apply_inside(t, &g, out);
}

static st_status cannot_expand(const st_tensor *t, int ndim,
                               const int64_t *sizes) {
  return st__fail(ST_BAD_SHAPE, "shape %s does not expand to %s",
                  ST_SHAPE_TEXT(t),
                  st__shape_text(ndim, sizes, (char[160]){0}, 160));
}

st_status st__view_expand(const st_tensor *t, int ndim, const int64_t *sizes,
                          st_tensor **out) {
  if (ndim < t->ndim || ndim > ST_MAX_DIMS) {
    return cannot_expand(t, ndim, sizes);
  }
  st_view_spec g;
  g.ndim = ndim;
  g.offset = t->offset;
  for (int i = ndim - 1; i >= 0; i--) {
    const int d = i - (ndim - t->ndim);
    const int64_t old = d >= 0 ? t->sizes[d] : 1;
    const int64_t size = d >= 0 && sizes[i] == -1 ? old : sizes[i];
    if (size < 0 || (size != old && old != 1)) {
      return cannot_expand(t, ndim, sizes);
    }
    g.sizes[i] = size;
    g.strides[i] = size != old || t->ndim == 0 ? 0
                 : d >= 0 ? t->strides[d]
                          : g.sizes[i + 1] * g.strides[i + 1];
  }
  return st__view_spec_apply_inside(t, &g, out);
}
