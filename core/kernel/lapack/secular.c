/* The secular equation, of which the eigenvalues of a tridiagonal matrix are
 * roots if those of its halves are known: R.-C. Li, "Solving secular equations
 * stably and efficiently", LAPACK Working Note 89, 1993. As many roots as a
 * vector has elements are found at a time.
 */

#include "kernel/lapack/secular.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/unroll.h"
#include "kernel/vectors.h"

#define T float
#define TAG f4
#define V v_f4
#define FABS fabsf
#define SQRT sqrtf
#define COPYSIGN copysignf
#define EPS 0x1p-24f
#define MOST FLT_MAX
#define DOWN 0x1p-100f
#include "kernel/lapack/secular_template.h"

#define T double
#define TAG f8
#define V v_f8
#define FABS fabs
#define SQRT sqrt
#define COPYSIGN copysign
#define EPS 0x1p-53
#define MOST DBL_MAX
#define DOWN 0x1p-800
#include "kernel/lapack/secular_template.h"

static const st_kernel_row rows[] = {
  {"secular_roots", {[ST_FLOAT32] = roots_f4, [ST_FLOAT64] = roots_f8}},
  {"secular_weights",
   {[ST_FLOAT32] = weights_f4, [ST_FLOAT64] = weights_f8}},
  {"secular_vectors",
   {[ST_FLOAT32] = vectors_f4, [ST_FLOAT64] = vectors_f8}}};

ST_EXPORT(st__secular, rows)
