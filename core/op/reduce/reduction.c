/* The reduction engine (Note [Order of a reduction]).
 */

#include "op/reduce/reduction.h"

#include "base/memory.h"
#include "os/stack.h"
#include "base/threads.h"
#include "kernel/reduce/pairwise_reduction.h"
#include "tensor/loop_dims.h"

enum {
  TILE = 512,        /* outputs; their accumulators are on the stack */
  COLUMNS = 256,     /* outputs, if each has many elements */
  SEGMENT = 256,     /* minimum elements of a segment */
  CHUNK_BYTES = 32768,
  FEW_TILES = 64,    /* below: segments are split into chunks */
  MAX_CHUNKS = 256,
  ACC_SIZE = 16      /* bytes of the largest accumulator */
};

/* -- Loop nests ----------------------------------------------------------- */

/* The strides of a dimension. In bytes: the input, the two outputs. In
 * elements: the pivots, and the logical index among the reduced elements,
 * which is 0 for kept dimensions. */
enum { IN, OUT0, OUT1, REF, INDEX, NSTRIDES };

/* One pass over every output: a tile of outputs and a chunk of their elements
 * at a time. */
typedef struct loop_nest {
  char *in;
  st_loop_dims reduced, kept; /* kept: of outputs, and of segments */
  int64_t strides[2][ST_MAX_DIMS * NSTRIDES];
  int64_t segments;         /* per output */
  bool partials;            /* the input is values of segments */
  int64_t chunk, chunks;    /* elements of a chunk; number of chunks */
  int64_t width, per_row, tiles;
} loop_nest;

static void init_dims(loop_nest *w) {
  st__loop_dims_init(&w->reduced, NSTRIDES, w->strides[0]);
  st__loop_dims_init(&w->kept, NSTRIDES, w->strides[1]);
}

/* Leaves at least one dimension of each. */
static void merge(loop_nest *w) {
  st__loop_dims_merge(&w->reduced);
  st__loop_dims_merge(&w->kept);
  st__loop_dims_pad(&w->reduced, 1);
  st__loop_dims_pad(&w->kept, 1);
}

/* Outputs of a tile are adjacent along the first kept dimension, the one with
 * the least stride. If it is short, the longest one replaces it. */
static void choose_tile_dim(loop_nest *w) {
  if (w->kept.size[0] >= 8 || w->reduced.total >= 64) return;
  st__loop_dims_longest_first(&w->kept);
}

static void split(loop_nest *w, int64_t itemsize) {
  const int64_t n = w->reduced.total, chunk = CHUNK_BYTES / itemsize;
  const bool by_columns =
    n < 32 || st__magnitude(st__loop_strides(&w->kept, 0)[IN]) <
              st__magnitude(st__loop_strides(&w->reduced, 0)[IN]);
  w->width = by_columns ? (n < 64 ? TILE : COLUMNS) : chunk / (n + 1);
  w->width = w->width < 1 ? 1 : w->width > TILE ? TILE : w->width;
  w->per_row = (w->kept.size[0] + w->width - 1) / w->width;
  w->tiles = w->per_row;
  for (int i = 1; i < w->kept.n; i++) w->tiles *= w->kept.size[i];
  w->chunk = n;
  if (!w->partials && w->tiles < FEW_TILES && n >= 2 * chunk) {
    for (w->chunk = chunk; n / w->chunk > MAX_CHUNKS; w->chunk *= 2) continue;
  }
  w->chunks = n ? (n + w->chunk - 1) / w->chunk : 1;
}

/* True if the order does not matter: integers wrap around and bools are
 * exact. */
static bool is_any_order(const st_reduction *r) {
  const st_dtype acc = r->first.acc;
  return !r->ordered && (acc == ST_BOOL || st__is_integral(acc));
}

/* Note [Extrema in memory order]
 * The order of an extremum of floats shows in zeros and NaNs alone. So where
 * the reduced dimensions are not in memory order, all are reduced at once in
 * that order, dimensions that repeat elements once; if a result is a zero or a
 * NaN, the reduction runs again in its own order. */
