/* Deflation of bidiagonal matrices: M. Gu, S. C. Eisenstat, "A
 * divide-and-conquer algorithm for the bidiagonal SVD", SIAM J. Matrix Anal.
 * Appl. 16, 1995. A value whose number in the row is small is a singular value
 * already. Of two nearly equal ones, a rotation makes one so.
 */

#include "op/spectra/coupling.h"

#include <math.h>
#include <string.h>

#include "kernel/numbers.h"
#include "op/lapack/chunks.h"

/* Of vectors: where they are not zero, or that they are left out. */
enum { ABOVE, BELOW, BOTH, OUT };

static double at(const st_lapack_job *j, const char *p, int64_t i) {
  return st__value(j, p, i);
}

static double vt_at(const st_lapack_job *j, const st_coupling *c, int64_t row,
                    int64_t col) {
  return at(j, c->vt, row + col * c->ld);
}

/* The places of the values but the row's, in their order. */
static void sort_values(const st_lapack_job *j, const st_coupling *c,
                        blasint *sorted) {
  const blasint second = c->nl + 1;
  int64_t one = 0, other = second;
  for (int64_t i = 0; i + 1 < c->n; i++) {
    const blasint a = one < c->nl ? c->order[one] - 1 : 0;
    const blasint b = other < c->n ? c->order[other] - 1 + second : 0;
    const bool first =
      other == c->n || (one < c->nl && at(j, c->d, a) <= at(j, c->d, b));
    sorted[i] = first ? a : b;
    if (first) one++;
    else other++;
  }
}

#define DEFINE_ROTATE(name, T)                                               \
  /* x and y become c x + s y and c y - s x; their elements are `step`       \
   * apart. */                                                               \
  static void name(T *x, T *y, int64_t n, int64_t step, T c, T s) {          \
    for (int64_t i = 0; i < n * step; i += step) {                           \
      const T z = c * x[i] + s * y[i];                                       \
      y[i] = c * y[i] - s * x[i];                                            \
      x[i] = z;                                                              \
    }                                                                        \
  }
DEFINE_ROTATE(rotate_f4, float)
DEFINE_ROTATE(rotate_f8, double)

static void rotate(const st_lapack_job *j, void *x, void *y, int64_t n,
                   int64_t step, double c, double s) {
  if (j->dtype == ST_FLOAT32) rotate_f4(x, y, n, step, (float)c, (float)s);
  else rotate_f8(x, y, n, step, c, s);
}

static void rotate_columns(const st_lapack_job *j, const st_coupling *c,
                           int64_t a, int64_t b, double cosine, double sine) {
  rotate(j, st__element(j, c->u, c->ld, 0, a),
         st__element(j, c->u, c->ld, 0, b), c->n, 1, cosine, sine);
}

static void rotate_rows(const st_lapack_job *j, const st_coupling *c,
                        int64_t a, int64_t b, double cosine, double sine) {
  rotate(j, st__element(j, c->vt, c->ld, a, 0),
         st__element(j, c->vt, c->ld, b, 0), c->n + c->extra, c->ld, cosine,
         sine);
}

/* The row's own number, to which that of the column behind is turned. Returns
 * what does not count. */
static double couple_row(const st_lapack_job *j, const st_coupling *c) {
  const double eps = j->dtype == ST_FLOAT32 ? 0x1p-24 : 0x1p-53;
  double most = fmax(fabs(c->alpha), fabs(c->beta));
  for (int64_t i = 0; i < c->n; i++) {
    const double by = i <= c->nl ? c->alpha : c->beta;
    const int64_t col = i <= c->nl ? c->nl : c->nl + 1;
    st__set_value(j, c->numbers, i, by * vt_at(j, c, i, col));
    if (i != c->nl) most = fmax(most, at(j, c->d, i));
  }
  const double least = 8 * eps * most, one = at(j, c->numbers, c->nl);
  double norm = one;
  if (c->extra) {
    const double other = c->beta * vt_at(j, c, c->n, c->nl + 1);
    norm = st__map_two(ST_K_hypot, one, other);
    if (norm > least) {
      rotate_rows(j, c, c->nl, c->n, one / norm, other / norm);
    }
  }
  st__set_value(j, c->numbers, c->nl, fabs(norm) > least ? norm : least);
  return least;
}

/* -- What is left --------------------------------------------------------- */

/* Places: kept[0, k) are left; those from kept[first] on, which descend, are
 * not. */
typedef struct division {
  blasint *kept, *types;
  int64_t k, first;
  double least; /* what does not count */
} division;

static void leave_out(const st_lapack_job *j, const st_coupling *c,
                      division *v, blasint place) {
  int64_t i = --v->first;
  v->types[place] = OUT;
  for (; i + 1 < c->n &&
         at(j, c->d, place) < at(j, c->d, v->kept[i + 1]); i++) {
    v->kept[i] = v->kept[i + 1];
  }
  v->kept[i] = place;
}

/* True if the values of a and b, the next one, are nearly equal: the number of
 * b becomes that of both. */
