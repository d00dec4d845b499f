/* The kernel of one dtype; included once for each.
 *
 * T: the element type. TAG: its suffix. The rest: ql_template.h.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)

#include "kernel/lapack/ql_template.h"

/* The rows become those of the identity. The algorithm finds the first values
 * first, in fewer steps if they are small: else it gets the matrix reversed. */
static void NAME(begin)(const NAME(ql_matrix) *q) {
  const int64_t n = q->n;
  const bool is_reversed = FABS(q->d[n - 1]) < FABS(q->d[0]);
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
static void NAME(finish)(const NAME(ql_matrix) *q, char *z, int64_t column) {
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

static void NAME(steqr)(char **data, const int64_t *st, int64_t n0,
                        int64_t n1, const void *ctx) {
  const NAME(ql_matrix) q = {(T *)(void *)data[0], (T *)(void *)data[1],
                      (T *)(void *)data[4], n0,
                      st[4] / (int64_t)sizeof(T),
                      (n0 + QL_LANES - 1) / QL_LANES * QL_LANES};
  (void)n1;
  (void)ctx;
  NAME(begin)(&q);
  const int info = NAME(ql_values)(&q);
  *(int32_t *)(void *)data[3] = info;
  if (info == 0) NAME(finish)(&q, data[2], st[2]);
}

#undef NAME
#undef NAME2
#undef NAME_
#undef T
#undef TAG
#undef QL_LANES
#undef FABS
#undef SQRT
#undef EPS
#undef LEAST
