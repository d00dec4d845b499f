/* The reduction of Hermitian matrices to tridiagonal ones: J. J. Dongarra,
 * D. C. Sorensen, S. J. Hammarling, "Block reduction of matrices to condensed
 * forms for eigenvalue computations", J. Comput. Appl. Math. 27, 1989.
 *
 * A block of reflections is applied to what follows as A -= V W' + W V'. Half
 * of the work is the product of A and each vector, which a kernel makes of
 * chunks of A's columns.
 */

#include <string.h>

#include "op/lapack/chunks.h"
#include "op/lapack/panels.h"
#include "op/spectra/columns.h"
#include "op/spectra/tridiagonal.h"

enum { BLOCK = 32 };

/* Of columns from k on. both: [V W] for the rows behind the block; conj_both:
 * [W V] for them, conjugated. sums: a column for each chunk. */
typedef struct reduction {
  const st_lapack_job *j;
  st_part a, w, x, small, both, conj_both, sums;
  char *d, *e, *tau, *panel;
  int64_t k;
} reduction;

static int64_t chunks_of(int64_t n) { return (n + ST_CHUNK - 1) / ST_CHUNK; }

int64_t st__sytrd_bytes(st_dtype dtype, int64_t n) {
  return 2 * st__line_bytes(dtype, 2 * n * BLOCK) +
         st__line_bytes(dtype, BLOCK) +
         st__column_pitch(dtype, n) * (BLOCK + 1 + chunks_of(n)) +
         st__panel_bytes(dtype, n, 1);
}

static reduction new_reduction(const st_lapack_job *j, const st_part *a,
                               char *scratch) {
  const int64_t n = a->n;
  reduction r = {.j = j, .a = *a};
  r.w = st__take_columns(j, &scratch, n, BLOCK);
  r.both = st__take_matrix(j, &scratch, n, 2 * BLOCK);
  r.conj_both = st__take_matrix(j, &scratch, n, 2 * BLOCK);
  r.small = st__take_matrix(j, &scratch, BLOCK, 1);
  r.x = st__take_columns(j, &scratch, n, 1);
  r.sums = st__take_columns(j, &scratch, n, chunks_of(n));
  r.panel = scratch;
  return r;
}

/* -- A times a vector ----------------------------------------------------- */

/* Chunks [from, to) of the columns from k on. */
typedef struct hermitian {
  const reduction *r;
  st_part a; /* square */
} hermitian;

static void multiply_chunks(const st_step *s, int64_t from, int64_t to) {
  const hermitian *h = s->ctx;
  const int64_t n = h->a.n, size = st__size(s->j);
  const int64_t st[] = {0, 0, 0, 0, h->a.col * size, 0};
  for (int64_t i = from; i < to; i++) {
    const int64_t c = i * ST_CHUNK, width = st__smaller(n - c, ST_CHUNK);
    char *data[] = {st__part_at(s->j, &h->r->sums, 0, i),
                    st__part_at(s->j, &h->a, c, c),
                    st__part_at(s->j, &h->r->x, c, 0)};
    st__kernel(ST_K_multiply_hermitian, s->j->dtype)(data, st, n - c, width,
                                                     NULL);
  }
}

/* Real numbers, or the parts of complex ones. */
static void add(const st_lapack_job *j, char *to, const char *from,
                int64_t n) {
  const int64_t parts = st__is_complex(j->dtype) ? 2 * n : n;
  if (st__real_dtype(j->dtype) == ST_FLOAT32) {
    float *const x = (float *)(void *)to;
    const float *const y = (const float *)(const void *)from;
    for (int64_t i = 0; i < parts; i++) x[i] += y[i];
  } else {
    double *const x = (double *)(void *)to;
    const double *const y = (const double *)(const void *)from;
    for (int64_t i = 0; i < parts; i++) x[i] += y[i];
  }
}

