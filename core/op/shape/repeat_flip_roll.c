/* Repetition and reordering: repeat, tile, repeat_interleave, flip, roll,
 * rot90, meshgrid, fftshift.
 */

#include <inttypes.h>

#include "base/interrupt.h"
#include "iter/strided_copy.h"
#include "op/create/copy_clone_to.h"
#include "op/create/factory.h"
#include "op/shape/cat_stack.h"
#include "tensor/view.h"

static st_status clone_of(const st_tensor *self, st_format format,
                          st_value *ret) {
  return st__invoke(ST_OP_clone, ST_VALUES(self, format), ret);
}

/* -- repeat --------------------------------------------------------------- */

typedef struct tiles {
  int ndim;                     /* of the result */
  int64_t sizes[ST_MAX_DIMS];   /* of the result */
  int nviews;                   /* of the views with the sizes below */
  int64_t out_sizes[ST_MAX_DIMS];
  int64_t in_sizes[ST_MAX_DIMS];
} tiles;

static st_status add_view_dim(tiles *t, int64_t out, int64_t in) {
  if (t->nviews == ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "repeating self needs too many dimensions");
  }
  t->out_sizes[t->nviews] = out;
  t->in_sizes[t->nviews++] = in;
  return ST_OK;
}

/* The copy is between views of the same sizes (times, size, times, size, ...):
 * of the result, and of self broadcast to it. Sizes of 1 are left out. */
static st_status plan_tiles(const st_tensor *self, st_ints repeats,
                            tiles *t) {
  t->ndim = (int)repeats.n;
  t->nviews = 0;
  if (t->ndim < self->ndim) {
    return st__fail(ST_BAD_SHAPE, "repeats has %d entries, but self has %d "
                    "dimensions", t->ndim, self->ndim);
  }
  if (t->ndim > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "a tensor has at most %d dimensions",
                    ST_MAX_DIMS);
  }
  for (int d = 0; d < t->ndim; d++) {
    const int own = d - (t->ndim - self->ndim);
    const int64_t size = own < 0 ? 1 : self->sizes[own];
    const int64_t times = repeats.p[d];
    if (times < 0) {
      return st__fail(ST_BAD_VALUE, "repeats has a negative entry: %" PRId64,
                      times);
    }
    if (!st__mul_sizes(size, times, &t->sizes[d])) {
      return st__fail(ST_BAD_SHAPE, "the size of the result is too large");
    }
    if (times > 1) ST_TRY(add_view_dim(t, times, 1));
    if (size > 1) ST_TRY(add_view_dim(t, size, size));
  }
  return ST_OK;
}

ST_BOXED(st__box_repeat) {
  ST_ARGS(TENSOR(self), INTS(repeats));
  const st_options o = {self->dtype, self->device};
  st_tensor *out = NULL, *to = NULL, *from = NULL;
  st_status status;
  tiles t;
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(plan_tiles(self, repeats, &t));
  ST_TRY(st__new_empty(o, t.ndim, t.sizes, ST_FORMAT_CONTIGUOUS, &out));
  if (out->numel > 0) {
    int64_t strides[ST_MAX_DIMS];
    /* The view has no dimension for a size-1 dimension of self. */
    for (int d = 0, k = 0; d < self->ndim; d++) {
      if (self->sizes[d] == 1) continue;
      while (t.in_sizes[k] == 1) strides[k++] = 0;
      strides[k++] = self->strides[d];
      for (int j = k; j < t.nviews; j++) strides[j] = 0;
    }
    if (self->numel == 1) memset(strides, 0, sizeof strides);
    ST_TRY_FAIL(st__view_view(out, t.nviews, t.out_sizes, &to));
    ST_TRY_FAIL(st__tensor_view(self, t.nviews, t.in_sizes, strides,
                                self->offset, &from));
    ST_TRY_FAIL(st__copy(to, from));
    st__tensor_release(&from);
    st__tensor_release(&to);
  }
  rets[0] = st__of_tensor(out);
  return ST_OK;
fail:
  st__tensor_release(&from);
  st__tensor_release(&to);
  st__tensor_release(&out);
  return status;
}

