/* The loops of recurrent.c for one dtype: T, F.
 */

#define KERNEL(name)                                                        \
  static void F(name)(char **data, const int64_t *s, int64_t n,             \
                      int64_t rows, const void *ctx)

/* Row j of operand i of k. */
#define ROW(i, k) ((T *)(void *)(data[i] + j * s[(k) + (i)]))

#define UNITS(i) _Pragma("omp simd") for (int64_t i = 0; i < n; i++)

/* -- Forward -------------------------------------------------------------- */

KERNEL(gate_sum) {
  const T *bias = ctx;
  for (int64_t j = 0; j < rows; j++) {
    T *restrict out = ROW(0, 3);
    const T *a = ROW(1, 3), *b = ROW(2, 3);
    if (bias) UNITS(i) out[i] = a[i] + (b[i] + bias[i]);
    else UNITS(i) out[i] = a[i] + b[i];
  }
}

KERNEL(gru_new) {
  const T *bias = ctx;
  for (int64_t j = 0; j < rows; j++) {
    T *restrict new = ROW(0, 5), *restrict h = ROW(1, 5);
    const T *a = ROW(2, 5), *b = ROW(3, 5), *r = ROW(4, 5);
    if (bias) UNITS(i) h[i] = b[i] + bias[i];
    else UNITS(i) h[i] = b[i];
    UNITS(i) new[i] = a[i] + h[i] * r[i];
  }
}

KERNEL(gru_hidden) {
  (void)ctx;
  for (int64_t j = 0; j < rows; j++) {
    T *restrict h = ROW(0, 4), *restrict out = ROW(1, 4);
    const T *new = ROW(2, 4), *z = ROW(3, 4);
    UNITS(i) out[i] = h[i] = (h[i] - new[i]) * z[i] + new[i];
  }
}

KERNEL(lstm_cell) {
  (void)ctx;
  for (int64_t j = 0; j < rows; j++) {
    T *restrict c = ROW(0, 4);
    const T *in = ROW(1, 4), *f = ROW(2, 4), *g = ROW(3, 4);
    UNITS(i) c[i] = f[i] * c[i] + in[i] * g[i];
  }
}

KERNEL(lstm_hidden) {
  (void)ctx;
  for (int64_t j = 0; j < rows; j++) {
    T *restrict h = ROW(0, 4), *restrict out = ROW(1, 4);
    const T *o = ROW(2, 4), *t = ROW(3, 4);
    UNITS(i) out[i] = h[i] = o[i] * t[i];
  }
}

/* -- Backward ------------------------------------------------------------- */

/* saved: r, z, n, the product of h and the weights of n, h. */
static inline void F(gru_row)(T *restrict dh, const T *dout,
                              T *restrict gates, T *restrict hidden,
                              const T *saved, int64_t n) {
  const T *r = saved, *z = r + n, *new = z + n, *k = new + n, *h = k + n;
  UNITS(i) {
    const T d = dh[i] + dout[i];
    const T dn = d * (1 - z[i]) * (1 - new[i] * new[i]);
    const T dr = dn * k[i] * (1 - r[i]) * r[i];
    const T dz = d * (h[i] - new[i]) * (1 - z[i]) * z[i];
    gates[i] = hidden[i] = dr;
    gates[n + i] = hidden[n + i] = dz;
    gates[2 * n + i] = dn;
    hidden[2 * n + i] = dn * r[i];
    dh[i] = d * z[i];
  }
}

KERNEL(gru_backward) {
  (void)ctx;
  for (int64_t j = 0; j < rows; j++) {
    F(gru_row)(ROW(0, 5), ROW(1, 5), ROW(2, 5),
               ROW(3, 5), ROW(4, 5), n);
  }
}

/* saved: i, f, g, o, tanh of the new c, the c before, h. */
static inline void F(lstm_row)(T *dh, T *restrict dc, const T *dout,
                               T *restrict gates, const T *saved,
                               int64_t n) {
  const T *in = saved, *f = in + n, *g = f + n, *o = g + n, *t = o + n,
          *c = t + n;
  UNITS(i) {
    const T d = dh[i] + dout[i];
    const T e = dc[i] + d * o[i] * (1 - t[i] * t[i]);
    gates[i] = e * g[i] * (1 - in[i]) * in[i];
    gates[n + i] = e * c[i] * (1 - f[i]) * f[i];
    gates[2 * n + i] = e * in[i] * (1 - g[i] * g[i]);
    gates[3 * n + i] = d * t[i] * (1 - o[i]) * o[i];
    dc[i] = e * f[i];
  }
}

KERNEL(lstm_backward) {
  (void)ctx;
  for (int64_t j = 0; j < rows; j++) {
    F(lstm_row)(ROW(0, 5), ROW(1, 5), ROW(2, 5),
                ROW(3, 5), ROW(4, 5), n);
  }
}

/* saved: the new h. */
KERNEL(rnn_backward) {
  for (int64_t j = 0; j < rows; j++) {
    const T *dh = ROW(0, 4), *dout = ROW(1, 4), *h = ROW(3, 4);
    T *restrict gates = ROW(2, 4);
    if (ctx) UNITS(i) gates[i] = h[i] <= 0 ? 0 : dh[i] + dout[i];
    else UNITS(i) gates[i] = (dh[i] + dout[i]) * (1 - h[i] * h[i]);
  }
}
