/* Vectors, and what kernels do with them that takes instructions of its own:
 *   FMA_f4(a, b, c), FMA_f8  a b + c, fused if ST_HAS_FMA
 *   FMA_NARROW_f4(a, b, c)   the same of vectors narrow_f4 of half as many
 *                            bytes, and WIDE_f4(x) of one and zeros: AVX-512
 *   MULTIPLY_u8(a, m)        the products of the low halves of elements
 *   PAIRS_i2(a, b)           sums of two products of adjacent integers of 16
 *                            bits, modulo 2^32
 *   WIDEN_u2(V, x)           converts ST_HALVES integers of 16 to 32 bits
 *   INDICES_f8(at)           loads indices of 32 bits, as an indices_f8
 *   LOOK_UP_f8(table, k)     of a table of 16 numbers, those at the indices
 *   PICK_f4(x, k), PICK_f8   the elements of x at indices: the bits of k
 *   LOAD_2x16(p, q)          a vector of 32 bytes from 16 at p and at q,
 *   LOAD_4x16(p, q, r, s)    one of 64 bytes from 16 at each address,
 *   LOAD_2x32(p, q)          or from 32, where vectors are as wide
 * and MASK_f4(n) of the first n elements, masked loads and stores,
 * GET_f4(from, mask) and PUT_f4(to, mask, x), and those of f8. Sums,
 * conversions and shuffles (ST_SHUFFLE) are the compilers' own.
 */
#ifndef ST_KERNEL_VECTORS_H
#define ST_KERNEL_VECTORS_H

#include <stdint.h>

#include "kernel/isa.h"

enum { BYTES = ST_VECTOR_BYTES };

/* Numbers may be in memory that is aligned for one of them. */
typedef float v_f4 __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef double v_f8 __attribute__((vector_size(BYTES), aligned(8), may_alias));
typedef uint64_t v_u8 __attribute__((vector_size(BYTES)));
typedef uint32_t v_i4 __attribute__((vector_size(BYTES), aligned(4),
                                     may_alias));
typedef uint64_t v_i8 __attribute__((vector_size(BYTES), aligned(8),
                                     may_alias));

#include ST_VECTOR_OPERATIONS

#endif
