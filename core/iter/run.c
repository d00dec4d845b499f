/* Runs an iterator: walks its elements in 2-d steps, on one or several threads.
 *
 * Note [Iteration steps]
 * A loop covers two dimensions. The walk calls it for the largest possible 2-d
 * steps of a linear range. From inside a row a step covers at most the rest of
 * that row; from the start of a row it covers as many whole rows as remain in
 * the plane or in the range.
 */

#include "base/interrupt.h"
#include "os/machine.h"
#include "os/stack.h"
#include "base/threads.h"
#include "iter/buffer.h"
#include "iter/build.h"
#include "iter/loop_report.h"

/* -- The walk ------------------------------------------------------------- */

typedef struct walk {
  const int64_t *shape;
  int ndim;
  int64_t at, end;            /* linear indices */
  int64_t n0, n1;             /* size of the current step */
  int64_t index[ST_MAX_DIMS]; /* of the element at `at` */
} walk;

static void walk_start(walk *w, int ndim, const int64_t *shape,
                       int64_t begin, int64_t end) {
  w->shape = shape;
  w->ndim = ndim;
  w->at = begin;
  w->end = end;
  w->index[0] = 0; /* the iterator may have no dimension */
  for (int d = 0; d < ndim; d++) {
    w->index[d] = begin ? begin % shape[d] : 0;
    begin = begin ? begin / shape[d] : 0;
  }
}

/* Makes the next step one row or the rest of one; false at the end. */
static bool walk_row(walk *w) {
  const int64_t left = w->end - w->at;
  if (left <= 0) return false;
  const int64_t in_row = w->shape[0] - w->index[0];
  w->n0 = in_row < left ? in_row : left;
  w->n1 = 1;
  return true;
}

