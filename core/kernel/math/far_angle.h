/* Angles from which on trigonometry.def has too few bits of pi: they are
 * reduced with integers, one by one, as by M. H. Payne and R. N. Hanek, Radian
 * Reduction for Trigonometric Functions, SIGNUM Newsletter 18, 1983.
 */
#ifndef ST_KERNEL_MATH_FAR_ANGLE_H
#define ST_KERNEL_MATH_FAR_ANGLE_H

#include "kernel/math/functions.h"

#define ST_FAR_f4 0x1p18f
#define ST_FAR_f8 0x1p30

/* n pi/2 + r + lost for 0 <= n < 4 */
typedef struct st_far_angle {
  uint32_t n;
  double r, lost;
} st_far_angle;

/* The product with 2/pi modulo 4, x = m 2^e: bits of 2/pi that contribute only
 * multiples of 4 are left out, and of the others 192 are enough, as no float64
 * is nearer to a multiple of pi/2 than 2^-62. The result has the quarter in its
 * two upper bits; its words are in ascending order. */
static inline void st_far_product(uint32_t *product, double x) {
  static const uint32_t two_over_pi[] = { /* the first two: the integer part */
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
    0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0,
    0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
    0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea,
    0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20};
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int from = (int)(bits >> 52 & 0x7ff) - 1023 - 52 + 62;
  const uint64_t m = (bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
  memset(product, 0, 6 * sizeof *product);
  for (int i = 0; i < 2; i++) {
    uint64_t sum = 0;
    for (int j = 0; i + j < 6; j++) {
      const uint32_t *w = two_over_pi + from / 32 + 5 - j;
      const uint64_t pair = (uint64_t)w[0] << 32 | w[1];
      const uint32_t word = (uint32_t)(pair >> (32 - from % 32));
      sum += product[i + j] + (m >> 32 * i & UINT32_MAX) * word;
      product[i + j] = (uint32_t)sum;
      sum >>= 32;
    }
  }
}

/* The fraction is between -1/2 and 1/2, with its 128 upper bits in two words.
 * Shifted to have no leading zeros, it is a sum of two numbers. */
static inline st_far_angle st_reduce_far(double x) {
  uint32_t p[6];
  st_far_product(p, fabs(x));
  uint64_t high = (uint64_t)p[5] << 32 | p[4];
  uint64_t middle = (uint64_t)p[3] << 32 | p[2];
  uint64_t low = (uint64_t)p[1] << 32 | p[0];
  st_far_angle a = {(uint32_t)(high >> 62), 0, 0};
  high = high << 2 | middle >> 62;
  middle = middle << 2 | low >> 62;
  low <<= 2;
  const int is_negative = (int)(high >> 63);
  if (is_negative) high = ~high, middle = ~middle, low = ~low;
  a.n += (uint32_t)is_negative;
  double unit = is_negative ? -0x1p-64 : 0x1p-64;
  if (high >> 32 == 0) { /* at most 62 zeros lead: 32, then one by one */
    high = high << 32 | middle >> 32, middle = middle << 32 | low >> 32;
    low <<= 32, unit *= 0x1p-32;
  }
  for (; !(high >> 63); unit *= .5) {
    high = high << 1 | middle >> 63, middle = middle << 1 | low >> 63;
    low <<= 1;
  }
  const uint64_t rest = (high & 0x7ff) << 53 | middle >> 11;
  const double f = (double)(high >> 11) * 0x1p11 * unit;
  const double f_lost = (double)rest * 0x1p-53 * unit;
  const double hi = 0x1.921fb54442d18p0, lo = 0x1.1a62633145c07p-54;
  const double top = f * hi;
  const double tail = st_fma_f8(f, hi, -top) + (f * lo + f_lost * hi);
  a.r = top + tail, a.lost = (top - a.r) + tail;
  if (x < 0) a.n = 0 - a.n, a.r = -a.r, a.lost = -a.lost;
  a.n &= 3;
  return a;
}

#define ST_FAR_FUNCTION(fn)                                                  \
  static inline float st_far_##fn##_f4(float x) {                            \
    if (x - x != 0) return NAN;                                              \
    const st_far_angle a = st_reduce_far(x);                                 \
    const float r = (float)a.r;                                              \
    return st_##fn##_of_f4(0x1.8p23f + (float)a.n, r, (float)(a.r - r));     \
  }                                                                          \
  static inline double st_far_##fn##_f8(double x) {                          \
    if (x - x != 0) return NAN;                                              \
    const st_far_angle a = st_reduce_far(x);                                 \
    return st_##fn##_of_f8(0x1.8p52 + a.n, a.r, a.lost);                     \
  }
ST_FAR_FUNCTION(sin)
ST_FAR_FUNCTION(cos)
ST_FAR_FUNCTION(tan)
#undef ST_FAR_FUNCTION

#endif
