/* What the reduction kernels share: loads, the st_loop of a reduction, and the
 * rows of their tables. The reductions are made by reduction_template.h.
 */
#ifndef ST_KERNEL_REDUCE_REDUCTION_KERNELS_H
#define ST_KERNEL_REDUCE_REDUCTION_KERNELS_H

#include <string.h>

#include "kernel/dtype_tables.h"
#include "kernel/math/half_rows.h"
#include "kernel/reduce/pairwise_reduction.h"

#include "kernel/complex.h" /* after it: defines a macro called complex */

#define ST_MAYBE __attribute__((unused))
#define ST_ALWAYS_INLINE inline __attribute__((always_inline))

/* JOIN(sum, u8) is sum_u8, also where the arguments are macros. */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* Types named as the suffixes of loops. */
typedef uint8_t u8;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
typedef float _Complex c64;
typedef double _Complex c128;
typedef st_reduce_span span;

/* Four vectors of 64 bytes, which hide the latency of an addition. */
#define LANES(A) (sizeof(A) < 4 ? ST_REDUCE_MAX_LANES : 256 / sizeof(A))

/* Outputs that a body for columns reduces at a time. */
#define COLUMNS_OF(A) (256 / (int)sizeof(A))

/* -- Loads ---------------------------------------------------------------- */

#define LOAD_FAR(s, T)                                                      \
  ST_MAYBE static inline void load_far_##s(T *restrict out, const char *p,  \
                                           int64_t step, int64_t n) {       \
    for (; n >= 4; n -= 4, p += 4 * step, out += 4) {                       \
      out[0] = *(const T *)p, out[1] = *(const T *)(p + step);              \
      out[2] = *(const T *)(p + 2 * step);                                  \
      out[3] = *(const T *)(p + 3 * step); }                                \
    for (; n > 0; n--, p += step) *out++ = *(const T *)p; }

/* Constant steps let the compiler deinterleave in registers. */
#define LOAD_BITS(s, T)                                                     \
  LOAD_FAR(s, T)                                                            \
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
    else load_far_##s(out, p, step, n); }

typedef uint8_t __attribute__((may_alias)) bits8;
typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias)) bits64;
typedef struct bits128 { uint64_t u[2]; } __attribute__((may_alias)) bits128;

LOAD_BITS(8, bits8)
LOAD_BITS(16, bits16)
LOAD_BITS(32, bits32)
LOAD_BITS(64, bits64)
LOAD_BITS(128, bits128)

/* The load of elements of type T without a conversion. */
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
    const bool copies = gather == load_8 || gather == load_16 ||            \
      gather == load_32 || gather == load_64 || gather == load_128;         \
    for (int64_t m; n > 0; n -= m, p += m * step, out += m) {               \
      const bool direct = copies && step == sizeof(T);                      \
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

/* Two adjacent bfloat16, the first of which has the lower address. */
typedef uint32_t __attribute__((may_alias, aligned(2))) st_bf16_pair;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define st_first_bf16(w) st__bits_float((w) & 0xffff0000u)
#define st_second_bf16(w) st__bits_float((w) << 16)
#else
#define st_first_bf16(w) st__bits_float((w) << 16)
#define st_second_bf16(w) st__bits_float((w) & 0xffff0000u)
#endif

/* -- Loops ---------------------------------------------------------------- */

/* Defines the st_loop `loop`: the reduction `name`, of elements of in_bytes
 * bytes, which load_fn converts, and with the accumulators accs. Further
 * arguments initialise fields of st_reduce_ops. */
#define LOOP_(loop, load_fn, in_bytes, name, accs, ...)                     \
  ST_MAYBE static void loop(char **data, const int64_t *s, int64_t n0,      \
                            int64_t n1, const void *run) {                  \
    static const st_reduce_ops k = {                                        \
      load_fn, name##_row, name##_first, name##_next, name##_four,          \
      accs##_join, in_bytes, sizeof(name##_element), sizeof(name##_acc),    \
      sizeof(name##_pivot), name##_lane_count, __VA_ARGS__};                \
    st__run_reduction(&k, data, s, n0, n1, run); }
#define LOOP(...) LOOP_(__VA_ARGS__)

#define IN_ORDER .any_order = false
#define ANY_ORDER .any_order = true

/* -- Conversions, maps and operations ------------------------------------- */

#define SAME(x) (x)
#define TRUTH_OF(x) ((u8)((x) != 0)) /* a bool may hold any byte */
#define NONZERO(x, r) ((x) != 0)

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define MAX(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define MIN(a, b) ((((b) < (a)) | ((b) != (b))) ? (b) : (a))
#define OR(a, b) ((a) | (b))
#define AND(a, b) ((a) & (b))

/* -- Rows of the table ---------------------------------------------------- */

#define INEXACT(name) \
  {#name, {ST_BY_TYPE(FLOAT, name) ST_BY_TYPE(COMPLEX, name)}}
#define FLOATING(name) {#name, {ST_BY_TYPE(FLOAT, name)}}

#endif
