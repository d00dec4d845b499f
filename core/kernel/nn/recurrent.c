/* The steps of recurrent layers between products of matrices and activations.
 * They round as the operators do that PyTorch composes them of.
 */

#include "kernel/nn/recurrent.h"

#include "kernel/loop.h"

#define KERNEL(name, tag)                                                   \
  static void name##_##tag(char **data, const int64_t *s, int64_t n,        \
                           int64_t rows, const void *ctx)

/* Row j of operand i of k. */
#define ROW(T, i, k) ((T *)(void *)(data[i] + j * s[(k) + (i)]))

#define UNITS(i) _Pragma("omp simd") for (int64_t i = 0; i < n; i++)

/* -- Forward -------------------------------------------------------------- */

#define GATE_SUM(tag, T)                                                    \
  KERNEL(gate_sum, tag) {                                                   \
    const T *bias = ctx;                                                    \
    for (int64_t j = 0; j < rows; j++) {                                    \
      T *restrict out = ROW(T, 0, 3);                                       \
      const T *a = ROW(T, 1, 3), *b = ROW(T, 2, 3);                         \
      if (bias) UNITS(i) out[i] = a[i] + (b[i] + bias[i]);                  \
      else UNITS(i) out[i] = a[i] + b[i];                                   \
    }                                                                       \
  }

#define GRU_NEW(tag, T)                                                     \
  KERNEL(gru_new, tag) {                                                    \
    const T *bias = ctx;                                                    \
    for (int64_t j = 0; j < rows; j++) {                                    \
      T *restrict new = ROW(T, 0, 5), *restrict h = ROW(T, 1, 5);           \
      const T *a = ROW(T, 2, 5), *b = ROW(T, 3, 5), *r = ROW(T, 4, 5);      \
      if (bias) UNITS(i) h[i] = b[i] + bias[i];                             \
      else UNITS(i) h[i] = b[i];                                            \
      UNITS(i) new[i] = a[i] + h[i] * r[i];                                 \
    }                                                                       \
  }

#define GRU_HIDDEN(tag, T)                                                  \
  KERNEL(gru_hidden, tag) {                                                 \
    (void)ctx;                                                              \
    for (int64_t j = 0; j < rows; j++) {                                    \
      T *restrict h = ROW(T, 0, 4), *restrict out = ROW(T, 1, 4);           \
      const T *new = ROW(T, 2, 4), *z = ROW(T, 3, 4);                       \
      UNITS(i) out[i] = h[i] = (h[i] - new[i]) * z[i] + new[i];             \
    }                                                                       \
  }

#define LSTM_CELL(tag, T)                                                   \
  KERNEL(lstm_cell, tag) {                                                  \
    (void)ctx;                                                              \
    for (int64_t j = 0; j < rows; j++) {                                    \
      T *restrict c = ROW(T, 0, 4);                                         \
      const T *in = ROW(T, 1, 4), *f = ROW(T, 2, 4), *g = ROW(T, 3, 4);     \
      UNITS(i) c[i] = f[i] * c[i] + in[i] * g[i];                           \
    }                                                                       \
  }

#define LSTM_HIDDEN(tag, T)                                                 \
  KERNEL(lstm_hidden, tag) {                                                \
    (void)ctx;                                                              \
    for (int64_t j = 0; j < rows; j++) {                                    \
      T *restrict h = ROW(T, 0, 4), *restrict out = ROW(T, 1, 4);           \
      const T *o = ROW(T, 2, 4), *t = ROW(T, 3, 4);                         \
      UNITS(i) out[i] = h[i] = o[i] * t[i];                                 \
    }                                                                       \
  }

/* -- Backward ------------------------------------------------------------- */

