/* Macros that expand a row of a .def file to its loops: per dtype, a body and
 * the st_loop around it.
 *
 * The expression of a row may use
 *   a, b, c    the inputs, in order (mask: a leading input of bytes)
 *   p0, p1, p2 the scalar arguments of the operator, with pattern _P
 *   T, W       the element's type and the type to compute in (dtype_tags.h)
 * and is converted to the output's type. Each macro here is one operand
 * pattern; ST_LIST_<list> (dtype_tags.h) applies it to dtypes.
 */
#ifndef ST_KERNEL_ELEMENTWISE_ELEMENTWISE_LOOPS_H
#define ST_KERNEL_ELEMENTWISE_ELEMENTWISE_LOOPS_H

#include "kernel/elementwise/elementwise.h"

/* An expression may leave T, W or ctx unused. */
#define ST_TYPES(tag)                                                        \
  typedef T_##tag T __attribute__((unused));                                 \
  typedef W_##tag W __attribute__((unused));                                 \
  (void)ctx

#define ST_BODY(name, tag)                                                   \
  static void name##_##tag##_body(char *const *p, int64_t n, const void *ctx)

/* Note [Halves in registers]. Inputs that an expression does not use are not
 * loaded once compilers optimize. */
#define ST_LOAD_INPUTS(tag, x, i) \
  for (int k = 0; k < 3; k++) st_load_##tag(x[k], p[k + 1] + step[k] * i)
