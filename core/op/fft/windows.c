/* Windows and frequencies: 1-d tensors whose elements are functions of their
 * index, computed in float64.
 *
 * A window of n elements has a maximum in its middle. A symmetric one ends as
 * it begins; a periodic one is the first n elements of the symmetric one of
 * n + 1, so that its copies continue each other.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernel/numbers.h"
#include "op/create/factory.h"
#include "op/row/composite.h"

#define PI 3.14159265358979323846

typedef enum curve {
  COSINES,     /* sum of (-1)^k terms[k] cos(2 pi k i / span) */
  TRIANGLE, HALF_WAVE, EXPONENTIAL, GAUSSIAN,
  KAISER,      /* the argument of i0 */
  FREQUENCIES, /* of a transform: negative ones in the second half */
  HALF_FREQUENCIES
} curve;

typedef struct window {
  curve curve;
  int64_t n;
  int64_t span;         /* from the first element to the one that equals it */
  double by;            /* tau, standard deviation, beta or step */
  double center;
  const double *terms;
  uint32_t count;       /* of terms */
  double *data;
} window;

/* -- Elements ------------------------------------------------------------- */

enum { BLOCK = 64 };

/* Elements [begin, end), at most BLOCK, counted from the nearer end, so that
 * both halves have the same bits. */
static void sum_cosines(const window *w, int64_t begin, int64_t end) {
  double cosines[BLOCK];
  const int64_t n = end - begin;
  memset(w->data + begin, 0, (size_t)n * sizeof *w->data);
  for (uint32_t k = 0; k < w->count; k++) {
    for (int64_t j = 0; j < n; j++) {
      const int64_t i = begin + j, near = i > w->span - i ? w->span - i : i;
      const double at = 2 * (double)k * (double)near / (double)w->span;
      cosines[j] = PI * at;
    }
    st__map_numbers(ST_K_cos, cosines, n);
    for (int64_t j = 0; j < n; j++) {
      const double term = w->terms[k] * cosines[j];
      w->data[begin + j] += k % 2 ? -term : term;
    }
  }
}

/* The function of the elements, ST_K_NONE if they are its argument. */
static st_kernel_id function_of(const window *w) {
  return w->curve == HALF_WAVE ? ST_K_sin
       : w->curve == EXPONENTIAL || w->curve == GAUSSIAN ? ST_K_exp
       : ST_K_NONE;
}

static double argument(const window *w, int64_t i) {
  const double x = ((double)i - w->center) / w->by;
  const double side = 2 * (double)i / (double)w->span - 1; /* -1 to 1 */
  switch (w->curve) {
  case TRIANGLE: return 1 - fabs(side);
  case HALF_WAVE: return PI * ((double)i + 0.5) / (double)(w->span + 1);
  case EXPONENTIAL: return -fabs(x);
  case GAUSSIAN: return -x * x / 2;
  case KAISER: return w->by * sqrt(fmax(0, 1 - side * side));
  case FREQUENCIES: return (double)(i < (w->n + 1) / 2 ? i : i - w->n) * w->by;
  default: return (double)i * w->by;
  }
}

static void write_range(void *ctx, int64_t begin, int64_t end) {
  const window *w = ctx;
  const st_kernel_id id = function_of(w);
  for (int64_t n; begin < end; begin += n) {
    n = end - begin < BLOCK ? end - begin : BLOCK;
    if (w->curve == COSINES) {
      sum_cosines(w, begin, begin + n);
      continue;
    }
    for (int64_t i = begin; i < begin + n; i++) w->data[i] = argument(w, i);
    if (id != ST_K_NONE) st__map_numbers(id, w->data + begin, n);
  }
}

/* -- Tensors -------------------------------------------------------------- */

/* t, the arguments, becomes i0(t) / i0(beta). */
static st_tensor *divide_bessel(st_op_scope *c, st_tensor *t, double beta) {
  st_tensor *most = NULL;
  if (!st__scope_ok(c)) return NULL;
  c->status = st__tensor_from_scalar(st__scalar_float(beta), ST_FLOAT64, false,
                                     &most);
  if (!st__scope_ok(c)) return NULL;
  c->t[c->n++] = most;
  return st__div(c, st__apply1(c, ST_OP_i0, t), st__apply1(c, ST_OP_i0, most));
}

