/* Running an iterator: the walk over its elements in 2-d steps, alone or on
 * the team.
 *
 * Note [Steps]
 * A loop walks two dimensions; the walk feeds it the largest such pieces of a
 * linear range. Inside a row only its rest can be taken; at the start of a
 * row, as many whole rows as are left in the plane or in the range.
 */

#include "base/threads.h"
#include "iter/build.h"
#include "iter/cast.h"
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

/* What a loop gets as strides: inner ones, then outer ones. */
static void loop_strides(const st_iter *it, int64_t *strides) {
  for (int i = 0; i < it->noperands; i++) {
    const st_iter_operand *op = &it->op[i];
    strides[i] = it->ndim > 0 ? st__own_bytes(op, op->stride[0]) : 0;
    strides[it->noperands + i] =
      it->ndim > 1 ? st__own_bytes(op, op->stride[1]) : 0;
  }
}

static inline void run_plain(const st_iter_job *j, char **data,
                             const int64_t *strides, int64_t n0, int64_t n1) {
  if (j->it->ncasts == 0) j->loop(data, strides, n0, n1, j->ctx);
  else st__cast_loop(j, data, strides, n0, n1);
}

/* -- Tiles ---------------------------------------------------------------- */

/* Note [Tiles]
 * When the operands disagree about the fastest dimension, as in a:t() + b, a
 * row of one is a column of another, and each of its elements lies in another
 * cache line, which is gone before the next row comes to it. So the fastest
 * dimension of the other operand becomes the second one, and the plane of the
 * two is walked tile by tile: what a tile touches stays in L1. */
enum { TILE = 64, LINE = 64, CACHED = 96 << 10, ALIASED = 4096 };

/* Do the lines of one row outlast it? A tile costs more than a row as long as
 * they do. Strides of whole pages meet in a few sets of the cache. */
static bool is_row_lost(int64_t n, int64_t stride) {
  return n * LINE > CACHED || (stride % ALIASED == 0 && n >= TILE);
}

/* The dimension that some operand would rather have first; 0: none. */
static int tile_axis(const st_iter *it) {
  int axis = 0;
  int64_t least = INT64_MAX;
  for (int i = 0; i < it->noperands; i++) {
    const int64_t *stride = it->op[i].stride;
    if (stride[0] < LINE || !is_row_lost(it->shape[0], stride[0])) continue;
    for (int d = 1; d < it->ndim; d++) {
      if (it->shape[d] < 8 || stride[d] <= 0 || stride[d] >= stride[0] ||
          stride[d] >= least) {
        continue;
      }
      least = stride[d];
      axis = d;
    }
  }
  return it->shape[0] >= 8 ? axis : 0;
}

static void swap_dims(st_iter *it, int a, int b) {
  const int64_t size = it->shape[a];
  it->shape[a] = it->shape[b];
  it->shape[b] = size;
  for (int i = 0; i < it->noperands; i++) {
    int64_t *stride = it->op[i].stride, s = stride[a];
    stride[a] = stride[b];
    stride[b] = s;
  }
}

static void run_tiles(const st_iter_job *j, char *const *data,
                      const int64_t *strides, int64_t n0, int64_t n1) {
  const int n = j->it->noperands;
  char *at[ST_ITER_MAX_OPERANDS];
  for (int64_t r = 0; r < n1; r += TILE) {
    const int64_t m1 = n1 - r < TILE ? n1 - r : TILE;
    for (int64_t q = 0; q < n0; q += TILE) {
      const int64_t m0 = n0 - q < TILE ? n0 - q : TILE;
      for (int i = 0; i < n; i++) {
        at[i] = data[i] + q * strides[i] + r * strides[n + i];
      }
      run_plain(j, at, strides, m0, m1);
    }
  }
}

static inline void run_loop(const st_iter_job *j, char **data,
                            const int64_t *strides, int64_t n0, int64_t n1) {
  if (j->tiled) run_tiles(j, data, strides, n0, n1);
  else run_plain(j, data, strides, n0, n1);
}

/* -- Ranges --------------------------------------------------------------- */

static void run_range(void *ctx, int64_t begin, int64_t end) {
  const st_iter_job *j = ctx;
  const st_iter *it = j->it;
  const int n = it->noperands;
  int64_t strides[2 * ST_ITER_MAX_OPERANDS];
  char *data[ST_ITER_MAX_OPERANDS];
  loop_strides(it, strides);
  if (it->ndim <= 1) {
    for (int i = 0; i < n; i++) {
      data[i] = it->op[i].data + begin * strides[i];
    }
    run_loop(j, data, strides, end - begin, 1);
    return;
  }
  walk w;
  walk_start(&w, it->ndim, it->shape, begin, end);
  for (; walk_measure(&w); walk_advance(&w)) {
    for (int i = 0; i < n; i++) {
      const st_iter_operand *op = &it->op[i];
      data[i] = op->data + st__own_bytes(op, walk_offset(&w, op->stride));
    }
    run_loop(j, data, strides, w.n0, w.n1);
  }
}

/* -- Elementwise ---------------------------------------------------------- */

void st__iter_serial_range(const st_iter *it, st_loop loop, const void *ctx,
                           int64_t begin, int64_t end) {
  st_iter_job j = {.it = it, .loop = loop, .ctx = ctx};
  if (!it->is_meta && begin < end) run_range(&j, begin, end);
}

void st__iter_read(const st_iter *it, st_loop loop, const void *ctx) {
  st_iter_job j = {.it = it, .loop = loop, .ctx = ctx, .only_reads = true};
  if (!it->is_meta && it->numel > 0) run_range(&j, 0, it->numel);
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

/* Prepares the iterator for tiles where they pay; its plan is over. */
static bool prepare_tiles(st_iter *it) {
  if (it->ndim < 2 || it->numel < TILE * TILE ||
      st__iter_has(it, ST_ITER_LINEAR)) {
    return false;
  }
  const int axis = tile_axis(it);
  if (axis > 1) swap_dims(it, 1, axis);
  return axis > 0;
}

void st__iter_run(st_iter *it, st_loop loop, const void *ctx, int64_t grain) {
  st_iter_job j = {.it = it, .loop = loop, .ctx = ctx};
  j.tiled = prepare_tiles(it);
  if (it->is_meta) return;
  if (it->numel <= grain) {
    if (it->numel > 0) run_range(&j, 0, it->numel);
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
  if (begin >= end || max < 1) return 0;
  if (it->ndim <= 1) {
    w.ndim = it->ndim;
    w.index[0] = begin;
    w.n0 = end - begin;
    w.n1 = 1;
    fill_step(it, &w, steps);
    return 1;
  }
  walk_start(&w, it->ndim, it->shape, begin, end);
  for (; n < max && walk_measure(&w); walk_advance(&w), n++) {
    fill_step(it, &w, &steps[n]);
  }
  return n;
}
