/* Singular values of bidiagonal matrices, without vectors, by differential
 * quotients and differences with shifts, in double precision for float32, too:
 * K. V. Fernando, B. N. Parlett, "Accurate singular values and differential qd
 * algorithms", Numer. Math. 67, 1994; the shifts are those of B. N. Parlett,
 * O. A. Marques, "An implementation of the dqds algorithm (positive case)",
 * Linear Algebra Appl. 309, 2000.
 *
 * With q the squares of the diagonal and e those of the elements above it, a
 * step makes those of a matrix whose squared singular values are less by the
 * shift, which must not be greater than the least of them: else a number
 * becomes negative, and the step is taken again with a lesser one. The last
 * element of e vanishes.
 */

#include <math.h>
#include <stdlib.h>

#include "op/lapack/chunks.h"
#include "op/spectra/bidiagonal.h"

/* SQUARE is negligible beside squares of values, and LEAST beside that of the
 * greatest one, which is near 2^(2 SCALE). */
#define EPS 0x1p-52
#define TOLERANCE (10 * EPS)
#define SQUARE (TOLERANCE * TOLERANCE)
#define LEAST 0x1p-500
enum { SCALE = 250 };

/* Rows [first, last] of a matrix; sigma, with what its rounding has lost, is
 * the sum of the shifts. q[at] and e[at] are the numbers, the others those of
 * the next step. */
typedef struct block {
  double *q[2], *e[2];
  int64_t first, last;
  int at;
  double sigma, lost;
} block;

/* What a step leaves: the last three of the numbers d that it forms, and the
 * least of all, of those but the last, and of those but the last two. */
typedef struct state {
  double dn, dn1, dn2, least, least1, least2;
  double e_least, q_most;
  double part;     /* of the least d that is the shift where nothing is known */
  int64_t rows;    /* that the step had */
} state;

static double less(double x, double y) { return x < y ? x : y; }
static double more(double x, double y) { return x > y ? x : y; }

static bool is_negligible(double e, double beside) {
  return e <= SQUARE * beside || e <= LEAST;
}

/* -- Steps ---------------------------------------------------------------- */

/* The numbers of the next step; b has at least three rows. */
static void transform(const block *b, double shift, state *s) {
  const double *const q = b->q[b->at], *const e = b->e[b->at];
  double *const to_q = b->q[!b->at], *const to_e = b->e[!b->at];
  double d = q[b->first] - shift, least = d, e_least = INFINITY, q_most = 0;
  int64_t i = b->first;
  for (; i + 2 < b->last; i++) {
    const double sum = d + e[i], t = q[i + 1] / sum;
    to_q[i] = sum;
    to_e[i] = e[i] * t;
    d = d * t - shift;
    least = less(d, least);
    e_least = less(to_e[i], e_least);
    q_most = more(sum, q_most);
  }
  s->dn2 = d;
  s->least2 = least;
  for (; i < b->last; i++) {
    const double sum = d + e[i], t = q[i + 1] / sum;
    to_q[i] = sum;
    to_e[i] = e[i] * t;
    d = d * t - shift;
    e_least = less(to_e[i], e_least);
    q_most = more(sum, q_most);
    if (i + 1 == b->last) {
      s->dn = d;
    } else {
      s->dn1 = d;
      s->least1 = less(d, s->least2);
    }
  }
  to_q[i] = d;
  s->least = less(d, s->least1);
  s->e_least = e_least;
  s->q_most = more(d, q_most);
  s->rows = b->last - b->first + 1;
}

static void add_shift(block *b, double shift) {
  const double sum = b->sigma + (shift + b->lost);
  b->lost = (shift + b->lost) - (sum - b->sigma);
  b->sigma = sum;
}

/* Takes a step, with a lesser shift where it has to be. No sum vanishes, since
 * no element of e is negligible. */
static void step(block *b, double shift, state *s) {
  if (shift < EPS / 4 * (b->sigma + shift)) shift = 0;
  for (int tries = 0;; tries++) {
    transform(b, shift, s);
    if (s->least >= 0 || shift == 0) break;
    const double above = b->e[!b->at][b->last - 1];
    if (s->least1 > 0 && above < TOLERANCE * (b->sigma + s->dn1) &&
        fabs(s->dn) < TOLERANCE * b->sigma) {
      b->q[!b->at][b->last] = 0;
      s->dn = s->least = 0;
      break;
    }
    s->part = 0;
    if (tries >= 2) shift = 0;
    else if (s->least1 > 0) shift = more((shift + s->least) * (1 - 2 * EPS), 0);
    else shift /= 4;
  }
  b->at = !b->at;
  add_shift(b, shift);
}

/* -- Shifts --------------------------------------------------------------- */

/* The sum of products of e / q from the last one upwards: of what the vector of
 * the least value has above its last element; infinity if that is not its
 * greatest one. */
