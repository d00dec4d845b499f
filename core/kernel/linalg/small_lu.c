/* LU and Cholesky factors of small matrices, determinants, solutions and
 * inverses: Note [Small matrices].
 */

#include <math.h>

#include "kernel/linalg/small_loops.h"
#include "kernel/unroll.h"

#define FABS fabsf
#define SQRT sqrtf
#define T float
#define I int32_t
#define LANES 1
#define TAG f4
#include "kernel/linalg/small_lu_template.h"

#define T float
#define I int32_t
#define LANES 16
#define TAG f4s
#include "kernel/linalg/small_lu_template.h"
#undef FABS
#undef SQRT

#define FABS fabs
#define SQRT sqrt
#define T double
#define I int64_t
#define LANES 1
#define TAG f8
#include "kernel/linalg/small_lu_template.h"

#define T double
#define I int64_t
#define LANES 8
#define TAG f8s
#include "kernel/linalg/small_lu_template.h"
#undef FABS
#undef SQRT

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
