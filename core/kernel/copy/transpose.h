/* Operands and ctx of the loops of kernel/copy/transpose.c. Operands: dst, src,
 * which must not overlap. Only runs has a ctx.
 *
 * transpose: n0 x n1 elements; the inner stride of dst and the outer stride
 * of src are the element size.
 * runs: n0 x n1 runs of ctx->bytes contiguous bytes; ctx is a st_runs_ctx.
 * stream: n1 rows of n0 bytes, written with non-temporal stores where the
 * instruction set has them; the inner strides are 1.
 */
#ifndef ST_KERNEL_COPY_TRANSPOSE_H
#define ST_KERNEL_COPY_TRANSPOSE_H

#include <stddef.h>

typedef struct st_runs_ctx { size_t bytes; } st_runs_ctx; /* 2 to 64 */

#endif
