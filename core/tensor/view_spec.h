/* View specs: the sizes, strides and offset of a view before its header is
 * made.
 */
#ifndef ST_TENSOR_VIEW_SPEC_H
#define ST_TENSOR_VIEW_SPEC_H

#include "tensor/tensor.h"

/* There is room for one dimension more than a tensor can have: a view may add
 * one, and st__tensor_view then rejects the shape. */
typedef struct st_view_spec {
  int ndim;
  int64_t offset;
  int64_t sizes[ST_MAX_DIMS + 1];
  int64_t strides[ST_MAX_DIMS + 1];
} st_view_spec;

/* Note [Copies of a few dimensions] */
static inline void st__copy_dims(int64_t *to, const int64_t *from, int n) {
  for (int d = 0; d < n; d++) {
    to[d] = from[d];
    ST_KEEP_LOOP(to);
  }
}

static inline void st__view_spec_load(st_view_spec *g, const st_tensor *t) {
  g->ndim = t->ndim;
  g->offset = t->offset;
  st__copy_dims(g->sizes, t->sizes, t->ndim);
  st__copy_dims(g->strides, t->strides, t->ndim);
}

static inline st_status st__view_spec_apply(const st_tensor *t,
                                            const st_view_spec *g,
                                            st_tensor **out) {
  return st__tensor_view(t, g->ndim, g->sizes, g->strides, g->offset, out);
}

/* The same for elements of t only: st__tensor_view_within. */
static inline st_status st__view_spec_apply_within(const st_tensor *t,
                                                   const st_view_spec *g,
                                                   st_tensor **out) {
  return st__tensor_view_within(
    t, &(st_geometry){g->ndim, g->sizes, g->strides, g->offset}, out);
}

/* The same for elements of t, or none: st__tensor_view_inside. */
static inline st_status st__view_spec_apply_inside(const st_tensor *t,
                                                   const st_view_spec *g,
                                                   st_tensor **out) {
  return st__tensor_view_inside(
    t, &(st_geometry){g->ndim, g->sizes, g->strides, g->offset}, out);
}

static inline st_status st__view_spec_apply_as(const st_tensor *t,
                                               st_dtype dtype,
                                               const st_view_spec *g,
                                               st_tensor **out) {
  return st__tensor_view_as(
    t, dtype, &(st_geometry){g->ndim, g->sizes, g->strides, g->offset}, out);
}

static inline void st__view_spec_drop(st_view_spec *g, int d) {
  int64_t *sizes = g->sizes, *strides = g->strides;
  for (g->ndim--; d < g->ndim; d++) {
    sizes[d] = sizes[d + 1];
    strides[d] = strides[d + 1];
    ST_KEEP_LOOP(sizes);
  }
}

static inline void st__view_spec_insert(st_view_spec *g, int d, int64_t size,
                                        int64_t stride) {
  int64_t *sizes = g->sizes, *strides = g->strides;
  for (int k = g->ndim++; k > d; k--) {
    sizes[k] = sizes[k - 1];
    strides[k] = strides[k - 1];
    ST_KEEP_LOOP(sizes);
  }
  g->sizes[d] = size;
  g->strides[d] = stride;
}

#endif