/* Makes the next step as large as possible. Needs two dimensions. */
static bool walk_measure(walk *w) {
  const int64_t row = w->shape[0];
  if (!walk_row(w)) return false;
  if (w->n0 == row) {
    const int64_t rows = (w->end - w->at) / row;
    const int64_t in_plane = w->shape[1] - w->index[1];
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

/* -- Tiles ---------------------------------------------------------------- */

/* Note [Tiled iteration]
 * If operands have different fastest dimensions, as in a:t() + b, a row of one
 * is a column of another: each of its elements is in another cache line, which
 * is evicted before the next row uses it. So the fastest dimension of the other
 * operand becomes the second dimension, and the plane of the two is walked tile
 * by tile: the lines that a tile touches stay in L1. An operand with the other
 * fastest dimension is transposed into a buffer (buffer.h), which pays off for
 * shorter rows, too. */
enum {
  LINE = 64,
  WIDE = 256,       /* of a tile; the prefetcher sees its rows as streams */
  TALL = 2 * LINE,  /* bytes of its columns */
  MIN_TILED = 4096  /* fewest elements worth tiles */
};

/* True if a row evicts its own cache lines before the next row uses them.
 * Otherwise whole rows are faster than tiles. Strides that are multiples of a
 * page map to few cache sets. */
static bool row_evicts_itself(int64_t n, int64_t stride) {
  return n * LINE > st__machine.row_cached ||
         (stride % st__machine.l1_span == 0 && n >= LINE);
}

/* The dimension that would be the fastest for some operand, if not 0; 0 if
 * tiles do not help. */
static int tile_axis(const st_iter *it) {
  int axis = 0;
  int64_t least = INT64_MAX;
  for (int i = 0; i < it->noperands; i++) {
    const int64_t *stride = it->op[i].stride;
    const int64_t size =
      (int64_t)st__itemsize(st__iter_own_dtype(&it->op[i]));
    const bool evicts = row_evicts_itself(it->shape[0], stride[0]);
    if (stride[0] < LINE) continue;
    for (int d = 1; d < it->ndim; d++) {
      if (it->shape[d] < 8 || stride[d] <= 0 || stride[d] >= stride[0] ||
          stride[d] >= least || !(evicts || stride[d] == size)) {
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

/* Columns are whole lines of the operand with the smallest elements, so that a
 * tile next to this one need not read a line again; or 32 elements. */
static int64_t tile_height(const st_iter *it) {
  int64_t size = 4;
  for (int i = 0; i < it->noperands; i++) {
    const int64_t own = (int64_t)st__itemsize(st__iter_own_dtype(&it->op[i]));
    if (own < size) size = own;
  }
  return TALL / size;
}

static void run_tiles(const st_iter_job *j, char *const *data,
                      const int64_t *strides, int64_t n0, int64_t n1) {
  const int n = j->it->noperands;
  const int64_t most = st__pack_capacity(j->it);
  const int64_t wide = most < WIDE ? most : WIDE, tall = tile_height(j->it);
  char *at[ST_ITER_MAX_OPERANDS];
  int64_t width = 0;
  st_pack p;
  for (int64_t r = 0; r < n1; r += tall) {
    const int64_t m1 = n1 - r < tall ? n1 - r : tall;
    for (int64_t q = 0; q < n0; q += wide) {
      const int64_t m0 = n0 - q < wide ? n0 - q : wide;
      for (int i = 0; i < n; i++) {
        at[i] = data[i] + q * strides[i] + r * strides[n + i];
      }
      if (!j->packed) {
        j->loop(at, strides, m0, m1, j->ctx);
        continue;
      }
      if (width != m0) {
        width = m0;
        st__pack_init(&p, j, 1, &width);
      }
      st__pack_run(&p, at, m1);
    }
  }
}

/* -- Ranges --------------------------------------------------------------- */

/* The addresses of the operands at the walk's current element. Dimension 0 of
 * the walk is dimension k of the iterator. */
static void locate_operands(const st_iter *it, const walk *w, int k,
                            char **data) {
  for (int i = 0; i < it->noperands; i++) {
    const st_iter_operand *op = &it->op[i];
    data[i] = op->data + walk_offset(w, op->stride + k);
  }
}

static void run_steps(const st_iter_job *j, const int64_t *strides,
                      int64_t begin, int64_t end) {
  char *data[ST_ITER_MAX_OPERANDS];
  walk w;
  walk_start(&w, j->it->ndim, j->it->shape, begin, end);
  for (; walk_measure(&w); walk_advance(&w)) {
    locate_operands(j->it, &w, 0, data);
    if (j->tiled) run_tiles(j, data, strides, w.n0, w.n1);
    else j->loop(data, strides, w.n0, w.n1, j->ctx);
  }
}

/* begin and end count units: the elements of the dimensions that a block holds
 * in full. */
static void run_packed(const st_iter_job *j, int64_t begin, int64_t end) {
  const st_iter *it = j->it;
  const int k = j->block_dims;
  static const int64_t one = 1;
  char *data[ST_ITER_MAX_OPERANDS];
  walk w;
  st_pack p;
  st__pack_init(&p, j, k, it->shape);
  if (it->ndim == 0) walk_start(&w, 0, &one, begin, end);
  else walk_start(&w, it->ndim - k, it->shape + k, begin, end);
  for (; walk_row(&w); walk_advance(&w)) {
    locate_operands(it, &w, k, data);
    st__pack_run(&p, data, w.n0);
  }
}

static void run_range(void *ctx, int64_t begin, int64_t end) {
  const st_iter_job *j = ctx;
  const st_iter *it = j->it;
  const int n = it->noperands;
  int64_t strides[2 * ST_ITER_MAX_OPERANDS];
  char *data[ST_ITER_MAX_OPERANDS];
  if (j->packed && !j->tiled) {
    run_packed(j, begin, end);
    return;
  }
  for (int i = 0; i < n; i++) {
    strides[i] = it->ndim > 0 ? it->op[i].stride[0] : 0;
    strides[n + i] = it->ndim > 1 ? it->op[i].stride[1] : 0;
    data[i] = it->op[i].data + begin * strides[i];
  }
  if (it->ndim > 1) run_steps(j, strides, begin, end);
  else j->loop(data, strides, end - begin, 1, j->ctx);
}

/* -- One element ---------------------------------------------------------- */

typedef struct one_element {
  st_loop loop;
  char **data;
  const int64_t *strides;
  const void *ctx;
} one_element;

static void run_one(void *arg) {
  const one_element *e = arg;
  e->loop(e->data, e->strides, 1, 1, e->ctx);
}

void st__run_loop_once(st_loop loop, char **data, const int64_t *strides,
                       const void *ctx) {
  one_element e = {loop, data, strides, ctx};
  st__on_large_stack(run_one, &e);
}

/* -- Elementwise ---------------------------------------------------------- */

enum {
  SHORT_ROW = 32,          /* rows up to this length are packed */
  SERIAL_BLOCK = 1 << 18   /* elements between two questions whether to stop */
};

static st_iter_job new_job(const st_iter *it, st_loop loop, const void *ctx) {
  return (st_iter_job){.it = it, .loop = loop, .ctx = ctx, .unit = 1,
                       .packed = it->ncasts > 0};
}

/* Runs a job on this thread. */
static void run_alone(st_iter_job *j, int64_t begin, int64_t end) {
  if (st__stack_is_large()) run_range(j, begin, end);
  else st_parallel_for(begin, end, end - begin, run_range, j);
}

void st__iter_serial_range(const st_iter *it, st_loop loop, const void *ctx,
                           int64_t begin, int64_t end) {
  st_iter_job j = new_job(it, loop, ctx);
  if (it->is_meta) {
    st__miss_elements();
    return;
  }
  while (end - begin > SERIAL_BLOCK) {
    run_alone(&j, begin, begin + SERIAL_BLOCK);
    begin += SERIAL_BLOCK;
    if (st__stops()) return;
  }
  if (begin < end) run_alone(&j, begin, end);
}

static st_status refuse_device(const st_iter *it) {
  return st__fail(ST_NO_KERNEL, "the CPU cannot access elements on device "
                  "'%s'", st__device_name(it->device));
}

static st_status run_serial(st_iter_job *j) {
  if (j->it->device > ST_DEVICE_META) return refuse_device(j->it);
  const int64_t n = j->it->numel;
  int64_t at = 0;
  if (j->it->is_meta && !st__is_dry_run()) st__miss_elements();
  if (j->it->is_meta || n == 0) return ST_OK;
  for (; n - at > SERIAL_BLOCK; at += SERIAL_BLOCK) {
    run_alone(j, at, at + SERIAL_BLOCK);
    ST_TRY(st__poll_interrupt());
  }
  run_alone(j, at, n);
  return ST_OK;
}

st_status st__iter_read(const st_iter *it, st_loop loop, const void *ctx) {
  st_iter_job j = new_job(it, loop, ctx);
  j.only_reads = true;
  return run_serial(&j);
}

st_status st__iter_run_serial(const st_iter *it, st_loop loop,
                              const void *ctx) {
  st_iter_job j = new_job(it, loop, ctx);
  return run_serial(&j);
}

/* Returns 0 if tiles do not pay off. */
static int choose_axis(const st_iter *it) {
  if (it->ndim < 2 || it->numel < MIN_TILED ||
      st__iter_has(it, ST_ITER_LINEAR)) {
    return 0;
  }
  return tile_axis(it);
}

/* Reorders the iterator for tiles if they pay off. */
static bool prepare_tiles(st_iter *it) {
  const int axis = choose_axis(it);
  if (axis > 1) swap_dims(it, 1, axis);
  return axis > 0;
}

static bool has_short_rows(const st_iter *it) {
  return it->ndim > 1 && it->shape[0] <= SHORT_ROW;
}

/* Note [Dry runs], Note [Captured loops] */
static void report_dry_run(const st_iter *it, st_loop loop, const void *ctx,
                           int64_t grain, bool is_map) {
  if (!st__is_dry_run()) {
    st__miss_elements();
    return;
  }
  st__capture_elementwise(it, is_map || !ctx ? loop : NULL, ctx, grain);
  const bool tiled = choose_axis(it) > 0;
  st__dry_run_iter(it, grain, tiled, it->ncasts > 0 ||
                   (is_map && !tiled && has_short_rows(it)));
}

static st_status run_job(st_iter_job *j, int64_t grain) {
  const st_iter *it = j->it;
  if (it->device > ST_DEVICE_META) return refuse_device(it);
  if (j->packed && !j->tiled && !j->streams) {
    j->block_dims = st__pack_dims(it, &j->unit);
  }
  const int64_t units = it->numel / j->unit;
  if (it->numel <= grain && st__stack_is_large()) {
    run_range(j, 0, units);
    return ST_OK;
  }
  return st__parallel_try(0, units, grain / j->unit, run_range, j);
}

st_status st__iter_run(st_iter *it, st_loop loop, const void *ctx,
                       int64_t grain) {
  if (it->is_meta) report_dry_run(it, loop, ctx, grain, false);
  if (it->is_meta || it->numel == 0) return ST_OK;
  st_iter_job j = new_job(it, loop, ctx);
  j.tiled = prepare_tiles(it);
  return run_job(&j, grain);
}

st_status st__iter_map(st_iter *it, st_loop loop, const void *ctx,
                       int64_t grain) {
  if (it->is_meta) report_dry_run(it, loop, ctx, grain, true);
  if (it->is_meta || it->numel == 0) return ST_OK;
  st_iter_job j = new_job(it, loop, ctx);
  j.tiled = prepare_tiles(it);
  if (!j.tiled && !j.packed) {
    j.streams = st__pack_streams(it);
    j.packed = j.streams || has_short_rows(it);
  }
  j.packed |= j.tiled;
  return run_job(&j, grain);
}

/* -- Inspection ----------------------------------------------------------- */

bool st__iter_has_contiguous_first_dim(const st_iter *it) {
  for (int i = 0; i < it->noperands && it->ndim > 0; i++) {
    const st_iter_operand *op = &it->op[i];
    if (op->stride[0] != (int64_t)st__itemsize(st__iter_own_dtype(op))) {
      return false;
    }
  }
  return true;
}

st_inner st__iter_inner(const st_iter *it) {
  int scalars = 0;
  for (int i = 0; i < it->noperands && it->ndim > 0; i++) {
    const st_iter_operand *op = &it->op[i];
    const int64_t stride = op->stride[0];
    if (stride == (int64_t)st__itemsize(st__iter_own_dtype(op))) continue;
    if (stride != 0 || i < it->noutputs || scalars++) return ST_INNER_STRIDED;
  }
  return scalars ? ST_INNER_SCALAR : ST_INNER_VECTOR;
}

bool st__iter_is_contiguous(const st_iter *it) {
  if (it->numel == 1) return true;
  return it->ndim == 1 && st__iter_has_contiguous_first_dim(it);
}

static void fill_step(const st_iter *it, const walk *w, st_iter_step *step) {
  step->n0 = w->n0;
  step->n1 = w->n1;
  for (int i = 0; i < it->noperands; i++) {
    step->offset[i] = walk_offset(w, it->op[i].stride);
  }
}

/* With one dimension there is a single step, whatever the range. */
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
