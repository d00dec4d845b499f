/* Deflation: J. R. Bunch, C. P. Nielsen, D. C. Sorensen, "Rank-one modification
 * of the symmetric eigenproblem", Numer. Math. 31, 1978. A column whose number
 * in z is small is decomposed already. Of two with nearly equal values, a
 * rotation makes one so.
 */

#include "op/spectra/deflation.h"

#include <math.h>
#include <string.h>

#include "kernel/numbers.h"
#include "op/lapack/chunks.h"

/* Of columns: the rows where they are not zero. */
enum { UPPER, MIXED, LOWER, OUT = ST_LEFT_OUT };

static double at(const st_lapack_job *j, const char *p, int64_t i) {
  return st__value(j, p, i);
}

void st__merge_order(const st_lapack_job *j, int64_t k, int64_t n,
                     const char *d, blasint *order) {
  int64_t up = 0, down = n - 1;
  for (int64_t i = 0; i < n; i++) {
    const bool takes_up =
      down < k || (up < k && at(j, d, up) <= at(j, d, down));
    order[i] = (blasint)(takes_up ? up++ : down--) + 1;
  }
}

void st__sort_parts(const st_lapack_job *j, const st_parts *p,
                    blasint *sorted) {
  int64_t one = 0, other = p->second;
  for (int64_t i = 0; one < p->n1 || other < p->n; i++) {
    const blasint a = one < p->n1 ? p->order[one] - 1 : 0;
    const blasint b = other < p->n ? p->order[other] - 1 + p->second : 0;
    const bool first =
      other == p->n || (one < p->n1 && at(j, p->d, a) <= at(j, p->d, b));
    sorted[i] = first ? a : b;
    if (first) one++;
    else other++;
  }
}

/* z has norm 1 then. */
static void normalise(const st_lapack_job *j, st_deflation *f) {
  for (int64_t i = 0; i < f->n; i++) {
    const bool negates = f->coupling < 0 && i >= f->n1;
    const double x = at(j, f->z, i) * sqrt(0.5);
    st__set_value(j, f->z, i, negates ? -x : x);
  }
  f->coupling = fabs(2 * f->coupling);
}

#define DEFINE_ROTATE(name, T)                                               \
  static void name(T *x, T *y, int64_t n, int64_t step, T c, T s) {          \
    for (int64_t i = 0; i < n * step; i += step) {                           \
      const T z = c * x[i] + s * y[i];                                       \
      y[i] = c * y[i] - s * x[i];                                            \
      x[i] = z;                                                              \
    }                                                                        \
  }
DEFINE_ROTATE(rotate_f4, float)
DEFINE_ROTATE(rotate_f8, double)

void st__rotate(const st_lapack_job *j, void *x, void *y, int64_t n,
                int64_t step, double c, double s) {
  if (j->dtype == ST_FLOAT32) rotate_f4(x, y, n, step, (float)c, (float)s);
  else rotate_f8(x, y, n, step, c, s);
}

/* -- What is left --------------------------------------------------------- */

static void keep(st_division *v, blasint column) { v->kept[v->k++] = column; }

void st__leave_out(const st_lapack_job *j, st_division *v, const char *d,
                   int64_t n, blasint column) {
  int64_t i = --v->first;
  v->types[column] = ST_LEFT_OUT;
  for (; i + 1 < n && at(j, d, column) < at(j, d, v->kept[i + 1]); i++) {
    v->kept[i] = v->kept[i + 1];
  }
  v->kept[i] = column;
}

/* True if a rotation of a, with the value before b's, into b makes z zero
 * there, and what it leaves beside the diagonal does not count. */
static bool joins(const st_lapack_job *j, st_deflation *f,
                  const st_division *v, blasint a, blasint b) {
  const double x = at(j, f->z, a), y = at(j, f->z, b);
  const double norm = st__map_two(ST_K_hypot, x, y);
  const double low = at(j, f->d, a), high = at(j, f->d, b);
  const double c = y / norm, s = -x / norm;
  if (!(fabs((high - low) * c * s) <= v->least)) return false;
  st__set_value(j, f->z, b, norm);
  st__set_value(j, f->z, a, 0);
  if (v->types[a] != v->types[b]) v->types[b] = MIXED;
  st__rotate(j, st__element(j, f->q, f->ldq, 0, a),
             st__element(j, f->q, f->ldq, 0, b), f->n, 1, c, s);
  st__set_value(j, f->d, a, low * c * c + high * s * s);
  st__set_value(j, f->d, b, low * s * s + high * c * c);
  return true;
}

