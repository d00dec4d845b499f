/* Folds: loops that reduce elements into accumulators.
 *
 * Operands of a fold: the accumulators, the input, the references. The inner
 * dimension is the reduced one (the accumulator's stride is 0), the outer one
 * walks over accumulators, or over more of the input when its accumulator
 * stride is 0 too. Accumulators are contiguous. Kernels without a use for a
 * reference never look at it.
 *
 * Note [Folds are reproducible]
 * A row is folded in a fixed number of lanes which are combined as a tree, a
 * column in order. Which of the two is chosen, and the number of lanes,
 * depends on shape and strides only, and the compiler may not reassociate; so
 * every instruction set gives the same bits. Sums of floats are accumulated
 * in float64.
 */

#include "kernel/kernel.h"

#include "kernel/complex.h" /* after it: defines a macro called complex */
#include "kernel/exp.h"

#define INLINE static inline __attribute__((always_inline))

typedef float _Complex c64;
typedef double _Complex c128;

/* -- Pieces --------------------------------------------------------------- */

/* What the body of a fold works on. A row: n0 contiguous elements into one
 * accumulator. Columns: n0 rows of n1 contiguous elements, `row` bytes apart,
 * into n1 accumulators. */
typedef struct piece {
  char *acc;
  const char *in, *ref;
  int64_t n0, n1, row, ref_step;
  int64_t start; /* position of the first element */
} piece;

typedef struct fold {
  void (*row)(const piece *p);
  void (*cols)(const piece *p);
  int64_t size, acc_size;
} fold;

enum { PIECE_BYTES = 16384, SHORT_ROW = 32 };

/* n elements, step bytes apart, side by side. The constant steps let the
 * compiler deinterleave in registers. */
#define GATHER(U)                                                          \
  static void gather_##U(U *restrict to, const char *p, int64_t step,      \
                         int64_t n) {                                      \
    const U *from = (const U *)p;                                          \
    const int64_t size = sizeof(U);                                        \
    if (step == 2 * size) {                                                \
      for (int64_t i = 0; i < n; i++) to[i] = from[2 * i];                 \
    } else if (step == 3 * size) {                                         \
      for (int64_t i = 0; i < n; i++) to[i] = from[3 * i];                 \
    } else if (step == 4 * size) {                                         \
      for (int64_t i = 0; i < n; i++) to[i] = from[4 * i];                 \
    } else {                                                               \
      for (int64_t i = 0; i < n; i++) to[i] = *(const U *)(p + i * step);  \
    } }

typedef uint8_t __attribute__((may_alias)) b8;
typedef uint16_t __attribute__((may_alias)) b16;
typedef uint32_t __attribute__((may_alias)) b32;
typedef uint64_t __attribute__((may_alias)) b64;
typedef struct b128 { uint64_t u[2]; } __attribute__((may_alias)) b128;

GATHER(b8)
GATHER(b16)
GATHER(b32)
GATHER(b64)
GATHER(b128)

