/* The size of a block for a requested size.
 *
 * Note [Size classes]
 * The size of a block depends on the requested size only: up to 1 KB it is the
 * next multiple of 64 bytes, above that there are eight classes per power of
 * two, so at most an eighth is wasted. The caller passes the requested size
 * when it frees a block, so a block needs no header, and any block of a class
 * serves any request of that class.
 */
#ifndef ST_BASE_SIZE_CLASS_H
#define ST_BASE_SIZE_CLASS_H

#include <stddef.h>

/* In units of 64 bytes: sizes 1 to 16 have a class each, then the sizes are
 * (8 + q) << shift with q = 1 to 8. */
static inline int st__class_of(size_t n, size_t *size) {
  const size_t units = n ? (n + 63) / 64 : 1;
  if (units <= 16) {
    *size = units * 64;
    return (int)units - 1;
  }
  const int shift = 60 - __builtin_clzll(units - 1);
  const size_t q = (units - 1) >> shift; /* 8 to 15 */
  *size = ((q + 1) << shift) * 64;
  return 16 + (shift - 1) * 8 + (int)(q - 8);
}

/* The inverse. */
static inline size_t st__size_of_class(int k) {
  if (k < 16) return (size_t)(k + 1) * 64;
  const int shift = (k - 16) / 8 + 1, q = (k - 16) % 8 + 8;
  return ((size_t)(q + 1) << shift) * 64;
}

#endif
