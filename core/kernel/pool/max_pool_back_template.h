/* The loop of max_pool_back.c for one dtype: T, F.
 */

/* Positions outside of the image are skipped and reported. */
static ST_LOOP_FN(F(max_pool_back), s) {
  const st_max_pool_back *b = ctx;
  const int64_t channels = b->channels;
  int64_t left = ST_PERIOD;
  bool bad = false;
  for (int64_t j = 0; j < n1; j++) {
    T *out = (T *)(void *)(data[0] + j * s[3]);
    const T *g = (const T *)(void *)(data[1] + j * s[4]);
    const int64_t *index = (const int64_t *)(void *)(data[2] + j * s[5]);
    for (int64_t i = 0; i < n0; i++) {
      for (int64_t k = 0; k < channels; k++) {
        const uint64_t at = (uint64_t)index[k] - (uint64_t)b->base;
        if (at < (uint64_t)b->pixels) {
          out[(int64_t)at * channels + k] += g[k];
        } else {
          bad = true;
        }
      }
      if (st__stops_after(&left, channels)) return;
      index += channels;
      g += channels;
    }
  }
  if (bad) atomic_store_explicit(b->bad, true, memory_order_relaxed);
}
