/* The loop of a custom reduction: runs map, combine and final over memory, in
 * parallel.
 *
 * Stage reduce of Note [Stages of fusion]. In: the three programs and the
 * tensors of a call (reduction_op.h). Out: the elements of the results.
 *
 * Note [Tiles and blocks of a custom reduction]
 * Outputs are computed in tiles of neighbours along one outer dimension, and
 * the elements of a tile in blocks: a block is mapped into a buffer that stays
 * in the cache, and is reduced there. A block has 2^k items, so the values of
 * blocks combine as the tree demands (Note [The pairwise tree of a custom
 * reduction]), on a stack where each value stands for twice the items of the
 * one above it, or more. If elements of neighbouring outputs are closer in
 * memory than those of one output, the buffer interleaves the outputs
 * (columns); otherwise it has them one after the other (rows). If there are few
 * tiles, the elements of an output are divided into chunks of several blocks,
 * which different threads reduce.
 */
#ifndef ST_FUSE_REDUCE_REDUCTION_LOOP_H
#define ST_FUSE_REDUCE_REDUCTION_LOOP_H

#include "fuse/reduce/reduction_tree.h"
#include "tensor/tensor.h"

/* A call. map has naccs outputs with the dtypes of the accumulators; combine
 * has as many outputs and 2 * naccs inputs of these dtypes, final naccs
 * inputs. */
typedef struct st_reduction_loop {
  const st_program *map, *combine, *final;
  int naccs;
  bool is_commutative;         /* combine is commutative */
  bool has_init;               /* if not, there are elements to reduce */
  st_scalar init[ST_TREE_ACCS];
  int ndim;                    /* of the broadcast shape of the inputs */
  const int64_t *sizes;        /* the broadcast shape */
  uint64_t dims;               /* the reduced dimensions, as bits */
  bool keepdim;
  st_tensor *const *inputs, *const *outs;
} st_reduction_loop;

/* Computes outs. NO_MEMORY, before anything is written. */
st_status st__reduction_run(const st_reduction_loop *s);

#endif
