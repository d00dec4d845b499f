/* A matrix times a vector, of all dtypes of floats, in float32, float64,
 * complex64 and complex128: Note [The order of a product with a vector].
 *
 * Of a matrix with adjacent elements in rows, some rows are summed at a time,
 * in registers. Of one with adjacent elements in columns, ROWS rows are, L
 * partial sums of each in the cache; DEEP columns of the same partial sum are
 * added to it between a load and a store.
 */

#include "kernel/linalg/mv.h"

#include <string.h>

#include "base/threads.h"
#include "kernel/loop.h"
#include "kernel/linalg/swapped.h"
#include "kernel/math/half_rows.h"
#include "kernel/unroll.h"

enum { LINE = 64, VECTORS = LINE / BYTES, LINES = 8 / VECTORS };
enum { ROWS = 256, DEEP = 4 };

/* -- Halves --------------------------------------------------------------- */

enum { FLOATS = LINE / 4 };
typedef uint32_t words __attribute__((vector_size(4 * ST_HALVES)));
typedef uint16_t halves __attribute__((vector_size(2 * ST_HALVES)));

INLINE void widen_f16(float *to, const char *from) {
  UNROLL for (int i = 0; i < FLOATS; i += ST_HALVES) {
    st_load_halves(to + i, from + 2 * i);
  }
}

INLINE void widen_bf16(float *to, const char *from) {
  UNROLL for (int i = 0; i < FLOATS; i += ST_HALVES) {
    halves h;
    memcpy(&h, from + 2 * i, sizeof h);
    const words w = WIDEN_u2(words, h) << 16;
    memcpy(to + i, &w, sizeof w);
  }
}

/* -- Dtypes --------------------------------------------------------------- */

#define PARTS 1
#define N(name) F(name)
#define TEMPLATE "kernel/linalg/mv_template.h"
#include "kernel/each_float.h"
#undef PARTS
#undef N

#define PARTS 2
#define N(name) F(complex_##name)
#define TEMPLATE "kernel/linalg/mv_template.h"
#include "kernel/each_float.h"

#undef PARTS
#undef N

#define PARTS 1
#define T float
#define INT int32_t
#define F(name) name##_f4
#define N(name) name##_f16
#define WIDEN widen_f16
#define WIDEN_ROW st_load_f16
#include "kernel/linalg/mv_template.h"
#undef N
#undef WIDEN
#undef WIDEN_ROW
#define N(name) name##_bf16
#define WIDEN widen_bf16
#define WIDEN_ROW st_load_bf16
#include "kernel/linalg/mv_template.h"

static const st_kernel_row rows[] = {
  {"mv", {[ST_FLOAT32] = mv_f4, [ST_FLOAT64] = mv_f8,
          [ST_FLOAT16] = mv_f16, [ST_BFLOAT16] = mv_bf16,
          [ST_COMPLEX64] = complex_mv_f4,
          [ST_COMPLEX128] = complex_mv_f8}}};

ST_EXPORT(st__mv, rows)
