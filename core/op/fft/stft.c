/* Short-time transforms: stft and istft.
 *
 * A signal is cut into frames of n_fft samples, hop_length apart. Each is
 * multiplied by a window and transformed. The inverse adds the frames, times
 * the window again, and divides by the sum of the squared windows.
 */

#include <inttypes.h>
#include <string.h>

#include "op/create/factory.h"
#include "op/row/composite.h"

/* The arguments that both have. */
typedef struct frames {
  int64_t n_fft, hop, width;   /* width: of the window, at most n_fft */
  const st_tensor *window;     /* or NULL */
} frames;

static frames read_frames(const st_value **args) {
  frames f;
  f.n_fft = st__next_int(args);
  f.hop = st__next_int_or(args, f.n_fft / 4);
  f.width = st__next_int_or(args, f.n_fft);
  f.window = st__next_tensor(args);
  return f;
}

static st_status check_window(const frames *f) {
  if (f->width < 1 || f->width > f->n_fft) {
    return st__fail(ST_BAD_VALUE, "win_length must be 1 to n_fft, which is %"
                    PRId64 ", not %" PRId64, f->n_fft, f->width);
  }
  const st_tensor *w = f->window;
  if (!w || (w->ndim == 1 && w->sizes[0] == f->width)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "window must have one dimension of win_length, "
                  "which is %" PRId64 ", its shape is %s", f->width,
                  ST_SHAPE_TEXT(w));
}

/* The window in the middle of n_fft numbers; NULL for ones alone, unless they
 * are needed. */
static st_tensor *padded_window(st_op_scope *c, const frames *f,
                                const st_tensor *like, st_dtype dtype,
                                bool needed) {
  st_tensor *w = (st_tensor *)(uintptr_t)f->window;
  if (!st__scope_ok(c) || (!w && f->width == f->n_fft && !needed)) return w;
  if (!w) {
    w = ST_APPLY(c, ST_OP_new_ones, like, st__of_ints(&f->width, 1), dtype);
  }
  const int64_t rest = f->n_fft - f->width;
  const int64_t pad[] = {rest / 2, rest - rest / 2};
  if (rest == 0) return w;
  return ST_APPLY(c, ST_OP_constant_pad_nd, w, st__of_ints(pad, 2));
}

static st_tensor *slice(st_op_scope *c, const st_tensor *t, int64_t dim,
                        int64_t start, int64_t end) {
  return ST_APPLY(c, ST_OP_slice_Tensor, t, dim, start, end);
}

/* -- Borders -------------------------------------------------------------- */

typedef enum border { CONSTANT, REFLECT, REPLICATE, CIRCULAR } border;

static border read_border(st_op_scope *c, const st_value *mode) {
  static const char *const words[] = {"constant", "reflect", "replicate",
                                      "circular"};
  for (int i = 0; i < 4; i++) {
    if (!strcmp(mode->u.string, words[i])) return (border)i;
  }
  c->status = st__fail(ST_BAD_VALUE, "pad_mode must be 'constant', 'reflect', "
                       "'replicate' or 'circular', not '%s'", mode->u.string);
  return CONSTANT;
}

/* The sample that stands at position i, which is -n to 2 n if the signal goes
 * on there. */
static int64_t sample_at(border mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == REFLECT) return i < 0 ? -i : 2 * (n - 1) - i;
  if (mode == REPLICATE) return i < 0 ? 0 : n - 1;
  return i < 0 ? i + n : i - n;
}

/* The positions of `pad` samples before the signal, and of those behind it. */
static st_status make_positions(const st_tensor *t, border mode, int64_t pad,
                                st_tensor **out) {
  const int64_t n = t->sizes[t->ndim - 1], most = n - (mode == REFLECT);
  st_tensor *index = NULL;
  if (mode == REPLICATE ? n == 0 : pad > most) {
    return st__fail(ST_BAD_SHAPE, "a signal of %" PRId64 " samples is too "
                    "short for n_fft and pad_mode: %" PRId64 " more are needed "
                    "at each end", n, pad);
  }
  int64_t count, all;
  if (!st__mul_sizes(2, pad, &count) || !st__add_sizes(count, n, &all)) {
    return st__fail(ST_BAD_SHAPE, "n_fft is too large: 2^63 samples or more");
  }
  const bool meta = !st__has_elements(t);
  const st_options o = {ST_INT64, meta ? ST_DEVICE_META : ST_DEVICE_CPU};
  ST_TRY(st__new_empty(o, 1, &count, ST_FORMAT_CONTIGUOUS, &index));
  int64_t *const p = meta ? NULL : (int64_t *)(void *)st__data(index);
  for (int64_t i = 0; p && i < pad; i++) {
    p[i] = sample_at(mode, i - pad, n);
    p[pad + i] = sample_at(mode, n + i, n);
  }
  return st__copy_to_device(&index, (st_device)t->device, out);
}

