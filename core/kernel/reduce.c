/* Folds: loops that reduce elements to one value per output.
 *
 * Operands of a fold: the results, the input, the references. Each of n1
 * outputs, s[4] bytes apart in the input and s[5] in the references, is the
 * fold of n0 elements, which ctx, a st_reduce_run, finds. Results are
 * contiguous and overwritten. Kernels without a use for a reference never
 * look at it. Note [Pairwise reduction tree] says what is added to what.
 */

#include "kernel/fold.h"

#include "kernel/complex.h" /* after it: defines a macro called complex */
#include "kernel/exp.h"

#define INLINE static inline __attribute__((always_inline))

typedef float _Complex c64;
typedef double _Complex c128;

/* -- Bodies --------------------------------------------------------------- */

/* W: four vectors of 64 bytes, which hide the latency of an addition. */
#define LANES(A) (sizeof(A) < 4 ? MAX_LANES : 256 / sizeof(A))

#define AT(T, p, offset) (*(const T *)((p) + (offset)))

/* x: element loaded by L, mapped by E, folded by OP into W lanes. */
#define FOLD_ROW(name, T, A, R, L, E, OP)                                   \
  static void name##_row(const span *p) {                                   \
    enum { W = LANES(A) };                                                  \
    const T *x = (const T *)p->in;                                          \
    const R r = AT(R, p->ref, 0);                                           \
    A v[W];                                                                 \
    int64_t i = 0, n = p->n0, m = n < W ? n : W;                            \
    for (; i < m; i++) v[i] = E(L(x[i]), r);                                \
    for (; i + W <= n; i += W) {                                            \
      __builtin_prefetch((const char *)(x + i) + PREFETCH_BYTES);           \
      for (int l = 0; l < W; l++) v[l] = OP(v[l], E(L(x[i + l]), r)); }     \
    for (int64_t l = 0; i + l < n; l++) v[l] = OP(v[l], E(L(x[i + l]), r)); \
    if (m < W) for (int w = W / 2; w; w /= 2)                               \
      for (int l = 0; l < w && l + w < m; l++) v[l] = OP(v[l], v[l + w]);   \
    else for (int w = W / 2; w; w /= 2)                                     \
      for (int l = 0; l < w; l++) v[l] = OP(v[l], v[l + w]);                \
    *(A *)p->acc = v[0]; (void)r; }

/* A row, one more, and four at a time, so that accumulators are touched a
 * fourth as often; or to begin with. */
#define FOLD_FIRST(name, T, A, R, L, E, OP)                                 \
  static void name##_first(const span *p) {                                 \
    A *restrict a = (A *)p->acc;                                            \
    const R *r = (const R *)p->ref;                                         \
    const T *x = (const T *)p->x[0];                                        \
    for (int64_t j = 0, n = p->n1; j < n; j++) a[j] = E(L(x[j]), r[j]);     \
    (void)r; }

#define FOLD_NEXT(name, T, A, R, L, E, OP)                                  \
  static void name##_next(const span *p) {                                  \
    A *restrict a = (A *)p->acc;                                            \
    const R *r = (const R *)p->ref;                                         \
    const T *x = (const T *)p->x[0];                                        \
    for (int64_t j = 0, n = p->n1; j < n; j++)                              \
      a[j] = OP(a[j], E(L(x[j]), r[j]));                                    \
    (void)r; }

#define FOLD_FOUR(name, T, A, R, L, E, OP)                                  \
  static void name##_four(const span *p) {                                  \
    A *restrict a = (A *)p->acc;                                            \
    const R *r = (const R *)p->ref;                                         \
    const T *x = (const T *)p->x[0], *y = (const T *)p->x[1],               \
            *z = (const T *)p->x[2], *u = (const T *)p->x[3];               \
    if (p->more) for (int64_t j = 0, n = p->n1; j < n; j++)                 \
      a[j] = OP(OP(OP(OP(a[j], E(L(x[j]), r[j])), E(L(y[j]), r[j])),        \
                   E(L(z[j]), r[j])), E(L(u[j]), r[j]));                    \
    else for (int64_t j = 0, n = p->n1; j < n; j++)                         \
      a[j] = OP(OP(OP(E(L(x[j]), r[j]), E(L(y[j]), r[j])),                  \
                   E(L(z[j]), r[j])), E(L(u[j]), r[j]));                    \
    (void)r; }

#define FOLD_JOIN(name, A, OP)                                              \
  static void name##_join(char *to, const char *with, int64_t n) {          \
    A *restrict a = (A *)to;                                                \
    const A *restrict b = (const A *)with;                                  \
    for (int64_t j = 0; j < n; j++) a[j] = OP(a[j], b[j]); }

