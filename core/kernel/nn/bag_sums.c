/* The loops of embedding_bag: sums of rows, and the rows of the maxima.
 */

#include "kernel/nn/bag_sums.h"

#include "base/threads.h"
#include "kernel/loop.h"

#define TEMPLATE "kernel/nn/bag_sums_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {
  {"bag_sums", {[ST_FLOAT32] = bag_sums_f4, [ST_FLOAT64] = bag_sums_f8}},
  {"bag_maxima", {[ST_FLOAT32] = bag_maxima_f4, [ST_FLOAT64] = bag_maxima_f8}},
};

ST_EXPORT(st__bag_sums, rows)