static st_tensor *pad_signal(st_op_scope *c, const st_tensor *t, int64_t pad,
                             const st_value *pad_mode) {
  const border mode = read_border(c, pad_mode);
  const int64_t pads[] = {pad, pad};
  st_tensor *index = NULL;
  if (!st__scope_ok(c)) return NULL;
  if (pad == 0) return (st_tensor *)(uintptr_t)t;
  if (mode == CONSTANT) {
    return ST_APPLY(c, ST_OP_constant_pad_nd, t, st__of_ints(pads, 2));
  }
  c->status = make_positions(t, mode, pad, &index);
  if (!st__scope_ok(c)) return NULL;
  c->t[c->n++] = index;
  const st_tensor *ends = ST_APPLY(c, ST_OP_index_select, t, -1, index);
  st_tensor *parts[] = {slice(c, ends, -1, 0, pad), (st_tensor *)(uintptr_t)t,
                        slice(c, ends, -1, pad, 2 * pad)};
  if (!st__scope_ok(c)) return NULL;
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(parts, 3), -1);
}

/* -- stft ----------------------------------------------------------------- */

typedef struct stft_args {
  const st_tensor *self;
  frames f;
  bool center, normalized, aligns;
  const st_value *pad_mode, *onesided, *return_complex;
} stft_args;

static st_status check_stft(const stft_args *s) {
  const st_tensor *self = s->self, *window = s->f.window;
  const bool is_complex = st__is_complex((st_dtype)self->dtype) ||
                          (window && st__is_complex((st_dtype)window->dtype));
  if (!st__is_floating((st_dtype)self->dtype) && !is_complex) {
    return st__fail(ST_BAD_DTYPE, "self must be floating or complex, not %s",
                    st__dtype_name((st_dtype)self->dtype));
  }
  if (self->ndim < 1 || self->ndim > 2) {
    return st__fail(ST_BAD_SHAPE, "self must be a signal or a batch of them, "
                    "its shape is %s", ST_SHAPE_TEXT(self));
  }
  if (s->f.n_fft < 1 || s->f.hop < 1) {
    return st__fail(ST_BAD_VALUE, "n_fft and hop_length must be positive, they "
                    "are %" PRId64 " and %" PRId64, s->f.n_fft, s->f.hop);
  }
  ST_TRY(check_window(&s->f));
  if (is_complex && st__to_bool(s->onesided, false)) {
    return st__fail(ST_BAD_VALUE, "onesided must not be true: self or window "
                    "is complex");
  }
  if (is_complex || !st__is_none(s->return_complex)) return ST_OK;
  return st__fail(ST_BAD_VALUE, "return_complex must be given for a real "
                  "signal: true for complex numbers");
}

/* Frames that end within the signal; with align_to_window, those whose window
 * does, as if there were zeros around the signal. */
static st_tensor *cut_frames(st_op_scope *c, const stft_args *s,
                             const st_tensor *t) {
  const frames *f = &s->f;
  if (s->center) t = pad_signal(c, t, f->n_fft / 2, s->pad_mode);
  if (!st__scope_ok(c)) return NULL;
  const int64_t rest = f->n_fft - f->width;
  const int64_t pad[] = {rest / 2, rest - rest / 2};
  if (s->aligns && rest > 0) {
    t = ST_APPLY(c, ST_OP_constant_pad_nd, t, st__of_ints(pad, 2));
  }
  if (!st__scope_ok(c)) return NULL;
  const int64_t n = t->sizes[t->ndim - 1];
  if (f->n_fft > n) {
    c->status = st__fail(ST_BAD_SHAPE, "n_fft is %" PRId64 ", but a signal "
                         "has %" PRId64 " samples only", f->n_fft, n);
    return NULL;
  }
  return ST_APPLY(c, ST_OP_unfold, t, -1, f->n_fft, f->hop);
}