static st_status tile(const st_tensor *self, st_ints dims, st_value *rets) {
  int64_t times[ST_MAX_DIMS];
  const int have = (int)dims.n;
  const int n = have > self->ndim ? have : self->ndim;
  if (n > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "a tensor has at most %d dimensions",
                    ST_MAX_DIMS);
  }
  for (int d = 0; d < n; d++) {
    times[d] = d < n - have ? 1 : dims.p[d - (n - have)];
  }
  return st__invoke(ST_OP_repeat, ST_VALUES(self, st__of_ints(times, n)), rets);
}
ST_TYPED_ARGS(st__box_tile, tile, (TENSOR, INTS))

/* -- repeat_interleave ---------------------------------------------------- */

/* Writes i, c[i] times, for each i below n; if one, c[0] times. */
static st_status repeat_indices(const int64_t *c, bool one, int64_t n,
                                int64_t *p) {
  enum { BLOCK = 1 << 16 };
  for (int64_t i = 0, done = 0; i < n; i++) {
    for (int64_t k = c[one ? 0 : i]; k > 0; k--) {
      *p++ = i;
      if (++done % BLOCK == 0) ST_TRY(st__poll_interrupt());
    }
    if (i % BLOCK == BLOCK - 1) ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

/* out[k] is the index of the slice, one of n, that is slice k of the result of
 * self. */
static st_status expand_counts(const st_tensor *self, const st_tensor *counts,
                               int64_t n, st_tensor **out) {
  const int64_t *c = (const int64_t *)(const void *)st__data(counts);
  const bool one = counts->numel == 1;
  int64_t total = 0;
  if (!one && counts->numel != n) {
    return st__fail(ST_BAD_SHAPE, "repeats has %" PRId64 " entries for %" PRId64
                    " slices", counts->numel, n);
  }
  const int64_t times = one ? n : 1; /* slices that have count i */
  for (int64_t i = 0; i < (one ? n > 0 : n); i++) {
    int64_t slices;
    if (c[i] < 0) {
      return st__fail(ST_BAD_VALUE, "repeats must not be negative");
    }
    if (!st__mul_sizes(times, c[i], &slices) ||
        !st__add_sizes(total, slices, &total)) {
      return st__fail(ST_BAD_SHAPE, "the size of the result is too large");
    }
  }
  const bool has_elements = st__has_elements(self);
  st_tensor *t = NULL;
  if (!has_elements) {
    return st__tensor_empty(ST_DEVICE_META, ST_INT64, 1, &total,
                            ST_FORMAT_CONTIGUOUS, out);
  }
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, ST_INT64, 1, &total,
                          ST_FORMAT_CONTIGUOUS, &t));
  const st_status status = repeat_indices(c, one, n,
                                          (int64_t *)(void *)st__data(t));
  if (status == ST_OK) return st__copy_to_device(&t, self->device, out);
  st__tensor_release(&t);
  return status;
}

/* counts is contiguous int64. */
static st_status repeat_slices(st_tensor *self, const st_value *dim,
                               const st_tensor *counts,
                               const st_value *output_size, st_value *ret) {
  st_tensor *line = NULL, *indices = NULL;
  int64_t at = 0;
  int d = 0;
  st_status status;
  if (st__is_none(dim)) {
    ST_TRY_FAIL(
      st__invoke1(ST_OP_reshape, ST_VALUES(self, ST_INTS(-1)), &line));
  } else {
    line = self;
    st__tensor_retain(line);
    at = dim->u.i;
  }
  ST_TRY_FAIL(st__wrap_dim(at, line->ndim, &d));
  ST_TRY_FAIL(expand_counts(line, counts, line->ndim ? line->sizes[d] : 1,
                            &indices));
  if (!st__is_none(output_size) && output_size->u.i != indices->numel) {
    status = st__fail(ST_BAD_VALUE, "output_size is %" PRId64 ", but the "
                      "result has %" PRId64 " slices", output_size->u.i,
                      indices->numel);
    goto fail;
  }
  status = st__invoke(ST_OP_index_select, ST_VALUES(line, d, indices), ret);
fail:
  st__tensor_release(&indices);
  st__tensor_release(&line);
  return status;
}

