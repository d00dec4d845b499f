/* The backward pass of batch_norm: sums over each channel, and the gradient
 * of the input that follows from them (kernel/nn/channel_sums.h).
 */

#include "kernel/nn/channel_sums.h"

#include "base/threads.h"
#include "kernel/inline.h"
#include "kernel/loop.h"

/* Partial sums of a row, each of at most BLOCK / LANES elements; columns whose
 * partial sums are held at a time. */
enum { LANES = 32, BLOCK = 4096, COLUMNS = 64 };

#define TEMPLATE "kernel/nn/channel_sums_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {
  ST_FLOATS(channel_sums), ST_FLOATS(column_sums),
  ST_FLOATS(channel_affine), ST_FLOATS(column_affine),
};

ST_EXPORT(st__channel_sums, rows)
