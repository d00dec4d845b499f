/* LU and Cholesky factors of panels: S. Toledo, "Locality of reference in LU
 * decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18, 1997.
 *
 * The left half of the columns is factored, the right one updated by a product
 * and factored in turn, down to LEAF columns, which pass through registers. The
 * order of the sums depends on the sizes only.
 */

#include "kernel/lapack/panel.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/lapack/number_types.h"

/* Columns of a tile that stays in registers, two vectors high. */
enum { TILE = ST_VECTOR_REGISTERS >= 32 ? 8 : 4 };

#define TEMPLATE "kernel/lapack/panel_template.h"
#include "kernel/lapack/each_number.h"

static const st_kernel_row rows[] = {ST_NUMBERS(lu_panel),
                                     ST_NUMBERS(cholesky_panel)};

ST_EXPORT(st__panel, rows)
