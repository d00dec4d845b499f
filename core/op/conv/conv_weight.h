/* The gradient of a convolution's weight: its arguments and its two ways.
 */
#ifndef ST_OP_CONV_CONV_WEIGHT_H
#define ST_OP_CONV_CONV_WEIGHT_H

#include "op/conv/conv.h"

/* Sums over all images and windows, for each group: of rows (batch, groups * m,
 * windows..) times the elements of the windows of image (batch, groups *
 * channels, ..). k = channels * taps. */
typedef struct st_conv_products {
  const st_tensor *rows, *image;
  st_window w;        /* over the image; rows may have more windows, or fewer */
  int64_t batch, groups, m, channels, k;
  bool fits;          /* the sums are as many as the weight's elements */
} st_conv_products;

/* Reads and checks the arguments of _convolution_weight_backward; *sizes are
 * those of the weight (conv_backward.c). */
st_status st__read_conv_products(const st_value *args, st_conv_products *p,
                                 st_ints *sizes);

/* True if _direct_weight_backward is a good way (conv_weight.c). */
bool st__is_direct_weight(const st_conv_products *p);

#endif
