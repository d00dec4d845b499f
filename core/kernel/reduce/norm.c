/* Norm kernels: sums of absolute values, squares and powers, the maximum and
 * the minimum absolute value; and sums of squared deviations, for variances.
 */

#include "kernel/reduce/reduction_kernels.h"

/* -- Reductions of what loads yield --------------------------------------- */

/* They make the accumulators, too: ADD_f64, MAX_f64 and MIN_f64. */
#define NAME add
#define T f64
#include "kernel/reduce/reduction_template.h"

#define NAME max
#define T f64
#define OP MAX
#include "kernel/reduce/reduction_template.h"

#define NAME min
#define T f64
#define OP MIN
#include "kernel/reduce/reduction_template.h"

/* -- Floats --------------------------------------------------------------- */

/* norm1_f32, norm1_f64, norm1_f16, norm1_bf16 */
#define FAMILY norm1
#define A f64
#define BY_ROWS
#define MAP(x, r) fabs(x)
#include "kernel/reduce/float_reductions.h"

/* norm2_f32, norm2_f64, norm2_f16, norm2_bf16 */
#define FAMILY norm2
#define A f64
#define BY_ROWS
#define MAP(x, r) ((x) * (x))
#include "kernel/reduce/float_reductions.h"

/* norm_inf_f32, norm_inf_f64, norm_inf_f16, norm_inf_bf16 */
#define FAMILY norm_inf
#define A f64
#define OP MAX
#define BY_COLUMNS
#define MAP(x, r) fabs(x)
#include "kernel/reduce/float_reductions.h"

/* norm_neginf_f32, norm_neginf_f64, norm_neginf_f16, norm_neginf_bf16 */
#define FAMILY norm_neginf
#define A f64
#define OP MIN
#define BY_COLUMNS
#define MAP(x, r) fabs(x)
#include "kernel/reduce/float_reductions.h"

/* sqdev_f32, sqdev_f64, sqdev_f16, sqdev_bf16 */
#define FAMILY sqdev
#define A f64
#define BY_ROWS
#define MAP(x, r) (((x) - (r)) * ((x) - (r)))
#define R f64
#include "kernel/reduce/float_reductions.h"

/* -- Complex numbers ------------------------------------------------------ */

/* The load yields the float64 that is added or compared. */
static inline double sqabs(c128 x) {
  return creal(x) * creal(x) + cimag(x) * cimag(x);
}

LOAD_EACH(abs_c64, c64, f64, load_64, cabs)
LOAD_EACH(abs_c128, c128, f64, load_128, cabs)
LOAD_EACH(sqabs_c64, c64, f64, load_64, sqabs)
LOAD_EACH(sqabs_c128, c128, f64, load_128, sqabs)

LOOP(norm1_c64, load_abs_c64, 8, add, ADD_f64, .maps = true)
LOOP(norm2_c64, load_sqabs_c64, 8, add, ADD_f64, .maps = true)
LOOP(norm_inf_c64, load_abs_c64, 8, max, MAX_f64, .maps = true)
LOOP(norm_neginf_c64, load_abs_c64, 8, min, MIN_f64, .maps = true)
LOOP(norm1_c128, load_abs_c128, 16, add, ADD_f64, .maps = true)
LOOP(norm2_c128, load_sqabs_c128, 16, add, ADD_f64, .maps = true)
LOOP(norm_inf_c128, load_abs_c128, 16, max, MAX_f64, .maps = true)
LOOP(norm_neginf_c128, load_abs_c128, 16, min, MIN_f64, .maps = true)

#define NAME sqdev_c128
#define T c128
#define A f64
#define LOAD SAME
#define MAP(x, r) sqabs((x) - (r))
#define R c128
#include "kernel/reduce/reduction_template.h"

LOAD_EACH(c64_c128, c64, c128, load_64, SAME)
LOOP(sqdev_c64, load_c64_c128, 8, sqdev_c128, ADD_f64, IN_ORDER)

/* -- Powers --------------------------------------------------------------- */

/* pow costs far more than a conversion, so all types share one reduction of
 * float64, and the load takes the absolute value. */
LOAD_EACH(abs_f32, f32, f64, load_32, fabs)
LOAD_EACH(abs_f64, f64, f64, load_64, fabs)
LOAD_EACH(abs_f16, f32, f64, load_half, fabs)
LOAD_EACH(abs_bf16, f32, f64, load_bf16, fabs)

#define NAME power
#define T f64
#define A f64
#define MAP pow
#define R f64
#include "kernel/reduce/reduction_template.h"

LOOP(normp_f16, load_abs_f16, 2, power, ADD_f64, .maps = true)
LOOP(normp_bf16, load_abs_bf16, 2, power, ADD_f64, .maps = true)
LOOP(normp_f32, load_abs_f32, 4, power, ADD_f64, .maps = true)
LOOP(normp_f64, load_abs_f64, 8, power, ADD_f64, .maps = true)
LOOP(normp_c64, load_abs_c64, 8, power, ADD_f64, .maps = true)
LOOP(normp_c128, load_abs_c128, 16, power, ADD_f64, .maps = true)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  INEXACT(norm1), INEXACT(norm2), INEXACT(normp), INEXACT(norm_inf),
  INEXACT(norm_neginf), INEXACT(sqdev)};

ST_EXPORT(st__norm, rows)
