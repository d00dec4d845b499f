/* Sum and product kernels: sum, nansum, prod and the sum of exponentials
 * (logsumexp).
 */

#include "kernel/reduce/reduction_bodies.h"

#include "kernel/math/exp.h"

ACCUMULATORS(add_u64, uint64_t, ADD)
ACCUMULATORS(add_f64, double, ADD)
ACCUMULATORS(add_c128, c128, ADD)
ACCUMULATORS(mul_u64, uint64_t, MUL)
ACCUMULATORS(mul_f64, double, MUL)
ACCUMULATORS(mul_c64, c64, st_cmulf)
ACCUMULATORS(mul_c128, c128, st_cmul)

/* -- Sums ----------------------------------------------------------------- */

#define INT_SUM(name, s, T)                                                 \
  REDUCE(name##_##s, add_u64, T, uint64_t, char, WIDE, VALUE, ADD, ANY_ORDER)

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
  REDUCE(sum_##s, add_f64, T, double, char, F64, VALUE, ADD, .few = few_##s)

FLOAT_SUM(f32, float)
FLOAT_SUM(f64, double)
HALVES(sum, sum_f32, add_f64, double, char, IN_ORDER)
REDUCE(sum_c64, add_c128, c64, c128, char, C128, VALUE, ADD, IN_ORDER)
REDUCE(sum_c128, add_c128, c128, c128, char, C128, VALUE, ADD, IN_ORDER)

#define NAN_TO_ZERO(x, r) ((x) != (x) ? 0 : (x))

#define NAN_SUM(s, T)                                                       \
  REDUCE(nansum_##s, add_f64, T, double, char, F64, NAN_TO_ZERO, ADD,       \
         IN_ORDER)

NAN_SUM(f32, float)
NAN_SUM(f64, double)
HALVES(nansum, nansum_f32, add_f64, double, char, IN_ORDER)

REDUCE(sum_b8, add_u64, uint8_t, uint64_t, char, SAME, NONZERO, ADD, ANY_ORDER)

/* -- Sums of exponentials ------------------------------------------------- */

/* exp costs far more than a conversion, so all types are loaded as float64. */
#define EXP_OF(x, r) st__exp((x) - (r))

LOAD_EACH(f32_f64, float, double, load_32, F64)
LOAD_EACH(f16_f64, float, double, load_half, F64)
LOAD_EACH(bf16_f64, float, double, load_bf16, F64)

REDUCE(sumexp_f64, add_f64, double, double, double, SAME, EXP_OF, ADD,
       IN_ORDER)

#define EXP_SUM(s, size)                                                    \
  REDUCE_LOOP(sumexp_##s, load_##s##_f64, size, sumexp_f64, add_f64,        \
              double, double, double, IN_ORDER)

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

REDUCE(prod_i64, mul_u64, int64_t, uint64_t, char, WIDE, VALUE, MUL, ANY_ORDER)

#define INT_PRODUCT(s, size)                                                \
  REDUCE_LOOP(prod_##s, load_##s##_i64, size, prod_i64, mul_u64, int64_t,   \
              uint64_t, char, ANY_ORDER)

INT_PRODUCT(u8, 1)
INT_PRODUCT(i8, 1)
INT_PRODUCT(i16, 2)
INT_PRODUCT(i32, 4)
INT_PRODUCT(b8, 1)

REDUCE(prod_f32, mul_f64, float, double, char, F64, VALUE, MUL, IN_ORDER)
REDUCE(prod_f64, mul_f64, double, double, char, F64, VALUE, MUL, IN_ORDER)
HALVES(prod, prod_f32, mul_f64, double, char, IN_ORDER)
/* complex64 products are rounded to complex64, and may overflow, at every
 * step, as in ATen. */
REDUCE(prod_c64, mul_c64, c64, c64, char, SAME, VALUE, st_cmulf, IN_ORDER)
REDUCE(prod_c128, mul_c128, c128, c128, char, SAME, VALUE, st_cmul,
       IN_ORDER)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  NUMBER(sum, sum_b8), NUMBER(prod, prod_b8), FLOATING(nansum),
  FLOATING(sumexp)};

ST_EXPORT(st__sum, rows)