/* saved: r, z, n, the product of h and the weights of n, h. */
#define GRU_BACKWARD(tag, T)                                                \
  static inline void gru_row_##tag(T *restrict dh, const T *dout,           \
                                   T *restrict gates, T *restrict hidden,   \
                                   const T *saved, int64_t n) {             \
    const T *r = saved, *z = r + n, *new = z + n, *k = new + n, *h = k + n; \
    UNITS(i) {                                                              \
      const T d = dh[i] + dout[i];                                          \
      const T dn = d * (1 - z[i]) * (1 - new[i] * new[i]);                  \
      const T dr = dn * k[i] * (1 - r[i]) * r[i];                           \
      const T dz = d * (h[i] - new[i]) * (1 - z[i]) * z[i];                 \
      gates[i] = hidden[i] = dr;                                            \
      gates[n + i] = hidden[n + i] = dz;                                    \
      gates[2 * n + i] = dn;                                                \
      hidden[2 * n + i] = dn * r[i];                                        \
      dh[i] = d * z[i];                                                     \
    }                                                                       \
  }                                                                         \
  KERNEL(gru_backward, tag) {                                               \
    (void)ctx;                                                              \
    for (int64_t j = 0; j < rows; j++) {                                    \
      gru_row_##tag(ROW(T, 0, 5), ROW(T, 1, 5), ROW(T, 2, 5),               \
                    ROW(T, 3, 5), ROW(T, 4, 5), n);                         \
    }                                                                       \
  }

/* saved: i, f, g, o, tanh of the new c, the c before, h. */
#define LSTM_BACKWARD(tag, T)                                               \
  static inline void lstm_row_##tag(T *dh, T *restrict dc, const T *dout,   \
                                    T *restrict gates, const T *saved,      \
                                    int64_t n) {                            \
    const T *in = saved, *f = in + n, *g = f + n, *o = g + n, *t = o + n,   \
            *c = t + n;                                                     \
    UNITS(i) {                                                              \
      const T d = dh[i] + dout[i];                                          \
      const T e = dc[i] + d * o[i] * (1 - t[i] * t[i]);                     \
      gates[i] = e * g[i] * (1 - in[i]) * in[i];                            \
      gates[n + i] = e * c[i] * (1 - f[i]) * f[i];                          \
      gates[2 * n + i] = e * in[i] * (1 - g[i] * g[i]);                     \
      gates[3 * n + i] = d * t[i] * (1 - o[i]) * o[i];                      \
      dc[i] = e * f[i];                                                     \
    }                                                                       \
  }                                                                         \
  KERNEL(lstm_backward, tag) {                                              \
    (void)ctx;                                                              \
    for (int64_t j = 0; j < rows; j++) {                                    \
      lstm_row_##tag(ROW(T, 0, 5), ROW(T, 1, 5), ROW(T, 2, 5),              \
                     ROW(T, 3, 5), ROW(T, 4, 5), n);                        \
    }                                                                       \
  }

/* saved: the new h. */
#define RNN_BACKWARD(tag, T)                                                \
  KERNEL(rnn_backward, tag) {                                               \
    for (int64_t j = 0; j < rows; j++) {                                    \
      const T *dh = ROW(T, 0, 4), *dout = ROW(T, 1, 4), *h = ROW(T, 3, 4);  \
      T *restrict gates = ROW(T, 2, 4);                                     \
      if (ctx) UNITS(i) gates[i] = h[i] <= 0 ? 0 : dh[i] + dout[i];         \
      else UNITS(i) gates[i] = (dh[i] + dout[i]) * (1 - h[i] * h[i]);       \
    }                                                                       \
  }

/* -- Table ---------------------------------------------------------------- */

#define ALL(tag, T)                                                   \
  GATE_SUM(tag, T) GRU_NEW(tag, T) GRU_HIDDEN(tag, T)                 \
  LSTM_CELL(tag, T) LSTM_HIDDEN(tag, T)                               \
  GRU_BACKWARD(tag, T) LSTM_BACKWARD(tag, T) RNN_BACKWARD(tag, T)

ALL(f4, float)
ALL(f8, double)

#define SLOTS(name) \
  {#name, {[ST_FLOAT32] = name##_f4, [ST_FLOAT64] = name##_f8}},

static const st_kernel_row rows[] = {
  SLOTS(gate_sum) SLOTS(gru_new) SLOTS(gru_hidden) SLOTS(lstm_cell)
  SLOTS(lstm_hidden) SLOTS(gru_backward) SLOTS(lstm_backward)
  SLOTS(rnn_backward)
};

ST_EXPORT(st__recurrent, rows)