/* BAD_VALUE unless dtype d can hold the positions base to base + n - 1. */
static st_status check_positions(st_dtype d, int64_t base, int64_t n) {
  const int bits = 8 * (int)st__itemsize(d) - (st__is_unsigned(d) ? 0 : 1);
  if (bits >= 63 || base + n - 1 < (int64_t)1 << bits) return ST_OK;
  return st__fail(ST_BAD_VALUE, "the positions have the dtype of repeats, %s, "
                  "which cannot hold %" PRId64, st__dtype_name(d),
                  base + n - 1);
}

/* Of the positions 0, 1, ..., plus base. */
ST_BOXED(st__box_repeat_interleave_Tensor) {
  ST_ARGS(TENSOR(repeats), VALUE(output_size), INT(base));
  ST_TRY(st__check_strided(repeats));
  if (repeats->ndim != 1) {
    return st__fail(ST_BAD_SHAPE, "repeats must be a vector, its shape is %s",
                    ST_SHAPE_TEXT(repeats));
  }
  const st_dtype dtype = st__is_integral(repeats->dtype) ? repeats->dtype
                                                         : ST_INT64;
  ST_TRY(check_positions(dtype, base, repeats->sizes[0]));
  st_value at;
  ST_TRY(st__invoke(ST_OP_arange_start,
                    ST_VALUES(base, base + repeats->sizes[0], dtype, st__none(),
                              repeats->device),
                    &at));
  const st_status status =
    st__invoke(ST_OP_repeat_interleave_self_Tensor,
               ST_VALUES(at, repeats, 0, output_size), rets);
  st__value_clear(&at);
  return status;
}

ST_BOXED(st__box_repeat_interleave_self_int) {
  st_tensor *self = st__next_tensor(&args), *counts = NULL;
  ST_ARGS(INT(repeats), BOXED(dim), BOXED(output_size));
  ST_TRY(st__tensor_from_scalar(st__scalar_int(repeats), ST_INT64, false,
                                &counts));
  const st_status status = repeat_slices(self, dim, counts, output_size, rets);
  st__tensor_release(&counts);
  return status;
}

ST_BOXED(st__box_repeat_interleave_self_Tensor) {
  st_tensor *self = st__next_tensor(&args), *here = NULL, *counts = NULL;
  ST_ARGS(TENSOR(repeats), BOXED(dim), BOXED(output_size));
  ST_TRY(st__check_strided(repeats));
  const bool has_elements = st__has_elements(repeats);
  if (!st__is_integral(repeats->dtype) || repeats->ndim > 1 ||
      (!has_elements && !st__may_lack_size())) {
    return st__fail(ST_BAD_TYPE, "repeats must be a vector of integers with "
                    "data, not %s of shape %s",
                    st__dtype_name(repeats->dtype),
                    ST_SHAPE_TEXT(repeats));
  }
  if (!has_elements) { /* of any size */
    return st__invoke(ST_OP_repeat_interleave_self_int,
                      ST_VALUES(self, 0, *dim), rets);
  }
  ST_TRY(st__to_cpu(repeats, &here));
  const st_status cloned = st__clone(here, ST_INT64, ST_FORMAT_CONTIGUOUS,
                                     &counts);
  st__tensor_release(&here);
  ST_TRY(cloned);
  const st_status status = repeat_slices(self, dim, counts, output_size, rets);
  st__tensor_release(&counts);
  return status;
}

