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
ST_POOL_HALF(f16)
ST_POOL_HALF(bf16)

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

/* The task of a kernel for dtype S, by the functions that end in _KIND. */
#define ST_POOL_TASK(name, S, KIND, type)                                   \
  static void name##_task_##S(char **data, const void *ctx) {               \
    name##_##KIND(data, ctx, type);                                         \
  }

/* Those of all dtypes but bool. */
#define ST_POOL_TASKS(name)                                                 \
  ST_POOL_TASK(name, u8, integers, &type_u8)                                \
  ST_POOL_TASK(name, i8, integers, &type_i8)                                \
  ST_POOL_TASK(name, i16, integers, &type_i16)                              \
  ST_POOL_TASK(name, i32, integers, &type_i32)                              \
  ST_POOL_TASK(name, i64, i64, NULL)                                        \
  ST_POOL_TASK(name, f16, halves, &type_f16)                                \
  ST_POOL_TASK(name, bf16, halves, &type_bf16)                              \
  ST_POOL_TASK(name, f32, f32, NULL)                                        \
  ST_POOL_TASK(name, f64, f64, NULL)

#endif
