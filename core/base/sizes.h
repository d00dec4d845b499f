/* Sizes, strides and positions, computed with checks.
 *
 * Numbers of scripts reach them: an image without elements may have a side of
 * INT64_MAX, and a factor may be any number. What such a number is multiplied
 * with or added to goes through these functions, whose result says whether it
 * fits in 64 bits. If it does not, *out is the result modulo 2^64.
 */
#ifndef ST_BASE_SIZES_H
#define ST_BASE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

static inline bool st__add_sizes(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

static inline bool st__sub_sizes(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}

static inline bool st__mul_sizes(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}

/* The same for addresses, and for distances in bytes. */
static inline bool st__add_address(uintptr_t a, uintptr_t b, uintptr_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

static inline bool st__mul_bytes(uint64_t a, uint64_t b, uint64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}

#endif
