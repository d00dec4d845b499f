/* Operands and ctx of the loops of kernel/conv/convolution.c.
 *
 * convolution: sums[o][p] = bias[o] + the sum, over channels c and taps t, of
 * image[c * channel + offsets[t] + p] * weights[c][t][o], in this order.
 * Operands: sums, image, weights. n0 pixels p, adjacent on both sides; n1
 * output channels o, whose sums are the outer stride of operand 0 apart. So
 * the offsets of the taps say everything about the window: its size, dilation
 * and stride (op/conv/direct_convolution.c).
 *
 * Weights are in panels of ST_CONV_ROWS output channels, each [c][t][o]. The
 * last panel has as many columns as st__conv_panel says. Sums and biases up to
 * the end of a panel, and pixels up to a multiple of ST_CONV_PIXELS, are read
 * and written, too.
 *
 * depthwise: sums[p][c] = bias[c] + the sum, over taps t, of image[offsets[t] +
 * p][c] * weights[t][c]. n0 channels c, adjacent in all operands and a multiple
 * of ST_CONV_LANES; n1 pixels p, which are the outer strides of operands 0 and
 * 1 apart.
 *
 * Note [The order of a convolution]
 * A sum begins with the bias plus 0. The products of weights and pixels are
 * added to it by channel, and in a channel by element of the window, each by a
 * fused multiply-add. Products with padding may be left out: they are zeros,
 * which change no sum that is not -0, or the weights are not finite, and none
 * is left out. A gradient of a weight is added up in blocks of windows, each
 * from zero, pixel by pixel, and the blocks in order (op/conv/conv_weight.c
 * says of which size). So the bits are a function of the shape and the dtype:
 * not of the layout, which chooses the kernel, the instruction set or the
 * threads. Instruction sets without a fused multiply-add round each product.
 * Other dtypes, and shapes for which that is faster, are computed as products
 * of matrices: Note [The order of a product].
 */
#ifndef ST_KERNEL_CONV_CONVOLUTION_H
#define ST_KERNEL_CONV_CONVOLUTION_H

#include <stdint.h>

enum { ST_CONV_ROWS = 8, ST_CONV_PIXELS = 48, ST_CONV_LANES = 16 };

typedef struct st_conv_ctx {
  int64_t channels, taps;
  int64_t channel;         /* bytes between two channels of the image */
  const int64_t *offsets;  /* of the taps, in bytes */
  const char *bias;        /* contiguous */
} st_conv_ctx;

/* The columns of the panel of the last n output channels. */
static inline int st__conv_panel(int64_t n) {
  return n >= 5 ? 8 : n >= 3 ? 4 : n == 2 ? 2 : 1;
}

#endif
