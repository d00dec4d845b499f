/* Functions and loops that compilers expand in place, so that small arrays of
 * vectors stay in registers. UNROLL stands before a loop of at most 16 steps.
 */
#ifndef ST_KERNEL_UNROLL_H
#define ST_KERNEL_UNROLL_H

#include "kernel/inline.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
