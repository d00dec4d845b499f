/* The kernel find: the index of the first element equal to the pivot, for
 * argmax, argmin and the indices of max and min. A NaN equals a NaN.
 */

#include "kernel/reduce/reduction_kernels.h"

/* -- Bodies --------------------------------------------------------------- */

#define SAME_AS(x, r) (((x) == (r)) | (((x) != (x)) & ((r) != (r))))

/* Searches a row in blocks of 64 elements, which the compiler vectorises. */
#define FIND_ROW(name, T, A, L)                                             \
  static void name##_row(const span *p) {                                   \
    const T *x = (const T *)p->in;                                          \
    const A r = *(const A *)p->pivot;                                       \
    int64_t i = 0, n = p->n0;                                               \
    for (int hit = 0; i + 64 <= n; i += 64) {                               \
      for (int l = 0; l < 64; l++) hit |= SAME_AS(L(x[i + l]), r);          \
      if (hit) break; }                                                     \
    while (i < n && !SAME_AS(L(x[i]), r)) i++;                              \
    *(int64_t *)p->acc = i < n ? p->start + i : ST_NO_INDEX; }

/* The first loop is vectorised; the second one only runs on a match. */
#define FIND_NEXT(name, T, A, L)                                            \
  static void name##_next(const span *p) {                                  \
    int64_t *restrict a = (int64_t *)p->acc;                                \
    const A *r = (const A *)p->pivot;                                       \
    const T *x = (const T *)p->x[0];                                        \
    const int64_t n = p->n1;                                                \
    int hit = 0;                                                            \
    for (int64_t j = 0; j < n; j++) hit |= SAME_AS(L(x[j]), r[j]);          \
    for (int64_t j = 0; hit && j < n; j++)                                  \
      if (SAME_AS(L(x[j]), r[j]) && a[j] == ST_NO_INDEX) a[j] = p->start; } \
  static void name##_first(const span *p) {                                 \
    for (int64_t j = 0; j < p->n1; j++)                                     \
      ((int64_t *)p->acc)[j] = ST_NO_INDEX;                                 \
    name##_next(p); }

static void combine_first(char *to, const char *with, int64_t n) {
  int64_t *restrict a = (int64_t *)to;
  const int64_t *restrict b = (const int64_t *)with;
  for (int64_t j = 0; j < n; j++) a[j] = b[j] < a[j] ? b[j] : a[j];
}

#define FIND_LOOP(loop, load_fn, in_size, name, T, A)                       \
  static void loop(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *run) {                                       \
    static const st_reduce_ops k = {                                        \
      load_fn, name##_row, name##_first, name##_next, NULL, combine_first,  \
      in_size, sizeof(T), 8, sizeof(A), 1, .stops_early = true,             \
      .any_order = true};                                                   \
    st__run_reduction(&k, data, s, n0, n1, run); }

#define FIND(s, T, A, L)                                                    \
  FIND_ROW(find_##s, T, A, L)                                               \
  FIND_NEXT(find_##s, T, A, L)                                              \
  FIND_LOOP(find_##s, LOAD_OF(T), sizeof(T), find_##s, T, A)

FIND(u8, uint8_t, uint8_t, SAME)
FIND(i8, int8_t, int8_t, SAME)
FIND(i16, int16_t, int16_t, SAME)
FIND(i32, int32_t, int32_t, SAME)
FIND(i64, int64_t, int64_t, SAME)
FIND(f32, float, float, SAME)
FIND(f64, double, double, SAME)
FIND(b8, uint8_t, uint8_t, TRUTH_OF)
FIND_LOOP(find_f16, load_half, 2, find_f32, float, float)
FIND_LOOP(find_bf16, load_bf16, 2, find_f32, float, float)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {REAL(find, find_b8)};

ST_EXPORT(st__argmax, rows)
