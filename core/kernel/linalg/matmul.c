/* Matrix product kernel, for integers and for matrices so small or sums so
 * short that packing does not pay (core/op/linalg/gemm.c).
 *
 * PART elements of a row of c are kept in accumulators. The rows of b, each
 * times an element of a, are added to them, so that the innermost loop runs
 * along contiguous rows of b. Where b and c have contiguous rows of elements
 * of 4 or 8 bytes, the accumulators are registers: tiles of four or eight rows
 * and up to WIDE bytes of columns. Either way an element of c is the sum of its
 * products from the first to the last.
 */

#include "kernel/linalg/matmul.h"

#include <stdlib.h>

#include "base/threads.h"
#include "kernel/inline.h"
#include "kernel/dtype_tables.h"
#include "kernel/isa.h"

#include "kernel/complex.h" /* after it: defines a macro called complex */

typedef float _Complex c64;
typedef double _Complex c128;

enum {
  PART = 128, PERIOD = ST_PERIOD / PART,
  COPIED = 4096, /* elements of b that are copied if they are not contiguous */
  DEEP = 1 << 14, /* products in a sum: a tile does not ask whether to stop */
  FAR = 1 << 18, /* bytes between the ends of a column: its pages are at hand */
  BLOCK = 6144, /* elements of b that stay in the cache */
  LEAST = 64, /* columns of a block, at least */
  FEW = 4, TALL = 8, /* rows of a tile */
  ROW_PERIOD = 16 * ST_PERIOD /* products of a row between two questions */
};
enum { WIDE = ST_BY_WIDTH(32, 32, 64) }; /* bytes of a vector, or two */

/* -- Scalars -------------------------------------------------------------- */

#define MUL(a, b) ((a) * (b))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

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

/* The columns of a block of b with k rows: few enough for the first level of
 * the cache, a multiple of a tile's. */
static int64_t block_of(int64_t k) {
  const int64_t n = BLOCK / (k + 1) / LEAST * LEAST;
  return n > LEAST ? n : LEAST;
}

/* True if a column of k rows, at most DEEP, reaches over too many pages. */
static inline bool is_far(int64_t step, int64_t k) {
  return llabs(step) > FAR || k * llabs(step) > FAR;
}

/* Subtracts what the rows of a tile take; now and then asks whether to stop. */
static inline bool goes_on(int64_t *left, int64_t n) {
  *left -= n;
  if (*left >= 0) return true;
  *left = ROW_PERIOD;
  return !st__stops();
}

static inline bool can_tile(const int64_t *st, int64_t n0, int64_t k,
                            int64_t size) {
  if (n0 > 1 && (st[0] != size || st[2] != size)) return false;
  return k <= DEEP && (n0 <= 1 || !is_far(st[5], k));
}

static inline int64_t rows_at_once(int64_t left, bool is_unscaled) {
  if (is_unscaled && left >= TALL) return TALL;
  return left < FEW ? left : FEW;
}

/* c = alpha x + beta c for L elements. */
#define STORE_TILE(s, T, L)                                                 \
  static inline void store_##s##_##L(char *c, v_##s##_##L x, T alpha,       \
                                     T beta, bool is_unscaled) {            \
    v_##s##_##L *out = (v_##s##_##L *)c;                                    \
    if (!is_unscaled && alpha != 1) x *= alpha;                             \
    if (!is_unscaled && beta != 0) x += beta * *out;                        \
    *out = x; }

#define TILE_TYPE(s, T, L)                                                  \
  typedef T v_##s##_##L __attribute__((vector_size(L * sizeof(T)),          \
                                       aligned(sizeof(T)), may_alias));

/* `most` rows of L columns, of which the first `rows` are written; rows that
 * are missing repeat the first. */
#define TILE(s, T, L)                                                       \
  INLINE void tile_##s##_##L(char *c, const char *a, const char *b,         \
                             const int64_t *st, int64_t rows, int64_t k,    \
                             T alpha, T beta, bool is_unscaled, int most) { \
    v_##s##_##L x[TALL] = {{0}};                                            \
    const char *p[TALL];                                                    \
    UNROLL for (int r = 0; r < most; r++) p[r] = a + (r < rows) * r * st[4];\
    for (int64_t i = 0, at = 0; i < k; i++, at += st[1], b += st[5]) {      \
      const v_##s##_##L y = *(const v_##s##_##L *)b;                        \
      UNROLL for (int r = 0; r < most; r++)                                 \
        x[r] += *(const T *)(p[r] + at) * y; }                              \
    UNROLL for (int r = 0; r < most; r++)                                   \
      if (r < rows) store_##s##_##L(c + r * st[3], x[r], alpha, beta,       \
                                    is_unscaled); }

