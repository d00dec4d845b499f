/* The arguments of convolution, for its kernel and its composites.
 */
#ifndef ST_OP_CONV_CONV_H
#define ST_OP_CONV_CONV_H

#include "op/nn/spatial.h"
#include "tensor/memory_format.h"

typedef struct st_conv {
  const st_tensor *input, *weight, *bias;
  st_window w;        /* over the input; if transposed, over the result */
  bool transposed;
  int64_t batch, groups;
  int64_t in, out;    /* numbers of channels */
  int64_t taps;       /* elements of a window */
  int64_t extra[ST_SPATIAL_MAX]; /* output_padding */
  int64_t before[ST_SPATIAL_MAX], after[ST_SPATIAL_MAX]; /* of the result;
                                                            negative: crop */
} st_conv;

/* Reads and checks the arguments of convolution (conv.c). */
st_status st__read_conv(const st_value *args, st_conv *v);

/* A transposed convolution by col2im (conv.c). */
st_tensor *st__convolve_transposed(st_op_scope *c, const st_conv *v);

/* The format of the result: channels_last if the input or the weight is, as in
 * ATen. */
static inline st_format st__conv_format(const st_conv *v) {
  const st_format format = st__suggest_format(v->input, false);
  return format != ST_FORMAT_CONTIGUOUS ? format
                                        : st__suggest_format(v->weight, false);
}

/* The size of the result in spatial dimension d. */
static inline int64_t st__conv_size(const st_conv *v, int d) {
  return v->transposed ? v->w.in[d] + v->before[d] + v->after[d] : v->w.out[d];
}

/* True if each window is one pixel and the windows are all pixels in order. */
static inline bool st__is_pixelwise(const st_window *w) {
  for (int d = 0; d < w->n; d++) {
    if (w->kernel[d] != 1 || w->stride[d] != 1 || w->padding[d] != 0) {
      return false;
    }
  }
  return true;
}

#endif
