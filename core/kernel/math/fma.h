/* Fused multiply-adds, a * b + c rounded once, on processors that have none.
 *
 * The error of each step is computed exactly, and added to the smaller part of
 * the result, which is rounded to odd: such a number, rounded again to fewer
 * bits, gives what rounding once would have (S. Boldo and G. Melquiond,
 * Emulation of a FMA and Correctly Rounded Sums, IEEE Transactions on Computers
 * 57, 2008). Factors, products and their errors must be in the range of the
 * type, and factors of float64 below 2^1023.
 */
#ifndef ST_KERNEL_MATH_FMA_H
#define ST_KERNEL_MATH_FMA_H

#include <stdint.h>
#include <string.h>

#include "kernel/isa.h"

#define ST_INLINE static inline __attribute__((always_inline))

#if ST_HAS_FMA

ST_INLINE float st_fma_f4(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

ST_INLINE double st_fma_f8(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

ST_INLINE float st_exact_fma_f4(float a, float b, float c) {
  return st_fma_f4(a, b, c);
}

ST_INLINE double st_exact_fma_f8(double a, double b, double c) {
  return st_fma_f8(a, b, c);
}

#else

/* What the sum s = a + b has lost (D. E. Knuth, The Art of Computer
 * Programming, volume 2, 4.2.2, theorem B). */
ST_INLINE double st_sum_lost(double a, double b, double s) {
  const double t = s - a;
  return (a - (s - t)) + (b - t);
}

/* a + b, rounded to odd: of the two neighbours of a sum that is not exact, the
 * one whose last bit is 1. */
ST_INLINE double st_odd_sum(double a, double b) {
  double s = a + b;
  const double lost = st_sum_lost(a, b, s);
  uint64_t bits, sign;
  memcpy(&bits, &s, sizeof bits);
  memcpy(&sign, &lost, sizeof sign);
  const uint64_t even = (lost < 0) | (lost > 0) ? ~bits & 1 : 0;
  const uint64_t is_back = (bits ^ sign) >> 63;
  bits += even - 2 * (even & is_back);
  memcpy(&s, &bits, sizeof s);
  return s;
}

/* A product of floats is exact in float64. */
ST_INLINE float st_fma_f4(float a, float b, float c) {
  return (float)st_odd_sum((double)a * b, c);
}

/* x rounded to 26 bits. The rest is of 26 bits and a sign, so that products of
 * halves are exact (T. J. Dekker, A Floating-Point Technique for Extending the
 * Available Precision, Numerische Mathematik 18, 1971). */
ST_INLINE double st_upper_half(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + (1u << 26)) & ~(uint64_t)0 << 27;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* A function that is called: in place, in each term of each polynomial, it
 * would double the code of elementwise kernels. */
static __attribute__((noinline)) double st_fma_f8(double a, double b,
                                                  double c) {
  const double ah = st_upper_half(a), al = a - ah;
  const double bh = st_upper_half(b), bl = b - bh;
  const double p = a * b;
  const double p_lost = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  const double t = c + p_lost, t_lost = st_sum_lost(c, p_lost, t);
  const double s = p + t, s_lost = st_sum_lost(p, t, s);
  const double rest = st_odd_sum(t_lost, s_lost);
  return s - s == 0 ? s + rest : s; /* of infinities, nothing is lost */
}

/* The same where the result is a number of the type and much smaller than c,
 * so that every step is exact. */
ST_INLINE float st_exact_fma_f4(float a, float b, float c) {
  return (float)((double)a * b + c);
}

ST_INLINE double st_exact_fma_f8(double a, double b, double c) {
  const double ah = st_upper_half(a), al = a - ah;
  const double bh = st_upper_half(b), bl = b - bh;
  const double p = a * b;
  return (c + p) + (((ah * bh - p) + ah * bl + al * bh) + al * bl);
}

#endif
#endif
