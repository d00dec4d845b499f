/* Gradient kernels of activations; each reads its operands once.
 */

#include "kernel/math/vec.h"

#include <tgmath.h>

#include "kernel/math/complex.h"
#include "kernel/math/exp.h"

/* -- Vectors -------------------------------------------------------------- */

#define SQRT_HALF        0.70710678118654752440
#define SQRT_2_OVER_PI   0.79788456080286535588
#define ONE_OVER_SQRT_2PI 0.39894228040143267794
#define CUBE_SHARE       0.044715

#define SILU_VEC(tag)                                                        \
  static inline V_##tag silu_##tag(V_##tag g, V_##tag x) {                   \
    const V_##tag s = 1.f / (1.f + V(exp, u10, -x));                         \
    return g * s * (1.f + x * (1.f - s));                                    \
  }
SILU_VEC(f4)
SILU_VEC(f8)
#undef SILU_VEC

#define MISH_VEC(tag)                                                        \
  static inline V_##tag mish_##tag(V_##tag g, V_##tag x) {                   \
    const V_##tag s = 1.f / (1.f + V(exp, u10, -x));                         \
    const V_##tag t = V(tanh, u10, V(log1p, u10, V(exp, u10, x)));           \
    return g * (t + x * s * (1.f - t * t));                                  \
  }
MISH_VEC(f4)
MISH_VEC(f8)
#undef MISH_VEC

/* `below` is the normal distribution at x, `at` its density. */
#define GELU_VEC(tag)                                                        \
  static inline V_##tag gelu_##tag(V_##tag g, V_##tag x) {                   \
    typedef T_##tag T;                                                       \
    const V_##tag below = .5f * (1.f + V(erf, u10, x * (T)SQRT_HALF));       \
    const V_##tag at = V(exp, u10, -.5f * x * x) * (T)ONE_OVER_SQRT_2PI;     \
    return g * (below + x * at);                                             \
  }
GELU_VEC(f4)
GELU_VEC(f8)
#undef GELU_VEC

#define GELU_TANH_VEC(tag)                                                   \
  static inline V_##tag gelu_tanh_##tag(V_##tag g, V_##tag x) {              \
    typedef T_##tag T;                                                       \
    const V_##tag t = V(tanh, u10, (T)SQRT_2_OVER_PI *                       \
                                   (x + (T)CUBE_SHARE * x * x * x));         \
    const V_##tag inner = (T)SQRT_2_OVER_PI *                                \
                          (1.f + (T)(3 * CUBE_SHARE) * x * x);               \
    return g * (.5f * (1.f + t) + .5f * x * (1.f - t * t) * inner);          \
  }
GELU_TANH_VEC(f4)
GELU_TANH_VEC(f8)
#undef GELU_TANH_VEC

#define BY_VEC(fn, g, x) _Generic((x), V_f4: fn##_f4, V_f8: fn##_f8)(g, x)
#define SILU(g, x) BY_VEC(silu, g, x)
#define MISH(g, x) BY_VEC(mish, g, x)
#define GELU(g, x) BY_VEC(gelu, g, x)
#define GELU_TANH(g, x) BY_VEC(gelu_tanh, g, x)

/* -- Scalars -------------------------------------------------------------- */

#define EXP(x) _Generic((x), float: st__expf, default: st__exp)(x)
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
