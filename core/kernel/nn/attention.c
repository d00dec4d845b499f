/* The steps of scaled_dot_product_attention between its matrix products
 * (kernel/nn/attention.h). A column is computed in the same order whatever the
 * instruction set: rows in blocks of BLOCK, sums of blocks in double.
 */

#include "kernel/nn/attention.h"

#include <math.h>
#include <stdbool.h>

#include "kernel/loop.h"
#include "kernel/math/masked_exp.h"
#include "kernel/unroll.h"

enum { BLOCK = 32, LANES = 16, SIDE = 4 };

#define LARGER(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))

/* x = exp(x - by), of GROUP elements */
#if defined(__AVX512F__)
#include "kernel/math/vectors_512.h"
#define EXP_MINUS(tag, W, V, ps)                                            \
  INLINE void exp_minus_##tag(W *x, const W *by) {                          \
    enum { N = 64 / sizeof(W) };                                            \
    V v[] = {_mm512_loadu_##ps(x) - _mm512_loadu_##ps(by),                  \
             _mm512_loadu_##ps(x + N) - _mm512_loadu_##ps(by + N)};         \
    st_exp_512_##tag(v);                                                    \
    _mm512_storeu_##ps(x, v[0]);                                            \
    _mm512_storeu_##ps(x + N, v[1]);                                        \
  }
#else
#define EXP_MINUS(tag, W, V, ps)                                            \
  INLINE void exp_minus_##tag(W *x, const W *by) {                          \
    for (int l = 0; l < 128 / (int)sizeof(W); l++)                          \
      x[l] = st_masked_exp_##tag(x[l] - by[l]); }
#endif

EXP_MINUS(f4, float, __m512, ps)
EXP_MINUS(f8, double, __m512d, pd)

#define T float
#define NAME(name) name##_f4
#include "kernel/nn/attention_template.h"

#define T double
#define NAME(name) name##_f8
#include "kernel/nn/attention_template.h"

#define BOTH(name) \
  {#name, {[ST_FLOAT32] = name##_f4, [ST_FLOAT64] = name##_f8}}

static const st_kernel_row rows[] = {
  BOTH(attention_weights), BOTH(attention_slopes), BOTH(attention_mask),
  BOTH(attention_dots),
};

ST_EXPORT(st__attention, rows)
