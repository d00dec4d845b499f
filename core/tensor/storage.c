/* Storages: the reference-counted bytes that tensors share.
 */

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/layout.h"

/* Note [Elements that are not there] */
static _Thread_local bool has_missed;

bool st__miss_elements(void) {
  has_missed = true;
  return false;
}

bool st__set_missed(bool is_missed) {
  const bool old = has_missed;
  has_missed = is_missed;
  return old;
}

/* -- Bytes ---------------------------------------------------------------- */

/* For foreign memory without a deleter. */
static void no_free(void *ctx, void *data, size_t nbytes) {
  (void)ctx; (void)data; (void)nbytes;
}

static st_inline_storage *inline_storage_of(st_storage *s) {
  return (st_inline_storage *)(void *)((char *)s - offsetof(st_inline_storage,
                                                            storage));
}

static char *inline_data(st_storage *s) {
  return (char *)inline_storage_of(s) + ST_INLINE_HEAD;
}

/* What a storage of n bytes is charged for: Note [Limits of calls]. */
static size_t charge_of(size_t n) { return n + sizeof(st_inline_storage); }

static void free_data(st_storage *s) {
  if (s->free_fn) {
    s->free_fn(s->free_ctx, s->data, s->nbytes);
    return;
  }
  st__limits_credit(s->free_ctx, charge_of(s->nbytes));
  if (s->device > ST_DEVICE_META) {
    if (s->data) st__device_free((st_device)s->device, s->data, s->nbytes);
    return;
  }
  if (s->inline_units && s->data == inline_data(s)) {
    st__count(ST_MEM_DATA, -1, -(int64_t)s->nbytes);
  } else if (s->data) {
    st__free(ST_MEM_DATA, s->data, s->nbytes);
  }
}

/* Allocates uninitialised bytes on s's device and sets *owner to the limits
 * that they are charged to; s does not change. */
static st_status new_data(const st_storage *s, size_t nbytes, void **out,
                          void **owner) {
  const size_t charge = charge_of(nbytes);
  st_limits *limits;
  st_status status = ST_OK;
  ST_TRY(st__limits_charge(charge, &limits));
  if (s->device != ST_DEVICE_CPU) {
    status = st__device_allocate((st_device)s->device, nbytes, out);
  } else {
    *out = st__alloc(ST_MEM_DATA, nbytes);
    if (!*out) status = ST_NO_MEMORY;
  }
  if (status != ST_OK) st__limits_credit(limits, charge);
  *owner = limits;
  return status;
}

/* Makes s own data, which comes from new_data, as does owner. */
static void adopt(st_storage *s, void *data, void *owner) {
  s->data = data;
  s->free_fn = NULL;
  s->free_ctx = owner;
}

/* -- Storages ------------------------------------------------------------- */

static void init_bare(st_storage *s, int inline_units, st_device device,
                      size_t nbytes) {
  *s = (st_storage){.device = (uint8_t)device, .nbytes = nbytes,
                    .inline_units = (uint8_t)inline_units};
  st__ref_init(&s->refs);
}

st_status st__storage_new_bare(st_device device, size_t nbytes,
                               st_storage **out) {
  st_storage *s = st__alloc(ST_MEM_STORAGE, sizeof *s);
  if (!s) return ST_NO_MEMORY;
  init_bare(s, 0, device, nbytes);
  *out = s;
  return ST_OK;
}

st_status st__storage_init(st_storage *s, int inline_units, st_device device,
                           size_t nbytes) {
  void *data, *ctx;
  st_limits *owner;
  init_bare(s, inline_units, device, nbytes);
  if (inline_units * ST_INLINE_UNIT > ST_INLINE_HEAD) {
    ST_TRY(st__limits_charge(charge_of(nbytes), &owner));
    s->free_ctx = owner;
    s->data = inline_data(s);
    st__count(ST_MEM_DATA, 1, (int64_t)nbytes);
  } else if (device != ST_DEVICE_META) {
    ST_TRY(new_data(s, nbytes, &data, &ctx));
    adopt(s, data, ctx);
  }
  return ST_OK;
}

st_status st__storage_new(st_device device, size_t nbytes, st_storage **out) {
  st_storage *s = st__alloc(ST_MEM_STORAGE, sizeof *s);
  if (!s) return ST_NO_MEMORY;
  const st_status status = st__storage_init(s, 0, device, nbytes);
  if (status == ST_OK) *out = s;
  else st__free(ST_MEM_STORAGE, s, sizeof *s);
  return status;
}

st_status st__storage_wrap(void *data, size_t nbytes, st_storage_free_fn fn,
                           void *ctx, st_storage **out) {
  if (!data && nbytes) {
    return st__fail(ST_BAD_VALUE, "a storage of %zu bytes needs memory, "
                    "got NULL", nbytes);
  }
  st_storage *s;
  ST_TRY(st__storage_new_bare(ST_DEVICE_CPU, nbytes, &s));
  s->data = data;
  s->free_fn = fn ? fn : no_free;
  s->free_ctx = ctx;
  *out = s;
  return ST_OK;
}

static st_status check_move(const st_storage *s) {
  if (s->layout) return st__refuse_layout(s->layout);
  if (atomic_load_explicit(&s->is_shared, memory_order_relaxed)) {
    return st__fail(ST_BAD_STATE, "a shared storage cannot grow: its %zu "
                    "bytes must not move", s->nbytes);
  }
  if (!s->data && s->nbytes) {
    return st__fail(ST_BAD_STATE, "a zero tensor has no memory: clone it");
  }
  return s->device == ST_DEVICE_CPU || s->nbytes == 0
         ? ST_OK : st__device_check_moves((st_device)s->device);
}

static st_status move_data(const st_storage *s, void *to, size_t nbytes) {
  const st_device d = (st_device)s->device;
  if (nbytes == 0) return ST_OK;
  if (d != ST_DEVICE_CPU) {
    return st__device_copy(&(st_place){d, to, 0}, &(st_place){d, s->data, 0},
                           nbytes);
  }
  memcpy(to, s->data, nbytes);
  return ST_OK;
}

static st_status move_to_new(st_storage *s, size_t nbytes) {
  void *data, *ctx;
  ST_TRY(check_move(s));
  ST_TRY(new_data(s, nbytes, &data, &ctx));
  const st_status status = move_data(s, data, nbytes < s->nbytes ? nbytes
                                                                 : s->nbytes);
  if (status != ST_OK) { /* of an extension device */
    st__limits_credit(ctx, charge_of(nbytes));
    st__device_free((st_device)s->device, data, nbytes);
    return status;
  }
  free_data(s);
  adopt(s, data, ctx);
  return ST_OK;
}

st_status st__storage_resize(st_storage *s, size_t nbytes) {
  if (s->device != ST_DEVICE_META) ST_TRY(move_to_new(s, nbytes));
  s->nbytes = nbytes;
  return ST_OK;
}

void st__storage_retain(st_storage *s) { st__ref_take(&s->refs); }

void st__storage_release(st_storage **s) {
  st_storage *p = *s;
  *s = NULL;
  if (!p || !st__ref_drop_strong(&p->refs)) return;
  free_data(p);
  if (!p->inline_units) {
    st__free(ST_MEM_STORAGE, p, sizeof *p);
    return;
  }
  st__count(ST_MEM_STORAGE, -1, -(int64_t)sizeof *p);
  st__inline_storage_drop(inline_storage_of(p));
}
