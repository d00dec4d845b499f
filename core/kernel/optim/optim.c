/* The steps of optimizers: parameters and states in one pass.
 */

#include "kernel/optim/optim.h"

#include <math.h>
#include <stddef.h>

#include "kernel/loop.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define LOOP(name)                                                          \
  static void F(name)(char **data,                                          \
                      __attribute__((unused)) const int64_t *strides,       \
                      int64_t n, __attribute__((unused)) int64_t rows,      \
                      __attribute__((unused)) const void *ctx)

#define OPERAND(i) ((T *)(void *)data[i])

#define UNITS(i) _Pragma("omp simd") for (int64_t i = 0; i < n; i++)

#define TEMPLATE "kernel/optim/optim_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {
  ST_FLOATS(sgd_step), ST_FLOATS(adam_step), ST_FLOATS(nadam_step),
  ST_FLOATS(radam_step), ST_FLOATS(rmsprop_step), ST_FLOATS(adagrad_step),
  ST_FLOATS(adadelta_step), ST_FLOATS(adamax_step), ST_FLOATS(asgd_step),
  ST_FLOATS(rprop_step), ST_FLOATS(unscale),
};

ST_EXPORT(st__optim, rows)
