/* Export to and import from DLPack.
 *
 * Note [Ownership of DLPack tensors]
 * An exported tensor retains its storage until the consumer calls the deleter,
 * which it may do on any thread. A storage that was ever exported cannot grow,
 * because its bytes must not move (Note [Shared storages]). A managed tensor
 * belongs to the caller until its import succeeds; then the storage owns it
 * and calls its deleter when the last reference is released.
 */

#include "tensor/share/dlpack.h"

#include <string.h>

#include "base/memory.h"
#include "tensor/subbyte.h"

/* -- Dtypes --------------------------------------------------------------- */

enum { NO_CODE = 255 }; /* in st_dtype_facts */

static st_dl_type type_of(st_dtype d) {
  const uint8_t lanes = st__dtype_facts[d].lanes;
  return (st_dl_type){st__dtype_facts[d].dlpack,
                      (uint8_t)(st__bits(d) / lanes), lanes};
}

static st_status find_dtype(st_dl_type type, st_dtype *out) {
  for (int d = 0; d < ST_DTYPE_ALL; d++) {
    const st_dl_type own = type_of((st_dtype)d);
    if (st__is_tensor_dtype(d) && own.code != NO_CODE &&
        own.code == type.code &&
        own.bits == type.bits && own.lanes == type.lanes) {
      *out = (st_dtype)d;
      return ST_OK;
    }
  }
  return st__fail(ST_BAD_DTYPE, "no dtype has %d lanes of %d bits of code %d",
                  type.lanes, type.bits, type.code);
}

/* -- Export --------------------------------------------------------------- */

typedef struct export {
  union {
    struct DLManagedTensor plain;
    struct DLManagedTensorVersioned versioned;
  } m;
  st_storage *storage;
  int ndim;
  int64_t dims[];      /* sizes and strides */
} export;

static size_t export_size(int ndim) {
  return sizeof(export) + 2 * (size_t)ndim * sizeof(int64_t);
}

static void delete(export *e) {
  if (!e) return;
  st__storage_release(&e->storage);
  st__free(ST_MEM_SHARED, e, export_size(e->ndim));
}

static void delete_plain(struct DLManagedTensor *m) {
  if (m) delete(m->manager_ctx);
}

static void delete_versioned(struct DLManagedTensorVersioned *m) {
  if (m) delete(m->manager_ctx);
}

static st_status check_export(const st_tensor *t) {
  if (type_of(t->dtype).code == NO_CODE) {
    return st__fail(ST_BAD_DTYPE, "DLPack has no dtype %s",
                    st__dtype_name(t->dtype));
  }
  if (t->keys & ST_AUTOGRAD_BITS) {
    return st__fail(ST_BAD_STATE, "a tensor that requires a gradient cannot "
                    "be exported: detach it first");
  }
  ST_TRY(st__check_layout(t));
  if (st__is_lazy(t)) {
    return st__fail(ST_BAD_STATE, "a lazy conjugate or negative, or a zero "
                    "tensor, cannot be exported: clone it first");
  }
  if (t->device != ST_DEVICE_CPU) {
    return st__fail(ST_BAD_STATE, "a tensor on device '%s' cannot be "
                    "exported: move it to the CPU first",
                    st__device_name(t->device));
  }
  if (t->storage->is_bound) {
    return st__fail(ST_BAD_STATE, "a tensor whose memory is freed with the "
                    "state that created it cannot be exported: clone it first");
  }
  return ST_OK;
}

/* Dimensions of size 0 and 1 get stride 1, for consumers that check all
 * strides. */
static st_status new_export(st_tensor *t, export **out, st_dl_tensor *dl) {
  ST_TRY(check_export(t));
  export *e = st__alloc_zero(ST_MEM_SHARED, export_size(t->ndim));
  if (!e) return ST_NO_MEMORY;
  e->ndim = t->ndim;
  for (int d = 0; d < t->ndim; d++) {
    e->dims[d] = t->sizes[d];
    e->dims[t->ndim + d] = t->sizes[d] < 2 ? 1 : t->strides[d];
  }
  st__storage_retain(t->storage);
  e->storage = t->storage;
  atomic_store_explicit(&t->storage->is_shared, true, memory_order_relaxed);
  *dl = (st_dl_tensor){
    .data = t->numel ? st__first_byte(t) : NULL, .device = {ST_DL_CPU, 0},
    .ndim = t->ndim,
    .dtype = type_of(t->dtype),
    .shape = e->dims, .strides = e->dims + t->ndim};
  *out = e;
  return ST_OK;
}

st_status st_tensor_to_dlpack(st_tensor *t, struct DLManagedTensor **out) {
  export *e = NULL;
  st_dl_tensor dl;
  ST_TRY(new_export(t, &e, &dl));
  e->m.plain = (struct DLManagedTensor){dl, e, delete_plain};
  *out = &e->m.plain;
  return ST_OK;
}

st_status st_tensor_to_dlpack_versioned(st_tensor *t,
                                        struct DLManagedTensorVersioned **out) {
  export *e = NULL;
  st_dl_tensor dl;
  ST_TRY(new_export(t, &e, &dl));
  e->m.versioned = (struct DLManagedTensorVersioned){
    {ST_DL_MAJOR, ST_DL_MINOR}, e, delete_versioned, 0, dl};
  *out = &e->m.versioned;
  return ST_OK;
}

/* -- Release -------------------------------------------------------------- */

void st_dlpack_release(struct DLManagedTensor **m) {
  struct DLManagedTensor *p = *m;
  *m = NULL;
  if (p && p->deleter) p->deleter(p);
}

