/* Running an iterator: the walk over its elements in 2-d steps, alone or on
 * the team.
 *
 * Note [Steps]
 * A loop walks two dimensions; the walk feeds it the largest such pieces of a
 * linear range. Inside a row only its rest can be taken; at the start of a
 * row, as many whole rows as are left in the plane or in the range.
 */

#include "base/threads.h"
#include "iter/copy.h"

/* -- The walk ------------------------------------------------------------- */

typedef struct walk {
  const int64_t *shape;
  int ndim;
  int64_t at, end;            /* linear */
  int64_t n0, n1;             /* of the current step */
  int64_t index[ST_MAX_DIMS]; /* of the element at `at` */
} walk;

static void walk_start(walk *w, int ndim, const int64_t *shape,
                       int64_t begin, int64_t end) {
  w->shape = shape;
  w->ndim = ndim;
  w->at = begin;
  w->end = end;
  for (int d = 0; d < ndim; d++) {
    w->index[d] = begin ? begin % shape[d] : 0;
    begin = begin ? begin / shape[d] : 0;
  }
}

/* Measures the next step; false at the end. Needs two dimensions. */
static bool walk_measure(walk *w) {
  const int64_t left = w->end - w->at, row = w->shape[0];
  if (left <= 0) return false;
  const int64_t in_row = row - w->index[0];
  w->n0 = in_row < left ? in_row : left;
  w->n1 = 1;
  if (w->n0 == row) {
    const int64_t rows = left / row, in_plane = w->shape[1] - w->index[1];
    w->n1 = rows < in_plane ? rows : in_plane;
  }
  return true;
}

static void walk_advance(walk *w) {
  const bool whole_rows = w->n1 != 1;
  int64_t add = whole_rows ? w->n1 : w->n0;
  w->at += w->n0 * w->n1;
  for (int d = whole_rows; d < w->ndim && add > 0; d++) {
    const int64_t value = w->index[d] + add;
    add = value >= w->shape[d];
    w->index[d] = add ? value - w->shape[d] : value;
  }
}

static int64_t walk_offset(const walk *w, const int64_t *stride) {
  int64_t offset = 0;
  for (int d = 0; d < w->ndim; d++) offset += w->index[d] * stride[d];
  return offset;
}

/* -- Loops ---------------------------------------------------------------- */

typedef struct job {
  const st_iter *it;
  st_loop loop;
  const void *ctx;
} job;

/* What a loop gets as strides: inner ones, then outer ones. */
static void loop_strides(const st_iter *it, int64_t *strides) {
  for (int i = 0; i < it->noperands; i++) {
    strides[i] = it->ndim > 0 ? it->op[i].stride[0] : 0;
    strides[it->noperands + i] = it->ndim > 1 ? it->op[i].stride[1] : 0;
  }
}

static void run_range(void *ctx, int64_t begin, int64_t end) {
  const job *j = ctx;
  const st_iter *it = j->it;
  const int n = it->noperands;
  int64_t strides[2 * ST_ITER_MAX_OPERANDS];
  char *data[ST_ITER_MAX_OPERANDS];
  loop_strides(it, strides);
  if (it->ndim <= 1) {
    for (int i = 0; i < n; i++) {
      data[i] = it->op[i].data + begin * strides[i];
    }
    j->loop(data, strides, end - begin, 1, j->ctx);
    return;
  }
  walk w;
  walk_start(&w, it->ndim, it->shape, begin, end);
  for (; walk_measure(&w); walk_advance(&w)) {
    for (int i = 0; i < n; i++) {
      data[i] = it->op[i].data + walk_offset(&w, it->op[i].stride);
    }
    j->loop(data, strides, w.n0, w.n1, j->ctx);
  }
}

/* -- Elementwise ---------------------------------------------------------- */

void st__iter_serial_range(const st_iter *it, st_loop loop, const void *ctx,
                           int64_t begin, int64_t end) {
  job j = {.it = it, .loop = loop, .ctx = ctx};
  if (!it->is_meta && begin < end) run_range(&j, begin, end);
}

void st__iter_cast_outputs(st_iter *it) {
  for (int i = 0; i < it->noutputs; i++) {
    const st_iter_operand *op = &it->op[i];
    if (op->original) st__copy_unchecked(op->original, op->tensor);
  }
}

void st__iter_run_serial(st_iter *it, st_loop loop, const void *ctx) {
  st__iter_serial_range(it, loop, ctx, 0, it->numel);
  st__iter_cast_outputs(it);
}

void st__iter_run(st_iter *it, st_loop loop, const void *ctx, int64_t grain) {
  job j = {.it = it, .loop = loop, .ctx = ctx};
  if (it->numel <= grain || it->is_meta) {
    st__iter_serial_range(it, loop, ctx, 0, it->numel);
  } else {
    st__parallel_for(0, it->numel, grain, run_range, &j);
  }
  st__iter_cast_outputs(it);
}

/* -- Seeing --------------------------------------------------------------- */

bool st__iter_has_contiguous_first_dim(const st_iter *it) {
  for (int i = 0; i < it->noperands && it->ndim > 0; i++) {
    const st_iter_operand *op = &it->op[i];
    if (op->stride[0] != (int64_t)st__itemsize(op->target)) return false;
  }
  return true;
}

st_inner st__iter_inner(const st_iter *it) {
  int scalars = 0;
  for (int i = 0; i < it->noperands && it->ndim > 0; i++) {
    const int64_t stride = it->op[i].stride[0];
    if (stride == (int64_t)st__itemsize(it->op[i].target)) continue;
    if (stride != 0 || i < it->noutputs || scalars++) return ST_INNER_STRIDED;
  }
  return scalars ? ST_INNER_SCALAR : ST_INNER_VECTOR;
}

bool st__iter_is_contiguous(const st_iter *it) {
  if (it->numel == 1) return true;
  return it->ndim == 1 && st__iter_has_contiguous_first_dim(it);
}

bool st__iter_can_use_32bit(const st_iter *it) {
  if (it->numel > INT32_MAX) return false;
  for (int i = 0; i < it->noperands; i++) {
    int64_t last = 1;
    for (int d = 0; d < it->ndim; d++) {
      int64_t span;
      if (__builtin_mul_overflow(it->shape[d] - 1, it->op[i].stride[d],
                                 &span) ||
          __builtin_add_overflow(last, span, &last)) {
        return false;
      }
    }
    if (last > INT32_MAX) return false;
  }
  return true;
}

static void fill_step(const st_iter *it, const walk *w, st_iter_step *step) {
  step->n0 = w->n0;
  step->n1 = w->n1;
  for (int i = 0; i < it->noperands; i++) {
    step->offset[i] = walk_offset(w, it->op[i].stride);
  }
}

/* One dimension is a single step, whatever the range. */
int64_t st__iter_steps(const st_iter *it, int64_t begin, int64_t end,
                       st_iter_step *steps, int64_t max) {
  int64_t n = 0;
  walk w;
  if (begin < 0) begin = 0;
  if (it->ndim > 1 && end > it->numel) end = it->numel;
  if (begin >= end) return 0;
  if (it->ndim <= 1) {
    w.ndim = it->ndim;
    w.index[0] = begin;
    w.n0 = end - begin;
    w.n1 = 1;
    if (max > 0) fill_step(it, &w, steps);
    return 1;
  }
  walk_start(&w, it->ndim, it->shape, begin, end);
  for (; walk_measure(&w); walk_advance(&w), n++) {
    if (n < max) fill_step(it, &w, &steps[n]);
  }
  return n;
}
