/* Extremum kernels: amax and amin.
 */

#include "kernel/reduce/reduction_bodies.h"

/* -- Integers ------------------------------------------------------------- */

#define INT_EXTREMUM(name, OP, s, T)                                        \
  ACCUMULATORS(name##_##s, T, OP)                                           \
  REDUCE(name##_##s, name##_##s, T, T, char, SAME, VALUE, OP, ANY_ORDER)

INTS(INT_EXTREMUM, amax, MAX)
INTS(INT_EXTREMUM, amin, MIN)

/* -- Floats --------------------------------------------------------------- */

/* True if any value is a zero or a NaN: all other values that compare equal
 * have the same bits, so the order of the reduction cannot matter. */
#define ZERO_OR_NAN(s, T)                                                   \
  static bool zero_or_nan_##s(const char *acc, int64_t n) {                 \
    const T *a = (const T *)acc;                                            \
    int found = 0;                                                          \
    for (int64_t j = 0; j < n; j++) found |= (a[j] == 0) | (a[j] != a[j]);  \
    return found; }

ZERO_OR_NAN(f32, float)
ZERO_OR_NAN(f64, double)

#define EXTREMUM(name, OP, s, T)                                            \
  ACCUMULATORS(name##_##s, T, OP)                                           \
  REDUCE(name##_##s, name##_##s, T, T, char, SAME, VALUE, OP,               \
         .may_differ = zero_or_nan_##s)

#define FLOAT_EXTREMUM(name, OP)                                            \
  EXTREMUM(name, OP, f32, float)                                            \
  EXTREMUM(name, OP, f64, double)                                           \
  HALVES(name, name##_f32, name##_f32, float, char,                         \
         .may_differ = zero_or_nan_f32)

FLOAT_EXTREMUM(amax, MAX)
FLOAT_EXTREMUM(amin, MIN)

/* -- Truth values --------------------------------------------------------- */

#define OR(a, b) ((a) | (b))
#define AND(a, b) ((a) & (b))

ACCUMULATORS(or_u8, uint8_t, OR)
ACCUMULATORS(and_u8, uint8_t, AND)
REDUCE(amax_b8, or_u8, uint8_t, uint8_t, char, SAME, NONZERO, OR, ANY_ORDER)
REDUCE(amin_b8, and_u8, uint8_t, uint8_t, char, SAME, NONZERO, AND, ANY_ORDER)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  REAL(amax, amax_b8), REAL(amin, amin_b8)};

ST_EXPORT(st__minmax, rows)