static bool may_ignore_order(const st_reduction *r, const st_tensor *in,
                             uint64_t dims) {
  const st_reduce_pass *f = &r->first;
  int64_t last = INT64_MAX;
  if ((f->kernel != ST_K_amax && f->kernel != ST_K_amin) || r->finish ||
      (f->acc != ST_FLOAT32 && f->acc != ST_FLOAT64) || r->out_first ||
      r->out_last->storage == in->storage || in->numel == 0) {
    return false;
  }
  for (int i = 0; i < in->ndim; i++) {
    if (!(dims >> i & 1) || in->sizes[i] == 1) continue;
    const int64_t stride = st__magnitude(in->strides[i]);
    if (stride == 0 || stride > last) return true;
    last = stride;
  }
  return false;
}

/* Reduces the innermost reduced dimensions until they have SEGMENT elements.
 * The others are kept, with a stride of the logical index. If the order does
 * not matter, reduces all at once in memory order. ignores_order is set for an
 * extremum, which then also reads a repeated element once. */
static void make_loop_nest(loop_nest *w, const st_reduction *r,
                           const st_tensor *in, uint64_t dims, bool keepdim,
                           bool ignores_order) {
  const bool all = in->numel == 0 || ignores_order || is_any_order(r);
  int out_dim = (r->out_first ? r->out_first : r->out_last)->ndim;
  int64_t index = 1;
  w->in = st__data(in);
  w->partials = false;
  w->segments = 1;
  init_dims(w);
  for (int i = in->ndim - 1; i >= 0; i--) {
    const bool reduce = dims >> i & 1;
    const bool is_reduced = reduce && (all || w->reduced.total < SEGMENT);
    int64_t stride[NSTRIDES] = {st__stride_of(in, i)};
    if (!reduce || keepdim) out_dim--;
    if (!reduce) {
      stride[OUT0] = st__stride_of(r->out_first, out_dim);
      stride[OUT1] = st__stride_of(r->out_last, out_dim);
    } else {
      stride[INDEX] = index;
      index *= in->sizes[i];
    }
    const bool repeats = reduce && ignores_order && stride[IN] == 0;
    st__loop_dims_add(is_reduced ? &w->reduced : &w->kept,
                      repeats ? 1 : in->sizes[i], stride);
    if (reduce && !is_reduced) w->segments *= in->sizes[i];
  }
  if (all) {
    for (int i = 0; i < w->reduced.n; i++) {
      st__loop_strides(&w->reduced, i)[INDEX] = 0;
    }
    st__loop_dims_sort(&w->reduced, IN, 1);
  }
  st__loop_dims_sort(&w->kept, IN, 1);
  merge(w);
  choose_tile_dim(w);
}

/* Makes the loop nest over the values of segments, which are dense, `size`
 * bytes each, in the order of w's kept dimensions. */
static void make_rest(loop_nest *rest, loop_nest *w, int64_t size) {
  int64_t pivots = 1;
  rest->partials = true;
  init_dims(rest);
  for (int i = 0; i < w->kept.n; i++) {
    int64_t *kept = st__loop_strides(&w->kept, i), stride[NSTRIDES];
    const bool is_reduced = kept[INDEX] != 0;
    kept[REF] = is_reduced ? 0 : pivots;
    memcpy(stride, kept, sizeof stride);
    stride[IN] = size;
    size *= w->kept.size[i];
    if (!is_reduced) pivots *= w->kept.size[i];
    st__loop_dims_add(is_reduced ? &rest->reduced : &rest->kept,
                      w->kept.size[i], stride);
  }
  st__loop_dims_sort(&rest->reduced, INDEX, 1);
  merge(rest);
}

/* -- Tiles ---------------------------------------------------------------- */

