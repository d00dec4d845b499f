/* What the sorting kernels are told.
 *
 * Operands: values out, positions out (int64), input; either output may be
 * NULL. The inner dimension is a line of the input, n0 long. NaN is greater
 * than everything, equal elements keep their order, ascending or descending.
 */
#ifndef ST_KERNEL_SORT_H
#define ST_KERNEL_SORT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct st_sort {
  bool descending;
  bool median;         /* write the lower median, or the first NaN */
  bool skip_nan;       /* the median of those that are not NaN, if any */
  bool mode;           /* write the most frequent element, the last of it;
                          of several the least; no NaN equals another */
  int64_t first, k;    /* write elements [first, first + k) of the order */
  int64_t base;        /* added to positions */
  char *scratch;       /* st__sort_scratch(n0, item size), aligned to 16 */
} st_sort;

/* search: how many of a sorted line are less than a number, or, with right,
 * not greater. Operands: that, int64; numbers; the line, whose inner stride
 * is of its elements. */
typedef struct st_search {
  int64_t n;    /* length of the line */
  bool right;
  int64_t base; /* added */
} st_search;

/* Two buffers of pairs. */
static inline int64_t st__sort_scratch(int64_t n, int64_t itemsize) {
  return 2 * n * (itemsize <= 4 ? 8 : 16);
}

#endif
