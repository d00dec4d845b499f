/* Extremum kernels: amax and amin.
 */

#include <math.h>

#include "kernel/reduce/reduction_kernels.h"

/* -- Integers ------------------------------------------------------------- */

#define FIRST(x) ((x)[0])

#define FAMILY amax
#define OP MAX
#define PAD FIRST
#define OPTIONS ANY_ORDER
#include "kernel/reduce/integer_reductions.h"

#define FAMILY amin
#define OP MIN
#define PAD FIRST
#define OPTIONS ANY_ORDER
#include "kernel/reduce/integer_reductions.h"

/* -- Floats --------------------------------------------------------------- */

/* True if any value is a zero or a NaN: all other values that compare equal
 * have the same bits, so the order of the reduction cannot matter. */
#define ZERO_OR_NAN(T)                                                      \
  static bool zero_or_nan_##T(const char *acc, int64_t n) {                 \
    const T *a = (const T *)acc;                                            \
    int found = 0;                                                          \
    for (int64_t j = 0; j < n; j++) found |= (a[j] == 0) | (a[j] != a[j]);  \
    return found; }

ZERO_OR_NAN(f32)
ZERO_OR_NAN(f64)

#define LEAST(x) (-INFINITY)
#define GREATEST(x) INFINITY

/* amax_f32, amax_f64, amax_f16, amax_bf16 */
#define FAMILY amax
#define OP MAX
#define PAD LEAST
#define OPTIONS .may_differ = JOIN(zero_or_nan, T)
#define BY_COLUMNS
#include "kernel/reduce/float_reductions.h"

/* amin_f32, amin_f64, amin_f16, amin_bf16 */
#define FAMILY amin
#define OP MIN
#define PAD GREATEST
#define OPTIONS .may_differ = JOIN(zero_or_nan, T)
#define BY_COLUMNS
#include "kernel/reduce/float_reductions.h"

/* -- Truth values --------------------------------------------------------- */

#define NAME amax_b8
#define T u8
#define OP OR
#define MAP NONZERO
#define OPTIONS ANY_ORDER
#include "kernel/reduce/reduction_template.h"

#define NAME amin_b8
#define T u8
#define OP AND
#define MAP NONZERO
#define OPTIONS ANY_ORDER
#include "kernel/reduce/reduction_template.h"

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {"amax", {ST_BY_TYPE(REAL_BOOL, amax)}},
  {"amin", {ST_BY_TYPE(REAL_BOOL, amin)}}};

ST_EXPORT(st__minmax, rows)
