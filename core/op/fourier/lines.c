/* Transforms of lines: tiles of neighbours, shared among the threads.
 */

#include "op/fourier/lines.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/memory.h"
#include "base/threads.h"
#include "kernel/fft/fft.h"
#include "kernel/kernel.h"
#include "op/fourier/convolution.h"
#include "op/fourier/long_lines.h"

enum {
  TILE = 128 << 10,    /* bytes of a tile, about */
  MOST = 8 << 20,      /* bytes of one whose lines fill cache lines */
  LINE = 64,           /* bytes of a cache line */
  LEAST = 8,           /* lines that are transformed side by side */
  AHEAD = 2,           /* lines to the one that is fetched */
  FETCHED = 2048,      /* bytes of that one, at most */
  SHORTEST = 32,       /* numbers of lines of a tile whose memory is fetched */
  LONGEST = 128,
  NEAR = 1 << 20,      /* bytes that stay in the cache, about */
  HALVED = 16 << 10,   /* bytes of real lines by eighths, about */
  GRAIN = 8 * ST_GRAIN /* least multiplications of a thread */
};

/* A side of the transforms; distances are in bytes. */
typedef struct side {
  char *data;
  int64_t size;   /* of an element */
  int64_t count;  /* elements of a line */
  int64_t step;   /* between the elements of a line */
  int64_t pitch;  /* between the lines of a tile in scratch memory */
  int64_t offset; /* of the tile in the scratch memory of a thread */
  bool is_direct; /* lines are contiguous: no scratch memory */
} side;

typedef struct batch_dim { int64_t size, in, out; } batch_dim;

typedef struct transform {
  const st_fft_plan *plan;
  side in, out;
  int ndim;                     /* at least 1; the innermost is the first */
  batch_dim dims[ST_MAX_DIMS];
  int64_t width;                /* lines of a tile */
  int64_t tiles;                /* of the innermost dimension */
  int64_t count;                /* tiles in all */
  double cost;                  /* multiplications for a tile */
  int64_t reals;                /* a result's, to be scaled; a mirror image is
                                   made of scaled ones */
  int64_t mirror;               /* length of lines that are completed, or 0 */
  double scale;
  bool is_double;
  st_fft_kind kind;
  bool to_real;
  st_task halves, complete;     /* fft_halves and fft_mirror */
  int64_t between;              /* offset of the complex lines of real ones, in
                                   the scratch memory */
  int64_t apart;                /* from one such line to the next */
  int64_t halved;               /* real lines by eighths at a time */
  int64_t convolution;          /* offset of the memory of a convolution */
  int64_t middle;               /* offset of the memory of a long line, or of
                                   lines by eighths */
  int shares;                   /* threads that share a long line */
  st_fft_how how;
  bool is_flat;                 /* a tile has lines of several dimensions */
  st_fft_tile tile;
  int chunks;
  char *scratch;
  int64_t bytes;                /* of scratch memory for a chunk */
} transform;

/* -- Gathering and scattering --------------------------------------------- */

/* Copies `lines` lines of n elements of a constant size e. */
#define COPY_LINES(e)                                                       \
  for (int64_t first = 0; first < n; first += 8) {                          \
    const int64_t last = n - first < 8 ? n : first + 8;                     \
    for (int64_t k = 0; k < lines; k++) {                                   \
      for (int64_t i = first; i < last; i++) {                              \
        memcpy(to + k * to_pitch + i * to_step,                             \
               from + k * from_pitch + i * from_step, (e));                 \
      }                                                                     \
    }                                                                       \
  }

static void gather(const side *s, char *to, const char *from,
                   int64_t from_pitch, int64_t lines) {
  const int64_t n = s->count, from_step = s->step, to_pitch = s->pitch;
  if (from_step == s->size) {
    for (int64_t k = 0; k < lines; k++) {
      memcpy(to + k * to_pitch, from + k * from_pitch, (size_t)(n * s->size));
    }
  } else if (from_pitch == s->size) {
    st__fft_transpose(s->size, to, to_pitch, from, from_step, n, lines);
  } else if (s->size == 4) {
    enum { to_step = 4 };
    COPY_LINES(4)
  } else if (s->size == 8) {
    enum { to_step = 8 };
    COPY_LINES(8)
  } else {
    enum { to_step = 16 };
    COPY_LINES(16)
  }
}

