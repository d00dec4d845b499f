/* Factories whose elements are functions of their index: arange, range,
 * linspace, logspace, eye.
 *
 * A sequence is computed in blocks. Those of a dtype that the sequence has no
 * loop for are converted by the kernels of copy_.
 */

#include <complex.h>
#include <inttypes.h>
#include <math.h>

#include "base/threads.h"
#include "kernel/create/arange.h"
#include "op/create/factory.h"

/* -- Sequences ------------------------------------------------------------ */

typedef enum st_curve { CURVE_INT, CURVE_STEP, CURVE_LINEAR, CURVE_LOG }
  st_curve;

typedef struct sequence {
  st_curve curve;
  int64_t first, by;        /* CURVE_INT */
  double start, step, end;  /* the other curves */
  bool is_complex;          /* has imaginary parts as well */
  double start_im, step_im, end_im;
  double base;              /* CURVE_LOG */
  int64_t count;
  st_dtype made, dtype;     /* of a block, and of the result */
  char *data;
} sequence;

enum { BLOCK = 512 };

/* The second half is computed from the end, so both ends are exact. */
static double interpolate(double start, double step, double end, int64_t i,
                          int64_t count) {
  return i < count / 2 ? start + step * (double)i
                       : end - step * (double)(count - 1 - i);
}

/* The real and the imaginary part of element i. */
static void complex_at(const sequence *q, int64_t i, double *parts) {
  parts[0] = interpolate(q->start, q->step, q->end, i, q->count);
  parts[1] = interpolate(q->start_im, q->step_im, q->end_im, i, q->count);
  if (q->curve != CURVE_LOG) return;
  const double exponent[] = {parts[0], parts[1]};
  double _Complex z;
  memcpy(&z, exponent, sizeof z);
  z = cpow(q->base, z);
  memcpy(parts, &z, sizeof z);
}

/* Elements from begin on, of CURVE_LOG the exponents. The second half between
 * two ends counts down from the second, as interpolate does. */
static void arange(const sequence *q, char *p, int64_t begin, int64_t n) {
  const int64_t strides[2] = {(int64_t)st__itemsize(q->made), 0};
  const bool ends = q->curve == CURVE_LINEAR || q->curve == CURVE_LOG;
  const bool down = ends && begin >= q->count / 2;
  const st_arange_ctx c = {
    .begin = down ? q->count - 1 - begin : begin, .down = down,
    .start = down ? q->end : q->start, .step = down ? -q->step : q->step,
    .first = q->first, .by = q->by};
  st__kernel(ST_K_arange, q->made)(&p, strides, n, 1, &c);
}

/* n exponents become the powers of the base. */
static void raise_base(const sequence *q, char *p, int64_t n) {
  static const int64_t strides[6] = {sizeof(double), 0, sizeof(double)};
  double base = q->base;
  char *data[3] = {p, (char *)&base, p};
  st__kernel(ST_K_pow, ST_FLOAT64)(data, strides, n, 1, NULL);
}

static void make_block(const sequence *q, char *p, int64_t begin, int64_t n) {
  double *values = (double *)(void *)p;
  if (q->is_complex) {
    for (int64_t i = 0; i < n; i++) complex_at(q, begin + i, values + 2 * i);
    return;
  }
  arange(q, p, begin, n);
  if (q->curve == CURVE_LOG) raise_base(q, p, n);
}

static void write_block(const sequence *q, int64_t begin, int64_t n) {
  double made[2 * BLOCK]; /* at most complex */
  const int64_t size = (int64_t)st__itemsize(q->dtype);
  const int64_t strides[4] = {size, (int64_t)st__itemsize(q->made), 0, 0};
  char *data[2] = {q->data + begin * size, (char *)made};
  if (q->made == q->dtype) {
    make_block(q, data[0], begin, n);
  } else {
    make_block(q, data[1], begin, n);
    st__copy_kernel(q->dtype, q->made)(data, strides, n, 1, NULL);
  }
}

/* A block of a sequence between two ends does not cross its middle. */
static void write_range(void *ctx, int64_t begin, int64_t end) {
  const sequence *q = ctx;
  const int64_t middle = q->count / 2;
  for (int64_t i = begin, n; i < end; i += n) {
    n = end - i < BLOCK ? end - i : BLOCK;
    if (i < middle && i + n > middle) n = middle - i;
    write_block(q, i, n);
  }
}