#define ST_HALVES(tag, name, params, ...)                                    \
  static void name##_##tag##_halves(                                         \
    char *const *restrict p, const int64_t *restrict step, int64_t n,        \
    const void *ctx) {                                                       \
    ST_TYPES(f4); params(f4);                                                \
    for (int64_t i = 0; i < n; i += ST_CHUNK_##tag) {                        \
      T x[3][ST_CHUNK_##tag], y[ST_CHUNK_##tag];                             \
      ST_LOAD_INPUTS(tag, x, i);                                             \
      ST_SIMD_FOR(k, ST_CHUNK_##tag) {                                       \
        const T a = x[0][k], b = x[1][k], c = x[2][k];                       \
        y[k] = ((void)a, (void)b, (void)c, (T)(__VA_ARGS__));                \
      }                                                                      \
      st_store_##tag(p[0] + 2 * i, y);                                       \
    }                                                                        \
  }
#define ST_NO_PARAMS(tag) (void)ctx
#define ST_QUICK(tag, name, n, params, ...)                                  \
  ST_HALVES(tag, name, params, __VA_ARGS__)                                  \
  static ST_LOOP_FN(name##_##tag, strides) {                                 \
    static const st_blocks k = {                                             \
      name##_f4_body, n, {ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag,       \
                          ST_ELEM_##tag}, name##_##tag##_halves};            \
    st_run_blocks(data, strides, n0, n1, ctx, &k);                           \
  }
#define ST_UNARY_QUICK(tag, name, ...) \
  ST_QUICK(tag, name, 2, ST_NO_PARAMS, __VA_ARGS__)
#define ST_BINARY_QUICK(tag, name, ...) \
  ST_QUICK(tag, name, 3, ST_NO_PARAMS, __VA_ARGS__)
#define ST_TERNARY_QUICK(tag, name, ...) \
  ST_QUICK(tag, name, 4, ST_NO_PARAMS, __VA_ARGS__)
#define ST_UNARY_P_QUICK(tag, name, ...) \
  ST_QUICK(tag, name, 2, ST_PARAMS, __VA_ARGS__)
#define ST_BINARY_P_QUICK(tag, name, ...) \
  ST_QUICK(tag, name, 3, ST_PARAMS, __VA_ARGS__)
#define ST_TERNARY_P_QUICK(tag, name, ...) \
  ST_QUICK(tag, name, 4, ST_PARAMS, __VA_ARGS__)

/* Loops of unsigned integers that are those of signed ones. */
#define ST_UNARY_SAME(tag, signed, ...)
#define ST_UNARY_P_SAME(tag, signed, ...)
#define ST_BINARY_SAME(tag, signed, ...)
#define ST_BINARY_P_SAME(tag, signed, ...)
#define ST_TERNARY_P_SAME(tag, signed, ...)
#define ST_PREDICATE_SAME(tag, signed, ...)
#define ST_COMPARE_SAME(tag, signed, ...)

/* -- Result of the same dtype as the inputs ------------------------------- */

#define ST_UNARY_OF(tag, name, params, ...)                                  \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag); params(tag);                                              \
    T *out = (T *)p[0];                                                      \
    const T *pa = (const T *)p[1];                                           \
    ST_SIMD_FOR(i, n) {                                                      \
      const T a = ST_IN_##tag(pa[i]);                                        \
      out[i] = ((void)a, (T)(__VA_ARGS__));                                  \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_UNARY_LOOP(tag, name, ...) \
  ST_UNARY_OF(tag, name, ST_NO_PARAMS, __VA_ARGS__)
#define ST_UNARY_HALF(tag, name, ...)                                        \
  ST_BLOCK_LOOP(name##_##tag, name##_f4_body, 2, ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_UNARY_PAIR(tag, name, ...)                                        \
  ST_BLOCK_LOOP(name##_##tag, name##_c4_body, 2, ST_ELEM_##tag, ST_ELEM_##tag)

#define ST_BINARY_OF(tag, name, params, ...)                                 \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag); params(tag);                                              \
    T *out = (T *)p[0];                                                      \
    const T *pa = (const T *)p[1], *pb = (const T *)p[2];                    \
    ST_SIMD_FOR(i, n) {                                                      \
      const T a = ST_IN_##tag(pa[i]), b = ST_IN_##tag(pb[i]);                \
      out[i] = ((void)a, (void)b, (T)(__VA_ARGS__));                         \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 3,                        \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_BINARY_LOOP(tag, name, ...) \
  ST_BINARY_OF(tag, name, ST_NO_PARAMS, __VA_ARGS__)
#define ST_BINARY_HALF(tag, name, ...)                                       \
  ST_BLOCK_LOOP(name##_##tag, name##_f4_body, 3,                             \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_BINARY_PAIR(tag, name, ...)                                       \
  ST_BLOCK_LOOP(name##_##tag, name##_c4_body, 3,                             \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)

#define ST_TERNARY_OF(tag, name, params, ...)                                \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag); params(tag);                                              \
    T *out = (T *)p[0];                                                      \
    const T *pa = (const T *)p[1], *pb = (const T *)p[2],                    \
            *pc = (const T *)p[3];                                           \
    ST_SIMD_FOR(i, n) {                                                      \
      const T a = pa[i], b = pb[i], c = pc[i];                               \
      out[i] = (T)(__VA_ARGS__);                                             \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 4, ST_ELEM_##tag,         \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_TERNARY_LOOP(tag, name, ...) \
  ST_TERNARY_OF(tag, name, ST_NO_PARAMS, __VA_ARGS__)
#define ST_TERNARY_HALF(tag, name, ...)                                      \
  ST_BLOCK_LOOP(name##_##tag, name##_f4_body, 4, ST_ELEM_##tag,              \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_TERNARY_PAIR(tag, name, ...)                                      \
  ST_BLOCK_LOOP(name##_##tag, name##_c4_body, 4, ST_ELEM_##tag,              \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)

/* -- With scalar arguments ------------------------------------------------ */

#define ST_PARAMS(tag)                                                       \
  const T p0 __attribute__((unused)) = st_param_##tag(ctx, 0);               \
  const T p1 __attribute__((unused)) = st_param_##tag(ctx, 1);               \
  const T p2 __attribute__((unused)) = st_param_##tag(ctx, 2)

#define ST_UNARY_P_LOOP(tag, name, ...) \
  ST_UNARY_OF(tag, name, ST_PARAMS, __VA_ARGS__)
#define ST_UNARY_P_HALF ST_UNARY_HALF
#define ST_UNARY_P_PAIR ST_UNARY_PAIR

#define ST_BINARY_P_LOOP(tag, name, ...) \
  ST_BINARY_OF(tag, name, ST_PARAMS, __VA_ARGS__)
#define ST_BINARY_P_HALF ST_BINARY_HALF
#define ST_BINARY_P_PAIR ST_BINARY_PAIR

#define ST_TERNARY_P_LOOP(tag, name, ...) \
  ST_TERNARY_OF(tag, name, ST_PARAMS, __VA_ARGS__)
#define ST_TERNARY_P_HALF ST_TERNARY_HALF
#define ST_TERNARY_P_PAIR ST_TERNARY_PAIR

/* -- Functions of math/functions.def -------------------------------------- */

/* The end of a block that does not fill a vector is computed first, with the
 * elements before it, or padded with its first one if there are too few: for a
 * few elements, a vector costs less than so many numbers. */
enum { ST_PAD = 16 };

#define ST_MATH_WHOLE(tag, fn, row, params, ...)                             \
  static __attribute__((noinline)) void fn(                                  \
    T_##tag *out, const T_##tag *pa, const T_##tag *pb, int64_t n,           \
    const void *ctx) {                                                       \
    enum { ST_WHICH = row };                                                 \
    ST_TYPES(tag);                                                           \
    params(tag);                                                             \
    ST_SIMD_FOR(i, n) {                                                      \
      const T a = pa[i], b = pb[i];                                          \
      out[i] = ((void)b, (T)(__VA_ARGS__));                                  \
    }                                                                        \
  }
/* The last numbers of fewer than `pad`: x[2] ends with their results. */
#define ST_PADDED_FEW(tag, name, pad)                                        \
  static inline void name##_##tag##_few(                                     \
    T_##tag (*x)[pad], const T_##tag *a, const T_##tag *b, int64_t n,        \
    const void *ctx) {                                                       \
    for (int i = 0; i < pad; i++) x[0][i] = a[0], x[1][i] = b[0];            \
    memcpy(x[0] + pad - n, a, (size_t)n * sizeof *a);                        \
    memcpy(x[1] + pad - n, b, (size_t)n * sizeof *b);                        \
    name##_##tag##_whole(x[2], x[0], x[1], pad, ctx);                        \
  }
#define ST_PADDED_BODY(tag, name, ninputs, pad)                              \
  ST_PADDED_FEW(tag, name, pad)                                              \
  ST_BODY(name, tag) {                                                       \
    const int64_t rest = n % pad, whole = n - rest;                          \
    T_##tag *out = (T_##tag *)p[0];                                          \
    const T_##tag *a = (const T_##tag *)p[1];                                \
    const T_##tag *b = (const T_##tag *)p[ninputs];                          \
    T_##tag x[3][pad];                                                       \
    if (rest && whole) {                                                     \
      name##_##tag##_whole(x[2], a + n - pad, b + n - pad, pad, ctx);        \
    } else if (rest) name##_##tag##_few(x, a, b, rest, ctx);                 \
    if (whole) name##_##tag##_whole(out, a, b, whole, ctx);                  \
    memcpy(out + whole, x[2] + pad - rest, (size_t)rest * sizeof *out);      \
  }
#define ST_MATH_BODY(tag, name, ninputs)                                     \
  ST_PADDED_BODY(tag, name, ninputs, ST_PAD)
#define ST_MATH_LOOP(tag, name, ninputs, params, ...)                        \
  ST_MATH_WHOLE(tag, name##_##tag##_whole, ST_ANY_ROW, params, __VA_ARGS__)  \
  ST_MATH_BODY(tag, name, ninputs)
#define ST_UNARY_MATH(tag, name, ...)                                        \
  ST_MATH_LOOP(tag, name, 1, ST_NO_PARAMS, __VA_ARGS__)                      \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_BINARY_MATH(tag, name, ...)                                       \
  ST_MATH_LOOP(tag, name, 2, ST_NO_PARAMS, __VA_ARGS__)                      \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 3,                        \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_UNARY_P_MATH(tag, name, ...)                                      \
  ST_MATH_LOOP(tag, name, 1, ST_PARAMS, __VA_ARGS__)                         \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)
/* p0 is loaded from memory, as GCC does not vectorise a loop when it has moved
 * selections by a number out of it. */
enum { ST_COPIES = 16 * ST_PAD };
#define ST_NUMBER_OF(tag, fn, ...)                                           \
  static __attribute__((noinline)) void fn##_of(                             \
    T_##tag *out, const T_##tag *pa, const T_##tag *numbers, int64_t n) {    \
    enum { ST_WHICH = ST_ANY_ROW };                                          \
    typedef T_##tag T;                                                       \
    ST_SIMD_FOR(i, n) {                                                      \
      const T a = pa[i], p0 = numbers[i];                                    \
      out[i] = (T)(__VA_ARGS__);                                             \
    }                                                                        \
  }
#define ST_NUMBER_WHOLE(tag, fn, ...)                                        \
  ST_NUMBER_OF(tag, fn, __VA_ARGS__)                                         \
  static void fn(T_##tag *out, const T_##tag *pa, const T_##tag *pb,         \
                 int64_t n, const void *ctx) {                               \
    T_##tag numbers[ST_COPIES];                                              \
    (void)pb;                                                                \
    for (int i = 0; i < ST_COPIES; i++) numbers[i] = st_param_##tag(ctx, 0); \
    for (int64_t i = 0; i < n; i += ST_COPIES) {                             \
      fn##_of(out + i, pa + i, numbers,                                      \
              n - i < ST_COPIES ? n - i : ST_COPIES);                        \
    }                                                                        \
  }
#define ST_UNARY_NUMBER_MATH(tag, name, ...)                                 \
  ST_NUMBER_WHOLE(tag, name##_##tag##_whole, __VA_ARGS__)                    \
  ST_MATH_BODY(tag, name, 1)                                                 \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_UNARY_NUMBER_HALF ST_UNARY_HALF
#define ST_BINARY_P_MATH(tag, name, ...)                                     \
  ST_MATH_LOOP(tag, name, 2, ST_PARAMS, __VA_ARGS__)                         \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 3,                        \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)

/* -- Blocks of plain arguments -------------------------------------------- */

/* Note [Plain arguments]. A block is in L1 when it is read again. */
enum { ST_PLAIN_BLOCK = 512 };

#define ST_BY_BLOCK(tag, name, ninputs)                                      \
  static void name##_##tag##_whole(T_##tag *out, const T_##tag *pa,          \
                                   const T_##tag *pb, int64_t n,             \
                                   const void *ctx) {                        \
    for (int64_t i = 0; i < n; i += ST_PLAIN_BLOCK) {                        \
      const int64_t m = n - i < ST_PLAIN_BLOCK ? n - i : ST_PLAIN_BLOCK;     \
      if (name##_##tag##_is_beyond(pa + i, pb + i, m, ctx)) {                \
        name##_##tag##_any(out + i, pa + i, pb + i, m, ctx);                 \
      } else {                                                               \
        name##_##tag##_plain(out + i, pa + i, pb + i, m, ctx);               \
      }                                                                      \
    }                                                                        \
  }                                                                          \
  ST_MATH_BODY(tag, name, ninputs)

#define ST_IS_BEYOND(tag, name, params, ...)                                 \
  static bool name##_##tag##_is_beyond(const T_##tag *pa, const T_##tag *pb, \
                                       int64_t n, const void *ctx) {         \
    enum { ST_WHICH = ST_BEYOND_ROW };                                       \
    ST_TYPES(tag);                                                           \
    params(tag);                                                             \
    ST_BITS_##tag all = 0;                                                   \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T a = pa[i], b = pb[i];                                          \
      all |= st_bits_##tag(((void)b, __VA_ARGS__));                          \
    }                                                                        \
    return all >> (8 * sizeof all - 1);                                      \
  }
#define ST_PLAIN_BLOCKS(tag, name, ninputs, params, ...)                     \
  ST_MATH_WHOLE(tag, name##_##tag##_plain, ST_PLAIN_ROW, params, __VA_ARGS__)\
  ST_IS_BEYOND(tag, name, params, __VA_ARGS__)                               \
  ST_BY_BLOCK(tag, name, ninputs)
#define ST_PLAIN_LOOP(tag, name, ninputs, params, ...)                       \
  ST_MATH_WHOLE(tag, name##_##tag##_any, ST_ANY_ROW, params, __VA_ARGS__)    \
  ST_PLAIN_BLOCKS(tag, name, ninputs, params, __VA_ARGS__)

#define ST_UNARY_PLAIN(tag, name, ...)                                       \
  ST_PLAIN_LOOP(tag, name, 1, ST_NO_PARAMS, __VA_ARGS__)                     \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_BINARY_PLAIN(tag, name, ...)                                      \
  ST_PLAIN_LOOP(tag, name, 2, ST_NO_PARAMS, __VA_ARGS__)                     \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 3,                        \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)

#define ST_UNARY_NUMBER_PLAIN(tag, name, ...)                                \
  ST_NUMBER_WHOLE(tag, name##_##tag##_any, __VA_ARGS__)                      \
  ST_PLAIN_BLOCKS(tag, name, 1, ST_PARAMS, __VA_ARGS__)                      \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)

#define ST_ANGLE_ANY(tag, name, fn)                                          \
  static void name##_##tag##_any(T_##tag *out, const T_##tag *pa,            \
                                 const T_##tag *pb, int64_t n,               \
                                 const void *ctx) {                          \
    ST_TYPES(tag);                                                           \
    (void)pb;                                                                \
    for (int64_t i = 0; i < n; i++) {                                        \
      const T a = pa[i];                                                     \
      out[i] = fabs(a) > ST_FAR_##tag ? st_far_##fn##_##tag(a) : F(fn)(a);   \
    }                                                                        \
  }
#define ST_UNARY_ANGLE(tag, name, fn)                                        \
  ST_MATH_WHOLE(tag, name##_##tag##_plain, ST_ANY_ROW, ST_NO_PARAMS,         \
                F(fn)(a))                                                    \
  ST_ANGLE_ANY(tag, name, fn)                                                \
  static bool name##_##tag##_is_beyond(const T_##tag *pa, const T_##tag *pb, \
                                       int64_t n, const void *ctx) {         \
    int nfar = 0;                                                            \
    (void)pb, (void)ctx;                                                     \
    for (int64_t i = 0; i < n; i++) nfar |= fabs(pa[i]) > ST_FAR_##tag;      \
    return nfar;                                                             \
  }                                                                          \
  ST_BY_BLOCK(tag, name, 1)                                                  \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2,                        \
                ST_ELEM_##tag, ST_ELEM_##tag)

/* -- Result of another dtype ---------------------------------------------- */

/* A bool result. */
#define ST_PREDICATE_LOOP(tag, name, ...)                                    \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag);                                                           \
    uint8_t *out = (uint8_t *)p[0];                                          \
    const T *pa = (const T *)p[1];                                           \
    ST_SIMD_FOR(i, n) {                                                      \
      const T a = ST_IN_##tag(pa[i]);                                        \
      out[i] = ((void)a, (uint8_t)(__VA_ARGS__));                            \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2, ST_ELEM_1,             \
                ST_ELEM_##tag)
#define ST_PREDICATE_HALF(tag, name, ...)                                    \
  ST_BLOCK_LOOP(name##_##tag, name##_f4_body, 2, ST_ELEM_1, ST_ELEM_##tag)
#define ST_PREDICATE_PAIR(tag, name, ...)                                    \
  ST_BLOCK_LOOP(name##_##tag, name##_c4_body, 2, ST_ELEM_1, ST_ELEM_##tag)
#define ST_PREDICATE_QUICK ST_PREDICATE_HALF

#define ST_COMPARE_LOOP(tag, name, ...)                                      \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag);                                                           \
    uint8_t *out = (uint8_t *)p[0];                                          \
    const T *pa = (const T *)p[1], *pb = (const T *)p[2];                    \
    ST_SIMD_FOR(i, n) {                                                      \
      const T a = ST_IN_##tag(pa[i]), b = ST_IN_##tag(pb[i]);                \
      out[i] = (uint8_t)(__VA_ARGS__);                                       \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 3, ST_ELEM_1,             \
                ST_ELEM_##tag, ST_ELEM_##tag)
#define ST_COMPARE_HALF(tag, name, ...)                                      \
  ST_BLOCK_LOOP(name##_##tag, name##_f4_body, 3, ST_ELEM_1, ST_ELEM_##tag,   \
                ST_ELEM_##tag)
#define ST_COMPARE_PAIR(tag, name, ...)                                      \
  ST_BLOCK_LOOP(name##_##tag, name##_c4_body, 3, ST_ELEM_1, ST_ELEM_##tag,   \
                ST_ELEM_##tag)
#define ST_COMPARE_QUICK ST_COMPARE_HALF

/* A real result of a complex input; T is the real type. */
#define ST_LIST_TO_REAL(M, ...)                                              \
  M##_REAL(c4, f4, __VA_ARGS__) M##_REAL(c8, f8, __VA_ARGS__)                \
  M##_REAL_OF_PAIR(c2, f2, __VA_ARGS__)
#define ST_UNARY_REAL(tag, real, name, ...)                                  \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(real);                                                          \
    T *out = (T *)p[0];                                                      \
    const T_##tag *pa = (const T_##tag *)p[1];                               \
    ST_SIMD_FOR(i, n) {                                                      \
      const T_##tag a = pa[i];                                               \
      out[i] = (T)(__VA_ARGS__);                                             \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 2, ST_ELEM_##real,        \
                ST_ELEM_##tag)
#define ST_UNARY_REAL_OF_PAIR(tag, real, name, ...)                          \
  ST_BLOCK_LOOP(name##_##tag, name##_c4_body, 2, ST_ELEM_##real,             \
                ST_ELEM_##tag)
#define ST_SLOT_REAL(tag, real, name, ...) [ST_DTYPE_##tag] = name##_##tag,
#define ST_SLOT_REAL_OF_PAIR ST_SLOT_REAL

#endif
