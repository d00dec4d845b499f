/* Matrix product kernel, for dtypes without BLAS and for matrices so small that
 * the call of BLAS costs more than the product.
 *
 * PART elements of a row of c are kept in accumulators. The rows of b, each
 * times an element of a, are added to them, so that the innermost loop runs
 * along contiguous rows of b. Where b and c have contiguous rows of floats, the
 * accumulators are registers: tiles of four rows and up to WIDE columns. Either
 * way an element of c is the sum of its products from the first to the last.
 */

#include "kernel/linalg/matmul.h"

#include "base/threads.h"
#include "kernel/kernel.h"

#include "kernel/math/complex.h" /* after it: defines a macro called complex */

typedef float _Complex c64;
typedef double _Complex c128;

enum { PART = 128, PERIOD = ST_PERIOD / PART, FEW = 64 };
#ifdef __AVX512F__
enum { WIDE = 64 }; /* bytes of a vector */
#else
enum { WIDE = 32 };
#endif

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

/* -- Rows ----------------------------------------------------------------- */

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

/* -- Tiles ---------------------------------------------------------------- */

/* c = alpha x + beta c for L elements. */
#define STORE_TILE(s, T, L)                                                 \
  static inline void store_##s##_##L(char *c, const v_##s##_##L *sum,       \
                                     T alpha, T beta) {                     \
    v_##s##_##L *out = (v_##s##_##L *)c, x = *sum;                          \
    if (alpha != 1) x *= alpha;                                             \
    if (beta != 0) x += beta * *out;                                        \
    *out = x; }

/* Up to four rows of L columns; rows that are missing repeat the first. */
#define TILE(s, T, L)                                                       \
  typedef T v_##s##_##L __attribute__((vector_size(L * sizeof(T)),          \
                                       aligned(sizeof(T)), may_alias));     \
  STORE_TILE(s, T, L)                                                       \
  static void tile_##s##_##L(char *c, const char *a, const char *b,         \
                             const int64_t *st, int64_t rows, int64_t k,    \
                             T alpha, T beta) {                             \
    const char *a1 = rows > 1 ? a + st[4] : a;                              \
    const char *a2 = rows > 2 ? a + 2 * st[4] : a;                          \
    const char *a3 = rows > 3 ? a + 3 * st[4] : a;                          \
    v_##s##_##L x = {0}, x1 = {0}, x2 = {0}, x3 = {0};                      \
    for (int64_t i = 0, at = 0; i < k; i++, at += st[1], b += st[5]) {      \
      const v_##s##_##L y = *(const v_##s##_##L *)b;                        \
      x += *(const T *)(a + at) * y;                                        \
      x1 += *(const T *)(a1 + at) * y;                                      \
      x2 += *(const T *)(a2 + at) * y;                                      \
      x3 += *(const T *)(a3 + at) * y; }                                    \
    store_##s##_##L(c, &x, alpha, beta);                                    \
    if (rows > 1) store_##s##_##L(c + st[3], &x1, alpha, beta);             \
    if (rows > 2) store_##s##_##L(c + 2 * st[3], &x2, alpha, beta);         \
    if (rows > 3) store_##s##_##L(c + 3 * st[3], &x3, alpha, beta); }

/* All rows of L columns. */
#define TILES(s, T, L)                                                      \
  TILE(s, T, L)                                                             \
  static void tiles_##s##_##L(char **data, const int64_t *st, int64_t at,   \
                              int64_t rows, int64_t k, T alpha, T beta) {   \
    for (int64_t i = 0; i < rows; i += 4)                                   \
      tile_##s##_##L(data[0] + i * st[3] + at * (int64_t)sizeof(T),         \
                     data[1] + i * st[4],                                   \
                     data[2] + at * (int64_t)sizeof(T), st, rows - i, k,    \
                     alpha, beta); }

#define RUN_TILES(s, T, L)                                                  \
  for (; n0 - at >= L && L * (int)sizeof(T) <= WIDE; at += L)               \
    tiles_##s##_##L(data, st, at, n1, k, alpha, beta);

/* A whole product; false if its rows are not contiguous. */
#define TILED(s, T)                                                         \
  TILES(s, T, 16)                                                           \
  TILES(s, T, 8)                                                            \
  TILES(s, T, 4)                                                            \
  TILES(s, T, 2)                                                            \
  TILES(s, T, 1)                                                            \
  static bool tiled_##s(char **data, const int64_t *st, int64_t n0,         \
                        int64_t n1, int64_t k, T alpha, T beta) {           \
    const bool is_row = st[0] == sizeof(T) && st[2] == sizeof(T);           \
    int64_t at = 0;                                                         \
    if (n0 > 1 && !is_row) return false;                                    \
    RUN_TILES(s, T, 16)                                                     \
    RUN_TILES(s, T, 8)                                                      \
    RUN_TILES(s, T, 4)                                                      \
    RUN_TILES(s, T, 2)                                                      \
    RUN_TILES(s, T, 1)                                                      \
    return true; }

TILED(f32, float)
TILED(f64, double)
#define NOT_TILED(data, st, n0, n1, k, alpha, beta) false

/* -- Products ------------------------------------------------------------- */

#define PRODUCT(s, T, A, MULT, SCALAR, SMALL)                               \
  ROW_TIMES(s, T, A, MULT)                                                  \
  static void matmul_##s(char **data, const int64_t *st, int64_t n0,        \
                         int64_t n1, const void *ctx) {                     \
    const st_matmul *w = ctx;                                               \
    A acc[PART], alpha = (A)SCALAR(w->alpha), beta = (A)SCALAR(w->beta);    \
    int64_t left = 16 * PERIOD;                                             \
    if (n0 < FEW && n1 < FEW && w->k < FEW &&                               \
        SMALL(data, st, n0, n1, w->k, alpha, beta)) return;                 \
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

PRODUCT(u8, uint8_t, uint32_t, MUL, scalar_int, NOT_TILED)
PRODUCT(i8, int8_t, uint32_t, MUL, scalar_int, NOT_TILED)
PRODUCT(i16, int16_t, uint32_t, MUL, scalar_int, NOT_TILED)
PRODUCT(i32, int32_t, uint32_t, MUL, scalar_int, NOT_TILED)
PRODUCT(i64, int64_t, uint64_t, MUL, scalar_int, NOT_TILED)
PRODUCT(f32, float, float, MUL, scalar_real, tiled_f32)
PRODUCT(f64, double, double, MUL, scalar_real, tiled_f64)
PRODUCT(c64, c64, c64, st_cmulf, scalar_complex, NOT_TILED)
PRODUCT(c128, c128, c128, st_cmul, scalar_complex, NOT_TILED)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {ST_K_matmul, {
    [ST_UINT8] = matmul_u8, [ST_INT8] = matmul_i8, [ST_INT16] = matmul_i16,
    [ST_INT32] = matmul_i32, [ST_INT64] = matmul_i64,
    [ST_FLOAT32] = matmul_f32, [ST_FLOAT64] = matmul_f64,
    [ST_COMPLEX64] = matmul_c64, [ST_COMPLEX128] = matmul_c128}}};

ST_EXPORT(st__matmul, rows)