/* The dtype in which a sequence is computed. */
static st_dtype made_dtype(const sequence *q, st_dtype dtype) {
  if (q->is_complex) return ST_COMPLEX128;
  if (q->curve == CURVE_INT) return dtype == ST_INT32 ? ST_INT32 : ST_INT64;
  const bool narrow = dtype == ST_FLOAT32 || st__is_reduced_float(dtype);
  return narrow && q->curve != CURVE_LOG ? ST_FLOAT32 : ST_FLOAT64;
}

/* A new 1-d tensor of q->count elements with the dtype and device of o. */
static st_status make_sequence(sequence *q, st_options o, st_value *ret) {
  st_tensor *t = NULL, *out = NULL;
  const bool meta = o.device == ST_DEVICE_META;
  const st_options here = {o.dtype, meta ? ST_DEVICE_META : ST_DEVICE_CPU};
  ST_TRY(st__new_empty(here, 1, &q->count, ST_FORMAT_CONTIGUOUS, &t));
  if (!meta && q->count > 0) {
    q->made = made_dtype(q, o.dtype);
    q->dtype = o.dtype;
    q->data = st__data(t);
    const st_status status = st__parallel_try(0, q->count, ST_GRAIN / 4,
                                              write_range, q);
    if (status != ST_OK) {
      st__tensor_release(&t);
      return status;
    }
  }
  ST_TRY(st__copy_to_device(&t, o.device, &out));
  *ret = st__of_tensor(out);
  return ST_OK;
}

static st_status check_dtype(st_dtype dtype) {
  const bool has_none = st__is_complex(dtype) || st__is_only_stored(dtype);
  return has_none || dtype == ST_BOOL ? st__no_kernel_for(dtype) : ST_OK;
}

/* -- arange and range ----------------------------------------------------- */

static bool is_integral(st_scalar s) {
  return st__scalar_is_int(s) || s.kind == ST_SCALAR_BOOL;
}

/* The integer that s is, or is truncated to for dtype d. */
static st_scalar whole_of(st_scalar s, st_dtype d) {
  if (st__scalar_is_int(s)) return s;
  return d == ST_UINT64 && st__scalar_to_double(s) >= 0
         ? st__scalar_uint(st__scalar_to_uint(s))
         : st__scalar_int(st__scalar_to_int(s));
}

static bool is_complex(st_scalar s) { return s.kind == ST_SCALAR_COMPLEX; }

static st_status check_bounds(st_scalar start, st_scalar end,
                              st_scalar step) {
  const double a = st__scalar_to_double(start), b = st__scalar_to_double(end);
  const double by = st__scalar_to_double(step);
  if (is_complex(start) || is_complex(end) || is_complex(step)) {
    return st__fail(ST_BAD_TYPE, "start, end and step must not be complex");
  }
  if (!(by > 0 || by < 0)) {
    return st__fail(ST_BAD_VALUE, "step must not be 0 or NaN");
  }
  if (!isfinite(a) || !isfinite(b)) {
    return st__fail(ST_BAD_VALUE, "start and end must be finite, not %g and "
                    "%g", a, b);
  }
  if (by > 0 ? b < a : b > a) {
    return st__fail(ST_BAD_VALUE, "a step of %g has the wrong sign to get from "
                    "%g to %g", by, a, b);
  }
  return ST_OK;
}

/* The number of elements of [first, last), or of [first, last] if inclusive.
 * Differences are unsigned, where they cannot overflow. */
static st_status count_ints(st_scalar first, st_scalar last, st_scalar by,
                            bool inclusive, int64_t *count) {
  const bool up = st__scalar_to_double(by) > 0;
  const uint64_t span = up ? last.u.u - first.u.u : first.u.u - last.u.u;
  const uint64_t step = up ? by.u.u : 0 - by.u.u;
  const int order = st__compare_ints(last, first);
  const bool backwards = up ? order < 0 : order > 0;
  uint64_t n = backwards ? 0 : span / step;
  if (!backwards && (inclusive || span % step)) n++;
  if (n > INT64_MAX) {
    return st__fail(ST_BAD_SHAPE, "the range has too many elements");
  }
  *count = (int64_t)n;
  return ST_OK;
}