/* The loop `loop` over elements that `load` makes those of `name`. */
#define FOLD_LOOP(loop, load, in_size, name, T, A, R, ...)                  \
  static void loop(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *ctx) {                                       \
    const reducer k = {load, name##_row, name##_first, name##_next,         \
                       name##_four, name##_join, in_size, sizeof(T),        \
                       sizeof(A), sizeof(R), LANES(A), .stops_early = false, \
                       __VA_ARGS__};                                        \
    run_reduction(&k, data, s, n0, n1, ctx); }

#define FOLD_IN(name, T, A, R, L, E, OP, ...)                               \
  FOLD_ROW(name, T, A, R, L, E, OP)                                         \
  FOLD_FIRST(name, T, A, R, L, E, OP)                                       \
  FOLD_NEXT(name, T, A, R, L, E, OP)                                        \
  FOLD_FOUR(name, T, A, R, L, E, OP)                                        \
  FOLD_JOIN(name, A, OP)                                                    \
  FOLD_LOOP(name, load_of(sizeof(T)), sizeof(T), name, T, A, R, __VA_ARGS__)

/* In the order of the tree; in any order. */
#define FOLD(name, T, A, R, L, E, OP) \
  FOLD_IN(name, T, A, R, L, E, OP, .any_order = false)
#define FREE(name, T, A, R, L, E, OP) \
  FOLD_IN(name, T, A, R, L, E, OP, .any_order = true)

/* -- Loads, maps and folds ------------------------------------------------ */

#define WIDE(x) ((uint64_t)(int64_t)(x)) /* wraps, as int64 sums do */
#define TRUTH_OF(x) ((uint8_t)((x) != 0)) /* any byte may be a bool */
#define F64(x) ((double)(x))
#define C128(x) ((c128)(x))
#define NONZERO_HALF(x) (((x) & 0x7fff) != 0)

#define ITSELF(x, r) (x)
#define UNLESS_NAN(x, r) ((x) != (x) ? 0 : (x))
#define NONZERO(x, r) ((x) != 0)
#define ABS(x, r) fabs(x)
#define SQUARE(x, r) ((x) * (x))
#define POWER(x, r) pow(fabs(x), r)
#define SQDEV(x, r) (((x) - (r)) * ((x) - (r)))
#define EXP_OF(x, r) st__exp((x) - (r))

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define OR(a, b) ((a) | (b))
#define AND(a, b) ((a) & (b))
#define MAX(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))
#define MIN(a, b) (((b) < (a)) | ((b) != (b)) ? (b) : (a))

INLINE double sqabs(c128 x) {
  return creal(x) * creal(x) + cimag(x) * cimag(x);
}
#define CABS(x, r) cabs(x)
#define CSQUARE(x, r) sqabs(x)
#define CPOWER(x, r) pow(cabs(x), r)
#define CSQDEV(x, r) sqabs((x) - (r))

/* -- Folds by dtype ------------------------------------------------------- */

#define INTS(X, name, ...)           \
  X(name, u8, uint8_t, __VA_ARGS__)  \
  X(name, i8, int8_t, __VA_ARGS__)   \
  X(name, i16, int16_t, __VA_ARGS__) \
  X(name, i32, int32_t, __VA_ARGS__) \
  X(name, i64, int64_t, __VA_ARGS__)

