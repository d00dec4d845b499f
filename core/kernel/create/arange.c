/* The kernel arange: elements that are a linear function of their index.
 */

#include "kernel/create/arange.h"

#include "kernel/loop.h"

/* An index is an exact sum of float64: few instruction sets convert int64. */
#define FLOATS(tag, T)                                                       \
  static ST_LOOP_FN(arange_##tag, s) {                                       \
    const st_arange_ctx *c = ctx;                                            \
    const double start = c->start, step = c->step;                           \
    const double begin = (double)c->begin, next = c->down ? -1 : 1;          \
    T *out = (T *)(void *)data[0];                                           \
    const int n = (int)n0;                                                   \
    (void)s, (void)n1;                                                       \
    _Pragma("omp simd") for (int i = 0; i < n; i++) {                        \
      out[i] = (T)(start + step * (begin + next * (double)i));               \
    }                                                                        \
  }

#define INTEGERS(tag, T)                                                     \
  static ST_LOOP_FN(arange_##tag, s) {                                       \
    const st_arange_ctx *c = ctx;                                            \
    const T by = (T)c->by;                                                   \
    const T first = (T)c->first + (T)c->begin * by;                          \
    T *out = (T *)(void *)data[0];                                           \
    (void)s, (void)n1;                                                       \
    _Pragma("omp simd") for (int64_t i = 0; i < n0; i++) {                   \
      out[i] = first + (T)i * by;                                            \
    }                                                                        \
  }

FLOATS(f4, float)
FLOATS(f8, double)
INTEGERS(i4, uint32_t)
INTEGERS(i8, uint64_t)

static const st_kernel_row rows[] = {
  {"arange", {[ST_FLOAT32] = arange_f4, [ST_FLOAT64] = arange_f8,
                 [ST_INT32] = arange_i4, [ST_INT64] = arange_i8}},
};

ST_EXPORT(st__arange, rows)
