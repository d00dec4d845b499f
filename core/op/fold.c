/* The engine of reductions (Note [The walk of a reduction]).
 */

#include "op/fold.h"

#include <math.h>

#include "base/memory.h"
#include "base/threads.h"
#include "iter/watch.h"
#include "kernel/reduction.h"

enum {
  TILE = 512,        /* outputs whose accumulators live on the stack */
  COLUMNS = 256,     /* of them, where each takes long */
  SEGMENT = 256,     /* elements of a segment, at least */
  CHUNK_BYTES = 32768,
  FEW_TILES = 64,    /* fewer: segments are cut into chunks */
  MAX_CHUNKS = 256,
  ACC_SIZE = 16      /* of the largest accumulator */
};

/* -- Dimensions ----------------------------------------------------------- */

/* What a dimension moves, in bytes but for the last two: the input, the two
 * outputs, the references (in references), the logical position among the
 * reduced elements, which is 0 for kept dimensions. */
enum { IN, OUT0, OUT1, REF, POSITION, NSTEPS };

/* The fastest dimension first. */
typedef struct axes {
  int n;
  int64_t total; /* product of the sizes */
  int64_t size[ST_MAX_DIMS], step[NSTEPS][ST_MAX_DIMS];
} axes;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static void add_dim(axes *d, int64_t size, const int64_t *step) {
  d->total *= size;
  d->size[d->n] = size;
  for (int k = 0; k < NSTEPS; k++) d->step[k][d->n] = step[k];
  d->n++;
}

static void swap(int64_t *a, int i, int j) {
  const int64_t t = a[i];
  a[i] = a[j];
  a[j] = t;
}

static void swap_dims(axes *d, int i, int j) {
  swap(d->size, i, j);
  for (int k = 0; k < NSTEPS; k++) swap(d->step[k], i, j);
}

/* Expanded dimensions are the slowest. */
static bool is_slower(const axes *d, int by, int i, int j) {
  const int64_t a = magnitude(d->step[by][i]), b = magnitude(d->step[by][j]);
  return b != 0 && (a == 0 || a > b);
}

static void sort_dims(axes *d, int by) {
  for (int i = 1; i < d->n; i++) {
    for (int j = i; j > 0 && is_slower(d, by, j - 1, j); j--) {
      swap_dims(d, j, j - 1);
    }
  }
}

static bool can_merge(const axes *d, int i, int j) {
  for (int k = 0; k < NSTEPS; k++) {
    if (d->step[k][j] != d->step[k][i] * d->size[i]) return false;
  }
  return true;
}

/* There is at least one dimension afterwards. */
static void merge_dims(axes *d) {
  int n = 0;
  if (d->n == 0) add_dim(d, 1, (int64_t[NSTEPS]){0});
  for (int i = 1; i < d->n; i++) {
    if (can_merge(d, n, i)) d->size[n] *= d->size[i];
    else swap_dims(d, ++n, i);
  }
  d->n = n + 1;
}

/* -- The walk ------------------------------------------------------------- */

/* One fold of every output: a tile of outputs and a chunk of their elements
 * at a time. */
typedef struct walk {
  char *in;
  axes folded, kept;
  int64_t segments;         /* of an output */
  bool pairs;               /* folded are the values of segments */
  int64_t chunk, chunks;    /* elements of a chunk; how many chunks */
  int64_t width, per_row, tiles;
} walk;

/* Outputs of a tile are neighbours along the first kept dimension: the one
 * with the least stride. A few of them are not worth it. */
static void prefer_long(walk *w) {
  int longest = 0;
  if (w->kept.size[0] >= 8 || w->folded.total >= 64) return;
  for (int i = 1; i < w->kept.n; i++) {
    if (w->kept.size[i] > w->kept.size[longest]) longest = i;
  }
  swap_dims(&w->kept, 0, longest);
}

static void cut(walk *w, int64_t itemsize) {
  const int64_t n = w->folded.total, chunk = CHUNK_BYTES / itemsize;
  const bool by_columns =
    n < 32 || magnitude(w->kept.step[IN][0]) < magnitude(w->folded.step[IN][0]);
  w->width = by_columns ? (n < 64 ? TILE : COLUMNS) : chunk / (n + 1);
  w->width = w->width < 1 ? 1 : w->width > TILE ? TILE : w->width;
  w->per_row = (w->kept.size[0] + w->width - 1) / w->width;
  w->tiles = w->per_row;
  for (int i = 1; i < w->kept.n; i++) w->tiles *= w->kept.size[i];
  w->chunk = n;
  if (!w->pairs && w->tiles < FEW_TILES && n >= 2 * chunk) {
    for (w->chunk = chunk; n / w->chunk > MAX_CHUNKS; w->chunk *= 2) continue;
  }
  w->chunks = n ? (n + w->chunk - 1) / w->chunk : 1;
}

