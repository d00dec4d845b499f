/* Operands and ctx of the loops of kernel/nn/bag_sums.c, of embedding_bag.
 * Operands: out, n1 bags of n0 adjacent elements.
 *
 * bag_sums: the sum of the rows of weight that the indices of the bag name,
 * each times its scale. bag_maxima (out: int64): which of them has the maximum
 * of the column, the first unless another is greater; -1 without rows.
 */
#ifndef ST_KERNEL_NN_BAG_SUMS_H
#define ST_KERNEL_NN_BAG_SUMS_H

#include <stdint.h>

typedef struct st_bags_ctx {
  int64_t row;            /* elements from row to row of weight */
  const int64_t *starts;  /* of each bag in indices, and the end of the last */
  const int64_t *indices; /* of rows of weight */
  int64_t padding;        /* the index that counts for nothing */
  const void *weight;
  const void *scales;     /* of the rows at indices; NULL: 1 */
} st_bags_ctx;

#endif
