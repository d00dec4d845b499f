/* What the loops of kernel/transpose.c work on. Operands: dst, src, which share
 * no memory. There is no ctx but for runs.
 *
 * transpose: n0 x n1 elements; dst has the element size as its inner stride,
 * src as its outer one.
 * runs: n0 x n1 runs of as many bytes as ctx, a st_runs_ctx, says.
 * stream: n1 rows of n0 bytes, written past the caches where the machine
 * knows how; the inner strides are 1.
 */
#ifndef ST_KERNEL_TRANSPOSE_H
#define ST_KERNEL_TRANSPOSE_H

#include <stddef.h>

typedef struct st_runs_ctx { size_t bytes; } st_runs_ctx; /* 2 to 64 */

#endif
