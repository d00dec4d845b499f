/* Matrix product kernel, for dtypes without BLAS and for matrices so small that
 * the call of BLAS costs more than the product.
 *
 * PART elements of a row of c are kept in accumulators. The rows of b, each
 * times an element of a, are added to them, so that the innermost loop runs
 * along contiguous rows of b.
 */

#include "kernel/linalg/matmul.h"

#include "base/threads.h"
#include "kernel/kernel.h"

#include "kernel/math/complex.h" /* after it: defines a macro called complex */

typedef float _Complex c64;
typedef double _Complex c128;

enum { PART = 128, PERIOD = ST_PERIOD / PART };

/* -- Scalars -------------------------------------------------------------- */

#define MUL(a, b) ((a) * (b))

static inline uint64_t scalar_int(st_scalar s) {
  return (uint64_t)st__scalar_to_int(s);
}
static inline double scalar_real(st_scalar s) {
  return st__scalar_to_double(s);
}
static inline c128 scalar_complex(st_scalar s) {
  double c[2];
  st__scalar_to_complex(s, c);
  return CMPLX(c[0], c[1]);
}

/* -- Products ------------------------------------------------------------- */

/* acc[0 .. n) = row of a times columns of b. A is the type to compute in. */
#define ROW_TIMES(s, T, A, MULT)                                            \
  static void row_##s(A *restrict acc, const char *a, const char *b,        \
                      const int64_t *st, int64_t n, int64_t k) {            \
    for (int64_t j = 0; j < n; j++) acc[j] = 0;                             \
    for (int64_t i = 0; i < k; i++, a += st[1], b += st[5]) {               \
      if (i % PERIOD == PERIOD - 1 && st__stops()) return;                  \
      const A x = (A)*(const T *)a;                                         \
      if (st[2] == sizeof(T)) {                                             \
        const T *y = (const T *)b;                                          \
        for (int64_t j = 0; j < n; j++) acc[j] += MULT(x, (A)y[j]);         \
      } else {                                                              \
        for (int64_t j = 0; j < n; j++)                                     \
          acc[j] += MULT(x, (A)*(const T *)(b + j * st[2])); } } }

#define PRODUCT(s, T, A, MULT, SCALAR)                                      \
  ROW_TIMES(s, T, A, MULT)                                                  \
  static void matmul_##s(char **data, const int64_t *st, int64_t n0,        \
                         int64_t n1, const void *ctx) {                     \
    const st_matmul *w = ctx;                                               \
    A acc[PART], alpha = (A)SCALAR(w->alpha), beta = (A)SCALAR(w->beta);    \
    int64_t left = 16 * PERIOD;                                             \
    for (int64_t p = 0, n; p < n0; p += n) {                                \
      n = n0 - p < PART ? n0 - p : PART;                                    \
      for (int64_t i = 0; i < n1; i++) {                                    \
        char *c = data[0] + i * st[3] + p * st[0];                          \
        row_##s(acc, data[1] + i * st[4], data[2] + p * st[2], st, n, w->k); \
        left -= w->k + 1;                                                   \
        if (left < 0 && st__stops()) return;                                \
        if (left < 0) left = 16 * PERIOD;                                   \
        for (int64_t j = 0; j < n; j++, c += st[0]) {                       \
          const A sum = alpha == 1 ? acc[j] : MULT(alpha, acc[j]);          \
          T *out = (T *)c;                                                  \
          *out = (T)(beta == 0 ? sum : sum + MULT(beta, (A)*out)); } } } }

PRODUCT(u8, uint8_t, uint32_t, MUL, scalar_int)
PRODUCT(i8, int8_t, uint32_t, MUL, scalar_int)
PRODUCT(i16, int16_t, uint32_t, MUL, scalar_int)
PRODUCT(i32, int32_t, uint32_t, MUL, scalar_int)
PRODUCT(i64, int64_t, uint64_t, MUL, scalar_int)
PRODUCT(f32, float, float, MUL, scalar_real)
PRODUCT(f64, double, double, MUL, scalar_real)
PRODUCT(c64, c64, c64, st_cmulf, scalar_complex)
PRODUCT(c128, c128, c128, st_cmul, scalar_complex)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {ST_K_matmul, {
    [ST_UINT8] = matmul_u8, [ST_INT8] = matmul_i8, [ST_INT16] = matmul_i16,
    [ST_INT32] = matmul_i32, [ST_INT64] = matmul_i64,
    [ST_FLOAT32] = matmul_f32, [ST_FLOAT64] = matmul_f64,
    [ST_COMPLEX64] = matmul_c64, [ST_COMPLEX128] = matmul_c128}}};

ST_EXPORT(st__matmul, rows)
