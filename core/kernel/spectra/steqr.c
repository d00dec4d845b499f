/* Eigenvalues and eigenvectors of a symmetric tridiagonal matrix, by the
 * implicit QL algorithm: LAPACK's steqr in one direction. An eigenvector is a
 * row of whole vectors, so that a rotation is a few instructions beside the
 * chain of square roots and divisions that finds the next one.
 */

#include "kernel/spectra/steqr.h"

#include <math.h>
#include <string.h>

#include "kernel/unroll.h"

#define EPS_f4 0x1p-24f
#define EPS_f8 0x1p-53
#define LEAST_f4 0x1p-98f
#define LEAST_f8 0x1p-960
#define TEMPLATE "kernel/spectra/steqr_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {ST_FLOATS(steqr)};

ST_EXPORT(st__steqr, rows)
