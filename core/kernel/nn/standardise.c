/* The last step of layer_norm: rows less their mean, times the reciprocal of
 * their standard deviation, times weight, plus bias. One pass instead of four,
 * with the same roundings.
 */

#include "kernel/nn/standardise.h"

#include "base/threads.h"
#include "kernel/inline.h"
#include "kernel/loop.h"

#define TEMPLATE "kernel/nn/standardise_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {ST_FLOATS(standardise)};

ST_EXPORT(st__standardise, rows)
