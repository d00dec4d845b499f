/* The pairwise tree of a custom reduction: accumulators in memory are combined
 * in pairs.
 *
 * Stage reduce of Note [Stages of fusion]. In: the program of combine, and
 * mapped elements in a buffer. Out: one value per output. reduction_loop.h
 * calls it for each block.
 *
 * Note [The pairwise tree of a custom reduction]
 * The elements that are reduced into one result have a logical order: that of
 * their indices, with the last dimension the fastest. Neighbours are combined
 * in pairs, the results in pairs again, and so on; an odd last value is moved
 * to the next level. The first arguments of combine are the values to the left,
 * as its order may matter. The tree can be split at any multiple of a power of
 * two.
 *
 * If each accumulator is combined independently by a commutative operator (a
 * sum, a product, an extremum), the elements are distributed to ST_TREE_LANES
 * lanes instead, so that combine works on vectors: element i goes to lane
 * i % ST_TREE_LANES, each lane is reduced as above, then the lanes are. The
 * remainder, fewer elements than lanes, is reduced separately and combined with
 * the result last.
 *
 * The tree does not depend on layouts, threads, instruction sets or the size of
 * buffers, so neither do the bits of a result. It is not the tree of built-in
 * reductions (Note [Pairwise reduction tree]), which adds up to 1024 elements
 * in lanes before it pairs: that is faster with a fixed operator, but would
 * call the program of combine too often for a custom one.
 */
#ifndef ST_FUSE_REDUCE_REDUCTION_TREE_H
#define ST_FUSE_REDUCE_REDUCTION_TREE_H

#include "fuse/program.h"

enum { ST_TREE_ACCS = 4, ST_TREE_LANES = 32 };

/* How accumulators are combined. */
typedef struct st_tree {
  const st_program *combine;
  int n;                      /* accumulators */
  bool is_direct;             /* combine's kernels can run in place */
  int64_t size[ST_TREE_ACCS]; /* itemsize of each accumulator */
} st_tree;

/* The address of one element of each accumulator. */
typedef struct st_accs { char *p[ST_TREE_ACCS]; } st_accs;

/* n items, each of `lanes` values for each of `width` outputs. Strides are in
 * elements. */
typedef struct st_items {
  st_accs at;
  int64_t n, step;
  int64_t width, width_step, lanes, lane_step;
} st_items;

/* Two buffers for intermediate levels: a holds half of the items, b a
 * quarter. */
typedef struct st_tree_scratch { st_accs a, b; } st_tree_scratch;

/* is_commutative: combine consists of commutative operators. */
void st__tree_init(st_tree *t, const st_program *combine, int n,
                   bool is_commutative);
st_accs st__accs_at(const st_tree *t, st_accs from, int64_t at);
/* to[i] = combine(a[i * step], b[i]) for n contiguous values. to may be a or b.
 * A step of 0 repeats *a. */
void st__tree_combine(const st_tree *t, st_accs to, st_accs a, int64_t step,
                      st_accs b, int64_t n);
void st__tree_copy(const st_tree *t, st_accs to, st_accs from, int64_t n);
/* Reduces items->n >= 1 items to one contiguous item. Of lanes and width, the
 * one with the smaller stride is the inner dimension. */
void st__tree_reduce(const st_tree *t, const st_items *items, st_accs to,
                     const st_tree_scratch *scratch);

#endif
