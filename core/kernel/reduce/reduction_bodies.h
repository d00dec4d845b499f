/* Macros that define reductions: loads, bodies by rows and by columns, and
 * the st_loop that calls the driver with them (reduction.h).
 *
 * A reduction has elements of type T, accumulators of type A and pivots of
 * type R. L converts an element to A, E(x, r) maps it given the pivot r, and
 * OP adds it to an accumulator. Its bodies are <name>_row, _first, _next and
 * _four. The functions that only depend on A and OP, <accs>_lanes and
 * <accs>_join, are shared by reductions.
 */
#ifndef ST_KERNEL_REDUCE_REDUCTION_BODIES_H
#define ST_KERNEL_REDUCE_REDUCTION_BODIES_H

#include <string.h>

#include "kernel/math/half_rows.h"
#include "kernel/reduce/pairwise_reduction.h"

#include "kernel/math/complex.h" /* after it: defines a macro called complex */

#define ST_MAYBE __attribute__((unused))

typedef float _Complex c64;
typedef double _Complex c128;
typedef st_reduce_span span;

enum { PREFETCH_BYTES = 2048 }; /* how far ahead of their use */

/* -- Loads ---------------------------------------------------------------- */

/* Constant steps let the compiler deinterleave in registers. */
#define LOAD(s, T)                                                          \
  ST_MAYBE static void load_##s(char *to, const char *p, int64_t step,      \
                                int64_t n) {                                \
    T *restrict out = (T *)to;                                              \
    const T *x = (const T *)p;                                              \
    const int64_t size = sizeof(T);                                         \
    if (step == size) memcpy(to, p, (size_t)(n * size));                    \
    else if (step == 2 * size)                                              \
      for (int64_t i = 0; i < n; i++) out[i] = x[2 * i];                    \
    else if (step == 3 * size)                                              \
      for (int64_t i = 0; i < n; i++) out[i] = x[3 * i];                    \
    else if (step == 4 * size)                                              \
      for (int64_t i = 0; i < n; i++) out[i] = x[4 * i];                    \
    else {                                                                  \
      for (; n >= 4; n -= 4, p += 4 * step, out += 4) {                     \
        out[0] = *(const T *)p, out[1] = *(const T *)(p + step);            \
        out[2] = *(const T *)(p + 2 * step);                                \
        out[3] = *(const T *)(p + 3 * step); }                              \
      for (; n > 0; n--, p += step) *out++ = *(const T *)p; } }

typedef uint8_t __attribute__((may_alias)) bits8;
typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias)) bits64;
typedef struct bits128 { uint64_t u[2]; } __attribute__((may_alias)) bits128;

LOAD(8, bits8)
LOAD(16, bits16)
LOAD(32, bits32)
LOAD(64, bits64)
LOAD(128, bits128)

#define LOAD_OF(T)                                                          \
  (sizeof(T) == 1 ? load_8 : sizeof(T) == 2 ? load_16                       \
   : sizeof(T) == 4 ? load_32 : sizeof(T) == 8 ? load_64 : load_128)

enum { LOAD_PART = 4096 }; /* bytes that are gathered at a time */

/* Loads elements of type T as type U: `gather` gathers them, and body converts
 * the m elements x to out. */
#define LOAD_AS(s, T, U, gather, body)                                      \
  ST_MAYBE static void load_##s(char *to, const char *p, int64_t step,      \
                                int64_t n) {                                \
    _Alignas(64) char part[LOAD_PART];                                      \
    const int64_t most = LOAD_PART / (int64_t)sizeof(T);                    \
    U *restrict out = (U *)to;                                              \
    for (int64_t m; n > 0; n -= m, p += m * step, out += m) {               \
      const bool direct = gather == LOAD_OF(T) && step == sizeof(T);        \
      m = n < most ? n : most;                                              \
      if (!direct) gather(part, p, step, m);                                \
      const T *restrict x = (const T *)(direct ? p : part);                 \
      body } }

#define LOAD_EACH(s, T, U, gather, f)                                       \
  LOAD_AS(s, T, U, gather, for (int64_t i = 0; i < m; i++) out[i] = f(x[i]);)

LOAD_AS(half, uint16_t, float, load_16,
        st_load_f16(out, (const char *)x, 2, m);)
