/* Least squares: see least_squares.h. */

#include "op/lapack/least_squares.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "op/lapack/blocks.h"
#include "op/lapack/chunks.h"

/* -- Scales --------------------------------------------------------------- */

/* Parts of numbers in memory: elements, or two for a complex one. */
static int64_t parts_of(const st_lapack_job *j, int64_t n) {
  return st__is_complex(j->dtype) ? 2 * n : n;
}

static bool is_single(const st_lapack_job *j) {
  return st__real_dtype(j->dtype) == ST_FLOAT32;
}

/* The greatest part of a number. */
static double greatest(const st_lapack_job *j, const st_part *a) {
  const int64_t n = parts_of(j, a->m);
  double most = 0;
  for (int64_t c = 0; c < a->n; c++) {
    const void *const at = st__part_at(j, a, 0, c);
    for (int64_t i = 0; i < n; i++) {
      const double x = is_single(j) ? (double)((const float *)at)[i]
                                    : ((const double *)at)[i];
      most = fmax(most, fabs(x));
    }
  }
  return most;
}

static void scale(const st_lapack_job *j, const st_part *a, int exponent) {
  const int64_t n = parts_of(j, a->m);
  for (int64_t c = 0; c < a->n && exponent != 0; c++) {
    void *const at = st__part_at(j, a, 0, c);
    for (int64_t i = 0; i < n; i++) {
      if (is_single(j)) {
        ((float *)at)[i] = ldexpf(((const float *)at)[i], exponent);
      } else {
        ((double *)at)[i] = ldexp(((const double *)at)[i], exponent);
      }
    }
  }
}

/* Divides a by a power of two, so that its products are finite and not lost,
 * and returns its exponent. */
static int moderate(const st_lapack_job *j, const st_part *a) {
  const int far = is_single(j) ? 60 : 450;
  int exponent;
  frexp(greatest(j, a), &exponent);
  if (exponent > -far && exponent < far) return 0;
  scale(j, a, -exponent);
  return exponent;
}

/* Both matrices; what X is to be multiplied by. */
static int moderate_both(const st_lapack_job *j, const st_least_squares *s) {
  const int of_a = moderate(j, &s->a);
  return moderate(j, &s->b) - of_a;
}

/* -- Steps ---------------------------------------------------------------- */

static int64_t line_of(st_dtype dtype, int64_t n) {
  return st__whole_lines(n * (int64_t)st__itemsize(dtype));
}

/* The matrix of the second factors, two rows of tau, the pivots, then what the
 * functions of QR factors need. */
int64_t st__gels_bytes(st_dtype dtype, int64_t m, int64_t n, int64_t columns) {
  const int64_t rows = st__larger(m, n), k = st__smaller(m, n);
  return line_of(dtype, n * k) + 2 * line_of(dtype, k) +
         st__whole_lines(n * (int64_t)sizeof(blasint)) +
         st__larger(st__qr_bytes(dtype, rows, st__larger(columns, rows), k),
                    st__geqp3_bytes(dtype, m, n));
}

typedef struct rooms { char *a, *tau, *other_tau, *order, *rest; } rooms;

static rooms rooms_of(const st_lapack_job *j, const st_part *a,
                      char *scratch) {
  const int64_t k = st__smaller(a->m, a->n);
  rooms r = {.a = scratch};
  r.tau = r.a + line_of(j->dtype, a->n * k);
  r.other_tau = r.tau + line_of(j->dtype, k);
  r.order = r.other_tau + line_of(j->dtype, k);
  r.rest = r.order + st__whole_lines(a->n * (int64_t)sizeof(blasint));
  return r;
}

static st_part rows_of(const st_lapack_job *j, const st_part *b, int64_t first,
                       int64_t count) {
  return st__part(j, b, first, 0, count, b->n);
}

static void zero_rows(const st_lapack_job *j, const st_part *b, int64_t first,
                      int64_t count) {
  for (int64_t c = 0; c < b->n; c++) {
    memset(st__part_at(j, b, first, c), 0, (size_t)(count * st__size(j)));
  }
}

static double complex number_at(const st_lapack_job *j, const st_part *a,
                                int64_t row, int64_t col) {
  double x[2];
  double complex z; /* glibc has CMPLX for GCC only */
  st__scalar_to_complex(
    st__scalar_load(j->dtype, st__part_at(j, a, row, col)), x);
  memcpy(&z, x, sizeof z);
  return z;
}

