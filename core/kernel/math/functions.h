/* Elementary functions for loops that the compiler vectorises:
 * st_<name>_f4 and st_<name>_f8 for each row of functions.def.
 */
#ifndef ST_KERNEL_MATH_FUNCTIONS_H
#define ST_KERNEL_MATH_FUNCTIONS_H

#include <stdint.h>
#include <string.h>
#include <tgmath.h>

#include "kernel/math/fma.h"
#include "kernel/polynomials.h"

#define ST_BITS_OF(tag, real, bits)                                          \
  typedef bits ST_BITS_##tag;                                                \
  static inline bits st_bits_##tag(real x) {                                 \
    bits u;                                                                  \
    memcpy(&u, &x, sizeof u);                                                \
    return u;                                                                \
  }                                                                          \
  static inline real st_real_##tag(bits u) {                                 \
    real x;                                                                  \
    memcpy(&x, &u, sizeof x);                                                \
    return x;                                                                \
  }
ST_BITS_OF(f4, float, uint32_t)
ST_BITS_OF(f8, double, uint64_t)
#undef ST_BITS_OF

/* The lesser and the greater of two numbers, one of which is positive: the
 * order of their bits. A comparison of floats would take several instructions
 * with AVX-512. If one is NaN, it may be either. */
#define ST_ORDER_BITS(name, tag, real, bits, integer, sign)                  \
  static inline real st_##name##_##tag(real a, real b) {                     \
    const integer i = (integer)st_bits_##tag(a);                             \
    const integer j = (integer)st_bits_##tag(b);                             \
    return st_real_##tag((bits)(i sign j ? i : j));                          \
  }
ST_ORDER_BITS(lesser, f4, float, uint32_t, int32_t, <)
ST_ORDER_BITS(greater, f4, float, uint32_t, int32_t, >)
ST_ORDER_BITS(lesser, f8, double, uint64_t, int64_t, <)
ST_ORDER_BITS(greater, f8, double, uint64_t, int64_t, >)
#undef ST_ORDER_BITS

#define FMA(a, b, c) F(fma)(a, b, c)
#define EXACT_FMA(a, b, c) F(exact_fma)(a, b, c)
#define BITS_OF(x) F(bits)(x)
#define FROM_BITS(u) F(real)(u)
#define LESSER(a, b) F(lesser)(a, b)
#define GREATER(a, b) F(greater)(a, b)
#define POLYNOMIAL(p, x, name) ST_POLYNOMIAL_TAG(p, x, name)
/* Loops that call a function are not vectorised, so it is always inlined. */
#define ST_FUNCTION(name, params, ...) \
  ST_INLINE T F(name) params { __VA_ARGS__ }

#define WIDTH 4
#define T float
#define U uint32_t
#define F(name) st_##name##_f4
#define K(f4, f8) f4##f
#define KU(f4, f8) f4##u
#define ST_POLYNOMIAL_TAG(p, x, name) name##_f4(p, x)
#include "kernel/math/functions.def"
#undef WIDTH
#undef T
#undef U
#undef F
#undef K
#undef KU
#undef ST_POLYNOMIAL_TAG

#define WIDTH 8
#define T double
#define U uint64_t
#define F(name) st_##name##_f8
#define K(f4, f8) f8
#define KU(f4, f8) f8##u
#define ST_POLYNOMIAL_TAG(p, x, name) name##_f8(p, x)
#include "kernel/math/functions.def"
#undef WIDTH
#undef T
#undef U
#undef F
#undef K
#undef KU
#undef ST_POLYNOMIAL_TAG
#undef ST_FUNCTION
#undef POLYNOMIAL
#undef FMA
#undef EXACT_FMA
#undef BITS_OF
#undef FROM_BITS
#undef LESSER
#undef GREATER

/* The function of a row for the type T of a loop. */
#define F(name) _Generic((T)0, float: st_##name##_f4, double: st_##name##_f8)

/* The same, or its row name_plain, or its row name_beyond, as the constant
 * ST_WHICH of a loop says: Note [Plain arguments]. */
#define ST_ANY_ROW    0
#define ST_PLAIN_ROW  1
#define ST_BEYOND_ROW 2
#define ST_PICK_ROW(name, tag)                                               \
  (ST_WHICH == ST_ANY_ROW ? st_##name##_##tag                                \
   : ST_WHICH == ST_PLAIN_ROW ? st_##name##_plain_##tag                      \
                              : st_##name##_beyond_##tag)
#define PLAIN(name)                                                          \
  _Generic((T)0, float: ST_PICK_ROW(name, f4), double: ST_PICK_ROW(name, f8))

#endif
