/* Functions of float64 by their kernels: unlike those of the C library, they
 * have the same bits on every system (Note [Vector maths]).
 */
#ifndef ST_KERNEL_NUMBERS_H
#define ST_KERNEL_NUMBERS_H

#include "kernel/kernel.h"

/* n adjacent numbers, in place; id: ST_K_log, ST_K_exp, ST_K_sin ... */
static inline void st__map_numbers(st_kernel_id id, double *x, int64_t n) {
  const int64_t strides[4] = {sizeof *x, sizeof *x, 0, 0};
  char *data[2] = {(char *)x, (char *)x};
  st__kernel(id, ST_FLOAT64)(data, strides, n, 1, NULL);
}

/* A function of two numbers: ST_K_pow, ST_K_hypot. */
static inline double st__map_two(st_kernel_id id, double x, double y) {
  const int64_t strides[6] = {sizeof x, sizeof x, sizeof y, 0, 0, 0};
  char *data[3] = {(char *)&x, (char *)&x, (char *)&y};
  st__kernel(id, ST_FLOAT64)(data, strides, 1, 1, NULL);
  return x;
}

#endif
