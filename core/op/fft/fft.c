/* st.fft: transforms by their usual names, with lengths, norms and padding.
 *
 * All are made of _fft_c2c, _fft_r2c and _fft_c2r. An hfft is an inverse
 * transform of the conjugate, an ihfft the conjugate of a transform.
 */

#include "op/fft/arguments.h"

static void need_real(st_op_scope *c, const st_tensor *t) {
  if (!st__scope_ok(c) || !st__is_complex((st_dtype)t->dtype)) return;
  c->status = st__fail(ST_BAD_DTYPE, "self must be real, not %s",
                       st__dtype_name((st_dtype)t->dtype));
}

/* -- Transforms ----------------------------------------------------------- */

static st_tensor *c2c(st_op_scope *c, const st_tensor *t,
                      const st_fft_axes *a, int n, int64_t norm,
                      bool forward) {
  return ST_APPLY(c, ST_OP__fft_c2c, t, st__of_ints(a->dim, n), norm,
                  st__of_bool(forward));
}

static st_tensor *r2c(st_op_scope *c, const st_tensor *t, const st_fft_axes *a,
                      int64_t norm, bool onesided) {
  return ST_APPLY(c, ST_OP__fft_r2c, t, st__of_ints(a->dim, a->n), norm,
                  st__of_bool(onesided));
}

static st_tensor *c2r(st_op_scope *c, const st_tensor *t, const st_fft_axes *a,
                      int64_t norm, int64_t size) {
  return ST_APPLY(c, ST_OP__fft_c2r, t, st__of_ints(a->dim, a->n), norm, size);
}

/* The transform of any tensor to complex numbers. That of real ones costs half
 * if all results are wanted; the inverse one is its conjugate. */