/* b becomes Q b or its adjoint times b; the k reflections are in a. */
static bool multiply_by_q(const st_lapack_job *j, const st_part *a, int64_t k,
                          const char *tau, bool adjoint, const st_part *b,
                          char *scratch) {
  const st_reflections q = {st__part(j, a, 0, 0, a->m, k), tau, adjoint, false};
  const st_part rows = rows_of(j, b, 0, a->m);
  return st__ormqr(j, &q, &rows, scratch);
}

/* The least X of R' X = b, for the factors of a matrix with more rows: X is Q
 * times the solution for its R's adjoint. */
static bool solve_under(const st_lapack_job *j, const st_part *a,
                        const char *tau, const st_part *b, char *scratch) {
  const int64_t k = a->n;
  const bool conjugates = st__is_complex(j->dtype);
  const st_triangle t = {.a = st__turned(st__part(j, a, 0, 0, k, k)),
                         .x = rows_of(j, b, 0, k)};
  if (conjugates) st__part_conjugate(j, &t.x);
  if (!st__solve_triangle(j, &t)) return false;
  if (conjugates) st__part_conjugate(j, &t.x);
  zero_rows(j, b, k, a->m - k);
  return multiply_by_q(j, a, k, tau, false, b, scratch);
}

/* -- Matrices of full rank ------------------------------------------------ */

static blasint find_zero(const st_lapack_job *j, const st_part *r, int64_t k) {
  for (int64_t i = 0; i < k; i++) {
    if (number_at(j, r, i, i) == 0) return (blasint)i + 1;
  }
  return 0;
}

static bool solve_wide(const st_lapack_job *j, const st_least_squares *s,
                       blasint *info, const rooms *r) {
  const st_part a = st__columns_at(r->a, s->a.n, s->a.m, s->a.n);
  const st_part adjoint = st__turned(s->a);
  st__part_copy(j, &a, &adjoint, true);
  if (!st__geqrf(j, &a, r->tau, r->rest)) return false;
  *info = find_zero(j, &a, a.n);
  return *info != 0 || solve_under(j, &a, r->tau, &s->b, r->rest);
}

static bool solve_tall(const st_lapack_job *j, const st_least_squares *s,
                       blasint *info, const rooms *r) {
  const int64_t n = s->a.n;
  const st_triangle t = {.a = st__part(j, &s->a, 0, 0, n, n),
                         .x = rows_of(j, &s->b, 0, n), .upper = true};
  if (!st__geqrf(j, &s->a, r->tau, r->rest)) return false;
  *info = find_zero(j, &s->a, n);
  return *info != 0 ||
         (multiply_by_q(j, &s->a, n, r->tau, true, &s->b, r->rest) &&
          st__solve_triangle(j, &t));
}

/* The solution for zeros is zero; LAPACK has it that nothing is left of B. */
bool st__gels(const st_lapack_job *j, const st_least_squares *s, blasint *info,
              char *scratch) {
  const rooms r = rooms_of(j, &s->a, scratch);
  *info = 0;
  if (greatest(j, &s->a) == 0) {
    zero_rows(j, &s->b, 0, s->b.m);
    return true;
  }
  const int by = moderate_both(j, s);
  if (!(s->a.m < s->a.n ? solve_wide : solve_tall)(j, s, info, &r)) {
    return false;
  }
  scale(j, &s->b, by);
  return true;
}

/* -- Ranks ---------------------------------------------------------------- */

/* The greatest or the least singular value of the leading triangle of R, as x,
 * of norm 1, estimates it: C. H. Bischof, "Incremental condition estimation",
 * SIAM J. Matrix Anal. Appl. 11, 1990. */
typedef struct estimate {
  double complex *x;
  double value;
  bool is_least;
} estimate;

/* That of the triangle with one more column: [x s; c] times it has the norm of
 * (s, c) times the matrix of rows (value, x w) and (0, d), where w is the new
 * column and d its number on the diagonal. */