static void scatter(const side *s, char *to, const char *from,
                    int64_t to_pitch, int64_t lines) {
  const int64_t n = s->count, to_step = s->step, from_pitch = s->pitch;
  if (to_step == s->size) {
    for (int64_t k = 0; k < lines; k++) {
      memcpy(to + k * to_pitch, from + k * from_pitch, (size_t)(n * s->size));
    }
  } else if (to_pitch == s->size) {
    st__fft_transpose(s->size, to, to_step, from, from_pitch, lines, n);
  } else if (s->size == 4) {
    enum { from_step = 4 };
    COPY_LINES(4)
  } else if (s->size == 8) {
    enum { from_step = 8 };
    COPY_LINES(8)
  } else {
    enum { from_step = 16 };
    COPY_LINES(16)
  }
}

/* -- A line --------------------------------------------------------------- */

static void scale_line(const transform *t, char *line) {
  const int64_t n = t->reals;
  if (t->is_double) {
    double *const p = (double *)(void *)line;
    const double by = t->scale;
    for (int64_t i = 0; i < n; i++) p[i] *= by;
  } else {
    float *const p = (float *)(void *)line;
    const float by = (float)t->scale;
    for (int64_t i = 0; i < n; i++) p[i] *= by;
  }
}

typedef struct halving {
  const transform *t;
  const char *from;
  char *to;
} halving;

/* Real lines of odd lengths are complex ones. */
static bool is_odd_real(const transform *t) {
  return (t->kind == ST_FFT_R2C || t->kind == ST_FFT_C2R) && !t->plan->halving;
}

/* Pairs of a real line and its half: Note [Real lines by half]. */
static void halve(void *ctx, int64_t begin, int64_t end) {
  const halving *h = ctx;
  const transform *t = h->t;
  char *data[] = {h->to, (char *)(uintptr_t)h->from, t->plan->halving};
  const st_fft_halves c = {t->plan->count, begin, end, t->scale, t->to_real,
                           1, 0, 0};
  t->halves(data, &c);
}

static void halve_line(const transform *t, const char *from, char *to) {
  halving h = {t, from, to};
  const int64_t pairs = t->plan->count / 2 + 1;
  if (!t->plan->line.matrix) halve(&h, 0, pairs);
  else st_parallel_for(0, pairs, ST_GRAIN, halve, &h);
}

/* Transforms numbers. */
static st_status execute(const transform *t, double scale, const char *from,
                         char *to, char *scratch) {
  const st_fft_plan *const p = t->plan;
  const int64_t count = p->count, size = t->is_double ? 16 : 8;
  const bool is_real = is_odd_real(t);
  if (p->chirp) {
    const st_fft_convolved c = {
      .plan = p, .is_double = t->is_double, .shares = t->shares,
      .from_real = is_real && !t->to_real, .to_real = is_real && t->to_real,
      .results = is_real && !t->to_real ? count / 2 + 1 : count};
    return st__fft_convolve(&c, from, to, scratch + t->convolution);
  }
  const st_fft_call c = {&p->line, t->is_double, t->shares, scale,
                         scratch + t->middle};
  if (!is_real) return st__fft_execute(&c, from, to);
  char *const numbers = scratch + t->between;
  st__fft_widen(t->is_double, !t->to_real, count, from, numbers);
  ST_TRY(st__fft_execute(&c, numbers, numbers));
  if (t->to_real) {
    st__fft_real_parts(t->is_double, count, numbers, to);
  } else {
    memset(numbers + size / 2, 0, (size_t)size / 2);
    memcpy(to, numbers, (size_t)((count / 2 + 1) * size));
  }
  return ST_OK;
}

static void mirror_line(const transform *t, char *line) {
  const st_fft_mirror c = {t->mirror};
  if (t->mirror > 0) t->complete(&line, &c);
}