static st_tensor *complex_transform(st_op_scope *c, st_tensor *t,
                                    const st_fft_axes *a, int64_t norm,
                                    bool forward) {
  if (!st__scope_ok(c)) return NULL;
  if (st__is_complex((st_dtype)t->dtype) || a->n == 0) {
    return c2c(c, st__fft_promote(c, t, true), a, a->n, norm, forward);
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
                               bool is_complex, st_fft_axes *a) {
  st_tensor *t = st__fft_promote(c, l->self, is_complex);
  const int dim = st__fft_wrap(c, l->dim, l->self);
  if (!st__scope_ok(c)) return NULL;
  a->n = 1;
  a->dim[0] = dim;
  a->size[0] = l->is_given ? l->n : t->sizes[dim];
  if (!st__fft_is_length(c, a->size[0])) return NULL;
  return st__fft_resize(c, t, dim, a->size[0]);
}

static st_status run_complex(const st_value *args, bool forward,
                             st_value *rets) {
  const line_args l = read_line(args);
  st_op_scope c = {.status = ST_OK};
  st_fft_axes a;
  st_tensor *const t = prepare_line(&c, &l, false, &a);
  const int64_t norm = st__fft_read_norm(&c, l.norm, forward);
  return st__scope_return(&c, complex_transform(&c, t, &a, norm, forward),
                          rets);
}

static st_status run_real(const st_value *args, bool forward,
                          st_value *rets) {
  const line_args l = read_line(args);
  st_op_scope c = {.status = ST_OK};
  st_fft_axes a;
  need_real(&c, l.self);
  st_tensor *const t = prepare_line(&c, &l, false, &a);
  st_tensor *out = r2c(&c, t, &a, st__fft_read_norm(&c, l.norm, forward), true);
  if (!forward) out = st__apply1(&c, ST_OP_conj_physical, out);
  return st__scope_return(&c, out, rets);
}

static st_status run_to_real(const st_value *args, bool forward,
                             st_value *rets) {
  const line_args l = read_line(args);
  st_op_scope c = {.status = ST_OK};
  st_fft_axes a = {.n = 1};
  st_tensor *t = st__fft_promote(&c, l.self, true);
  const int dim = st__fft_wrap(&c, l.dim, l.self);
  int64_t n = l.n;
  if (st__scope_ok(&c) && !l.is_given) n = 2 * (t->sizes[dim] - 1);
  if (st__fft_is_length(&c, n)) t = st__fft_resize(&c, t, dim, n / 2 + 1);
  if (forward) t = st__apply1(&c, ST_OP_conj, t);
  a.dim[0] = dim;
  const int64_t norm = st__fft_read_norm(&c, l.norm, forward);
  return st__scope_return(&c, c2r(&c, t, &a, norm, n), rets);
}

ST_BOXED(st__box_fft_fft) { return run_complex(args, true, rets); }
ST_BOXED(st__box_fft_ifft) { return run_complex(args, false, rets); }
ST_BOXED(st__box_fft_rfft) { return run_real(args, true, rets); }
ST_BOXED(st__box_fft_ihfft) { return run_real(args, false, rets); }
ST_BOXED(st__box_fft_irfft) { return run_to_real(args, false, rets); }
ST_BOXED(st__box_fft_hfft) { return run_to_real(args, true, rets); }

/* -- Several dimensions --------------------------------------------------- */

static void need_axes(st_op_scope *c, const st_fft_axes *a) {
  if (!st__scope_ok(c) || a->n > 0) return;
  c->status = st__fail(ST_BAD_VALUE, "at least one dimension must be "
                       "transformed");
}

static st_status run_complex_axes(const st_value *args, bool forward,
                                  st_value *rets) {
  const st_fft_axes_args g = st__fft_read_axes(args);
  st_fft_axes a = {.n = 0};
  st_op_scope c = {.status = st__fft_find_axes(&g, &a)};
  st_tensor *const t =
    st__fft_resize_axes(&c, st__fft_promote(&c, g.self, false), &a);
  const int64_t norm = st__fft_read_norm(&c, g.norm, forward);
  return st__scope_return(&c, complex_transform(&c, t, &a, norm, forward),
                          rets);
}

ST_BOXED(st__box_fft_rfftn) {
  const st_fft_axes_args g = st__fft_read_axes(args);
  st_fft_axes a = {.n = 0};
  st_op_scope c = {.status = st__fft_find_axes(&g, &a)};
  need_real(&c, g.self);
  need_axes(&c, &a);
  st_tensor *const t =
    st__fft_resize_axes(&c, st__fft_promote(&c, g.self, false), &a);
  const int64_t norm = st__fft_read_norm(&c, g.norm, true);
  return st__scope_return(&c, r2c(&c, t, &a, norm, true), rets);
}

ST_BOXED(st__box_fft_ihfftn) {
  const st_fft_axes_args g = st__fft_read_axes(args);
  st_fft_axes a = {.n = 0};
  st_op_scope c = {.status = st__fft_find_axes(&g, &a)};
  need_real(&c, g.self);
  need_axes(&c, &a);
  st_tensor *const t =
    st__fft_resize_axes(&c, st__fft_promote(&c, g.self, false), &a);
  const int64_t norm = st__fft_read_norm(&c, g.norm, false);
  const st_fft_axes last = {.n = 1, .dim = {a.n > 0 ? a.dim[a.n - 1] : 0}};
  st_tensor *out = r2c(&c, t, &last, norm, true);
  out = st__apply1(&c, ST_OP_conj_physical, out);
  if (a.n > 1) out = c2c(&c, out, &a, a.n - 1, norm, false);
  return st__scope_return(&c, out, rets);
}

/* Resizes to half of the last size, which *n becomes: the last of s, or an even
 * one. */
static st_tensor *prepare_half(st_op_scope *c, const st_fft_axes_args *g,
                               st_fft_axes *a, int64_t *n) {
  need_axes(c, a);
  if (!st__scope_ok(c)) return NULL;
  int64_t *const last = &a->size[a->n - 1];
  const bool is_given = !st__is_none(g->s) &&
                        g->s->u.ints[a->n - 1] != -1;
  *n = is_given ? *last : 2 * (*last - 1);
  if (!st__fft_is_length(c, *n)) return NULL;
  *last = *n / 2 + 1;
  return st__fft_resize_axes(c, st__fft_promote(c, g->self, true), a);
}

ST_BOXED(st__box_fft_irfftn) {
  const st_fft_axes_args g = st__fft_read_axes(args);
  int64_t n = 0;
  st_fft_axes a = {.n = 0};
  st_op_scope c = {.status = st__fft_find_axes(&g, &a)};
  st_tensor *const t = prepare_half(&c, &g, &a, &n);
  const int64_t norm = st__fft_read_norm(&c, g.norm, false);
  return st__scope_return(&c, c2r(&c, t, &a, norm, n), rets);
}

ST_BOXED(st__box_fft_hfftn) {
  const st_fft_axes_args g = st__fft_read_axes(args);
  int64_t n = 0;
  st_fft_axes a = {.n = 0};
  st_op_scope c = {.status = st__fft_find_axes(&g, &a)};
  st_tensor *t = prepare_half(&c, &g, &a, &n);
  const int64_t norm = st__fft_read_norm(&c, g.norm, true);
  if (a.n > 1) t = c2c(&c, t, &a, a.n - 1, norm, true);
  const st_fft_axes last = {.n = 1, .dim = {a.n > 0 ? a.dim[a.n - 1] : 0}};
  t = st__apply1(&c, ST_OP_conj, t);
  return st__scope_return(&c, c2r(&c, t, &last, norm, n), rets);
}

ST_BOXED(st__box_fft_fftn) { return run_complex_axes(args, true, rets); }
ST_BOXED(st__box_fft_ifftn) { return run_complex_axes(args, false, rets); }
