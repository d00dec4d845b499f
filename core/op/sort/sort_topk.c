/* Sorting and order statistics: sort, topk, kthvalue, medians, mode.
 */

#include <inttypes.h>
#include <math.h>

#include "os/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include "iter/copy.h"
#include "kernel/sort/sort.h"
#include "op/reduce/line_tiles.h"
#include "op/reduce/reduction.h"
#include "op/row/op.h"
#include "tensor/view.h"

/* -- Running -------------------------------------------------------------- */

typedef struct job {
  st_lines lines;
  st_loop loop;
  st_sort order;
  st_line_tiles tiles;
  bool copies; /* lines to tiles */
  int chunks;
  int64_t scratch, bytes; /* of a sort; of a chunk */
} job;

static void run_chunks(void *ctx, int64_t begin, int64_t end) {
  const job *b = ctx;
  for (int64_t i = begin; i < end; i++) {
    st_sort order = b->order;
    st_line_tiles tiles = b->tiles;
    order.scratch += i * b->bytes;
    tiles.ctx = &order;
    tiles.buffer = order.scratch + b->scratch;
    st__lines_run(&b->lines, b->copies ? st__line_tiles_loop : b->loop,
                  b->copies ? (const void *)&tiles : &order,
                  b->lines.count * i / b->chunks,
                  b->lines.count * (i + 1) / b->chunks);
  }
}

/* Sorts along dim. The operands have the same rank; either output may be
 * NULL. */
static st_status run_lines(st_sort order, st_tensor *const t[3], int dim) {
  const st_dtype dtype = t[2]->dtype;
  const int64_t itemsize = (int64_t)st__itemsize(dtype);
  job b = {.order = order};
  ST_TRY(st__find_kernel(ST_K_sort, dtype, &b.loop));
  st__lines_init(&b.lines, 3, t, dim);
  if (b.lines.count == 0 || order.k == 0) return ST_OK;
  if (b.lines.length > UINT32_MAX) {
    return st__fail(ST_BAD_SHAPE, "dimension %d has %" PRId64 " elements, more "
                    "than can be sorted", (int)st__display_index(dim),
                    b.lines.length);
  }
  b.chunks = st__num_shares(b.lines.count, st__kernel_grain(ST_K_sort) /
                                           b.lines.length + 1);
  b.copies = b.lines.length > ST_DIRECT_LINE &&
             st__line_tiles_init(&b.tiles, &b.lines, 2, order.k);
  b.order.in_indices = order.in_indices && !b.copies &&
                       b.lines.length > ST_SHORT_LINE &&
                       b.lines.along[1] == sizeof(int64_t) &&
                       st__sort_pair(itemsize) == sizeof(int64_t);
  b.order.by_parts = order.by_parts && b.lines.length * st__sort_pair(itemsize)
                                       > st__machine.sorted_by_parts;
  b.scratch = st__sort_scratch(&b.order, b.lines.length, itemsize,
                               b.lines.count);
  b.tiles.loop = b.loop;
  b.bytes = b.scratch + b.tiles.bytes;
  const size_t bytes = (size_t)(b.chunks * b.bytes);
  b.order.scratch = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!b.order.scratch) return ST_NO_MEMORY;
  const st_status status = st__parallel_try(0, b.chunks, 1, run_chunks, &b);
  st__free(ST_MEM_SCRATCH, b.order.scratch, bytes);
  return status;
}

/* t with dimension dim restored if `missing`, else t itself, retained;
 * owned. */
static st_status with_dim(st_tensor *t, bool missing, int dim,
                          st_tensor **out) {
  if (t && missing) return st__view_unsqueeze(t, dim, out);
  if (t) st__tensor_retain(t);
  *out = t;
  return ST_OK;
}

/* The dimensions besides dim along which all lines of t are the same. */
static uint64_t repeated_dims(const st_tensor *t, int dim) {
  uint64_t set = 0;
  for (int d = 0; d < t->ndim; d++) {
    if (d != dim && t->strides[d] == 0 && t->sizes[d] > 1) {
      set |= UINT64_C(1) << d;
    }
  }
  return set;
}

/* t's first elements along the dimensions in set: a view, or with `fresh` a new
 * tensor of that shape. NULL if t is; owned. */
static st_status first_of(const st_tensor *t, uint64_t set, bool fresh,
                          st_tensor **out) {
  int64_t sizes[ST_MAX_DIMS];
  if (!t) return ST_OK;
  for (int d = 0; d < t->ndim; d++) sizes[d] = set >> d & 1 ? 1 : t->sizes[d];
  if (!fresh) {
    return st__tensor_view(t, t->ndim, sizes, t->strides, t->offset, out);
  }
  return st__tensor_empty(ST_DEVICE_CPU, t->dtype, t->ndim, sizes,
                          ST_FORMAT_CONTIGUOUS, out);
}

