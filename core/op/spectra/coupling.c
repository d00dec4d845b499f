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
#include "op/spectra/deflation.h"

/* Of vectors: where they are not zero. */
enum { ABOVE, BELOW, BOTH, OUT = ST_LEFT_OUT };

static double at(const st_lapack_job *j, const char *p, int64_t i) {
  return st__value(j, p, i);
}

static double vt_at(const st_lapack_job *j, const st_coupling *c, int64_t row,
                    int64_t col) {
  return at(j, c->vt, row + col * c->ld);
}

static void rotate_columns(const st_lapack_job *j, const st_coupling *c,
                           int64_t a, int64_t b, double cosine, double sine) {
  st__rotate(j, st__element(j, c->u, c->ld, 0, a),
             st__element(j, c->u, c->ld, 0, b), c->n, 1, cosine, sine);
}

static void rotate_rows(const st_lapack_job *j, const st_coupling *c,
                        int64_t a, int64_t b, double cosine, double sine) {
  st__rotate(j, st__element(j, c->vt, c->ld, a, 0),
             st__element(j, c->vt, c->ld, b, 0), c->n + c->extra, c->ld,
             cosine, sine);
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

/* True if the values of a and b, the next one, are nearly equal: the number of
 * b becomes that of both. */
static bool joins(const st_lapack_job *j, const st_coupling *c, st_division *v,
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
                   const blasint *sorted, st_division *v) {
  blasint last = -1; /* the place that the next one may join */
  v->kept[v->k++] = c->nl;
  for (int64_t i = 0; i + 1 < c->n; i++) {
    const blasint place = sorted[i];
    if (fabs(at(j, c->numbers, place)) <= v->least) {
      st__leave_out(j, v, c->d, c->n, place);
      continue;
    }
    if (last >= 0 && joins(j, c, v, last, place)) {
      st__leave_out(j, v, c->d, c->n, last);
    } else if (last >= 0) {
      v->kept[v->k++] = last;
    }
    last = place;
  }
  if (last >= 0) v->kept[v->k++] = last;
}

/* -- Results -------------------------------------------------------------- */

/* The vectors of the places in this order: the row's, then by kinds, then what
 * is left out. */
static void order_places(const st_coupling *c, const st_division *v,
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
                         const st_division *v) {
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
  const st_parts parts = {c->nl, c->nl + 1, c->n, c->d, c->order};
  st_division v = {.kept = c->room, .types = c->room + c->n, .first = c->n,
                .least = couple_row(j, c)};
  for (int64_t i = 0; i < c->n; i++) v.types[i] = i < c->nl ? ABOVE : BELOW;
  st__sort_parts(j, &parts, sorted);
  divide(j, c, sorted, &v);
  order_places(c, &v, c->order);
  order_vectors(j, c, c->order, v.k);
  order_values(j, c, &v);
  return (blasint)v.k;
}
