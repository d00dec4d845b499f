/* The gradient of max pooling: adds the gradient of each window to the
 * element that was its maximum. Operands: out, g, index. n1 images of n0
 * windows, whose st_max_pool_back::channels channels lie side by side; out is
 * zero before. Strides are those of images.
 */

#include "base/threads.h"
#include "kernel/loop.h"
#include "kernel/pool/pool.h"

#define TEMPLATE "kernel/pool/max_pool_back_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {ST_FLOATS(max_pool_back)};

ST_EXPORT(st__max_pool_back, rows)
