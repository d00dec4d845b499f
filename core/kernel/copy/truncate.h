/* Conversions of float64 to int32 by the x86 instruction, which gives INT32_MIN
 * for what does not fit (Note [Conversions]). If a compiler chooses it, the
 * bounds are tested as well, in masks of twice the width of the result.
 */
#ifndef ST_KERNEL_COPY_TRUNCATE_H
#define ST_KERNEL_COPY_TRUNCATE_H

#include "base/dtype.h"
#include "kernel/isa.h"

#if ST_HAS_TRUNCATION
#include "kernel/copy/x86/truncate.h"
#else
static inline int64_t st_truncate_vectors(int32_t *to, const double *from,
                                          int64_t n) {
  (void)to, (void)from, (void)n;
  return 0;
}
#endif

static void st_truncate(int32_t *to, const double *from, int64_t n) {
  for (int64_t i = st_truncate_vectors(to, from, n); i < n; i++) {
    to[i] = st__f64_to_i32_x86(from[i]);
  }
}

#endif
