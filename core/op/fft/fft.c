/* st.fft: transforms by their usual names, with lengths, norms and padding.
 *
 * All are made of _fft_c2c, _fft_r2c and _fft_c2r. An hfft is an inverse
 * transform of the conjugate, an ihfft the conjugate of a transform.
 */

#include <inttypes.h>
#include <string.h>

#include "op/row/composite.h"

/* -- Arguments ------------------------------------------------------------ */

/* The number by which _fft_c2c and others know norm. */
static int64_t read_norm(st_op_scope *c, const st_value *norm, bool forward) {
  static const char *const words[] = {"backward", "ortho", "forward"};
  if (st__is_none(norm)) return forward ? 0 : 2;
  for (int i = 0; i < 3; i++) {
    if (!strcmp(norm->u.string, words[i])) return forward ? i : 2 - i;
  }
  c->status = st__fail(ST_BAD_VALUE, "norm must be 'backward', 'forward' or "
                       "'ortho', not '%s'", norm->u.string);
  return 0;
}

static bool is_length(st_op_scope *c, int64_t n) {
  if (!st__scope_ok(c)) return false;
  if (n >= 1) return true;
  c->status = st__fail(ST_BAD_VALUE, "%" PRId64 " numbers cannot be "
                       "transformed: at least 1 is needed", n);
  return false;
}

/* t as floats, or as complex numbers. */
static st_tensor *promote(st_op_scope *c, const st_tensor *t,
                          bool is_complex) {
  st_dtype d = (st_dtype)t->dtype;
  if (!st__scope_ok(c)) return NULL;
  if (!st__is_floating(d) && !st__is_complex(d)) d = st__default_dtype();
  if (st__is_reduced_float(d)) {
    c->status = st__fail(ST_BAD_DTYPE, "there are no transforms of %s: convert "
                         "it to float32", st__dtype_name(d));
    return NULL;
  }
  if (is_complex) d = st__complex_dtype(d);
  if (d == t->dtype) return (st_tensor *)(uintptr_t)t;
  return st__apply_to(c, t, d);
}

static void need_real(st_op_scope *c, const st_tensor *t) {
  if (!st__scope_ok(c) || !st__is_complex((st_dtype)t->dtype)) return;
  c->status = st__fail(ST_BAD_DTYPE, "self must be real, not %s",
                       st__dtype_name((st_dtype)t->dtype));
}

static st_status no_dimensions(void) {
  return st__fail(ST_BAD_DIM, "self has no dimensions to transform");
}

static int wrap(st_op_scope *c, int64_t dim, const st_tensor *t) {
  int out = 0;
  if (!st__scope_ok(c)) return 0;
  c->status = t->ndim == 0 ? no_dimensions()
                           : st__wrap_dim(dim, t->ndim, &out);
  return out;
}

/* t with n numbers along dim: the first ones, or zeros behind them. */
static st_tensor *resize(st_op_scope *c, st_tensor *t, int dim, int64_t n) {
  if (!st__scope_ok(c) || t->sizes[dim] == n) return t;
  if (t->sizes[dim] > n) return st__apply_narrow(c, t, dim, 0, n);
  int64_t pad[2 * ST_MAX_DIMS] = {0};
  const int at = 2 * (t->ndim - 1 - dim) + 1;
  pad[at] = n - t->sizes[dim];
  return ST_APPLY(c, ST_OP_constant_pad_nd, t, st__of_ints(pad, at + 1));
}

/* -- Transforms ----------------------------------------------------------- */

typedef struct axes {
  int n;
  int64_t dim[ST_MAX_DIMS], size[ST_MAX_DIMS];
} axes;

static st_tensor *c2c(st_op_scope *c, const st_tensor *t, const axes *a, int n,
                      int64_t norm, bool forward) {
  return ST_APPLY(c, ST_OP__fft_c2c, t, st__of_ints(a->dim, n), norm,
                  st__of_bool(forward));
}

static st_tensor *r2c(st_op_scope *c, const st_tensor *t, const axes *a,
                      int64_t norm, bool onesided) {
  return ST_APPLY(c, ST_OP__fft_r2c, t, st__of_ints(a->dim, a->n), norm,
                  st__of_bool(onesided));
}

static st_tensor *c2r(st_op_scope *c, const st_tensor *t, const axes *a,
                      int64_t norm, int64_t size) {
  return ST_APPLY(c, ST_OP__fft_c2r, t, st__of_ints(a->dim, a->n), norm, size);
}

/* The transform of any tensor to complex numbers. That of real ones costs half
 * if all results are wanted; the inverse one is its conjugate. */
static st_tensor *complex_transform(st_op_scope *c, st_tensor *t,
                                    const axes *a, int64_t norm,
                                    bool forward) {
  if (!st__scope_ok(c)) return NULL;
  if (st__is_complex((st_dtype)t->dtype) || a->n == 0) {
    return c2c(c, promote(c, t, true), a, a->n, norm, forward);
  }
  st_tensor *const out = r2c(c, t, a, norm, false);
  return forward ? out : st__apply1(c, ST_OP_conj_physical, out);
}

