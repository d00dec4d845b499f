/* exp of elements many of which may be masked, as by -infinity: the bits of
 * st_exp. Results that round to 0 are selected: underflow takes a processor a
 * hundred cycles or more. Where there are no blends, selections take as long.
 */
#ifndef ST_KERNEL_MATH_MASKED_EXP_H
#define ST_KERNEL_MATH_MASKED_EXP_H

#include "kernel/math/functions.h"

#if !ST_HAS_BLENDS
#define st_masked_exp_f4 st_exp_f4
#define st_masked_exp_f8 st_exp_f8
#else
static inline float st_masked_exp_f4(float x) {
  const float y = st_exp_f4(x < -104 ? 0 : x);
  return x < -104 ? 0 : y;
}

static inline double st_masked_exp_f8(double x) {
  const double y = st_exp_f8(x < -746 ? 0 : x);
  return x < -746 ? 0 : y;
}
#endif

#endif
