/* A matrix times a vector in float32, float64, complex64 and complex128: Note
 * [The order of a product with a vector].
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
#include "kernel/unroll.h"

enum { LINE = 64, VECTORS = LINE / BYTES, LINES = 8 / VECTORS };
enum { ROWS = 256, DEEP = 4 };

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

static const st_kernel_row rows[] = {
  {"mv", {[ST_FLOAT32] = mv_f4, [ST_FLOAT64] = mv_f8,
          [ST_COMPLEX64] = complex_mv_f4,
          [ST_COMPLEX128] = complex_mv_f8}}};

ST_EXPORT(st__mv, rows)
