/* Conversions of halves to and from float32 by the instructions for them, which
 * give the bits of st__half_to_float and st__float_to_half except for NaN.
 * What is stored has the default NaN of the same sign, as st__float_to_half
 * gives it; a NaN that is loaded is quiet, with its own bits.
 *
 * st_load_halves and st_store_halves convert ST_HALVES elements. The others
 * convert a part of n elements, none without ST_HAS_HALVES, and return their
 * number.
 */
#ifndef ST_KERNEL_MATH_HALVES_H
#define ST_KERNEL_MATH_HALVES_H

#include "base/dtype.h"
#include "kernel/isa.h"

typedef uint16_t __attribute__((may_alias, aligned(1))) st_half_bits;

#if ST_HAS_HALVES
#include "kernel/math/x86/f16c.h"
#else
enum { ST_HALVES = 8 };

static inline void st_load_halves(float *to, const void *p) {
  const st_half_bits *from = p;
  _Pragma("omp simd") for (int64_t i = 0; i < ST_HALVES; i++) {
    to[i] = st__half_to_float(from[i]);
  }
}

static inline void st_store_halves(void *p, const float *from) {
  st_half_bits *to = p;
  _Pragma("omp simd") for (int64_t i = 0; i < ST_HALVES; i++) {
    to[i] = st__float_to_half(from[i]);
  }
}

static inline int64_t st_widen_eights(float *to, const void *halves,
                                      int64_t n) {
  (void)to, (void)halves, (void)n;
  return 0;
}

static inline int64_t st_narrow_eights(void *halves, const float *from,
                                       int64_t n) {
  (void)halves, (void)from, (void)n;
  return 0;
}

/* To floats with the default NaN. */
static inline int64_t st_widen_plain(float *to, const void *halves,
                                     int64_t n) {
  (void)to, (void)halves, (void)n;
  return 0;
}
#endif

#endif