static st_status count_doubles(double first, double last, double by,
                               bool inclusive, int64_t *count) {
  const double n = inclusive ? floor((last - first) / by) + 1
                             : ceil((last - first) / by);
  if (!(n >= 0 && n < 9223372036854775808.0)) {
    return st__fail(ST_BAD_SHAPE, "the range has too many elements");
  }
  *count = (int64_t)n;
  return ST_OK;
}

static st_status make_range(st_scalar start, st_scalar end, st_scalar step,
                            bool inclusive, const st_value *options,
                            st_value *ret) {
  const bool ints = is_integral(start) && is_integral(end) &&
                    is_integral(step);
  const bool beyond = start.kind == ST_SCALAR_UINT ||
                      end.kind == ST_SCALAR_UINT;
  st_options o = {!ints ? st__default_dtype() : beyond ? ST_UINT64 : ST_INT64,
                  ST_DEVICE_CPU};
  sequence q = {.curve = CURVE_STEP};
  ST_TRY(st__read_options(options, &o));
  ST_TRY(check_dtype(o.dtype));
  ST_TRY(check_bounds(start, end, step));
  const bool whole = st__is_integral(o.dtype);
  q.curve = whole ? CURVE_INT : CURVE_STEP;
  q.first = whole_of(start, o.dtype).u.i;
  q.by = whole_of(step, o.dtype).u.i;
  q.start = st__scalar_to_double(start);
  q.step = st__scalar_to_double(step);
  if (whole && q.by == 0) {
    return st__fail(ST_BAD_VALUE, "step must not be 0 after truncation to an "
                    "integer");
  }
  /* As in ATen, only int64, and uint64, use integers for the count. */
  if (ints || o.dtype == ST_INT64 || o.dtype == ST_UINT64) {
    ST_TRY(count_ints(whole_of(start, o.dtype), whole_of(end, o.dtype),
                      whole_of(step, o.dtype), inclusive, &q.count));
  } else {
    ST_TRY(count_doubles(q.start, st__scalar_to_double(end), q.step,
                         inclusive, &q.count));
  }
  return make_sequence(&q, o, ret);
}

ST_BOXED(st__box_arange) {
  ST_ARGS(SCALAR(end));
  return make_range(st__scalar_int(0), end, st__scalar_int(1), false,
                    st__next_options(&args), rets);
}

static st_status range_by_one(const st_value *args, bool inclusive,
                              st_value *ret) {
  ST_ARGS(SCALAR(start), SCALAR(end));
  return make_range(start, end, st__scalar_int(1), inclusive,
                    st__next_options(&args), ret);
}

static st_status range_by_step(const st_value *args, bool inclusive,
                               st_value *ret) {
  ST_ARGS(SCALAR(start), SCALAR(end), SCALAR(step));
  return make_range(start, end, step, inclusive, st__next_options(&args), ret);
}

ST_BOXED(st__box_arange_start) { return range_by_one(args, false, rets); }
ST_BOXED(st__box_arange_start_step) { return range_by_step(args, false, rets); }
ST_BOXED(st__box_range) { return range_by_one(args, true, rets); }
ST_BOXED(st__box_range_step) { return range_by_step(args, true, rets); }

/* -- linspace and logspace ------------------------------------------------ */

/* Only logspace has the argument base. */
static st_status make_space(const st_value *args, st_curve curve,
                            st_value *ret) {
  ST_ARGS(SCALAR(start), SCALAR(end), INT(steps));
  const double base = curve == CURVE_LOG ? st__next_float(&args) : 0;
  const bool parts = is_complex(start) || is_complex(end);
  const st_dtype usual = st__default_dtype();
  st_options o = {parts ? st__scalar_dtype(st__scalar_complex(0, 0))
                        : usual, ST_DEVICE_CPU};
  sequence q = {.curve = curve, .count = steps, .base = base};
  double from[2], to[2];
  ST_TRY(st__read_options(st__next_options(&args), &o));
  if (st__is_only_stored(o.dtype)) return st__no_kernel_for(o.dtype);
  q.is_complex = st__is_complex(o.dtype);
  if (parts && !q.is_complex) {
    return st__fail(ST_BAD_DTYPE, "start and end are complex, but dtype is "
                    "%s", st__dtype_name(o.dtype));
  }
  if (steps < 0) {
    return st__fail(ST_BAD_VALUE, "steps must not be negative, it is %" PRId64,
                    steps);
  }
  st__scalar_to_complex(start, from);
  st__scalar_to_complex(end, to);
  if (st__is_integral(o.dtype)) {
    from[0] = trunc(from[0]);
    to[0] = trunc(to[0]);
  }
  if (steps == 1) memcpy(to, from, sizeof to);
  const double gaps = steps > 1 ? (double)(steps - 1) : 1;
  q.start = from[0];
  q.end = to[0];
  q.step = (to[0] - from[0]) / gaps;
  q.start_im = from[1];
  q.end_im = to[1];
  q.step_im = (to[1] - from[1]) / gaps;
  return make_sequence(&q, o, ret);
}

