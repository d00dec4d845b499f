/* View specs: the sizes, strides and offset of a view before its header is
 * made.
 */
#ifndef ST_TENSOR_VIEW_SPEC_H
#define ST_TENSOR_VIEW_SPEC_H

#include <string.h>

#include "tensor/tensor.h"

/* There is room for one dimension more than a tensor can have: a view may add
 * one, and st__tensor_view then rejects the shape. */
typedef struct st_view_spec {
  int ndim;
  int64_t offset;
  int64_t sizes[ST_MAX_DIMS + 1];
  int64_t strides[ST_MAX_DIMS + 1];
} st_view_spec;

static inline void st__view_spec_load(st_view_spec *g, const st_tensor *t) {
  g->ndim = t->ndim;
  g->offset = t->offset;
  memcpy(g->sizes, t->sizes, t->ndim * sizeof *t->sizes);
  memcpy(g->strides, t->strides, t->ndim * sizeof *t->strides);
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

static inline st_status st__view_spec_apply_as(const st_tensor *t,
                                               st_dtype dtype,
                                               const st_view_spec *g,
                                               st_tensor **out) {
  return st__tensor_view_as(
    t, dtype, &(st_geometry){g->ndim, g->sizes, g->strides, g->offset}, out);
}

static inline void st__view_spec_drop(st_view_spec *g, int d) {
  const size_t n = (size_t)(--g->ndim - d) * sizeof(int64_t);
  memmove(g->sizes + d, g->sizes + d + 1, n);
  memmove(g->strides + d, g->strides + d + 1, n);
}

static inline void st__view_spec_insert(st_view_spec *g, int d, int64_t size,
                                        int64_t stride) {
  const size_t n = (size_t)(g->ndim++ - d) * sizeof(int64_t);
  memmove(g->sizes + d + 1, g->sizes + d, n);
  memmove(g->strides + d + 1, g->strides + d, n);
  g->sizes[d] = size;
  g->strides[d] = stride;
}

#endif
