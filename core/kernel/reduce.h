/* What the kernels of folds are told (reduce.c).
 */
#ifndef ST_KERNEL_REDUCE_H
#define ST_KERNEL_REDUCE_H

#include "kernel/kernel.h"

enum { ST_REDUCE_BLOCK = 1024 }; /* elements, Note [Pairwise reduction tree] */
#define ST_NO_INDEX INT64_MAX    /* a position that was not found */

/* The ctx of folds: where the reduced elements of an output are. Element i is
 * number at + i of these dimensions, the fastest first. */
typedef struct st_reduce_run {
  int64_t at;  /* a multiple of ST_REDUCE_BLOCK */
  bool partials; /* every element is a block: they are values of blocks */
  int ndim;    /* at least 1 */
  const int64_t *size, *stride; /* bytes */
} st_reduce_run;

#endif
