/* Images resampled along one dimension by tables of taps and weights.
 */
#ifndef ST_OP_VISION_RESAMPLE_H
#define ST_OP_VISION_RESAMPLE_H

#include "op/nn/spatial.h"

/* Element o of the result is the sum of count = spans[o][1] elements of the
 * image, from index spans[o][0] on, times the first count of weights[o]. */
typedef struct st_taps {
  const st_tensor *spans;    /* int64, (out, 2) */
  const st_tensor *weights;  /* (out, taps) */
} st_taps;

st_tensor *st__apply_resample(st_op_scope *c, const st_tensor *t, int64_t dim,
                              const st_taps *taps);

/* A new tensor on the device of like. */
st_tensor *st__new_like(st_op_scope *c, const st_tensor *like, st_dtype dtype,
                        int n, const int64_t *sizes);
/* NO_MEMORY or BAD_SHAPE if there is no room for images of self, resized to
 * the n sizes: it is asked before tables of such sizes are filled. */
void st__check_resized(st_op_scope *c, const st_tensor *self, int n,
                       const int64_t *size);

/* BAD_SHAPE unless t has n dimensions of images that have pixels. */
st_status st__check_resizable(const st_tensor *t, const char *name, int n);
/* The size and the factors of a resized image by output_size or scale_factors,
 * one of which is none: n numbers or one for all. Without scale_factors the
 * factors stay. BAD_VALUE. */
st_status st__read_resize(const st_value *output_size,
                          const st_value *scale_factors, int n,
                          const int64_t *in, int64_t *size, double *factor);

/* An image of bytes in another size, bilinear or bicubic. */
typedef struct st_resized {
  bool is_cubic, align_corners;
  const int64_t *size;
  const double *factor;      /* scale factors; 0: the ratio of the sizes */
} st_resized;

/* The image self, which has been checked, in that size. */
st_status st__resize_bytes(const st_tensor *self, const st_resized *to,
                           st_value *rets);

#endif
