/* Norm kernels: sums of absolute values, squares and powers, the maximum and
 * the minimum absolute value; and sums of squared deviations, for variances.
 */

#include "kernel/reduce/reduction_bodies.h"

ACCUMULATORS(add_f64, double, ADD)
ACCUMULATORS(max_f64, double, MAX)
ACCUMULATORS(min_f64, double, MIN)

/* -- Floats --------------------------------------------------------------- */

#define ABS(x, r) fabs(x)
#define SQUARE(x, r) ((x) * (x))
#define SQDEV(x, r) (((x) - (r)) * ((x) - (r)))

#define FLOATS(name, accs, R, E, OP)                                        \
  REDUCE(name##_f32, accs, float, double, R, F64, E, OP, IN_ORDER)          \
  REDUCE(name##_f64, accs, double, double, R, F64, E, OP, IN_ORDER)         \
  HALVES(name, name##_f32, accs, double, R, IN_ORDER)

FLOATS(norm1, add_f64, char, ABS, ADD)
FLOATS(norm2, add_f64, char, SQUARE, ADD)
FLOATS(norm_inf, max_f64, char, ABS, MAX)
FLOATS(norm_neginf, min_f64, char, ABS, MIN)
FLOATS(sqdev, add_f64, double, SQDEV, ADD)

/* -- Complex numbers ------------------------------------------------------ */

/* The map is part of the load, which yields float64; E is the identity. */
static inline double sqabs(c128 x) {
  return creal(x) * creal(x) + cimag(x) * cimag(x);
}

LOAD_EACH(abs_c64, c64, double, load_64, cabs)
LOAD_EACH(abs_c128, c128, double, load_128, cabs)
LOAD_EACH(sqabs_c64, c64, double, load_64, sqabs)
LOAD_EACH(sqabs_c128, c128, double, load_128, sqabs)

REDUCE_BODIES(add, add_f64, double, double, char, SAME, VALUE, ADD)
REDUCE_BODIES(max, max_f64, double, double, char, SAME, VALUE, MAX)
REDUCE_BODIES(min, min_f64, double, double, char, SAME, VALUE, MIN)

#define LOADED(loop, load_fn, size, name)                                   \
  REDUCE_LOOP(loop, load_fn, size, name, name##_f64, double, double, char,  \
              .maps = true)

#define COMPLEX_NORMS(s, size)                                              \
  LOADED(norm1_##s, load_abs_##s, size, add)                                \
  LOADED(norm2_##s, load_sqabs_##s, size, add)                              \
  LOADED(norm_inf_##s, load_abs_##s, size, max)                             \
  LOADED(norm_neginf_##s, load_abs_##s, size, min)

COMPLEX_NORMS(c64, 8)
COMPLEX_NORMS(c128, 16)

#define CSQDEV(x, r) sqabs((x) - (r))

LOAD_EACH(c64_c128, c64, c128, load_64, C128)
REDUCE(sqdev_c128, add_f64, c128, double, c128, SAME, CSQDEV, ADD, IN_ORDER)
REDUCE_LOOP(sqdev_c64, load_c64_c128, 8, sqdev_c128, add_f64, c128, double,
            c128, IN_ORDER)

/* -- Powers --------------------------------------------------------------- */

/* pow costs far more than a conversion, so all types share one reduction of
 * float64, and the load takes the absolute value. */
LOAD_EACH(abs_f32, float, double, load_32, fabs)
LOAD_EACH(abs_f64, double, double, load_64, fabs)
LOAD_EACH(abs_f16, float, double, load_half, fabs)
LOAD_EACH(abs_bf16, float, double, load_bf16, fabs)

REDUCE_BODIES(power, add_f64, double, double, double, SAME, pow, ADD)

#define POWERS(s, size)                                                     \
  REDUCE_LOOP(normp_##s, load_abs_##s, size, power, add_f64, double,        \
              double, double, .maps = true)

POWERS(f16, 2)
POWERS(bf16, 2)
POWERS(f32, 4)
POWERS(f64, 8)
POWERS(c64, 8)
POWERS(c128, 16)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  INEXACT(norm1), INEXACT(norm2), INEXACT(normp), INEXACT(norm_inf),
  INEXACT(norm_neginf), INEXACT(sqdev)};

ST_EXPORT(st__norm, rows)