typedef struct job {
  const st_reduction *r;
  loop_nest body, rest;
  st_loop loop[2], combine[2];           /* by pass */
  st_loop store[2];                      /* by output: out_first, out_last */
  char *out[2];
  char *values[2], *sums, *pivots;       /* scratch of staged runs */
  st_status status;                      /* of a staged run */
  atomic_bool *differs;                  /* set if the order shows, or NULL */
} job;

/* Up to `width` adjacent outputs, and the chunk of their elements. */
typedef struct tile {
  char *in, *out[2];
  int64_t at, ref, index; /* of the first output */
  int64_t width, chunk;
} tile;

static const st_reduce_pass *pass_of(const job *b, int pass) {
  return pass ? &b->r->second : &b->r->first;
}

static int64_t acc_size(const job *b, int pass) {
  return (int64_t)st__itemsize(pass_of(b, pass)->acc);
}

static void move_tile(const job *b, const loop_nest *w, tile *t, int dim,
                      int64_t by) {
  const int64_t *stride = st__loop_strides(&w->kept, dim);
  t->in += by * stride[IN];
  if (b->out[0]) t->out[0] += by * stride[OUT0];
  if (b->out[1]) t->out[1] += by * stride[OUT1];
  t->ref += by * stride[REF];
  t->index += by * stride[INDEX];
}

static tile find_tile(const job *b, const loop_nest *w, int64_t index) {
  tile t = {.in = w->in, .out = {b->out[0], b->out[1]},
            .chunk = index / w->tiles};
  int64_t row = index % w->tiles / w->per_row;
  const int64_t from = index % w->tiles % w->per_row * w->width;
  const int64_t left = w->kept.size[0] - from;
  t.width = left < w->width ? left : w->width;
  t.at = row * w->kept.size[0] + from;
  move_tile(b, w, &t, 0, from);
  for (int i = 1; i < w->kept.n; i++) {
    move_tile(b, w, &t, i, row % w->kept.size[i]);
    row /= w->kept.size[i];
  }
  return t;
}

/* The pivots of a pass: a constant, or one per output. */
typedef struct pivots { char *p; int64_t stride; } pivots;

static pivots pivots_of(const job *b, int pass, char *found) {
  if (pass == 0) return (pivots){(char *)(uintptr_t)&b->r->ref, 0};
  return (pivots){found, b->r->first.acc == ST_COMPLEX128 ? 16
                     : b->r->pivot ? 8 : acc_size(b, 0)};
}

static void fill(const st_reduce_pass *f, char *acc, int64_t n) {
  const size_t size = st__itemsize(f->acc), all = (size_t)n * size;
  st__scalar_store(f->start, f->acc, acc);
  for (size_t done = size, more; done < all; done += more) {
    more = done < all - done ? done : all - done;
    memcpy(acc + done, acc, more);
  }
}

/* Reduces the tile's chunk to one value per output in acc. */
static void reduce_tile(const loop_nest *w, st_loop loop, const tile *t,
                        pivots ref, char *acc) {
  const int64_t from = t->chunk * w->chunk, left = w->reduced.total - from;
  const int64_t n = left < w->chunk ? left : w->chunk;
  const int64_t s[6] = {[4] = st__loop_strides(&w->kept, 0)[IN],
                        [5] = ref.stride};
  int64_t strides[ST_MAX_DIMS];
  for (int i = 0; i < w->reduced.n; i++) {
    strides[i] = st__loop_strides(&w->reduced, i)[IN];
  }
  const st_reduce_run run = {from, w->partials, w->reduced.n, w->reduced.size,
                             strides};
  char *data[3] = {acc, t->in, ref.p};
  loop(data, s, n, t->width, &run);
}

#define TIMES_ONE(T)                                                        \
  static void times_one_##T(void *acc, int64_t n) {                         \
    T *a = acc;                                                             \
    for (int64_t i = 0; i < 2 * n; i += 2) {                                \
      const T re = a[i], im = a[i + 1];                                     \
      a[i] = re - 0 * im;                                                   \
      a[i + 1] = im + 0 * re; } }
