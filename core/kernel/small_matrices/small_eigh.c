/* Eigenvalues and eigenvectors of small symmetric matrices: Note [Small
 * matrices].
 */

#include <math.h>
#include <string.h>

#include "kernel/small_matrices/small_loops.h"
#include "kernel/unroll.h"

#define SMALL_TEMPLATE "kernel/small_matrices/small_eigh_template.h"
#include "kernel/small_matrices/small_types.h"

ST_SMALL_LOOP(eigh, f4, 16)
ST_SMALL_LOOP(eigh, f8, 8)

static const st_kernel_row rows[] = {ST_SMALL_ROW(eigh)};

ST_EXPORT(st__small_eigh, rows)
