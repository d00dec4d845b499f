/* The helpers of formulas. Those that return tensors compute them with
 * operators, so that the results are differentiable.
 */

#include "grad/formula/helper.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grad/formula/helpers.h"

/* -- Geometry ------------------------------------------------------------- */

typedef struct operand_geometry {
  int ndim;
  const int64_t *sizes;
  st_dtype dtype;
} operand_geometry;

/* The geometry of an operand, saved or read from the tensor. */
static operand_geometry geometry_of(const st_helper_arg *o) {
  const st_saved_geometry *g = o->geometry;
  const st_tensor *t = st__to_tensor(&o->value);
  if (g) return (operand_geometry){g->ndim, g->dims, g->dtype};
  if (t) return (operand_geometry){t->ndim, t->sizes, t->dtype};
  return (operand_geometry){0, NULL, ST_FLOAT32};
}

static ST_HELPER_FN(shape) {
  const operand_geometry l = geometry_of(args);
  const st_value sizes = st__of_ints(l.sizes, l.ndim);
  return st__value_copy(&sizes, out);
}

static ST_HELPER_FN(numel) {
  const operand_geometry l = geometry_of(args);
  int64_t all = 1;
  for (int d = 0; d < l.ndim; d++) all *= l.sizes[d];
  *out = st__of_int(all);
  return ST_OK;
}

static ST_HELPER_FN(ndim) {
  *out = st__of_int(geometry_of(args).ndim);
  return ST_OK;
}

static ST_HELPER_FN(dtype) {
  *out = st__of_int(geometry_of(args).dtype);
  return ST_OK;
}

static ST_HELPER_FN(is_complex) {
  *out = st__of_bool(st__is_complex(geometry_of(args).dtype));
  return ST_OK;
}

static ST_HELPER_FN(has) {
  *out = st__of_bool(args->geometry || args->value.tag != ST_TAG_NONE);
  return ST_OK;
}

/* -- Scalars and lists ---------------------------------------------------- */

static st_status return_scalar(st_scalar s, st_value *out) {
  const st_value v = st__of_scalar(&s);
  return st__value_copy(&v, out);
}

static ST_HELPER_FN(imaginary) {
  return return_scalar(st__scalar_complex(0, 1), out);
}

static ST_HELPER_FN(ln) {
  ST_READ(BOXED(v));
  const st_scalar s = st__scalar_of(v);
  if (s.kind == ST_SCALAR_COMPLEX) {
    return return_scalar(st__scalar_complex(log(hypot(s.u.c[0], s.u.c[1])),
                                            atan2(s.u.c[1], s.u.c[0])), out);
  }
  return return_scalar(st__scalar_float(log(st__to_float(v, 0))), out);
}

static ST_HELPER_FN(count) {
  ST_READ(BOXED(sizes), BOXED(dims));
  uint64_t set;
  int64_t all = 1;
  ST_TRY(st__reduced(dims, (int)sizes->len, &set));
  for (uint32_t d = 0; d < sizes->len; d++) {
    if (set >> d & 1) all *= sizes->u.ints[d];
  }
  *out = st__of_int(all);
  return ST_OK;
}

static ST_HELPER_FN(negated) {
  ST_READ(BOXED(v));
  ST_TRY(st__value_copy(v, out));
  int64_t *p = (int64_t *)(uintptr_t)out->u.ints;
  for (uint32_t i = 0; i < v->len; i++) {
    p[i] = (int64_t)(0 - (uint64_t)p[i]);
  }
  return ST_OK;
}

static ST_HELPER_FN(inverted) {
  ST_READ(BOXED(v));
  int64_t sources[ST_MAX_DIMS] = {0};
  for (uint32_t i = 0; i < v->len; i++) {
    int d;
    ST_TRY(st__wrap_dim(v->u.ints[i], (int)v->len, &d));
    sources[d] = i;
  }
  const st_value dims = st__of_ints(sources, (int)v->len);
  return st__value_copy(&dims, out);
}

static ST_HELPER_FN(broadcast) {
  ST_READ(BOXED(a), BOXED(b));
  int64_t sizes[ST_MAX_DIMS];
  int ndim_out;
  ST_TRY(st__broadcast_shape((int)a->len, a->u.ints, (int)b->len, b->u.ints,
                             sizes, &ndim_out));
  const st_value v = st__of_ints(sizes, ndim_out);
  return st__value_copy(&v, out);
}

/* For arguments without a known derivative. */
static ST_HELPER_FN(underivable) {
  return st__fail(ST_BAD_STATE, "there is no derivative of %s",
                  args->value.u.string);
}

/* -- Simple tensors ------------------------------------------------------- */

static st_status one(st_op_id id, int n, const st_value *args,
                     st_value *out) {
  return st__invoke(id, n, args, out);
}

static ST_HELPER_FN(conjugate) {
  ST_READ(BOXED(v));
  const st_tensor *t = st__to_tensor(v);
  if (t && st__is_complex(t->dtype)) {
    return one(ST_OP_conj, 1, v, out);
  }
  if (v->tag == ST_TAG_COMPLEX) {
    return return_scalar(st__scalar_complex(v->u.pair[0], -v->u.pair[1]), out);
  }
  return st__value_copy(v, out);
}

