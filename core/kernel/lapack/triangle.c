/* Equations with small triangular matrices in float32 and float64.
 *
 * A row of X is its row of B minus the products of the row of A and the rows of
 * X above. ROWS of them, two vectors wide, stay in registers while the rows
 * above pass. Columns that are not contiguous in memory are transposed into a
 * buffer. A column has the same bits wherever it stands.
 */

#include "kernel/lapack/triangle.h"

#include <string.h>

#include "kernel/vectors.h"
#include "kernel/unroll.h"

enum { ROWS = ST_VECTOR_REGISTERS >= 32 ? 8 : 4 };
enum { WIDTH = 2 * BYTES };

#define T float
#define TAG f4
#define V v_f4
#define FMA FMA_f4
#include "kernel/lapack/triangle_template.h"

#define T double
#define TAG f8
#define V v_f8
#define FMA FMA_f8
#include "kernel/lapack/triangle_template.h"

static const st_kernel_row rows[] = {
  {"triangle", {[ST_FLOAT32] = triangle_f4, [ST_FLOAT64] = triangle_f8}}};

ST_EXPORT(st__triangle, rows)
