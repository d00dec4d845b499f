/* Kernels of max pooling: the greatest element of each window, where the first
 * NaN is the greatest, and its index in the image.
 */

#include <math.h>

#include "kernel/loop.h"
#include "kernel/nn/pool_units.h"

#include "kernel/math/half_rows.h"

#define OP(a, b) (((a) >= (b)) | IS_NAN(a) ? (a) : (b))
#define PLAIN(x) (x)
#define TRUTH(x) ((uint8_t)((x) != 0))

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
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#include "kernel/nn/max_pool_template.h"

#define T double
#define A double
#define I int64_t
#define F(name) name##_f64
#define NEUTRAL (-HUGE_VAL)
#define HAS_NAN 1
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#include "kernel/nn/max_pool_template.h"

#define T uint16_t
#define A float
#define I int32_t
#define F(name) name##_f16
#define NEUTRAL (-HUGE_VALF)
#define HAS_NAN 1
#define LOAD st_load_f16
#define STORE st_store_f16
#define HALF 1
#define IS_SAME 0
#include "kernel/nn/max_pool_template.h"

#define T uint16_t
#define A float
#define I int32_t
#define F(name) name##_bf16
#define NEUTRAL (-HUGE_VALF)
#define HAS_NAN 1
#define LOAD st_load_bf16
#define STORE st_store_bf16
#define HALF 1
#define IS_SAME 0
#include "kernel/nn/max_pool_template.h"

#define T uint8_t
#define A uint8_t
#define I int32_t
#define F(name) name##_u8
#define NEUTRAL 0
#define HAS_NAN 0
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#include "kernel/nn/max_pool_template.h"

#define T uint8_t
#define A uint8_t
#define I int32_t
#define F(name) name##_bool
#define NEUTRAL 0
#define HAS_NAN 0
#define IN TRUTH
#define HALF 0
#define IS_SAME 0
#include "kernel/nn/max_pool_template.h"

#define T int8_t
#define A int8_t
#define I int32_t
#define F(name) name##_i8
#define NEUTRAL INT8_MIN
#define HAS_NAN 0
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#include "kernel/nn/max_pool_template.h"

#define T int16_t
#define A int16_t
#define I int32_t
#define F(name) name##_i16
#define NEUTRAL INT16_MIN
#define HAS_NAN 0
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#include "kernel/nn/max_pool_template.h"

#define T int32_t
#define A int32_t
#define I int32_t
#define F(name) name##_i32
#define NEUTRAL INT32_MIN
#define HAS_NAN 0
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#include "kernel/nn/max_pool_template.h"

#define T int64_t
#define A int64_t
#define I int64_t
#define F(name) name##_i64
#define NEUTRAL INT64_MIN
#define HAS_NAN 0
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#include "kernel/nn/max_pool_template.h"

/* -- The table ------------------------------------------------------------ */

#define ALL(name)                                                           \
  {#name, {                                                           \
    [ST_BOOL] = name##_bool, [ST_UINT8] = name##_u8,                        \
    [ST_INT8] = name##_i8, [ST_INT16] = name##_i16,                         \
    [ST_INT32] = name##_i32, [ST_INT64] = name##_i64,                       \
    [ST_FLOAT16] = name##_f16, [ST_BFLOAT16] = name##_bf16,                 \
    [ST_FLOAT32] = name##_f32, [ST_FLOAT64] = name##_f64}}

static const st_kernel_row rows[] = {ALL(max_pool), ALL(max_pool_indices)};

ST_EXPORT(st__max_pool, rows)