static double sum_upwards(const block *b) {
  const double *const q = b->q[b->at], *const e = b->e[b->at];
  double product = 1, sum = 0;
  for (int64_t i = b->last - 1; i >= b->first; i--) {
    const double before = product;
    if (e[i] > q[i]) return INFINITY;
    product *= e[i] / q[i];
    sum += product;
    if (100 * more(product, before) < sum || sum > 0.563 || product == 0) {
      break;
    }
  }
  return 1.05 * sum;
}

/* The last value is the least, and has a gap to the one before. */
static double shift_of_last(const block *b, const state *s) {
  const double *const q = b->q[b->at], *const e = b->e[b->at];
  const int64_t n = b->last;
  const double b1 = sqrt(q[n]) * sqrt(e[n - 1]);
  const double b2 = sqrt(q[n - 1]) * sqrt(e[n - 2]);
  const double a2 = q[n - 1] + e[n - 1];
  const double gap2 = s->least2 - a2 - s->least2 / 4;
  const double gap1 =
    a2 - s->dn - (gap2 > 0 && gap2 > b2 ? b2 / gap2 * b2 : b1 + b2);
  if (gap1 > 0 && gap1 > b1) {
    return more(s->dn - b1 / gap1 * b1, s->least / 2);
  }
  double shift = s->dn > b1 ? s->dn - b1 : 0;
  if (a2 > b1 + b2) shift = less(shift, a2 - (b1 + b2));
  return more(shift, s->least / 3);
}

/* After a value was found; least: of the others before it. */
static double shift_of_next(const block *b, double least, double gap) {
  const double sum = sum_upwards(b), root = sqrt(sum);
  const double shift = least / 3, a = least / (1 + sum);
  if (!(sum < 0.563)) return shift;
  gap -= a;
  if (gap > 0 && gap > root * a) {
    return more(shift, a * (1 - 1.01 * a * (root / gap) * root));
  }
  return more(shift, a * (1 - 1.01 * root));
}

static double shift_of(const block *b, state *s) {
  const double *const q = b->q[b->at], *const e = b->e[b->at];
  const int64_t found = s->rows - (b->last - b->first + 1), n = b->last;
  if (s->least <= 0 || found > 2) return 0;
  if (found == 1) {
    if (s->least1 == s->dn1 && s->least2 == s->dn2) {
      return shift_of_next(b, s->least1, s->least2 / 2);
    }
    return s->least1 == s->dn1 ? s->least1 / 2 : s->least1 / 4;
  }
  if (found == 2) {
    if (s->least2 != s->dn2 || 2 * e[n - 1] >= q[n - 1]) return s->least2 / 4;
    return shift_of_next(b, s->least2, q[n - 1] + e[n - 2] -
                                       sqrt(q[n - 2]) * sqrt(e[n - 2]));
  }
  if (s->least == s->dn && s->least1 == s->dn1) return shift_of_last(b, s);
  if (s->least == s->dn) {
    const double sum = sum_upwards(b);
    if (sum < 0.563) return s->dn * (1 - sqrt(sum)) / (1 + sum);
    return s->least / 4;
  }
  if (s->least == s->dn1 || s->least == s->dn2) return s->least / 4;
  s->part = s->part > 0 ? s->part + (1 - s->part) / 3 : 0.25;
  return s->part * s->least;
}

/* -- Blocks --------------------------------------------------------------- */

/* Those of two rows: q1 becomes the greater one. */
static void solve_two(double *q1, double e, double *q2) {
  if (*q2 > *q1) {
    const double q = *q1;
    *q1 = *q2;
    *q2 = q;
  }
  double t = (*q1 - *q2 + e) / 2;
  if (!(e > *q2 * SQUARE) || t == 0) return;
  double s = *q2 * (e / t);
  s = s <= t ? *q2 * (e / (t * (1 + sqrt(1 + s / t))))
             : *q2 * (e / (t + sqrt(t) * sqrt(t + s)));
  t = *q1 + (s + e);
  *q2 *= *q1 / t;
  *q1 = t;
}

/* Takes from the end what is found, one or two values; false if nothing is. */
static bool deflate(block *b, double *d) {
  double *const q = b->q[b->at], *const e = b->e[b->at];
  const int64_t n = b->last, rows = n - b->first + 1;
  if (rows == 1 || is_negligible(e[n - 1], b->sigma + q[n])) {
    d[n] = q[n] + b->sigma;
    b->last--;
    return true;
  }
  if (rows > 2 && !is_negligible(e[n - 2], more(b->sigma, q[n - 2]))) {
    return false;
  }
  solve_two(&q[n - 1], e[n - 1], &q[n]);
  d[n] = q[n] + b->sigma;
  d[n - 1] = q[n - 1] + b->sigma;
  b->last -= 2;
  return true;
}

/* The greater numbers come first; true if they did not. */
static bool turn(const block *b) {
  double *const q = b->q[b->at], *const e = b->e[b->at];
  if (b->first >= b->last || !(1.5 * q[b->first] < q[b->last])) return false;
  for (int64_t i = b->first, k = b->last; i < k; i++, k--) {
    const double x = q[i], y = e[i];
    q[i] = q[k];
    q[k] = x;
    if (i < k - 1) {
      e[i] = e[k - 1];
      e[k - 1] = y;
    }
  }
  return true;
}

