/* The conversion instructions of F16C, eight halves at a time. The headers of
 * intrinsics take longer to parse than most kernels take to compile, so this
 * calls the two builtins behind them, which GCC and Clang share.
 */
#ifndef ST_KERNEL_MATH_F16C_H
#define ST_KERNEL_MATH_F16C_H

#if defined(__F16C__)
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
#endif

/* Sixteen at a time, with the default NaN in what is stored. */
#if defined(__AVX512F__)
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

#endif