/* The next L columns of the rows, as often as they fit. The last ones
 * again with the rest, if c is only written. */
#define RUN_TILES(s, T, L)                                                  \
  while (n - at >= L && L * (int)sizeof(T) <= WIDE) {                       \
    tile_##s##_##L(c + at * (int)sizeof(T), a, b + at * (int)sizeof(T), st, \
                   rows, k, alpha, beta, is_unscaled, most);                \
    at += L;                                                                \
    if (is_unscaled && n - at > 0 && n - at < L) at = n - L; }

/* n columns of `rows` rows of c, which is only written. */
#define FULL_TILES(s, rows)                                                 \
  static void full_##s##_##rows(char *c, const char *a, const char *b,      \
                                const int64_t *st, int64_t n, int64_t k) {  \
    if (k == 1) tiles_##s(c, a, b, st, n, rows, 1, 1, 0, true, rows);       \
    else tiles_##s(c, a, b, st, n, rows, k, 1, 0, true, rows); }

#define EACH_LENGTH(M, s, T)                                                \
  M(s, T, 16) M(s, T, 8) M(s, T, 4) M(s, T, 2) M(s, T, 1)

#define TILES(s, T)                                                         \
  EACH_LENGTH(TILE_TYPE, s, T)                                              \
  EACH_LENGTH(STORE_TILE, s, T)                                             \
  EACH_LENGTH(TILE, s, T)                                                   \
  INLINE void tiles_##s(char *c, const char *a, const char *b,              \
                        const int64_t *st, int64_t n, int64_t rows,         \
                        int64_t k, T alpha, T beta, bool is_unscaled,       \
                        int most) {                                         \
    int64_t at = 0;                                                         \
    EACH_LENGTH(RUN_TILES, s, T) }                                          \
  FULL_TILES(s, FEW)                                                        \
  FULL_TILES(s, TALL)

/* m rows, at most TALL; c is only written, unless it is scaled. */
#define TILE_ROWS(s, T)                                                     \
  INLINE void some_##s(char *c, const char *a, const char *b,               \
                       const int64_t *st, int64_t n, int64_t m, int64_t k,  \
                       T alpha, T beta) {                                   \
    const bool is_unscaled = alpha == 1 && beta == 0;                       \
    if (m == TALL) full_##s##_TALL(c, a, b, st, n, k);                      \
    else if (is_unscaled && m == FEW) full_##s##_FEW(c, a, b, st, n, k);    \
    else tiles_##s(c, a, b, st, n, m, k, alpha, beta, false, FEW); }

/* A whole product, in blocks of columns whose part of b stays in a cache;
 * false if its rows are not contiguous or the kernel for rows is better. */
#define TILED(s, T)                                                         \
  static bool tiled_##s(char *const *data, const int64_t *st, int64_t n0,   \
                        int64_t n1, int64_t k, T alpha, T beta) {           \
    const int64_t size = (int64_t)sizeof(T);                                \
    int64_t left = ROW_PERIOD;                                              \
    if (!can_tile(st, n0, k, size)) return false;                           \
    const int64_t most = n0 <= LEAST ? n0 : block_of(k);                    \
    for (int64_t p = 0, n; p < n0; p += n) {                                \
      n = n0 - p < most ? n0 - p : most;                                    \
      for (int64_t i = 0, m; i < n1; i += m) {                              \
        m = rows_at_once(n1 - i, alpha == 1 && beta == 0);                  \
        if (!goes_on(&left, (k + 1) * n)) return true;                      \
        some_##s(data[0] + i * st[3] + p * size, data[1] + i * st[4],       \
                 data[2] + p * size, st, n, m, k, alpha, beta); } }         \
    return true; }

