/* LU and Cholesky factors of small matrices, determinants, solutions and
 * inverses: Note [Small matrices].
 */

#include <math.h>

#include "kernel/small_matrices/small_loops.h"
#include "kernel/unroll.h"

#define SMALL_TEMPLATE "kernel/small_matrices/small_lu_template.h"
#include "kernel/small_matrices/small_types.h"

ST_SMALL_LOOP(lu, f4, 16)
ST_SMALL_LOOP(lu, f8, 8)
ST_SMALL_LOOP(det, f4, 16)
ST_SMALL_LOOP(det, f8, 8)
ST_SMALL_LOOP(solve, f4, 16)
ST_SMALL_LOOP(solve, f8, 8)
ST_SMALL_LOOP(inverse, f4, 16)
ST_SMALL_LOOP(inverse, f8, 8)
ST_SMALL_LOOP(cholesky, f4, 16)
ST_SMALL_LOOP(cholesky, f8, 8)

static const st_kernel_row rows[] = {
  ST_SMALL_ROW(lu), ST_SMALL_ROW(det), ST_SMALL_ROW(solve),
  ST_SMALL_ROW(inverse), ST_SMALL_ROW(cholesky)};

ST_EXPORT(st__small_lu, rows)
