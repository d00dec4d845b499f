/* Gradient kernels of activations; each reads its operands once.
 */

#include "kernel/math/functions.h"

#include "kernel/elementwise/elementwise_loops.h"
#include "kernel/expression.h"
#include "kernel/complex.h"

#define ST_LOOPS(name, grain, pattern, list, ...) \
  ST_LIST_##list(ST_##pattern, name, __VA_ARGS__)
#define ST_LOOPS_MORE ST_LOOPS
#include "kernel/elementwise/backward.def"
#undef ST_LOOPS

static const st_kernel_row rows[] = {
#define ST_LOOPS(name, grain, pattern, list, ...) \
  {#name, {ST_LIST_##list(ST_SLOT, name, __VA_ARGS__)}},
#define ST_LOOPS_MORE ST_LOOPS
#include "kernel/elementwise/backward.def"
};

ST_EXPORT(st__backward, rows)
