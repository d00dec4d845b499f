/* Index operands: checks index tensors and turns them into operands of the
 * loops of kernel/index/index.c.
 */

#include <inttypes.h>

#include "op/create/copy_clone_to.h"
#include "op/create/factory.h"
#include "op/index/index.h"
#include "tensor/view.h"

/* -- Checking ------------------------------------------------------------- */

st_status st__as_indices(const st_tensor *index, const st_tensor *self,
                         bool int32_too, st_tensor **out) {
  if (index->device != self->device) {
    return st__fail(ST_BAD_VALUE, "index is on another device than self");
  }
  if (index->dtype == ST_INT64) return st__give(index, out);
  if (int32_too && index->dtype == ST_INT32) {
    return st__clone(index, ST_INT64, ST_FORMAT_PRESERVE, out);
  }
  return st__fail(ST_BAD_DTYPE, "index must have dtype int64%s, not %s",
                  int32_too ? " or int32" : "",
                  st__dtype_name(index->dtype));
}

bool st__find_bad_index(const st_tensor *index, int64_t size, int64_t base,
                        int64_t *out) {
  int64_t at[ST_MAX_DIMS] = {0};
  const int64_t *p = (const int64_t *)(const void *)st__data(index);
  for (int64_t i = 0; i < index->numel; i++) {
    *out = *p;
    if ((uint64_t)st__resolve_index(*p, base, size) >= (uint64_t)size) {
      return true;
    }
    for (int d = index->ndim - 1; d >= 0; d--) {
      p += index->strides[d];
      if (++at[d] < index->sizes[d]) break;
      p -= at[d] * index->strides[d];
      at[d] = 0;
    }
  }
  return false;
}

static st_status fail_bad_index(const st_tensor *index, int dim, int64_t size,
                                int64_t base) {
  int64_t bad = 0;
  const bool is_found = st__find_bad_index(index, size, base, &bad);
  ST_ASSERT(is_found);
  (void)is_found;
  return st__fail(ST_BAD_INDEX, "index %" PRId64 " is out of range for "
                  "dimension %" PRId64 " with size %" PRId64 "; indices count "
                  "from %" PRId64, bad, st__display_index(dim), size, base);
}

/* A view without the repetitions of expanded dimensions, which need one
 * check. */
static st_status without_repeats(const st_tensor *index, st_tensor **out) {
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < index->ndim; d++) {
    sizes[d] = index->strides[d] == 0 ? 1 : index->sizes[d];
  }
  return st__tensor_view(index, index->ndim, sizes, index->strides,
                         index->offset, out);
}

static st_status has_bad_index(const st_tensor *index, int64_t size,
                               int64_t base, bool *found) {
  atomic_int bad = 0;
  const st_index_check_ctx ctx = {base, size, &bad};
  st_tensor *distinct = NULL;
  st_iter it;
  ST_TRY(without_repeats(index, &distinct));
  /* The loop only reads the indices; an output operand keeps the iterator from
   * copying them. */
  st__iter_init(&it, ST_ITER_SAME_DEVICE);
  st__iter_output(&it, distinct, ST_DTYPE_NONE);
  st_status status = st__iter_build(&it);
  if (status == ST_OK) {
    status = st__iter_run(&it, st__kernel(ST_K_index_check, ST_INT64), &ctx,
                          st__kernel_grain(ST_K_index_check));
  }
  st__iter_release(&it);
  st__tensor_release(&distinct);
  *found = bad;
  return status;
}

st_status st__has_bad_index(const st_tensor *index, int64_t size,
                            int64_t base, bool *found) {
  st_tensor *here = NULL;
  *found = false;
  if (!st__has_elements(index) || index->numel == 0) return ST_OK;
  if (!st__is_privateuse(index)) {
    return has_bad_index(index, size, base, found);
  }
  ST_TRY(st__to_cpu(index, &here));
  const st_status status = has_bad_index(here, size, base, found);
  st__tensor_release(&here);
  return status;
}

static st_status check_indices(const st_tensor *index, int dim, int64_t size,
                               int64_t base) {
  bool found;
  ST_TRY(st__has_bad_index(index, size, base, &found));
  return found ? fail_bad_index(index, dim, size, base) : ST_OK;
}

st_status st__check_indices(const st_tensor *index, int dim, int64_t size,
                            int64_t base) {
  st_tensor *here = NULL;
  if (!st__is_privateuse(index)) return check_indices(index, dim, size, base);
  ST_TRY(st__to_cpu(index, &here));
  const st_status status = check_indices(here, dim, size, base);
  st__tensor_release(&here);
  return status;
}