TIMES_ONE(float)
TIMES_ONE(double)

static void plus_zero(double *a, int64_t n) {
  for (int64_t i = 0; i < n; i++) a[i] += 0.0;
}

/* An ATen reduction starts from the initial value. That is visible in a sum of
 * -0 alone, which is 0, and in infinite complex products. */
static void add_start(const st_reduce_pass *f, char *acc, int64_t n) {
  double *a = (double *)(void *)acc;
  if (f->combine == ST_K_sum) {
    if (f->acc == ST_FLOAT64) plus_zero(a, n);
    if (f->acc == ST_COMPLEX128) plus_zero(a, 2 * n);
  } else if (f->combine == ST_K_prod) {
    if (f->acc == ST_COMPLEX64) times_one_float(acc, n);
    if (f->acc == ST_COMPLEX128) times_one_double(acc, n);
  }
}

static void pivot(const job *b, const char *first, char *ref, int64_t n) {
  if (b->r->pivot) b->r->pivot(b->r, first, ref, n);
  else memcpy(ref, first, (size_t)(n * acc_size(b, 0)));
}

static void store(const job *b, const loop_nest *w, const tile *t, int which,
                  char *acc) {
  const int pass = which && b->loop[1] ? 1 : 0;
  const int64_t s[4] = {st__loop_strides(&w->kept, 0)[which ? OUT1 : OUT0],
                        acc_size(b, pass), 0, 0};
  char *data[2] = {t->out[which], acc};
  b->store[which](data, s, t->width, 1, NULL);
}

/* Stores the results of the first pass if they are an output. */
static void first_done(const job *b, const loop_nest *w, const tile *t,
                       char *acc) {
  if (b->r->out_first) store(b, w, t, 0, acc);
}

static bool zero_or_nan(st_dtype acc, const void *values, int64_t n) {
  const float *f = values;
  const double *d = values;
  bool found = false;
  for (int64_t i = 0; i < n; i++) {
    const double x = acc == ST_FLOAT32 ? f[i] : d[i];
    found |= x == 0 || x != x;
  }
  return found;
}

static void last_done(const job *b, const loop_nest *w, const tile *t,
                      char *acc, const char *ref) {
  const st_dtype type = b->r->first.acc;
  if (b->differs && zero_or_nan(type, acc, t->width)) *b->differs = true;
  if (b->r->finish) b->r->finish(b->r, acc, ref, t->width);
  if (b->r->out_last) store(b, w, t, 1, acc);
}

static void reduce_outputs(const job *b, int pass, const tile *t, char *ref,
                           char *acc) {
  const st_reduce_pass *f = pass_of(b, pass);
  if (b->body.reduced.total == 0) {
    fill(f, acc, t->width);
    return;
  }
  reduce_tile(&b->body, b->loop[pass], t, pivots_of(b, pass, ref), acc);
  add_start(f, acc, t->width);
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
  const job *b = ctx;
  _Alignas(64) char acc[TILE * ACC_SIZE], ref[TILE * ACC_SIZE];
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(b, &b->body, i);
    reduce_outputs(b, 0, &t, NULL, acc);
    if (b->loop[1]) {
      pivot(b, acc, ref, t.width);
      first_done(b, &b->body, &t, b->r->pivot ? ref : acc);
      reduce_outputs(b, 1, &t, ref, acc);
    }
    last_done(b, &b->body, &t, acc, ref);
  }
}

/* -- Stages --------------------------------------------------------------- */

typedef struct stage { const job *b; int pass; } stage;

static bool is_search(const job *b, int pass) {
  return pass && b->r->second.kernel == ST_K_find;
}

/* The pivots of a tile of the body or of the rest. */
static pivots pivots_at(const job *b, int pass, const loop_nest *w,
                        const tile *t) {
  pivots all = pivots_of(b, pass, b->pivots);
  if (pass) {
    all.p += t->ref * all.stride;
    all.stride *= st__loop_strides(&w->kept, 0)[REF];
  }
  return all;
}