/* Sorts one of several equal lines, and copies its result to all. */
static st_status run_distinct(st_sort order, st_tensor *const t[3], int dim) {
  const uint64_t set = repeated_dims(t[2], dim);
  st_tensor *first[3] = {NULL, NULL, NULL}, *wide[2] = {NULL, NULL};
  st_status status;
  if (!set || t[2]->numel == 0) return run_lines(order, t, dim);
  for (int i = 0; i < 3; i++) {
    ST_TRY_FAIL(first_of(t[i], set, i < 2, &first[i]));
    if (i == 2 || !t[i]) continue;
    ST_TRY_FAIL(st__view_expand(first[i], t[i]->ndim, t[i]->sizes, &wide[i]));
  }
  status = run_lines(order, first, dim);
  for (int i = 0; i < 2 && status == ST_OK; i++) {
    if (wide[i]) status = st__copy_unchecked(t[i], wide[i]);
  }
fail:
  for (int i = 0; i < 3; i++) st__tensor_release(&first[i]);
  for (int i = 0; i < 2; i++) st__tensor_release(&wide[i]);
  return status;
}

/* Sorts in along dim into the outputs, which lack that dimension unless they
 * have in's rank. An output may share memory with in. */
static st_status sort_into(st_sort order, st_tensor *values,
                           st_tensor *indices, st_tensor *in, int dim) {
  st_tensor *t[3] = {NULL, NULL, NULL};
  st_status status;
  const st_tensor *out = values ? values : indices;
  const bool missing = out->ndim < in->ndim;
  const bool shared =
    (values && st__overlap(values, in) != ST_OVERLAP_NO) ||
    (indices && st__overlap(indices, in) != ST_OVERLAP_NO);
  ST_TRY_FAIL(with_dim(values, missing, dim, &t[0]));
  ST_TRY_FAIL(with_dim(indices, missing, dim, &t[1]));
  if (shared) {
    ST_TRY_FAIL(st__clone(in, in->dtype, ST_FORMAT_PRESERVE, &t[2]));
  } else {
    ST_TRY_FAIL(with_dim(in, false, dim, &t[2]));
  }
  status = run_distinct(order, t, dim);
fail:
  for (int i = 0; i < 3; i++) st__tensor_release(&t[i]);
  return status;
}

/* -- Arguments ------------------------------------------------------------ */

static int64_t int_arg(const st_run *r, const char *name, int64_t otherwise) {
  const st_value *v = st__named_arg(r, name);
  return v ? v->u.i : otherwise;
}

static int64_t length_of(const st_tensor *t, int dim) {
  return t->ndim ? t->sizes[dim] : 1;
}

static st_status check_k(const st_tensor *self, int dim, int64_t k,
                         int64_t least) {
  const int64_t length = length_of(self, dim);
  if (k >= least && k <= length) return ST_OK;
  return st__fail(ST_BAD_INDEX, "k = %" PRId64 " is out of range: dimension %d "
                  "of self, shape %s, has %" PRId64 " elements", k,
                  (int)st__display_index(dim), ST_SHAPE_TEXT(self), length);
}

static st_status get_dim(const st_run *r, int *dim) {
  const st_tensor *self = st__arg_tensor(r, 0);
  if (st__is_complex(self->dtype)) {
    return st__no_kernel_for(self->dtype);
  }
  return st__wrap_dim(int_arg(r, "dim", -1), self->ndim, dim);
}

/* Gives output i the layout of self. */
static st_status set_like_self(st_run *r, int i, st_dtype dtype) {
  const st_tensor *self = st__arg_tensor(r, 0);
  int64_t strides[ST_MAX_DIMS];
  st__preserved_strides(self, strides);
  return st__set_output(r, i, self->ndim, self->sizes, strides, dtype);
}

/* -- sort, argsort, msort ------------------------------------------------- */

st_status st__sort_meta(st_run *r) {
  int dim;
  ST_TRY(get_dim(r, &dim));
  ST_TRY(set_like_self(r, 0, st__arg_tensor(r, 0)->dtype));
  return set_like_self(r, 1, ST_INT64);
}

st_status st__argsort_meta(st_run *r) {
  int dim;
  ST_TRY(get_dim(r, &dim));
  return set_like_self(r, 0, ST_INT64);
}

st_status st__msort_meta(st_run *r) {
  int dim;
  ST_TRY(get_dim(r, &dim));
  return set_like_self(r, 0, st__arg_tensor(r, 0)->dtype);
}

static st_status sort_all(st_run *r, st_tensor *values, st_tensor *indices,
                          int dim) {
  st_tensor *self = st__arg_tensor(r, 0);
  const st_sort order = {.descending = int_arg(r, "descending", 0),
                         .k = length_of(self, dim),
                         .base = int_arg(r, "base", 0),
                         .by_parts = true,
                         .in_indices = indices && r->variant == ST_FUNCTIONAL};
  return sort_into(order, values, indices, self, dim);
}

