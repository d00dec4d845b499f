/* What kernels ask about the instruction set that they are compiled for, and
 * nothing that needs intrinsics: kernel/vectors.h has the operations.
 *
 * One header per architecture answers, and names the one with the operations:
 *   ST_VECTOR_BYTES      bytes of a vector: 16, 32 or 64
 *   ST_VECTOR_REGISTERS  how many vectors stay in registers
 *   ST_VECTOR_OPERATIONS the header that kernel/vectors.h includes
 * and 0 or 1:
 *   ST_HAS_FMA           a multiply-add is fused
 *   ST_HAS_BLENDS        selections take an instruction
 *   ST_HAS_HALVES        halves are converted: kernel/math/halves.h
 *   ST_HAS_TRUNCATION    kernel/copy/truncate.h
 *   ST_HAS_PERMUTATIONS  kernel/elementwise/steps.h
 *   ST_HAS_FUNCTIONS     of whole vectors: kernel/math/exp_minus.h
 * and defines
 *   ST_KEEP_ROUNDED(x)   keeps the compiler from fusing x with what follows
 *   ST_STREAM_VECTOR(to, from)  a vector to aligned memory, past the caches
 *   ST_FENCE_STREAMS()   orders such stores before all later ones
 */
#ifndef ST_KERNEL_ISA_H
#define ST_KERNEL_ISA_H

#if defined(__SSE2__) && !defined(ST_VECTOR_BYTES)
#include "kernel/x86/isa.h"
#elif !defined(ST_VECTOR_BYTES)
#include "kernel/generic/isa.h"
#endif

/* A number by the width of vectors, which can be a part of a name. */
#if ST_VECTOR_BYTES == 64
#define ST_BY_WIDTH(of_16, of_32, of_64) of_64
#elif ST_VECTOR_BYTES == 32
#define ST_BY_WIDTH(of_16, of_32, of_64) of_32
#else
#define ST_BY_WIDTH(of_16, of_32, of_64) of_16
#endif

/* The elements of two vectors whose numbers follow, in the order of these. I is
 * a type of vector with integers of their size. */
#if defined(__clang__)
#define ST_SHUFFLE(I, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define ST_SHUFFLE(I, x, y, ...) __builtin_shuffle(x, y, (I){__VA_ARGS__})
#endif

#endif
