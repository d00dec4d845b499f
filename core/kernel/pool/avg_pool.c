/* Kernels of average pooling: sums of windows (Note [Order of pooling]),
 * divided by numbers of elements. Half types are computed in float32, integers
 * in int64.
 */

#include "kernel/dtype_tables.h"
#include "kernel/pool/pool_types.h"

#define OP(a, b) ((a) + (b))
#define SAME(x) (x)
#define WIDEN(x) ((uint64_t)(x))
#define NARROW(T, x) ((T)(x))

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
#define IN SAME
#define A float
#define F(name) name##_f32
#define NEUTRAL 0
#define BY_ROWS 0
#define DIVIDE BY
#include "kernel/pool/avg_pool_template.h"

#define T double
#define IN SAME
#define A double
#define F(name) name##_f64
#define NEUTRAL 0
#define BY_ROWS 0
#define DIVIDE BY_DOUBLE
#include "kernel/pool/avg_pool_template.h"

#define T int64_t
#define IN WIDEN
#define A uint64_t
#define F(name) name##_i64
#define NEUTRAL 0
#define BY_ROWS 0
#define DIVIDE divided
#include "kernel/pool/avg_pool_template.h"

#define A float
#define F(name) name##_halves
#define NEUTRAL 0
#define BY_ROWS 1
#define DIVIDE BY
#include "kernel/pool/avg_pool_template.h"

#define A uint64_t
#define F(name) name##_integers
#define NEUTRAL 0
#define BY_ROWS 1
#define DIVIDE divided
#include "kernel/pool/avg_pool_template.h"

/* -- The table ------------------------------------------------------------ */

ST_POOL_INTEGER(u8, uint8_t, uint64_t, WIDEN, NARROW)
ST_POOL_INTEGER(i8, int8_t, uint64_t, WIDEN, NARROW)
ST_POOL_INTEGER(i16, int16_t, uint64_t, WIDEN, NARROW)
ST_POOL_INTEGER(i32, int32_t, uint64_t, WIDEN, NARROW)
ST_POOL_TASKS(avg_pool)

static const st_task_row rows[] = {
  {"avg_pool", {
    ST_BY_TYPE(SIGNED, avg_pool_task) ST_BY_TYPE(FLOAT, avg_pool_task)}}};

ST_EXPORT_TASKS(st__avg_pool, rows)