/* Results of a convolution are scaled, others as they are computed. */
static st_status run_line(const transform *t, char *from, char *to,
                          char *scratch) {
  if (!t->plan->halving) {
    ST_TRY(execute(t, t->scale, from, to, scratch));
    if (t->scale != 1 && t->plan->chirp) scale_line(t, to);
  } else if (t->to_real) {
    halve_line(t, from, to);
    ST_TRY(execute(t, 1, to, to, scratch));
  } else {
    ST_TRY(execute(t, 1, from, to, scratch));
    halve_line(t, to, to);
  }
  mirror_line(t, to);
  return ST_OK;
}

static void halve_lines(const transform *t, st_fft_eighths_lines l) {
  char *data[] = {l.out, l.in, t->plan->halving};
  const int64_t h = t->plan->count;
  const st_fft_halves c = {h, 0, h / 2 + 1, t->scale, t->to_real,
                           l.count, l.out_pitch, l.in_pitch};
  t->halves(data, &c);
}

/* Lines by eighths, as many real ones at a time as stay in the cache. */
static void run_eighths(const transform *t, st_fft_eighths_lines l,
                        char *scratch) {
  const st_fft_eighths *const e = &t->plan->eighths;
  char *const middle = scratch + t->middle;
  if (!t->plan->halving) {
    st__fft_run_eighths(e, t->is_double, t->scale, &l, middle);
    return;
  }
  for (int64_t left = l.count; left > 0; left -= l.count) {
    l.count = left < t->halved ? left : t->halved;
    st_fft_eighths_lines first = l, last = l;
    first.out = last.in = scratch + t->between;
    first.out_pitch = last.in_pitch = t->apart;
    if (t->to_real) {
      halve_lines(t, first);
      st__fft_run_eighths(e, t->is_double, 1, &last, middle);
    } else {
      st__fft_run_eighths(e, t->is_double, 1, &first, middle);
      halve_lines(t, last);
    }
    for (int64_t i = 0; i < l.count; i++) {
      mirror_line(t, l.out + i * l.out_pitch);
    }
    l.in += l.count * l.in_pitch;
    l.out += l.count * l.out_pitch;
  }
}

/* -- Tiles ---------------------------------------------------------------- */

/* Where line `first` and up to `most` lines begin; their number. */
static int64_t find_lines(const transform *t, int64_t first, int64_t most,
                          int64_t *in, int64_t *out) {
  int64_t index[ST_MAX_DIMS], x = 0, y = 0, lines = 0;
  for (int d = 0; d < t->ndim; d++) {
    index[d] = first % t->dims[d].size;
    x += index[d] * t->dims[d].in;
    y += index[d] * t->dims[d].out;
    first /= t->dims[d].size;
  }
  if (index[0] + most <= t->dims->size) {
    for (; lines < most; lines++) {
      in[lines] = x + lines * t->dims->in;
      out[lines] = y + lines * t->dims->out;
    }
    return most;
  }
  for (;;) {
    in[lines] = x;
    out[lines] = y;
    if (++lines == most) return lines;
    int d = 0;
    for (; d < t->ndim; d++) {
      x += t->dims[d].in;
      y += t->dims[d].out;
      if (++index[d] < t->dims[d].size) break;
      x -= index[d] * t->dims[d].in;
      y -= index[d] * t->dims[d].out;
      index[d] = 0;
    }
    if (d == t->ndim) return lines;
  }
}

static void run_side_by_side(const transform *t, int64_t index,
                             char *scratch) {
  st_fft_lines in, out;
  const int64_t inner = t->is_flat ? t->width * t->count : t->dims->size;
  const int64_t first = index % t->tiles * t->width;
  const int64_t left = inner - first;
  const int64_t most = left < t->width ? left : t->width;
  const int64_t lines = find_lines(t, index / t->tiles * inner + first, most,
                                   in.at, out.at);
  for (int64_t k = lines; k < t->width; k++) {
    in.at[k] = in.at[lines - 1];
    out.at[k] = out.at[lines - 1];
  }
  st__fft_run_tile(&t->tile, lines, &in, &out, scratch);
}