/* Sets *from and *to to the range of the tile's outputs whose extremum comes
 * from this tile and chunk: from the first of them to after the last. */
static void find_extrema(const job *b, const tile *t, pivots ref,
                         int64_t *from, int64_t *to) {
  const int64_t size = acc_size(b, 0), one = 1;
  const int64_t s[6] = {[4] = size, [5] = ref.stride};
  const st_reduce_run run = {0, false, 1, &one, &size};
  int64_t hit[TILE];
  char *data[3] = {(char *)hit, b->values[0] + size * (
                     t->chunk * b->body.kept.total + t->at), ref.p};
  st__kernel(ST_K_find, b->r->first.acc)(data, s, 1, t->width, &run);
  *from = 0, *to = t->width;
  while (*from < *to && hit[*from] == ST_NO_INDEX) ++*from;
  while (*from < *to && hit[*to - 1] == ST_NO_INDEX) --*to;
}

static void search(const job *b, const tile *t, pivots ref, char *acc) {
  const int64_t *stride = st__loop_strides(&b->body.kept, 0);
  int64_t *at = (int64_t *)(void *)acc, from, to;
  tile part = *t;
  find_extrema(b, t, ref, &from, &to);
  for (int64_t j = 0; j < t->width; j++) at[j] = ST_NO_INDEX;
  if (from == to) return;
  part.in += from * stride[IN];
  part.width = to - from;
  ref.p += from * ref.stride;
  reduce_tile(&b->body, b->loop[1], &part, ref, (char *)(at + from));
  for (int64_t j = from; j < to; j++) {
    if (at[j] != ST_NO_INDEX) at[j] += t->index + j * stride[INDEX];
  }
}

static void run_body(void *ctx, int64_t begin, int64_t end) {
  const stage *g = ctx;
  const job *b = g->b;
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(b, &b->body, i);
    const pivots ref = pivots_at(b, g->pass, &b->body, &t);
    char *acc = b->values[g->pass] + acc_size(b, g->pass) * (
                  t.chunk * b->body.kept.total + t.at);
    if (is_search(b, g->pass)) search(b, &t, ref, acc);
    else reduce_tile(&b->body, b->loop[g->pass], &t, ref, acc);
  }
}

/* Combines chunks in pairs into the values of segments. */
static char *join_chunks(const job *b, int pass) {
  const int64_t n = b->body.kept.total, size = acc_size(b, pass);
  const int64_t row = n * size, s[6] = {[4] = size};
  const st_reduce_run run = {0, true, 1, &b->body.chunks, &row};
  char *data[3] = {b->sums, b->values[pass],
                   pivots_of(b, 0, NULL).p};
  if (b->body.chunks == 1) return b->values[pass];
  b->combine[pass](data, s, b->body.chunks, n, &run);
  return b->sums;
}

static void run_rest(void *ctx, int64_t begin, int64_t end) {
  const stage *g = ctx;
  const job *b = g->b;
  const loop_nest *w = &b->rest;
  _Alignas(64) char acc[TILE * ACC_SIZE];
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(b, w, i);
    char *ref = b->pivots + t.ref * pivots_of(b, 1, NULL).stride;
    reduce_tile(w, b->combine[g->pass], &t, pivots_of(b, 0, NULL), acc);
    add_start(pass_of(b, g->pass), acc, t.width);
    if (g->pass || !b->loop[1]) {
      last_done(b, w, &t, acc, ref);
    } else {
      pivot(b, acc, ref, t.width);
      first_done(b, w, &t, b->r->pivot ? ref : acc);
    }
  }
}

/* The minimum number of units, tiles times chunks, per thread. */
static int64_t units_of_grain(const loop_nest *w, int64_t grain) {
  const int64_t units = w->tiles * w->chunks;
  return grain / (w->reduced.total * w->kept.total / units + 1) + 1;
}

