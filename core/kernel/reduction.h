/* Reductions: what their kernels are told, what they are made of, and the
 * driver that they share (reduction.c).
 *
 * Operands of a reduction: the results, the input, the references. Each of n1
 * outputs, s[4] bytes apart in the input and s[5] in the references, is the
 * fold of n0 elements, which ctx, a st_fold_run, finds. Results are
 * contiguous and overwritten. Kernels without a use for a reference never
 * look at it. Note [The tree of a fold] says what is added to what.
 */
#ifndef ST_KERNEL_REDUCTION_H
#define ST_KERNEL_REDUCTION_H

#include "kernel/kernel.h"

enum { ST_FOLD_BLOCK = 1024 };   /* elements, Note [The tree of a fold] */
#define ST_FOLD_NONE INT64_MAX   /* a position that was not found */

/* The ctx of reductions: where the elements of an output are. Element i is
 * number at + i of these dimensions, the fastest first. */
typedef struct st_fold_run {
  int64_t at;  /* a multiple of ST_FOLD_BLOCK */
  bool pairs;  /* every element is a block: they are values of blocks */
  int ndim;    /* at least 1 */
  const int64_t *size, *stride; /* bytes */
} st_fold_run;

/* -- What a reduction is made of ------------------------------------------ */

/* What the bodies of a fold work on: the elements `in` of one output, or up
 * to four rows x of n1 outputs, and of them an accumulator and a reference
 * each. */
typedef struct st_fold_piece {
  char *acc;
  const char *in, *x[4], *ref;
  int64_t n0, n1;
  const int64_t *off; /* row i is at in + off[i * skip] */
  int64_t skip;
  int64_t start;      /* position of the first element */
  bool more;          /* go on with what acc holds */
  bool as_rows;       /* no lanes by columns */
} st_fold_piece;

/* n elements, step bytes apart, side by side, as the bodies want them. */
typedef void (*st_fold_load)(char *to, const char *p, int64_t step,
                             int64_t n);

typedef struct st_fold_ops {
  st_fold_load load;
  void (*row)(const st_fold_piece *p);   /* a block of one output */
  void (*first)(const st_fold_piece *p); /* a row that acc begins with */
  void (*next)(const st_fold_piece *p);  /* another row into acc */
  void (*four)(const st_fold_piece *p);  /* four, either way; or NULL */
  void (*join)(char *acc, const char *with, int64_t n); /* pairs */
  int64_t in_size, size;         /* of an element; loaded */
  int64_t acc_size, ref_size, lanes;
  bool maps;      /* load changes values: elements are never taken as is */
  bool finds;     /* the first hit ends the search */
  bool any_order; /* the order does not matter: no lanes by columns */
  /* Might any of n values have other bits in another order? NULL: all. */
  bool (*unsure)(const char *acc, int64_t n);
  /* n1 outputs of n0 dense elements each, 2 to 4; may be NULL. */
  void (*few)(char *acc, const char *in, int64_t n0, int64_t n1);
} st_fold_ops;

enum { ST_FOLD_MAX_LANES = 64, ST_FOLD_MAX_ACC = 16 };

/* Body of every st_loop of a reduction. */
void st__run_fold(const st_fold_ops *k, char **data, const int64_t *s,
                  int64_t n0, int64_t n1, const st_fold_run *run);

#endif
