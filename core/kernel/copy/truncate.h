/* Conversions of float64 to int32 by the x86 instruction, which gives INT32_MIN
 * for what does not fit (Note [Conversions]). If a compiler chooses it, the
 * bounds are tested as well, in masks of twice the width of the result. This
 * calls builtins that GCC and Clang share, as in math/f16c.h.
 */
#ifndef ST_KERNEL_COPY_TRUNCATE_H
#define ST_KERNEL_COPY_TRUNCATE_H

#include <string.h>

#include "base/dtype.h"

#if defined(__SSE2__)
#if defined(__AVX__)
#define ST_TRUNCATE_VECTOR __builtin_ia32_cvttpd2dq256
enum { ST_TRUNCATE_WIDTH = 4 };
#else
#define ST_TRUNCATE_VECTOR __builtin_ia32_cvttpd2dq
enum { ST_TRUNCATE_WIDTH = 2 };
#endif
typedef double st_truncate_from
  __attribute__((vector_size(8 * ST_TRUNCATE_WIDTH)));
typedef int32_t st_truncate_to __attribute__((vector_size(16)));

/* Converts as many elements as fill vectors and returns their number. */
static inline int64_t st_truncate_vectors(int32_t *to, const double *from,
                                          int64_t n) {
  int64_t i = 0;
  for (; i + ST_TRUNCATE_WIDTH <= n; i += ST_TRUNCATE_WIDTH) {
    st_truncate_from x;
    memcpy(&x, from + i, sizeof x);
    const st_truncate_to y = ST_TRUNCATE_VECTOR(x);
    memcpy(to + i, &y, 4 * ST_TRUNCATE_WIDTH);
  }
  return i;
}
#else
static inline int64_t st_truncate_vectors(int32_t *to, const double *from,
                                          int64_t n) {
  return (void)to, (void)from, (void)n, 0;
}
#endif

static void st_truncate(int32_t *to, const double *from, int64_t n) {
  for (int64_t i = st_truncate_vectors(to, from, n); i < n; i++) {
    to[i] = st__f64_to_i32_x86(from[i]);
  }
}

#endif
