/* Singular values and vectors of a bidiagonal matrix, by implicit QR steps:
 * J. Demmel, W. Kahan, "Accurate singular values of bidiagonal matrices", SIAM
 * J. Sci. Stat. Comput. 11, 1990. A vector is a row of whole vectors, so that a
 * rotation is a few instructions beside the chain of square roots and divisions
 * that finds the next one.
 */

#include "kernel/spectra/bdsqr.h"

#include <math.h>
#include <string.h>

#include "kernel/unroll.h"

/* EPS: half the distance from 1 to the next number. LEAST: the least sum of
 * squares that is accurate; UP: what numbers with less are multiplied by. TINY:
 * the least normal number. TOLERANCE: how many EPS are negligible. */
#define EPS_f4 0x1p-24f
#define EPS_f8 0x1p-53
#define LEAST_f4 0x1p-98f
#define LEAST_f8 0x1p-960
#define UP_f4 0x1p80f
#define UP_f8 0x1p600
#define TINY_f4 0x1p-126f
#define TINY_f8 0x1p-1022
#define TOLERANCE_f4 10
#define TOLERANCE_f8 10
#define TEMPLATE "kernel/spectra/bdsqr_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {ST_FLOATS(bdsqr)};

ST_EXPORT(st__bdsqr, rows)
