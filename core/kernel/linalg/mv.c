/* A matrix times a vector, of all dtypes of floats, in float32, float64,
 * complex64 and complex128: Note [The order of a product with a vector].
 *
 * Of a matrix with adjacent elements in rows, some rows are summed at a time,
 * in registers. Of one with adjacent elements in columns, blocks of rows are,
 * whose partial sums take turns in the registers: columns are read in long
 * pieces. The vectors of rows that are left take all partial sums, over CHUNK
 * columns, while the next columns are fetched. In a narrow matrix all vectors
 * of rows do. If there are few rows and no gaps between the columns, a vector
 * holds elements of several columns. In a large matrix all rows take turns in
 * the registers, eight columns of one partial sum at a time, which is in memory
 * meanwhile: columns are read from end to end.
 */

#include "kernel/linalg/mv.h"

#include <string.h>

#include "base/threads.h"
#include "kernel/loop.h"
#include "kernel/linalg/lane_sums.h"
#include "kernel/linalg/swapped.h"
#include "kernel/math/half_rows.h"
#include "kernel/unroll.h"

enum { LINE = 64, VECTORS = LINE / BYTES, LINES = 8 / VECTORS };
enum { CHUNK = 256, LARGE = 1 << 20 };
/* The most rows of adjacent columns, whose partial sums are in registers, or in
 * memory: of LONG columns or more, if halves, of half as many. */
enum { MOST_ADJACENT = 8, MOST_FEW = 64, LONG = 2048 };
/* Bytes of a column, or columns of a partial sum, that are fetched before
 * use. */
enum { FETCHED = 512, FETCHED_COLUMNS = 6 };

/* -- Halves --------------------------------------------------------------- */

enum { FLOATS = BYTES / 4 };

#if ST_VECTOR_BYTES >= 32
typedef uint32_t words __attribute__((vector_size(4 * ST_HALVES)));
typedef uint16_t halves __attribute__((vector_size(2 * ST_HALVES)));

INLINE v_f4 widen_f16(const char *from) {
  v_f4 x;
  float wide[FLOATS];
  UNROLL for (int i = 0; i < FLOATS; i += ST_HALVES) {
    st_load_halves(wide + i, from + 2 * i);
  }
  memcpy(&x, wide, BYTES);
  return x;
}

INLINE v_f4 widen_bf16(const char *from) {
  v_f4 x;
  UNROLL for (int i = 0; i < FLOATS; i += ST_HALVES) {
    halves h;
    memcpy(&h, from + 2 * i, sizeof h);
    const words w = WIDEN_u2(words, h) << 16;
    memcpy((char *)&x + 4 * i, &w, sizeof w);
  }
  return x;
}
#else
#define WIDEN_EACH(s, convert)                                               \
  INLINE v_f4 widen_##s(const char *from) {                                  \
    const st_half_bits *h = (const st_half_bits *)(const void *)from;        \
    v_f4 x;                                                                  \
    UNROLL for (int i = 0; i < FLOATS; i++) x[i] = convert(h[i]);            \
    return x;                                                                \
  }

WIDEN_EACH(f16, st__half_to_float)
WIDEN_EACH(bf16, st__bf16_to_float)
#endif

/* -- Columns -------------------------------------------------------------- */

/* k of the columns of a, `col` bytes apart, m elements each, and the elements
 * of x that they are multiplied by. */
typedef struct columns {
  const char *a, *x;
  int64_t col, m, k;
  bool is_first, is_last;
} columns;

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
#include "kernel/linalg/mv_template.h"
#undef N
#undef WIDEN
#define N(name) name##_bf16
#define WIDEN widen_bf16
#include "kernel/linalg/mv_template.h"

static const st_kernel_row rows[] = {
  {"mv", {[ST_FLOAT32] = mv_f4, [ST_FLOAT64] = mv_f8,
          [ST_FLOAT16] = mv_f16, [ST_BFLOAT16] = mv_bf16,
          [ST_COMPLEX64] = complex_mv_f4,
          [ST_COMPLEX128] = complex_mv_f8}}};

ST_EXPORT(st__mv, rows)
