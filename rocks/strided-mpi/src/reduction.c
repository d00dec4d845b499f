/* The MPI types and operations of dtypes and reductions.
 *
 * Operations of ours serve where MPI has none: float16 and bfloat16, which MPI
 * sees as 16-bit integers, and the extrema of floating numbers, in which NaN
 * wins.
 */

#include <string.h>

#include "stmpi.h"

/* ORDER REDUCTION: stmpi.h */
static const char *const names[STMPI_REDUCTIONS] = {
  "sum", "prod", "min", "max", "avg", "band", "bor", "bxor",
};

const char *stmpi_reduction_name(stmpi_reduction r) { return names[r]; }

st_status stmpi_reduction_parse(const st_value *name, stmpi_reduction *out) {
  for (int i = 0; i < STMPI_REDUCTIONS; i++) {
    if (strlen(names[i]) == name->len &&
        memcmp(names[i], name->u.string, name->len) == 0) {
      *out = (stmpi_reduction)i;
      return ST_OK;
    }
  }
  return st_fail(ST_BAD_VALUE, "op is '%s'; it must be sum, prod, min, max, "
                 "avg, band, bor or bxor", name->u.string);
}

MPI_Datatype stmpi_type(st_dtype d) {
  switch (d) {
    case ST_INT8: return MPI_INT8_T;
    case ST_INT16: return MPI_INT16_T;
    case ST_INT32: return MPI_INT32_T;
    case ST_INT64: return MPI_INT64_T;
    case ST_UINT32: return MPI_UINT32_T;
    case ST_UINT64: return MPI_UINT64_T;
    case ST_FLOAT32: return MPI_FLOAT;
    case ST_FLOAT64: return MPI_DOUBLE;
    case ST_COMPLEX64: return MPI_C_FLOAT_COMPLEX;
    case ST_COMPLEX128: return MPI_C_DOUBLE_COMPLEX;
    case ST_UINT16: case ST_FLOAT16: case ST_BFLOAT16: return MPI_UINT16_T;
    default: return MPI_UINT8_T; /* uint8 and bool, which is 0 or 1 */
  }
}

/* -- Operations of ours --------------------------------------------------- */

/* The extrema of real numbers: a is kept unless b is beyond it or NaN. */
#define EXTREMUM(name, type, beyond)                                        \
  static void name(void *b, void *a, int *n, MPI_Datatype *t) {             \
    const type *const from = b;                                             \
    type *const to = a;                                                     \
    (void)t;                                                                \
    for (int i = 0; i < *n; i++) {                                          \
      const type x = to[i], y = from[i];                                    \
      to[i] = y beyond x || y != y ? y : x;                                 \
    }                                                                       \
  }
EXTREMUM(min_float, float, <)
EXTREMUM(max_float, float, >)
EXTREMUM(min_double, double, <)
EXTREMUM(max_double, double, >)

#define OF_HALVES(name, reduction, is_bfloat)                               \
  static void name(void *b, void *a, int *n, MPI_Datatype *t) {             \
    (void)t;                                                                \
    stmpi_half(reduction, is_bfloat, b, a, *n);                             \
  }
OF_HALVES(sum_half, STMPI_SUM, false)
OF_HALVES(prod_half, STMPI_PROD, false)
OF_HALVES(min_half, STMPI_MIN, false)
OF_HALVES(max_half, STMPI_MAX, false)
OF_HALVES(sum_bfloat, STMPI_SUM, true)
OF_HALVES(prod_bfloat, STMPI_PROD, true)
OF_HALVES(min_bfloat, STMPI_MIN, true)
OF_HALVES(max_bfloat, STMPI_MAX, true)