/* -- Operands ------------------------------------------------------------- */

void st__index_operands_release(st_index_operands *p) {
  st__tensor_release(&p->view);
  for (int64_t i = 0; i < p->ctx.n; i++) st__tensor_release(&p->index[i]);
}

static void start(st_index_operands *p, int64_t base) {
  p->view = NULL;
  p->ctx.n = 0;
  p->ctx.base = base;
  p->ctx.alpha = st__scalar_int(1);
}

/* Adds an indexed dimension of self. Takes ownership of index. */
static void add_index(st_index_operands *p, const st_tensor *self, int dim,
                      st_tensor *index) {
  const int64_t size = (int64_t)st__itemsize(self->dtype);
  const int64_t k = p->ctx.n++;
  p->index[k] = index;
  p->ctx.size[k] = self->ndim ? self->sizes[dim] : 1;
  p->ctx.stride[k] = self->ndim ? self->strides[dim] * size : 0;
}

/* Returns status; releases p if it is an error. */
static st_status finish_index(st_index_operands *p, st_status status) {
  if (status != ST_OK) st__index_operands_release(p);
  return status;
}

st_status st__index_operands_along(const st_tensor *self, int dim,
                                   const st_tensor *index, int64_t base,
                                   st_index_operands *p) {
  int64_t strides[ST_MAX_DIMS];
  start(p, base);
  for (int d = 0; d < index->ndim; d++) {
    strides[d] = d == dim || d >= self->ndim ? 0 : self->strides[d];
  }
  st_tensor *same = (st_tensor *)(uintptr_t)index;
  st__tensor_retain(same);
  add_index(p, self, dim, same);
  return finish_index(p,
                      st__tensor_view(self, index->ndim, index->sizes, strides,
                                      self->offset, &p->view));
}

st_status st__index_operands_slices(const st_tensor *self, int dim,
                                    const st_tensor *index, int64_t base,
                                    st_index_operands *p) {
  int64_t sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS], ones[ST_MAX_DIMS];
  st_tensor *line = NULL;
  start(p, base);
  for (int d = 0; d < self->ndim; d++) {
    sizes[d] = d == dim ? index->numel : self->sizes[d];
    strides[d] = d == dim ? 0 : self->strides[d];
    ones[d] = d == dim ? index->numel : 1;
  }
  ST_TRY(st__view_view(index, self->ndim, ones, &line));
  add_index(p, self, dim, line);
  return finish_index(p, st__tensor_view(self, self->ndim, sizes, strides,
                                         self->offset, &p->view));
}

st_status st__index_operands_flat(const st_tensor *self, const st_tensor *index,
                                  int64_t base, st_index_operands *p) {
  const int64_t zeros[ST_MAX_DIMS] = {0};
  start(p, base);
  st_tensor *same = (st_tensor *)(uintptr_t)index;
  st__tensor_retain(same);
  p->index[0] = same;
  p->ctx.n = 1;
  p->ctx.size[0] = self->numel;
  p->ctx.stride[0] = (int64_t)st__itemsize(self->dtype);
  return finish_index(p, st__tensor_view(self, index->ndim, index->sizes, zeros,
                                         self->offset, &p->view));
}

/* -- Lists ---------------------------------------------------------------- */

/* One index tensor per dimension of self, NULL where the whole dimension is
 * taken; masks are converted to indices. A 0-dim mask belongs to no dimension:
 * it selects self or nothing, so it adds a dimension of size 1 or 0. */
typedef struct expanded {
  st_tensor *index[ST_MAX_DIMS]; /* owned */
  int n;
  int flag_at; /* the dimensions before the first 0-dim mask; -1: none */
  bool flag;   /* all 0-dim masks are true */
} expanded;

static void release_expanded(expanded *e) {
  for (int i = 0; i < e->n; i++) st__tensor_release(&e->index[i]);
}

static st_status too_many(const st_tensor *self) {
  return st__fail(ST_BAD_SHAPE, "more indices than the %d dimensions of self",
                  self->ndim);
}

/* In place of the rows of nonzero elements, if there are no elements. */
static st_status no_rows(int ndim, st_tensor **out) {
  const int64_t sizes[] = {0, ndim};
  return st__tensor_empty(ST_DEVICE_META, ST_INT64, 2, sizes,
                          ST_FORMAT_CONTIGUOUS, out);
}