/* w becomes the product of a, square, and v, which is copied to r's x. */
static bool multiply(const reduction *r, const st_part *a, const st_part *v,
                     const st_part *w) {
  const st_lapack_job *j = r->j;
  const int64_t n = a->n, chunks = chunks_of(n);
  const st_part x = st__part(j, &r->x, 0, 0, n, 1);
  const hermitian h = {r, *a};
  st_step s = {multiply_chunks, j, &h, 0, chunks};
  st__part_copy(j, &x, v, false);
  st__zero_behind(j, &x);
  if (!st__share_each(&s)) return false;
  memcpy(w->p, r->sums.p, (size_t)(n * st__size(j)));
  for (int64_t i = 1; i < chunks; i++) {
    add(j, st__part_at(j, w, i * ST_CHUNK, 0), st__part_at(j, &r->sums, 0, i),
        n - i * ST_CHUNK);
  }
  return true;
}

/* -- Columns -------------------------------------------------------------- */

/* Column i of the block loses V and W of those before it. */
static void update_column(const reduction *r, int64_t i) {
  const st_lapack_job *j = r->j;
  const int64_t at = r->k + i, rows = r->a.n - at;
  const st_part column = st__part(j, &r->a, at, at, rows, 1);
  const st_part v = st__part(j, &r->a, at, r->k, rows, i);
  const st_part w = st__part(j, &r->w, at, 0, rows, i);
  const st_part v_row = st__part(j, &v, 0, 0, 1, i);
  const st_part w_row = st__part(j, &w, 0, 0, 1, i);
  st__subtract_columns(j, &column, &v, &w_row, true);
  st__subtract_columns(j, &column, &w, &v_row, true);
}

/* Of n numbers, of which each has `step` parts. */
#define DEFINE_TIMES(name, T)                                                \
  /* w becomes by w; the product of its adjoint and v. */                    \
  static void name(T *w, const T *v, int64_t n, int step, const double *by,  \
                   double *out) {                                            \
    for (int64_t i = 0; i < n; i++, w += step, v += step) {                  \
      const double im = step == 2 ? w[1] : 0, y = step == 2 ? v[1] : 0;      \
      const double a = by[0] * w[0] - by[1] * im;                            \
      const double b = by[0] * im + by[1] * w[0];                            \
      out[0] += a * v[0] + b * y;                                            \
      out[1] += a * y - b * v[0];                                            \
      w[0] = (T)a;                                                           \
      if (step == 2) w[1] = (T)b;                                            \
    }                                                                        \
  }
DEFINE_TIMES(times_f4, float)
DEFINE_TIMES(times_f8, double)

#define DEFINE_ADD(name, T)                                                  \
  /* w gets by v. */                                                         \
  static void name(T *w, const T *v, int64_t n, int step,                    \
                   const double *by) {                                       \
    for (int64_t i = 0; i < n; i++, w += step, v += step) {                  \
      const double im = step == 2 ? v[1] : 0;                                \
      w[0] += (T)(by[0] * v[0] - by[1] * im);                                \
      if (step == 2) w[1] += (T)(by[0] * im + by[1] * v[0]);                 \
    }                                                                        \
  }
DEFINE_ADD(add_f4, float)
DEFINE_ADD(add_f8, double)

/* w becomes tau w, and loses a half of tau w' v v. */
static void finish_vector(const reduction *r, const st_part *w,
                          const st_part *v, const char *tau) {
  const int step = st__is_complex(r->j->dtype) ? 2 : 1;
  const bool is_single = st__real_dtype(r->j->dtype) == ST_FLOAT32;
  void *const to = w->p;
  const void *const from = v->p;
  double t[2], x[2] = {0, 0};
  st__scalar_to_complex(st__scalar_load(r->j->dtype, tau), t);
  if (is_single) times_f4(to, from, w->m, step, t, x);
  else times_f8(to, from, w->m, step, t, x);
  const double by[2] = {-(t[0] * x[0] - t[1] * x[1]) / 2,
                        -(t[0] * x[1] + t[1] * x[0]) / 2};
  if (is_single) add_f4(to, from, w->m, step, by);
  else add_f8(to, from, w->m, step, by);
}

