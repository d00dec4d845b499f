/* Common code of convolutions, pooling, padding and resampling: arguments,
 * windows, and calls of operators.
 */

#include "op/nn/spatial.h"

#include <inttypes.h>

#include "op/create/factory.h"
#include "tensor/memory_format.h"
#include "tensor/view.h"

/* -- Calls of operators --------------------------------------------------- */

st_tensor *st__reshape_tail(st_op_scope *c, const st_tensor *t, int drop, int n,
                            const int64_t *sizes) {
  int64_t all[ST_MAX_DIMS + ST_SPATIAL_MAX];
  int k = 0;
  if (!st__scope_ok(c)) return NULL;
  for (; k < t->ndim - drop; k++) all[k] = t->sizes[k];
  for (int i = 0; i < n; i++) all[k++] = sizes[i];
  return st__apply_reshape(c, t, k, all);
}

st_tensor *st__apply_format(st_op_scope *c, const st_tensor *t,
                            const st_tensor *like) {
  const st_format format = st__suggest_format(like, false);
  if (!st__scope_ok(c) || format == ST_FORMAT_CONTIGUOUS ||
      t->ndim != like->ndim) {
    return (st_tensor *)(uintptr_t)t;
  }
  return ST_APPLY(c, ST_OP_clone, t, format);
}

st_tensor *st__to_device_of(st_op_scope *c, const st_tensor *table,
                            st_dtype dtype, const st_tensor *like) {
  if (!st__scope_ok(c)) return NULL;
  st_tensor *t = st__apply_to(c, table, dtype);
  if (!st__scope_ok(c) || st__is_cpu(like)) return t;
  st_tensor *there =
    ST_APPLY(c, ST_OP_new_empty, like, st__of_ints(t->sizes, 1), dtype);
  return st__apply2(c, ST_OP_copy_, there, t);
}

st_tensor *st__apply_index_select(st_op_scope *c, const st_tensor *t,
                                  int64_t dim, const st_tensor *positions) {
  return ST_APPLY(c, ST_OP_index_select, t, dim, positions);
}

ST_TYPED(st__box_attached, st__view_alias, (TENSOR))

/* -- Arguments ------------------------------------------------------------ */

int64_t st__product_of(int n, const int64_t *sizes) {
  int64_t product = 1;
  for (int i = 0; i < n; i++) product *= sizes[i];
  return product;
}

/* The product of two such sizes fits in 64 bits. */
static st_status check_size(const char *name, int64_t value, int64_t least) {
  if (value >= least && value <= INT32_MAX) return ST_OK;
  return st__fail(ST_BAD_VALUE, "%s must be %" PRId64 " or more%s, it is %"
                  PRId64, name, least,
                  value < least ? "" : " and fit in 32 bits", value);
}

st_status st__read_sizes(st_ints list, const char *name, int n, int64_t least,
                         int64_t *out) {
  if (list.n != 1 && (int)list.n != n) {
    return st__fail(ST_BAD_VALUE, "%s must have one entry%s%s, it has %u",
                    name, n == 1 ? "" : " or ",
                    n == 1 ? "" : n == 2 ? "two" : "three", list.n);
  }
  for (int d = 0; d < n; d++) {
    out[d] = list.p[list.n == 1 ? 0 : d];
    ST_TRY(check_size(name, out[d], least));
  }
  return ST_OK;
}

st_status st__check_images(const st_tensor *t, const char *name, int n) {
  if (t->ndim != n + 1 && t->ndim != n + 2) {
    return st__fail(ST_BAD_SHAPE, "%s must have %d dimensions, or %d with a "
                    "batch, but its shape is %s", name, n + 1, n + 2,
                    ST_SHAPE_TEXT(t));
  }
  return ST_OK;
}

void st__image_sizes(const st_tensor *t, int n, int64_t *sizes) {
  for (int d = 0; d < n; d++) sizes[d] = t->sizes[t->ndim - n + d];
}

/* -- Windows -------------------------------------------------------------- */

bool st__is_padded(const st_window *w) {
  for (int d = 0; d < w->n; d++) if (w->padding[d] > 0) return true;
  return false;
}

int64_t st__window_extent(const st_window *w, int d) {
  return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

st_status st__window_count(st_window *w) {
  int64_t columns = 1;
  bool many = false;
  for (int d = 0; d < w->n; d++) {
    const int64_t extent = st__window_extent(w, d);
    int64_t room;
    if (!st__add_sizes(w->in[d], 2 * w->padding[d], &room)) {
      return st__fail(ST_BAD_SHAPE, "dimension %d from the end, of size %"
                      PRId64 ", is too large for a padding of %" PRId64,
                      w->n - d, w->in[d], w->padding[d]);
    }
    if (room < extent) {
      return st__fail(ST_BAD_SHAPE, "a window of extent %" PRId64 " does not "
                      "fit dimension %d from the end, whose size with padding "
                      "is %" PRId64, extent, w->n - d, room);
    }
    w->out[d] = (room - extent) / w->stride[d] + 1;
    many |= !st__mul_sizes(columns, w->out[d], &columns);
    many |= !st__mul_sizes(columns, w->kernel[d], &columns);
  }
  return many ? st__fail(ST_BAD_SHAPE, "there are too many windows") : ST_OK;
}