static st_status expand_mask(const st_tensor *self, const st_tensor *mask,
                             int64_t base, expanded *e) {
  st_tensor *rows = NULL;
  if (e->n + mask->ndim > self->ndim) return too_many(self);
  for (int d = 0; d < mask->ndim; d++) {
    if (mask->sizes[d] == self->sizes[e->n + d]) continue;
    return st__fail(ST_BAD_SHAPE, "a mask of shape %s does not fit self of "
                    "shape %s at dimension %d", ST_SHAPE_TEXT(mask),
                    ST_SHAPE_TEXT(self), (int)st__display_index(e->n + d));
  }
  const bool has_elements = st__has_elements(mask);
  if (!has_elements && !st__may_lack_size()) {
    return st__fail(ST_BAD_STATE, "the number of elements that a mask selects "
                    "depends on its values, which a meta tensor does not have");
  }
  if (mask->ndim == 0) {
    ST_TRY(st__check_cpu_or_meta(mask));
    if (e->flag_at < 0) e->flag_at = e->n;
    e->flag = e->flag && has_elements &&
              *(const uint8_t *)st__data(mask) != 0;
    return ST_OK;
  }
  ST_TRY(has_elements ? st__nonzero(mask, base, &rows)
                      : no_rows(mask->ndim, &rows));
  st_status status = ST_OK;
  for (int d = 0; d < mask->ndim && status == ST_OK; d++) {
    status = st__view_select(rows, 1, d, &e->index[e->n]);
    if (status == ST_OK) e->n++;
  }
  st__tensor_release(&rows);
  return status;
}

static st_status expand_list(const st_tensor *self, st_tensors list,
                             int64_t base, expanded *e) {
  e->n = 0;
  e->flag_at = -1;
  e->flag = true;
  for (uint32_t i = 0; i < list.n; i++) {
    const st_tensor *t = list.p[i];
    if (t && (t->dtype == ST_BOOL || t->dtype == ST_UINT8)) {
      ST_TRY(expand_mask(self, t, base, e));
      continue;
    }
    if (e->n == self->ndim) return too_many(self);
    e->index[e->n] = NULL;
    if (t) ST_TRY(st__as_indices(t, self, true, &e->index[e->n]));
    e->n++;
  }
  while (e->n < self->ndim) e->index[e->n++] = NULL;
  return ST_OK;
}

/* The shape that all index tensors broadcast to. */
static st_status broadcast_indices(const expanded *e, int64_t *shape,
                                   int *ndim) {
  int64_t before[ST_MAX_DIMS];
  *ndim = e->flag_at >= 0;
  shape[0] = e->flag;
  for (int i = 0; i < e->n; i++) {
    const st_tensor *t = e->index[i];
    if (!t) continue;
    memcpy(before, shape, (size_t)*ndim * sizeof *shape);
    if (st__broadcast_shape(*ndim, before, t->ndim, t->sizes, shape, ndim) !=
        ST_OK) {
      return st__fail(ST_BAD_SHAPE, "index tensor %d of shape %s does not "
                      "broadcast with the others, of shape %s",
                      (int)st__display_index(i),
                      ST_SHAPE_TEXT(t),
                      st__shape_text(*ndim, before, (char[160]){0}, 160));
    }
  }
  return ST_OK;
}

/* Orders self's dimensions so that the indexed ones are adjacent: unchanged if
 * they are, else with the indexed ones in front. Returns the number of
 * dimensions before the indexed ones. */
static int order_dims(const expanded *e, int *order) {
  int first = -1, last = -1, indexed = 0, n = 0;
  for (int i = 0; i < e->n; i++) {
    order[i] = i;
    if (!e->index[i]) continue;
    if (first < 0) first = i;
    last = i;
    indexed++;
  }
  if (indexed == 0) return e->flag_at < 0 ? 0 : e->flag_at;
  if (last - first + 1 == indexed) return first;
  for (int i = 0; i < e->n; i++) if (e->index[i]) order[n++] = i;
  for (int i = 0; i < e->n; i++) if (!e->index[i]) order[n++] = i;
  return 0;
}

/* Broadcasts t to the joint shape and adds a size of 1 for each other
 * dimension of the result. */
