/* Sum and product kernels: sum, nansum, prod and the sum of exponentials
 * (logsumexp).
 */

#include "kernel/reduce/reduction_kernels.h"

#include "kernel/math/masked_exp.h"

/* -- Accumulators --------------------------------------------------------- */

#define A u64
#include "kernel/reduce/accumulator_template.h"
#define A u64
#define OP MUL
#include "kernel/reduce/accumulator_template.h"
#define A f64
#include "kernel/reduce/accumulator_template.h"
#define A f64
#define OP MUL
#include "kernel/reduce/accumulator_template.h"
#define A c128
#include "kernel/reduce/accumulator_template.h"

/* -- Sums ----------------------------------------------------------------- */

#define FAMILY sum
#define A u64
#define OPTIONS ANY_ORDER
#include "kernel/reduce/integer_reductions.h"

#define NAME sum_b8
#define T u8
#define A u64
#define MAP NONZERO
#define OPTIONS ANY_ORDER
#include "kernel/reduce/reduction_template.h"

/* Sums of 2 to 4 elements, in the order of Note [Pairwise reduction tree]. */
#define FEW(T)                                                              \
  static void few_##T(char *acc, const char *in, int64_t n0, int64_t n1) {  \
    f64 *restrict a = (f64 *)acc;                                           \
    const T *x = (const T *)in;                                             \
    if (n0 == 2) for (int64_t j = 0; j < n1; j++)                           \
      a[j] = (f64)x[2 * j] + x[2 * j + 1];                                  \
    else if (n0 == 3) for (int64_t j = 0; j < n1; j++)                      \
      a[j] = (f64)x[3 * j] + x[3 * j + 2] + x[3 * j + 1];                   \
    else for (int64_t j = 0; j < n1; j++)                                   \
      a[j] = ((f64)x[4 * j] + x[4 * j + 2]) +                               \
             ((f64)x[4 * j + 1] + x[4 * j + 3]); }

FEW(f32)
FEW(f64)

/* sum_f32, sum_f64, sum_f16, sum_bf16 */
#define FAMILY sum
#define A f64
#define OPTIONS .few = JOIN(few, T)
#define BY_ROWS
#include "kernel/reduce/float_reductions.h"

#define FAMILY sum
#define A c128
#define T c64
#include "kernel/reduce/reduction_template.h"
#define T c128
#define ENDS_FAMILY
#include "kernel/reduce/reduction_template.h"

/* 0 instead of NaN, before the conversion: there a mask is as wide as an
 * element. On bits, since compilers move a comparison behind the conversion. */
static inline f64 number_f32(f32 x) {
  const uint32_t u = st__float_bits(x);
  return st__bits_float(u & -(uint32_t)((u & INT32_MAX) <= 0x7f800000));
}
static inline f64 number_f64(f64 x) { return x != x ? 0 : x; }

/* nansum_f32, nansum_f64, nansum_f16, nansum_bf16 */
#define FAMILY nansum
#define A f64
#define LOAD JOIN(number, T)
#define BY_ROWS
#include "kernel/reduce/float_reductions.h"

/* -- Sums of exponentials ------------------------------------------------- */

/* exp costs far more than a conversion, so all types are loaded as float64. */
#define NAME sumexp_f64
#define T f64
#define A f64
#define MAP(x, r) st_masked_exp_f8((x) - (r))
#define R f64
#define BY_COLUMNS
#include "kernel/reduce/reduction_template.h"

LOAD_EACH(f32_f64, f32, f64, load_32, SAME)
LOAD_EACH(f16_f64, f32, f64, load_half, SAME)
LOAD_EACH(bf16_f64, f32, f64, load_bf16, SAME)

LOOP(sumexp_f32, load_f32_f64, 4, sumexp_f64, ADD_f64,
     .columns = sumexp_f64_columns)
LOOP(sumexp_f16, load_f16_f64, 2, sumexp_f64, ADD_f64,
     .columns = sumexp_f64_columns)
LOOP(sumexp_bf16, load_bf16_f64, 2, sumexp_f64, ADD_f64,
     .columns = sumexp_f64_columns)

/* -- Products ------------------------------------------------------------- */

/* Integers are loaded as int64. */
#define NAME prod_i64
#define T i64
#define A u64
#define OP MUL
#define OPTIONS ANY_ORDER
#include "kernel/reduce/reduction_template.h"

LOAD_EACH(u8_i64, u8, u64, load_8, SAME)
LOAD_EACH(i8_i64, i8, u64, load_8, SAME)
LOAD_EACH(i16_i64, i16, u64, load_16, SAME)
LOAD_EACH(i32_i64, i32, u64, load_32, SAME)
LOAD_EACH(u16_i64, u16, u64, load_16, SAME)
LOAD_EACH(u32_i64, u32, u64, load_32, SAME)
LOAD_EACH(b8_i64, u8, u64, load_8, TRUTH_OF)

LOOP(prod_u8, load_u8_i64, 1, prod_i64, MUL_u64, ANY_ORDER)
LOOP(prod_i8, load_i8_i64, 1, prod_i64, MUL_u64, ANY_ORDER)
LOOP(prod_i16, load_i16_i64, 2, prod_i64, MUL_u64, ANY_ORDER)
LOOP(prod_i32, load_i32_i64, 4, prod_i64, MUL_u64, ANY_ORDER)
LOOP(prod_u16, load_u16_i64, 2, prod_i64, MUL_u64, ANY_ORDER)
LOOP(prod_u32, load_u32_i64, 4, prod_i64, MUL_u64, ANY_ORDER)
LOOP(prod_b8, load_b8_i64, 1, prod_i64, MUL_u64, ANY_ORDER)

#define prod_u64 prod_i64 /* the same bits */

/* prod_f32, prod_f64, prod_f16, prod_bf16 */
#define FAMILY prod
#define A f64
#define OP MUL
#define BY_ROWS
#include "kernel/reduce/float_reductions.h"

/* complex64 products are rounded to complex64, and may overflow, at every
 * step, as in ATen. */
#define FAMILY prod
#define OP ST_CMUL
#define T c64
#include "kernel/reduce/reduction_template.h"
#define T c128
#define ENDS_FAMILY
#include "kernel/reduce/reduction_template.h"

/* -- The table ------------------------------------------------------------ */

#define NUMBER(name)                                                        \
  {#name, {ST_BY_TYPE(REAL_BOOL, name) ST_BY_TYPE(COMPLEX, name)}}

static const st_kernel_row rows[] = {
  NUMBER(sum), NUMBER(prod), FLOATING(nansum), FLOATING(sumexp)};

ST_EXPORT(st__sum, rows)
