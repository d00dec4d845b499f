/* Conversions of rows of half types to and from float32. A NaN is replaced by
 * the default NaN of the same sign.
 */
#ifndef ST_KERNEL_MATH_HALF_ROWS_H
#define ST_KERNEL_MATH_HALF_ROWS_H

#include "base/dtype.h"
#include "kernel/math/halves.h"

#define ST_HALF_ROWS static __attribute__((noinline, unused))

#define ST_NO_EIGHTS(to, from, n) 0

/* -- Rows of n elements, step bytes apart --------------------------------- */

#define ST_LOAD_HALF(s, eights, convert)                                    \
  ST_HALF_ROWS void st_load_##s(float *to, const char *p, int64_t step,     \
                                int64_t n) {                                \
    if (step == 2) {                                                        \
      for (int64_t i = eights(to, p, n); i < n; i++)                        \
        to[i] = convert(((const uint16_t *)p)[i]);                          \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++)                                       \
        to[i] = convert(*(const uint16_t *)(p + i * step));                 \
    } }

#define ST_STORE_HALF(s, eights, convert)                                   \
  ST_HALF_ROWS void st_store_##s(char *p, int64_t step, const float *from,  \
                                 int64_t n) {                               \
    if (step == 2) {                                                        \
      for (int64_t i = eights(p, from, n); i < n; i++)                      \
        ((uint16_t *)p)[i] = convert(from[i]);                              \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++)                                       \
        *(uint16_t *)(p + i * step) = convert(from[i]);                     \
    } }

ST_LOAD_HALF(f16, st_widen_plain, st__half_to_float)
ST_LOAD_HALF(bf16, ST_NO_EIGHTS, st__bf16_to_float)
ST_STORE_HALF(f16, st_narrow_eights, st__float_to_half)
ST_STORE_HALF(bf16, ST_NO_EIGHTS, st__float_to_bf16)

#endif
