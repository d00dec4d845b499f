/* Reduction kernels: their ctx, the functions that define one, and the driver
 * that all of them share (pairwise_reduction.c).
 *
 * Operands: accumulators (output), input, pivots. A call reduces n0 elements
 * for each of n1 outputs. Outputs are s[4] bytes apart in the input and s[5]
 * bytes apart in the pivots; ctx, a st_reduce_run, locates the elements of an
 * output. The accumulators are contiguous and overwritten.
 *
 * A pivot is a value per output that is combined with each element before the
 * reduction: what sqdev and sumexp subtract, the exponent of normp, the value
 * that find searches for. Other kernels do not read the pivots. The order of
 * the operations is fixed by Note [Pairwise reduction tree].
 */
#ifndef ST_KERNEL_REDUCE_PAIRWISE_REDUCTION_H
#define ST_KERNEL_REDUCE_PAIRWISE_REDUCTION_H

#include "kernel/loop.h"

enum { ST_REDUCE_BLOCK = 1024 }; /* elements, Note [Pairwise reduction tree] */
#define ST_NO_INDEX INT64_MAX    /* result of find without a match */

/* The ctx of reductions: where the elements of an output are. Element i has
 * the linear index at + i in these dimensions, the fastest first. */
typedef struct st_reduce_run {
  int64_t at;    /* a multiple of ST_REDUCE_BLOCK */
  bool partials; /* the elements are accumulators of blocks or segments */
  int ndim;      /* at least 1 */
  const int64_t *size, *stride; /* bytes */
} st_reduce_run;

/* -- The functions of a reduction ----------------------------------------- */

/* Arguments of the bodies: the elements `in` of one output, or up to four
 * rows x with one element for each of n1 outputs; and one accumulator and one
 * pivot per output. */
typedef struct st_reduce_span {
  char *acc;
  const char *in, *x[4], *pivot;
  int64_t n0, n1;
  const int64_t *off; /* row i starts at in + off[i * skip] */
  int64_t skip;
  int64_t start;      /* index of the first element */
  bool more;          /* acc holds a value: continue with it */
  bool far;           /* request rows before they are used */
  bool as_rows;       /* reduce the rows in order, without lanes */
} st_reduce_span;

/* Loads n elements, step bytes apart, into a contiguous buffer, converted to
 * the type that the bodies read. */
typedef void (*st_reduce_load)(char *to, const char *p, int64_t step,
                               int64_t n);

typedef struct st_reduce_ops {
  st_reduce_load load;
  void (*row)(const st_reduce_span *p);   /* a block of one output */
  void (*first)(const st_reduce_span *p); /* initialises acc with a row */
  void (*next)(const st_reduce_span *p);  /* adds a row to acc */
  void (*four)(const st_reduce_span *p);  /* four rows, see more; or NULL */
  void (*combine)(char *acc, const char *with, int64_t n); /* acc op= with */
  int64_t in_size, size;         /* of an element: in memory, loaded */
  int64_t acc_size, pivot_size, lanes;
  bool maps;        /* load changes values: it is called for every element */
  bool stops_early; /* the first match ends the search */
  int ends_at;      /* 1 + the byte of an accumulator that no further element
                       changes; 0: there is none */
  bool any_order;   /* the order does not change the bits: needs no lanes */
  /* True if the bits of any of n accumulators may depend on the order of the
   * operations. NULL: they always may, unless any_order. */
  bool (*may_differ)(const char *acc, int64_t n);
  /* Reduces n1 outputs of one block each, whose rows are `skip` bytes apart;
   * more: there is a pivot per row, else one for all. Reads up to
   * ST_REDUCE_MAX_LANES elements beyond the end of a row. May be NULL. */
  void (*rows)(const st_reduce_span *p);
  bool long_rows; /* other bodies are faster for very short ones */
  /* Reduces n1 contiguous columns of 2 to ST_REDUCE_BLOCK rows, `skip` bytes
   * apart, with a pivot per column. May be NULL. */
  void (*columns)(const st_reduce_span *p);
  /* Reduces n1 outputs of 2 to 4 contiguous elements each; may be NULL. */
  void (*few)(char *acc, const char *in, int64_t n0, int64_t n1);
  /* A block of one output of at least `lanes` contiguous elements that have
   * not been loaded; may be NULL. */
  void (*stored)(const st_reduce_span *p);
} st_reduce_ops;

enum { ST_REDUCE_MAX_LANES = 64, ST_REDUCE_MAX_ACC = 16 };

/* The driver: every st_loop of a reduction calls it. n0 and n1 are the number
 * of elements per output and of outputs. */
void st__run_reduction(const st_reduce_ops *k, char **data, const int64_t *s,
                       int64_t n0, int64_t n1, const st_reduce_run *run);

#endif
