/* Vectors of the widest registers and their multiply-add, a b + c, which is
 * fused where the instruction set has it.
 */
#ifndef ST_KERNEL_VECTORS_H
#define ST_KERNEL_VECTORS_H

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { BYTES = 64 };
#elif defined(__AVX2__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif

typedef float v_f4 __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef double v_f8 __attribute__((vector_size(BYTES), aligned(8), may_alias));

#if defined(__AVX512F__)
#define FMA_f4(a, b, c) (v_f4)_mm512_fmadd_ps((__m512)(a), (__m512)(b), \
                                              (__m512)(c))
#define FMA_f8(a, b, c) (v_f8)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), \
                                              (__m512d)(c))
#elif defined(__AVX2__)
#define FMA_f4(a, b, c) (v_f4)_mm256_fmadd_ps((__m256)(a), (__m256)(b), \
                                              (__m256)(c))
#define FMA_f8(a, b, c) (v_f8)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), \
                                              (__m256d)(c))
#else
#define FMA_f4(a, b, c) ((a) * (b) + (c))
#define FMA_f8(a, b, c) ((a) * (b) + (c))
#endif

#endif