static void divide(const st_lapack_job *j, st_deflation *f,
                   const blasint *sorted, st_division *v) {
  blasint last = -1; /* the column that the next one may join */
  for (int64_t i = 0; i < f->n; i++) {
    const blasint column = sorted[i];
    if (f->coupling * fabs(at(j, f->z, column)) <= v->least) {
      st__leave_out(j, v, f->d, f->n, column);
      continue;
    }
    if (last >= 0 && joins(j, f, v, last, column)) {
      st__leave_out(j, v, f->d, f->n, last);
    } else if (last >= 0) {
      keep(v, last);
    }
    last = column;
  }
  if (last >= 0) keep(v, last);
}

/* -- Results -------------------------------------------------------------- */

/* Moves rows [row, row + rows) of a column of q to *to. */
static void pack(const st_lapack_job *j, const st_deflation *f, blasint column,
                 int64_t row, int64_t rows, char **to) {
  const size_t bytes = (size_t)(rows * st__size(j));
  memcpy(*to, st__element(j, f->q, f->ldq, row, column), bytes);
  *to += bytes;
}

/* The columns by kind, and what is left out behind them. */
static void pack_columns(const st_lapack_job *j, st_deflation *f,
                         const st_division *v) {
  const int64_t n1 = f->n1, n2 = f->n - n1, rest = f->n - v->k;
  blasint counts[4] = {0}, next = 0;
  for (int64_t i = 0; i < f->n; i++) counts[v->types[i]]++;
  char *upper = f->q2;
  char *lower = upper + (counts[UPPER] + counts[MIXED]) * n1 * st__size(j);
  for (int kind = UPPER; kind < OUT; kind++) {
    for (int64_t i = 0; i < v->k; i++) {
      const blasint column = v->kept[i];
      if ((int)v->types[column] != kind) continue;
      f->columns[next++] = (blasint)i + 1;
      if (kind != LOWER) pack(j, f, column, 0, n1, &upper);
      if (kind != UPPER) pack(j, f, column, n1, n2, &lower);
    }
  }
  /* Of those left out, values go to the room of z. */
  char *const out = lower;
  for (int64_t i = v->k; i < f->n; i++) {
    pack(j, f, v->kept[i], 0, f->n, &lower);
    st__set_value(j, f->z, i, at(j, f->d, v->kept[i]));
  }
  for (int64_t i = 0; i < rest; i++) {
    memcpy(st__element(j, f->q, f->ldq, 0, v->k + i),
           out + i * f->n * st__size(j), (size_t)(f->n * st__size(j)));
    st__set_value(j, f->d, v->k + i, at(j, f->z, v->k + i));
  }
  memcpy(f->types, counts, sizeof counts);
}

/* All columns, in the order of their values. */
static void order_all(const st_lapack_job *j, st_deflation *f,
                      const blasint *sorted) {
  char *to = f->q2;
  for (int64_t i = 0; i < f->n; i++) {
    pack(j, f, sorted[i], 0, f->n, &to);
    st__set_value(j, f->poles, i, at(j, f->d, sorted[i]));
  }
  for (int64_t i = 0; i < f->n; i++) {
    memcpy(st__element(j, f->q, f->ldq, 0, i),
           f->q2 + i * f->n * st__size(j), (size_t)(f->n * st__size(j)));
  }
  memcpy(f->d, f->poles, (size_t)(f->n * st__size(j)));
}

blasint st__deflate(const st_lapack_job *j, st_deflation *f) {
  const double eps = j->dtype == ST_FLOAT32 ? 0x1p-24 : 0x1p-53;
  blasint *const sorted = f->room;
  const st_parts parts = {f->n1, f->n1, f->n, f->d, f->order};
  st_division v = {.kept = f->room + f->n, .types = f->types, .first = f->n};
  double most_d = 0, most_z = 0;
  normalise(j, f);
  st__sort_parts(j, &parts, sorted);
  for (int64_t i = 0; i < f->n; i++) {
    most_d = fmax(most_d, fabs(at(j, f->d, i)));
    most_z = fmax(most_z, fabs(at(j, f->z, i)));
    v.types[i] = i < f->n1 ? UPPER : LOWER;
  }
  v.least = 8 * eps * fmax(most_d, most_z);
  if (f->coupling * most_z <= v.least) {
    order_all(j, f, sorted);
    return 0;
  }
  divide(j, f, sorted, &v);
  for (int64_t i = 0; i < v.k; i++) {
    st__set_value(j, f->poles, i, at(j, f->d, v.kept[i]));
    st__set_value(j, f->weights, i, at(j, f->z, v.kept[i]));
  }
  pack_columns(j, f, &v);
  return (blasint)v.k;
}
