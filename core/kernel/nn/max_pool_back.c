/* The gradient of max pooling: adds the gradient of each window to the
 * element that was its maximum. Operands: out, g, index. n1 images of n0
 * windows, whose st_max_pool_back::channels channels lie side by side; out is
 * zero before. Strides are those of images.
 */

#include "base/threads.h"
#include "kernel/loop.h"
#include "kernel/nn/pool.h"

/* Positions outside of the image are skipped and reported. */
#define BACK(tag, T)                                                         \
  static void max_pool_back_##tag(char **data, const int64_t *s, int64_t n0, \
                                  int64_t n1, const void *ctx) {             \
    const st_max_pool_back *b = ctx;                                         \
    const int64_t channels = b->channels;                                    \
    int64_t left = ST_PERIOD;                                                \
    bool bad = false;                                                        \
    for (int64_t j = 0; j < n1; j++) {                                       \
      T *out = (T *)(void *)(data[0] + j * s[3]);                            \
      const T *g = (const T *)(void *)(data[1] + j * s[4]);                  \
      const int64_t *index = (const int64_t *)(void *)(data[2] + j * s[5]);  \
      for (int64_t i = 0; i < n0; i++) {                                     \
        for (int64_t k = 0; k < channels; k++) {                             \
          const uint64_t at = (uint64_t)index[k] - (uint64_t)b->base;        \
          if (at < (uint64_t)b->pixels) {                                    \
            out[(int64_t)at * channels + k] += g[k];                         \
          } else {                                                           \
            bad = true;                                                      \
          }                                                                  \
        }                                                                    \
        left -= channels;                                                    \
        if (left < 0 && st__stops()) return;                                 \
        if (left < 0) left = ST_PERIOD;                                      \
        index += channels;                                                   \
        g += channels;                                                       \
      }                                                                      \
    }                                                                        \
    if (bad) atomic_store_explicit(b->bad, true, memory_order_relaxed);      \
  }

BACK(f4, float)
BACK(f8, double)

static const st_kernel_row rows[] = {
  {"max_pool_back", {[ST_FLOAT32] = max_pool_back_f4,
                        [ST_FLOAT64] = max_pool_back_f8}},
};

ST_EXPORT(st__max_pool_back, rows)
