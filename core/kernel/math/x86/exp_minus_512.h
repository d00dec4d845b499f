/* math/exp_minus.h with AVX-512.
 */
#ifndef ST_KERNEL_MATH_X86_EXP_MINUS_512_H
#define ST_KERNEL_MATH_X86_EXP_MINUS_512_H

#include "kernel/math/x86/vectors_512.h"

#define ST_VECTOR_f4 __m512
#define ST_VECTOR_f8 __m512d
#define ST_LOAD_f4 _mm512_loadu_ps
#define ST_LOAD_f8 _mm512_loadu_pd
#define ST_STORE_f4 _mm512_storeu_ps
#define ST_STORE_f8 _mm512_storeu_pd

#define EXP_MINUS(scope, tag, W, count)                                     \
  scope void exp_minus_##tag(W *x, const W *by) {                           \
    enum { N = 64 / sizeof(W) };                                            \
    for (int l = 0; l < (count); l += ST_NVECTORS * N) {                    \
      ST_VECTOR_##tag v[ST_NVECTORS];                                       \
      EACH v[j] = ST_LOAD_##tag(x + l + j * N) -                            \
                  ST_LOAD_##tag(by + l + j * N);                            \
      st_exp_512_##tag(v);                                                  \
      EACH ST_STORE_##tag(x + l + j * N, v[j]);                             \
    }                                                                       \
  }

#endif
