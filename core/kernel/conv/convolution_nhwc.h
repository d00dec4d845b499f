/* Operands and ctx of the loops of kernel/conv/convolution_nhwc.c. In all of
 * them the channels of a pixel are adjacent.
 *
 * convolution_nhwc: sums[p][o] = bias[o] + the sum, over channels c and taps t,
 * of image[offsets[t] + p][c] * weights[c][t][o], in this order. Operands:
 * sums, image, weights. n0 pixels p, which are the inner strides of operands 0
 * and 1 apart; n1 output channels o, which are those of one panel.
 *
 * Weights are in panels of ST_NHWC_PANEL bytes of output channels, each
 * [c][t][o]. The last panel may have half as many. Sums and biases up to the
 * end of a panel are read and written, too.
 *
 * convolution_weight: sums[a][b] += the sum, over images i, rows y and columns
 * x of pixels, of left[i][y][x][a] * right[i][y][x][b]. Operands: sums, left,
 * right. n0 channels b, in units of ST_NHWC_UNIT bytes; n1 channels a, whose
 * sums are the outer stride of operand 0 apart. The inner strides of operands 1
 * and 2 lead from column to column, the outer ones from row to row.
 */
#ifndef ST_KERNEL_CONV_CONVOLUTION_NHWC_H
#define ST_KERNEL_CONV_CONVOLUTION_NHWC_H

#include <stdbool.h>
#include <stdint.h>

enum { ST_NHWC_PANEL = 128, ST_NHWC_UNIT = 64 }; /* bytes */

typedef struct st_nhwc_ctx {
  int64_t channels, taps;
  int64_t next;            /* bytes of weights between two channels */
  const int64_t *offsets;  /* of the taps, in bytes */
  const char *bias;
} st_nhwc_ctx;

typedef struct st_conv_weight_ctx {
  int64_t images, rows, cols;
  int64_t left, right;     /* bytes between two images */
} st_conv_weight_ctx;

#endif