static void gather(char *to, const char *p, int64_t step, int64_t n,
                   int64_t size) {
  if (step == size) {
    memcpy(to, p, (size_t)(n * size));
    return;
  }
  switch (size) {
    case 1: gather_b8((b8 *)to, p, step, n); break;
    case 2: gather_b16((b16 *)to, p, step, n); break;
    case 4: gather_b32((b32 *)to, p, step, n); break;
    case 8: gather_b64((b64 *)to, p, step, n); break;
    default: gather_b128((b128 *)to, p, step, n);
  }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* -- The driver of all folds ---------------------------------------------- */

/* One row after the other, each in pieces. */
static void run_rows(const fold *k, piece p, const int64_t *s, int64_t n0,
                     int64_t n1) {
  _Alignas(64) char buffer[PIECE_BYTES];
  const int64_t most = PIECE_BYTES / k->size;
  for (int64_t j = 0; j < n1; j++, p.acc += s[3], p.ref += s[5]) {
    const char *in = p.in;
    const int64_t start = p.start + (s[3] ? 0 : n0);
    for (int64_t left = n0; left; left -= p.n0) {
      p.n0 = least(left, most);
      if (s[1] != k->size) {
        gather(buffer, p.in, s[1], p.n0, k->size);
        p.in = buffer;
      }
      k->row(&p);
      p.in = in + (n0 - left + p.n0) * s[1];
      p.start += p.n0;
    }
    p.in = in + s[4];
    p.start = start;
  }
}

/* Short rows with one accumulator: several make one longer row. */
static void run_joined(const fold *k, piece p, const int64_t *s, int64_t n0,
                       int64_t n1) {
  _Alignas(64) char buffer[PIECE_BYTES];
  const int64_t rows = PIECE_BYTES / k->size / n0;
  const char *in = p.in;
  for (int64_t j = 0, m; j < n1; j += m) {
    m = least(n1 - j, rows);
    for (int64_t i = 0; i < m; i++, in += s[4]) {
      gather(buffer + i * n0 * k->size, in, s[1], n0, k->size);
    }
    p.in = buffer;
    p.n0 = n0 * m;
    k->row(&p);
    p.start += p.n0;
  }
}

/* All accumulators at once, row by row; a strided row is gathered first. */
static void run_cols(const fold *k, piece p, const int64_t *s, int64_t n0,
                     int64_t n1) {
  _Alignas(64) char buffer[PIECE_BYTES];
  const int64_t width = least(n1, PIECE_BYTES / k->size);
  const int64_t height = PIECE_BYTES / k->size / width, start = p.start;
  for (int64_t j = 0; j < n1; j += p.n1) {
    const char *in = p.in;
    p.n1 = least(n1 - j, width);
    p.start = start;
    p.row = p.n1 * k->size;
    for (int64_t i = 0; i < n0; i += p.n0, p.start += p.n0) {
      p.n0 = least(n0 - i, height);
      for (int64_t q = 0; q < p.n0; q++) {
        gather(buffer + q * p.row, in + (i + q) * s[1], s[4], p.n1, k->size);
      }
      p.in = buffer;
      k->cols(&p);
    }
    p.in = in + p.n1 * s[4];
    p.acc += p.n1 * k->acc_size;
    p.ref += p.n1 * s[5];
  }
}

static void run_fold(const fold *k, char **data, const int64_t *s,
                     int64_t n0, int64_t n1, const void *ctx) {
  const int64_t inner = s[1] < 0 ? -s[1] : s[1];
  const int64_t outer = s[4] < 0 ? -s[4] : s[4];
  piece p = {.acc = data[0], .in = data[1], .ref = data[2], .n0 = n0,
             .n1 = n1, .row = s[1], .ref_step = s[5],
             .start = ctx ? *(const int64_t *)ctx : 0};
  if (n0 <= 0 || n1 <= 0) return;
  if (s[3] && n1 >= 4 && (outer < inner || n0 < SHORT_ROW)) {
    if (s[4] == k->size) k->cols(&p);
    else run_cols(k, p, s, n0, n1);
  } else if (!s[3] && n1 > 1 && n0 < SHORT_ROW) {
    run_joined(k, p, s, n0, n1);
  } else {
    run_rows(k, p, s, n0, n1);
  }
}

#define AT(T, p, offset) (*(const T *)((p) + (offset)))

/* x: element loaded by L, mapped by E, folded by OP into W lanes. */
#define FOLD_ROW(name, T, A, R, L, E, OP)                                   \
  static void name##_row(const piece *p) {                                  \
    enum { W = sizeof(A) < 4 ? 64 : 256 / sizeof(A) };                      \
    const T *x = (const T *)p->in;                                          \
    const R r = AT(R, p->ref, 0);                                           \
    A v[W], a = AT(A, p->acc, 0);                                           \
    int64_t i = 0, n = p->n0;                                               \
    for (; n >= W && i < W; i++) v[i] = E(L(x[i]), r);                      \
    for (; i + W <= n; i += W)                                              \
      for (int l = 0; l < W; l++) v[l] = OP(v[l], E(L(x[i + l]), r));       \
    for (int w = W / 2; n >= W && w; w /= 2)                                \
      for (int l = 0; l < w; l++) v[l] = OP(v[l], v[l + w]);                \
    if (i) a = OP(a, v[0]);                                                 \
    for (; i < n; i++) a = OP(a, E(L(x[i]), r));                            \
    *(A *)p->acc = a; (void)r; }

