/* Padding: constant, reflected, replicated and circular borders.
 */

#include <inttypes.h>
#include <string.h>

#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/nn/pad.h"
#include "op/create/copy_clone_to.h"
#include "op/create/factory.h"
#include "op/nn/spatial.h"
#include "tensor/memory_format.h"

/* -- Arguments ------------------------------------------------------------ */

/* The border sizes before and after each dimension; the argument pad lists them
 * from the last dimension to the first. A negative size crops. */
typedef struct borders {
  int ndim;
  int64_t before[ST_MAX_DIMS], after[ST_MAX_DIMS], size[ST_MAX_DIMS];
} borders;

static st_status too_small(const st_tensor *self, int d, const borders *b) {
  return st__fail(ST_BAD_SHAPE, "dimension %" PRId64 " of size %" PRId64 " "
                  "cannot be padded by %" PRId64 " and %" PRId64,
                  st__display_index(d), self->sizes[d], b->before[d],
                  b->after[d]);
}

static st_status read_borders(const st_tensor *self, st_ints pad, borders *b) {
  const int n = (int)(pad.n / 2);
  if (pad.n % 2 != 0 || n > self->ndim) {
    return st__fail(ST_BAD_VALUE, "pad must have two entries for each of at "
                    "most %d dimensions, it has %u", self->ndim, pad.n);
  }
  b->ndim = self->ndim;
  for (int d = 0; d < self->ndim; d++) {
    const int64_t *p = pad.p + 2 * (self->ndim - 1 - d);
    const bool has = d >= self->ndim - n;
    b->before[d] = has ? p[0] : 0;
    b->after[d] = has ? p[1] : 0;
    if (!st__add_sizes(self->sizes[d], b->before[d], &b->size[d]) ||
        !st__add_sizes(b->size[d], b->after[d], &b->size[d]) ||
        b->size[d] < 0) {
      return too_small(self, d, b);
    }
  }
  return ST_OK;
}

/* -- constant_pad_nd ------------------------------------------------------ */

static int64_t at_least_0(int64_t n) { return n > 0 ? n : 0; }

/* A view of t with these sizes, which starts after the positive (sign 1) or the
 * negative (sign -1) borders. */
static st_status inner_view(const st_tensor *t, const borders *b, int sign,
                            const int64_t *sizes, st_tensor **out) {
  int64_t offset = t->offset;
  for (int d = 0; d < t->ndim; d++) {
    offset += at_least_0(sign * b->before[d]) * t->strides[d];
  }
  return st__tensor_view(t, t->ndim, sizes, t->strides, offset, out);
}

static bool only_cuts(const borders *b) {
  for (int d = 0; d < b->ndim; d++) {
    if (b->before[d] > 0 || b->after[d] > 0) return false;
  }
  return true;
}

/* The sizes of the part of self that is kept. */
static st_status kept_sizes(const st_tensor *self, const borders *b,
                            int64_t *kept) {
  for (int d = 0; d < b->ndim; d++) {
    kept[d] = b->size[d] - at_least_0(b->before[d]) - at_least_0(b->after[d]);
    if (kept[d] < 0) return too_small(self, d, b);
  }
  return ST_OK;
}

/* Fills out with value and copies inner into it. */
static st_status fill_around(st_tensor *out, const st_tensor *inner,
                             const borders *b, st_scalar value) {
  st_tensor *to = NULL;
  ST_TRY(st__fill(out, value));
  ST_TRY(inner_view(out, b, 1, inner->sizes, &to));
  const st_status status = st__copy(to, inner);
  st__tensor_release(&to);
  return status;
}