/* Fetches a line that is transformed soon. */
static void fetch(const side *s, const char *line) {
  const int64_t bytes = s->count * s->size;
  if (!s->is_direct || bytes > FETCHED) return;
  for (int64_t i = 0; i < bytes; i += LINE) __builtin_prefetch(line + i);
}

static st_status run_tile(const transform *t, int64_t index, char *scratch) {
  if (t->how == ST_FFT_TILE) {
    run_side_by_side(t, index, scratch);
    return ST_OK;
  }
  const batch_dim *const inner = t->dims;
  const int64_t first = index % t->tiles * t->width;
  const int64_t left = inner->size - first;
  const int64_t lines = left < t->width ? left : t->width;
  char *in = t->in.data + first * inner->in;
  char *out = t->out.data + first * inner->out;
  index /= t->tiles;
  for (int d = 1; d < t->ndim; d++) {
    const int64_t at = index % t->dims[d].size;
    in += at * t->dims[d].in;
    out += at * t->dims[d].out;
    index /= t->dims[d].size;
  }
  char *from = in, *to = out;
  int64_t from_pitch = inner->in, to_pitch = inner->out;
  if (!t->in.is_direct) {
    from = scratch + t->in.offset;
    from_pitch = t->in.pitch;
    gather(&t->in, from, in, inner->in, lines);
  }
  if (!t->out.is_direct) {
    to = scratch + t->out.offset;
    to_pitch = t->out.pitch;
  }
  if (t->how == ST_FFT_EIGHTHS) {
    const st_fft_eighths_lines l = {from, to, from_pitch, to_pitch, lines};
    run_eighths(t, l, scratch);
  }
  for (int64_t k = 0; k < lines && t->how == ST_FFT_LINE; k++) {
    if (k + AHEAD < lines) {
      fetch(&t->in, from + (k + AHEAD) * from_pitch);
      fetch(&t->out, to + (k + AHEAD) * to_pitch);
    }
    ST_TRY(run_line(t, from + k * from_pitch, to + k * to_pitch, scratch));
  }
  if (!t->out.is_direct) scatter(&t->out, out, to, inner->out, lines);
  return ST_OK;
}

static void run_chunks(void *ctx, int64_t begin, int64_t end) {
  const transform *t = ctx;
  double left = ST_PERIOD; /* multiplications until the next question */
  for (int64_t k = begin; k < end; k++) {
    char *const scratch = t->scratch ? t->scratch + k * t->bytes : NULL;
    const int64_t last = t->count * (k + 1) / t->chunks;
    for (int64_t i = t->count * k / t->chunks; i < last; i++) {
      if (run_tile(t, i, scratch) != ST_OK) return;
      left -= t->cost;
      if (left > 0) continue;
      if (st__stops()) return;
      left = ST_PERIOD;
    }
  }
}

/* -- Preparation ---------------------------------------------------------- */

static int64_t distance(int64_t a) { return a < 0 ? -a : a; }

/* Which of two dimensions is further inside: that of the side whose lines are
 * not contiguous, first that of the results. */
static bool is_inside(const transform *t, const batch_dim *a,
                      const batch_dim *b) {
  const bool by_in = t->out.step == t->out.size;
  const int64_t x = distance(by_in ? a->in : a->out);
  const int64_t y = distance(by_in ? b->in : b->out);
  return x < y;
}

/* The dimensions without the lines' own, sorted and coalesced. */
static void set_batch(transform *t, const st_lines *l) {
  t->ndim = 0;
  for (int d = 0; d < l->in->ndim; d++) {
    if (d == l->dim || l->in->sizes[d] == 1) continue;
    const batch_dim dim = {l->in->sizes[d], l->in->strides[d] * t->in.size,
                           l->out->strides[d] * t->out.size};
    int at = t->ndim++;
    for (; at > 0 && !is_inside(t, &t->dims[at - 1], &dim); at--) {
      t->dims[at] = t->dims[at - 1];
    }
    t->dims[at] = dim;
  }
  int n = t->ndim > 0;
  if (n == 0) t->dims[n++] = (batch_dim){1, 0, 0};
  for (int d = 1; d < t->ndim; d++) {
    batch_dim *const last = &t->dims[n - 1], *const dim = &t->dims[d];
    if (dim->in == last->in * last->size &&
        dim->out == last->out * last->size) {
      last->size *= dim->size;
    } else {
      t->dims[n++] = *dim;
    }
  }
  t->ndim = n;
}

