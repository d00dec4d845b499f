/* Types in memory of pooling kernels that compute in another type: functions
 * that convert rows, and a row `type_S` of them each.
 */
#ifndef ST_KERNEL_POOL_POOL_TYPES_H
#define ST_KERNEL_POOL_POOL_TYPES_H

#include "kernel/math/half_rows.h"
#include "kernel/pool/pool_units.h"

/* Half types, computed in float. */
#define ST_POOL_HALF(S)                                                     \
  static void load_##S(void *to, const char *p, int64_t step, int64_t n) {  \
    st_load_##S(to, p, step, n);                                            \
  }                                                                         \
  static void store_##S(char *p, int64_t step, const void *from,            \
                        int64_t n) {                                        \
    st_store_##S(p, step, from, n);                                         \
  }                                                                         \
  static const st_pool_type type_##S = {2, load_##S, store_##S};

/* Integers T, computed in A: IN(x) is an A, OUT(T, a) is a T. */
#define ST_POOL_INTEGER(S, T, A, IN, OUT)                                   \
  static void load_##S(void *to, const char *p, int64_t step, int64_t n) {  \
    A *restrict a = to;                                                     \
    if (step == sizeof(T)) {                                                \
      for (int64_t i = 0; i < n; i++) a[i] = IN(((const T *)p)[i]);         \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++) a[i] = IN(*(const T *)(p + i * step)); \
    }                                                                       \
  }                                                                         \
  static void store_##S(char *p, int64_t step, const void *from,            \
                        int64_t n) {                                        \
    const A *a = from;                                                      \
    for (int64_t i = 0; i < n; i++) *(T *)(p + i * step) = OUT(T, a[i]);    \
  }                                                                         \
  static const st_pool_type type_##S = {sizeof(T), load_##S, store_##S};

/* The loop of a kernel for dtype S, by the functions that end in _KIND. */
#define ST_POOL_LOOP(name, S, KIND, type)                                   \
  static void name##_loop_##S(char **data, const int64_t *strides,          \
                              int64_t n0, int64_t n1, const void *ctx) {    \
    (void)strides;                                                          \
    name##_##KIND(data, n0, n1, ctx, type);                                 \
  }

#endif
