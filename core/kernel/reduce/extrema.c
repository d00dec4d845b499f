/* Kernels of running extrema with indices: cummax and cummin.
 *
 * Of equal elements the last one counts. A NaN is an extremum, and after it
 * only another NaN changes the index. ctx: the int64 added to indices. The
 * operands are values, indices (int64) and input. A line is the elements along
 * the dimension; the inner dimension of a loop runs along a line, the outer one
 * over the lines.
 */

#include "base/threads.h"
#include "kernel/inline.h"
#include "kernel/dtype_tables.h"
#include "kernel/reduce/scan_across.h"

enum { BLOCK = 16 };

/* Lines: pointers to the first, the steps between their elements and from line
 * to line, and what is added to indices. */
typedef struct extrema {
  char *values, *indices, *in;
  int64_t step[3], across[3], base;
} extrema;

/* -- Keys ----------------------------------------------------------------- */

/* One loop serves all dtypes whose elements have the same bits to compare:
 * flip are the bits of integers to invert, inf those of an infinite float, and
 * `least` asks for the opposite order. */
typedef struct order { int64_t flip, inf; bool least; } order;

/* For any integer: the sign bit of an unsigned one is inverted. */
#define INTEGER_KEY(T, x, o) ((T)((x) ^ (T)(o)->flip))

/* For a float with these bits: both zeros have key 0. */
#define FLOAT_KEY(name, K, most)                                             \
  INLINE K name(K u, const order *o) {                                       \
    const K size = u & (most);                                               \
    const K k = (u < 0) != o->least ? (K)-size : size;                       \
    return size > (K)o->inf ? (most) : k; }

FLOAT_KEY(key_float16, int16_t, INT16_MAX)
FLOAT_KEY(key_float32, int32_t, INT32_MAX)
FLOAT_KEY(key_float64, int64_t, INT64_MAX)

/* Compilers unroll the loop over the keys of a block instead. Vectors pay for
 * floats of up to 32 bits. */
#define BY_VECTORS _Pragma("omp simd reduction(|:is_new)")

/* -- Loops ---------------------------------------------------------------- */

#define NAME(f) f##_int8
#define T int8_t
#define KEY(x, o) INTEGER_KEY(T, x, o)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_int16
#define T int16_t
#define KEY(x, o) INTEGER_KEY(T, x, o)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_int32
#define T int32_t
#define KEY(x, o) INTEGER_KEY(T, x, o)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_int64
#define T int64_t
#define KEY(x, o) INTEGER_KEY(T, x, o)
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_bool
#define T int8_t
#define KEY(x, o) ((int8_t)(((x) != 0) ^ (int8_t)(o)->flip))
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_float16
#define T int16_t
#define KEY key_float16
#define VECTORS BY_VECTORS
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_float32
#define T int32_t
#define KEY key_float32
#define VECTORS BY_VECTORS
#include "kernel/reduce/extrema_template.h"

#define NAME(f) f##_float64
#define T int64_t
#define KEY key_float64
#include "kernel/reduce/extrema_template.h"

/* -- The table ------------------------------------------------------------ */

/* Integers of one size share a loop. flip: that of cummax; cummin's has the
 * other bits. */
#define INTEGER_LOOP(kind)                                                   \
  static void by_##kind(char **data, const int64_t *s, int64_t n0,           \
                        int64_t n1, const int64_t *base, int64_t flip) {     \
    const order o = {flip, 0, false};                                        \
    run_##kind(data, s, (int64_t[]){n0, n1}, *base, &o); }
#define INTEGERS(type, kind, flip)                                           \
  static void cummax_##type(char **data, const int64_t *s, int64_t n0,       \
                            int64_t n1, const void *ctx) {                   \
    by_##kind(data, s, n0, n1, ctx, flip); }                                 \
  static void cummin_##type(char **data, const int64_t *s, int64_t n0,       \
                            int64_t n1, const void *ctx) {                   \
    by_##kind(data, s, n0, n1, ctx, ~(int64_t)(flip)); }

INTEGER_LOOP(int8)
INTEGER_LOOP(int16)
INTEGER_LOOP(int32)
INTEGER_LOOP(int64)
INTEGER_LOOP(bool)
INTEGERS(u8, int8, INT8_MIN)
INTEGERS(i8, int8, 0)
INTEGERS(i16, int16, 0)
INTEGERS(i32, int32, 0)
INTEGERS(i64, int64, 0)
INTEGERS(u16, int16, INT16_MIN)
INTEGERS(u32, int32, INT32_MIN)
INTEGERS(u64, int64, INT64_MIN)
INTEGERS(b8, bool, 0)

/* Floats of one size share a loop per order. */
#define FLOAT_LOOP(name, kind, least)                                        \
  static void name##_by_##kind(char **data, const int64_t *s, int64_t n0,    \
                               int64_t n1, const int64_t *base,              \
                               int64_t inf) {                                \
    const order o = {0, inf, least};                                         \
    run_##kind(data, s, (int64_t[]){n0, n1}, *base, &o); }
#define FLOATS(type, kind, inf)                                              \
  static void cummax_##type(char **data, const int64_t *s, int64_t n0,       \
                            int64_t n1, const void *ctx) {                   \
    cummax_by_##kind(data, s, n0, n1, ctx, inf); }                           \
  static void cummin_##type(char **data, const int64_t *s, int64_t n0,       \
                            int64_t n1, const void *ctx) {                   \
    cummin_by_##kind(data, s, n0, n1, ctx, inf); }

FLOAT_LOOP(cummax, float16, false)
FLOAT_LOOP(cummin, float16, true)
FLOAT_LOOP(cummax, float32, false)
FLOAT_LOOP(cummin, float32, true)
FLOAT_LOOP(cummax, float64, false)
FLOAT_LOOP(cummin, float64, true)
FLOATS(f16, float16, 0x7c00)
FLOATS(bf16, float16, 0x7f80)
FLOATS(f32, float32, 0x7f800000)
FLOATS(f64, float64, INT64_C(0x7ff) << 52)

#define ORDERED(name) {#name, {ST_BY_TYPE(REAL_BOOL, name)}}

static const st_kernel_row rows[] = {ORDERED(cummax), ORDERED(cummin)};

ST_EXPORT(st__extrema, rows)