static st_tensor *transform(st_op_scope *c, const stft_args *s,
                            const st_tensor *t) {
  if (!st__scope_ok(c)) return NULL;
  const bool is_complex = st__is_complex((st_dtype)t->dtype);
  const bool flag = is_complex || st__to_bool(s->onesided, true);
  return ST_APPLY(c, is_complex ? ST_OP__fft_c2c : ST_OP__fft_r2c, t,
                  ST_INTS(-1), s->normalized ? 1 : 0, st__of_bool(flag));
}

static st_status run_stft(const stft_args *s, st_value *rets) {
  st_op_scope c = {.status = check_stft(s)};
  if (!st__scope_ok(&c)) return c.status;
  const st_tensor *t = cut_frames(&c, s, s->self);
  const st_tensor *window = padded_window(&c, &s->f, s->self,
                                          (st_dtype)s->self->dtype, false);
  if (window) t = st__mul(&c, t, window);
  t = transform(&c, s, t);
  st_tensor *out = ST_APPLY(&c, ST_OP_transpose_int, t, -2, -1);
  if (!st__to_bool(s->return_complex, true)) {
    out = st__apply1(&c, ST_OP_view_as_real, out);
  }
  return st__scope_return(&c, out, rets);
}

ST_BOXED(st__box_stft) {
  stft_args s = {.self = st__next_tensor(&args), .f = read_frames(&args)};
  ST_ARGS_TO(s, BOOL(normalized), BOXED(onesided), BOXED(return_complex),
             BOOL(aligns));
  return run_stft(&s, rets);
}

ST_BOXED(st__box_stft_center) {
  stft_args s = {.self = st__next_tensor(&args), .f = read_frames(&args)};
  ST_ARGS_TO(s, BOOL(center), BOXED(pad_mode), BOOL(normalized),
             BOXED(onesided), BOXED(return_complex));
  if (s.center && !st__is_none(args)) {
    return st__fail(ST_BAD_VALUE, "align_to_window is for center=false only");
  }
  s.aligns = st__next_bool(&args);
  return run_stft(&s, rets);
}

/* -- istft ---------------------------------------------------------------- */

typedef struct istft_args {
  const st_tensor *self;
  frames f;
  bool center, normalized, onesided, return_complex;
  const st_value *length;
} istft_args;

static st_status check_spectrum(const istft_args *s) {
  const st_tensor *self = s->self;
  if (!st__is_complex((st_dtype)self->dtype)) {
    return st__fail(ST_BAD_DTYPE, "self must be complex, as stft gives it, not "
                    "%s", st__dtype_name((st_dtype)self->dtype));
  }
  if (self->ndim < 2 || self->ndim > 3 || self->numel == 0) {
    return st__fail(ST_BAD_SHAPE, "self must have the dimensions of "
                    "frequencies and frames, and one of a batch before them or "
                    "none, and elements; its shape is %s",
                    ST_SHAPE_TEXT(self));
  }
  return ST_OK;
}

static st_status check_istft(const istft_args *s) {
  const frames *f = &s->f;
  const int64_t size = s->self->sizes[s->self->ndim - 2];
  const int64_t want = s->onesided ? f->n_fft / 2 + 1 : f->n_fft;
  if (f->n_fft < 1 || size != want) {
    return st__fail(ST_BAD_SHAPE, "self has %" PRId64 " frequencies, but n_fft "
                    "%" PRId64 " has %" PRId64 "%s", size, f->n_fft, want,
                    s->onesided ? " (onesided)" : "");
  }
  ST_TRY(check_window(f));
  if (f->hop < 1 || f->hop > f->width) {
    return st__fail(ST_BAD_VALUE, "hop_length must be 1 to win_length, which "
                    "is %" PRId64 ", not %" PRId64, f->width, f->hop);
  }
  if (s->return_complex && s->onesided) {
    return st__fail(ST_BAD_VALUE, "onesided must not be true with "
                    "return_complex");
  }
  if (!s->return_complex && f->window &&
      st__is_complex((st_dtype)f->window->dtype)) {
    return st__fail(ST_BAD_DTYPE, "a complex window needs return_complex");
  }
  if (st__to_int(s->length, 0) < 0) {
    return st__fail(ST_BAD_VALUE, "length must not be negative, it is %" PRId64,
                    s->length->u.i);
  }
  return ST_OK;
}