/* grad times the conjugate of a scalar; grad itself if the scalar is 1. */
static ST_HELPER_FN(scale) {
  ST_READ(BOXED(grad), BOXED(factor));
  const st_scalar s = st__scalar_of(factor);
  const st_scalar c = s.kind == ST_SCALAR_COMPLEX
                      ? st__scalar_complex(s.u.c[0], -s.u.c[1]) : s;
  if (s.kind != ST_SCALAR_COMPLEX && st__to_float(factor, 0) == 1) {
    return st__value_copy(grad, out);
  }
  const st_value both[] = {*grad, st__of_scalar(&c)};
  return one(ST_OP_mul_Scalar, 2, both, out);
}

/* min < self < max, where none is no bound. */
static ST_HELPER_FN(within) {
  ST_READ(TENSOR(self), BOXED(min), BOXED(max));
  st_op_scope c = {.status = ST_OK};
  st_tensor *above = NULL, *below = NULL;
  if (!st__is_none(min)) above = ST_APPLY(&c, ST_OP_gt_Scalar, self, *min);
  if (!st__is_none(max)) below = ST_APPLY(&c, ST_OP_lt_Scalar, self, *max);
  st_tensor *both = above && below
                    ? st__apply2(&c, ST_OP_logical_and, above, below)
                    : above ? above : below;
  return st__scope_return(&c, both, out);
}

/* -- Table ---------------------------------------------------------------- */

static const st_helper helpers[] = {
  {"shape", "g", true, shape},
  {"numel", "g", true, numel},
  {"ndim", "g", true, ndim},
  {"dtype", "g", true, dtype},
  {"is_complex", "g", true, is_complex},
  {"has", "g", true, has},
  {"i", "", true, imaginary},
  {"ln", "a", false, ln},
  {"count", "la", false, count},
  {"negated", "a", false, negated},
  {"inverted", "l", false, inverted},
  {"broadcast", "ll", false, broadcast},
  {"conj", "a", true, conjugate},
  {"scale", "aa", false, scale},
  {"underivable", "a", false, underivable},
  {"within", "taa", false, within},
#define ST_HELPER(name, kinds) {#name, kinds, false, st__help_##name},
#include "grad/formula/helpers.def"
#undef ST_HELPER
};

const st_helper *st__helper(int i) { return &helpers[i]; }

int st__helper_find(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
    if (strlen(helpers[i].name) == n &&
        memcmp(helpers[i].name, name, n) == 0) {
      return (int)i;
    }
  }
  return -1;
}

/* -- Calls ---------------------------------------------------------------- */

bool st__helper_takes(const st_helper *h, int n) {
  const int most = (int)strlen(h->kinds);
  const char *rest = strchr(h->kinds, '?');
  return rest ? n >= (int)(rest - h->kinds) && n < most : n == most;
}

bool st__helper_wants_geometry(const st_helper *h) {
  return *h->kinds != 0 && strchr("grs", *h->kinds) != NULL;
}

/* The least number of dimensions of a tensor of this kind. */
static int least_rank(char kind) {
  return kind == 'm' ? 2 : kind == 'v' || kind == 'r';
}

static bool is_of_kind(char kind, const st_helper_arg *arg) {
  switch (kind) {
    case 't': case 'v': case 'm':
      return arg->value.tag == ST_TAG_TENSOR &&
             arg->value.u.tensor->ndim >= least_rank(kind);
    case 'l':
      return arg->value.tag == ST_TAG_INTS && arg->value.len <= ST_MAX_DIMS;
    case 's': case 'r':
      return arg->geometry && arg->geometry->ndim >= least_rank(kind);
    default: return true;
  }
}

static st_status bad_argument(const st_helper *h, int i, char kind,
                              const st_value *v, const char *operation) {
  char got[160] = "";
  if (v->tag == ST_TAG_TENSOR) {
    snprintf(got, sizeof got, ", got shape %s", ST_SHAPE_TEXT(v->u.tensor));
  } else if (kind == 'l' && v->tag == ST_TAG_INTS) {
    snprintf(got, sizeof got, ", got %u", v->len);
  }
  return kind == 'l'
    ? st__fail(ST_BAD_SHAPE, "%s: the derivative (argument %d of %s) needs at "
               "most %d integers%s", operation, i + 1, h->name, ST_MAX_DIMS,
               got)
    : st__fail(ST_BAD_SHAPE, "%s: the derivative (argument %d of %s) needs a "
               "tensor of at least %d dimension%s%s", operation, i + 1, h->name,
               least_rank(kind), least_rank(kind) == 1 ? "" : "s", got);
}

st_status st__helper_call(const st_helper *h, int n, const st_helper_arg *args,
                          const char *operation, st_value *out) {
  const char *kind = h->kinds;
  for (int i = 0; i < n; i++, kind++) {
    if (*kind == '?') kind++;
    if (is_of_kind(*kind, &args[i])) continue;
    return bad_argument(h, i, *kind, &args[i].value, operation);
  }
  return h->fn(n, args, out);
}
