/* Reflections of one dtype; included once for each.
 *
 * Sums of squares are accurate from LEAST on, and finite if no element exceeds
 * MOST. STEEP: the greatest power of two to scale by.
 */

static bool F(is_moderate)(const T *a, int64_t next, int64_t m, int64_t n) {
  T most = 0;
  for (int64_t c = 0; c < n; c++) {
    const T *const x = a + c * next;
    _Pragma("omp simd reduction(max:most)")
    for (int64_t i = 0; i < m; i++) {
      const T y = M(fabs)(x[i]);
      most = y > most ? y : most;
    }
    /* NaN, which no comparison finds, makes the sum NaN. */
    T sum = 0;
    _Pragma("omp simd reduction(+:sum)")
    for (int64_t i = 0; i < m; i++) sum += x[i];
    if (!(sum - sum == 0)) return false;
  }
  return most < F(MOST);
}

static T F(squares)(const T *x, int64_t n) {
  T sum = 0;
  _Pragma("omp simd reduction(+:sum)")
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sum;
}

static void F(scale)(T *x, int64_t n, T by) {
  _Pragma("omp simd")
  for (int64_t i = 0; i < n; i++) x[i] *= by;
}

/* The power of two that brings the greatest of n elements near 1, as far as
 * F(STEEP); 0 if all are 0. */
static T F(scale_of)(const T *x, int64_t n) {
  T most = 0;
  int exponent;
  for (int64_t i = 0; i < n; i++) {
    most = M(fabs)(x[i]) > most ? M(fabs)(x[i]) : most;
  }
  if (most == 0) return 0;
  M(frexp)(most, &exponent);
  return M(ldexp)(1, -exponent < F(STEEP) ? -exponent : F(STEEP));
}

/* x's n elements become v; x[-1] is the element above them. Returns tau. */
static T F(reflection)(T *x, int64_t n) {
  T sum = F(squares)(x, n), by = 1;
  if (sum < F(LEAST)) {
    if (F(scale_of)(x, n) == 0) return 0;
    by = F(scale_of)(x - 1, n + 1);
    F(scale)(x - 1, n + 1, by);
    sum = F(squares)(x, n);
  }
  const T alpha = x[-1], norm = M(sqrt)(alpha * alpha + sum);
  const T beta = alpha < 0 ? norm : -norm;
  F(scale)(x, n, 1 / (alpha - beta));
  x[-1] = beta / by;
  return (beta - alpha) / beta;
}

/* Four columns at c, whose first elements are above v's. */
static void F(apply_4)(const T *v, T *c, int64_t next, int64_t n, T tau) {
  T *const c0 = c, *const c1 = c + next, *const c2 = c1 + next;
  T *const c3 = c2 + next;
  T s0 = c0[-1], s1 = c1[-1], s2 = c2[-1], s3 = c3[-1];
  _Pragma("omp simd reduction(+:s0, s1, s2, s3)")
  for (int64_t i = 0; i < n; i++) {
    s0 += v[i] * c0[i];
    s1 += v[i] * c1[i];
    s2 += v[i] * c2[i];
    s3 += v[i] * c3[i];
  }
  s0 *= tau, s1 *= tau, s2 *= tau, s3 *= tau;
  c0[-1] -= s0, c1[-1] -= s1, c2[-1] -= s2, c3[-1] -= s3;
  _Pragma("omp simd")
  for (int64_t i = 0; i < n; i++) {
    c0[i] -= s0 * v[i];
    c1[i] -= s1 * v[i];
    c2[i] -= s2 * v[i];
    c3[i] -= s3 * v[i];
  }
}

static void F(apply_1)(const T *v, T *c, int64_t n, T tau) {
  T sum = c[-1];
  _Pragma("omp simd reduction(+:sum)")
  for (int64_t i = 0; i < n; i++) sum += v[i] * c[i];
  sum *= tau;
  c[-1] -= sum;
  _Pragma("omp simd")
  for (int64_t i = 0; i < n; i++) c[i] -= sum * v[i];
}

static ST_LOOP_FN(F(reflect), st) {
  T *const a = (T *)(void *)data[0], *const tau = (T *)(void *)data[1];
  const int64_t next = st[3] / (int64_t)sizeof(T);
  const bool is_moderate = F(is_moderate)(a, next, n0, n1);
  *(int32_t *)(void *)data[2] = is_moderate;
  for (int64_t k = 0; is_moderate && k < n1; k++) {
    T *const x = a + k * next + k + 1;
    const int64_t n = n0 - k - 1;
    int64_t c = 1;
    tau[k] = F(reflection)(x, n);
    if (tau[k] == 0) continue;
    for (; c + 4 <= n1 - k; c += 4) {
      F(apply_4)(x, x + c * next, next, n, tau[k]);
    }
    for (; c < n1 - k; c++) F(apply_1)(x, x + c * next, n, tau[k]);
  }
}