static st_tensor *invert(st_op_scope *c, const istft_args *s) {
  const int64_t n = s->f.n_fft;
  const st_tensor *t = ST_APPLY(c, ST_OP_transpose_int, s->self, -2, -1);
  if (!s->return_complex && !s->onesided) {
    t = st__apply_narrow(c, t, -1, 0, n / 2 + 1);
  }
  return ST_APPLY(c, s->return_complex ? ST_OP__fft_c2c : ST_OP__fft_c2r, t,
                  ST_INTS(-1), s->normalized ? 1 : 2,
                  s->return_complex ? st__of_bool(false) : st__of_int(n));
}

/* Adds frames up: dimensions of a batch, if any, frames and samples. */
static st_tensor *add_frames(st_op_scope *c, const frames *f,
                             const st_tensor *t, int64_t count) {
  if (!st__scope_ok(c)) return NULL;
  const int dim = t->ndim - 2;
  const int64_t sizes[] = {dim > 0 ? t->sizes[0] : count, count};
  return ST_APPLY(c, ST_OP_unfold_backward, t, st__of_ints(sizes, dim + 1), dim,
                  f->n_fft, f->hop);
}

static void check_envelope(st_op_scope *c, const st_tensor *envelope) {
  if (!st__scope_ok(c) || envelope->numel == 0 ||
      !st__has_elements(envelope)) {
    return;
  }
  const st_tensor *least = st__apply1(
    c, ST_OP_min, st__apply1(c, ST_OP_abs, st__apply1(c, ST_OP_detach,
                                                      envelope)));
  st_value v;
  if (!st__scope_ok(c)) return;
  c->status = st__invoke(ST_OP_item, ST_VALUES(least), &v);
  if (!st__scope_ok(c) || st__to_float(&v, 0) >= 1e-11) return;
  c->status = st__fail(ST_BAD_VALUE, "the squared windows add up to 0 "
                       "somewhere: frames must overlap where window is small");
}

/* The samples that the frames cover: without those of the borders, or length
 * of them. */
static st_tensor *rebuild(st_op_scope *c, const istft_args *s,
                          const st_tensor *t) {
  if (!st__scope_ok(c)) return NULL;
  const frames *f = &s->f;
  const int64_t n_frames = t->sizes[t->ndim - 2];
  int64_t count;
  if (!st__mul_sizes(f->hop, n_frames - 1, &count) ||
      !st__add_sizes(count, f->n_fft, &count)) {
    c->status = st__fail(ST_BAD_SHAPE, "the signal has 2^63 samples or more");
    return NULL;
  }
  const int64_t start = s->center ? f->n_fft / 2 : 0;
  int64_t end = count - start;
  if (!st__is_none(s->length) &&
      !st__add_sizes(start, s->length->u.i, &end)) end = INT64_MAX;
  const st_tensor *w = padded_window(c, f, t, (st_dtype)t->dtype, true);
  const int64_t sizes[] = {n_frames, f->n_fft};
  const st_tensor *square =
    ST_APPLY(c, ST_OP_expand, st__mul(c, w, w), st__of_ints(sizes, 2));
  t = add_frames(c, f, st__mul(c, t, w), count);
  const st_tensor *envelope = slice(c, add_frames(c, f, square, count), 0,
                                    start, end);
  check_envelope(c, envelope);
  st_tensor *out = st__div(c, slice(c, t, -1, start, end), envelope);
  if (!st__scope_ok(c) || end <= count) return out;
  st__warn("istft: length is more than the frames cover: zeros follow");
  return ST_APPLY(c, ST_OP_constant_pad_nd, out, ST_INTS(0, end - count));
}

ST_BOXED(st__box_istft) {
  istft_args s = {.self = st__next_tensor(&args), .f = read_frames(&args)};
  ST_ARGS_TO(s, BOOL(center), BOOL(normalized));
  ST_ARGS(BOXED(onesided));
  ST_ARGS_TO(s, BOXED(length), BOOL(return_complex));
  ST_TRY(check_spectrum(&s));
  s.onesided = st__to_bool(onesided, s.self->sizes[s.self->ndim - 2] !=
                                     s.f.n_fft);
  st_op_scope c = {.status = check_istft(&s)};
  return st__scope_return(&c, rebuild(&c, &s, invert(&c, &s)), rets);
}