static st_tensor *compute(st_op_scope *c, window *w) {
  const st_options o = {ST_FLOAT64, ST_DEVICE_CPU};
  st_tensor *t = NULL;
  c->status = st__new_empty(o, 1, &w->n, ST_FORMAT_CONTIGUOUS, &t);
  if (!st__scope_ok(c)) return NULL;
  c->t[c->n++] = t;
  w->data = (double *)(void *)st__data(t);
  c->status = st__parallel_try(0, w->n, ST_GRAIN / 16, write_range, w);
  return w->curve == KAISER ? divide_bessel(c, t, w->by) : t;
}

static st_status make(window *w, const st_value *options, st_value *rets) {
  st_options o = {st__default_dtype(), ST_DEVICE_CPU};
  ST_TRY(st__read_options(options, &o));
  const bool is_window = w->curve != FREQUENCIES &&
                         w->curve != HALF_FREQUENCIES;
  if (!st__is_floating(o.dtype) && (is_window || !st__is_complex(o.dtype))) {
    return st__fail(ST_BAD_DTYPE, "dtype must be floating, not %s",
                    st__dtype_name(o.dtype));
  }
  if (w->n < 0) {
    return st__fail(ST_BAD_VALUE, "the number of elements must not be "
                    "negative, it is %" PRId64, w->n);
  }
  if (w->curve == HALF_FREQUENCIES) w->n = w->n / 2 + 1;
  if (o.device == ST_DEVICE_META) {
    st_tensor *t = NULL;
    ST_TRY(st__new_empty(o, 1, &w->n, ST_FORMAT_CONTIGUOUS, &t));
    *rets = st__of_tensor(t);
    return ST_OK;
  }
  st_op_scope c = {.status = ST_OK};
  const st_tensor *t = compute(&c, w);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_to_device, t, o.device, o.dtype), rets);
}

/* One element is 1, unless an exponential has a center elsewhere. */
static st_status make_window(window w, bool periodic, const st_value *options,
                             st_value *rets) {
  static const double one[] = {1};
  w.span = periodic || w.n < 1 ? w.n : w.n - 1;
  if (w.n == 1 && w.curve != EXPONENTIAL) {
    w = (window){.n = 1, .span = 1, .terms = one, .count = 1};
  }
  if (w.by == 0) w.by = w.curve == KAISER ? 0 : 1;
  if (w.curve == GAUSSIAN) w.center = (double)w.span / 2;
  return make(&w, options, rets);
}

static st_status make_cosines(int64_t n, bool periodic, const double *terms,
                              uint32_t count, const st_value *options,
                              st_value *rets) {
  return make_window((window){.n = n, .terms = terms, .count = count},
                     periodic, options, rets);
}

/* -- PyTorch's older names ------------------------------------------------ */

static const double HANN[] = {0.5, 0.5}, HAMMING[] = {0.54, 0.46},
                    BLACKMAN[] = {0.42, 0.5, 0.08},
                    NUTTALL[] = {0.3635819, 0.4891775, 0.1365995, 0.0106411};

ST_BOXED_AS(st__box_hann_window, make_cosines, args[0].u.i, true, HANN, 2,
            args + 1)
ST_BOXED_AS(st__box_hann_window_periodic, make_cosines, args[0].u.i,
            args[1].u.i, HANN, 2, args + 2)
ST_BOXED_AS(st__box_hamming_window, make_cosines, args[0].u.i, true, HAMMING, 2,
            args + 1)
ST_BOXED_AS(st__box_hamming_window_periodic, make_cosines, args[0].u.i,
            args[1].u.i, HAMMING, 2, args + 2)

ST_BOXED(st__box_hamming_window_periodic_alpha) {
  const double terms[] = {st__to_float(&args[2], 0), HAMMING[1]};
  return make_cosines(args[0].u.i, args[1].u.i, terms, 2, args + 3, rets);
}

ST_BOXED(st__box_hamming_window_periodic_alpha_beta) {
  const double terms[] = {st__to_float(&args[2], 0),
                          st__to_float(&args[3], 0)};
  return make_cosines(args[0].u.i, args[1].u.i, terms, 2, args + 4, rets);
}

ST_BOXED_AS(st__box_blackman_window, make_cosines, args[0].u.i, true, BLACKMAN,
            3, args + 1)
ST_BOXED_AS(st__box_blackman_window_periodic, make_cosines, args[0].u.i,
            args[1].u.i, BLACKMAN, 3, args + 2)

ST_BOXED(st__box_bartlett_window) {
  return make_window((window){.curve = TRIANGLE, .n = args[0].u.i}, true,
                     args + 1, rets);
}

ST_BOXED(st__box_bartlett_window_periodic) {
  return make_window((window){.curve = TRIANGLE, .n = args[0].u.i},
                     args[1].u.i, args + 2, rets);
}

