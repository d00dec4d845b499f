/* Rows of reduced floats, and of pairs of them, to and from float32.
 */
#ifndef ST_KERNEL_ELEMENTWISE_REDUCED_FLOATS_H
#define ST_KERNEL_ELEMENTWISE_REDUCED_FLOATS_H

#include "kernel/dtype_tags.h"
#include "kernel/elementwise/element_bits.h"
#include "kernel/math/halves.h"

#define ST_WIDEN_CASE(p, tag, conversion)                                    \
  case ST_ELEM_##tag:                                                        \
    ST_SIMD_FOR(i, n) to[i] = st__##conversion##_to_float(p[i]);             \
    break;
static void st_widen(float *to, const char *p, int64_t n, int elem) {
  const st_bits2 *from = (const st_bits2 *)p;
  switch (elem) {
    ST_FLOAT8_TAGS(ST_WIDEN_CASE, ((const uint8_t *)p))
    case ST_ELEM_bf: case ST_ELEM_cb:
      ST_SIMD_FOR(i, n) to[i] = st__bf16_to_float(from[i]);
      break;
    default: {
      const int64_t done = st_widen_eights(to, from, n);
      to += done, from += done;
      ST_SIMD_FOR(i, n - done) to[i] = st__half_to_float(from[i]);
    }
  }
}

#define ST_NARROW_CASE(p, tag, conversion)                                   \
  case ST_ELEM_##tag:                                                        \
    ST_SIMD_FOR(i, n) p[i] = st__float_to_##conversion(from[i]);             \
    break;
static void st_narrow(char *p, const float *from, int64_t n, int elem) {
  st_bits2 *to = (st_bits2 *)p;
  switch (elem) {
    ST_FLOAT8_TAGS(ST_NARROW_CASE, ((uint8_t *)p))
    case ST_ELEM_bf: case ST_ELEM_cb:
      ST_SIMD_FOR(i, n) to[i] = st__float_to_bf16(from[i]);
      break;
    default: {
      const int64_t done = st_narrow_eights(to, from, n);
      to += done, from += done;
      ST_SIMD_FOR(i, n - done) to[i] = st__float_to_half(from[i]);
    }
  }
}

#endif
