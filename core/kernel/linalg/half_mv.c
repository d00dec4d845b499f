/* The product of a matrix of halves and a float32 vector, computed in float32
 * without a float32 copy of the matrix.
 *
 * A contiguous row is summed in 32 parts, which are added up in a fixed order.
 * Otherwise PART rows are summed at the same time, along the columns, each sum
 * from the first product to the last. So the layout decides about the order,
 * and nothing else does.
 */

#include "kernel/linalg/half_mv.h"

#include <string.h>

#include "base/threads.h"
#include "kernel/dtype_tables.h"
#include "kernel/math/half_rows.h"
#include "kernel/vectors.h"

enum { LANES = ST_HALVES };
enum { PART = 128, SUMS = 32 / LANES, PERIOD = ST_PERIOD / PART };

typedef float f32x8 __attribute__((vector_size(32)));
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint16_t halves __attribute__((vector_size(2 * LANES)));

/* -- LANES elements ------------------------------------------------------- */

static inline void load_f32(floats *x, const char *p) {
  memcpy(x, p, sizeof *x);
}

/* A sum with a NaN is NaN, whatever its bits. */
static inline void load_f16(floats *x, const char *p) {
  st_load_halves((float *)x, p);
}

static inline void load_bf16(floats *x, const char *p) {
  halves h;
  memcpy(&h, p, sizeof h);
  *x = (floats)(WIDEN_u2(words, h) << 16);
}

/* -- Rows ----------------------------------------------------------------- */

/* The sum of the 32 parts of a row. */
static float total(const floats *parts) {
  f32x8 x[4];
  memcpy(x, parts, sizeof x);
  const f32x8 sum = (x[0] + x[1]) + (x[2] + x[3]);
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) +
         ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* A contiguous row times v. */
#define DOT(s, CONVERT)                                                     \
  static float dot_##s(const char *a, const float *v, int64_t n) {          \
    floats x[SUMS] = {{0}}, y, z;                                           \
    float rest = 0;                                                         \
    int64_t i = 0;                                                          \
    while (i + 32 <= n && !st__stops_at(i))                                 \
      for (const int64_t to = st__period_end(i, n); i + 32 <= to; i += 32)  \
        for (int j = 0; j < SUMS; j++) {                                    \
          load_##s(&y, a + 2 * (i + LANES * j));                            \
          load_f32(&z, (const char *)(v + i + LANES * j));                  \
          x[j] += y * z; }                                                  \
    for (; i < n; i++)                                                      \
      rest += CONVERT(((const uint16_t *)a)[i]) * v[i];                     \
    return total(x) + rest; }

/* rows rows times v, at most PART. */
#define COLUMNS(s)                                                          \
  static void columns_##s(float *restrict acc, const char *a,               \
                          const int64_t *st, const float *v, int64_t n,     \
                          int64_t rows) {                                   \
    float x[PART];                                                          \
    for (int64_t i = 0; i < rows; i++) acc[i] = 0;                          \
    for (int64_t i = 0; i < n; i++, a += st[1]) {                           \
      if (i % PERIOD == PERIOD - 1 && st__stops()) return;                  \
      st_load_##s(x, a, st[4], rows);                                       \
      for (int64_t j = 0; j < rows; j++) acc[j] += x[j] * v[i]; } }

/* -- Products ------------------------------------------------------------- */

static void store(char *c, float sum, const st_half_mv *w) {
  float *out = (float *)c;
  if (w->alpha != 1) sum *= w->alpha;
  *out = w->beta == 0 ? sum : sum + w->beta * *out;
}

#define PRODUCT(s, CONVERT)                                                 \
  DOT(s, CONVERT)                                                           \
  COLUMNS(s)                                                                \
  static ST_LOOP_FN(half_mv_##s, st) {                                      \
    const bool is_row = st[1] == 2;                                         \
    const char *a = data[1];                                                \
    const float *v = (const float *)data[2];                                \
    float acc[PART];                                                        \
    for (int64_t i = 0, n; i < n1 && (i == 0 || !st__stops()); i += n) {    \
      n = n1 - i < PART ? n1 - i : PART;                                    \
      if (!is_row) columns_##s(acc, a + i * st[4], st, v, n0, n);           \
      for (int64_t j = 0; j < n; j++) {                                     \
        if (is_row) acc[j] = dot_##s(a + (i + j) * st[4], v, n0);           \
        store(data[0] + (i + j) * st[3], acc[j], ctx); } } }

PRODUCT(f16, st__half_to_float)
PRODUCT(bf16, st__bf16_to_float)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {"half_mv", {ST_BY_TYPE(HALF, half_mv)}}};

ST_EXPORT(st__half_mv, rows)