static bool reduce_column(const reduction *r, int64_t i) {
  const st_lapack_job *j = r->j;
  const int64_t at = r->k + i, rows = r->a.n - at - 1;
  const st_number one = st__number(j, 1);
  const st_part v = st__part(j, &r->a, at + 1, at, rows, 1);
  const st_part w = st__part(j, &r->w, at + 1, i, rows, 1);
  const st_part rest = st__part(j, &r->a, at + 1, at + 1, rows, rows);
  const st_part old_v = st__part(j, &r->a, at + 1, r->k, rows, i);
  const st_part old_w = st__part(j, &r->w, at + 1, 0, rows, i);
  char *const tau = r->tau + at * st__size(j);
  if (i > 0) update_column(r, i);
  st__store_real(j, st__part_at(j, &r->a, at, at), r->d, at);
  if (rows == 0) return true;
  st__factor_panel(j, ST_K_reflect_panel, &v, tau, r->panel);
  st__store_real(j, v.p, r->e, at);
  memcpy(v.p, &one, (size_t)st__size(j));
  if (!multiply(r, &rest, &v, &w)) return false;
  if (i > 0) {
    st__subtract_product(j, &w, &old_v, &old_w, &v, &r->small);
    st__subtract_product(j, &w, &old_w, &old_v, &v, &r->small);
  }
  finish_vector(r, &w, &v, tau);
  return true;
}

/* -- Blocks --------------------------------------------------------------- */

static void update_chunk(const st_step *s, int64_t from, int64_t to) {
  const reduction *r = s->ctx;
  const int64_t n = r->a.n, width = r->both.n;
  const st_part c = st__part(s->j, &r->a, from, from, n - from, to - from);
  const st_part left = st__part(s->j, &r->both, from, 0, n - from, width);
  const st_part right = st__turned(
    st__part(s->j, &r->conj_both, from, 0, to - from, width));
  const bool done = st__part_multiply(s->j, &c, &left, &right, -1, true);
  (void)done; /* the job says so */
}

/* What follows the block of `width` columns. */
static bool update_rest(reduction *r, int64_t width) {
  const st_lapack_job *j = r->j;
  const int64_t first = r->k + width, rows = r->a.n - first;
  const st_part v = st__part(j, &r->a, first, r->k, rows, width);
  const st_part w = st__part(j, &r->w, first, 0, rows, width);
  st_step s = {update_chunk, j, r, first, r->a.n};
  r->both.n = r->conj_both.n = 2 * width;
  for (int i = 0; i < 2; i++) {
    const st_part to = st__part(j, &r->both, first, i * width, rows, width);
    const st_part conj = st__part(j, &r->conj_both, first, i * width, rows,
                                  width);
    st__part_copy(j, &to, i == 0 ? &v : &w, false);
    st__part_copy(j, &conj, i == 0 ? &w : &v, true);
  }
  return st__share_columns(&s) && !st__is_stopped(j);
}

bool st__sytrd(const st_lapack_job *j, const st_part *a,
               const st_tridiagonal *t, char *scratch) {
  const int64_t n = a->n;
  reduction r = new_reduction(j, a, scratch);
  r.d = t->d;
  r.e = t->e;
  r.tau = t->tau;
  st__zero_behind(j, a);
  st__zero_behind(j, &r.w);
  for (int64_t width; r.k < n; r.k += width) {
    width = st__smaller(n - r.k, BLOCK);
    for (int64_t i = 0; i < width; i++) {
      if (!reduce_column(&r, i)) return false;
    }
    if (r.k + width < n && !update_rest(&r, width)) return false;
  }
  return true;
}