/* Integers wrap and bits do not round. */
static bool is_any_order(const st_reduction *r) {
  const st_dtype acc = r->first.acc;
  return !r->ordered && (acc == ST_BOOL || st__is_integral(acc));
}

/* Reduced dimensions are folded until there are SEGMENT elements; those left
 * are kept, but have a position. Where the order does not matter, all are
 * folded as they lie. */
static void make_walk(walk *w, const st_reduction *r, const st_tensor *in,
                      uint64_t dims, bool keepdim) {
  const bool all = in->numel == 0 || is_any_order(r);
  int out_dim = (r->out_first ? r->out_first : r->out_last)->ndim;
  int64_t position = 1;
  w->in = st__data(in);
  w->pairs = false;
  w->segments = 1;
  w->folded.n = w->kept.n = 0;
  w->folded.total = w->kept.total = 1;
  for (int i = in->ndim - 1; i >= 0; i--) {
    const bool reduce = dims >> i & 1;
    const bool fold = reduce && (all || w->folded.total < SEGMENT);
    int64_t step[NSTEPS] = {st__stride_of(in, i)};
    if (!reduce || keepdim) out_dim--;
    if (!reduce) {
      step[OUT0] = st__stride_of(r->out_first, out_dim);
      step[OUT1] = st__stride_of(r->out_last, out_dim);
    } else {
      step[POSITION] = position;
      position *= in->sizes[i];
    }
    if (in->sizes[i] == 1) continue;
    add_dim(fold ? &w->folded : &w->kept, in->sizes[i], step);
    if (reduce && !fold) w->segments *= in->sizes[i];
  }
  if (all) {
    for (int i = 0; i < w->folded.n; i++) w->folded.step[POSITION][i] = 0;
    sort_dims(&w->folded, IN);
  }
  merge_dims(&w->folded);
  sort_dims(&w->kept, IN);
  merge_dims(&w->kept);
  prefer_long(w);
}

/* The walk over the values of segments, which are dense, `size` bytes each,
 * in the order of w's kept dimensions. */
static void make_rest(walk *rest, walk *w, int64_t size) {
  int64_t refs = 1;
  rest->pairs = true;
  rest->folded.n = rest->kept.n = 0;
  rest->folded.total = rest->kept.total = 1;
  for (int i = 0; i < w->kept.n; i++) {
    const bool fold = w->kept.step[POSITION][i] != 0;
    int64_t step[NSTEPS];
    for (int k = 0; k < NSTEPS; k++) step[k] = w->kept.step[k][i];
    step[IN] = size;
    step[REF] = w->kept.step[REF][i] = fold ? 0 : refs;
    size *= w->kept.size[i];
    if (!fold) refs *= w->kept.size[i];
    add_dim(fold ? &rest->folded : &rest->kept, w->kept.size[i], step);
  }
  sort_dims(&rest->folded, POSITION);
  merge_dims(&rest->folded);
  merge_dims(&rest->kept);
}

/* -- Tiles ---------------------------------------------------------------- */

typedef struct job {
  const st_reduction *r;
  walk body, rest;
  st_loop loop[2], combine[2], store[2]; /* by pass */
  char *out[2];
  char *values[2], *sums, *refs;         /* scratch of staged runs */
} job;

/* Up to `width` neighbouring outputs, and which of their elements. */
typedef struct tile {
  char *in, *out[2];
  int64_t at, ref, position; /* numbers of the first one */
  int64_t width, chunk;
} tile;

static const st_fold *fold_of(const job *b, int pass) {
  return pass ? &b->r->second : &b->r->first;
}

static int64_t acc_size(const job *b, int pass) {
  return (int64_t)st__itemsize(fold_of(b, pass)->acc);
}

static void move_tile(const job *b, const walk *w, tile *t, int dim,
                      int64_t by) {
  t->in += by * w->kept.step[IN][dim];
  if (b->out[0]) t->out[0] += by * w->kept.step[OUT0][dim];
  if (b->out[1]) t->out[1] += by * w->kept.step[OUT1][dim];
  t->ref += by * w->kept.step[REF][dim];
  t->position += by * w->kept.step[POSITION][dim];
}

