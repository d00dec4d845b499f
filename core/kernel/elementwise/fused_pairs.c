/* Kernels that compute two operators in one pass.
 */

#include "kernel/elementwise/elementwise_loops.h"

/* Four inputs: a and b are compared, c and d are selected from. */
#define ST_CHOICE_LOOP(tag, name, ...)                                       \
  ST_BODY(name, tag) {                                                       \
    ST_TYPES(tag);                                                           \
    T *out = (T *)p[0];                                                      \
    const T *pa = (const T *)p[1], *pb = (const T *)p[2],                    \
            *pc = (const T *)p[3], *pd = (const T *)p[4];                    \
    ST_SIMD_FOR(i, n) {                                                      \
      const T a = pa[i], b = pb[i], c = pc[i], d = pd[i];                    \
      out[i] = __VA_ARGS__;                                                  \
    }                                                                        \
  }                                                                          \
  ST_BLOCK_LOOP(name##_##tag, name##_##tag##_body, 5, ST_ELEM_##tag,         \
                ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag, ST_ELEM_##tag)

/* -- Rows ----------------------------------------------------------------- */

#define ST_LOOPS(name, grain, pattern, first, second, side, ...) \
  ST_LIST_WIDE(ST_##pattern, name, __VA_ARGS__)
#include "kernel/elementwise/fused_pairs.def"
#undef ST_LOOPS

static const st_kernel_row rows[] = {
#define ST_LOOPS(name, grain, pattern, first, second, side, ...) \
  {#name, {ST_LIST_WIDE(ST_SLOT, name, __VA_ARGS__)}},
#include "kernel/elementwise/fused_pairs.def"
#undef ST_LOOPS
};

ST_EXPORT(st__fused_pairs, rows)