static st_status shape_index(const st_tensor *t, int nindex,
                             const int64_t *index_shape, int before, int after,
                             st_tensor **out) {
  int64_t sizes[ST_MAX_DIMS];
  st_tensor *wide = NULL;
  for (int d = 0; d < before + nindex + after; d++) {
    const bool own = d >= before && d < before + nindex;
    sizes[d] = own ? index_shape[d - before] : 1;
  }
  ST_TRY(st__view_expand(t, nindex, index_shape, &wide));
  const st_status status = st__view_view(wide, before + nindex + after,
                                         sizes, out);
  st__tensor_release(&wide);
  return status;
}

/* As in ATen, indices are not checked when no element is read: when there are
 * none, or when a dimension taken whole is empty. In an indexed dimension of
 * size 0 every index is out of range. */
static st_status make_operands(const st_tensor *self, const expanded *e,
                               st_index_operands *p) {
  int64_t index_shape[ST_MAX_DIMS], sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS];
  int order[ST_MAX_DIMS], nindex, indexed = 0, n = 0;
  bool any = true, all = true; /* any index; any element */
  ST_TRY(broadcast_indices(e, index_shape, &nindex));
  for (int d = 0; d < nindex; d++) any = any && index_shape[d] != 0;
  for (int d = 0; d < e->n; d++) all = all && (e->index[d] || self->sizes[d]);
  const int before = order_dims(e, order);
  for (int i = 0; i < e->n; i++) indexed += e->index[i] != NULL;
  const int after = self->ndim - before - indexed;
  if (before + nindex + after > ST_MAX_DIMS || indexed > ST_INDEX_MAX) {
    return st__fail(ST_BAD_SHAPE, "at most %d dimensions can be indexed, and "
                    "the result can have %d", ST_INDEX_MAX, ST_MAX_DIMS);
  }
  for (int i = 0; i <= self->ndim; i++) {
    for (int d = 0; i == before && d < nindex; d++) {
      sizes[n] = index_shape[d];
      strides[n++] = 0;
    }
    if (i == self->ndim) break;
    const int d = order[i];
    if (!e->index[d]) {
      sizes[n] = self->sizes[d];
      strides[n++] = self->strides[d];
      continue;
    }
    st_tensor *index = NULL;
    if (any && (all || self->sizes[d] == 0)) {
      ST_TRY(st__check_indices(e->index[d], d, self->sizes[d],
                               p->ctx.base));
    }
    ST_TRY(shape_index(e->index[d], nindex, index_shape, before, after,
                       &index));
    add_index(p, self, d, index);
  }
  return st__tensor_view(self, n, sizes, strides, self->offset, &p->view);
}

st_status st__index_operands_list(const st_tensor *self,
                                  st_tensors indices, int64_t base,
                                  st_index_operands *p) {
  expanded e;
  start(p, base);
  st_status status = expand_list(self, indices, base, &e);
  if (status == ST_OK) status = make_operands(self, &e, p);
  release_expanded(&e);
  return finish_index(p, status);
}

/* -- Reading and writing -------------------------------------------------- */

static void add_indices(st_iter *it, const st_index_operands *p) {
  for (int64_t i = 0; i < p->ctx.n; i++) st__iter_input(it, p->index[i]);
}

st_status st__index_operands_get(const st_index_operands *p, st_tensor *out) {
  st_loop loop;
  st_iter it;
  ST_TRY(st__find_kernel(ST_K_index_get, out->dtype, &loop));
  st__iter_init(&it, ST_ITER_SAME_DEVICE);
  st__iter_output(&it, out, ST_DTYPE_NONE);
  st__iter_input(&it, p->view);
  add_indices(&it, p);
  st_status status = st__iter_build(&it);
  if (status == ST_OK && it.numel > 0) {
    status = st__iter_run(&it, loop, &p->ctx,
                          st__kernel_grain(ST_K_index_get));
  }
  st__iter_release(&it);
  return status;
}

st_status st__index_operands_put(const st_index_operands *p,
                                 const st_tensor *value, st_kernel_id kernel) {
  st_loop loop;
  st_iter it;
  ST_TRY(st__find_kernel(kernel, p->view->dtype, &loop));
  st__iter_init(&it, ST_ITER_SAME_DEVICE);
  st__iter_output(&it, p->view, ST_DTYPE_NONE);
  st__iter_input(&it, value);
  add_indices(&it, p);
  st_status status = st__iter_build(&it);
  if (status == ST_OK && it.numel > 0) {
    status = st__iter_run_serial(&it, loop, &p->ctx);
  }
  st__iter_release(&it);
  return status;
}