ST_BOXED(st__box_kaiser_window) {
  return make_window((window){.curve = KAISER, .n = args[0].u.i, .by = 12},
                     true, args + 1, rets);
}

ST_BOXED(st__box_kaiser_window_periodic) {
  return make_window((window){.curve = KAISER, .n = args[0].u.i, .by = 12},
                     args[1].u.i, args + 2, rets);
}

ST_BOXED(st__box_kaiser_window_beta) {
  const double beta = st__to_float(&args[2], 12);
  return make_window((window){.curve = KAISER, .n = args[0].u.i, .by = beta},
                     args[1].u.i, args + 3, rets);
}

/* -- signal.windows ------------------------------------------------------- */

ST_BOXED(st__box_signal_windows_bartlett) {
  return make_window((window){.curve = TRIANGLE, .n = args[0].u.i},
                     !args[1].u.i, args + 2, rets);
}

ST_BOXED_AS(st__box_signal_windows_blackman, make_cosines, args[0].u.i,
            !args[1].u.i, BLACKMAN, 3, args + 2)

ST_BOXED(st__box_signal_windows_cosine) {
  return make_window((window){.curve = HALF_WAVE, .n = args[0].u.i},
                     !args[1].u.i, args + 2, rets);
}

static st_status check_positive(double x, const char *name) {
  if (x > 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "%s must be positive, not %g", name, x);
}

ST_BOXED(st__box_signal_windows_exponential) {
  const bool sym = args[3].u.i;
  const double tau = st__to_float(&args[2], 1);
  const int64_t n = args[0].u.i;
  ST_TRY(check_positive(tau, "tau"));
  if (sym && !st__is_none(&args[1])) {
    return st__fail(ST_BAD_VALUE, "a symmetric window has its center in the "
                    "middle: center must be nil, or sym false");
  }
  const double middle = ((double)n - (sym || n == 1 ? 1 : 0)) / 2;
  return make_window((window){.curve = EXPONENTIAL, .n = n, .by = tau,
                              .center = st__to_float(&args[1], middle)},
                     !sym, args + 4, rets);
}

ST_BOXED(st__box_signal_windows_gaussian) {
  const double std = st__to_float(&args[1], 1);
  ST_TRY(check_positive(std, "std"));
  return make_window((window){.curve = GAUSSIAN, .n = args[0].u.i, .by = std},
                     !args[2].u.i, args + 3, rets);
}

ST_BOXED(st__box_signal_windows_general_cosine) {
  if (args[1].len == 0) {
    return st__fail(ST_BAD_VALUE, "a is empty: it must have a coefficient");
  }
  return make_cosines(args[0].u.i, !args[2].u.i, args[1].u.floats, args[1].len,
                      args + 3, rets);
}

ST_BOXED(st__box_signal_windows_general_hamming) {
  const double alpha = st__to_float(&args[1], HAMMING[0]);
  const double terms[] = {alpha, 1 - alpha};
  return make_cosines(args[0].u.i, !args[2].u.i, terms, 2, args + 3, rets);
}

ST_BOXED_AS(st__box_signal_windows_hamming, make_cosines, args[0].u.i,
            !args[1].u.i, HAMMING, 2, args + 2)
ST_BOXED_AS(st__box_signal_windows_hann, make_cosines, args[0].u.i,
            !args[1].u.i, HANN, 2, args + 2)

ST_BOXED(st__box_signal_windows_kaiser) {
  const double beta = st__to_float(&args[1], 12);
  if (beta < 0) {
    return st__fail(ST_BAD_VALUE, "beta must not be negative, it is %g", beta);
  }
  return make_window((window){.curve = KAISER, .n = args[0].u.i, .by = beta},
                     !args[2].u.i, args + 3, rets);
}

ST_BOXED_AS(st__box_signal_windows_nuttall, make_cosines, args[0].u.i,
            !args[1].u.i, NUTTALL, 4, args + 2)

/* -- Frequencies ---------------------------------------------------------- */

static st_status frequencies(curve kind, const st_value *args,
                             st_value *rets) {
  const int64_t n = args[0].u.i;
  window w = {.curve = kind, .n = n,
              .by = 1 / ((double)n * st__to_float(&args[1], 1))};
  return make(&w, args + 2, rets);
}

ST_BOXED(st__box_fft_fftfreq) { return frequencies(FREQUENCIES, args, rets); }
ST_BOXED_AS(st__box_fft_rfftfreq, frequencies, HALF_FREQUENCIES, args)
