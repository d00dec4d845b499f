/* Eigenvalues and eigenvectors of a symmetric tridiagonal matrix, by the
 * implicit QL algorithm: LAPACK's steqr in one direction. An eigenvector is a
 * row of whole vectors, so that a rotation is a few instructions beside the
 * chain of square roots and divisions that finds the next one.
 */

#include "kernel/lapack/steqr.h"

#include <math.h>
#include <string.h>

#include "kernel/unroll.h"

#define T float
#define TAG f4
#define QL_LANES 16
#define FABS fabsf
#define SQRT sqrtf
#define EPS 0x1p-24f
#define LEAST 0x1p-98f
#include "kernel/lapack/steqr_template.h"

#define T double
#define TAG f8
#define QL_LANES 8
#define FABS fabs
#define SQRT sqrt
#define EPS 0x1p-53
#define LEAST 0x1p-960
#include "kernel/lapack/steqr_template.h"

static const st_kernel_row rows[] = {
  {"steqr", {[ST_FLOAT32] = steqr_f4, [ST_FLOAT64] = steqr_f8}}};

ST_EXPORT(st__steqr, rows)
