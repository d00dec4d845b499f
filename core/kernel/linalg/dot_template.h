/* The loop of dot.c for one dtype: T, F.
 */

typedef T F(v) __attribute__((vector_size(BYTES), aligned(sizeof(T)),
                              may_alias));

/* Adds the products of WIDTH bytes. */
INLINE void F(add)(F(v) *sum, const char *a, const char *b) {
  const F(v) *x = (const F(v) *)a, *y = (const F(v) *)b;
  UNROLL for (int i = 0; i < SUMS; i++) sum[i] += x[i] * y[i];
}

/* n elements as WIDTH bytes; the rest of them are 0. */
static void F(gather)(T *to, const char *p, int64_t step, int64_t n) {
  memset(to, 0, WIDTH);
  for (int64_t i = 0; i < n; i++, p += step) to[i] = *(const T *)p;
}

static T F(total)(const F(v) *sum) {
  T x[WIDTH / sizeof(T)];
  memcpy(x, sum, WIDTH);
  for (int n = WIDTH / (int)sizeof(T) / 2; n > 0; n /= 2) {
    for (int i = 0; i < n; i++) x[i] += x[i + n];
  }
  return x[0];
}

/* The sum of a block; sa and sb are byte strides. */
static T F(block)(const char *a, int64_t sa, const char *b, int64_t sb,
                  int64_t n) {
  enum { LANES = WIDTH / (int)sizeof(T), SIZE = (int)sizeof(T) };
  F(v) sum[SUMS] = {{0}};
  T x[LANES], y[LANES];
  int64_t i = 0;
  while (sa == SIZE && sb == SIZE && i + LANES <= n && !st__stops_at(i)) {
    const int64_t to = st__period_end(i, n);
    for (; i + LANES <= to; i += LANES) {
      F(add)(sum, a + i * SIZE, b + i * SIZE);
    }
  }
  for (int64_t m; i < n && !st__stops_at(i); i += m) {
    m = n - i < LANES ? n - i : LANES;
    F(gather)(x, a + i * sa, sa, m);
    F(gather)(y, b + i * sb, sb, m);
    F(add)(sum, (const char *)x, (const char *)y);
  }
  return F(total)(sum);
}

/* n1 blocks of n0 elements: out, a, b. */
static ST_LOOP_FN(F(dot), st) {
  for (int64_t i = 0; i < n1 && (i == 0 || !st__stops()); i++) {
    *(T *)(data[0] + i * st[3]) =
      F(block)(data[1] + i * st[4], st[1], data[2] + i * st[5], st[2], n0);
  }
}