/* Four rows at a time, so that accumulators are touched a fourth as often. */
#define FOLD_COLS(name, T, A, R, L, E, OP)                                  \
  static void name##_cols(const piece *p) {                                 \
    A *restrict acc = (A *)p->acc;                                          \
    const char *in = p->in;                                                 \
    const int64_t row = p->row;                                             \
    for (int64_t i = 0, m; i < p->n0; i += m, in += m * row) {              \
      m = p->n0 - i < 4 ? 1 : 4;                                            \
      const T *x = (const T *)in, *y = (const T *)(in + row),               \
              *z = (const T *)(in + 2 * row), *u = (const T *)(in + 3 * row);\
      for (int64_t j = 0; j < p->n1; j++) {                                 \
        const R r = AT(R, p->ref, j * p->ref_step);                         \
        A a = OP(acc[j], E(L(x[j]), r));                                    \
        if (m == 4) a = OP(OP(OP(a, E(L(y[j]), r)), E(L(z[j]), r)),         \
                           E(L(u[j]), r));                                  \
        acc[j] = a; (void)r; } } }

#define FOLD(name, T, A, R, L, E, OP)                                       \
  FOLD_ROW(name, T, A, R, L, E, OP)                                         \
  FOLD_COLS(name, T, A, R, L, E, OP)                                        \
  FOLD_LOOP(name, T, A)

