/* Householder's reflections of a block of columns: G. H. Golub, C. F. Van Loan,
 * "Matrix Computations", 4th edition, 5.1 and 5.2. A reflection is I - tau v v'
 * with v[0] = 1; v's other elements take the place of those they make zero.
 */

#include "kernel/lapack/reflect.h"

#include <math.h>

#include "kernel/unroll.h"

#define T float
#define TAG f4
#define FABS fabsf
#define SQRT sqrtf
#define LDEXP ldexpf
#define FREXP frexpf
#define LEAST 0x1p-90f
#define MOST 1e15f
#define STEEP 100
#include "kernel/lapack/reflect_template.h"

#define T double
#define TAG f8
#define FABS fabs
#define SQRT sqrt
#define LDEXP ldexp
#define FREXP frexp
#define LEAST 0x1p-900
#define MOST 1e140
#define STEEP 1000
#include "kernel/lapack/reflect_template.h"

static const st_kernel_row rows[] = {
  {"reflect", {[ST_FLOAT32] = reflect_f4, [ST_FLOAT64] = reflect_f8}}};

ST_EXPORT(st__reflect, rows)
