/* Kernels with one input.
 */

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/elementwise/expression.h"
#include "kernel/math/bessel.h"
#include "kernel/math/far_angle.h"
#include "kernel/math/functions.h"
#include "kernel/math/special.h"

#include <tgmath.h>

#include "kernel/math/complex_exp_log.h"

#define PI    3.14159265358979323846
#define LN_2  0.69314718055994530942
#define LN_10 2.30258509299404568402
#define BESSEL(x, order) \
  _Generic((x), float: st_bessel_f4, default: st_bessel)(x, order)
#define BESSEL_SCALED(x, order)                                    \
  _Generic((x), float: st_bessel_scaled_f4,                        \
           default: st_bessel_scaled)(x, order)
/* lgamma writes the sign to a global variable. */
#define LGAMMA(x) \
  _Generic((x), float: lgammaf_r, default: lgamma_r)(x, &(int){0})
#define LARGER_PART(z) fmax(fabs(creal(z)), fabs(cimag(z)))

#define ST_UNARY(name, grain, list, ...) \
  ST_LIST_##list(ST_UNARY, name, __VA_ARGS__)
#define ST_PREDICATE(name, grain, list, ...) \
  ST_LIST_##list(ST_PREDICATE, name, __VA_ARGS__)
#define ST_UNARY_MORE ST_UNARY
#define ST_PREDICATE_MORE ST_PREDICATE
#include "kernel/elementwise/unary.def"
#undef ST_UNARY

static const st_kernel_row rows[] = {
#define ST_UNARY(name, grain, list, ...) \
  {ST_K_##name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_PREDICATE ST_UNARY
#define ST_UNARY_MORE ST_UNARY
#define ST_PREDICATE_MORE ST_UNARY
#include "kernel/elementwise/unary.def"
};

ST_EXPORT(st__unary, rows)
