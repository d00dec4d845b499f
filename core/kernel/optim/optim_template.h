/* The steps of optimizers for one dtype: T, F, M.
 *
 * They compute in the order of PyTorch's loops over parameters.
 */

/* The numbers of a step in the dtype of its elements. */
typedef struct F(numbers) {
  T sign, decay, shrink, lr, beta1, rest1, beta2, rest2, eps, a, b;
  int mode;
} F(numbers);

static F(numbers) F(read)(const void *ctx) {
  const double *x = ctx;
  return (F(numbers)){
    .sign = (T)x[ST_OPTIM_SIGN], .decay = (T)x[ST_OPTIM_DECAY],
    .shrink = (T)x[ST_OPTIM_SHRINK], .lr = (T)x[ST_OPTIM_LR],
    .beta1 = (T)x[ST_OPTIM_BETA1], .rest1 = (T)(1 - x[ST_OPTIM_BETA1]),
    .beta2 = (T)x[ST_OPTIM_BETA2], .rest2 = (T)(1 - x[ST_OPTIM_BETA2]),
    .eps = (T)x[ST_OPTIM_EPS], .a = (T)x[ST_OPTIM_A], .b = (T)x[ST_OPTIM_B],
    .mode = (int)x[ST_OPTIM_MODE]};
}

static inline T F(grad)(const F(numbers) *k, T g, T p) {
  g *= k->sign;
  return k->decay != 0 ? g + k->decay * p : g;
}

/* a + w (b - a), as lerp rounds it. */
static inline T F(between)(T a, T b, T w) {
  return w < (T)0.5 ? a + w * (b - a) : b - (b - a) * (1 - w);
}

/* The larger one; NaN if there is one. */
static inline T F(larger)(T a, T b) { return a > b || a != a ? a : b; }

static inline T F(squares)(const F(numbers) *k, T square, T g) {
  return square * k->beta2 + k->rest2 * g * g;
}

/* -- SGD ------------------------------------------------------------------ */

static ALWAYS_INLINE void F(sgd_row)(T *restrict p, T *restrict buffer,
                                     const T *restrict g, int64_t n,
                                     F(numbers) k, int mode) {
  UNITS(i) {
    T d = F(grad)(&k, g[i], p[i]);
    if (mode & ST_OPTIM_MOMENTUM) {
      const T next = mode & ST_OPTIM_FIRST ? d
                                           : buffer[i] * k.beta1 + k.rest2 * d;
      buffer[i] = next;
      d = mode & ST_OPTIM_EXTRA ? d + k.beta1 * next : next;
    }
    p[i] -= k.lr * d;
  }
}

LOOP(sgd_step) {
  const F(numbers) k = F(read)(ctx);
  T *p = OPERAND(0), *buffer = OPERAND(1);
  enum { M = ST_OPTIM_MOMENTUM, E = ST_OPTIM_EXTRA, FIRST = ST_OPTIM_FIRST };
  const T *g = k.mode & M ? OPERAND(2) : buffer;
  if (!(k.mode & M)) F(sgd_row)(p, NULL, g, n, k, 0);
  else if (k.mode == M) F(sgd_row)(p, buffer, g, n, k, M);
  else if (k.mode == M + E) F(sgd_row)(p, buffer, g, n, k, M + E);
  else if (k.mode == M + FIRST) F(sgd_row)(p, buffer, g, n, k, M + FIRST);
  else F(sgd_row)(p, buffer, g, n, k, M + E + FIRST);
}

LOOP(asgd_step) {
  const F(numbers) k = F(read)(ctx);
  T *restrict p = OPERAND(0), *restrict average = OPERAND(1);
  const T *restrict g = OPERAND(2);
  UNITS(i) {
    const T d = F(grad)(&k, g[i], p[i]);
    const T next = p[i] * k.shrink - k.lr * d;
    p[i] = next;
    average[i] = k.a == 1 ? next : average[i] + (next - average[i]) * k.a;
  }
}

/* -- Adam and its kin ----------------------------------------------------- */

static ALWAYS_INLINE void F(adam_row)(T *restrict p, T *restrict mean,
                                      T *restrict square, T *restrict top,
                                      const T *restrict g, int64_t n,
                                      F(numbers) k, bool has_top) {
  UNITS(i) {
    const T d = F(grad)(&k, g[i], p[i]);
    const T m = F(between)(mean[i], d, k.rest1);
    const T s = F(squares)(&k, square[i], d);
    T largest = s;
    mean[i] = m;
    square[i] = s;
    if (has_top) top[i] = largest = F(larger)(top[i], s);
    p[i] = p[i] * k.shrink - k.lr * m / (M(sqrt)(largest) / k.a + k.eps);
  }
}

LOOP(adam_step) {
  const F(numbers) k = F(read)(ctx);
  T *p = OPERAND(0), *mean = OPERAND(1), *square = OPERAND(2);
  if (k.mode & ST_OPTIM_EXTRA) {
    F(adam_row)(p, mean, square, OPERAND(3), OPERAND(4), n, k, true);
  } else {
    F(adam_row)(p, mean, square, NULL, OPERAND(3), n, k, false);
  }
}

LOOP(nadam_step) {
  const F(numbers) k = F(read)(ctx);
  T *restrict p = OPERAND(0), *restrict mean = OPERAND(1);
  T *restrict square = OPERAND(2);
  const T *restrict g = OPERAND(3);
  UNITS(i) {
    const T d = F(grad)(&k, g[i], p[i]);
    const T m = F(between)(mean[i], d, k.rest1);
    const T s = F(squares)(&k, square[i], d);
    const T root = M(sqrt)(s / k.a) + k.eps;
    mean[i] = m;
    square[i] = s;
    p[i] = p[i] * k.shrink - k.b * d / root - k.lr * m / root;
  }
}