LOAD_AS(bf16, uint16_t, float, load_16,
        st_load_bf16(out, (const char *)x, 2, m);)

/* -- Accumulators --------------------------------------------------------- */

/* Four vectors of 64 bytes, which hide the latency of an addition. */
#define LANES(A) (sizeof(A) < 4 ? ST_REDUCE_MAX_LANES : 256 / sizeof(A))

/* _lanes combines m lanes into one value, _join combines two rows. */
#define ACCUMULATORS(accs, A, OP)                                           \
  static void accs##_lanes(char *to, A *v, int64_t m) {                     \
    enum { W = LANES(A) };                                                  \
    if (m < W) for (int w = W / 2; w; w /= 2)                               \
      for (int l = 0; l < w && l + w < m; l++) v[l] = OP(v[l], v[l + w]);   \
    else for (int w = W / 2; w; w /= 2)                                     \
      for (int l = 0; l < w; l++) v[l] = OP(v[l], v[l + w]);                \
    *(A *)to = v[0]; }                                                      \
  static void accs##_join(char *to, const char *with, int64_t n) {          \
    A *restrict a = (A *)to;                                                \
    const A *restrict b = (const A *)with;                                  \
    for (int64_t j = 0; j < n; j++) a[j] = OP(a[j], b[j]); }

/* -- Bodies --------------------------------------------------------------- */

#define AT(T, p) (*(const T *)(p))

#define REDUCE_ROW(name, accs, T, A, R, L, E, OP)                           \
  static void name##_row(const span *p) {                                   \
    enum { W = LANES(A) };                                                  \
    const T *x = (const T *)p->in;                                          \
    const R r = AT(R, p->pivot);                                            \
    A v[W];                                                                 \
    int64_t i = 0, n = p->n0, m = n < W ? n : W;                            \
    for (; i < m; i++) v[i] = E(L(x[i]), r);                                \
    for (; i + W <= n; i += W) {                                            \
      __builtin_prefetch((const char *)(x + i) + PREFETCH_BYTES);           \
      for (int l = 0; l < W; l++) v[l] = OP(v[l], E(L(x[i + l]), r)); }     \
    for (int64_t l = 0; i + l < n; l++) v[l] = OP(v[l], E(L(x[i + l]), r)); \
    accs##_lanes(p->acc, v, m);                                             \
    (void)r; }

/* _first initialises the accumulators with a row, _next adds a row. */
#define REDUCE_ONE(name, accs, T, A, R, L, E, OP)                           \
  static void name##_first(const span *p) {                                 \
    A *restrict a = (A *)p->acc;                                            \
    const R *r = (const R *)p->pivot;                                       \
    const T *x = (const T *)p->x[0];                                        \
    for (int64_t j = 0, n = p->n1; j < n; j++) a[j] = E(L(x[j]), r[j]);     \
    (void)r; }                                                              \
  static void name##_next(const span *p) {                                  \
    A *restrict a = (A *)p->acc;                                            \
    const R *r = (const R *)p->pivot;                                       \
    const T *x = (const T *)p->x[0];                                        \
    for (int64_t j = 0, n = p->n1; j < n; j++)                              \
      a[j] = OP(a[j], E(L(x[j]), r[j]));                                    \
    (void)r; }

/* Four rows at a time read and write the accumulators a fourth as often. */
#define REDUCE_FOUR(name, accs, T, A, R, L, E, OP)                          \
  static void name##_four(const span *p) {                                  \
    A *restrict a = (A *)p->acc;                                            \
    const R *r = (const R *)p->pivot;                                       \
    const T *x = (const T *)p->x[0], *y = (const T *)p->x[1],               \
            *z = (const T *)p->x[2], *u = (const T *)p->x[3];               \
    if (p->more) for (int64_t j = 0, n = p->n1; j < n; j++)                 \
      a[j] = OP(OP(OP(OP(a[j], E(L(x[j]), r[j])), E(L(y[j]), r[j])),        \
                   E(L(z[j]), r[j])), E(L(u[j]), r[j]));                    \
    else for (int64_t j = 0, n = p->n1; j < n; j++)                         \
      a[j] = OP(OP(OP(E(L(x[j]), r[j]), E(L(y[j]), r[j])),                  \
                   E(L(z[j]), r[j])), E(L(u[j]), r[j]));                    \
    (void)r; }

