/* The steps of softmax and its kin. Included by softmax.c once per type W in
 * which is computed, with NAME(f), f with a suffix, and with HALVES if half
 * types are computed in W, too.
 *
 * Steps process whole vectors: behind the last element of a row, up to a
 * multiple of PAD, there are copies of the first one, which change no maximum.
 * n is a number of elements, m one of elements and padding.
 */

/* The last elements have a mask, so that a row of any length takes the same
 * instructions. */
static void NAME(load)(const half_type *half, W *restrict x, const char *p,
                       int64_t step, int64_t n) {
  const W *from = (const W *)p;
  int64_t i = 0;
#ifdef HALVES
  if (half) {
    half->load(x, p, step, n);
    for (i = n; i % PAD; i++) x[i] = x[0];
    return;
  }
#else
  (void)half;
#endif
  if (step == sizeof(W)) {
    for (; i + PAD <= n; i += PAD) {
      for (int l = 0; l < PAD; l++) x[i + l] = from[i + l];
    }
    const int rest = (int)(n - i);
    const W first = *from;
    if (!rest) return;
#pragma omp simd
    for (int l = 0; l < PAD; l++) x[i + l] = l < rest ? from[i + l] : first;
    return;
  }
  for (; i + 4 <= n; i += 4, p += 4 * step) {
    x[i] = *(const W *)p, x[i + 1] = *(const W *)(p + step);
    x[i + 2] = *(const W *)(p + 2 * step);
    x[i + 3] = *(const W *)(p + 3 * step);
  }
  for (; i < n; i++, p += step) x[i] = *(const W *)p;
  for (; i % PAD; i++) x[i] = x[0];
}

static void NAME(store)(const half_type *half, char *p, int64_t step,
                        const W *restrict x, int64_t n) {
  W *restrict to = (W *)p;
  int64_t i = 0;
#ifdef HALVES
  if (half) {
    half->store(p, step, x, n);
    return;
  }
#else
  (void)half;
#endif
  if (step == sizeof(W)) {
    for (; i + PAD <= n; i += PAD) {
      for (int l = 0; l < PAD; l++) to[i + l] = x[i + l];
    }
    const int rest = (int)(n - i);
    if (!rest) return;
#pragma omp simd
    for (int l = 0; l < PAD; l++) {
      if (l < rest) to[i + l] = x[i + l];
    }
    return;
  }
  for (; i < n; i++) *(W *)(p + i * step) = x[i];
}

#define FOLD(h) \
  for (int l = 0; l < (h); l++) lane[l] = LARGER(lane[l], lane[l + (h)]);

/* The maximum of x and max. */
static W NAME(max)(const W *x, int64_t m, W max) {
  W lane[LANES];
  int64_t i = 0;
  for (int l = 0; l < LANES; l++) lane[l] = max;
  for (; i + LANES <= m; i += LANES) {
    for (int l = 0; l < LANES; l++) lane[l] = LARGER(lane[l], x[i + l]);
  }
  if (i < m) {
    for (int l = 0; l < PAD; l++) lane[l] = LARGER(lane[l], x[i + l]);
  }
  FOLD(16)
  FOLD(8)
  FOLD(4)
  FOLD(2)
  FOLD(1)
  return lane[0];
}

#undef FOLD

/* The lanes of a sum of n elements. Fewer than LANES are a lane each. */
static void NAME(lanes)(double *restrict lane, const W *x, int64_t n) {
  double v[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int l = 0; l < LANES; l++) v[l] += (double)x[i + l];
  }
  const int rest = (int)(n - i);
  if (rest) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) v[l] += l < rest ? (double)x[i + l] : 0;
  }
  memcpy(lane, v, sizeof v);
}

static double NAME(sum)(const W *x, int64_t n) {
  const int64_t used = n < LANES ? n : LANES;
  double lane[LANES], sum = 0;
  NAME(lanes)(lane, x, n);
  for (int64_t l = 0; l < used; l++) sum += lane[l];
  return sum;
}

static void NAME(exp)(W *x, int64_t m, W max) {
  W by[PAD];
  for (int l = 0; l < PAD; l++) by[l] = max;
  for (int64_t i = 0; i < m; i += PAD) NAME(exp_minus)(x + i, by);
}

static void NAME(times)(W *x, int64_t m, W by) {
  for (int64_t i = 0; i < m; i += PAD) {
    for (int l = 0; l < PAD; l++) x[i + l] *= by;
  }
}

/* x - a - b */
static void NAME(minus)(W *x, int64_t m, W a, W b) {
  for (int64_t i = 0; i < m; i += PAD) {
    for (int l = 0; l < PAD; l++) x[i + l] = x[i + l] - a - b;
  }
}
