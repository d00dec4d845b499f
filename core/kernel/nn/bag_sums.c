/* The loops of embedding_bag: sums of rows, and the rows of the maxima.
 */

#include "kernel/nn/bag_sums.h"

#include "base/threads.h"
#include "kernel/loop.h"

#define TEMPLATE "kernel/nn/bag_sums_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {
  ST_FLOATS(bag_sums),
  ST_FLOATS(bag_maxima),
};

ST_EXPORT(st__bag_sums, rows)
