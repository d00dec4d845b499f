/* Singular values and vectors of small matrices: Note [Small matrices].
 */

#include <math.h>
#include <string.h>

#include "kernel/small_matrices/small_loops.h"
#include "kernel/unroll.h"

#define SMALL_TEMPLATE "kernel/small_matrices/small_svd_template.h"
#include "kernel/small_matrices/small_types.h"

ST_SMALL_LOOP(svd, f4, 16)
ST_SMALL_LOOP(svd, f8, 8)

static const st_kernel_row rows[] = {ST_SMALL_ROW(svd)};

ST_EXPORT(st__small_svd, rows)
