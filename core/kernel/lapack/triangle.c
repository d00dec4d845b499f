/* Equations with small triangular matrices.
 *
 * A row of X is its row of B minus the products of the row of A and the rows of
 * X above. ROWS of them, two vectors wide, stay in registers while the rows
 * above pass. Columns that are not contiguous in memory are transposed into a
 * buffer. A column has the same bits wherever it stands.
 */

#include "kernel/lapack/triangle.h"

#include <string.h>

#include "kernel/lapack/number_types.h"

enum { ROWS = ST_VECTOR_REGISTERS >= 32 ? 8 : 4 };
enum { WIDTH = 2 * BYTES };

#define TEMPLATE "kernel/lapack/triangle_template.h"
#include "kernel/lapack/each_number.h"

static const st_kernel_row rows[] = {ST_NUMBERS(triangle)};

ST_EXPORT(st__triangle, rows)
