/* The loops of channel_sums.c for one dtype T, included once per dtype.
 */

/* Adds the sums of at most BLOCK elements. */
INLINE void F(block_sums)(double *sums, const T *g, const T *x, T mean,
                          int64_t n) {
  T of_g[LANES] = {0}, of_gx[LANES] = {0};
  double sum_g = 0, sum_gx = 0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    _Pragma("omp simd") for (int k = 0; k < LANES; k++) {
      of_g[k] += g[i + k];
      of_gx[k] += g[i + k] * (x[i + k] - mean);
    }
  }
  for (int k = 0; i + k < n; k++) {
    of_g[k] += g[i + k];
    of_gx[k] += g[i + k] * (x[i + k] - mean);
  }
  for (int k = 0; k < LANES; k++) {
    sum_g += (double)of_g[k];
    sum_gx += (double)of_gx[k];
  }
  sums[0] += sum_g;
  sums[1] += sum_gx;
}

static ST_LOOP_FN(F(channel_sums), s) {
  const st_channel_sums *c = ctx;
  const T mean = *(const T *)c->mean;
  int64_t left = ST_PERIOD;
  c->sums[0] = c->sums[1] = 0;
  for (int64_t j = 0; j < n1; j++) {
    const T *g = (const T *)(const void *)(data[0] + j * s[2]);
    const T *x = (const T *)(const void *)(data[1] + j * s[3]);
    for (int64_t i = 0; i < n0; i += BLOCK) {
      const int64_t n = n0 - i < BLOCK ? n0 - i : BLOCK;
      F(block_sums)(c->sums, g + i, x + i, mean, n);
      if (st__stops_after(&left, n)) return;
    }
  }
}

/* The sums of n columns, at most COLUMNS. */
INLINE void F(some_columns)(double *sums_g, double *sums_gx, const char *g,
                            const char *x, const int64_t *s, const T *mean,
                            int64_t n, int64_t rows) {
  T of_g[COLUMNS] = {0}, of_gx[COLUMNS] = {0};
  for (int64_t j = 0; j < rows; j++) {
    const T *gj = (const T *)(const void *)(g + j * s[2]);
    const T *xj = (const T *)(const void *)(x + j * s[3]);
    _Pragma("omp simd") for (int64_t k = 0; k < n; k++) {
      of_g[k] += gj[k];
      of_gx[k] += gj[k] * (xj[k] - mean[k]);
    }
  }
  for (int64_t k = 0; k < n; k++) {
    sums_g[k] = (double)of_g[k];
    sums_gx[k] = (double)of_gx[k];
  }
}

static ST_LOOP_FN(F(column_sums), s) {
  const st_channel_sums *c = ctx;
  const T *mean = c->mean;
  int64_t left = ST_PERIOD, k = 0;
  for (; k + COLUMNS <= n0; k += COLUMNS) {
    const int64_t at = k * (int64_t)sizeof(T);
    F(some_columns)(c->sums + k, c->sums + n0 + k, data[0] + at, data[1] + at,
                    s, mean + k, COLUMNS, n1);
    if (st__stops_after(&left, COLUMNS * n1)) return;
  }
  if (k < n0) {
    const int64_t at = k * (int64_t)sizeof(T);
    F(some_columns)(c->sums + k, c->sums + n0 + k, data[0] + at, data[1] + at,
                    s, mean + k, n0 - k, n1);
  }
}

static ST_LOOP_FN(F(channel_affine), s) {
  int64_t left = ST_PERIOD;
  for (int64_t j = 0; j < n1 && !st__stops_after(&left, n0); j++) {
    T *restrict out = (T *)(void *)(data[0] + j * s[7]);
    const T *g = (const T *)(void *)(data[1] + j * s[8]);
    const T *x = (const T *)(void *)(data[2] + j * s[9]);
    T p[4];
    for (int k = 0; k < 4; k++) {
      p[k] = *(const T *)(void *)(data[3 + k] + j * s[10 + k]);
    }
    const T mean = p[0], a = p[1], b = p[2], c = p[3];
    _Pragma("omp simd") for (int64_t i = 0; i < n0; i++) {
      out[i] = g[i] * a + ((x[i] - mean) * b + c);
    }
  }
}

static ST_LOOP_FN(F(column_affine), s) {
  const T *mean = (const T *)(void *)data[3];
  const T *a = (const T *)(void *)data[4];
  const T *b = (const T *)(void *)data[5];
  const T *c = (const T *)(void *)data[6];
  int64_t left = ST_PERIOD;
  for (int64_t j = 0; j < n1 && !st__stops_after(&left, n0); j++) {
    T *restrict out = (T *)(void *)(data[0] + j * s[7]);
    const T *g = (const T *)(void *)(data[1] + j * s[8]);
    const T *x = (const T *)(void *)(data[2] + j * s[9]);
    _Pragma("omp simd") for (int64_t i = 0; i < n0; i++) {
      out[i] = g[i] * a[i] + ((x[i] - mean[i]) * b[i] + c[i]);
    }
  }
}