st_status st__sort_impl(st_run *r) {
  int dim;
  ST_TRY(get_dim(r, &dim));
  return sort_all(r, r->out[0], r->out[1], dim);
}

st_status st__argsort_impl(st_run *r) {
  int dim;
  ST_TRY(get_dim(r, &dim));
  return sort_all(r, NULL, r->out[0], dim);
}

st_status st__msort_impl(st_run *r) {
  return sort_all(r, r->out[0], NULL, 0);
}

/* -- topk ----------------------------------------------------------------- */

st_status st__topk_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const int64_t k = int_arg(r, "k", 0);
  int64_t sizes[ST_MAX_DIMS];
  int dim;
  ST_TRY(get_dim(r, &dim));
  ST_TRY(check_k(self, dim, k, 0));
  memcpy(sizes, self->sizes, (size_t)self->ndim * sizeof *sizes);
  if (self->ndim) sizes[dim] = k;
  ST_TRY(st__set_output(r, 0, self->ndim, sizes, NULL, self->dtype));
  return st__set_output(r, 1, self->ndim, sizes, NULL, ST_INT64);
}

st_status st__topk_impl(st_run *r) {
  st_tensor *self = st__arg_tensor(r, 0);
  int dim;
  ST_TRY(get_dim(r, &dim));
  const st_sort order = {.descending = int_arg(r, "largest", 1),
                         .k = self->ndim ? int_arg(r, "k", 0) : 1,
                         .base = int_arg(r, "base", 0)};
  return sort_into(order, r->out[0], r->out[1], self, dim);
}

/* -- kthvalue, medians, mode ---------------------------------------------- */

/* Sets two outputs without dimension dim, or with size 1 there. */
static st_status set_picked(st_run *r, int dim) {
  st_dims d = {st__arg_tensor(r, 0), UINT64_C(1) << dim,
               int_arg(r, "keepdim", 0)};
  ST_TRY(st__check_not_empty(&d));
  ST_TRY(st__set_reduced(r, 0, &d, d.self->dtype));
  return st__set_reduced(r, 1, &d, ST_INT64);
}

st_status st__kthvalue_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const int64_t k = int_arg(r, "k", 0);
  int dim;
  ST_TRY(get_dim(r, &dim));
  ST_TRY(check_k(self, dim, k, 1));
  return set_picked(r, dim);
}

st_status st__kthvalue_impl(st_run *r) {
  int dim;
  ST_TRY(get_dim(r, &dim));
  const st_sort order = {.first = int_arg(r, "k", 1) - 1, .k = 1,
                         .base = int_arg(r, "base", 0)};
  return sort_into(order, r->out[0], r->out[1], st__arg_tensor(r, 0), dim);
}

st_status st__median_dim_meta(st_run *r) {
  int dim;
  ST_TRY(get_dim(r, &dim));
  return set_picked(r, dim);
}

static st_status pick_one(st_run *r, st_sort order) {
  int dim;
  ST_TRY(get_dim(r, &dim));
  order.k = 1;
  order.base = int_arg(r, "base", 0);
  return sort_into(order, r->out[0], r->out[1], st__arg_tensor(r, 0), dim);
}

st_status st__median_dim_impl(st_run *r) {
  return pick_one(r, (st_sort){.median = true});
}

st_status st__nanmedian_dim_impl(st_run *r) {
  return pick_one(r, (st_sort){.median = true, .skip_nan = true});
}

st_status st__mode_impl(st_run *r) {
  return pick_one(r, (st_sort){.mode = true});
}

st_status st__median_meta(st_run *r) {
  st_dims d;
  int dim;
  ST_TRY(get_dim(r, &dim));
  ST_TRY(st__get_dims(r, &d));
  return st__set_reduced(r, 0, &d, d.self->dtype);
}

/* Sorts all elements as one line. The median of an empty tensor is NaN,
 * converted to its dtype. */
static st_status median_of_all(st_run *r, bool skip_nan) {
  st_tensor *self = st__arg_tensor(r, 0), *dense = NULL, *line = NULL;
  const st_sort order = {.median = true, .skip_nan = skip_nan, .k = 1};
  const int64_t size[] = {self->numel};
  st_status status;
  if (self->numel == 0) {
    double nan = NAN;
    char *data[] = {st__data(r->out[0]), (char *)&nan};
    st__copy_kernel(self->dtype, ST_FLOAT64)(
      data, (int64_t[]){0, 0, 0, 0}, 1, 1, NULL);
    return ST_OK;
  }
  ST_TRY(st__contiguous(self, ST_FORMAT_CONTIGUOUS, &dense));
  ST_TRY_FAIL(st__view_view(dense, 1, size, &line));
  status = sort_into(order, r->out[0], NULL, line, 0);
fail:
  st__tensor_release(&line);
  st__tensor_release(&dense);
  return status;
}

st_status st__median_impl(st_run *r) { return median_of_all(r, false); }
st_status st__nanmedian_impl(st_run *r) { return median_of_all(r, true); }
