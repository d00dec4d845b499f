/* The tree of a scripted fold: values in memory are combined in pairs.
 *
 * Note [The pairwise tree of a custom reduction]
 * The elements that are reduced into one result have a logical order: that of
 * their positions, the last dimension the fastest. Neighbours are combined in
 * pairs, those pairs in pairs, and so on; whoever has no partner waits for
 * the next round. A combine whose order matters gets what is to the left as
 * its first arguments. Such a tree can be cut anywhere at multiples of a power
 * of two.
 *
 * Where every accumulator is combined on its own by an operator that knows no
 * order (a sum, a product, an extremum), the elements are dealt to LANES lanes
 * instead, so that combining is an operation on vectors: element i goes to
 * lane i % LANES, each lane is reduced as above, then the lanes are. What is
 * left when the elements do not come out even is reduced on its own, and
 * combined with that last.
 *
 * Nothing of this depends on layouts, threads, instruction sets or the size of
 * buffers, so neither do the bits of a result.
 */
#ifndef ST_FUSE_REDUCE_REDUCTION_TREE_H
#define ST_FUSE_REDUCE_REDUCTION_TREE_H

#include "fuse/ir/program.h"

enum { ST_TREE_ACCS = 4, ST_TREE_LANES = 32 };

/* How values are combined. */
typedef struct st_tree {
  const st_program *combine;
  int n;                      /* accumulators */
  bool is_direct;             /* its loops are run where the values are */
  int64_t size[ST_TREE_ACCS]; /* bytes of each */
} st_tree;

/* An element of every accumulator. */
typedef struct st_accs { char *p[ST_TREE_ACCS]; } st_accs;

/* Items, each of `lanes` values for `width` outputs; steps in elements. */
typedef struct st_items {
  st_accs at;
  int64_t n, step;
  int64_t width, width_step, lanes, lane_step;
} st_items;

/* Two buffers for what comes out on the way: one of half the items, and one
 * of a quarter of them. */
typedef struct st_tree_scratch { st_accs a, b; } st_tree_scratch;

/* is_commutative: combine consists of operators that know no order. */
void st__tree_init(st_tree *t, const st_program *combine, int n,
                   bool is_commutative);
st_accs st__accs_at(const st_tree *t, st_accs from, int64_t at);
/* to[i] = combine(a[i], b[i]) for dense values; to may be one of them. A step
 * of 0 repeats *a. */
void st__tree_combine(const st_tree *t, st_accs to, st_accs a, int64_t step,
                      st_accs b, int64_t n);
void st__tree_copy(const st_tree *t, st_accs to, st_accs from, int64_t n);
/* The items become one, which is dense in memory, with the smaller one of
 * their inner steps inside. There is at least one of them. */
void st__tree_reduce(const st_tree *t, const st_items *items, st_accs to,
                     const st_tree_scratch *room);

#endif
