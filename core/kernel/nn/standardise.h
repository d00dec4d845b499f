/* Operands and ctx of the loop of kernel/nn/standardise.c. Operands: out, x,
 * mean, rstd; n0 adjacent elements of out and x, n1 rows, each with a mean and
 * a reciprocal of the standard deviation. Out and x do not overlap.
 */
#ifndef ST_KERNEL_NN_STANDARDISE_H
#define ST_KERNEL_NN_STANDARDISE_H

#include <stdint.h>

/* n0 adjacent elements each; either may be NULL. */
typedef struct st_standardise_ctx { const void *weight, *bias; }
  st_standardise_ctx;

#endif
