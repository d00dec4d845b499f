/* The indices of the other part of each complex number in a vector, for
 * ST_SHUFFLE: SWAPPED_f4 and SWAPPED_f8.
 */
#ifndef ST_KERNEL_LINALG_SWAPPED_H
#define ST_KERNEL_LINALG_SWAPPED_H

#include "kernel/vectors.h"

#define SWAPPED2 1, 0
#define SWAPPED4 SWAPPED2, 3, 2
#define SWAPPED8 SWAPPED4, 5, 4, 7, 6
#define SWAPPED16 SWAPPED8, 9, 8, 11, 10, 13, 12, 15, 14
#if ST_VECTOR_BYTES == 64
#define SWAPPED_f4 SWAPPED16
#define SWAPPED_f8 SWAPPED8
#elif ST_VECTOR_BYTES == 32
#define SWAPPED_f4 SWAPPED8
#define SWAPPED_f8 SWAPPED4
#else
#define SWAPPED_f4 SWAPPED4
#define SWAPPED_f8 SWAPPED2
#endif

#endif