static bool joins(const st_lapack_job *j, const st_coupling *c, division *v,
                  blasint a, blasint b) {
  const double x = at(j, c->numbers, a), y = at(j, c->numbers, b);
  if (fabs(at(j, c->d, b) - at(j, c->d, a)) > v->least) return false;
  const double norm = st__map_two(ST_K_hypot, x, y);
  st__set_value(j, c->numbers, b, norm);
  st__set_value(j, c->numbers, a, 0);
  if (v->types[a] != v->types[b]) v->types[b] = BOTH;
  rotate_columns(j, c, a, b, y / norm, -x / norm);
  rotate_rows(j, c, a, b, y / norm, -x / norm);
  return true;
}

static void divide(const st_lapack_job *j, const st_coupling *c,
                   const blasint *sorted, division *v) {
  blasint last = -1; /* the place that the next one may join */
  v->kept[v->k++] = c->nl;
  for (int64_t i = 0; i + 1 < c->n; i++) {
    const blasint place = sorted[i];
    if (fabs(at(j, c->numbers, place)) <= v->least) {
      leave_out(j, c, v, place);
      continue;
    }
    if (last >= 0 && joins(j, c, v, last, place)) leave_out(j, c, v, last);
    else if (last >= 0) v->kept[v->k++] = last;
    last = place;
  }
  if (last >= 0) v->kept[v->k++] = last;
}

/* -- Results -------------------------------------------------------------- */

/* The vectors of the places in this order: the row's, then by kinds, then what
 * is left out. */
static void order_places(const st_coupling *c, const division *v,
                         blasint *places) {
  int64_t next = 1;
  c->columns[0] = 1;
  places[0] = c->nl;
  for (int kind = ABOVE; kind < OUT; kind++) {
    const int64_t before = next;
    for (int64_t i = 1; i < v->k; i++) {
      if ((int)v->types[v->kept[i]] != kind) continue;
      c->columns[next] = (blasint)i + 1;
      places[next++] = v->kept[i];
    }
    c->types[kind] = (blasint)(next - before);
  }
  for (int64_t i = v->k; i < c->n; i++) places[i] = v->kept[i];
}

#define DEFINE_GATHER(name, T)                                               \
  static void name(T *to, const T *from, const blasint *places, int64_t n) { \
    for (int64_t i = 0; i < n; i++) to[i] = from[places[i]];                 \
  }
DEFINE_GATHER(gather_f4, float)
DEFINE_GATHER(gather_f8, double)

/* u2 and vt2 become the vectors in order; those that are left out return. */
static void order_vectors(const st_lapack_job *j, const st_coupling *c,
                          const blasint *places, int64_t k) {
  const int64_t size = st__size(j), n = c->n, columns = n + c->extra;
  const int64_t rest = n - k;
  memset(c->u2, 0, (size_t)(n * size));
  st__set_value(j, c->u2, c->nl, 1);
  for (int64_t i = 1; i < n; i++) {
    memcpy(c->u2 + i * n * size, st__element(j, c->u, c->ld, 0, places[i]),
           (size_t)(n * size));
  }
  for (int64_t i = k; i < n; i++) {
    memcpy(st__element(j, c->u, c->ld, 0, i), c->u2 + i * n * size,
           (size_t)(n * size));
  }
  for (int64_t col = 0; col < columns; col++) {
    void *const to = c->vt2 + col * columns * size;
    char *const from = st__element(j, c->vt, c->ld, 0, col);
    if (j->dtype == ST_FLOAT32) gather_f4(to, (void *)from, places, n);
    else gather_f8(to, (void *)from, places, n);
    memcpy(from + k * size, (char *)to + k * size, (size_t)(rest * size));
  }
}

/* The values and numbers of what is left, then d of what is not. */
static void order_values(const st_lapack_job *j, const st_coupling *c,
                         const division *v) {
  for (int64_t i = 0; i < v->k; i++) {
    st__set_value(j, c->poles, i, at(j, c->d, v->kept[i]));
    st__set_value(j, c->z, i, at(j, c->numbers, v->kept[i]));
  }
  for (int64_t i = v->k; i < c->n; i++) {
    st__set_value(j, c->numbers, i, at(j, c->d, v->kept[i]));
  }
  memcpy(c->d + v->k * st__size(j), c->numbers + v->k * st__size(j),
         (size_t)((c->n - v->k) * st__size(j)));
  st__set_value(j, c->poles, 0, 0);
  if (v->k > 1 && at(j, c->poles, 1) <= v->least / 2) {
    st__set_value(j, c->poles, 1, v->least / 2);
  }
}

blasint st__couple(const st_lapack_job *j, st_coupling *c) {
  blasint *const sorted = c->columns;
  division v = {.kept = c->room, .types = c->room + c->n, .first = c->n,
                .least = couple_row(j, c)};
  for (int64_t i = 0; i < c->n; i++) v.types[i] = i < c->nl ? ABOVE : BELOW;
  sort_values(j, c, sorted);
  divide(j, c, sorted, &v);
  order_places(c, &v, c->order);
  order_vectors(j, c, c->order, v.k);
  order_values(j, c, &v);
  return (blasint)v.k;
}
