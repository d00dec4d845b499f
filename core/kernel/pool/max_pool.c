/* Kernels of max pooling: the greatest element of each window, where the first
 * NaN is the greatest, and its index in the image. Half types are compared as
 * floats, smaller integers and booleans as int32.
 */

#include <math.h>

#include "kernel/dtype_tables.h"
#include "kernel/pool/pool_types.h"

#define OP(a, b) (((a) >= (b)) | IS_NAN(a) ? (a) : (b))
#define SAME(x) (x)
#define TRUTH(x) ((x) != 0)
/* The neutral element of int32 is the least value of a smaller type. */
#define FROM_i8(T, x) (T)((x) < INT8_MIN ? INT8_MIN : (x))
#define FROM_i16(T, x) (T)((x) < INT16_MIN ? INT16_MIN : (x))
#define FROM_u8(T, x) (T)((x) < 0 ? 0 : (x))
#define FROM_i32(T, x) (x)
#define IN SAME

enum { SHORT = 256 }; /* columns of a row whose ends matter */

/* Where the first element of window o inside the image is along dimension
 * 2. */
static int64_t first_column(const st_pool_loops *p, int64_t o) {
  const int64_t first = st__pool_first(p, 2, o);
  const int64_t d = p->dilation[2];
  return first < 0 ? first + (d - 1 - first) / d * d : first;
}

/* The linear index of a column of the first row of a tile. */
static int64_t linear(const st_tile *t, int64_t column) {
  const int64_t *in = t->p->in;
  return (t->top[0] * in[1] + t->top[1]) * in[2] + column;
}

/* True if windows over the columns [first, last) are inside of the image, and
 * so far apart that vectors of windows are slower than vectors of columns. */
static bool lie_apart(const st_tile *t, int64_t first, int64_t last) {
  const st_pool_loops *p = t->p;
  return p->stride[2] > 3 && p->dilation[2] == 1 && first >= 0 &&
         last <= p->in[2] && t->rows[0] * t->rows[1] > 0;
}

#define T float
#define A float
#define I int32_t
#define F(name) name##_f32
#define NEUTRAL (-HUGE_VALF)
#define HAS_NAN 1
#define BY_ROWS 0
#include "kernel/pool/max_pool_template.h"

#define T double
#define A double
#define I int64_t
#define F(name) name##_f64
#define NEUTRAL (-HUGE_VAL)
#define HAS_NAN 1
#define BY_ROWS 0
#include "kernel/pool/max_pool_template.h"

#define T int64_t
#define A int64_t
#define I int64_t
#define F(name) name##_i64
#define NEUTRAL INT64_MIN
#define HAS_NAN 0
#define BY_ROWS 0
#include "kernel/pool/max_pool_template.h"

#define A float
#define I int32_t
#define F(name) name##_halves
#define NEUTRAL (-HUGE_VALF)
#define HAS_NAN 1
#define BY_ROWS 1
#include "kernel/pool/max_pool_template.h"

#define A int32_t
#define I int32_t
#define F(name) name##_integers
#define NEUTRAL INT32_MIN
#define HAS_NAN 0
#define BY_ROWS 1
#include "kernel/pool/max_pool_template.h"

/* -- The table ------------------------------------------------------------ */

ST_POOL_INTEGER(b8, uint8_t, int32_t, TRUTH, FROM_u8)
ST_POOL_INTEGER(u8, uint8_t, int32_t, SAME, FROM_u8)
ST_POOL_INTEGER(i8, int8_t, int32_t, SAME, FROM_i8)
ST_POOL_INTEGER(i16, int16_t, int32_t, SAME, FROM_i16)
ST_POOL_INTEGER(i32, int32_t, int32_t, SAME, FROM_i32)

ST_POOL_TASK(max_pool, b8, integers, &type_b8)
ST_POOL_TASKS(max_pool)
ST_POOL_TASK(max_pool_indices, b8, integers, &type_b8)
ST_POOL_TASKS(max_pool_indices)

#define ROW(name)                                                        \
  {#name, {ST_BY_TYPE(SIGNED, name##_task) ST_BY_TYPE(BOOL, name##_task) \
           ST_BY_TYPE(FLOAT, name##_task)}}

static const st_task_row rows[] = {ROW(max_pool), ROW(max_pool_indices)};

ST_EXPORT_TASKS(st__max_pool, rows)