/* Reduces the segments to values in scratch memory, then these. */
static st_status run_staged(job *b) {
  for (int pass = 0; pass < 2 && b->loop[pass]; pass++) {
    const int64_t grain = st__kernel_grain(pass_of(b, pass)->kernel);
    stage g = {b, pass};
    make_rest(&b->rest, &b->body, acc_size(b, pass));
    split(&b->rest, acc_size(b, pass));
    ST_TRY(st__parallel_try(0, b->body.tiles * b->body.chunks,
                            units_of_grain(&b->body, grain), run_body, &g));
    b->rest.in = join_chunks(b, pass);
    ST_TRY(st__parallel_try(0, b->rest.tiles,
                            units_of_grain(&b->rest, ST_GRAIN), run_rest, &g));
  }
  return ST_OK;
}

/* -- Running -------------------------------------------------------------- */

static void run_switched(void *arg) {
  ((job *)arg)->status = run_staged(arg);
}

static st_status find_loops(job *b, st_dtype dtype) {
  const st_reduction *r = b->r;
  ST_TRY(st__find_kernel(r->first.kernel, dtype, &b->loop[0]));
  b->combine[0] = st__kernel(r->first.combine, r->first.acc);
  b->loop[1] = b->combine[1] = NULL;
  if (r->second.kernel != ST_K_NONE) {
    ST_TRY(st__find_kernel(r->second.kernel, dtype, &b->loop[1]));
    b->combine[1] = st__kernel(r->second.combine, r->second.acc);
  }
  return ST_OK;
}

static st_loop find_store(const job *b, const st_tensor *out, int pass) {
  return out ? st__copy_kernel(out->dtype, pass_of(b, pass)->acc)
             : NULL;
}

static st_status run_with_scratch(job *b) {
  const size_t all = (size_t)b->body.kept.total * ACC_SIZE;
  const size_t chunks = (size_t)b->body.chunks, passes = b->loop[1] ? 2 : 1;
  const size_t one = all / (size_t)b->body.segments;
  const size_t bytes = all * (chunks * passes + 1) + one;
  char *scratch = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!scratch) return ST_NO_MEMORY;
  b->values[0] = scratch;
  b->values[1] = scratch + all * chunks * (passes - 1);
  b->sums = b->values[1] + all * chunks;
  b->pivots = b->sums + all;
  st__on_large_stack(run_switched, b);
  st__free(ST_MEM_SCRATCH, scratch, bytes);
  return b->status;
}

static st_status run(job *b, st_reduction *r, const st_tensor *in,
                     uint64_t dims, bool keepdim) {
  make_loop_nest(&b->body, r, in, dims, keepdim, b->differs != NULL);
  if (b->body.kept.total == 0) return ST_OK;
  split(&b->body, (int64_t)st__itemsize(in->dtype));
  r->count = b->body.reduced.total * b->body.segments;
  b->out[0] = r->out_first ? st__data(r->out_first) : NULL;
  b->out[1] = r->out_last ? st__data(r->out_last) : NULL;
  b->store[0] = find_store(b, r->out_first, 0);
  b->store[1] = find_store(b, r->out_last, b->loop[1] ? 1 : 0);
  if (b->body.chunks > 1 || b->body.segments > 1) return run_with_scratch(b);
  const st_kernel_id kernel = pass_of(b, b->loop[1] ? 1 : 0)->kernel;
  return st__parallel_try(0, b->body.tiles,
                          units_of_grain(&b->body, st__kernel_grain(kernel)),
                          run_tiles, b);
}

st_status st__reduce(st_reduction *r, const st_tensor *in, uint64_t dims,
                     bool keepdim) {
  atomic_bool differs = false;
  job b;
  b.r = r;
  b.differs = may_ignore_order(r, in, dims) ? &differs : NULL;
  ST_TRY(find_loops(&b, in->dtype));
  ST_TRY(run(&b, r, in, dims, keepdim));
  if (!differs) return ST_OK;
  b.differs = NULL;
  return run(&b, r, in, dims, keepdim);
}
