/* Conversions of rows of half types to and from float32. The F16C instructions
 * give the bits of st__half_to_float and st__float_to_half except for NaN,
 * which is replaced by the default NaN of the same sign.
 */
#ifndef ST_KERNEL_MATH_HALF_ROWS_H
#define ST_KERNEL_MATH_HALF_ROWS_H

#include "base/dtype.h"
#include "kernel/math/f16c.h"

#define ST_HALF_ROWS static __attribute__((noinline, unused))

/* -- Eight at a time, or 16 to floats; both return the number converted ---- */

#if defined(__F16C__)
static inline int64_t st_widen_f16(float *to, const char *p, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    const st_sixteen x =
      st_f16c_loaded_nan_sixteen(st_f16c_load_sixteen(p + 2 * i));
    memcpy(to + i, &x, sizeof x);
  }
#endif
  for (; i + 8 <= n; i += 8) {
    const st_eight x = st_f16c_plain_nan(st_f16c_load(p + 2 * i));
    memcpy(to + i, &x, sizeof x);
  }
  return i;
}

static inline int64_t st_narrow_f16(char *p, const float *from, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    st_eight x;
    memcpy(&x, from + i, sizeof x);
    st_f16c_store(p + 2 * i, st_f16c_plain_nan(x));
  }
  return i;
}
#else
static inline int64_t st_widen_f16(float *to, const char *p, int64_t n) {
  return (void)to, (void)p, (void)n, 0;
}
static inline int64_t st_narrow_f16(char *p, const float *from, int64_t n) {
  return (void)p, (void)from, (void)n, 0;
}
#endif

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

ST_LOAD_HALF(f16, st_widen_f16, st__half_to_float)
ST_LOAD_HALF(bf16, ST_NO_EIGHTS, st__bf16_to_float)
ST_STORE_HALF(f16, st_narrow_f16, st__float_to_half)
ST_STORE_HALF(bf16, ST_NO_EIGHTS, st__float_to_bf16)

#endif
