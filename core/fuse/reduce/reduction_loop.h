/* The walk of a scripted reduction: map, combine and final over memory.
 *
 * Note [Tiles and chunks of a custom reduction]
 * Outputs are computed in tiles of neighbours along one dimension that is not
 * reduced, and their elements in chunks: a chunk is mapped into a buffer that
 * stays in the cache and is reduced there. Chunks have 2^k items, so their
 * values are joined as the tree has it (Note [The pairwise tree of a custom
 * reduction]), on a stack where each has twice the items of the one above.
 * Where elements of neighbouring outputs lie closer together than those of one
 * output, the buffer has them side by side, otherwise one output after the
 * other; the loops are handed the strides. If there are few tiles, outputs are
 * cut into segments of several chunks, which any thread may fold.
 */
#ifndef ST_FUSE_REDUCE_REDUCTION_LOOP_H
#define ST_FUSE_REDUCE_REDUCTION_LOOP_H

#include "fuse/reduce/reduction_tree.h"
#include "tensor/tensor.h"

/* map gives as many results as there are accumulators, in their dtypes; so do
 * combine, of twice as many, and final takes them. */
typedef struct st_reduction_loop {
  const st_program *map, *combine, *final;
  int naccs;
  bool is_commutative;         /* combine knows no order */
  bool has_init;               /* without, there is something to fold */
  st_scalar init[ST_TREE_ACCS];
  int ndim;                    /* of what the inputs broadcast to */
  const int64_t *sizes;
  uint64_t dims;               /* those that are reduced */
  bool keepdim;
  st_tensor *const *inputs, *const *outs;
} st_reduction_loop;

/* Fails only before it writes: NO_MEMORY. */
st_status st__reduction_run(const st_reduction_loop *s);

#endif
