/* The secular equation, of which the eigenvalues of a tridiagonal matrix are
 * roots if those of its halves are known: R.-C. Li, "Solving secular equations
 * stably and efficiently", LAPACK Working Note 89, 1993. As many roots as a
 * vector has elements are found at a time.
 */

#include "kernel/spectra/secular.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/unroll.h"
#include "kernel/vectors.h"

#define EPS_f4 0x1p-24f
#define EPS_f8 0x1p-53
#define MOST_f4 FLT_MAX
#define MOST_f8 DBL_MAX
#define DOWN_f4 0x1p-100f
#define DOWN_f8 0x1p-800
#define TEMPLATE "kernel/spectra/secular_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {
  {"secular_roots", {[ST_FLOAT32] = roots_f4, [ST_FLOAT64] = roots_f8}},
  {"secular_weights",
   {[ST_FLOAT32] = weights_f4, [ST_FLOAT64] = weights_f8}},
  {"secular_vectors",
   {[ST_FLOAT32] = vectors_f4, [ST_FLOAT64] = vectors_f8}}};

ST_EXPORT(st__secular, rows)
