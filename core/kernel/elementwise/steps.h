/* Copies of every k-th element, for a constant or a small k.
 *
 * Note [Constant strides]
 * If the step of a loop is a constant, the compiler turns a copy of every
 * second element, or of all elements in reverse order, into register loads
 * and shuffles.
 *
 * Note [Steps by permutation]
 * A register's worth of elements with a step of k lies in k registers of
 * memory. Each of these is permuted, so that its elements get to their places
 * in the result: k loads and one store, whatever the number of elements. A loop
 * of single elements has a store for each. The indices of the permutations are
 * computed for a row.
 */
#ifndef ST_KERNEL_ELEMENTWISE_STEPS_H
#define ST_KERNEL_ELEMENTWISE_STEPS_H

#include <stdbool.h>

#include "kernel/elementwise/element_bits.h"
#include "kernel/isa.h"

/* -- Permutations --------------------------------------------------------- */

/* ST_LONG_ROW: elements that are worth the indices of the permutations */
enum { ST_FIRST_STEP = 5, ST_LONG_ROW = 128 };

/* An index is `there` for element i of a register of memory, or `keep`, which
 * leaves element e of the result. No register may begin behind the last
 * element, so it is copied alone; the last block overlaps the one before it.
 * False if the step is above `most`, or the row is short. */
#define ST_STEP_INDICES(b, lanes, there, keep)                               \
  static inline void st_step_indices##b(st_bits##b (*at)[lanes],             \
                                        int64_t step) {                      \
    for (int64_t j = 0; j < step; j++) {                                     \
      ST_SIMD_FOR(e, lanes) {                                                \
        const int64_t i = e * step - j * lanes;                              \
        at[j][e] = (st_bits##b)(i >= 0 && i < lanes ? there : keep);         \
      }                                                                      \
    }                                                                        \
  }
#define ST_STEP_BLOCK(b, lanes, vector, load, place)                         \
  static inline vector st_step_block##b(st_bits##b (*at)[lanes],             \
                                        const st_bits##b *from,              \
                                        int64_t step) {                      \
    vector sum = {0};                                                        \
    for (int64_t j = 0; j < step; j++) {                                     \
      sum = place(sum, load(at[j]), load(from + j * lanes));                 \
    }                                                                        \
    return sum;                                                              \
  }
#define ST_PERMUTED_STEPS(b, lanes, most, store)                             \
  static inline bool st_copy_permuted##b(st_bits##b *to,                     \
                                         const st_bits##b *from, int64_t n,  \
                                         int64_t step) {                     \
    _Alignas(64) st_bits##b at[most][lanes];                                 \
    if (n < ST_LONG_ROW || step < ST_FIRST_STEP || step > most) return false;\
    st_step_indices##b(at, step);                                            \
    for (int64_t i = 0; i < n - 1; i += lanes) {                             \
      if (i > n - 1 - lanes) i = n - 1 - lanes;                              \
      store(to + i, st_step_block##b(at, from + i * step, step));            \
    }                                                                        \
    to[n - 1] = from[(n - 1) * step];                                        \
    return true;                                                             \
  }

#define ST_NO_PERMUTED_STEPS(b)                                              \
  static inline bool st_copy_permuted##b(st_bits##b *to,                     \
                                         const st_bits##b *from, int64_t n,  \
                                         int64_t step) {                     \
    (void)to, (void)from, (void)n, (void)step;                               \
    return false;                                                            \
  }

#if ST_HAS_PERMUTATIONS
#include "kernel/elementwise/x86/permuted_steps.h"
#else
ST_NO_PERMUTED_STEPS(1)
ST_NO_PERMUTED_STEPS(2)
ST_NO_PERMUTED_STEPS(4)
#endif
ST_NO_PERMUTED_STEPS(8)
ST_NO_PERMUTED_STEPS(16)

/* -- Steps ---------------------------------------------------------------- */

/* SSE2 has no shuffle for a step of 3, which then takes longer than single
 * elements. */
enum { ST_HAS_STEP_3 = ST_VECTOR_BYTES > 16 };

/* The result is true if there is a loop for the step. */
#define ST_COPY_STEP(b)                                                      \
  static bool st_copy_step##b(st_bits##b *to, const st_bits##b *from,        \
                              int64_t n, int64_t step) {                     \
    switch (step) {                                                          \
      case -1: ST_SIMD_FOR(i, n) to[i] = from[-i]; return true;              \
      case 0: ST_SIMD_FOR(i, n) to[i] = from[0]; return true;                \
      case 2: ST_SIMD_FOR(i, n) to[i] = from[2 * i]; return true;            \
      case 3:                                                                \
        if (!ST_HAS_STEP_3) return false;                                    \
        ST_SIMD_FOR(i, n) to[i] = from[3 * i]; return true;                  \
      case 4: ST_SIMD_FOR(i, n) to[i] = from[4 * i]; return true;            \
      default: return st_copy_permuted##b(to, from, n, step);                \
    }                                                                        \
  }
ST_COPY_STEP(1)
ST_COPY_STEP(2)
ST_COPY_STEP(4)
ST_COPY_STEP(8)
ST_COPY_STEP(16)

#undef ST_STEP_INDICES
#undef ST_STEP_BLOCK
#undef ST_PERMUTED_STEPS
#undef ST_NO_PERMUTED_STEPS
#undef ST_COPY_STEP

#endif
