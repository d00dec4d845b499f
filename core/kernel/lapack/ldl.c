/* LDL factors of symmetric and Hermitian matrices, and equations with their D.
 *
 * A column is computed when it is looked at: it loses the products of all
 * columns factored before it, in order, by fused multiply-adds. So sums do not
 * depend on the width of vectors.
 */

#include "kernel/lapack/ldl.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/lapack/number_types.h"

/* Vectors of a column that stay in registers. */
enum { VECTORS = ST_VECTOR_REGISTERS >= 32 ? 8 : 4 };

#define TEMPLATE "kernel/lapack/ldl_template.h"
#include "kernel/lapack/each_number.h"

static const st_kernel_row rows[] = {ST_NUMBERS(ldl_panel),
                                     ST_NUMBERS(ldl_diagonal),
                                     ST_NUMBERS(ldl_solve)};

ST_EXPORT(st__ldl, rows)
