/* The gradients of softmax and log_softmax. Included by softmax.c after
 * softmax_steps.h. Lines are processed in chunks of LINE elements.
 */

/* g is the gradient of the result y. */
typedef struct NAME(back) {
  _Alignas(64) W g[LINE], y[LINE];
  const half_type *half;
} NAME(back);

static double NAME(softmax_sum)(const NAME(back) *w, int64_t n) {
  W x[LINE];
  for (int64_t i = 0; i < n; i += PAD) {
    for (int64_t k = i; k < i + PAD; k++) x[k] = w->g[k] * w->y[k];
  }
  return NAME(sum)(x, n);
}

static double NAME(log_softmax_sum)(const NAME(back) *w, int64_t n) {
  return NAME(sum)(w->g, n);
}

static void NAME(softmax_step)(NAME(back) *w, int64_t n, W sum) {
  for (int64_t i = 0; i < n; i += PAD) {
    for (int64_t k = i; k < i + PAD; k++) w->g[k] = (w->g[k] - sum) * w->y[k];
  }
}

static void NAME(log_softmax_step)(NAME(back) *w, int64_t n, W sum) {
  const W zero[PAD] = {0};
  for (int64_t i = 0; i < n; i += PAD) {
    NAME(exp_minus)(w->y + i, zero);
    for (int64_t k = i; k < i + PAD; k++) w->g[k] -= w->y[k] * sum;
  }
}

static void NAME(load_back)(NAME(back) *w, char *const *p, const int64_t *st,
                            int64_t i, int64_t n) {
  NAME(load)(w->half, w->g, p[1] + i * st[1], st[1], n);
  NAME(load)(w->half, w->y, p[2] + i * st[2], st[2], n);
}

typedef double NAME(back_sum)(const NAME(back) *w, int64_t n);
typedef void NAME(back_step)(NAME(back) *w, int64_t n, W sum);

static void NAME(back_line)(NAME(back) *w, NAME(back_sum) *sum_of,
                            NAME(back_step) *step, char *const *p,
                            const int64_t *st, int64_t n0) {
  double sum = 0;
  for (int64_t i = 0, n; i < n0 && !st__stops_at(i); i += n) {
    n = chunk(n0 - i);
    NAME(load_back)(w, p, st, i, n);
    sum += sum_of(w, n);
  }
  for (int64_t i = 0, n; i < n0 && !st__stops_at(i); i += n) {
    n = chunk(n0 - i);
    if (n0 > LINE) NAME(load_back)(w, p, st, i, n);
    step(w, n, (W)sum);
    NAME(store)(w->half, p[0] + i * st[0], st[0], w->g, n);
  }
}

#define BACK_LOOP(name)                                                     \
  static void NAME(name##_backward)(char **data, const int64_t *st,         \
                                    int64_t n0, int64_t n1,                 \
                                    const void *half) {                     \
    NAME(back) w; /* not cleared: it is large */                            \
    w.half = half;                                                          \
    for (int64_t j = 0; j < n1; j++) {                                      \
      char *const p[] = {data[0] + j * st[3], data[1] + j * st[4],          \
                         data[2] + j * st[5]};                              \
      NAME(back_line)(&w, NAME(name##_sum), NAME(name##_step), p, st,       \
                      n0); } }

BACK_LOOP(softmax)
BACK_LOOP(log_softmax)

#undef BACK_LOOP