static st_status constant_pad_nd(const st_tensor *self, st_ints pad,
                                 st_scalar value, st_value *rets) {
  const st_dtype dtype = self->dtype;
  const st_options o = {dtype, self->device};
  int64_t kept[ST_MAX_DIMS];
  st_tensor *inner = NULL, *out = NULL;
  st_status status;
  borders b;
  ST_TRY(read_borders(self, pad, &b));
  ST_TRY(kept_sizes(self, &b, kept));
  ST_TRY(st__check_scalar_fits(value, dtype));
  ST_TRY(inner_view(self, &b, -1, kept, &inner));
  if (only_cuts(&b)) {
    status = st__clone(inner, dtype, ST_FORMAT_PRESERVE, &out);
  } else {
    ST_TRY_FAIL(st__new_empty(o, b.ndim, b.size,
                              st__suggest_format(self, false), &out));
    status = fill_around(out, inner, &b, value);
  }
fail:
  st__tensor_release(&inner);
  if (status == ST_OK) rets[0] = st__of_tensor(out);
  else st__tensor_release(&out);
  return status;
}
ST_TYPED_ARGS(st__box_constant_pad_nd, constant_pad_nd, (TENSOR, INTS, SCALAR))

ST_BOXED(st__box_constant_pad_nd_backward) {
  ST_ARGS(VALUE(grad_output), INTS(pad));
  int64_t cut[2 * ST_MAX_DIMS];
  if (pad.n > sizeof cut / sizeof *cut) {
    return st__fail(ST_BAD_VALUE, "pad has %u entries", pad.n);
  }
  for (uint32_t i = 0; i < pad.n; i++) {
    cut[i] = (int64_t)(0 - (uint64_t)pad.p[i]);
  }
  return st__invoke(ST_OP_constant_pad_nd,
                    ST_VALUES(grad_output, st__of_ints(cut, (int)pad.n)), rets);
}

/* -- Padding by mode ------------------------------------------------------ */

/* ORDER PAD (kernel/nn/pad.h)
 * How a padding mode maps index i, which may be outside [0, n), to the index of
 * the element that it repeats. */
typedef struct pad_mode {
  const char *name;
  int64_t (*source)(int64_t i, int64_t n);
  int64_t margin; /* the border may be at most the size less margin; -1: no
                     limit */
} pad_mode;

static int64_t reflected(int64_t i, int64_t n) {
  const int64_t k = i < 0 ? -i : i;
  return k < n ? k : 2 * (n - 1) - k;
}

static int64_t replicated(int64_t i, int64_t n) {
  return i < 0 ? 0 : i < n ? i : n - 1;
}

static int64_t wrapped(int64_t i, int64_t n) {
  return i < 0 ? i + n : i < n ? i : i - n;
}

static const pad_mode modes[] = {
  {"reflect",   reflected,  1},
  {"replicate", replicated, -1},
  {"circular",  wrapped,    0},
};
enum { REFLECT, REPLICATE, CIRCULAR, NMODES };

/* The number of elements to crop at the start before the border is added.
 * Circular padding repeats the cropped image, so it crops first. */
static int64_t cut_before(const borders *b, int d, const pad_mode *mode) {
  return mode == &modes[CIRCULAR] ? at_least_0(-b->before[d]) : 0;
}

static int64_t repeated_size(const st_tensor *t, int d, const borders *b,
                             const pad_mode *mode) {
  const int64_t size = t->sizes[d];
  if (mode != &modes[CIRCULAR]) return size;
  return size - at_least_0(-b->before[d]) - at_least_0(-b->after[d]);
}

static st_status check_reach(const st_tensor *self, int d, const borders *b,
                             const pad_mode *mode) {
  const int64_t size = repeated_size(self, d, b, mode);
  const int64_t before = b->before[d], after = b->after[d];
  const int64_t most = size - mode->margin;
  if (size <= 0) return too_small(self, d, b);
  if (mode->margin < 0 || (before <= most && after <= most)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "dimension %" PRId64 " of size %" PRId64 " can "
                  "in mode %s be padded by at most %" PRId64 " at each end, "
                  "not by %" PRId64 " and %" PRId64, st__display_index(d), size,
                  mode->name, most, before, after);
}

static st_tensor *pad_dim(st_op_scope *c, const st_tensor *t, int d,
                          const borders *b, const pad_mode *mode) {
  const int64_t cut = cut_before(b, d, mode);
  const int64_t size = repeated_size(t, d, b, mode);
  int64_t *source;
  const st_tensor *table = st__new_cpu_vector(c, ST_INT64, b->size[d], &source);
  for (int64_t i = 0; st__scope_goes_on_at(c, i) && i < b->size[d]; i++) {
    source[i] = cut + mode->source(i - b->before[d] - cut, size);
  }
  return st__apply_index_select(c, t, d,
                                st__to_device_of(c, table, ST_INT64, t));
}