static int64_t padded(int64_t bytes) {
  return (bytes + 2 * LINE - 1) / LINE * LINE;
}

/* Tiles are as wide as fits, a cache line at least unless the lines are very
 * long. */
static void set_width(transform *t, int64_t n) {
  const int64_t bytes = padded(n * (t->is_double ? 16 : 8));
  const int64_t least = LINE / (t->is_double ? 8 : 4);
  t->width = TILE / bytes / least * least;
  if (t->width == 0) t->width = MOST / bytes >= least ? least : 1;
  if (t->width > 4 * least) t->width = 4 * least;
  if (t->width > t->dims->size) t->width = t->dims->size;
  if (t->how == ST_FFT_TILE) t->width = st__fft_tile_lines(t->is_double);
  t->tiles = (t->dims->size + t->width - 1) / t->width;
  t->count = t->tiles;
  for (int d = 1; d < t->ndim; d++) t->count *= t->dims[d].size;
  /* Tiles end with the innermost dimension if that fills them. */
  t->is_flat = t->how == ST_FFT_TILE &&
               t->tiles * t->width * 4 > t->dims->size * 5;
  if (t->is_flat) {
    int64_t lines = 1;
    for (int d = 0; d < t->ndim; d++) lines *= t->dims[d].size;
    t->tiles = t->count = (lines + t->width - 1) / t->width;
  }
  t->cost = (double)t->width * (double)n * (2 + log2((double)n));
  if (t->plan->chirp) t->cost *= 4;
}

/* The threads share tiles. They share a long line if there are too few lines
 * for them, and one that is so long that many are too much memory. */
static void set_chunks(transform *t, int64_t n) {
  const int64_t grain = t->cost < GRAIN ? (int64_t)(GRAIN / t->cost) + 1 : 1;
  const st_fft_line *const line = &t->plan->line;
  t->chunks = st__num_shares(t->count, grain);
  if (line->matrix && (n * (t->is_double ? 16 : 8) > MOST ||
      (t->count < 4 * t->chunks && t->count % t->chunks != 0))) {
    t->chunks = 1;
  }
  t->shares = t->chunks > 1 ? 1 : st__fft_line_shares(line);
}

static void set_scratch(transform *t) {
  side *const sides[] = {&t->in, &t->out};
  t->bytes = t->how == ST_FFT_TILE ? st__fft_tile_bytes(&t->tile) : 0;
  if (t->how == ST_FFT_TILE) return;
  for (int i = 0; i < 2; i++) {
    side *const s = sides[i];
    s->pitch = padded(s->count * s->size);
    s->offset = t->bytes;
    if (!s->is_direct) t->bytes += s->pitch * t->width;
  }
  t->between = t->bytes;
  t->apart = padded(t->plan->count * (t->is_double ? 16 : 8));
  t->halved = HALVED / t->apart > 4 ? HALVED / t->apart / 4 * 4 : 4;
  if (t->how == ST_FFT_EIGHTHS && t->plan->halving) {
    t->bytes += t->halved * t->apart;
  } else if (t->how == ST_FFT_LINE && is_odd_real(t)) {
    t->bytes += t->apart;
  }
  t->convolution = t->bytes;
  t->middle = t->bytes;
  t->bytes += t->how == ST_FFT_EIGHTHS ?
    st__fft_eighths_bytes(&t->plan->eighths) : t->plan->chirp ?
    st__fft_chirp_bytes(t->plan, t->is_double, t->shares) :
    st__fft_line_bytes(&t->plan->line, t->is_double, t->shares);
}

