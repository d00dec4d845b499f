/* Operands and ctx of the loops of kernel/nn/channel_sums.c, the backward pass
 * of batch_norm. Strides are those of rows; their elements are adjacent.
 *
 * channel_sums: operands g, x; n1 rows of n0 elements of one channel. Writes
 *   the sums of g and of g (x - mean) to sums[0] and sums[1].
 * column_sums: the same for n0 channels side by side, to sums[0] to sums[n0 -
 *   1] and sums[n0] to sums[2 n0 - 1].
 * channel_affine: operands out, g, x, and mean, a, b, c with one element per
 *   row: out = g a + ((x - mean) b + c). Out and the others do not overlap.
 * column_affine: the same; mean, a, b, c have n0 elements, one per column.
 *
 * Sums are in double, of partial sums of a fixed number of elements in the
 * dtype, so that they do not depend on the size of vectors.
 */
#ifndef ST_KERNEL_NN_CHANNEL_SUMS_H
#define ST_KERNEL_NN_CHANNEL_SUMS_H

typedef struct st_channel_sums {
  const void *mean; /* of one channel, or of n0 */
  double *sums;
} st_channel_sums;

#endif
