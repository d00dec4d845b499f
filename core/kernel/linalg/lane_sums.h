/* Sums of the lanes of some vectors at a time: sum_lanes_f4(x, n) of n vectors,
 * a power of two up to 8, makes lane i of x[0] the sum of the lanes of x[i];
 * sum_lanes_f8 too. The second half of the lanes is added to the first, and so
 * on until one is left.
 */
#ifndef ST_KERNEL_LINALG_LANE_SUMS_H
#define ST_KERNEL_LINALG_LANE_SUMS_H

#include "kernel/unroll.h"
#include "kernel/vectors.h"

#define RUN1(at) (at)
#define RUN2(at) (at), (at) + 1
#define RUN4(at) RUN2(at), RUN2((at) + 2)
#define RUN8(at) RUN4(at), RUN4((at) + 4)
#define TWO(RUN, at, step) RUN(at), RUN((at) + (step))
#define FOUR(RUN, at, step)                                                  \
  TWO(RUN, at, step), TWO(RUN, (at) + 2 * (step), step)

/* HALF_L_W(at): of two vectors of L lanes, from lane `at` on, the first half of
 * each group of W lanes. */
#define HALF_2_2(at) TWO(RUN1, at, 2)
#define HALF_4_4(at) TWO(RUN2, at, 4)
#define HALF_4_2(at) FOUR(RUN1, at, 2)
#define HALF_8_8(at) TWO(RUN4, at, 8)
#define HALF_8_4(at) FOUR(RUN2, at, 4)
#define HALF_8_2(at) FOUR(RUN1, at, 2), FOUR(RUN1, (at) + 8, 2)
#define HALF_16_16(at) TWO(RUN8, at, 16)
#define HALF_16_8(at) FOUR(RUN4, at, 8)
#define HALF_16_4(at) FOUR(RUN2, at, 4), FOUR(RUN2, (at) + 16, 4)
#define HALF_16_2(at) HALF_8_2(at), HALF_8_2((at) + 16)

typedef int32_t lanes_f4 __attribute__((vector_size(BYTES)));
typedef int64_t lanes_f8 __attribute__((vector_size(BYTES)));

/* n vectors, of groups of W lanes, become half as many, of groups half as wide;
 * the last one is taken twice. */
#define ADD_HALVES(s, L, W)                                                  \
  INLINE int add_halves_##s##_##W(v_##s *x, const int n) {                   \
    UNROLL for (int i = 0; i < n; i += 2) {                                  \
      const v_##s u = x[i], w = x[n > 1 ? i + 1 : i];                        \
      x[i / 2] = ST_SHUFFLE(lanes_##s, u, w, HALF_##L##_##W(0)) +            \
                 ST_SHUFFLE(lanes_##s, u, w, HALF_##L##_##W((W) / 2));       \
    }                                                                        \
    return (n + 1) / 2;                                                      \
  }

#if ST_VECTOR_BYTES == 64
ADD_HALVES(f4, 16, 16)
ADD_HALVES(f4, 16, 8)
ADD_HALVES(f4, 16, 4)
ADD_HALVES(f4, 16, 2)
ADD_HALVES(f8, 8, 8)
ADD_HALVES(f8, 8, 4)
ADD_HALVES(f8, 8, 2)
#elif ST_VECTOR_BYTES == 32
ADD_HALVES(f4, 8, 8)
ADD_HALVES(f4, 8, 4)
ADD_HALVES(f4, 8, 2)
ADD_HALVES(f8, 4, 4)
ADD_HALVES(f8, 4, 2)
#else
ADD_HALVES(f4, 4, 4)
ADD_HALVES(f4, 4, 2)
ADD_HALVES(f8, 2, 2)
#endif

INLINE void sum_lanes_f4(v_f4 *x, int n) {
#if ST_VECTOR_BYTES == 64
  n = add_halves_f4_16(x, n);
#endif
#if ST_VECTOR_BYTES >= 32
  n = add_halves_f4_8(x, n);
#endif
  n = add_halves_f4_4(x, n);
  add_halves_f4_2(x, n);
}

INLINE void sum_lanes_f8(v_f8 *x, int n) {
#if ST_VECTOR_BYTES == 64
  n = add_halves_f8_8(x, n);
#endif
#if ST_VECTOR_BYTES >= 32
  n = add_halves_f8_4(x, n);
#endif
  add_halves_f8_2(x, n);
}

#endif
