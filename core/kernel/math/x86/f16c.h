/* math/halves.h with F16C, eight halves at a time, and with AVX-512. This calls
 * the builtins behind the intrinsics, which GCC and Clang share.
 */
#ifndef ST_KERNEL_MATH_X86_F16C_H
#define ST_KERNEL_MATH_X86_F16C_H

#include <stdint.h>
#include <string.h>

typedef float st_eight __attribute__((vector_size(32)));
typedef int32_t st_eight_bits __attribute__((vector_size(32)));
typedef short st_eight_halves __attribute__((vector_size(16)));

static inline st_eight st_f16c_load(const void *halves) {
  st_eight_halves h;
  memcpy(&h, halves, sizeof h);
  return __builtin_ia32_vcvtph2ps256(h);
}

static inline void st_f16c_store(void *halves, st_eight x) {
  st_eight_halves h = __builtin_ia32_vcvtps2ph256(x, 0); /* to nearest */
  /* Keeps h in a register: VCVTPS2PH with a memory operand takes 1.4 times as
   * long as with a register and a store (Zen 3). */
  __asm__("" : "+x"(h));
  memcpy(halves, &h, sizeof h);
}

/* Replaces a NaN by the default NaN of the same sign, as st__float_to_half
 * does. */
static inline st_eight st_f16c_plain_nan(st_eight x) {
  const st_eight_bits bits = (st_eight_bits)x, is_nan = x != x;
  const st_eight_bits nan = (bits & INT32_MIN) | 0x7fc00000;
  return (st_eight)((is_nan & nan) | (~is_nan & bits));
}

/* -- Sixteen at a time, with the default NaN in what is stored ------------- */

#if ST_VECTOR_BYTES == 64
typedef float st_sixteen __attribute__((vector_size(64)));
typedef int32_t st_sixteen_bits __attribute__((vector_size(64)));
typedef short st_sixteen_halves __attribute__((vector_size(32)));

static inline st_sixteen st_f16c_load_sixteen(const void *halves) {
  st_sixteen_halves h;
  memcpy(&h, halves, sizeof h);
  return (st_sixteen)__builtin_ia32_vcvtph2ps512_mask(h, (st_sixteen){0},
                                                      (uint16_t)-1, 4);
}

/* Replaces a NaN that has been loaded, which is quiet, by the default NaN of
 * the same sign. */
static inline st_sixteen st_f16c_loaded_nan_sixteen(st_sixteen x) {
  const st_sixteen_bits is_nan = x != x;
  return (st_sixteen)((st_sixteen_bits)x & ~(is_nan & 0x3fffff));
}

static inline void st_f16c_store_sixteen(void *halves, st_sixteen x) {
  const st_sixteen_bits bits = (st_sixteen_bits)x, is_nan = x != x;
  const st_sixteen_bits nan = (bits & INT32_MIN) | 0x7fc00000;
  const st_sixteen plain = (st_sixteen)((is_nan & nan) | (~is_nan & bits));
  st_sixteen_halves h = (st_sixteen_halves)__builtin_ia32_vcvtps2ph512_mask(
    plain, 0, (st_sixteen_halves){0}, (uint16_t)-1); /* to nearest */
  __asm__("" : "+v"(h)); /* as in st_f16c_store */
  memcpy(halves, &h, sizeof h);
}
#endif

/* -- Rows ------------------------------------------------------------------ */

static inline int64_t st_widen_eights(float *to, const void *halves,
                                      int64_t n) {
  const st_half_bits *from = halves;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const st_eight x = st_f16c_load(from + i);
    memcpy(to + i, &x, sizeof x);
  }
  return i;
}

static inline int64_t st_narrow_eights(void *halves, const float *from,
                                       int64_t n) {
  st_half_bits *to = halves;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    st_eight x;
    memcpy(&x, from + i, sizeof x);
    st_f16c_store(to + i, st_f16c_plain_nan(x));
  }
  return i;
}

static inline int64_t st_widen_plain(float *to, const void *halves,
                                     int64_t n) {
  const char *from = halves;
  int64_t i = 0;
#if ST_VECTOR_BYTES == 64
  for (; i + 16 <= n; i += 16) {
    const st_sixteen x =
      st_f16c_loaded_nan_sixteen(st_f16c_load_sixteen(from + 2 * i));
    memcpy(to + i, &x, sizeof x);
  }
#endif
  for (; i + 8 <= n; i += 8) {
    const st_eight x = st_f16c_plain_nan(st_f16c_load(from + 2 * i));
    memcpy(to + i, &x, sizeof x);
  }
  return i;
}

/* -- ST_HALVES at a time --------------------------------------------------- */

#if ST_VECTOR_BYTES == 64
enum { ST_HALVES = 16 };
static inline void st_load_halves(float *to, const void *p) {
  const st_sixteen x = st_f16c_load_sixteen(p);
  memcpy(to, &x, sizeof x);
}
static inline void st_store_halves(void *p, const float *from) {
  st_sixteen x;
  memcpy(&x, from, sizeof x);
  st_f16c_store_sixteen(p, x);
}
#else
enum { ST_HALVES = 8 };
static inline void st_load_halves(float *to, const void *p) {
  st_widen_eights(to, p, ST_HALVES);
}
static inline void st_store_halves(void *p, const float *from) {
  st_narrow_eights(p, from, ST_HALVES);
}
#endif

#endif
