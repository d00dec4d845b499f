/* Checks of the dtypes and geometries of headers. */

#include "tensor/geometry.h"

#include <inttypes.h>

#include "tensor/layout.h"
#include "tensor/subbyte.h"

#define TEXT(n, v) st__shape_text(n, v, (char[160]){0}, 160)

st_status st__refuse_rank(int ndim) {
  return st__fail(ST_BAD_SHAPE, "a tensor has 0 to %d dimensions, not %d",
                  ST_MAX_DIMS, ndim);
}

st_status st__refuse_tensor_dtype(st_dtype dtype) {
  return st__fail(ST_BAD_DTYPE, "a tensor cannot have dtype %s",
                  st__dtype_name(dtype));
}

st_status st__check_strides(const st_geometry *g, int64_t itemsize) {
  int64_t total = g->offset, n;
  bool overflow = false;
  if (g->offset < 0) {
    return st__fail(ST_BAD_INDEX, "negative storage offset %" PRId64,
                    g->offset);
  }
  for (int d = 0; d < g->ndim; d++) {
    if (g->strides[d] < 0) {
      return st__fail(ST_BAD_SHAPE, "strides %s cannot be negative",
                      TEXT(g->ndim, g->strides));
    }
    overflow |= !st__mul_sizes(g->sizes[d] > 1 ? g->sizes[d] : 1,
                               g->strides[d], &n);
    overflow |= !st__add_sizes(total, n, &total);
  }
  overflow |= !st__mul_sizes(total, itemsize, &n);
  if (!overflow) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "shape %s with strides %s at offset %" PRId64
                  " does not fit in the address space",
                  TEXT(g->ndim, g->sizes), TEXT(g->ndim, g->strides),
                  g->offset);
}

/* Foreign memory may have any address, but kernels need aligned elements. The
 * blocks of extension devices have none. */
static st_status check_alignment(const st_storage *s, size_t itemsize) {
  const size_t align = itemsize < 8 ? itemsize : 8;
  if (s->device > ST_DEVICE_META || (uintptr_t)s->data % align == 0) {
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "memory at %p is not aligned for elements of "
                  "%zu bytes", (void *)s->data, itemsize);
}

st_status st__check_subbyte(st_device device, st_dtype dtype,
                            const st_geometry *g) {
  if (device <= ST_DEVICE_META) return st__check_subbyte_rows(dtype, g);
  return st__fail(ST_BAD_DTYPE, "device '%s' has no tensors of %s",
                  st__device_name(device), st__dtype_name(dtype));
}

st_status st__check_geometry(const st_storage *s, st_dtype dtype,
                             const st_geometry *g, int64_t *numel) {
  const size_t itemsize = st__itemsize(dtype);
  size_t need = 0;
  if (s->layout) return st__refuse_layout(s->layout);
  ST_TRY(st__numel_of(g->ndim, g->sizes, numel));
  ST_TRY(st__check_strides(g, (int64_t)itemsize));
  ST_TRY(check_alignment(s, itemsize));
  if (st__is_subbyte(dtype)) {
    ST_TRY(st__check_subbyte((st_device)s->device, dtype, g));
  }
  if (*numel == 0) return ST_OK;
  ST_TRY(st__nbytes_of(g, dtype, &need));
  if (need <= s->nbytes) return ST_OK;
  return st__fail(ST_BAD_INDEX, "shape %s with strides %s at offset %" PRId64
                  " needs a storage of %zu bytes, this one has %zu",
                  TEXT(g->ndim, g->sizes), TEXT(g->ndim, g->strides), g->offset,
                  need, s->nbytes);
}
