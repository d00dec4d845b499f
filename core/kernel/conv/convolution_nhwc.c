/* Convolution of images whose channels are adjacent, and the gradient of its
 * weight.
 *
 * A tile of sums stays in registers: PIXELS pixels, or channels, by two vectors
 * of output channels. Each step loads two vectors and multiplies them with one
 * number per row of the tile. Rows of pixels are cut into tiles of about the
 * same size, so that no tile is computed in vain. Sums have the order of those
 * of kernel/conv/convolution.c (Note [The order of a convolution]).
 */

#include "kernel/conv/convolution_nhwc.h"

#include "kernel/loop.h"
#include "kernel/unroll.h"
#include "kernel/vectors.h"

/* ROWS rows of two vectors, two more vectors and a number fit the registers. */
enum { ROWS = ST_VECTOR_REGISTERS >= 32 ? 12 : 6 };

#define TEMPLATE "kernel/conv/convolution_nhwc_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {
  {"convolution_nhwc", {[ST_FLOAT32] = nhwc_f4, [ST_FLOAT64] = nhwc_f8}},
  {"convolution_weight", {[ST_FLOAT32] = weight_f4,
                             [ST_FLOAT64] = weight_f8}},
};

ST_EXPORT(st__convolution_nhwc, rows)
