/* Reductions: what their kernels are told, what they are made of, and the
 * driver that they share (reduction.c).
 *
 * Operands of a reduction: the results, the input, the references. Each of n1
 * outputs, s[4] bytes apart in the input and s[5] in the references, is the
 * fold of n0 elements, which ctx, a st_reduce_run, finds. Results are
 * contiguous and overwritten. Kernels without a use for a reference never
 * look at it. Note [Pairwise reduction tree] says what is added to what.
 */
#ifndef ST_KERNEL_REDUCTION_H
#define ST_KERNEL_REDUCTION_H

#include "kernel/kernel.h"

enum { ST_REDUCE_BLOCK = 1024 }; /* elements, Note [Pairwise reduction tree] */
#define ST_NO_INDEX INT64_MAX    /* a position that was not found */

/* The ctx of reductions: where the elements of an output are. Element i is
 * number at + i of these dimensions, the fastest first. */
typedef struct st_reduce_run {
  int64_t at;  /* a multiple of ST_REDUCE_BLOCK */
  bool partials;  /* every element is a block: they are values of blocks */
  int ndim;    /* at least 1 */
  const int64_t *size, *stride; /* bytes */
} st_reduce_run;

/* -- What a reduction is made of ------------------------------------------ */

/* What the bodies of a fold work on: the elements `in` of one output, or up
 * to four rows x of n1 outputs, and of them an accumulator and a reference
 * each. */
typedef struct st_reduce_span {
  char *acc;
  const char *in, *x[4], *ref;
  int64_t n0, n1;
  const int64_t *off; /* row i is at in + off[i * skip] */
  int64_t skip;
  int64_t start;      /* position of the first element */
  bool more;          /* go on with what acc holds */
  bool as_rows;       /* no lanes by columns */
} st_reduce_span;

/* n elements, step bytes apart, side by side, as the bodies want them. */
typedef void (*st_reduce_load)(char *to, const char *p, int64_t step,
                             int64_t n);

typedef struct st_reduce_ops {
  st_reduce_load load;
  void (*row)(const st_reduce_span *p);   /* a block of one output */
  void (*first)(const st_reduce_span *p); /* a row that acc begins with */
  void (*next)(const st_reduce_span *p);  /* another row into acc */
  void (*four)(const st_reduce_span *p);  /* four, either way; or NULL */
  void (*combine)(char *acc, const char *with, int64_t n); /* pairs */
  int64_t in_size, size;         /* of an element; loaded */
  int64_t acc_size, ref_size, lanes;
  bool maps;      /* load changes values: elements are never taken as is */
  bool stops_early;     /* the first hit ends the search */
  bool any_order; /* the order does not matter: no lanes by columns */
  /* Might any of n values have other bits in another order? NULL: all. */
  bool (*may_differ)(const char *acc, int64_t n);
  /* n1 outputs of n0 dense elements each, 2 to 4; may be NULL. */
  void (*few)(char *acc, const char *in, int64_t n0, int64_t n1);
} st_reduce_ops;

enum { ST_REDUCE_MAX_LANES = 64, ST_REDUCE_MAX_ACC = 16 };

/* Body of every st_loop of a reduction. */
void st__run_reduction(const st_reduce_ops *k, char **data, const int64_t *s,
                  int64_t n0, int64_t n1, const st_reduce_run *run);

#endif
