/* resample.c for one dtype: T, F.
 */

/* y = sum of count rows of x, a step apart, times their weights. */
INLINE void F(row)(T *restrict y, const T *restrict x, const T *w,
                   int64_t count, int64_t step, int64_t n) {
  for (int64_t j = 0; j < n; j++) y[j] = 0;
  for (int64_t k = 0; k < count; k++) {
    const T *restrict row = x + k * step;
    const T weight = w[k];
    _Pragma("omp simd") for (int64_t j = 0; j < n; j++) {
      y[j] += row[j] * weight;
    }
  }
}

/* The transpose: adds x times each weight to count rows of y. */
INLINE void F(spread)(T *restrict y, const T *restrict x, const T *w,
                      int64_t count, int64_t step, int64_t n) {
  for (int64_t k = 0; k < count; k++) {
    T *restrict row = y + k * step;
    const T weight = w[k];
    _Pragma("omp simd") for (int64_t j = 0; j < n; j++) {
      row[j] += x[j] * weight;
    }
  }
}

INLINE T F(dot)(const T *x, const T *w, int64_t count) {
  T sum = 0;
  for (int64_t k = 0; k < count; k++) sum += x[k] * w[k];
  return sum;
}

static void F(resample)(char **data, const void *ctx) {
  const st_resample_ctx *c = ctx;
  int64_t left = ST_PERIOD;
  for (int64_t i = c->begin; i < c->end; i++) {
    const resample_unit u = unit_at(c, i);
    T *y = (T *)(void *)data[0] + u.at_out;
    const T *x = (const T *)(const void *)data[1] + u.at_in;
    for (int64_t o = 0; o < c->out; o++) {
      const int64_t first = c->spans[2 * o], count = c->spans[2 * o + 1];
      const T *w = (const T *)c->weights + o * c->taps;
      if (st__stops_after(&left, (count + 1) * u.n)) return;
      if (c->inner == 1) y[o] = F(dot)(x + first, w, count);
      else F(row)(y + o * c->inner, x + first * c->inner, w, count, c->inner,
                  u.n);
    }
  }
}

static void F(resample_back)(char **data, const void *ctx) {
  const st_resample_ctx *c = ctx;
  int64_t left = ST_PERIOD;
  for (int64_t i = c->begin; i < c->end; i++) {
    const resample_unit u = unit_at(c, i);
    T *y = (T *)(void *)data[0] + u.at_in;
    const T *x = (const T *)(const void *)data[1] + u.at_out;
    for (int64_t k = 0; k < c->in; k++) {
      for (int64_t j = 0; j < u.n; j++) y[k * c->inner + j] = 0;
    }
    for (int64_t o = 0; o < c->out; o++) {
      const int64_t first = c->spans[2 * o], count = c->spans[2 * o + 1];
      const T *w = (const T *)c->weights + o * c->taps;
      if (st__stops_after(&left, (count + 1) * u.n)) return;
      F(spread)(y + first * c->inner, x + o * c->inner, w, count, c->inner,
                u.n);
    }
  }
}
