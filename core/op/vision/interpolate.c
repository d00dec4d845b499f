/* interpolate and upsample: the operators of torch.nn.functional that choose
 * among the resampling operators by mode and number of dimensions.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "op/nn/spatial.h"

/* A mode, its operators over 1, 2 and 3 dimensions, and that with antialias
 * (over 2). ST_OP_COUNT: there is none. */
typedef struct resize_mode {
  const char *name;
  bool has_corners;              /* takes align_corners */
  st_op_id op[ST_SPATIAL_MAX];
  st_op_id antialiased;
} resize_mode;

#define NONE ST_OP_COUNT

static const resize_mode modes[] = {
  {"nearest", false,
   {ST_OP_upsample_nearest1d_vec, ST_OP_upsample_nearest2d_vec,
    ST_OP_upsample_nearest3d_vec}, NONE},
  {"nearest-exact", false,
   {ST_OP__upsample_nearest_exact1d_vec, ST_OP__upsample_nearest_exact2d_vec,
    ST_OP__upsample_nearest_exact3d_vec}, NONE},
  {"area", false,
   {ST_OP_adaptive_avg_pool1d, ST_OP_adaptive_avg_pool2d,
    ST_OP_adaptive_avg_pool3d}, NONE},
  {"linear", true, {ST_OP_upsample_linear1d_vec, NONE, NONE}, NONE},
  {"bilinear", true, {NONE, ST_OP_upsample_bilinear2d_vec, NONE},
   ST_OP__upsample_bilinear2d_aa_vec},
  {"trilinear", true, {NONE, NONE, ST_OP_upsample_trilinear3d_vec}, NONE},
  {"bicubic", true, {NONE, ST_OP_upsample_bicubic2d_vec, NONE},
   ST_OP__upsample_bicubic2d_aa_vec},
  {"lanczos", true, {NONE, NONE, NONE}, ST_OP__upsample_lanczos2d_aa_vec},
};

/* What interpolate is asked for. */
typedef struct resize_call {
  const st_tensor *input;
  int n;                         /* dimensions to resize */
  const st_value *size, *scale_factor;
  const char *mode;
  const st_value *align_corners; /* a bool or none */
  bool recompute, antialias;
} resize_call;

/* -- Choice --------------------------------------------------------------- */

static st_status find_mode(const resize_call *r, const resize_mode **out) {
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(r->mode, modes[i].name) == 0) {
      *out = &modes[i];
      return ST_OK;
    }
  }
  return st__fail(ST_BAD_VALUE, "mode must be 'nearest', 'nearest-exact', "
                  "'area', 'linear', 'bilinear', 'trilinear', 'bicubic' or "
                  "'lanczos', not '%s'", r->mode);
}

static st_status find_operator(const resize_call *r, const resize_mode *m,
                               st_op_id *id) {
  const bool has_corners = !st__is_none(r->align_corners);
  if (has_corners && !m->has_corners) {
    return st__fail(ST_BAD_VALUE, "mode '%s' takes no align_corners", m->name);
  }
  if (r->n < 1 || r->n > ST_SPATIAL_MAX) {
    return st__fail(ST_BAD_SHAPE, "input must have 3 to 5 dimensions, but its "
                    "shape is %s", ST_SHAPE_TEXT(r->input));
  }
  *id = r->antialias && r->n == 2 ? m->antialiased
      : r->antialias ? NONE : m->op[r->n - 1];
  if (*id == NONE) {
    return st__fail(ST_BAD_VALUE, "mode '%s' does not resize %d dimensions %s "
                    "antialias; the shape of input is %s", m->name, r->n,
                    r->antialias ? "with" : "without",
                    ST_SHAPE_TEXT(r->input));
  }
  if (m->antialiased == ST_OP__upsample_lanczos2d_aa_vec && has_corners &&
      st__to_bool(r->align_corners, false)) {
    return st__fail(ST_BAD_VALUE, "mode 'lanczos' takes no align_corners");
  }
  return ST_OK;
}