/* -- By the kernel -------------------------------------------------------- */

typedef struct pad_run {
  st_pad_loops loops;
  st_task task;
  char *to, *from;
} pad_run;

static void run_rows(void *ctx, int64_t begin, int64_t end) {
  const pad_run *r = ctx;
  char *data[] = {r->to, r->from};
  st_pad_loops units = r->loops;
  units.begin = begin;
  units.end = end;
  r->task(data, &units);
}

/* The last five dimensions; those that t does not have are 1. */
static void set_dims(pad_run *r, const st_tensor *t, const st_tensor *out,
                     const borders *b, const pad_mode *mode) {
  st_pad_loops *l = &r->loops;
  const int64_t size = (int64_t)st__itemsize(t->dtype);
  const int lead = 5 - t->ndim;
  const bool flat = lead == 1 && b->size[1] == t->sizes[1] && b->before[1] == 0;
  for (int i = 0; i < 5; i++) {
    const int d = !flat || i > 2 ? i - lead : i < 2 ? i : -1;
    const bool has = d >= 0;
    l->st[0][i] = has ? out->strides[d] * size : 0;
    l->st[1][i] = has ? t->strides[d] * size : 0;
    if (i < 2) continue;
    l->dim[i - 2] = (st_pad_dim){1, 0, 1, 0};
    if (!has) continue;
    l->dim[i - 2] = (st_pad_dim){
      .out = b->size[d], .before = b->before[d],
      .size = repeated_size(t, d, b, mode), .cut = cut_before(b, d, mode)};
  }
  l->itemsize = size;
  l->channels = flat ? out->sizes[1] : lead <= 1 ? out->sizes[1 - lead] : 1;
  if (l->channels > 1 && l->st[0][1] == size && l->st[1][1] == size) {
    l->itemsize = size * l->channels;
    l->channels = 1;
  }
}

static st_status run_pad(const st_tensor *t, const borders *b,
                         const pad_mode *mode, st_tensor *out) {
  pad_run r = {.loops.mode = (st_pad_mode)(mode - modes),
               .task = st__task(ST_K_pad_borders, ST_UINT8)};
  if (out->numel == 0 || !st__is_cpu(t)) return ST_OK;
  set_dims(&r, t, out, b, mode);
  r.to = st__data(out);
  r.from = st__data(t);
  const st_pad_loops *l = &r.loops;
  const int64_t row = l->dim[2].out * l->itemsize;
  const int64_t rows = out->numel * (int64_t)st__itemsize(t->dtype) / row;
  return st__parallel_try(0, rows, ST_GRAIN / (row / 4 + 16) + 1, run_rows,
                          &r);
}

static const pad_mode *find_mode(const char *name) {
  for (int i = 0; i < NMODES; i++) {
    if (strcmp(name, modes[i].name) == 0) return &modes[i];
  }
  return NULL;
}

static st_status read_pad(const st_tensor *t, st_ints pad,
                          const pad_mode *mode, borders *b) {
  ST_TRY(read_borders(t, pad, b));
  for (int d = t->ndim - (int)pad.n / 2; d < t->ndim; d++) {
    ST_TRY(check_reach(t, d, b, mode));
  }
  return ST_OK;
}

ST_BOXED(st__box_pad_borders) {
  ST_ARGS(TENSOR(self), INTS(pad));
  const pad_mode *mode = find_mode(st__next(&args)->u.string);
  st_tensor *out = NULL;
  borders b;
  if (!mode || self->ndim > 5 || pad.n > 2 * ST_SPATIAL_MAX) {
    return st__fail(ST_BAD_VALUE, "mode must be \"reflect\", \"replicate\" or "
                    "\"circular\", for at most 3 of 5 dimensions");
  }
  ST_TRY(read_pad(self, pad, mode, &b));
  ST_TRY(st__check_cpu_or_meta(self));
  const st_format format = mode == &modes[CIRCULAR]
                         ? ST_FORMAT_CONTIGUOUS
                         : st__suggest_format(self, false);
  ST_TRY(st__new_empty((st_options){self->dtype, self->device}, b.ndim, b.size,
                       format, &out));
  const st_status status = run_pad(self, &b, mode, out);
  if (status == ST_OK) rets[0] = st__of_tensor(out);
  else st__tensor_release(&out);
  return status;
}

