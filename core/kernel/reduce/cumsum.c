/* Scan kernels: cumulative sums and products along one dimension.
 *
 * A line is the elements along that dimension. The inner dimension of a loop
 * runs along a line, the outer one over the lines. Outputs come first.
 * Adjacent lines are scanned together, which vectorises; the order of the
 * operations in a line is always the same.
 */

#include "base/threads.h"
#include "kernel/dtype_tables.h"
#include "kernel/reduce/scan_across.h"

/* after it: defines a macro called complex */
#include "kernel/math/complex_exp_log.h"
#include "kernel/math/half_rows.h"

typedef float _Complex c64;
typedef double _Complex c128;

/* -- Running sums and products -------------------------------------------- */

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define WRAP_MUL(a, b) (1u * (a) * (b)) /* int does not overflow */

/* A cumulative sum or product of truth values is a bool: "or", "and". */
#define OR(a, b) ((a) | (b))
#define AND(a, b) ((a) & (b))

/* log(exp(a) + exp(b)) without overflow. Equal infinities give that
 * infinity. */
static inline double logaddexp(double a, double b) {
  if (a == b && isinf(a)) return a;
  if (isnan(a) || isnan(b)) return a + b;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

/* A term of a complex sum. The angle of log(0) is 0, and a NaN in one part
 * makes both parts NaN. */
static inline c128 log_term(c128 z) {
  if (st_cisnan(z)) return CMPLX(NAN, NAN);
  return creal(z) == -INFINITY ? CMPLX(-INFINITY, 0) : z;
}

/* Of two terms with equal real parts the later one gives the angle's turn. */
static inline c128 clogaddexp(c128 sum, c128 term) {
  return st_clogaddexp(term, sum);
}

#define SCAN(dtype) cumsum_##dtype
#define INT_OP ADD
#define BOOL_OP OR
#define FLOAT_OP ADD
#define COMPLEX_OP ADD
#define COMPLEX_LOAD(x) ((c128)(x))
#include "kernel/reduce/scan_dtypes.h"

#define SCAN(dtype) cumprod_##dtype
#define INT_OP WRAP_MUL
#define BOOL_OP AND
#define FLOAT_OP MUL
#define COMPLEX_OP st_cmul
#define COMPLEX_LOAD(x) ((c128)(x))
#include "kernel/reduce/scan_dtypes.h"

#define SCAN(dtype) logcumsumexp_##dtype
#define FLOAT_OP logaddexp
#define COMPLEX_OP clogaddexp
#define COMPLEX_LOAD log_term
#include "kernel/reduce/scan_dtypes.h"

/* -- The table ------------------------------------------------------------ */

#define INEXACT(name) ST_BY_TYPE(FLOAT, name) ST_BY_TYPE(COMPLEX, name)
#define NUMBER(name)                                                        \
  {#name, {ST_BY_TYPE(SIZED_INT, name) ST_BY_TYPE(BOOL, name)               \
           INEXACT(name)}}

static const st_kernel_row rows[] = {
  NUMBER(cumsum), NUMBER(cumprod), {"logcumsumexp", {INEXACT(logcumsumexp)}}};

ST_EXPORT(st__cumsum, rows)
