/* The kernel of one dtype; included once for each.
 *
 * The parameters: ql_template.h.
 */

#define NAME(name) F(name)
#define QL_LANES (64 / (int64_t)sizeof(T))
#define FABS M(fabs)
#define SQRT M(sqrt)
#define EPS F(EPS)
#define LEAST F(LEAST)
#include "kernel/spectra/ql_template.h"

/* The rows become those of the identity. The algorithm finds the first values
 * first, in fewer steps if they are small: else it gets the matrix reversed. */
static void F(begin)(const F(ql_matrix) *q) {
  const int64_t n = q->n;
  const bool is_reversed = M(fabs)(q->d[n - 1]) < M(fabs)(q->d[0]);
  for (int64_t i = 0; i < n; i++) {
    memset(q->rows + i * q->next, 0, (size_t)q->width * sizeof(T));
    q->rows[i * q->next + (is_reversed ? n - 1 - i : i)] = 1;
  }
  for (int64_t i = 0; is_reversed && i < n / 2; i++) {
    const T x = q->d[i];
    q->d[i] = q->d[n - 1 - i];
    q->d[n - 1 - i] = x;
  }
  for (int64_t i = 0; is_reversed && i < (n - 1) / 2; i++) {
    const T x = q->e[i];
    q->e[i] = q->e[n - 2 - i];
    q->e[n - 2 - i] = x;
  }
}

/* Sorts the values, and copies the vectors to z. */
static void F(finish)(const F(ql_matrix) *q, char *z, int64_t column) {
  T sorted[ST_STEQR];
  for (int64_t i = 0; i < q->n; i++) {
    const T x = q->d[i];
    int64_t rank = 0;
    for (int64_t j = 0; j < i; j++) rank += q->d[j] <= x;
    for (int64_t j = i + 1; j < q->n; j++) rank += q->d[j] < x;
    sorted[rank] = x;
    memcpy(z + rank * column, q->rows + i * q->next,
           (size_t)q->n * sizeof(T));
  }
  memcpy(q->d, sorted, (size_t)q->n * sizeof(T));
}

static ST_LOOP_FN(F(steqr), st) {
  const F(ql_matrix) q = {
    (T *)(void *)data[0], (T *)(void *)data[1], (T *)(void *)data[4], n0,
    st[4] / (int64_t)sizeof(T), (n0 + QL_LANES - 1) / QL_LANES * QL_LANES};
  F(begin)(&q);
  const int info = F(ql_values)(&q);
  *(int32_t *)(void *)data[3] = info;
  if (info == 0) F(finish)(&q, data[2], st[2]);
}
