/* Operands and ctx of the pooling kernels.
 *
 * The operands are the results, the images and, for max_pool_indices, the
 * indices of the maxima. A task computes the units [begin, end). If the
 * channels of an operand lie side by side, a unit is a row of windows of all
 * channels, else it is a block of at most st_pool_loops.block windows of a row
 * of one channel. The strides are those of the ctx, in bytes.
 */
#ifndef ST_KERNEL_POOL_POOL_H
#define ST_KERNEL_POOL_POOL_H

#include <stdatomic.h>

#include "abi/types.h"

enum {
  ST_POOL_ROW = 1024, /* elements of a row in a buffer */
  ST_POOL_BLOCK = 512 /* windows of a unit, at most */
};

/* Dimensions of strides; windows have the last three. */
enum { ST_POOL_N, ST_POOL_C, ST_POOL_D, ST_POOL_H, ST_POOL_W, ST_POOL_DIMS };

/* Sliding windows or adaptive bins: op/pool/pool.h. */
typedef struct st_pool_loops {
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  bool adaptive;
  bool channels_inner;  /* the channels lie side by side */
  bool with_padding;    /* means: padding counts as elements */
  int64_t divisor;      /* means: 0 for the number of elements that count */
  int64_t channels;
  int64_t block;        /* windows of a unit */
  int64_t base;         /* what is added to indices */
  int64_t begin, end;   /* units */
  int64_t st[3][ST_POOL_DIMS];
} st_pool_loops;

static inline int64_t st__pool_first(const st_pool_loops *p, int d, int64_t o) {
  if (!p->adaptive) return o * p->stride[d] - p->padding[d];
  return p->out[d] == 1 ? 0 : o * p->in[d] / p->out[d];
}

/* The index after the last element. */
static inline int64_t st__pool_last(const st_pool_loops *p, int d, int64_t o) {
  if (p->adaptive && p->out[d] == 1) return p->in[d];
  if (p->adaptive) return ((o + 1) * p->in[d] + p->out[d] - 1) / p->out[d];
  return o * p->stride[d] - p->padding[d] +
         (p->kernel[d] - 1) * p->dilation[d] + 1;
}

/* The number of elements of a mean along one dimension. */
static inline int64_t st__pool_count(const st_pool_loops *p, int d, int64_t o) {
  int64_t first = st__pool_first(p, d, o), last = st__pool_last(p, d, o);
  const int64_t most = p->in[d] + (p->with_padding ? p->padding[d] : 0);
  if (first < 0 && !p->with_padding) first = 0;
  return (last < most ? last : most) - first;
}

/* The ctx of max_pool_back (max_pool_back.c). */
typedef struct st_max_pool_back {
  int64_t channels; /* that lie side by side */
  int64_t pixels;   /* of an image */
  int64_t base;     /* the index of the first pixel */
  _Atomic bool *bad; /* set if an index is not in the image */
} st_max_pool_back;

#endif