/* The same for a small b without contiguous rows, of which a copy has some. */
#define COPY_TILED(s, T)                                                    \
  static bool copy_tiled_##s(char *const *data, const int64_t *st,          \
                             int64_t n0, int64_t n1, int64_t k, T alpha,    \
                             T beta) {                                      \
    const int64_t size = (int64_t)sizeof(T);                                \
    T copy[COPIED];                                                         \
    if (st[0] != size || n1 < FEW || n0 > COPIED / (k + 1)) return false;   \
    for (int64_t i = 0; i < k; i++) {                                       \
      const char *b = data[2] + i * st[5];                                  \
      for (int64_t j = 0; j < n0; j++)                                      \
        copy[i * n0 + j] = *(const T *)(b + j * st[2]); }                   \
    return tiled_##s((char *[]){data[0], data[1], (char *)copy},            \
                     (int64_t[]){size, st[1], size, st[3], st[4],           \
                                 n0 * size}, n0, n1, k, alpha, beta); }

#define ANY_TILED(s, T)                                                     \
  static inline bool any_tiled_##s(char *const *data, const int64_t *st,    \
                                   int64_t n0, int64_t n1, int64_t k,       \
                                   T alpha, T beta) {                       \
    return tiled_##s(data, st, n0, n1, k, alpha, beta) ||                   \
           copy_tiled_##s(data, st, n0, n1, k, alpha, beta); }

#define ALL_TILED(s, T)                                                     \
  TILES(s, T) TILE_ROWS(s, T) TILED(s, T) COPY_TILED(s, T) ANY_TILED(s, T)
ALL_TILED(f32, float)
ALL_TILED(f64, double)
ALL_TILED(i32, uint32_t)
ALL_TILED(i64, uint64_t)
#define NOT_TILED(data, st, n0, n1, k, alpha, beta) false

/* -- Products ------------------------------------------------------------- */

/* One product, of any strides. */
#define BY_ROWS(s, T, A, MULT)                                              \
  static void by_rows_##s(char *const *data, const int64_t *st, int64_t n0, \
                          int64_t n1, int64_t k, A alpha, A beta) {         \
    A acc[PART];                                                            \
    int64_t left = ST_PERIOD;                                               \
    for (int64_t p = 0, n; p < n0; p += n) {                                \
      n = n0 - p < PART ? n0 - p : PART;                                    \
      for (int64_t i = 0; i < n1; i++) {                                    \
        char *c = data[0] + i * st[3] + p * st[0];                          \
        row_##s(acc, data[1] + i * st[4], data[2] + p * st[2], st, n, k);   \
        if (st__stops_after(&left, 8 * (k + 1))) return;                    \
        for (int64_t j = 0; j < n; j++, c += st[0]) {                       \
          const A sum = alpha == 1 ? acc[j] : MULT(alpha, acc[j]);          \
          T *out = (T *)c;                                                  \
          *out = (T)(beta == 0 ? sum : sum + MULT(beta, (A)*out)); } } } }

#define PRODUCT(s, T, A, MULT, SCALAR, TILED)                               \
  ROW_TIMES(s, T, A, MULT)                                                  \
  BY_ROWS(s, T, A, MULT)                                                    \
  static ST_LOOP_FN(matmul_##s, st) {                                       \
    const st_matmul *w = ctx;                                               \
    const A alpha = (A)SCALAR(w->alpha), beta = (A)SCALAR(w->beta);         \
    for (int64_t i = 0; i < w->batch; i++) {                                \
      if (!TILED(data, st, n0, n1, w->k, alpha, beta))                      \
        by_rows_##s(data, st, n0, n1, w->k, alpha, beta);                   \
      for (int d = 0; d < 3; d++) data[d] += w->next[d]; } }

PRODUCT(u8, uint8_t, uint32_t, MUL, scalar_int, NOT_TILED)
PRODUCT(i8, int8_t, uint32_t, MUL, scalar_int, NOT_TILED)
PRODUCT(i16, int16_t, uint32_t, MUL, scalar_int, NOT_TILED)
PRODUCT(i32, int32_t, uint32_t, MUL, scalar_int, any_tiled_i32)
PRODUCT(i64, int64_t, uint64_t, MUL, scalar_int, any_tiled_i64)
PRODUCT(f32, float, float, MUL, scalar_real, any_tiled_f32)
PRODUCT(f64, double, double, MUL, scalar_real, any_tiled_f64)
PRODUCT(c64, c64, c64, st_cmulf, scalar_complex, NOT_TILED)
PRODUCT(c128, c128, c128, st_cmul, scalar_complex, NOT_TILED)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {"matmul", {
    ST_BY_TYPE(WRAP_INT, matmul) ST_BY_TYPE(WIDE, matmul)
    ST_BY_TYPE(COMPLEX, matmul)}}};

ST_EXPORT(st__matmul, rows)
