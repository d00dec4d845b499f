/* Copies to, from and within the devices of extensions.
 *
 * Note [Copies between devices]
 * A backend copies bytes. Where both tensors have the same elements in the same
 * order, dense and of one dtype, their bytes are copied. Otherwise the CPU
 * converts and rearranges: a tensor on a device has a mirror there, a tensor
 * with the same strides over its bytes, from the first element to the last,
 * which are copied at once. A destination with gaps is read first, since what
 * is in the gaps is written back. A device without a backend has a kernel of
 * copy_, which is called.
 */

#include "iter/copy.h"
#include "tensor/overlap.h"
#include "tensor/view.h"

/* -- Places --------------------------------------------------------------- */

st_place st__place_of(const st_tensor *t) {
  return (st_place){t->device, t->storage->data,
                    (size_t)t->offset * st__itemsize(t->dtype)};
}

size_t st__span(const st_tensor *t) {
  int64_t last = 0;
  if (t->numel == 0) return 0;
  for (int d = 0; d < t->ndim; d++) last += (t->sizes[d] - 1) * t->strides[d];
  return (size_t)(last + 1) * st__itemsize(t->dtype);
}

static bool is_dense(const st_tensor *t) { return t->flags & ST_FLAG_DENSE; }

/* -- Mirrors -------------------------------------------------------------- */

static st_status read_mirror(const st_tensor *t, const st_tensor *mirror) {
  const st_place to = st__place_of(mirror), from = st__place_of(t);
  return st__device_copy(&to, &from, st__span(t));
}

static st_status write_mirror(const st_tensor *t, const st_tensor *mirror) {
  const st_place to = st__place_of(t), from = st__place_of(mirror);
  return st__device_copy(&to, &from, st__span(t));
}

static st_status new_mirror(const st_tensor *t, st_tensor **out) {
  st_storage *s = NULL;
  ST_TRY(st__storage_new(ST_DEVICE_CPU, st__span(t), &s));
  const st_geometry g = {t->ndim, t->sizes, t->strides, 0};
  const st_status status = st__tensor_new(s, t->dtype, &g, out);
  st__storage_release(&s);
  if (status == ST_OK) (*out)->keys |= t->keys & ST_LAZY_BITS;
  return status;
}

/* t itself (retained) on the CPU, else a mirror, with its elements if `reads`.
 */
static st_status mirror_of(st_tensor *t, bool reads, st_tensor **out) {
  if (!st__is_privateuse(t)) return st__give(t, out);
  ST_TRY(new_mirror(t, out));
  const st_status status = reads ? read_mirror(t, *out) : ST_OK;
  if (status != ST_OK) st__tensor_release(out);
  return status;
}

/* -- Copies --------------------------------------------------------------- */

/* True if a backend has functions for both devices. */
static bool have_one_backend(st_device a, st_device b) {
  return a == ST_DEVICE_CPU || b == ST_DEVICE_CPU ||
         ST_DEVICE_KIND(a) == ST_DEVICE_KIND(b);
}

static bool are_same_bytes(const st_tensor *a, const st_tensor *b) {
  return a->dtype == b->dtype && is_dense(a) && is_dense(b) &&
         st__same_sizes(a, b) &&
         st__same_dims(a->ndim, a->strides, b->strides) &&
         ((a->keys ^ b->keys) & ST_LAZY_BITS) == 0 &&
         have_one_backend(a->device, b->device);
}

static st_status copy_by_mirrors(st_tensor *to, st_tensor *from,
                                 st_copy_fn here) {
  st_tensor *to_here = NULL, *from_here = NULL;
  st_status status;
  ST_TRY_FAIL(mirror_of(from, true, &from_here));
  ST_TRY_FAIL(mirror_of(to, !is_dense(to), &to_here));
  ST_TRY_FAIL(here(to_here, from_here));
  if (to_here != to) ST_TRY_FAIL(write_mirror(to, to_here));
  status = ST_OK;
fail:
  st__tensor_release(&to_here);
  st__tensor_release(&from_here);
  return status;
}

static st_status copy_elements(st_tensor *to, st_tensor *from,
                               st_copy_fn here) {
  const st_overlap shared = st__overlap(to, from);
  const bool is_self = shared == ST_OVERLAP_SAME && are_same_bytes(to, from);
  if (to->numel == 0 || is_self) return ST_OK;
  if (shared != ST_OVERLAP_NO || !are_same_bytes(to, from)) {
    return copy_by_mirrors(to, from, here);
  }
  const st_place target = st__place_of(to), source = st__place_of(from);
  return st__device_copy(&target, &source, st__span(from));
}

st_status (*st__copy_by_kernel)(st_tensor *dst, const st_tensor *src);

/* False for a device that has an allocator only. */
static bool has_copies(const st_tensor *t) {
  return !st__is_privateuse(t) || st__backend_of(t->device);
}

st_status st__copy_on_device(st_tensor *dst, const st_tensor *src,
                             st_copy_fn here) {
  st_tensor *wide = NULL;
  if (!has_copies(dst) || !has_copies(src)) {
    return st__copy_by_kernel(dst, src);
  }
  if (st__same_sizes(dst, src)) {
    return copy_elements(dst, (st_tensor *)(uintptr_t)src, here);
  }
  ST_TRY(st__view_expand(src, dst->ndim, dst->sizes, &wide));
  wide->keys = src->keys;
  const st_status status = copy_elements(dst, wide, here);
  st__tensor_release(&wide);
  return status;
}