static tile find_tile(const job *b, const walk *w, int64_t index) {
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

/* References of a pass: a constant, or one per output. */
typedef struct refs { char *p; int64_t step; } refs;

static refs references(const job *b, int pass, char *found) {
  if (pass == 0) return (refs){(char *)(uintptr_t)&b->r->ref, 0};
  return (refs){found, b->r->first.acc == ST_COMPLEX128 ? 16
                     : b->r->refer ? 8 : acc_size(b, 0)};
}

static void fill(const st_fold *f, char *acc, int64_t n) {
  const size_t size = st__itemsize(f->acc), all = (size_t)n * size;
  st__scalar_store(f->start, f->acc, acc);
  for (size_t done = size, more; done < all; done += more) {
    more = done < all - done ? done : all - done;
    memcpy(acc + done, acc, more);
  }
}

/* The tile's values for the tile's chunk. */
static void fold_tile(const walk *w, st_loop loop, const tile *t, refs ref,
                      char *acc) {
  const int64_t from = t->chunk * w->chunk, left = w->folded.total - from;
  const int64_t n = left < w->chunk ? left : w->chunk;
  const int64_t s[6] = {[4] = w->kept.step[IN][0], [5] = ref.step};
  const st_fold_run run = {from, w->pairs, w->folded.n, w->folded.size,
                           w->folded.step[IN]};
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

/* The first operand of an ATen fold is the start. That shows in a sum of
 * nothing but -0, which is 0, and in infinite complex products. */
static void add_start(const st_fold *f, char *acc, int64_t n) {
  double *a = (double *)(void *)acc;
  if (f->combine == ST_K_sum) {
    if (f->acc == ST_FLOAT64) plus_zero(a, n);
    if (f->acc == ST_COMPLEX128) plus_zero(a, 2 * n);
  } else if (f->combine == ST_K_prod) {
    if (f->acc == ST_COMPLEX64) times_one_float(acc, n);
    if (f->acc == ST_COMPLEX128) times_one_double(acc, n);
  }
}

static void refer(const job *b, const char *first, char *ref, int64_t n) {
  if (b->r->refer) b->r->refer(b->r, first, ref, n);
  else memcpy(ref, first, (size_t)(n * acc_size(b, 0)));
}

static void store(const job *b, const walk *w, const tile *t, int which,
                  char *acc) {
  const int pass = which && b->loop[1] ? 1 : 0;
  const int64_t s[4] = {w->kept.step[which ? OUT1 : OUT0][0],
                        acc_size(b, pass), 0, 0};
  char *data[2] = {t->out[which], acc};
  b->store[which](data, s, t->width, 1, NULL);
}

/* Stores the first pass's values if anyone wants them. */
static void first_done(const job *b, const walk *w, const tile *t, char *acc) {
  if (b->r->out_first) store(b, w, t, 0, acc);
}

static void last_done(const job *b, const walk *w, const tile *t, char *acc,
                      const char *ref) {
  if (b->r->finish) b->r->finish(b->r, acc, ref, t->width);
  if (b->r->out_last) store(b, w, t, 1, acc);
}

static void fold_outputs(const job *b, int pass, const tile *t, char *ref,
                         char *acc) {
  const st_fold *f = fold_of(b, pass);
  if (b->body.folded.total == 0) {
    fill(f, acc, t->width);
    return;
  }
  fold_tile(&b->body, b->loop[pass], t, references(b, pass, ref), acc);
  add_start(f, acc, t->width);
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
  const job *b = ctx;
  _Alignas(64) char acc[TILE * ACC_SIZE], ref[TILE * ACC_SIZE];
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(b, &b->body, i);
    fold_outputs(b, 0, &t, NULL, acc);
    if (b->loop[1]) {
      refer(b, acc, ref, t.width);
      first_done(b, &b->body, &t, b->r->refer ? ref : acc);
      fold_outputs(b, 1, &t, ref, acc);
    }
    last_done(b, &b->body, &t, acc, ref);
  }
}

/* -- Stages --------------------------------------------------------------- */

typedef struct stage { const job *b; int pass; } stage;

static bool is_search(const job *b, int pass) {
  return pass && b->r->second.kernel == ST_K_find;
}

/* The references of a body's or the rest's tile. */
static refs refs_at(const job *b, int pass, const walk *w, const tile *t) {
  refs all = references(b, pass, b->refs);
  if (pass) {
    all.p += t->ref * all.step;
    all.step *= w->kept.step[REF][0];
  }
  return all;
}

/* Does the extremum of any output come from this tile and chunk? */
static bool has_extremum(const job *b, const tile *t, refs ref) {
  const int64_t size = acc_size(b, 0), one = 1;
  const int64_t s[6] = {[4] = size, [5] = ref.step};
  const st_fold_run run = {0, true, 1, &one, &size};
  int64_t hit[TILE];
  char *data[3] = {(char *)hit, b->values[0] + size * (
                     t->chunk * b->body.kept.total + t->at), ref.p};
  st__kernel(ST_K_find, b->r->first.acc)(data, s, 1, t->width, &run);
  for (int64_t j = 0; j < t->width; j++) {
    if (hit[j] != ST_FOLD_NONE) return true;
  }
  return false;
}

static void search(const job *b, const tile *t, refs ref, char *acc) {
  const int64_t step = b->body.kept.step[POSITION][0];
  int64_t *at = (int64_t *)(void *)acc;
  if (!has_extremum(b, t, ref)) {
    for (int64_t j = 0; j < t->width; j++) at[j] = ST_FOLD_NONE;
    return;
  }
  fold_tile(&b->body, b->loop[1], t, ref, acc);
  for (int64_t j = 0; j < t->width; j++) {
    if (at[j] != ST_FOLD_NONE) at[j] += t->position + j * step;
  }
}

static void run_body(void *ctx, int64_t begin, int64_t end) {
  const stage *g = ctx;
  const job *b = g->b;
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(b, &b->body, i);
    const refs ref = refs_at(b, g->pass, &b->body, &t);
    char *acc = b->values[g->pass] + acc_size(b, g->pass) * (
                  t.chunk * b->body.kept.total + t.at);
    if (is_search(b, g->pass)) search(b, &t, ref, acc);
    else fold_tile(&b->body, b->loop[g->pass], &t, ref, acc);
  }
}