/* -- One dimension -------------------------------------------------------- */

/* The arguments of all operators over one dimension. */
typedef struct line_args {
  const st_tensor *self;
  int64_t n; /* -1: not given, which no length is */
  bool is_given;
  int64_t dim;
  const st_value *norm;
} line_args;

static line_args read_line(const st_value *args) {
  line_args l;
  l.self = st__next_tensor(&args);
  l.is_given = !st__is_none(args);
  ST_ARGS_TO(l, INT_OR(n, -1), INT(dim));
  l.norm = args;
  return l;
}

/* Promotes self, finds the dimension, and resizes self. */
static st_tensor *prepare_line(st_op_scope *c, const line_args *l,
                               bool is_complex, axes *a) {
  st_tensor *t = promote(c, l->self, is_complex);
  const int dim = wrap(c, l->dim, l->self);
  if (!st__scope_ok(c)) return NULL;
  a->n = 1;
  a->dim[0] = dim;
  a->size[0] = l->is_given ? l->n : t->sizes[dim];
  if (!is_length(c, a->size[0])) return NULL;
  return resize(c, t, dim, a->size[0]);
}

static st_status run_complex(const st_value *args, bool forward,
                             st_value *rets) {
  const line_args l = read_line(args);
  st_op_scope c = {.status = ST_OK};
  axes a;
  st_tensor *const t = prepare_line(&c, &l, false, &a);
  const int64_t norm = read_norm(&c, l.norm, forward);
  return st__scope_return(&c, complex_transform(&c, t, &a, norm, forward),
                          rets);
}

static st_status run_real(const st_value *args, bool forward,
                          st_value *rets) {
  const line_args l = read_line(args);
  st_op_scope c = {.status = ST_OK};
  axes a;
  need_real(&c, l.self);
  st_tensor *const t = prepare_line(&c, &l, false, &a);
  st_tensor *out = r2c(&c, t, &a, read_norm(&c, l.norm, forward), true);
  if (!forward) out = st__apply1(&c, ST_OP_conj_physical, out);
  return st__scope_return(&c, out, rets);
}

static st_status run_to_real(const st_value *args, bool forward,
                             st_value *rets) {
  const line_args l = read_line(args);
  st_op_scope c = {.status = ST_OK};
  axes a = {.n = 1};
  st_tensor *t = promote(&c, l.self, true);
  const int dim = wrap(&c, l.dim, l.self);
  int64_t n = l.n;
  if (st__scope_ok(&c) && !l.is_given) n = 2 * (t->sizes[dim] - 1);
  if (is_length(&c, n)) t = resize(&c, t, dim, n / 2 + 1);
  if (forward) t = st__apply1(&c, ST_OP_conj, t);
  a.dim[0] = dim;
  return st__scope_return(&c, c2r(&c, t, &a, read_norm(&c, l.norm, forward),
                                  n), rets);
}

ST_BOXED(st__box_fft_fft) { return run_complex(args, true, rets); }
ST_BOXED(st__box_fft_ifft) { return run_complex(args, false, rets); }
ST_BOXED(st__box_fft_rfft) { return run_real(args, true, rets); }
ST_BOXED(st__box_fft_ihfft) { return run_real(args, false, rets); }
ST_BOXED(st__box_fft_irfft) { return run_to_real(args, false, rets); }
ST_BOXED(st__box_fft_hfft) { return run_to_real(args, true, rets); }

/* -- Several dimensions --------------------------------------------------- */

/* The arguments of all operators over several dimensions. */
typedef struct axes_args {
  const st_tensor *self;
  const st_value *s, *dim, *norm;
} axes_args;

static axes_args read_axes_args(const st_value *args) {
  return (axes_args){args[0].u.tensor, &args[1], &args[2], &args[3]};
}

static st_status check_counts(const axes_args *g) {
  const uint32_t sizes = g->s->len, dims = g->dim->len;
  if (st__is_none(g->s)) return ST_OK;
  if (!st__is_none(g->dim) && sizes != dims) {
    return st__fail(ST_BAD_VALUE, "s has %u sizes, but dim has %u dimensions",
                    sizes, dims);
  }
  if ((int)sizes <= g->self->ndim) return ST_OK;
  return st__fail(ST_BAD_VALUE, "s has %u sizes, but self has shape %s", sizes,
                  ST_SHAPE_TEXT(g->self));
}

/* The dimensions and sizes that s and dim name: all dimensions, or the last
 * ones if s is given alone. */
