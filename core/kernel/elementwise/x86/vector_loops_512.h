/* Loops of the functions of math/x86/vectors_512.def: st_loops that replace
 * those of rows which compilers vectorise.
 */
#ifndef ST_KERNEL_ELEMENTWISE_X86_VECTOR_LOOPS_512_H
#define ST_KERNEL_ELEMENTWISE_X86_VECTOR_LOOPS_512_H

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/math/x86/vectors_512.h"

/* The numbers that a function is of at once. */
enum { ST_STEP_f4 = ST_NVECTORS * 16, ST_STEP_f8 = ST_NVECTORS * 8 };

/* Returns how many numbers came before some that a function, the last argument,
 * does not compute. It is a condition on the vectors x, the second inputs at b
 * and the scalar arguments. */
#define ST_STEPS_512(name, tag, vector, ps, params, ...)                     \
  static __attribute__((noinline)) int64_t name##_##tag##_steps(             \
    T_##tag *out, const T_##tag *pa, const T_##tag *pb, int64_t n,           \
    const void *ctx) {                                                       \
    enum { STEP = ST_STEP_##tag, LANES = STEP / ST_NVECTORS };               \
    ST_TYPES(tag); params(tag);                                              \
    for (int64_t i = 0; i < n; i += STEP) {                                  \
      const T_##tag *const b = pb + i;                                       \
      vector x[ST_NVECTORS];                                                 \
      EACH x[j] = _mm512_loadu_##ps(pa + i + j * LANES);                     \
      if ((void)b, !(__VA_ARGS__)) return i;                                 \
      EACH _mm512_storeu_##ps(out + i + j * LANES, x[j]);                    \
    }                                                                        \
    return n;                                                                \
  }

/* Numbers that the steps do not compute are left to the loop `any`, together
 * with what follows, block by block. */
#define ST_WHOLE_512(name, tag, ninputs, any, block)                         \
  static void name##_##tag##_whole(T_##tag *out, const T_##tag *pa,          \
                                   const T_##tag *pb, int64_t n,             \
                                   const void *ctx) {                        \
    for (int64_t i = 0; i < n; i += block) {                                 \
      i += name##_##tag##_steps(out + i, pa + i, pb + i, n - i, ctx);        \
      const int64_t m = n - i < block ? n - i : block;                       \
      if (m > 0) any(out + i, pa + i, pb + i, m, ctx);                       \
    }                                                                        \
  }                                                                          \
  ST_PADDED_BODY(tag, name, ninputs, ST_STEP_##tag)

#define ST_FLOAT_512(name, ninputs, any, block, params, ...)                 \
  ST_STEPS_512(name, f4, __m512, ps, params, __VA_ARGS__)                    \
  ST_WHOLE_512(name, f4, ninputs, any, block)
#define ST_DOUBLE_512(name, ninputs, any, block, params, ...)                \
  ST_STEPS_512(name, f8, __m512d, pd, params, __VA_ARGS__)                   \
  ST_WHOLE_512(name, f8, ninputs, any, block)

/* The st_loops, and their rows. */
#define ST_UNARY_512(name, tag, body)                                        \
  ST_BLOCK_LOOP(name##_##tag, body, 2, ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_BINARY_512(name, tag, body)                                       \
  ST_BLOCK_LOOP(name##_##tag, body, 3, ST_ELEM_##tag, ST_ELEM_##tag,         \
                ST_ELEM_##tag)
#define ST_FLOAT_LOOPS_512(pattern, name)                                    \
  pattern(name, f4, name##_f4_body) pattern(name, f2, name##_f4_body)        \
  pattern(name, bf, name##_f4_body)
#define ST_FLOAT_ROW_512(kernel, name) \
  {#kernel, {[ST_FLOAT32] = name##_f4, ST_BY_TAG(HALF, name)}},
#define ST_DOUBLE_ROW_512(kernel, name)                                      \
  {#kernel, {[ST_FLOAT64] = name##_f8}},

#endif
