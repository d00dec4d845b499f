/* Copies of an image's pixels between buffers and tensors, in any layout.
 */
#ifndef ST_OP_CONV_PIXEL_COPY_H
#define ST_OP_CONV_PIXEL_COPY_H

#include "op/conv/conv_axis.h"

/* n pixels along each axis; strides in bytes. The elements have 4 or 8. */
typedef struct st_pixel_copy {
  char *dst;
  const char *src;
  st_dtype dtype;
  int64_t channels, dst_channel, src_channel;
  int64_t n[NAXES], dst_next[NAXES], src_next[NAXES];
} st_pixel_copy;

/* Channels to leave free between two pixels of a buffer: pixels at multiples of
 * 512 bytes share few sets of L1. */
static inline int64_t st__apart(int64_t channels, int64_t size) {
  return channels * size % 512 == 0 ? 64 / size : 0;
}

/* Only an interrupt fails. */
st_status st__copy_pixels(const st_pixel_copy *p);

/* A transpose: dst[j][i] = src[i][j], with adjacent i in dst and adjacent j in
 * src. */
typedef struct st_pixel_transpose {
  int64_t size;      /* of an element, 4 or 8 */
  int64_t dst, src;  /* bytes between two j in dst, two i in src */
  int64_t ni, nj;
} st_pixel_transpose;

void st__transpose_pixels(const st_pixel_transpose *t, char *dst,
                          const char *src);

#endif
