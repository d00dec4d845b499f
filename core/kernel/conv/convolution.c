/* Convolution: sums of windows of an image, times weights.
 *
 * A tile of output channels and pixels is kept in registers. For each channel
 * and each element of the window, adjacent pixels are loaded and multiplied
 * with one weight per output channel: one load serves all output channels, one
 * weight all pixels. Where the processor has a fused multiply-add, it is used,
 * so the last bit of a sum may depend on the instruction set, as in BLAS.
 */

#include "kernel/conv/convolution.h"

#include <string.h>

#include "kernel/loop.h"
#include "kernel/unroll.h"
#include "kernel/vectors.h"

/* ROWS output channels and three vectors of pixels fit the registers, as do
 * PIXELS pixels of a vector of channels. */
enum { ROWS = ST_VECTOR_REGISTERS >= 32 ? 8 : 4, PIXELS = 8 };

#define T float
#define TAG f4
#define V v_f4
#define LANES (BYTES / 4)
#define LOAD(p) (*(const v_f4 *)(const void *)(p))
#define STORE(p, v) (*(v_f4 *)(void *)(p) = (v))
#define SPLAT(x) ((x) - (v_f4){0}) /* exact, -0 too */
#define FMA FMA_f4
#include "kernel/conv/convolution_template.h"

#define T double
#define TAG f8
#define V v_f8
#define LANES (BYTES / 8)
#define LOAD(p) (*(const v_f8 *)(const void *)(p))
#define STORE(p, v) (*(v_f8 *)(void *)(p) = (v))
#define SPLAT(x) ((x) - (v_f8){0})
#define FMA FMA_f8
#include "kernel/conv/convolution_template.h"

static const st_kernel_row rows[] = {
  {"convolution", {[ST_FLOAT32] = convolution_f4,
                      [ST_FLOAT64] = convolution_f8}},
  {"depthwise", {[ST_FLOAT32] = depthwise_f4,
                    [ST_FLOAT64] = depthwise_f8}},
};

ST_EXPORT(st__convolution, rows)
