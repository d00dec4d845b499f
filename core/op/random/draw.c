/* Draws whole tensors: words of a source in blocks, which kernels turn into
 * numbers, in the order in which the iterator visits the tensor's memory.
 */

#include <math.h>

#include "op/random/random.h"

enum {
  TILE = 512,            /* numbers made at a time, in L1 */
  MAX_SIZE = 8,          /* of a number before it is converted */
  DRAW_GRAIN = 32768,    /* elements of a thread: made of words */
  NORMAL_GRAIN = 4096,   /* one after another */
  SAMPLE_GRAIN = 512
};

/* -- Numbers of words ----------------------------------------------------- */

typedef struct drawing {
  const st_draw *d;
  st_source *source;
} drawing;

/* Draws m0 x m1 numbers. s: the strides of the iterator's operands. */
static void draw_tile(const drawing *f, char *const *data, const int64_t *s,
                      int64_t m0, int64_t m1) {
  uint32_t words[2 * TILE];
  _Alignas(64) char made[MAX_SIZE * TILE];
  const st_draw *d = f->d;
  const bool direct = d->made == d->dtype;
  const int n = 1 + d->inputs;
  const int64_t size = (int64_t)st__itemsize(d->made);
  const int64_t pair = d->words * (int64_t)sizeof *words;
  const int64_t out[2] = {direct ? s[0] : size, direct ? s[n] : m0 * size};
  char *to[3] = {direct ? data[0] : made, (char *)words, NULL};
  int64_t strides[6] = {out[0], pair, out[1], m0 * pair};
  if (d->inputs) {
    const int64_t three[6] = {out[0], pair, s[1], out[1], m0 * pair, s[3]};
    memcpy(strides, three, sizeof strides);
    to[2] = data[1];
  }
  st__random_words(f->source, words, m0 * m1 * d->words);
  d->make(to, strides, m0, m1, d->ctx);
  if (direct) return;
  char *converted[2] = {data[0], made};
  const int64_t both[4] = {s[0], size, s[n], m0 * size};
  st__copy_kernel(d->dtype, d->made)(converted, both, m0, m1, NULL);
}

static void draw_loop(char **data, const int64_t *s, int64_t n0, int64_t n1,
                      const void *ctx) {
  const drawing *f = ctx;
  const int n = 1 + f->d->inputs;
  const int64_t m0 = n0 < TILE ? n0 : TILE, m1 = TILE / m0;
  for (int64_t j = 0; j < n1; j += m1) {
    for (int64_t i = 0; i < n0; i += m0) {
      char *at[2] = {data[0] + j * s[n] + i * s[0], NULL};
      if (f->d->inputs) at[1] = data[1] + j * s[n + 1] + i * s[1];
      draw_tile(f, at, s, n0 - i < m0 ? n0 - i : m0,
                n1 - j < m1 ? n1 - j : m1);
    }
  }
}

typedef struct iter_draw {
  const st_iter *it;
  const void *ctx;
} iter_draw;

static void draw_range(const void *ctx, st_source *s, int64_t begin,
                       int64_t end) {
  const iter_draw *job = ctx;
  const drawing f = {job->ctx, s};
  st__random_seek(s, (uint64_t)begin * (uint64_t)f.d->words);
  st__iter_serial_range(job->it, draw_loop, &f, begin, end);
}

st_status st__random_draw_iter(const st_iter *it, const st_draw *d,
                               st_generator *g) {
  const iter_draw job = {it, d};
  if (!d->make) return st__no_kernel_for(d->dtype);
  return st__random_run(g, it->numel, d->words, DRAW_GRAIN, draw_range, &job);
}

void st__random_draw_run(const st_draw *d, st_source *s, char *p, int64_t n) {
  const drawing f = {d, s};
  const int64_t size = (int64_t)st__itemsize(d->dtype);
  const int64_t strides[2] = {size, n * size};
  draw_loop(&p, strides, n, 1, &f);
}

/* -- Normal numbers, one after another ------------------------------------ */

typedef struct one_by_one {
  st_dtype dtype;
  double mean, std;
  double (*fn)(double);  /* or NULL */
} one_by_one;

typedef struct normals {
  const one_by_one *f;
  st_source *source;
} normals;

