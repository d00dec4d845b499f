/* Sum and product kernels: sum, nansum, prod and the sum of exponentials
 * (logsumexp).
 */

#include "kernel/reduction_bodies.h"

#include "kernel/exp.h"

ACCUMULATORS(add_u64, uint64_t, ADD)
ACCUMULATORS(add_f64, double, ADD)
ACCUMULATORS(add_c128, c128, ADD)
ACCUMULATORS(mul_u64, uint64_t, MUL)
ACCUMULATORS(mul_f64, double, MUL)
ACCUMULATORS(mul_c64, c64, st_cmulf)
ACCUMULATORS(mul_c128, c128, st_cmul)

/* -- Sums ----------------------------------------------------------------- */

#define INT_SUM(name, s, T)                                                 \
  FOLD(name##_##s, add_u64, T, uint64_t, char, WIDE, ITSELF, ADD, ANY_ORDER)

INTS(INT_SUM, sum)

/* Sums of 2 to 4 elements, in the order of Note [Pairwise reduction tree]. */
#define FEW(s, T)                                                           \
  static void few_##s(char *acc, const char *in, int64_t n0, int64_t n1) {  \
    double *restrict a = (double *)acc;                                     \
    const T *x = (const T *)in;                                             \
    if (n0 == 2) for (int64_t j = 0; j < n1; j++)                           \
      a[j] = F64(x[2 * j]) + F64(x[2 * j + 1]);                             \
    else if (n0 == 3) for (int64_t j = 0; j < n1; j++)                      \
      a[j] = F64(x[3 * j]) + F64(x[3 * j + 2]) + F64(x[3 * j + 1]);         \
    else for (int64_t j = 0; j < n1; j++)                                   \
      a[j] = (F64(x[4 * j]) + F64(x[4 * j + 2])) +                          \
             (F64(x[4 * j + 1]) + F64(x[4 * j + 3])); }

#define FLOAT_SUM(s, T)                                                     \
  FEW(s, T)                                                                 \
  FOLD(sum_##s, add_f64, T, double, char, F64, ITSELF, ADD, .few = few_##s)

FLOAT_SUM(f32, float)
FLOAT_SUM(f64, double)
HALVES(sum, sum_f32, add_f64, double, char, ORDERED_FOLD)
FOLD(sum_c64, add_c128, c64, c128, char, C128, ITSELF, ADD, ORDERED_FOLD)
FOLD(sum_c128, add_c128, c128, c128, char, C128, ITSELF, ADD, ORDERED_FOLD)

#define UNLESS_NAN(x, r) ((x) != (x) ? 0 : (x))

#define NAN_SUM(s, T)                                                       \
  FOLD(nansum_##s, add_f64, T, double, char, F64, UNLESS_NAN, ADD,          \
       ORDERED_FOLD)

NAN_SUM(f32, float)
NAN_SUM(f64, double)
HALVES(nansum, nansum_f32, add_f64, double, char, ORDERED_FOLD)

FOLD(sum_b8, add_u64, uint8_t, uint64_t, char, SAME, NONZERO, ADD, ANY_ORDER)

/* -- Sums of exponentials ------------------------------------------------- */

/* exp costs far more than a conversion, so all types are loaded as float64. */
#define EXP_OF(x, r) st__exp((x) - (r))

LOAD_EACH(f32_f64, float, double, load_32, F64)
LOAD_EACH(f16_f64, float, double, load_half, F64)
LOAD_EACH(bf16_f64, float, double, load_bf16, F64)

FOLD(sumexp_f64, add_f64, double, double, double, SAME, EXP_OF, ADD,
     ORDERED_FOLD)

#define EXP_SUM(s, size)                                                    \
  FOLD_LOOP(sumexp_##s, load_##s##_f64, size, sumexp_f64, add_f64, double,  \
            double, double, ORDERED_FOLD)

EXP_SUM(f32, 4)
EXP_SUM(f16, 2)
EXP_SUM(bf16, 2)

/* -- Products ------------------------------------------------------------- */

/* Integers are loaded as int64. */
LOAD_EACH(u8_i64, uint8_t, uint64_t, load_8, WIDE)
LOAD_EACH(i8_i64, int8_t, uint64_t, load_8, WIDE)
LOAD_EACH(i16_i64, int16_t, uint64_t, load_16, WIDE)
LOAD_EACH(i32_i64, int32_t, uint64_t, load_32, WIDE)
LOAD_EACH(b8_i64, uint8_t, uint64_t, load_8, TRUTH_OF)

FOLD(prod_i64, mul_u64, int64_t, uint64_t, char, WIDE, ITSELF, MUL, ANY_ORDER)

#define INT_PRODUCT(s, size)                                                \
  FOLD_LOOP(prod_##s, load_##s##_i64, size, prod_i64, mul_u64, int64_t,     \
            uint64_t, char, ANY_ORDER)

INT_PRODUCT(u8, 1)
INT_PRODUCT(i8, 1)
INT_PRODUCT(i16, 2)
INT_PRODUCT(i32, 4)
INT_PRODUCT(b8, 1)

FOLD(prod_f32, mul_f64, float, double, char, F64, ITSELF, MUL, ORDERED_FOLD)
FOLD(prod_f64, mul_f64, double, double, char, F64, ITSELF, MUL, ORDERED_FOLD)
HALVES(prod, prod_f32, mul_f64, double, char, ORDERED_FOLD)
/* complex64 products are rounded to complex64, and may overflow, at every
 * step, as in ATen. */
FOLD(prod_c64, mul_c64, c64, c64, char, SAME, ITSELF, st_cmulf, ORDERED_FOLD)
FOLD(prod_c128, mul_c128, c128, c128, char, SAME, ITSELF, st_cmul,
     ORDERED_FOLD)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  NUMBER(sum, sum_b8), NUMBER(prod, prod_b8), FLOATING(nansum),
  FLOATING(sumexp)};

ST_EXPORT(st__sum, rows)