/* -- flip ----------------------------------------------------------------- */

/* Copies self to out, with negative source strides along dims. */
static st_status move_reversed(const st_tensor *out, const st_tensor *self,
                               uint64_t dims) {
  const st_dtype dtype = self->dtype;
  const int64_t size = (int64_t)st__itemsize(dtype);
  const char *src = st__data(self);
  st_move m;
  st__move_init(&m, st__data(out), dtype, NULL, dtype);
  for (int d = 0; d < self->ndim; d++) {
    int64_t stride = self->strides[d] * size;
    if (dims >> d & 1) {
      src += (self->sizes[d] - 1) * stride;
      stride = -stride;
    }
    st__move_dim(&m, self->sizes[d], out->strides[d] * size, stride);
  }
  m.src = src;
  return st__move_run(&m);
}

ST_BOXED(st__box_flip) {
  ST_ARGS(TENSOR(self), INTS(dims));
  const st_options o = {self->dtype, self->device};
  uint64_t set = 0;
  st_tensor *out = NULL;
  ST_TRY(st__check_cpu_or_meta(self));
  if (dims.n) ST_TRY(st__wrap_dims(dims.p, (int)dims.n, self->ndim, &set));
  ST_TRY(st__new_empty_like(self, o, ST_FORMAT_PRESERVE, &out));
  if (self->numel > 0 && st__has_elements(self)) {
    const st_status status = move_reversed(out, self, set);
    if (status != ST_OK) {
      st__tensor_release(&out);
      return status;
    }
  }
  rets[0] = st__of_tensor(out);
  return ST_OK;
}

static st_status flip(const st_tensor *self, const int64_t *dims, int n,
                      st_value *ret) {
  return st__invoke(ST_OP_flip, ST_VALUES(self, st__of_ints(dims, n)), ret);
}

static st_status flip_dim(const st_tensor *self, int64_t dim, st_value *ret) {
  if (self->ndim <= dim) {
    return st__fail(ST_BAD_DIM, "self must have at least %d dimensions, its "
                    "shape is %s", (int)dim + 1, ST_SHAPE_TEXT(self));
  }
  return flip(self, &dim, 1, ret);
}

ST_BOXED(st__box_fliplr) { return flip_dim(st__next_tensor(&args), 1, rets); }
ST_BOXED(st__box_flipud) { return flip_dim(st__next_tensor(&args), 0, rets); }

/* -- roll ----------------------------------------------------------------- */

static st_status narrow(const st_tensor *self, int64_t dim, int64_t start,
                        int64_t length, st_tensor **out) {
  return st__invoke1(ST_OP_narrow, ST_VALUES(self, dim, start, length), out);
}

/* Concatenates the end of the dimension and its beginning. */
static st_status roll_dim(const st_tensor *self, int64_t shift, int64_t dim,
                          st_value *ret) {
  st_tensor *parts[2] = {NULL, NULL};
  st_status status;
  int d;
  ST_TRY(st__wrap_dim(dim, self->ndim, &d));
  if (self->ndim == 0 || self->numel == 0) {
    return clone_of(self, ST_FORMAT_PRESERVE, ret);
  }
  const int64_t size = self->sizes[d];
  const int64_t start = (size - shift % size) % size;
  ST_TRY_FAIL(narrow(self, d, start, size - start, &parts[0]));
  ST_TRY_FAIL(narrow(self, d, 0, start, &parts[1]));
  status = st__invoke(ST_OP_cat, ST_VALUES(st__of_tensors(parts, 2), d), ret);
fail:
  st__tensor_release(&parts[0]);
  st__tensor_release(&parts[1]);
  return status;
}

