/* Singular values and vectors of small matrices: Note [Small matrices].
 */

#include <math.h>
#include <string.h>

#include "kernel/linalg/small_loops.h"
#include "kernel/unroll.h"

#define FABS fabsf
#define SQRT sqrtf
#define T float
#define I int32_t
#define LANES 1
#define TAG f4
#include "kernel/linalg/small_svd_template.h"

#define T float
#define I int32_t
#define LANES 16
#define TAG f4s
#include "kernel/linalg/small_svd_template.h"
#undef FABS
#undef SQRT

#define FABS fabs
#define SQRT sqrt
#define T double
#define I int64_t
#define LANES 1
#define TAG f8
#include "kernel/linalg/small_svd_template.h"

#define T double
#define I int64_t
#define LANES 8
#define TAG f8s
#include "kernel/linalg/small_svd_template.h"
#undef FABS
#undef SQRT

ST_SMALL_LOOP(svd, f4, 16)
ST_SMALL_LOOP(svd, f8, 8)

static const st_kernel_row rows[] = {ST_SMALL_ROW(svd)};

ST_EXPORT(st__small_svd, rows)
