/* kernel/vectors.h for x86.
 */
#ifndef ST_KERNEL_X86_VECTORS_H
#define ST_KERNEL_X86_VECTORS_H

#if ST_VECTOR_BYTES > 16
#include <immintrin.h>

#define ST_LOAD_16(p) _mm_loadu_si128((const __m128i_u *)(const void *)(p))
#define ST_LOAD_32(p) _mm256_loadu_si256((const __m256i_u *)(const void *)(p))
#define LOAD_2x16(p, q)                                                      \
  _mm256_inserti128_si256(_mm256_castsi128_si256(ST_LOAD_16(p)),             \
                          ST_LOAD_16(q), 1)
#endif

#if ST_VECTOR_BYTES == 64
#include "kernel/x86/vectors_512.h"
#elif ST_VECTOR_BYTES == 32
#include "kernel/x86/vectors_256.h"
#else
#include "kernel/x86/vectors_128.h"
#endif

#endif
