/* The loops of attention.c for elements of type T. NAME(name): its suffix.
 */

#define GROUP (128 / (int64_t)sizeof(T)) /* columns computed together */

/* -- Weights -------------------------------------------------------------- */

/* The maxima of max and n1 rows of a group. */
INLINE void NAME(maxima)(T *restrict max, const char *x, int64_t step,
                      int64_t n1) {
  T side[SIDE][GROUP];
  int64_t k = 0;
  for (int s = 0; s < SIDE; s++) {
    for (int l = 0; l < GROUP; l++) side[s][l] = max[l];
  }
  for (; k + SIDE <= n1; k += SIDE, x += SIDE * step) {
    UNROLL for (int s = 0; s < SIDE; s++) {
      const T *row = (const T *)(const void *)(x + s * step);
      for (int l = 0; l < GROUP; l++) side[s][l] = LARGER(side[s][l], row[l]);
    }
  }
  for (; k < n1; k++, x += step) {
    const T *row = (const T *)(const void *)x;
    for (int l = 0; l < GROUP; l++) side[0][l] = LARGER(side[0][l], row[l]);
  }
  for (int l = 0; l < GROUP; l++) {
    const T a = LARGER(side[0][l], side[1][l]);
    const T b = LARGER(side[2][l], side[3][l]);
    max[l] = LARGER(a, b);
  }
}

/* Exponentials of n1 rows of a group, whose sums are added to sum. */
INLINE void NAME(exponentials)(char *x, int64_t step, int64_t n1, const T *by,
                            double *restrict sum) {
  for (int64_t k = 0; k < n1;) {
    T part[GROUP] = {0};
    for (int64_t end = n1 - k < BLOCK ? n1 : k + BLOCK; k < end; k++) {
      T *row = (T *)(void *)x;
      NAME(exp_minus)(row, by);
      for (int l = 0; l < GROUP; l++) part[l] += row[l];
      x += step;
    }
    for (int l = 0; l < GROUP; l++) sum[l] += (double)part[l];
  }
}

static ST_LOOP_FN(NAME(attention_weights), st) {
  for (int64_t j = 0; j < n0; j += GROUP) {
    char *x = data[0] + j * (int64_t)sizeof(T);
    T *max = (T *)(void *)data[1] + j, *factor = (T *)(void *)data[3] + j;
    double *sum = (double *)(void *)data[2] + j;
    T by[GROUP];
    for (int l = 0; l < GROUP; l++) by[l] = max[l];
    NAME(maxima)(by, x, st[4], n1);
    for (int l = 0; l < GROUP; l++) {
      const T old = max[l];
      max[l] = by[l];
      by[l] = by[l] == (T)-INFINITY ? 0 : by[l];
      factor[l] = old;
    }
    NAME(exp_minus)(factor, by);
    for (int l = 0; l < GROUP; l++) sum[l] *= (double)factor[l];
    NAME(exponentials)(x, st[4], n1, by, sum);
  }
}

static ST_LOOP_FN(NAME(attention_slopes), st) {
  for (int64_t j = 0; j < n0; j += GROUP) {
    char *x = data[0] + j * (int64_t)sizeof(T);
    char *y = data[1] + j * (int64_t)sizeof(T);
    const T *lse = (const T *)(const void *)data[2] + j;
    const T *dot = (const T *)(const void *)data[3] + j;
    for (int64_t k = 0; k < n1; k++, x += st[4], y += st[5]) {
      T *restrict p = (T *)(void *)x, *restrict d = (T *)(void *)y;
      NAME(exp_minus)(p, lse);
      for (int l = 0; l < GROUP; l++) d[l] = p[l] * (d[l] - dot[l]);
    }
  }
}

/* -- Masks ---------------------------------------------------------------- */

static ST_LOOP_FN(NAME(attention_mask), st) {
  const bool is_bool = ctx && *(const bool *)ctx;
  for (int64_t k = 0; k < n1; k++) {
    T *restrict x = (T *)(void *)(data[0] + k * st[2]);
    const char *mask = data[1] + k * st[3];
    if (is_bool) {
      for (int64_t l = 0; l < n0; l++) {
        x[l] = mask[l * st[1]] ? x[l] : (T)-INFINITY;
      }
    } else {
      for (int64_t l = 0; l < n0; l++) {
        const T m = *(const T *)(const void *)(mask + l * st[1]);
        x[l] = m == (T)-INFINITY ? m : x[l] + m;
      }
    }
  }
}

/* -- Dot products --------------------------------------------------------- */

static ST_LOOP_FN(NAME(attention_dots), st) {
  for (int64_t k = 0; k < n1; k++) {
    const T *a = (const T *)(const void *)(data[1] + k * st[4]);
    const T *b = (const T *)(const void *)(data[2] + k * st[5]);
    T lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n0; i += LANES) {
      for (int l = 0; l < LANES; l++) lane[l] += a[i + l] * b[i + l];
    }
    for (int l = 0; i < n0; i++, l++) lane[l] += a[i] * b[i];
    for (int h = LANES / 2; h > 0; h /= 2) {
      for (int l = 0; l < h; l++) lane[l] += lane[l + h];
    }
    *(T *)(void *)(data[0] + k * st[3]) = lane[0];
  }
}

#undef GROUP
#undef NAME
#undef T