static st_status find_axes(const axes_args *g, axes *a) {
  const st_tensor *t = g->self;
  uint64_t set;
  ST_TRY(check_counts(g));
  const bool is_given = !st__is_none(g->dim);
  a->n = is_given ? (int)g->dim->len
       : st__is_none(g->s) ? t->ndim : (int)g->s->len;
  if (t->ndim == 0 && a->n > 0) return no_dimensions();
  if (is_given && a->n > 0) {
    ST_TRY(st__wrap_dims(g->dim->u.ints, a->n, t->ndim, &set));
  }
  for (int i = 0; i < a->n; i++) {
    int dim = t->ndim - a->n + i;
    if (is_given) ST_TRY(st__wrap_dim(g->dim->u.ints[i], t->ndim, &dim));
    a->dim[i] = dim;
    a->size[i] = st__is_none(g->s) || g->s->u.ints[i] == -1
               ? t->sizes[dim] : g->s->u.ints[i];
  }
  return ST_OK;
}

static void need_axes(st_op_scope *c, const axes *a) {
  if (!st__scope_ok(c) || a->n > 0) return;
  c->status = st__fail(ST_BAD_VALUE, "at least one dimension must be "
                       "transformed");
}

static st_tensor *resize_axes(st_op_scope *c, st_tensor *t, const axes *a) {
  for (int i = 0; i < a->n && is_length(c, a->size[i]); i++) {
    t = resize(c, t, (int)a->dim[i], a->size[i]);
  }
  return t;
}

static st_status run_complex_axes(const st_value *args, bool forward,
                                  st_value *rets) {
  const axes_args g = read_axes_args(args);
  axes a = {.n = 0};
  st_op_scope c = {.status = find_axes(&g, &a)};
  st_tensor *const t = resize_axes(&c, promote(&c, g.self, false), &a);
  const int64_t norm = read_norm(&c, g.norm, forward);
  return st__scope_return(&c, complex_transform(&c, t, &a, norm, forward),
                          rets);
}

ST_BOXED(st__box_fft_rfftn) {
  const axes_args g = read_axes_args(args);
  axes a = {.n = 0};
  st_op_scope c = {.status = find_axes(&g, &a)};
  need_real(&c, g.self);
  need_axes(&c, &a);
  st_tensor *const t = resize_axes(&c, promote(&c, g.self, false), &a);
  return st__scope_return(&c, r2c(&c, t, &a, read_norm(&c, g.norm, true),
                                  true), rets);
}

ST_BOXED(st__box_fft_ihfftn) {
  const axes_args g = read_axes_args(args);
  axes a = {.n = 0};
  st_op_scope c = {.status = find_axes(&g, &a)};
  need_real(&c, g.self);
  need_axes(&c, &a);
  st_tensor *const t = resize_axes(&c, promote(&c, g.self, false), &a);
  const int64_t norm = read_norm(&c, g.norm, false);
  const axes last = {.n = 1, .dim = {a.n > 0 ? a.dim[a.n - 1] : 0}};
  st_tensor *out = r2c(&c, t, &last, norm, true);
  out = st__apply1(&c, ST_OP_conj_physical, out);
  if (a.n > 1) out = c2c(&c, out, &a, a.n - 1, norm, false);
  return st__scope_return(&c, out, rets);
}

/* Resizes to half of the last size, which *n becomes: the last of s, or an even
 * one. */
static st_tensor *prepare_half(st_op_scope *c, const axes_args *g, axes *a,
                               int64_t *n) {
  need_axes(c, a);
  if (!st__scope_ok(c)) return NULL;
  int64_t *const last = &a->size[a->n - 1];
  const bool is_given = !st__is_none(g->s) &&
                        g->s->u.ints[a->n - 1] != -1;
  *n = is_given ? *last : 2 * (*last - 1);
  if (!is_length(c, *n)) return NULL;
  *last = *n / 2 + 1;
  return resize_axes(c, promote(c, g->self, true), a);
}

ST_BOXED(st__box_fft_irfftn) {
  const axes_args g = read_axes_args(args);
  int64_t n = 0;
  axes a = {.n = 0};
  st_op_scope c = {.status = find_axes(&g, &a)};
  st_tensor *const t = prepare_half(&c, &g, &a, &n);
  return st__scope_return(&c, c2r(&c, t, &a, read_norm(&c, g.norm, false), n),
                          rets);
}

ST_BOXED(st__box_fft_hfftn) {
  const axes_args g = read_axes_args(args);
  int64_t n = 0;
  axes a = {.n = 0};
  st_op_scope c = {.status = find_axes(&g, &a)};
  st_tensor *t = prepare_half(&c, &g, &a, &n);
  const int64_t norm = read_norm(&c, g.norm, true);
  if (a.n > 1) t = c2c(&c, t, &a, a.n - 1, norm, true);
  const axes last = {.n = 1, .dim = {a.n > 0 ? a.dim[a.n - 1] : 0}};
  t = st__apply1(&c, ST_OP_conj, t);
  return st__scope_return(&c, c2r(&c, t, &last, norm, n), rets);
}

ST_BOXED(st__box_fft_fftn) { return run_complex_axes(args, true, rets); }
ST_BOXED(st__box_fft_ifftn) { return run_complex_axes(args, false, rets); }
