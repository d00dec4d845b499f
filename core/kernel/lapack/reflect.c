/* Householder's reflections of a block of columns: G. H. Golub, C. F. Van Loan,
 * "Matrix Computations", 4th edition, 5.1 and 5.2. A reflection is I - tau v v'
 * with v[0] = 1; v's other elements take the place of those they make zero.
 */

#include "kernel/lapack/reflect.h"

#include <math.h>

#include "kernel/unroll.h"

#define LEAST_f4 0x1p-90f
#define LEAST_f8 0x1p-900
#define MOST_f4 1e15f
#define MOST_f8 1e140
#define STEEP_f4 100
#define STEEP_f8 1000
#define TEMPLATE "kernel/lapack/reflect_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {ST_FLOATS(reflect)};

ST_EXPORT(st__reflect, rows)