/* Halves are loaded as float32. */
#define HALVES(name, A, R, ...)                                             \
  FOLD_LOOP(name##_f16, load_half, 2, name##_f32, float, A, R, __VA_ARGS__) \
  FOLD_LOOP(name##_bf16, load_bf16, 2, name##_f32, float, A, R, __VA_ARGS__)

#define FLOATS(name, R, E, OP)                          \
  FOLD(name##_f32, float, double, R, F64, E, OP)        \
  FOLD(name##_f64, double, double, R, F64, E, OP)       \
  HALVES(name, double, R, .any_order = false)

#define INT_FOLD(name, s, T, OP) \
  FREE(name##_##s, T, uint64_t, char, WIDE, ITSELF, OP)

INTS(INT_FOLD, sum, ADD)
INTS(INT_FOLD, prod, MUL)
FREE(prod_b8, uint8_t, uint64_t, char, TRUTH_OF, ITSELF, MUL)

/* Sums of a few elements, as the tree has them. */
#define FEW(s, T)                                                           \
  static void few_##s(char *acc, const char *in, int64_t n0, int64_t n1) {  \
    double *restrict a = (double *)acc;                                     \
    const T *x = (const T *)in;                                             \
    if (n0 == 2) for (int64_t j = 0; j < n1; j++)                           \
      a[j] = F64(x[2 * j]) + F64(x[2 * j + 1]);                             \
    else if (n0 == 3) for (int64_t j = 0; j < n1; j++)                      \
      a[j] = F64(x[3 * j]) + F64(x[3 * j + 2]) + F64(x[3 * j + 1]);         \
    else for (int64_t j = 0; j < n1; j++)                                   \
      a[j] = (F64(x[4 * j]) + F64(x[4 * j + 2])) +                          \
             (F64(x[4 * j + 1]) + F64(x[4 * j + 3])); }

#define SUM(s, T) \
  FEW(s, T)       \
  FOLD_IN(sum_##s, T, double, char, F64, ITSELF, ADD, .few = few_##s)

SUM(f32, float)
SUM(f64, double)
HALVES(sum, double, char, .any_order = false)
FLOATS(nansum, char, UNLESS_NAN, ADD)
FLOATS(prod, char, ITSELF, MUL)
FLOATS(norm1, char, ABS, ADD)
FLOATS(norm2, char, SQUARE, ADD)
FLOATS(norm_inf, char, ABS, MAX)
FLOATS(norm_neginf, char, ABS, MIN)
FLOATS(normp, double, POWER, ADD)
FLOATS(sqdev, double, SQDEV, ADD)
FLOATS(sumexp, double, EXP_OF, ADD)

#define COMPLEX_FOLDS(s, T)                                       \
  FOLD(sum_##s, T, c128, char, C128, ITSELF, ADD)                 \
  FOLD(norm1_##s, T, double, char, C128, CABS, ADD)               \
  FOLD(norm2_##s, T, double, char, C128, CSQUARE, ADD)            \
  FOLD(normp_##s, T, double, double, C128, CPOWER, ADD)           \
  FOLD(norm_inf_##s, T, double, char, C128, CABS, MAX)            \
  FOLD(norm_neginf_##s, T, double, char, C128, CABS, MIN)         \
  FOLD(sqdev_##s, T, double, c128, C128, CSQDEV, ADD)

/* complex64 is rounded, and overflows, at every step, as in ATen. */
FOLD(prod_c64, c64, c64, char, SAME, ITSELF, st_cmulf)
FOLD(prod_c128, c128, c128, char, SAME, ITSELF, st_cmul)

COMPLEX_FOLDS(c64, c64)
COMPLEX_FOLDS(c128, c128)

#define EXTREMUM_INT(name, s, T, OP) \
  FREE(name##_##s, T, T, char, SAME, ITSELF, OP)

INTS(EXTREMUM_INT, amax, MAX)
INTS(EXTREMUM_INT, amin, MIN)

/* Equal values have the same bits, but for these. */
#define UNSURE(s, T)                                                        \
  static bool unsure_##s(const char *acc, int64_t n) {                      \
    const T *a = (const T *)acc;                                            \
    int may_differ = 0;                                                     \
    for (int64_t j = 0; j < n; j++) {                                       \
      may_differ |= (a[j] == 0) | (a[j] != a[j]);                           \
    }                                                                       \
    return may_differ; }

UNSURE(f32, float)
UNSURE(f64, double)

#define EXTREMUM(name, s, T, OP)                                            \
  FOLD_IN(name##_##s, T, T, char, SAME, ITSELF, OP, .may_differ = unsure_##s)

#define EXTREMUM_FLOAT(name, OP)                                            \
  EXTREMUM(name, f32, float, OP)                                            \
  EXTREMUM(name, f64, double, OP)                                           \
  HALVES(name, float, char, .may_differ = unsure_f32)

EXTREMUM_FLOAT(amax, MAX)
EXTREMUM_FLOAT(amin, MIN)

/* One per width suffices: int8, uint8 and bool share u8, halves share h. */
#define LOGICAL(s, T, L)                               \
  FREE(any_##s, T, uint8_t, char, L, NONZERO, OR)      \
  FREE(all_##s, T, uint8_t, char, L, NONZERO, AND)     \
  FREE(count_##s, T, uint64_t, char, L, NONZERO, ADD)

LOGICAL(u8, uint8_t, SAME)
LOGICAL(i16, int16_t, SAME)
LOGICAL(i32, int32_t, SAME)
LOGICAL(i64, int64_t, SAME)
LOGICAL(h, uint16_t, NONZERO_HALF)
LOGICAL(f32, float, SAME)
LOGICAL(f64, double, SAME)
LOGICAL(c64, c64, SAME)
LOGICAL(c128, c128, SAME)

/* -- Positions ------------------------------------------------------------ */

/* The first position of the reference (NaN is NaN), or ST_NO_INDEX. A row is
 * searched in blocks, which vectorises. */
#define SAME_AS(x, r) (((x) == (r)) | (((x) != (x)) & ((r) != (r))))

#define FIND_ROW(name, T, A, L)                                             \
  static void name##_row(const span *p) {                                   \
    const T *x = (const T *)p->in;                                          \
    const A r = AT(A, p->ref, 0);                                           \
    int64_t i = 0, n = p->n0;                                               \
    for (int hit = 0; i + 64 <= n; i += 64) {                               \
      for (int l = 0; l < 64; l++) hit |= SAME_AS(L(x[i + l]), r);          \
      if (hit) break; }                                                     \
    while (i < n && !SAME_AS(L(x[i]), r)) i++;                              \
    *(int64_t *)p->acc = i < n ? p->start + i : ST_NO_INDEX; }

/* Rows without a hit are passed over at the speed of comparing. */
#define FIND_NEXT(name, T, A, L)                                            \
  static void name##_next(const span *p) {                                  \
    int64_t *restrict a = (int64_t *)p->acc;                                \
    const A *r = (const A *)p->ref;                                         \
    const T *x = (const T *)p->x[0];                                        \
    const int64_t n = p->n1;                                                \
    int hit = 0;                                                            \
    for (int64_t j = 0; j < n; j++) hit |= SAME_AS(L(x[j]), r[j]);          \
    for (int64_t j = 0; hit && j < n; j++)                                  \
      if (SAME_AS(L(x[j]), r[j]) && a[j] == ST_NO_INDEX) a[j] = p->start; }  \
  static void name##_first(const span *p) {                                 \
    for (int64_t j = 0; j < p->n1; j++)                                     \
      ((int64_t *)p->acc)[j] = ST_NO_INDEX;                                 \
    name##_next(p); }

static void combine_first(char *to, const char *with, int64_t n) {
  int64_t *restrict a = (int64_t *)to;
  const int64_t *restrict b = (const int64_t *)with;
  for (int64_t j = 0; j < n; j++) a[j] = b[j] < a[j] ? b[j] : a[j];
}

#define FIND_LOOP(loop, load, in_size, name, T, A)                          \
  static void loop(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *ctx) {                                       \
    const reducer k = {load, name##_row, name##_first, name##_next, NULL,   \
                       combine_first, in_size, sizeof(T), 8, sizeof(A), 1,  \
                       .stops_early = true, .any_order = true};             \
    run_reduction(&k, data, s, n0, n1, ctx); }

#define FIND(s, T, A, L)                                                    \
  FIND_ROW(find_##s, T, A, L)                                               \
  FIND_NEXT(find_##s, T, A, L)                                              \
  FIND_LOOP(find_##s, load_of(sizeof(T)), sizeof(T), find_##s, T, A)

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

#define INT_LOOPS(name, b)                                                  \
  [ST_UINT8] = name##_u8, [ST_INT8] = name##_i8, [ST_INT16] = name##_i16,   \
  [ST_INT32] = name##_i32, [ST_INT64] = name##_i64, [ST_BOOL] = b
#define FLOAT_LOOPS(name)                                                   \
  [ST_FLOAT16] = name##_f16, [ST_BFLOAT16] = name##_bf16,                   \
  [ST_FLOAT32] = name##_f32, [ST_FLOAT64] = name##_f64
#define COMPLEX_LOOPS(name)                                                 \
  [ST_COMPLEX64] = name##_c64, [ST_COMPLEX128] = name##_c128

/* b: the loop for bool. */
#define NUMBER(name, b)                                                     \
  {ST_K_##name, {                                                           \
    INT_LOOPS(name, b), FLOAT_LOOPS(name), COMPLEX_LOOPS(name)}}
#define ORDERED(name, b) {ST_K_##name, {INT_LOOPS(name, b), FLOAT_LOOPS(name)}}
#define INEXACT(name) {ST_K_##name, {FLOAT_LOOPS(name), COMPLEX_LOOPS(name)}}
#define FLOATING(name) {ST_K_##name, {FLOAT_LOOPS(name)}}
#define TRUTH(name)                                                         \
  {ST_K_##name, {                                                           \
    [ST_UINT8] = name##_u8, [ST_INT8] = name##_u8, [ST_BOOL] = name##_u8,   \
    [ST_INT16] = name##_i16, [ST_INT32] = name##_i32,                       \
    [ST_INT64] = name##_i64, [ST_FLOAT16] = name##_h,                       \
    [ST_BFLOAT16] = name##_h, [ST_FLOAT32] = name##_f32,                    \
    [ST_FLOAT64] = name##_f64, COMPLEX_LOOPS(name)}}

static const st_kernel_row rows[] = {
  NUMBER(sum, count_u8), NUMBER(prod, prod_b8), FLOATING(nansum),
  ORDERED(amax, any_u8), ORDERED(amin, all_u8), ORDERED(find, find_b8),
  TRUTH(any), TRUTH(all), TRUTH(count), INEXACT(norm1), INEXACT(norm2),
  INEXACT(normp), INEXACT(norm_inf), INEXACT(norm_neginf), INEXACT(sqdev),
  FLOATING(sumexp)};

extern const st_kernel_table ST_ISA_NAME(st__reduce);
const st_kernel_table ST_ISA_NAME(st__reduce) = {
  rows, sizeof rows / sizeof *rows};