/* -- Sizes ---------------------------------------------------------------- */

static st_status check_entries(const resize_call *r, const char *name,
                               const st_value *list) {
  if ((int)list->len == r->n || list->len == 1) return ST_OK;
  return st__fail(ST_BAD_VALUE, "%s must have %d entries for input of shape "
                  "%s, it has %u", name, r->n, ST_SHAPE_TEXT(r->input),
                  list->len);
}

/* The sizes that the factors give, as output_size. */
static st_status scaled_size(const resize_call *r, int64_t *size) {
  const st_value *f = r->scale_factor;
  for (int d = 0; d < r->n; d++) {
    const double factor = f->u.floats[f->len == 1 ? 0 : d];
    const double whole = trunc((double)r->input->sizes[2 + d] * factor);
    if (!(whole >= 1 && whole <= INT32_MAX)) {
      return st__fail(ST_BAD_VALUE, "scale_factor would give size %g for an "
                      "input of size %" PRId64, whole, r->input->sizes[2 + d]);
    }
    size[d] = (int64_t)whole;
  }
  return ST_OK;
}

static st_status check_sizes(const resize_call *r) {
  const bool has_size = !st__is_none(r->size);
  if (has_size == !st__is_none(r->scale_factor)) {
    return st__fail(ST_BAD_VALUE, "either size or scale_factor must be given");
  }
  if (has_size && r->recompute) {
    return st__fail(ST_BAD_VALUE, "recompute_scale_factor needs a "
                    "scale_factor, but size is given");
  }
  return has_size ? check_entries(r, "size", r->size)
                  : check_entries(r, "scale_factor", r->scale_factor);
}

/* -- Calls ---------------------------------------------------------------- */

static st_status run(const resize_call *r, st_value *rets) {
  const resize_mode *m = NULL;
  st_op_id id = NONE;
  int64_t size[ST_SPATIAL_MAX];
  st_value sizes = *r->size, factors = *r->scale_factor;
  ST_TRY(find_mode(r, &m));
  ST_TRY(find_operator(r, m, &id));
  ST_TRY(check_sizes(r));
  const bool is_area = m->op[0] == ST_OP_adaptive_avg_pool1d;
  if ((is_area || r->recompute) && st__is_none(&sizes)) {
    ST_TRY(scaled_size(r, size));
    sizes = st__of_ints(size, r->n);
    factors = st__none();
  }
  const st_value input = st__of_tensor(r->input);
  if (is_area) return st__invoke(id, ST_VALUES(input, sizes), rets);
  if (!m->has_corners) {
    return st__invoke(id, ST_VALUES(input, sizes, factors), rets);
  }
  const st_value corners = st__of_bool(st__to_bool(r->align_corners, false));
  return st__invoke(id, ST_VALUES(input, sizes, corners, factors), rets);
}

ST_BOXED(st__box_interpolate) {
  resize_call r = {.input = st__next_tensor(&args)};
  r.n = r.input->ndim - 2;
  ST_ARGS_TO(r, BOXED(size), BOXED(scale_factor));
  r.mode = st__next(&args)->u.string;
  ST_ARGS_TO(r, BOXED(align_corners), BOOL(recompute), BOOL(antialias));
  return run(&r, rets);
}

/* input, size, scale_factor */
static st_status upsample(const st_value *args, const char *mode,
                          const st_value *align_corners, st_value *rets) {
  resize_call r = {.input = st__to_tensor(args), .size = args + 1,
                   .scale_factor = args + 2, .mode = mode,
                   .align_corners = align_corners};
  r.n = r.input->ndim - 2;
  return run(&r, rets);
}

ST_BOXED_AS(st__box_upsample, upsample, args, args[3].u.string, &args[4])

ST_BOXED(st__box_upsample_nearest) {
  const st_value none = st__none();
  return upsample(args, "nearest", &none, rets);
}

ST_BOXED(st__box_upsample_bilinear) {
  const st_value corners = st__of_bool(true);
  return upsample(args, "bilinear", &corners, rets);
}