LOOP(radam_step) {
  const F(numbers) k = F(read)(ctx);
  const bool divides = k.mode & ST_OPTIM_EXTRA;
  T *restrict p = OPERAND(0), *restrict mean = OPERAND(1);
  T *restrict square = OPERAND(2);
  const T *restrict g = OPERAND(3);
  UNITS(i) {
    const T d = F(grad)(&k, g[i], p[i]);
    const T m = F(between)(mean[i], d, k.rest1);
    const T s = F(squares)(&k, square[i], d);
    mean[i] = m;
    square[i] = s;
    p[i] = p[i] * k.shrink -
           m * k.lr * (divides ? k.a / (M(sqrt)(s) + k.eps) : 1);
  }
}

LOOP(adamax_step) {
  const F(numbers) k = F(read)(ctx);
  T *restrict p = OPERAND(0), *restrict mean = OPERAND(1);
  T *restrict top = OPERAND(2);
  const T *restrict g = OPERAND(3);
  UNITS(i) {
    const T d = F(grad)(&k, g[i], p[i]);
    const T m = F(between)(mean[i], d, k.rest1);
    const T t = F(larger)(top[i] * k.beta2, M(fabs)(d) + k.eps);
    mean[i] = m;
    top[i] = t;
    p[i] -= k.lr * m / t;
  }
}

/* -- Sums of squares ------------------------------------------------------ */

/* states: square, and mean and buffer where the mode has them. */
static ALWAYS_INLINE void F(rmsprop_row)(char **data, int64_t n,
                                         const F(numbers) *numbers, int mode) {
  const F(numbers) k = *numbers;
  const bool has_mean = mode & ST_OPTIM_EXTRA;
  const bool has_buffer = mode & ST_OPTIM_MOMENTUM;
  T *restrict p = OPERAND(0), *restrict square = OPERAND(1);
  T *restrict mean = OPERAND(2), *restrict buffer = OPERAND(2 + has_mean);
  const T *restrict g = OPERAND(2 + has_mean + has_buffer);
  UNITS(i) {
    T d = F(grad)(&k, g[i], p[i]);
    T s = F(squares)(&k, square[i], d);
    square[i] = s;
    if (has_mean) {
      const T m = F(between)(mean[i], d, k.rest2);
      mean[i] = m;
      s -= m * m;
    }
    const T root = M(sqrt)(s) + k.eps;
    if (has_buffer) {
      const T next = buffer[i] * k.beta1 + d / root;
      buffer[i] = next;
      p[i] -= k.lr * next;
    } else {
      p[i] -= k.lr * d / root;
    }
  }
}

LOOP(rmsprop_step) {
  const F(numbers) k = F(read)(ctx);
  enum { E = ST_OPTIM_EXTRA, M = ST_OPTIM_MOMENTUM };
  if ((k.mode & (E + M)) == E + M) F(rmsprop_row)(data, n, &k, E + M);
  else if (k.mode & E) F(rmsprop_row)(data, n, &k, E);
  else if (k.mode & M) F(rmsprop_row)(data, n, &k, M);
  else F(rmsprop_row)(data, n, &k, 0);
}

LOOP(adagrad_step) {
  const F(numbers) k = F(read)(ctx);
  T *restrict p = OPERAND(0), *restrict sum = OPERAND(1);
  const T *restrict g = OPERAND(2);
  UNITS(i) {
    const T d = F(grad)(&k, g[i], p[i]);
    const T s = sum[i] + d * d;
    sum[i] = s;
    p[i] -= k.lr * d / (M(sqrt)(s) + k.eps);
  }
}

LOOP(adadelta_step) {
  const F(numbers) k = F(read)(ctx);
  T *restrict p = OPERAND(0), *restrict square = OPERAND(1);
  T *restrict delta = OPERAND(2);
  const T *restrict g = OPERAND(3);
  UNITS(i) {
    const T d = F(grad)(&k, g[i], p[i]);
    const T s = F(squares)(&k, square[i], d);
    const T by = M(sqrt)(delta[i] + k.eps) / M(sqrt)(s + k.eps) * d;
    square[i] = s;
    delta[i] = F(squares)(&k, delta[i], by);
    p[i] -= k.lr * by;
  }
}

/* -- Signs ---------------------------------------------------------------- */

LOOP(rprop_step) {
  const F(numbers) k = F(read)(ctx);
  T *restrict p = OPERAND(0), *restrict previous = OPERAND(1);
  T *restrict size = OPERAND(2);
  const T *restrict g = OPERAND(3);
  UNITS(i) {
    const T d = g[i] * k.sign, same = d * previous[i];
    T by = same > 0 ? k.beta2 : same < 0 ? k.beta1 : same == 0 ? 1 : same;
    by *= size[i];
    by = by < k.a ? k.a : by;
    by = by > k.b ? k.b : by;
    const T kept = same < 0 ? 0 : d;
    const T sign = kept > 0 ? (T)1 : kept < 0 ? (T)-1 : kept;
    size[i] = by;
    p[i] -= sign * by;
    previous[i] = kept;
  }
}

LOOP(unscale) {
  T *restrict g = OPERAND(0);
  const T scale = F(read)(ctx).a;
  UNITS(i) g[i] /= scale;
}