static estimate extended(const st_lapack_job *j, const st_part *r, int64_t k,
                         const estimate *e, double complex vector[2]) {
  const double complex d = number_at(j, r, k, k);
  double complex w = 0;
  for (int64_t i = 0; i < k; i++) {
    w += conj(e->x[i]) * number_at(j, r, i, k);
  }
  const double a = e->value, b = cabs(w), c = cabs(d);
  const double most = (hypot(a + c, b) + hypot(a - c, b)) / 2;
  const double angle =
    most == 0 ? 0 : atan2(2 * (b / most) * (c / most),
                          ((a - c) / most) * ((a + c) / most) +
                            (b / most) * (b / most)) / 2;
  const double complex turn = b == 0 || c == 0 ? 1 : d * conj(w) / (b * c);
  vector[0] = e->is_least ? -sin(angle) : cos(angle);
  vector[1] = turn * (e->is_least ? cos(angle) : sin(angle));
  const double value = !e->is_least ? most : most == 0 ? 0 : a / most * c;
  return (estimate){e->x, value, e->is_least};
}

static void extend(estimate *e, const estimate *to, int64_t k,
                   const double complex vector[2]) {
  for (int64_t i = 0; i < k; i++) e->x[i] *= vector[0];
  e->x[k] = vector[1];
  e->value = to->value;
}

/* Columns of R as long as the reciprocal condition is not below rcond. room:
 * two vectors. */
static int64_t find_rank(const st_lapack_job *j, const st_part *r,
                         double rcond, double complex *room) {
  const int64_t k = st__smaller(r->m, r->n);
  const double first = cabs(number_at(j, r, 0, 0));
  estimate most = {room, first, false}, least = {room + k, first, true};
  int64_t rank = 1;
  room[0] = room[k] = 1;
  if (first == 0) return 0;
  for (; rank < k; rank++) {
    double complex u[2], v[2];
    const estimate up = extended(j, r, rank, &most, u);
    const estimate down = extended(j, r, rank, &least, v);
    if (!(up.value * rcond <= down.value)) break;
    extend(&most, &up, rank, u);
    extend(&least, &down, rank, v);
  }
  return rank;
}

/* -- Matrices of any rank ------------------------------------------------- */

/* The first rows of R, of full rank, are the adjoint of what has factors. */
static bool solve_deficient(const st_lapack_job *j, const st_least_squares *s,
                            int64_t rank, const rooms *r) {
  const int64_t n = s->a.n;
  const st_part a = st__columns_at(r->a, n, rank, n);
  const st_part above = st__turned(st__part(j, &s->a, 0, 0, rank, n));
  st__part_copy(j, &a, &above, true);
  st__part_zero_above(j, &(st_part){a.p, rank, rank, a.row, a.col});
  return st__geqrf(j, &a, r->other_tau, r->rest) &&
         solve_under(j, &a, r->other_tau, &s->b, r->rest);
}

/* Row i of b moves to the place of column i of A P. x: a row of room. */
static void order_rows(const st_lapack_job *j, const st_part *b, int64_t n,
                       const blasint *order, char *room) {
  const size_t size = (size_t)st__size(j);
  for (int64_t c = 0; c < b->n; c++) {
    char *const at = st__part_at(j, b, 0, c);
    memcpy(room, at, (size_t)n * size);
    for (int64_t i = 0; i < n; i++) {
      memcpy(at + (size_t)order[i] * size, room + (size_t)i * size, size);
    }
  }
}

static bool solve_ranked(const st_lapack_job *j, const st_least_squares *s,
                         int64_t rank, const rooms *r) {
  const int64_t k = st__smaller(s->a.m, s->a.n), n = s->a.n;
  const st_triangle t = {.a = st__part(j, &s->a, 0, 0, n, n),
                         .x = rows_of(j, &s->b, 0, n), .upper = true};
  if (!multiply_by_q(j, &s->a, k, r->tau, true, &s->b, r->rest)) return false;
  if (!(rank < n ? solve_deficient(j, s, rank, r)
                 : st__solve_triangle(j, &t))) {
    return false;
  }
  order_rows(j, &s->b, n, (const blasint *)(void *)r->order, r->rest);
  return true;
}

bool st__gelsy(const st_lapack_job *j, const st_least_squares *s,
               blasint *rank, char *scratch) {
  const rooms r = rooms_of(j, &s->a, scratch);
  const int by = moderate_both(j, s);
  *rank = 0;
  if (greatest(j, &s->a) > 0) {
    if (!st__geqp3(j, &s->a, r.tau, (blasint *)(void *)r.order, r.rest)) {
      return false;
    }
    *rank = (blasint)find_rank(j, &s->a, s->rcond,
                               (double complex *)(void *)r.rest);
  }
  if (*rank == 0) {
    zero_rows(j, &s->b, 0, s->b.m);
    return true;
  }
  if (!solve_ranked(j, s, *rank, &r)) return false;
  scale(j, &s->b, by);
  return true;
}
