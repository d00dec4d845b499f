/* The loop of standardise.c for one dtype: T, F.
 */

INLINE void F(row)(T *restrict out, const T *x, T mean, T rstd,
                   const T *weight, const T *bias, int64_t n) {
  _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {
    T y = (x[i] - mean) * rstd;
    if (weight) y *= weight[i];
    if (bias) y += bias[i];
    out[i] = y;
  }
}

/* The compiler removes the tests of constant NULLs. */
static ST_LOOP_FN(F(standardise), s) {
  const st_standardise_ctx *c = ctx;
  const T *w = c->weight, *b = c->bias;
  int64_t left = ST_PERIOD;
  for (int64_t j = 0; j < n1 && !st__stops_after(&left, n0); j++) {
    T *out = (T *)(void *)(data[0] + j * s[4]);
    const T *x = (const T *)(void *)(data[1] + j * s[5]);
    const T mean = *(const T *)(void *)(data[2] + j * s[6]);
    const T rstd = *(const T *)(void *)(data[3] + j * s[7]);
    if (w && b) F(row)(out, x, mean, rstd, w, b, n0);
    else if (w) F(row)(out, x, mean, rstd, w, NULL, n0);
    else if (b) F(row)(out, x, mean, rstd, NULL, b, n0);
    else F(row)(out, x, mean, rstd, NULL, NULL, n0);
  }
}