/* The first row of the part that no zero above the diagonal divides. */
static int64_t start_of(const block *b) {
  const double *const q = b->q[b->at], *const e = b->e[b->at];
  int64_t i = b->last;
  for (; i > b->first; i--) {
    if (is_negligible(e[i - 1], more(b->sigma, q[i - 1]))) break;
  }
  return i;
}

/* A bound of the least value, from Gershgorin's circles. */
static double first_shift(const block *b) {
  const double *const q = b->q[b->at], *const e = b->e[b->at];
  double least = q[b->last], most = 0;
  for (int64_t i = b->first; i < b->last; i++) {
    least = less(least, q[i]);
    most = more(most, e[i]);
  }
  return more(0, least - 2 * sqrt(least) * sqrt(most));
}

/* The blocks that are left, and the steps, in rows, that may follow, and that
 * may follow before the next question whether to stop. */
typedef struct work {
  block *blocks;
  int64_t count, left, until;
  double *d;
} work;

/* The part behind the last zero above the diagonal; the other part is left for
 * later. True if there is one. */
static bool divide(work *w, block *b) {
  const int64_t first = start_of(b);
  if (first == b->first) return false;
  w->blocks[w->count] = *b;
  w->blocks[w->count++].last = first - 1;
  b->first = first;
  return true;
}

static bool goes_on(const st_lapack_job *j, work *w, int64_t rows) {
  enum { PERIOD = 1 << 16 };
  w->left -= rows;
  w->until -= rows;
  if (w->left < 0) return false;
  if (w->until > 0) return true;
  w->until = PERIOD;
  return !st__is_stopped(j);
}

/* All values of a block and what it is divided into. False: interrupted, or too
 * many steps. */
static bool solve(const st_lapack_job *j, work *w, block b) {
  state s = {.least = 0};
  bool is_known = false;
  while (b.last >= b.first) {
    if (deflate(&b, w->d)) {
      if (turn(&b)) s.least = 0;
      continue;
    }
    if (!is_known || is_negligible(s.e_least, more(s.q_most, b.sigma))) {
      if (divide(w, &b)) {
        is_known = false;
        continue;
      }
    }
    if (!is_known) turn(&b);
    const double shift = is_known ? shift_of(&b, &s) : first_shift(&b);
    if (!goes_on(j, w, b.last - b.first)) return false;
    step(&b, shift, &s);
    is_known = true;
  }
  return true;
}

/* Divides numbers by a power of two, so that the greatest is near 2^SCALE;
 * returns its exponent. */
static int scale(int64_t n, double *d, double *e) {
  double most = 0;
  int exponent;
  for (int64_t i = 0; i < n; i++) {
    most = more(most, more(fabs(d[i]), fabs(e[i])));
  }
  frexp(most, &exponent);
  exponent -= SCALE;
  for (int64_t i = 0; i < n; i++) {
    d[i] = ldexp(d[i], -exponent);
    e[i] = ldexp(e[i], -exponent);
  }
  return exponent;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int64_t st__dqds_bytes(int64_t n) {
  return st__whole_lines(5 * n * (int64_t)sizeof(double) +
                         n * (int64_t)sizeof(block));
}

/* The values of rows [first, end), between which no number is 0 above the
 * diagonal; their squares would not span the exponents of all rows. */
static bool solve_rows(const st_lapack_job *j, work *w, const block *all,
                       int64_t first, int64_t end) {
  block b = *all;
  double *const q = b.q[0], *const e = b.e[0];
  const int exponent = scale(end - first, q + first, e + first);
  b.first = first;
  b.last = end - 1;
  for (int64_t i = first; i < end; i++) {
    q[i] *= q[i];
    e[i] *= e[i];
  }
  w->blocks[w->count++] = b;
  while (w->count > 0) {
    if (!solve(j, w, w->blocks[--w->count])) return false;
  }
  for (int64_t i = first; i < end; i++) {
    w->d[i] = ldexp(sqrt(w->d[i]), exponent);
  }
  return true;
}

bool st__dqds(const st_lapack_job *j, int64_t n, char *d, const char *e,
              blasint *info, char *scratch) {
  enum { STEPS = 30 };
  double *const x = (double *)(void *)scratch;
  double *const q = x + n, *const y = q + n;
  const block b = {{q, y + n}, {y, y + 2 * n}, 0, n - 1, 0, 0, 0};
  work w = {(block *)(void *)(y + 3 * n), 0, STEPS * n * n, 0, x};
  for (int64_t i = 0; i < n; i++) {
    q[i] = st__value(j, d, i);
    y[i] = i + 1 < n ? st__value(j, e, i) : 0;
  }
  for (int64_t first = 0, end = 1; first < n; first = end++) {
    while (y[end - 1] != 0) end++;
    if (solve_rows(j, &w, &b, first, end)) continue;
    *info = 1;
    return !st__is_stopped(j);
  }
  qsort(x, (size_t)n, sizeof *x, compare);
  for (int64_t i = 0; i < n; i++) st__set_value(j, d, i, x[i]);
  return true;
}
