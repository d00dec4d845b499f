/* What kernels with kernel/lapack/each_number.h include before it. */
#ifndef ST_KERNEL_LAPACK_NUMBER_TYPES_H
#define ST_KERNEL_LAPACK_NUMBER_TYPES_H

#include <math.h>
#include <stdbool.h>

#include "kernel/unroll.h"
#include "kernel/vectors.h"

/* FMA_f4 and FMA_f8 of one number. */
#if ST_HAS_FMA
#define FUSED_f4(a, b, c) __builtin_fmaf(a, b, c)
#define FUSED_f8(a, b, c) __builtin_fma(a, b, c)
#else
#define FUSED_f4(a, b, c) ((a) * (b) + (c))
#define FUSED_f8(a, b, c) ((a) * (b) + (c))
#endif

/* The orders of parts that exchange those of each number. */
#define NEIGHBOURS_2 1, 0
#define NEIGHBOURS_4 1, 0, 3, 2
#define NEIGHBOURS_8 1, 0, 3, 2, 5, 4, 7, 6
#define NEIGHBOURS_16 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14

/* A row of a kernel for all of them. */
#define ST_NUMBERS(name)                                                     \
  {#name, {[ST_FLOAT32] = name##_f4, [ST_FLOAT64] = name##_f8,               \
           [ST_COMPLEX64] = name##_c4, [ST_COMPLEX128] = name##_c8}}

#endif