static side side_of(const st_tensor *x, int dim) {
  const int64_t size = (int64_t)st__itemsize(x->dtype);
  return (side){.data = st__data(x), .size = size, .count = x->sizes[dim],
                .step = x->sizes[dim] > 1 ? x->strides[dim] * size : size};
}

static void set_tile(transform *t, const st_lines *l) {
  t->tile = (st_fft_tile){
    .passes = &t->plan->passes, .halving = t->plan->halving,
    .in = {t->in.data, t->in.size, t->in.step},
    .out = {t->out.data, t->out.size, t->out.step}, .scale = t->scale,
    .is_double = t->is_double, .to_real = t->to_real, .is_full = l->is_full,
    .is_odd = is_odd_real(t),
    .fetches = l->n >= SHORTEST && l->n <= LONGEST &&
               l->out->numel * t->out.size > NEAR};
}

/* The shape decides, and not the layout. Rows of tiles are transposed, so more
 * than half of a tile of them must be in use. */
static st_fft_how how_of(const st_lines *l, bool is_double) {
  const st_tensor *x = l->in;
  const int64_t half = st__fft_tile_lines(is_double) / 2;
  int64_t behind = 1;
  for (int d = l->dim + 1; d < x->ndim; d++) behind *= x->sizes[d];
  const bool are_columns = behind >= LEAST;
  const int64_t lines = x->numel / x->sizes[l->dim];
  if (lines < LEAST) return ST_FFT_LINE;
  if (!are_columns && st__fft_by_eighths(l->kind, l->n)) {
    return ST_FFT_EIGHTHS;
  }
  return (are_columns || lines > half) && st__fft_in_tiles(l->kind, l->n)
         ? ST_FFT_TILE : ST_FFT_LINE;
}

static void prepare(transform *t, const st_lines *l) {
  const st_dtype real = t->is_double ? ST_FLOAT64 : ST_FLOAT32;
  t->kind = l->kind;
  t->to_real = l->kind == ST_FFT_C2R;
  t->halves = st__task(ST_K_fft_halves, real);
  t->complete = st__task(ST_K_fft_mirror, real);
  t->in = side_of(l->in, l->dim);
  t->out = side_of(l->out, l->dim);
  t->scale = l->scale;
  t->mirror = l->is_full ? l->n : 0;
  const int64_t results = l->is_full ? l->n / 2 + 1 : t->out.count;
  t->reals = t->to_real ? results : 2 * results;
  set_batch(t, l);
  if (t->how == ST_FFT_TILE) set_tile(t, l);
  t->in.is_direct = t->in.step == t->in.size;
  t->out.is_direct = t->out.step == t->out.size;
  set_width(t, l->n);
  set_chunks(t, l->n);
  set_scratch(t);
}

static st_status run_tiles(transform *t) {
  if (t->shares == 1) {
    return st__parallel_try(0, t->chunks, 1, run_chunks, t);
  }
  for (int64_t i = 0; i < t->count; i++) ST_TRY(run_tile(t, i, t->scratch));
  return ST_OK;
}

static st_status run(transform *t) {
  t->scratch = NULL;
  const size_t bytes = (size_t)(t->bytes * t->chunks);
  if (bytes > 0) {
    t->scratch = st__alloc(ST_MEM_SCRATCH, bytes);
    if (!t->scratch) return ST_NO_MEMORY;
  }
  const st_status status = run_tiles(t);
  st__free(ST_MEM_SCRATCH, t->scratch, bytes);
  return status;
}

st_status st__transform_lines(const st_lines *l) {
  transform t;
  st_fft_hold hold;
  t.is_double = l->in->dtype == ST_FLOAT64 || l->in->dtype == ST_COMPLEX128;
  t.how = how_of(l, t.is_double);
  ST_TRY(st__fft_plan(l->kind, t.is_double, l->n, t.how, &hold));
  t.plan = hold.plan;
  prepare(&t, l);
  const st_status status = run(&t);
  st__fft_done(&hold);
  return status;
}
