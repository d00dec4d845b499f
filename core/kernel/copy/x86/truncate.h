/* Vectors of copy/truncate.h. This calls builtins that GCC and Clang share, as
 * in math/x86/f16c.h.
 */
#ifndef ST_KERNEL_COPY_X86_TRUNCATE_H
#define ST_KERNEL_COPY_X86_TRUNCATE_H

#include <stdint.h>
#include <string.h>

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

#endif
