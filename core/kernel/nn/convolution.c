/* Convolution: sums of windows of an image, times weights.
 *
 * A tile of output channels and pixels is kept in registers. For each channel
 * and each element of the window, adjacent pixels are loaded and multiplied
 * with one weight per output channel: one load serves all output channels, one
 * weight all pixels. Where the processor has a fused multiply-add, it is used,
 * so the last bit of a sum may depend on the instruction set, as in BLAS.
 */

#include "kernel/nn/convolution.h"

#include <string.h>

#include "kernel/kernel.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* ROWS output channels and three vectors of pixels fit the registers, as do
 * PIXELS pixels of a vector of channels. */
#if defined(__AVX512F__)
enum { ROWS = 8, PIXELS = 8, BYTES = 64 };
#elif defined(__AVX2__)
enum { ROWS = 4, PIXELS = 8, BYTES = 32 };
#else
enum { ROWS = 4, PIXELS = 8, BYTES = 16 };
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

#define T float
#define TAG f4
#define V v_f4
#define LANES (BYTES / 4)
#define LOAD(p) (*(const v_f4 *)(const void *)(p))
#define STORE(p, v) (*(v_f4 *)(void *)(p) = (v))
#define SPLAT(x) ((x) - (v_f4){0}) /* exact, -0 too */
#define FMA FMA_f4
#include "kernel/nn/convolution_template.h"

#define T double
#define TAG f8
#define V v_f8
#define LANES (BYTES / 8)
#define LOAD(p) (*(const v_f8 *)(const void *)(p))
#define STORE(p, v) (*(v_f8 *)(void *)(p) = (v))
#define SPLAT(x) ((x) - (v_f8){0})
#define FMA FMA_f8
#include "kernel/nn/convolution_template.h"

static const st_kernel_row rows[] = {
  {ST_K_convolution, {[ST_FLOAT32] = convolution_f4,
                      [ST_FLOAT64] = convolution_f8}},
  {ST_K_depthwise, {[ST_FLOAT32] = depthwise_f4,
                    [ST_FLOAT64] = depthwise_f8}},
};

ST_EXPORT(st__convolution, rows)
