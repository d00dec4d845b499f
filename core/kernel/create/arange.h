/* Operand and ctx of the loops of kernel/create/arange.c. Operand: the output,
 * n0 contiguous elements, less than 2^31; n1 is 1.
 */
#ifndef ST_KERNEL_CREATE_ARANGE_H
#define ST_KERNEL_CREATE_ARANGE_H

#include <stdbool.h>
#include <stdint.h>

/* start + index * step, computed in float64 for float dtypes. The index of the
 * first element is begin, the next ones count up or down. Integers count up,
 * use first and by, and wrap. */
typedef struct st_arange_ctx {
  int64_t begin;
  double start, step;
  bool down;
  int64_t first, by;
} st_arange_ctx;

#endif
