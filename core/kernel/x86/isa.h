/* kernel/isa.h for x86 with SSE2, with AVX2, FMA, BMI2 and F16C, or also with
 * AVX-512 F, DQ, BW and VL. The headers of intrinsics take longer to parse than
 * most kernels take to compile, so this calls builtins.
 */
#ifndef ST_KERNEL_X86_ISA_H
#define ST_KERNEL_X86_ISA_H

#include <string.h>

#if defined(__AVX512F__) && defined(__AVX512BW__)
#define ST_VECTOR_BYTES 64
#define ST_VECTOR_REGISTERS 32
#elif defined(__AVX2__)
#define ST_VECTOR_BYTES 32
#define ST_VECTOR_REGISTERS 16
#else
#define ST_VECTOR_BYTES 16
#define ST_VECTOR_REGISTERS 16
#endif
#define ST_VECTOR_OPERATIONS "kernel/x86/vectors.h"

#if defined(__FMA__)
#define ST_HAS_FMA 1
#else
#define ST_HAS_FMA 0
#endif
#if defined(__F16C__)
#define ST_HAS_HALVES 1
#else
#define ST_HAS_HALVES 0
#endif
#define ST_HAS_BLENDS (ST_VECTOR_BYTES > 16)
#define ST_HAS_TRUNCATION 1
#define ST_HAS_PERMUTATIONS (ST_VECTOR_BYTES > 16)
#define ST_HAS_FUNCTIONS (ST_VECTOR_BYTES == 64)

#if ST_HAS_FMA
#define ST_KEEP_ROUNDED(x) __asm__("" : "+x"(x))
#else
#define ST_KEEP_ROUNDED(x) ((void)(x))
#endif

typedef long long st_streamed
  __attribute__((vector_size(ST_VECTOR_BYTES), may_alias));
#if defined(__clang__)
#define ST_STREAM(to, x) __builtin_nontemporal_store(x, to)
#elif ST_VECTOR_BYTES == 64
#define ST_STREAM(to, x) __builtin_ia32_movntdq512(to, x)
#elif ST_VECTOR_BYTES == 32
#define ST_STREAM(to, x) __builtin_ia32_movntdq256(to, x)
#else
#define ST_STREAM(to, x) __builtin_ia32_movntdq(to, x)
#endif
static inline void st_stream_vector(void *to, const void *from) {
  st_streamed x;
  memcpy(&x, from, sizeof x);
  ST_STREAM((st_streamed *)to, x);
}
#define ST_STREAM_VECTOR st_stream_vector
#define ST_FENCE_STREAMS() __builtin_ia32_sfence()

#endif
