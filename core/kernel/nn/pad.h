/* Operands and ctx of the padding task: the result and the image, whose last
 * three of five dimensions get borders that repeat the image. A unit is a row
 * of the result.
 */
#ifndef ST_KERNEL_NN_PAD_H
#define ST_KERNEL_NN_PAD_H

#include "abi/types.h"

typedef enum st_pad_mode {
  ST_PAD_REFLECT, ST_PAD_REPLICATE, ST_PAD_CIRCULAR, ST_PAD_MODES
} st_pad_mode;

typedef struct st_pad_dim {
  int64_t out;    /* the size of the result */
  int64_t before; /* negative: the first elements are dropped */
  int64_t size;   /* of the part that is repeated */
  int64_t cut;    /* where this part starts */
} st_pad_dim;

typedef struct st_pad_loops {
  st_pad_mode mode;
  int64_t itemsize;      /* of a column: one element, or all channels */
  int64_t channels;      /* 1 where a column has all of them */
  st_pad_dim dim[3];
  int64_t begin, end;    /* units */
  int64_t st[2][5];
} st_pad_loops;

/* The index of the element that element i of the result repeats. */
static inline int64_t st__pad_source(const st_pad_loops *p, int d, int64_t i) {
  const int64_t n = p->dim[d].size, cut = p->dim[d].cut;
  int64_t k = i - p->dim[d].before - cut;
  switch (p->mode) {
    case ST_PAD_REFLECT:
      if (k < 0) k = -k;
      if (k >= n) k = 2 * (n - 1) - k;
      break;
    case ST_PAD_REPLICATE: k = k < 0 ? 0 : k < n ? k : n - 1; break;
    default: k = k < 0 ? k + n : k < n ? k : k - n; break;
  }
  return cut + k;
}

#endif
