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

#define T float
#define F(name) name##_f4
#define SQRT sqrtf
#define ABS fabsf
#include "kernel/optim/optim_template.h"

#define T double
#define F(name) name##_f8
#define SQRT sqrt
#define ABS fabs
#include "kernel/optim/optim_template.h"

#define SLOTS(name) \
  {#name, {[ST_FLOAT32] = name##_f4, [ST_FLOAT64] = name##_f8}},

static const st_kernel_row rows[] = {
  SLOTS(sgd_step) SLOTS(adam_step) SLOTS(nadam_step) SLOTS(radam_step)
  SLOTS(rmsprop_step) SLOTS(adagrad_step) SLOTS(adadelta_step)
  SLOTS(adamax_step) SLOTS(asgd_step) SLOTS(rprop_step) SLOTS(unscale)
};

ST_EXPORT(st__optim, rows)
