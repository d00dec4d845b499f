/* Loops over batches of small matrices, of the functions that small_lanes.h
 * makes: Note [Small matrices].
 */
#ifndef ST_KERNEL_SMALL_MATRICES_SMALL_LOOPS_H
#define ST_KERNEL_SMALL_MATRICES_SMALL_LOOPS_H

#include "kernel/small_matrices/small_matrices.h"

/* Matrices that are computed one at a time. */
enum { ST_SMALL_SINGLE = 2 };

typedef void (*st_small_fn)(char **data, const int64_t *next, int count,
                            const st_small *s);

static inline void run_batch(char *const *data, const int64_t *next,
                             int64_t n0, const st_small *s, int lanes,
                             st_small_fn one, st_small_fn many) {
  for (int64_t i = 0; i < n0;) {
    char *at[ST_SMALL_OPERANDS];
    const int64_t left = n0 - i;
    const int count = left <= ST_SMALL_SINGLE ? 1
                      : left < lanes ? (int)left : lanes;
    for (int k = 0; k < ST_SMALL_OPERANDS; k++) {
      at[k] = data[k] ? data[k] + i * next[k] : NULL;
    }
    if (count == 1) one(at, next, 1, s);
    else many(at, next, count, s);
    i += count;
  }
}

#define ST_SMALL_LOOP(name, tag, lanes)                                      \
  static ST_LOOP_FN(small_##name##_##tag, strides) {                          \
    run_batch(data, strides, n0, ctx, lanes, name##_##tag, name##_##tag##s); \
  }
#define ST_SMALL_ROW(name)                                                   \
  {"small_" #name, {[ST_FLOAT32] = small_##name##_f4,                        \
                       [ST_FLOAT64] = small_##name##_f8}}

#endif
