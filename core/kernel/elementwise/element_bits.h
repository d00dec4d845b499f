/* The bits of elements that are copied, and a loop over elements that do not
 * depend on each other.
 */
#ifndef ST_KERNEL_ELEMENTWISE_ELEMENT_BITS_H
#define ST_KERNEL_ELEMENTWISE_ELEMENT_BITS_H

#include <stdint.h>

#define ST_SIMD_FOR(i, n) \
  _Pragma("omp simd") for (int64_t i = 0; i < (n); i++)

/* Several small elements may be copied as one larger element, which is then
 * not aligned to its size. */
typedef uint8_t __attribute__((may_alias)) st_bits1;
typedef uint16_t __attribute__((may_alias, aligned(1))) st_bits2;
typedef uint32_t __attribute__((may_alias, aligned(1))) st_bits4;
typedef uint64_t __attribute__((may_alias, aligned(1))) st_bits8;
typedef struct st_bits16 {
  uint64_t u[2];
} __attribute__((may_alias, packed)) st_bits16;

#endif
