/* st.fft.dct and its kin, as SciPy names them: types, lengths, norms.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "op/fft/arguments.h"

/* What is asked of a transform, whatever its dimensions. */
typedef struct wish {
  bool is_sine, is_inverse;
  int64_t type;
  int64_t norm;      /* _fft_c2c's */
  bool orthogonal;   /* ends are weighted so that the matrix is orthogonal */
} wish;

static wish read_wish(st_op_scope *c, bool is_sine, bool is_inverse,
                      const st_value *args) {
  const st_value *const norm = &args[4], *const orthogonalize = &args[5];
  wish w = {.is_sine = is_sine, .is_inverse = is_inverse, .type = args[1].u.i};
  w.norm = st__fft_read_norm(c, norm, !is_inverse);
  w.orthogonal = st__to_bool(orthogonalize, w.norm == 1);
  if (st__scope_ok(c) && (w.type < 1 || w.type > 4)) {
    c->status = st__fail(ST_BAD_VALUE, "type must be 1, 2, 3 or 4, not %"
                         PRId64, w.type);
  }
  if (is_inverse && (w.type == 2 || w.type == 3)) w.type = 5 - w.type;
  return w;
}

/* Real numbers along one dimension. */
static st_tensor *real_line(st_op_scope *c, const st_tensor *t, int64_t dim,
                            const wish *w) {
  if (!st__scope_ok(c)) return NULL;
  const int64_t n = t->sizes[dim];
  if (w->type == 1 && !w->is_sine && n < 2) {
    c->status = st__fail(ST_BAD_VALUE, "a cosine transform of type 1 needs at "
                         "least 2 numbers, not %" PRId64, n);
    return NULL;
  }
  const double count =
    w->type > 1 ? 2 * (double)n : 2 * (double)(w->is_sine ? n + 1 : n - 1);
  const double scale = w->norm == 0 ? 1 :
                       1 / (w->norm == 1 ? sqrt(count) : count);
  const double root = w->orthogonal ? sqrt(2) : 1;
  return ST_APPLY(c, ST_OP__fft_r2r, t, dim, st__of_bool(w->is_sine),
                  st__of_bool(w->type == 2 || w->type == 4),
                  st__of_bool(w->type == 3 || w->type == 4),
                  st__of_float(scale), st__of_float(root),
                  st__of_float(1 / root));
}

/* Those of complex numbers are transforms of their parts. */
static st_tensor *transform(st_op_scope *c, st_tensor *t, const st_fft_axes *a,
                            const wish *w) {
  if (!st__scope_ok(c)) return NULL;
  const bool is_complex = st__is_complex((st_dtype)t->dtype);
  if (is_complex) {
    t = st__apply1(c, ST_OP_resolve_conj, t);
    t = st__apply1(c, ST_OP_view_as_real, t);
  }
  for (int i = a->n - 1; i >= 0; i--) t = real_line(c, t, a->dim[i], w);
  return is_complex ? st__apply1(c, ST_OP_view_as_complex, t) : t;
}

static st_status run_line(const st_value *args, bool is_sine, bool is_inverse,
                          st_value *rets) {
  const st_tensor *const self = args[0].u.tensor;
  const bool is_given = !st__is_none(&args[2]);
  st_op_scope c = {.status = ST_OK};
  const wish w = read_wish(&c, is_sine, is_inverse, args);
  st_tensor *t = st__fft_promote(&c, self, false);
  st_fft_axes a = {.n = 1};
  a.dim[0] = st__fft_wrap(&c, args[3].u.i, self);
  if (st__scope_ok(&c)) {
    a.size[0] = is_given ? args[2].u.i : self->sizes[a.dim[0]];
  }
  t = st__fft_resize_axes(&c, t, &a);
  return st__scope_return(&c, transform(&c, t, &a, &w), rets);
}

static st_status run_axes(const st_value *args, bool is_sine, bool is_inverse,
                          st_value *rets) {
  const st_fft_axes_args g = {args[0].u.tensor, &args[2], &args[3], &args[4]};
  st_fft_axes a = {.n = 0};
  st_op_scope c = {.status = st__fft_find_axes(&g, &a)};
  const wish w = read_wish(&c, is_sine, is_inverse, args);
  st_tensor *t = st__fft_promote(&c, g.self, false);
  t = st__fft_resize_axes(&c, t, &a);
  st_tensor *out = transform(&c, t, &a, &w);
  if (st__scope_ok(&c) && a.n == 0) out = st__apply1(&c, ST_OP_clone, out);
  return st__scope_return(&c, out, rets);
}

ST_BOXED(st__box_fft_dct) { return run_line(args, false, false, rets); }
ST_BOXED(st__box_fft_idct) { return run_line(args, false, true, rets); }
ST_BOXED(st__box_fft_dst) { return run_line(args, true, false, rets); }
ST_BOXED(st__box_fft_idst) { return run_line(args, true, true, rets); }
ST_BOXED(st__box_fft_dctn) { return run_axes(args, false, false, rets); }
ST_BOXED(st__box_fft_idctn) { return run_axes(args, false, true, rets); }
ST_BOXED(st__box_fft_dstn) { return run_axes(args, true, false, rets); }
ST_BOXED(st__box_fft_idstn) { return run_axes(args, true, true, rets); }