static struct {
  st_dtype dtype;
  stmpi_reduction reduction;
  MPI_User_function *fn;
  MPI_Op op;
} ours[] = {
  {ST_FLOAT32, STMPI_MIN, min_float, MPI_OP_NULL},
  {ST_FLOAT32, STMPI_MAX, max_float, MPI_OP_NULL},
  {ST_FLOAT64, STMPI_MIN, min_double, MPI_OP_NULL},
  {ST_FLOAT64, STMPI_MAX, max_double, MPI_OP_NULL},
  {ST_FLOAT16, STMPI_SUM, sum_half, MPI_OP_NULL},
  {ST_FLOAT16, STMPI_PROD, prod_half, MPI_OP_NULL},
  {ST_FLOAT16, STMPI_MIN, min_half, MPI_OP_NULL},
  {ST_FLOAT16, STMPI_MAX, max_half, MPI_OP_NULL},
  {ST_BFLOAT16, STMPI_SUM, sum_bfloat, MPI_OP_NULL},
  {ST_BFLOAT16, STMPI_PROD, prod_bfloat, MPI_OP_NULL},
  {ST_BFLOAT16, STMPI_MIN, min_bfloat, MPI_OP_NULL},
  {ST_BFLOAT16, STMPI_MAX, max_bfloat, MPI_OP_NULL},
};
enum { OURS = sizeof ours / sizeof *ours };

st_status stmpi_operations_create(void) {
  for (int i = 0; i < OURS; i++) {
    const int is_commutative = 1;
    TRY(stmpi_check(MPI_Op_create(ours[i].fn, is_commutative, &ours[i].op),
                    "MPI_Op_create"));
  }
  return ST_OK;
}

void stmpi_operations_free(void) {
  for (int i = 0; i < OURS; i++) {
    if (ours[i].op != MPI_OP_NULL) MPI_Op_free(&ours[i].op);
  }
}

/* -- Choice --------------------------------------------------------------- */

static bool is_complex(st_dtype d) {
  return d == ST_COMPLEX64 || d == ST_COMPLEX128;
}

static bool is_floating(st_dtype d) {
  return d == ST_FLOAT16 || d == ST_BFLOAT16 || d == ST_FLOAT32 ||
         d == ST_FLOAT64;
}

/* True if r makes sense for d. */
static bool is_defined(stmpi_reduction r, st_dtype d) {
  switch (r) {
    case STMPI_MIN: case STMPI_MAX: return !is_complex(d);
    case STMPI_AVG: return is_floating(d) || is_complex(d);
    case STMPI_BAND: case STMPI_BOR: case STMPI_BXOR:
      return !is_floating(d) && !is_complex(d);
    default: return true;
  }
}

static MPI_Op of_bool(stmpi_reduction r) {
  switch (r) {
    case STMPI_PROD: case STMPI_MIN: case STMPI_BAND: return MPI_BAND;
    case STMPI_BXOR: return MPI_BXOR;
    default: return MPI_BOR;
  }
}

static MPI_Op of_number(stmpi_reduction r) {
  switch (r) {
    case STMPI_PROD: return MPI_PROD;
    case STMPI_MIN: return MPI_MIN;
    case STMPI_MAX: return MPI_MAX;
    case STMPI_BAND: return MPI_BAND;
    case STMPI_BOR: return MPI_BOR;
    case STMPI_BXOR: return MPI_BXOR;
    default: return MPI_SUM;
  }
}

st_status stmpi_operation(stmpi_reduction r, st_dtype d, MPI_Op *out) {
  if (!is_defined(r, d)) {
    return st_fail(ST_BAD_DTYPE, "op '%s' is not defined for %s", names[r],
                   st_dtype_name(d));
  }
  const stmpi_reduction run = r == STMPI_AVG ? STMPI_SUM : r;
  if (is_floating(d)) {
    for (int i = 0; i < OURS; i++) {
      if (ours[i].dtype == d && ours[i].reduction == run) {
        *out = ours[i].op;
        return ST_OK;
      }
    }
  }
  *out = d == ST_BOOL ? of_bool(run) : of_number(run);
  return ST_OK;
}