#define FOLD_LOOP(name, T, A)                                               \
  static void name(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *ctx) {                                       \
    static const fold k = {name##_row, name##_cols, sizeof(T), sizeof(A)};  \
    run_fold(&k, data, s, n0, n1, ctx); }

/* -- Loads, maps and folds ------------------------------------------------ */

#define SAME(x) (x)
#define WIDE(x) ((uint64_t)(int64_t)(x)) /* wraps, as int64 sums do */
#define TRUTH_OF(x) ((uint8_t)((x) != 0)) /* any byte may be a bool */
#define F64(x) ((double)(x))
#define C128(x) ((c128)(x))
#define HALF st__half_to_float
#define BF16 st__bf16_to_float
#define HALF64(x) ((double)st__half_to_float(x))
#define BF64(x) ((double)st__bf16_to_float(x))
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

#define FLOATS(X, name, ...)                  \
  X(name, f16, uint16_t, HALF64, __VA_ARGS__) \
  X(name, bf16, uint16_t, BF64, __VA_ARGS__)  \
  X(name, f32, float, F64, __VA_ARGS__)       \
  X(name, f64, double, F64, __VA_ARGS__)

#define INT_FOLD(name, s, T, OP) \
  FOLD(name##_##s, T, uint64_t, char, WIDE, ITSELF, OP)
#define FLOAT_FOLD(name, s, T, L, E, OP) \
  FOLD(name##_##s, T, double, char, L, E, OP)
#define REF_FOLD(name, s, T, L, E, OP) \
  FOLD(name##_##s, T, double, double, L, E, OP)

INTS(INT_FOLD, sum, ADD)
INTS(INT_FOLD, prod, MUL)
FOLD(prod_b8, uint8_t, uint64_t, char, TRUTH_OF, ITSELF, MUL)
FLOATS(FLOAT_FOLD, sum, ITSELF, ADD)
FLOATS(FLOAT_FOLD, nansum, UNLESS_NAN, ADD)
FLOATS(FLOAT_FOLD, prod, ITSELF, MUL)
FLOATS(FLOAT_FOLD, norm1, ABS, ADD)
FLOATS(FLOAT_FOLD, norm2, SQUARE, ADD)
FLOATS(FLOAT_FOLD, norm_inf, ABS, MAX)
FLOATS(FLOAT_FOLD, norm_neginf, ABS, MIN)
FLOATS(REF_FOLD, normp, POWER, ADD)
FLOATS(REF_FOLD, sqdev, SQDEV, ADD)
FLOATS(REF_FOLD, sumexp, EXP_OF, ADD)

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
  FOLD(name##_##s, T, T, char, SAME, ITSELF, OP)

INTS(EXTREMUM_INT, amax, MAX)
INTS(EXTREMUM_INT, amin, MIN)

#define EXTREMUM_FLOAT(s, T, A, L)                     \
  FOLD(amax_##s, T, A, char, L, ITSELF, MAX)           \
  FOLD(amin_##s, T, A, char, L, ITSELF, MIN)

EXTREMUM_FLOAT(f16, uint16_t, float, HALF)
EXTREMUM_FLOAT(bf16, uint16_t, float, BF16)
EXTREMUM_FLOAT(f32, float, float, SAME)
EXTREMUM_FLOAT(f64, double, double, SAME)

/* One per width suffices: int8, uint8 and bool share u8, halves share h. */
#define LOGICAL(s, T, L)                               \
  FOLD(any_##s, T, uint8_t, char, L, NONZERO, OR)      \
  FOLD(all_##s, T, uint8_t, char, L, NONZERO, AND)     \
  FOLD(count_##s, T, uint64_t, char, L, NONZERO, ADD)

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

/* The first position of the reference (NaN is NaN); accumulators start at -1
 * and are written once. A row is searched in blocks, which vectorises. */
#define SAME_AS(x, r) (((x) == (r)) | (((x) != (x)) & ((r) != (r))))

#define FIND_ROW(name, T, A, L)                                             \
  static void name##_row(const piece *p) {                                  \
    const T *x = (const T *)p->in;                                          \
    const A r = AT(A, p->ref, 0);                                           \
    int64_t i = 0, n = p->n0, *acc = (int64_t *)p->acc;                     \
    if (*acc >= 0) return;                                                  \
    for (int hit = 0; i + 64 <= n; i += 64) {                               \
      for (int l = 0; l < 64; l++) hit |= SAME_AS(L(x[i + l]), r);          \
      if (hit) break; }                                                     \
    while (i < n && !SAME_AS(L(x[i]), r)) i++;                              \
    if (i < n) *acc = p->start + i; }

/* Rows without a hit are passed over at the speed of comparing. */
#define FIND_COLS(name, T, A, L)                                            \
  static void name##_cols(const piece *p) {                                 \
    int64_t *restrict acc = (int64_t *)p->acc;                              \
    for (int64_t i = 0; i < p->n0; i++) {                                   \
      const T *x = (const T *)(p->in + i * p->row);                         \
      const A *r = (const A *)p->ref;                                       \
      int hit = 0;                                                          \
      for (int64_t j = 0; j < p->n1; j++) hit |= SAME_AS(L(x[j]), r[j]);    \
      for (int64_t j = 0; hit && j < p->n1; j++)                            \
        if (acc[j] < 0 && SAME_AS(L(x[j]), r[j])) acc[j] = p->start + i; } }

#define FIND(s, T, A, L)                                                    \
  FIND_ROW(find_##s, T, A, L)                                               \
  FIND_COLS(find_##s, T, A, L)                                              \
  FOLD_LOOP(find_##s, T, int64_t)

FIND(u8, uint8_t, uint8_t, SAME)
FIND(i8, int8_t, int8_t, SAME)
FIND(i16, int16_t, int16_t, SAME)
FIND(i32, int32_t, int32_t, SAME)
FIND(i64, int64_t, int64_t, SAME)
FIND(f16, uint16_t, float, HALF)
FIND(bf16, uint16_t, float, BF16)
FIND(f32, float, float, SAME)
FIND(f64, double, double, SAME)
FIND(b8, uint8_t, uint8_t, TRUTH_OF)

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
