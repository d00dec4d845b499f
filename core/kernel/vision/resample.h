/* Operands and ctx of the tasks of kernel/vision/resample.c. Operands: result
 * and image, contiguous, (outer, size, inner), of which only the sizes differ;
 * the backward task has their gradients, that of the image first. A unit is a
 * block of ST_RESAMPLE_BLOCK inner elements of one outer.
 */
#ifndef ST_KERNEL_VISION_RESAMPLE_H
#define ST_KERNEL_VISION_RESAMPLE_H

#include <stdint.h>

enum { ST_RESAMPLE_BLOCK = 512 };

typedef struct st_resample_ctx {
  int64_t in, out;       /* sizes of the image and of the result */
  int64_t inner;
  int64_t begin, end;    /* units */
  int64_t taps;          /* the most that an element of the result has */
  const int64_t *spans;  /* (out, 2): the first tap, and how many there are */
  const void *weights;   /* (out, taps), of the dtype of the image */
} st_resample_ctx;

#endif
