/* kernel/isa.h for any processor: vectors are those of GCC and Clang.
 */
#ifndef ST_KERNEL_GENERIC_ISA_H
#define ST_KERNEL_GENERIC_ISA_H

#include <string.h>

#ifndef ST_VECTOR_BYTES
#define ST_VECTOR_BYTES 16
#endif
#define ST_VECTOR_REGISTERS 16
#define ST_VECTOR_OPERATIONS "kernel/generic/vectors.h"

#if defined(__FP_FAST_FMA) || defined(__aarch64__)
#define ST_HAS_FMA 1
#else
#define ST_HAS_FMA 0
#endif
#define ST_HAS_BLENDS 1
#define ST_HAS_HALVES 0
#define ST_HAS_TRUNCATION 0
#define ST_HAS_PERMUTATIONS 0
#define ST_HAS_FUNCTIONS 0

#define ST_KEEP_ROUNDED(x) ((void)(x))
#define ST_STREAM_VECTOR(to, from) memcpy(to, from, ST_VECTOR_BYTES)
#define ST_FENCE_STREAMS() ((void)0)

#endif