void st_dlpack_release_versioned(struct DLManagedTensorVersioned **m) {
  struct DLManagedTensorVersioned *p = *m;
  *m = NULL;
  if (p && p->deleter) p->deleter(p);
}

/* -- Import --------------------------------------------------------------- */

/* The checked properties of a producer's tensor. */
typedef struct import {
  st_dtype dtype;
  int ndim;
  int64_t strides[ST_MAX_DIMS];
  const int64_t *sizes;
  size_t nbytes;
  char *data;
} import;

/* The producer's strides of dimensions of size 0 and 1 are arbitrary and
 * ignored. */
static void find_strides(const st_dl_tensor *dl, int64_t numel,
                         int64_t *out) {
  st__contiguous_strides(dl->ndim, dl->shape, out);
  for (int d = 0; d < dl->ndim && dl->strides && numel > 0; d++) {
    if (dl->shape[d] > 1) out[d] = dl->strides[d];
  }
}

static st_status find_data(const st_dl_tensor *dl, import *in) {
  const uintptr_t base = (uintptr_t)dl->data;
  uintptr_t first, last;
  in->data = NULL;
  if (in->nbytes == 0) return ST_OK;
  if (!dl->data) {
    return st__fail(ST_BAD_VALUE, "it has elements, but its data is NULL");
  }
  if (dl->byte_offset > PTRDIFF_MAX ||
      !st__add_address(base, (uintptr_t)dl->byte_offset, &first) ||
      !st__add_address(first, in->nbytes, &last)) {
    return st__fail(ST_BAD_VALUE, "its elements do not fit in the address "
                    "space");
  }
  in->data = (char *)dl->data + dl->byte_offset;
  return ST_OK;
}

/* Checks dl and fills *in. The caller still owns dl. */
static st_status check_import(const st_dl_tensor *dl, import *in) {
  int64_t numel;
  if (dl->device.device_type != ST_DL_CPU) {
    return st__fail(ST_BAD_STATE, "its device type is %d: only CPU memory "
                    "(%d) can be imported", dl->device.device_type,
                    ST_DL_CPU);
  }
  if (dl->ndim < 0 || dl->ndim > ST_MAX_DIMS) {
    return st__fail(ST_BAD_SHAPE, "a tensor has 0 to %d dimensions, not %d",
                    ST_MAX_DIMS, dl->ndim);
  }
  if (dl->ndim > 0 && !dl->shape) {
    return st__fail(ST_BAD_VALUE, "it has %d dimensions, but its shape is "
                    "NULL", dl->ndim);
  }
  ST_TRY(find_dtype(dl->dtype, &in->dtype));
  ST_TRY(st__numel_of(dl->ndim, dl->shape, &numel));
  find_strides(dl, numel, in->strides);
  in->ndim = dl->ndim;
  in->sizes = dl->shape;
  /* A meta tensor checks the geometry without allocating elements. */
  st_tensor *meta = NULL;
  ST_TRY(st__tensor_empty_strided(ST_DEVICE_META, in->dtype, in->ndim,
                                  in->sizes, in->strides, &meta));
  in->nbytes = numel ? meta->storage->nbytes : 0;
  st__tensor_release(&meta);
  return find_data(dl, in);
}

static st_status wrap(const import *in, st_storage_free_fn fn, void *ctx,
                      st_tensor **out) {
  st_storage *storage = NULL;
  ST_TRY(st__storage_wrap(in->data, in->nbytes, NULL, NULL, &storage));
  const st_geometry g = {in->ndim, in->sizes, in->strides, 0};
  const st_status status = st__tensor_new(storage, in->dtype, &g, out);
  if (status == ST_OK) {
    storage->free_fn = fn;
    storage->free_ctx = ctx;
  }
  st__storage_release(&storage);
  return status;
}

static st_status copy(const import *in, st_tensor **out) {
  ST_TRY(st__tensor_empty_strided(ST_DEVICE_CPU, in->dtype, in->ndim,
                                  in->sizes, in->strides, out));
  if (in->nbytes) memcpy((*out)->storage->data, in->data, in->nbytes);
  return ST_OK;
}

static void free_plain(void *ctx, void *data, size_t nbytes) {
  struct DLManagedTensor *m = ctx;
  (void)data; (void)nbytes;
  st_dlpack_release(&m);
}

static void free_versioned(void *ctx, void *data, size_t nbytes) {
  struct DLManagedTensorVersioned *m = ctx;
  (void)data; (void)nbytes;
  st_dlpack_release_versioned(&m);
}

st_status st_tensor_from_dlpack(struct DLManagedTensor *m, st_tensor **out) {
  import in;
  ST_TRY(check_import(&m->dl_tensor, &in));
  return wrap(&in, free_plain, m, out);
}

st_status st_tensor_from_dlpack_versioned(struct DLManagedTensorVersioned *m,
                                          st_tensor **out) {
  import in;
  if (m->version.major != ST_DL_MAJOR) {
    return st__fail(ST_BAD_VALUE, "DLPack version %u.%u is not supported",
                    (unsigned)m->version.major, (unsigned)m->version.minor);
  }
  ST_TRY(check_import(&m->dl_tensor, &in));
  if (m->flags & ST_DL_IS_PADDED && st__is_subbyte(in.dtype)) {
    return st__fail(ST_BAD_DTYPE, "its elements of %s have a byte each: only "
                    "packed ones can be imported", st__dtype_name(in.dtype));
  }
  if (!(m->flags & ST_DL_READ_ONLY)) {
    return wrap(&in, free_versioned, m, out);
  }
  ST_TRY(copy(&in, out));
  st_dlpack_release_versioned(&m);
  return ST_OK;
}
