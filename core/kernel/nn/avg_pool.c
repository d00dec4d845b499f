/* Kernels of average pooling: sums of windows (Note [Order of pooling]),
 * divided by numbers of elements. Half types are computed in float32, integers
 * in int64.
 */

#include "kernel/loop.h"
#include "kernel/nn/pool_units.h"

#include "kernel/math/half_rows.h"

#define OP(a, b) ((a) + (b))
#define PLAIN(x) (x)
#define WIDEN(x) ((uint64_t)(x))

/* The number of rows of each window. inner: the range of the tile's windows
 * whose columns are all in the image or, if the divisor is given, all. */
static int64_t full_windows(const st_tile *t, int64_t *inner) {
  const st_pool_loops *p = t->p;
  const int64_t pad = p->padding[2], s = p->stride[2];
  const int64_t rows = st__pool_count(p, 0, t->o[0]) *
                       st__pool_count(p, 1, t->o[1]);
  const int64_t last = t->first + t->n - 1;
  inner[0] = 0;
  inner[1] = p->adaptive && !p->divisor ? 0 : t->n;
  if (p->divisor || p->adaptive || (st__pool_first(p, 2, t->first) >= 0 &&
                                    st__pool_last(p, 2, last) <= p->in[2])) {
    return rows;
  }
  const int64_t right = p->in[2] + (p->with_padding ? pad : 0) + pad -
                        p->kernel[2];
  inner[0] = p->with_padding ? 0 : (pad + s - 1) / s;
  inner[1] = right < 0 ? 0 : right / s + 1;
  for (int i = 0; i < 2; i++) inner[i] -= t->first;
  if (inner[0] < 0) inner[0] = 0;
  if (inner[1] > t->n) inner[1] = t->n;
  return rows;
}

/* Integers wrap around; they are divided towards 0. */
static inline int64_t divided(uint64_t sum, int64_t n) {
  return n == -1 ? (int64_t)(0 - sum) : (int64_t)sum / n;
}

/* A sum starts with 0: it is never -0. */
#define BY(sum, n) (((sum) + 0) / (float)(n))
#define BY_DOUBLE(sum, n) (((sum) + 0) / (double)(n))

#define T float
#define A float
#define F(name) name##_f32
#define NEUTRAL 0
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#define DIVIDE BY
#include "kernel/nn/avg_pool_template.h"

#define T double
#define A double
#define F(name) name##_f64
#define NEUTRAL 0
#define IN PLAIN
#define HALF 0
#define IS_SAME 1
#define DIVIDE BY_DOUBLE
#include "kernel/nn/avg_pool_template.h"

#define T uint16_t
#define A float
#define F(name) name##_f16
#define NEUTRAL 0
#define LOAD st_load_f16
#define STORE st_store_f16
#define HALF 1
#define IS_SAME 0
#define DIVIDE BY
#include "kernel/nn/avg_pool_template.h"

#define T uint16_t
#define A float
#define F(name) name##_bf16
#define NEUTRAL 0
#define LOAD st_load_bf16
#define STORE st_store_bf16
#define HALF 1
#define IS_SAME 0
#define DIVIDE BY
#include "kernel/nn/avg_pool_template.h"

#define T uint8_t
#define A uint64_t
#define F(name) name##_u8
#define NEUTRAL 0
#define IN WIDEN
#define HALF 0
#define IS_SAME 0
#define DIVIDE divided
#include "kernel/nn/avg_pool_template.h"

#define T int8_t
#define A uint64_t
#define F(name) name##_i8
#define NEUTRAL 0
#define IN WIDEN
#define HALF 0
#define IS_SAME 0
#define DIVIDE divided
#include "kernel/nn/avg_pool_template.h"

#define T int16_t
#define A uint64_t
#define F(name) name##_i16
#define NEUTRAL 0
#define IN WIDEN
#define HALF 0
#define IS_SAME 0
#define DIVIDE divided
#include "kernel/nn/avg_pool_template.h"

#define T int32_t
#define A uint64_t
#define F(name) name##_i32
#define NEUTRAL 0
#define IN WIDEN
#define HALF 0
#define IS_SAME 0
#define DIVIDE divided
#include "kernel/nn/avg_pool_template.h"

#define T int64_t
#define A uint64_t
#define F(name) name##_i64
#define NEUTRAL 0
#define IN WIDEN
#define HALF 0
#define IS_SAME 0
#define DIVIDE divided
#include "kernel/nn/avg_pool_template.h"

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {"avg_pool", {
    [ST_UINT8] = avg_pool_u8, [ST_INT8] = avg_pool_i8,
    [ST_INT16] = avg_pool_i16, [ST_INT32] = avg_pool_i32,
    [ST_INT64] = avg_pool_i64, [ST_FLOAT16] = avg_pool_f16,
    [ST_BFLOAT16] = avg_pool_bf16, [ST_FLOAT32] = avg_pool_f32,
    [ST_FLOAT64] = avg_pool_f64}}};

ST_EXPORT(st__avg_pool, rows)