/* Pairs of chunks: the values of segments. */
static char *join_chunks(const job *b, int pass) {
  const int64_t n = b->body.kept.total, size = acc_size(b, pass);
  const int64_t row = n * size, s[6] = {[4] = size};
  const st_fold_run run = {0, true, 1, &b->body.chunks, &row};
  char *data[3] = {b->sums, b->values[pass],
                   references(b, 0, NULL).p};
  if (b->body.chunks == 1) return b->values[pass];
  b->combine[pass](data, s, b->body.chunks, n, &run);
  return b->sums;
}

static void run_rest(void *ctx, int64_t begin, int64_t end) {
  const stage *g = ctx;
  const job *b = g->b;
  const walk *w = &b->rest;
  _Alignas(64) char acc[TILE * ACC_SIZE];
  for (int64_t i = begin; i < end; i++) {
    const tile t = find_tile(b, w, i);
    char *ref = b->refs + t.ref * references(b, 1, NULL).step;
    fold_tile(w, b->combine[g->pass], &t, references(b, 0, NULL), acc);
    add_start(fold_of(b, g->pass), acc, t.width);
    if (g->pass || !b->loop[1]) {
      last_done(b, w, &t, acc, ref);
    } else {
      refer(b, acc, ref, t.width);
      first_done(b, w, &t, b->r->refer ? ref : acc);
    }
  }
}

/* How many tiles and chunks a thread takes at least. */
static int64_t units_of_grain(const walk *w, int64_t grain) {
  const int64_t units = w->tiles * w->chunks;
  return grain / (w->folded.total * w->kept.total / units + 1) + 1;
}

static void run_staged(job *b) {
  for (int pass = 0; pass < 2 && b->loop[pass]; pass++) {
    const int64_t grain = st__kernel_grain(fold_of(b, pass)->kernel);
    stage g = {b, pass};
    make_rest(&b->rest, &b->body, acc_size(b, pass));
    cut(&b->rest, acc_size(b, pass));
    st__parallel_for(0, b->body.tiles * b->body.chunks,
                     units_of_grain(&b->body, grain), run_body, &g);
    b->rest.in = join_chunks(b, pass);
    st__parallel_for(0, b->rest.tiles, units_of_grain(&b->rest, ST_GRAIN),
                     run_rest, &g);
  }
}

/* -- The run -------------------------------------------------------------- */

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
  return out ? st__copy_kernel((st_dtype)out->dtype, fold_of(b, pass)->acc)
             : NULL;
}

