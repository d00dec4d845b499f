/* EXP_MINUS(scope, tag, W, count): defines exp_minus_tag(x, by), which computes
 * x = exp(x - by) of `count` elements, the bits of st_masked_exp. With AVX-512,
 * ST_NVECTORS vectors are computed at a time. scope: INLINE or static inline.
 */
#ifndef ST_KERNEL_MATH_EXP_MINUS_H
#define ST_KERNEL_MATH_EXP_MINUS_H

#include "kernel/math/masked_exp.h"

#if ST_HAS_FUNCTIONS
#include "kernel/math/x86/exp_minus_512.h"
#else
#define EXP_MINUS(scope, tag, W, count)                                     \
  scope void exp_minus_##tag(W *x, const W *by) {                           \
    for (int l = 0; l < (count); l++) {                                     \
      x[l] = st_masked_exp_##tag(x[l] - by[l]);                             \
    }                                                                       \
  }
#endif

#endif