static st_status roll_flat(const st_tensor *self, int64_t shift,
                           st_value *ret) {
  st_tensor *line = NULL;
  st_value rolled;
  ST_TRY(st__invoke1(ST_OP_reshape, ST_VALUES(self, ST_INTS(-1)), &line));
  st_status status = roll_dim(line, shift, 0, &rolled);
  st__tensor_release(&line);
  ST_TRY(status);
  status =
    st__invoke(ST_OP_reshape,
               ST_VALUES(rolled, st__of_ints(self->sizes, self->ndim)), ret);
  st__value_clear(&rolled);
  return status;
}

/* A single shift is one of every listed dimension, as in the Array API. */
ST_BOXED(st__box_roll) {
  ST_ARGS(TENSOR(self), INTS(shifts), INTS(dims));
  if (shifts.n == 0) {
    return st__fail(ST_BAD_VALUE, "shifts is empty");
  }
  if (dims.n == 0 && shifts.n == 1) return roll_flat(self, *shifts.p, rets);
  if (shifts.n != dims.n && (shifts.n != 1 || dims.n == 0)) {
    return st__fail(ST_BAD_VALUE, "shifts has %u entries, but dims has %u",
                    shifts.n, dims.n);
  }
  st_value last = st__of_tensor(self);
  for (uint32_t i = 0; i < dims.n; i++) {
    const int64_t shift = shifts.p[shifts.n == 1 ? 0 : i];
    st_value next;
    const st_status status = roll_dim(last.u.tensor, shift, dims.p[i], &next);
    if (i > 0) st__value_clear(&last);
    ST_TRY(status);
    last = next;
  }
  rets[0] = last;
  return ST_OK;
}

/* -- fftshift ------------------------------------------------------------- */

/* Rolls dimensions, all of them by default, by half their size, rounded up if
 * up is 1. */
static st_status shift_by_half(const st_value *args, int64_t up,
                               st_value *rets) {
  ST_ARGS(TENSOR(self), BOXED(dim));
  const bool is_all = dim->tag == ST_TAG_NONE;
  int64_t shifts[ST_MAX_DIMS], dims[ST_MAX_DIMS];
  uint64_t set = 0;
  int n = 0;
  if (is_all || dim->len > 0) {
    ST_TRY(st__wrap_dims(is_all ? NULL : dim->u.ints,
                         is_all ? 0 : (int)dim->len, self->ndim, &set));
  }
  for (int d = 0; d < self->ndim; d++) {
    if (!(set >> d & 1)) continue;
    dims[n] = d;
    shifts[n++] = (self->sizes[d] + up) / 2;
  }
  if (n == 0) return clone_of(self, ST_FORMAT_PRESERVE, rets);
  return st__invoke(
    ST_OP_roll, ST_VALUES(self, st__of_ints(shifts, n), st__of_ints(dims, n)),
    rets);
}

ST_BOXED(st__box_fft_fftshift) { return shift_by_half(args, 0, rets); }
ST_BOXED(st__box_fft_ifftshift) { return shift_by_half(args, 1, rets); }

/* -- rot90 ---------------------------------------------------------------- */

ST_BOXED(st__box_rot90) {
  ST_ARGS(TENSOR(self));
  const int64_t k = (st__next_int(&args) % 4 + 4) % 4;
  ST_ARGS(INTS(dims));
  int a, b;
  if (dims.n != 2 || self->ndim < 2) {
    return st__fail(ST_BAD_DIM, "dims must list two dimensions of self, whose "
                    "shape is %s", ST_SHAPE_TEXT(self));
  }
  ST_TRY(st__wrap_dim(dims.p[0], self->ndim, &a));
  ST_TRY(st__wrap_dim(dims.p[1], self->ndim, &b));
  if (a == b) {
    return st__fail(ST_BAD_DIM, "dims lists dimension %d twice",
                    (int)st__display_index(a));
  }
  const int64_t plane[] = {a, b};
  if (k == 0) return clone_of(self, ST_FORMAT_CONTIGUOUS, rets);
  if (k == 2) return flip(self, plane, 2, rets);
  st_value flipped;
  ST_TRY(flip(self, &plane[k == 1], 1, &flipped));
  const st_status status =
    st__invoke(ST_OP_transpose_int, ST_VALUES(flipped, a, b), rets);
  st__value_clear(&flipped);
  return status;
}