static st_status pad_by_mode(st_tensor *t, st_ints pad, const pad_mode *mode,
                             st_value *rets) {
  const st_tensor *const self = t, *first;
  borders b;
  st_op_scope c = {.status = read_pad(t, pad, mode, &b)};
  if (st__scope_ok(&c) && !st__is_recorded(t->keys) &&
      st__has_image_kernels(t) && t->ndim <= 5 && pad.n <= 2 * ST_SPATIAL_MAX) {
    return st__scope_return(&c,
                            ST_APPLY(&c, ST_OP__pad_borders, t,
                                     st__of_ints(pad.p, (int)pad.n),
                                     st__of_text(mode->name)),
                            rets);
  }
  if (mode != &modes[CIRCULAR]) t = st__apply_attached(&c, t, t);
  first = t;
  for (int d = b.ndim - 1; st__scope_ok(&c) && d >= 0; d--) {
    if (b.before[d] == 0 && b.after[d] == 0) continue;
    st_op_scope round = {.n = 0};
    t = pad_dim(&round, t, d, &b, mode);
    st__scope_replace(&c, &round, &t);
  }
  if (t == first) t = st__apply1(&c, ST_OP_clone, t);
  if (mode != &modes[CIRCULAR]) t = st__apply_format(&c, t, self);
  return st__scope_return(&c, t, rets);
}

ST_BOXED(st__box_pad) {
  ST_ARGS(MUTABLE(self), INTS(pad));
  const char *mode = st__next(&args)->u.string;
  ST_ARGS(VALUE(value));
  const bool has_value = !st__is_none(&value);
  if (strcmp(mode, "constant") == 0) {
    const st_value constant[] = {
      st__of_tensor(self), st__of_ints(pad.p, (int)pad.n),
      has_value ? value : st__of_int(0)};
    return st__invoke(ST_OP_constant_pad_nd, 3, constant, rets);
  }
  for (int i = 0; i < NMODES; i++) {
    if (strcmp(mode, modes[i].name) != 0) continue;
    if (!has_value || st__to_float(&value, 0) == 0) {
      return pad_by_mode(self, pad, &modes[i], rets);
    }
    return st__fail(ST_BAD_VALUE, "mode \"%s\" does not take a value", mode);
  }
  return st__fail(ST_BAD_VALUE, "mode must be \"constant\", \"reflect\", "
                  "\"replicate\" or \"circular\", not \"%s\"", mode);
}

/* Pads the last n dimensions; a single number stands for all borders. */
static st_status pad_images(const st_value *args, int n,
                            const pad_mode *mode, st_value *rets) {
  ST_ARGS(MUTABLE(self), INTS(padding));
  const uint32_t all = 2 * (uint32_t)n;
  int64_t pad[2 * ST_SPATIAL_MAX];
  ST_TRY(st__check_images(self, "self", n));
  if (padding.n != 1 && padding.n != all) {
    return st__fail(ST_BAD_VALUE, "padding must have %u entries, it has %u",
                    all, padding.n);
  }
  for (uint32_t i = 0; i < all; i++) {
    pad[i] = padding.p[padding.n == 1 ? 0 : i];
  }
  return pad_by_mode(self, (st_ints){pad, all}, mode, rets);
}

ST_BOXED_AS(st__box_reflection_pad1d, pad_images, args, 1, &modes[REFLECT])
ST_BOXED_AS(st__box_reflection_pad2d, pad_images, args, 2, &modes[REFLECT])
ST_BOXED_AS(st__box_reflection_pad3d, pad_images, args, 3, &modes[REFLECT])
ST_BOXED_AS(st__box_replication_pad1d, pad_images, args, 1, &modes[REPLICATE])
ST_BOXED_AS(st__box_replication_pad2d, pad_images, args, 2, &modes[REPLICATE])
ST_BOXED_AS(st__box_replication_pad3d, pad_images, args, 3, &modes[REPLICATE])
