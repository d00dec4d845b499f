/* Lines as convolutions: Note [Lengths with large primes].
 */

#include "op/fourier/convolution.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "kernel/fft/fft.h"
#include "kernel/kernel.h"

enum { LINE = 64 /* bytes of a cache line */ };

static int64_t padded(int64_t bytes) {
  return (bytes + LINE - 1) / LINE * LINE;
}

/* -- Tables --------------------------------------------------------------- */

/* The least of some lengths that are fast, and at least n. */
static int64_t length_for(int64_t n) {
  static const int64_t factors[] = {8, 10, 12};
  int64_t unit = 1;
  while (16 * unit < n) unit *= 2;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
    if (factors[i] * unit >= n) return factors[i] * unit;
  }
  return 16 * unit;
}

static void put(void *to, bool is_double, int64_t i, double re, double im) {
  if (is_double) {
    double *const p = (double *)to + 2 * i;
    p[0] = re, p[1] = im;
  } else {
    float *const p = (float *)to + 2 * i;
    p[0] = (float)re, p[1] = (float)im;
  }
}

static int64_t chirp_bytes(const st_fft_plan *p, bool is_double) {
  return padded(p->count * (is_double ? 16 : 8));
}

/* w, and b / m with its two ends around the zeros in the middle. */
static void fill(const st_fft_plan *p, bool is_double, bool forward,
                 void *b) {
  const int64_t n = p->count, m = p->line.length;
  for (int64_t j = 0; j < n; j++) {
    double x[2];
    st__fft_root(j * j % (2 * n), 2 * n, x);
    if (!forward) x[1] = -x[1];
    put(p->chirp, is_double, j, x[0], -x[1]);
    const double re = x[0] / (double)m, im = x[1] / (double)m;
    put(b, is_double, j, re, im);
    if (j > 0) put(b, is_double, m - j, re, im);
  }
}

static size_t table_bytes(const st_fft_plan *p, bool is_double) {
  return (size_t)(chirp_bytes(p, is_double) +
                  p->line.length * (is_double ? 16 : 8));
}

static st_status transform_once(const st_fft_line *line, bool is_double,
                                const char *in, char *out) {
  const size_t bytes = (size_t)st__fft_line_bytes(line, is_double, 1);
  st_fft_call call = {line, is_double, 1, 1, NULL};
  call.scratch = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!call.scratch) return ST_NO_MEMORY;
  const st_status status = st__fft_execute(&call, in, out);
  st__free(ST_MEM_SCRATCH, call.scratch, bytes);
  return status;
}

static st_status fill_tables(st_fft_plan *p, bool forward, bool is_double) {
  const int64_t m = p->line.length;
  const size_t bytes = (size_t)m * (is_double ? 16 : 8);
  p->chirp = st__alloc_block(table_bytes(p, is_double));
  void *const b = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!p->chirp || !b) {
    st__free(ST_MEM_SCRATCH, b, bytes);
    return ST_NO_MEMORY;
  }
  memset(b, 0, bytes);
  fill(p, is_double, forward, b);
  const st_status status =
    transform_once(&p->line, is_double, b,
                   (char *)p->chirp + chirp_bytes(p, is_double));
  st__free(ST_MEM_SCRATCH, b, bytes);
  return status;
}

st_status st__fft_chirp_init(st_fft_plan *p, st_fft_kind kind,
                             bool is_double) {
  const int64_t m = length_for(2 * p->count - 1);
  p->size = p->n + p->count + 2 * m;
  ST_TRY(st__fft_line_init(false, is_double, m, &p->line));
  ST_TRY(st__fft_line_init(true, is_double, m, &p->back));
  return fill_tables(p, kind == ST_FFT_FORWARD, is_double);
}

void st__fft_chirp_free(st_fft_plan *p, bool is_double) {
  if (p->chirp) st__free_block(p->chirp, table_bytes(p, is_double));
  p->chirp = NULL;
}

/* -- Lines ---------------------------------------------------------------- */

typedef struct product {
  st_task task;
  int64_t size;
  char *to;
  const char *a, *b;
} product;

static void multiply_range(void *ctx, int64_t begin, int64_t end) {
  const product *p = ctx;
  const int64_t at = begin * p->size;
  char *data[] = {p->to + at, (char *)(uintptr_t)(p->a + at),
                  (char *)(uintptr_t)(p->b + at)};
  const st_fft_multiply count = {end - begin};
  p->task(data, &count);
}

/* to[i] = a[i] b[i] for i < n; the threads share a long line. */
static void multiply(const st_fft_convolved *c, char *to, const char *a,
                     const char *b, int64_t n) {
  product p = {st__task(ST_K_fft_multiply, c->is_double ? ST_FLOAT64
                                                        : ST_FLOAT32),
               c->is_double ? 16 : 8, to, a, b};
  if (!c->plan->line.matrix) multiply_range(&p, 0, n);
  else st_parallel_for(0, n, ST_GRAIN, multiply_range, &p);
}

int64_t st__fft_chirp_bytes(const st_fft_plan *p, bool is_double, int shares) {
  return 2 * padded(p->line.length * (is_double ? 16 : 8)) +
         st__fft_line_bytes(&p->line, is_double, shares);
}

st_status st__fft_convolve(const st_fft_convolved *c, const char *in,
                           char *out, char *scratch) {
  const st_fft_plan *const p = c->plan;
  const int64_t n = p->count, m = p->line.length;
  const int64_t size = c->is_double ? 16 : 8;
  const char *const chirp = p->chirp;
  char *const a = scratch, *const b = scratch + padded(m * size);
  if (c->from_real || c->to_real) {
    st__fft_widen(c->is_double, c->from_real, n, in, a);
  }
  multiply(c, a, c->from_real || c->to_real ? a : in, chirp, n);
  memset(a + n * size, 0, (size_t)((m - n) * size));
  st_fft_call call = {&p->line, c->is_double, c->shares, 1,
                      b + padded(m * size)};
  ST_TRY(st__fft_execute(&call, a, b));
  multiply(c, b, b, chirp + chirp_bytes(p, c->is_double), m);
  call.line = &p->back;
  ST_TRY(st__fft_execute(&call, b, a));
  multiply(c, c->to_real ? a : out, a, chirp, c->results);
  if (c->to_real) st__fft_real_parts(c->is_double, c->results, a, out);
  if (c->from_real) memset(out + size / 2, 0, (size_t)size / 2);
  return ST_OK;
}
