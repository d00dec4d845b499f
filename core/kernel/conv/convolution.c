/* Convolution: sums of windows of an image, times weights.
 *
 * A tile of output channels and pixels is kept in registers. For each channel
 * and each element of the window, adjacent pixels are loaded and multiplied
 * with one weight per output channel: one load serves all output channels, one
 * weight all pixels. Note [The order of a convolution]: convolution.h.
 */

#include "kernel/conv/convolution.h"

#include <string.h>

#include "kernel/loop.h"
#include "kernel/unroll.h"
#include "kernel/vectors.h"

/* ROWS output channels and three vectors of pixels fit the registers, as do
 * PIXELS pixels of a vector of channels. */
enum { ROWS = ST_VECTOR_REGISTERS >= 32 ? 8 : 4, PIXELS = 8 };

#define TEMPLATE "kernel/conv/convolution_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {
  ST_FLOATS(convolution),
  ST_FLOATS(depthwise),
};

ST_EXPORT(st__convolution, rows)