/* -- meshgrid ------------------------------------------------------------- */

/* Vector i along dimension i, expanded along the others. */
static st_status mesh_view(st_tensor *const *vectors, int n, int i,
                           st_tensor **out) {
  int64_t shape[ST_MAX_DIMS], own[ST_MAX_DIMS];
  for (int d = 0; d < n; d++) {
    shape[d] = vectors[d]->numel;
    own[d] = d == i ? vectors[d]->numel : 1;
  }
  st_tensor *view = NULL;
  ST_TRY(st__invoke1(ST_OP_view, ST_VALUES(vectors[i], st__of_ints(own, n)),
                     &view));
  const st_status status =
    st__invoke1(ST_OP_expand, ST_VALUES(view, st__of_ints(shape, n)), out);
  st__tensor_release(&view);
  return status;
}

st_status st__check_vectors(st_tensors tensors, int least) {
  if (tensors.n == 0 || tensors.n > ST_MAX_DIMS) {
    return st__fail(ST_BAD_VALUE, "tensors must be 1 to %d vectors, not %u",
                    ST_MAX_DIMS, tensors.n);
  }
  for (uint32_t i = 0; i < tensors.n; i++) {
    const st_tensor *t = tensors.p[i];
    if (t->ndim < least || t->ndim > 1) {
      return st__fail(ST_BAD_SHAPE, "tensor number %u must be a vector, its "
                      "shape is %s", i + 1, ST_SHAPE_TEXT(t));
    }
  }
  return ST_OK;
}

static st_status check_one_dtype(st_tensors tensors) {
  for (uint32_t i = 1; i < tensors.n; i++) {
    const st_tensor *t = tensors.p[i];
    if (t->dtype != tensors.p[0]->dtype) {
      return st__fail(ST_BAD_DTYPE, "all tensors must have the same dtype, "
                      "not %s and %s", st__dtype_name(t->dtype),
                      st__dtype_name(tensors.p[0]->dtype));
    }
  }
  return ST_OK;
}

/* swap is indexing "xy": the first vector varies along the second dimension,
 * and the second one along the first. */
static st_status mesh(st_tensors tensors, bool swap, st_value *ret) {
  st_tensor *vectors[ST_MAX_DIMS];
  const int n = (int)tensors.n;
  st_value grid;
  ST_TRY(st__check_vectors(tensors, 0));
  ST_TRY(check_one_dtype(tensors));
  swap = swap && n > 1;
  for (int i = 0; i < n; i++) {
    vectors[i] = tensors.p[swap && i < 2 ? 1 - i : i];
  }
  ST_TRY(st__value_new_tensors(n, &grid));
  st_status status = ST_OK;
  for (int i = 0; i < n && status == ST_OK; i++) {
    const int at = swap && i < 2 ? 1 - i : i;
    status = mesh_view(vectors, n, at, &grid.u.tensors[i]);
  }
  if (status != ST_OK) {
    st__value_clear(&grid);
    return status;
  }
  *ret = grid;
  return ST_OK;
}

ST_BOXED_AS(st__box_meshgrid, mesh, st__next_tensors(&args), false)

ST_BOXED(st__box_meshgrid_indexing) {
  ST_ARGS(TENSORS(tensors));
  const char *indexing = st__next(&args)->u.string;
  if (strcmp(indexing, "ij") != 0 && strcmp(indexing, "xy") != 0) {
    return st__fail(ST_BAD_VALUE, "indexing must be \"ij\" or \"xy\", not "
                    "\"%s\"", indexing);
  }
  return mesh(tensors, indexing[0] == 'x', rets);
}