ST_BOXED(st__box_linspace) { return make_space(args, CURVE_LINEAR, rets); }
ST_BOXED(st__box_logspace) { return make_space(args, CURVE_LOG, rets); }

/* start and end may be 0-dim tensors; n arguments of operator id. */
static st_status with_items(st_op_id id, int n, const st_value *args,
                            st_value *rets) {
  static const char *const names[] = {"start", "end"};
  st_value all[ST_MAX_ARGS], items[2] = {st__none(), st__none()};
  st_status status = ST_OK;
  for (int i = 0; i < n; i++) all[i] = args[i];
  for (int i = 0; i < 2; i++) {
    if (args[i].tag != ST_TAG_TENSOR) continue;
    if (args[i].u.tensor->ndim != 0) {
      status = st__fail(ST_BAD_SHAPE, "%s must be a number or a 0-dim tensor, "
                        "its shape is %s", names[i],
                        ST_SHAPE_TEXT(args[i].u.tensor));
      goto fail;
    }
    ST_TRY_FAIL(st__invoke(ST_OP_item, 1, &args[i], &items[i]));
    all[i] = items[i];
  }
  status = st__invoke(id, n, all, rets);
fail:
  for (int i = 0; i < 2; i++) st__value_clear(&items[i]);
  return status;
}

ST_BOXED_AS(st__box_linspace_Tensor, with_items, ST_OP_linspace, 7, args)
ST_BOXED_AS(st__box_logspace_Tensor, with_items, ST_OP_logspace, 8, args)
ST_BOXED_AS(st__box_linspace_Tensor_out, with_items, ST_OP_linspace_out, 4,
            args)
ST_BOXED_AS(st__box_logspace_Tensor_out, with_items, ST_OP_logspace_out, 5,
            args)

/* -- eye ------------------------------------------------------------------ */

static st_status make_eye(int64_t n, int64_t m, const st_value *options,
                          st_value *ret) {
  st_options o = {st__default_dtype(), ST_DEVICE_CPU};
  st_tensor *t = NULL, *out = NULL;
  ST_TRY(st__read_options(options, &o));
  if (n < 0 || m < 0) {
    return st__fail(ST_BAD_VALUE, "n and m must not be negative, they are %"
                    PRId64 " and %" PRId64, n, m);
  }
  if (st__is_only_stored(o.dtype)) return st__no_kernel_for(o.dtype);
  const bool meta = o.device == ST_DEVICE_META;
  const st_options here = {o.dtype, meta ? ST_DEVICE_META : ST_DEVICE_CPU};
  const int64_t sizes[] = {n, m};
  ST_TRY(st__new_empty(here, 2, sizes, ST_FORMAT_CONTIGUOUS, &t));
  if (!meta) {
    const int64_t size = (int64_t)st__itemsize(o.dtype);
    const st_status status = st__fill_new(t, st__scalar_int(0));
    if (status != ST_OK) {
      st__tensor_release(&t);
      return status;
    }
    for (int64_t i = 0; i < n && i < m; i++) {
      st__scalar_store(st__scalar_int(1), o.dtype,
                       st__data(t) + i * (m + 1) * size);
    }
  }
  ST_TRY(st__copy_to_device(&t, o.device, &out));
  *ret = st__of_tensor(out);
  return ST_OK;
}

ST_BOXED(st__box_eye) {
  ST_ARGS(INT(n));
  return make_eye(n, n, st__next_options(&args), rets);
}

ST_BOXED(st__box_eye_m) {
  ST_ARGS(INT(n), INT(m));
  return make_eye(n, m, st__next_options(&args), rets);
}
