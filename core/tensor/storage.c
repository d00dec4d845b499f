/* Storages: refcounted bytes that tensors share. */

#include "base/memory.h"
#include "tensor/tensor.h"

#include <string.h>

/* Foreign memory that nobody wants back. */
static void keep(void *ctx, void *data, size_t nbytes) {
  (void)ctx; (void)data; (void)nbytes;
}

static void free_data(st_storage *s) {
  if (s->free_fn) {
    s->free_fn(s->free_ctx, s->data, s->nbytes);
  } else if (s->data) {
    st__free(ST_MEM_DATA, s->data, s->nbytes);
  }
}

st_status st__storage_new(st_device device, size_t nbytes, st_storage **out) {
  st_storage *s = st__alloc_zero(ST_MEM_STORAGE, sizeof *s);
  if (!s) return ST_NO_MEMORY;
  st__ref_init(&s->refs);
  s->device = device;
  s->nbytes = nbytes;
  if (device != ST_DEVICE_META) {
    s->data = st__alloc(ST_MEM_DATA, nbytes);
    if (!s->data) {
      st__free(ST_MEM_STORAGE, s, sizeof *s);
      return ST_NO_MEMORY;
    }
  }
  *out = s;
  return ST_OK;
}

st_status st__storage_wrap(void *data, size_t nbytes, st_storage_free_fn fn,
                           void *ctx, st_storage **out) {
  if (!data && nbytes) {
    return st__fail(ST_BAD_VALUE, "a storage of %zu bytes needs memory, "
                    "got NULL", nbytes);
  }
  st_storage *s = st__alloc_zero(ST_MEM_STORAGE, sizeof *s);
  if (!s) return ST_NO_MEMORY;
  st__ref_init(&s->refs);
  s->device = ST_DEVICE_CPU;
  s->data = data;
  s->nbytes = nbytes;
  s->free_fn = fn ? fn : keep;
  s->free_ctx = ctx;
  *out = s;
  return ST_OK;
}

st_status st__storage_resize(st_storage *s, size_t nbytes) {
  if (s->device != ST_DEVICE_META) {
    char *data = st__alloc(ST_MEM_DATA, nbytes);
    if (!data) return ST_NO_MEMORY;
    const size_t common = nbytes < s->nbytes ? nbytes : s->nbytes;
    if (common) memcpy(data, s->data, common);
    free_data(s);
    s->data = data;
    s->free_fn = NULL;
    s->free_ctx = NULL;
  }
  s->nbytes = nbytes;
  return ST_OK;
}

void st__storage_retain(st_storage *s) { st__ref_take(&s->refs); }

void st__storage_release(st_storage **s) {
  st_storage *p = *s;
  *s = NULL;
  if (!p || !st__ref_drop(&p->refs)) return;
  free_data(p);
  st__free(ST_MEM_STORAGE, p, sizeof *p);
}
