/* Gradient kernels of activations; each reads its operands once.
 */

#include "kernel/math/functions.h"

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/math/complex.h"

#define SQRT_HALF        0.70710678118654752440
#define SQRT_2_OVER_PI   0.79788456080286535588
#define ONE_OVER_SQRT_2PI 0.39894228040143267794
#define CUBE_SHARE       0.044715

/* Derivatives; those of gelu are the normal distribution and x times its
 * density. */
#define SIGMOID(x) (1 / (1 + F(exp)(-(x))))
#define SILU_SLOPE(x, s) ((s) * (1 + (x) * (1 - (s))))
#define MISH_SLOPE(x, s, t) ((t) + (x) * (s) * (1 - (t) * (t)))
#define GELU_SLOPE(x) \
  ((T)0.5 * (1 + F(erf)((x) * (T)SQRT_HALF)) + \
   (x) * (F(exp)((T)-0.5 * (x) * (x)) * (T)ONE_OVER_SQRT_2PI))
#define GELU_TANH(x) \
  F(tanh)((T)SQRT_2_OVER_PI * ((x) + (T)CUBE_SHARE * (x) * (x) * (x)))
#define GELU_TANH_SLOPE(x, t) \
  ((T)0.5 * (1 + (t)) + (T)0.5 * (x) * (1 - (t) * (t)) * \
   ((T)SQRT_2_OVER_PI * (1 + (T)(3 * CUBE_SHARE) * (x) * (x))))
/* small is exp(-|x|), which cannot overflow. */
#define LOG_SIGMOID_PART(x, small) \
  ((x) < 0 ? (small) / (1 + (small)) : -((small) / (1 + (small))))
/* Rounded to float32 even for float64, as in ATen. */
#define A_SIXTH (1.f / 6.f)
/* True where x is clamped, so that logit has no gradient. */
#define LOGIT_LACKS(x, eps) ((x) < (eps) || (x) > 1 - (eps))

/* -- Rows ----------------------------------------------------------------- */

#define ST_LOOPS(name, grain, pattern, list, ...) \
  ST_LIST_##list(ST_##pattern, name, __VA_ARGS__)
#define ST_LOOPS_MORE ST_LOOPS
#include "kernel/elementwise/backward.def"
#undef ST_LOOPS

static const st_kernel_row rows[] = {
#define ST_LOOPS(name, grain, pattern, list, ...) \
  {ST_K_##name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_LOOPS_MORE ST_LOOPS
#include "kernel/elementwise/backward.def"
};

ST_EXPORT(st__backward, rows)