/* The next n numbers at p. */
static void normal_row(const normals *job, char *p, int64_t stride, int64_t n) {
  double row[TILE];
  const one_by_one *f = job->f;
  st__random_normals(job->source, row, n,
                     job->source->mt && f->dtype == ST_FLOAT64);
  for (int64_t i = 0; i < n; i++) row[i] = fma(row[i], f->std, f->mean);
  if (f->fn) for (int64_t i = 0; i < n; i++) row[i] = f->fn(row[i]);
  char *data[2] = {p, (char *)row};
  const int64_t strides[4] = {stride, sizeof *row, 0, 0};
  st__copy_kernel(f->dtype, ST_FLOAT64)(data, strides, n, 1, NULL);
}

static void normal_loop(char **data, const int64_t *strides, int64_t n0,
                        int64_t n1, const void *ctx) {
  for (int64_t j = 0; j < n1; j++) {
    char *p = data[0] + j * strides[1];
    for (int64_t i = 0; i < n0; i += TILE) {
      normal_row(ctx, p + i * strides[0], strides[0],
                 n0 - i < TILE ? n0 - i : TILE);
    }
  }
}

/* Each pair of numbers takes a block of Philox; a range may begin with the
 * second of a pair. */
static void normal_range(const void *ctx, st_source *s, int64_t begin,
                         int64_t end) {
  const iter_draw *job = ctx;
  const normals f = {job->ctx, s};
  if (!s->mt) {
    double first;
    st__random_seek(s, (uint64_t)(begin / 2) * ST_PHILOX_WORDS);
    if (begin % 2) st__random_normals(s, &first, 1, false);
  }
  st__iter_serial_range(job->it, normal_loop, &f, begin, end);
}

/* -- Tensors -------------------------------------------------------------- */

static st_status fill(st_tensor *t, int words, int64_t grain, st_draw_fn fn,
                      const void *ctx, st_generator *g) {
  st_iter it;
  st_status status;
  st__iter_init(&it, ST_ITER_NULLARY);
  st__iter_output(&it, t, ST_DTYPE_NONE);
  ST_TRY_FAIL(st__iter_build(&it));
  if (st__has_elements(t)) {
    const iter_draw job = {&it, ctx};
    status = st__random_run(g, it.numel, words, grain, fn, &job);
  }
fail:
  st__iter_release(&it);
  return status;
}

st_status st__random_draw(st_tensor *t, const st_draw *d, st_generator *g) {
  if (!d->make) return st__no_kernel_for(t->dtype);
  return fill(t, d->words, DRAW_GRAIN, draw_range, d, g);
}

st_status st__random_draw_normal(st_tensor *t, double mean, double std,
                                 double (*fn)(double), st_generator *g) {
  const one_by_one f = {t->dtype, mean, std, fn};
  return fill(t, ST_OF_PAIRS, NORMAL_GRAIN, normal_range, &f, g);
}

/* -- An element for each parameter ---------------------------------------- */

typedef struct sample {
  double *out;
  const double *a, *b;
  st_sampler by;
} sample;

static void sample_some(const sample *f, st_source *s, int64_t begin,
                        int64_t end) {
  st_window w;
  st__window_open(&w, s, end - begin);
  f->by(&w, f->a + begin, f->b + begin, f->out + begin, end - begin);
  st__window_close(&w);
}

static void sample_range(const void *ctx, st_source *s, int64_t begin,
                         int64_t end) {
  if (s->mt) {
    sample_some(ctx, s, begin, end);
    return;
  }
  for (int64_t i = begin; i < end; i += ST_SAMPLE) {
    st__random_stream(s, (uint64_t)(i / ST_SAMPLE));
    sample_some(ctx, s, i, end - i < ST_SAMPLE ? end : i + ST_SAMPLE);
  }
}

static double *doubles_of(const st_tensor *t) {
  return (double *)(void *)st__data(t);
}

st_status st__random_sample(const st_tensor *out, const st_tensor *a,
                            const st_tensor *b, st_sampler sampler,
                            st_generator *g) {
  const sample f = {doubles_of(out), doubles_of(a), doubles_of(b), sampler};
  return st__random_run(g, out->numel, 0, SAMPLE_GRAIN, sample_range, &f);
}
