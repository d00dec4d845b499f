/* A direct convolution: what its parts share (Note [Direct convolution]).
 */
#ifndef ST_OP_CONV_DIRECT_CONVOLUTION_H
#define ST_OP_CONV_DIRECT_CONVOLUTION_H

#include "kernel/kernel.h"
#include "kernel/conv/convolution.h"
#include "kernel/conv/convolution_nhwc.h"
#include "op/conv/conv_axis.h"

/* What a vector of the kernel holds: pixels of an output channel; channels of a
 * pixel, each convolved alone (Note [Depthwise convolution]); output channels
 * of a pixel (Note [Vectors of output channels]). */
typedef enum vectors_of { PIXELS, CHANNELS, OUTPUTS } vectors_of;

typedef struct direct {
  const st_conv *v;
  st_tensor *out;
  st_loop loop;
  st_conv_ctx ctx;
  st_conv_axis x[NAXES];
  int64_t in_stride[NAXES], out_stride[NAXES]; /* in bytes */
  int64_t in_channel, out_channel, in_image, out_image;
  int64_t size;               /* of an element */
  int64_t groups;
  int64_t channels, wide;     /* of a group: input, output */
  vectors_of vectors;
  int64_t lanes, sum_lanes;   /* channels of the buffer, of the sums */
  int64_t pixel, sum_pixel;   /* bytes from pixel to pixel in them */
  int64_t lane, sum_lane;     /* bytes from channel to channel */
  bool is_stored;             /* the kernel's sums are the result */
  int64_t rows, cols;         /* results of a band */
  int64_t row_bands, col_bands;
  int64_t high, pitch;        /* of a plane of the buffer, with the reach */
  int64_t tile_rows, next;    /* of sums: rows, elements per output channel */
  int64_t *offsets;
  char *weights, *bias, *scratch;
  int64_t panels;             /* bytes of a group's weights */
  int64_t image, sums;        /* bytes of the buffers of a share */
  int64_t units;
  int shares;
  bool has_infinite;          /* a weight is infinite or NaN: it matters where
                                 zeros around the input are multiplied */
} direct;

/* Output channels of a panel of weights. */
static inline int64_t st__panel_rows(const direct *c) {
  return c->vectors == OUTPUTS ? ST_NHWC_PANEL / c->size : ST_CONV_ROWS;
}

/* Columns of the panel of the last n output channels. */
static inline int64_t st__panel_cols(const direct *c, int64_t n) {
  if (c->vectors == PIXELS) return st__conv_panel(n);
  const int64_t unit = ST_NHWC_UNIT / c->size;
  return n > unit ? 2 * unit : unit;
}

/* The output channels of a group up to the end of the last panel. */
static inline int64_t st__panel_end(const direct *c) {
  const int64_t tail = c->wide % st__panel_rows(c);
  return c->wide - tail + (tail ? st__panel_cols(c, tail) : 0);
}

/* The bytes of memory of tensor t along its spatial dimensions; those that it
 * does not have come first. */
static inline void st__axis_strides(const st_tensor *t, int64_t size,
                                    int64_t *out) {
  const int n = t->ndim - 2;
  for (int k = 0; k < NAXES; k++) {
    const int d = k - (NAXES - n);
    out[k] = d < 0 ? 0 : t->strides[2 + d] * size;
  }
}

/* True if the convolution must be computed in another way: a transposed one
 * does not multiply its weights by zeros around the input. */
static inline bool st__is_refused(const direct *c) {
  return c->v->transposed && c->has_infinite;
}

/* Copies the weights and the bias to c->weights and c->bias, for the kernel
 * (direct_weights.c). */
st_status st__pack_weights(direct *c);

#endif