static st_status run_with_scratch(job *b) {
  const size_t all = (size_t)b->body.kept.total * ACC_SIZE;
  const size_t chunks = (size_t)b->body.chunks, passes = b->loop[1] ? 2 : 1;
  const size_t bytes = all * (chunks * passes + 1) +
                       all / (size_t)b->body.segments;
  char *scratch = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!scratch) return ST_NO_MEMORY;
  b->values[0] = scratch;
  b->values[1] = scratch + all * chunks * (passes - 1);
  b->sums = b->values[1] + all * chunks;
  b->refs = b->sums + all;
  run_staged(b);
  st__free(ST_MEM_SCRATCH, scratch, bytes);
  return ST_OK;
}

st_status st__reduce(st_reduction *r, const st_tensor *in, uint64_t dims,
                     bool keepdim) {
  job b;
  b.r = r;
  ST_TRY(find_loops(&b, (st_dtype)in->dtype));
  make_walk(&b.body, r, in, dims, keepdim);
  if (b.body.kept.total == 0) return ST_OK;
  cut(&b.body, (int64_t)st__itemsize((st_dtype)in->dtype));
  r->count = b.body.folded.total * b.body.segments;
  b.out[0] = r->out_first ? st__data(r->out_first) : NULL;
  b.out[1] = r->out_last ? st__data(r->out_last) : NULL;
  b.store[0] = find_store(&b, r->out_first, 0);
  b.store[1] = find_store(&b, r->out_last, b.loop[1] ? 1 : 0);
  if (b.body.chunks > 1 || b.body.segments > 1) return run_with_scratch(&b);
  const st_kernel_id kernel = fold_of(&b, b.loop[1] ? 1 : 0)->kernel;
  st__parallel_for(0, b.body.tiles,
                   units_of_grain(&b.body, st__kernel_grain(kernel)),
                   run_tiles, &b);
  return ST_OK;
}

/* -- For metas ------------------------------------------------------------ */

st_scalar st__lowest(st_dtype d) {
  switch (d) {
    case ST_BOOL: case ST_UINT8: return st__scalar_int(0);
    case ST_INT8: return st__scalar_int(INT8_MIN);
    case ST_INT16: return st__scalar_int(INT16_MIN);
    case ST_INT32: return st__scalar_int(INT32_MIN);
    case ST_INT64: return st__scalar_int(INT64_MIN);
    default: return st__scalar_float(-INFINITY);
  }
}

st_scalar st__highest(st_dtype d) {
  switch (d) {
    case ST_BOOL: return st__scalar_int(1);
    case ST_UINT8: return st__scalar_int(UINT8_MAX);
    case ST_INT8: return st__scalar_int(INT8_MAX);
    case ST_INT16: return st__scalar_int(INT16_MAX);
    case ST_INT32: return st__scalar_int(INT32_MAX);
    case ST_INT64: return st__scalar_int(INT64_MAX);
    default: return st__scalar_float(INFINITY);
  }
}

const st_value *st__named_arg(const st_run *r, const char *name) {
  const int i = st__schema_arg(r->call->schema, name);
  return i < 0 || st__is_none(&r->args[i]) ? NULL : &r->args[i];
}

st_status st__get_dims(const st_run *r, st_dims *d) {
  const st_value *dim = st__named_arg(r, "dim");
  const st_value *keepdim = st__named_arg(r, "keepdim");
  d->self = st__arg_tensor(r, 0);
  d->keepdim = keepdim && keepdim->u.i;
  if (dim && dim->tag == ST_TAG_INT) {
    return st__wrap_dims(&dim->u.i, 1, d->self->ndim, &d->set);
  }
  return st__wrap_dims(dim ? dim->u.ints : NULL, dim ? (int)dim->len : 0,
                       d->self->ndim, &d->set);
}

st_status st__check_not_empty(const st_dims *d) {
  for (int i = 0; i < d->self->ndim; i++) {
    if (d->self->sizes[i] == 0 && d->set >> i & 1) {
      return st__fail(ST_BAD_SHAPE, "dimension %d of self, shape %s, has no "
                      "elements to choose from", (int)st__shown(i),
                      ST_SHAPE_TEXT(d->self));
    }
  }
  return ST_OK;
}

st_status st__set_reduced(st_run *r, int i, const st_dims *d,
                          st_dtype dtype) {
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  for (int k = 0; k < d->self->ndim; k++) {
    const bool reduce = d->set >> k & 1;
    if (!reduce) sizes[n++] = d->self->sizes[k];
    else if (d->keepdim) sizes[n++] = 1;
  }
  ST_TRY(st__set_output(r, i, n, sizes, NULL, dtype));
  if (r->is_meta && i == 0) {
    st__watch_fold(d->self, d->set, r->out[i], r->row->kernel);
  }
  return ST_OK;
}