#define REDUCE_BODIES(...)                                                  \
  REDUCE_ROW(__VA_ARGS__)                                                   \
  REDUCE_ONE(__VA_ARGS__)                                                   \
  REDUCE_FOUR(__VA_ARGS__)

/* Defines the st_loop `loop` for elements of in_bytes bytes, which load_fn
 * converts to those of the reduction `name`. Further arguments initialise
 * fields of st_reduce_ops. */
#define REDUCE_LOOP(loop, load_fn, in_bytes, name, accs, T, A, R, ...)      \
  static void loop(char **data, const int64_t *s, int64_t n0, int64_t n1,   \
                   const void *run) {                                       \
    static const st_reduce_ops k = {                                        \
      load_fn, name##_row, name##_first, name##_next, name##_four,          \
      accs##_join, in_bytes, sizeof(T), sizeof(A), sizeof(R), LANES(A),     \
      __VA_ARGS__};                                                         \
    st__run_reduction(&k, data, s, n0, n1, run); }

/* Defines a reduction and its loop over elements of type T. */
#define REDUCE(name, accs, T, A, R, L, E, OP, ...)                          \
  REDUCE_BODIES(name, accs, T, A, R, L, E, OP)                              \
  REDUCE_LOOP(name, LOAD_OF(T), sizeof(T), name, accs, T, A, R, __VA_ARGS__)

/* Loops over half types, which are loaded as float32. */
#define HALVES(loop, name, accs, A, R, ...)                                 \
  REDUCE_LOOP(loop##_f16, load_half, 2, name, accs, float, A, R,            \
              __VA_ARGS__)                                                  \
  REDUCE_LOOP(loop##_bf16, load_bf16, 2, name, accs, float, A, R,           \
              __VA_ARGS__)

#define IN_ORDER .any_order = false
#define ANY_ORDER .any_order = true

/* -- Conversions (L), maps (E) and operations (OP) ------------------------ */

#define SAME(x) (x)
#define WIDE(x) ((uint64_t)(int64_t)(x)) /* wraps, as int64 sums do */
#define TRUTH_OF(x) ((uint8_t)((x) != 0)) /* a bool may hold any byte */
#define F64(x) ((double)(x))
#define C128(x) ((c128)(x))

#define VALUE(x, r) (x)

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define MAX(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))
#define MIN(a, b) (((b) < (a)) | ((b) != (b)) ? (b) : (a))

/* X(arguments, suffix, type) for every integer type. */
#define INTS(X, ...)                                                        \
  X(__VA_ARGS__, u8, uint8_t)                                               \
  X(__VA_ARGS__, i8, int8_t)                                                \
  X(__VA_ARGS__, i16, int16_t)                                              \
  X(__VA_ARGS__, i32, int32_t)                                              \
  X(__VA_ARGS__, i64, int64_t)

#define NONZERO(x, r) ((x) != 0)

/* -- Rows of the table ---------------------------------------------------- */

#define INT_LOOPS(name, b)                                                  \
  [ST_UINT8] = name##_u8, [ST_INT8] = name##_i8, [ST_INT16] = name##_i16,   \
  [ST_INT32] = name##_i32, [ST_INT64] = name##_i64, [ST_BOOL] = b
#define FLOAT_LOOPS(name)                                                   \
  [ST_FLOAT16] = name##_f16, [ST_BFLOAT16] = name##_bf16,                   \
  [ST_FLOAT32] = name##_f32, [ST_FLOAT64] = name##_f64
#define COMPLEX_LOOPS(name)                                                 \
  [ST_COMPLEX64] = name##_c64, [ST_COMPLEX128] = name##_c128

/* b is the loop for bool. */
#define NUMBER(name, b)                                                     \
  {ST_K_##name, {                                                           \
    INT_LOOPS(name, b), FLOAT_LOOPS(name), COMPLEX_LOOPS(name)}}
#define REAL(name, b) {ST_K_##name, {INT_LOOPS(name, b), FLOAT_LOOPS(name)}}
#define INEXACT(name) {ST_K_##name, {FLOAT_LOOPS(name), COMPLEX_LOOPS(name)}}
#define FLOATING(name) {ST_K_##name, {FLOAT_LOOPS(name)}}

#endif
