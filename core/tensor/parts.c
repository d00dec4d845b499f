/* Tensors of other layouts than the strided one, which are made of parts. */

#include "tensor/layout.h"

#include <string.h>

#include "base/memory.h"
#include "tensor/view.h"

/* -- Parts ---------------------------------------------------------------- */

/* The free_ctx of the storage of such a tensor. */
typedef struct parts {
  int n;
  int64_t notes[ST_LAYOUT_NOTES];
  st_tensor *part[ST_MAX_PARTS]; /* owned headers without history */
} parts;

static void free_parts(void *ctx, void *data, size_t nbytes) {
  parts *p = ctx;
  (void)data, (void)nbytes;
  for (int i = 0; p && i < p->n; i++) st__tensor_release(&p->part[i]);
  st__free(ST_MEM_VALUE, p, sizeof *p);
}

static parts *parts_of(const st_tensor *t) { return t->storage->free_ctx; }

static st_status check_part(const st_tensor *t, int i) {
  if (!t) {
    return st__fail(ST_BAD_VALUE, "part %d is missing",
                    (int)st__display_index(i));
  }
  if (!t->storage->layout) return ST_OK;
  return st__fail(ST_BAD_VALUE, "part %d has layout '%s', but parts are "
                  "strided tensors", (int)st__display_index(i),
                  st__layout_name(t->storage->layout));
}

static st_status new_parts(int n, st_tensor *const *from, const int64_t *notes,
                           parts **out) {
  st_status status = ST_OK;
  if (n < 0 || n > ST_MAX_PARTS) {
    return st__fail(ST_BAD_VALUE, "a tensor has 0 to %d parts, not %d",
                    ST_MAX_PARTS, n);
  }
  parts *p = st__alloc_zero(ST_MEM_VALUE, sizeof *p);
  if (!p) return ST_NO_MEMORY;
  memcpy(p->notes, notes, sizeof p->notes);
  for (; p->n < n && status == ST_OK; p->n += status == ST_OK) {
    status = check_part(from[p->n], p->n);
    if (status == ST_OK) status = st__view_alias(from[p->n], &p->part[p->n]);
  }
  if (status == ST_OK) *out = p;
  else free_parts(p, NULL, 0);
  return status;
}

int st_tensor_nparts(const st_tensor *t) {
  return t->storage->layout ? parts_of(t)->n : 0;
}

static st_status check_has_parts(const st_tensor *t) {
  return t->storage->layout ? ST_OK
         : st__fail(ST_BAD_LAYOUT, "a strided tensor has no parts");
}

st_status st__layout_notes(const st_tensor *t, int64_t *notes) {
  ST_TRY(check_has_parts(t));
  memcpy(notes, parts_of(t)->notes, sizeof parts_of(t)->notes);
  return ST_OK;
}

st_status st_tensor_part(const st_tensor *t, int i, st_tensor **out) {
  if (i >= 0 && i < st_tensor_nparts(t)) {
    return st__view_alias(parts_of(t)->part[i], out);
  }
  return st__fail(ST_BAD_INDEX, "there is no part %d: a tensor of layout '%s' "
                  "has %d", (int)st__display_index(i),
                  st__layout_name(t->storage->layout), st_tensor_nparts(t));
}

st_status st__set_parts(st_tensor *t, int n, st_tensor *const *from,
                        const int64_t *notes) {
  parts *fresh = NULL;
  ST_TRY(check_has_parts(t));
  parts *const old = parts_of(t);
  ST_TRY(new_parts(n, from, notes, &fresh));
  t->storage->free_ctx = fresh;
  free_parts(old, NULL, 0);
  return ST_OK;
}

/* -- Tensors -------------------------------------------------------------- */

static st_status check_config(const st_layout_config *c) {
  if (c->layout <= ST_LAYOUT_STRIDED || !st__is_layout(c->layout)) {
    return st__fail(ST_BAD_VALUE, "number %d is no registered layout",
                    (int)c->layout);
  }
  return st__read_device(c->device, &(st_device){0});
}

/* What an address of such a tensor is. With strides of 0 every element is the
 * first one: code that asks none of what Note [Layouts of extensions] lists
 * reads zeros, and nothing outside of this. */
static _Alignas(16) char nowhere[64];

/* is_bound: it has nothing that another state could attach to. */
static st_status new_storage(const st_layout_config *c, st_storage **out) {
  parts *p = NULL;
  ST_TRY(new_parts(c->nparts, c->parts, c->notes, &p));
  const st_status status = st__storage_new_bare(c->device, 0, out);
  if (status != ST_OK) {
    free_parts(p, NULL, 0);
    return status;
  }
  (*out)->data = nowhere;
  (*out)->is_bound = 1;
  (*out)->layout = (unsigned)c->layout & 127;
  (*out)->free_fn = free_parts;
  (*out)->free_ctx = p;
  return ST_OK;
}

st_status st_tensor_of_parts(const st_layout_config *c, st_tensor **out) {
  st_storage *storage = NULL;
  st_keyset keys = 0;
  ST_TRY(check_config(c));
  ST_TRY(st__layout_keys(c->layout, c->device, &keys));
  ST_TRY(new_storage(c, &storage));
  keys |= st__tensor_keys(c->device) & ~ST_BIT(ST_FUNC_Dense);
  const st_status status = st__tensor_unstrided(storage, c->dtype, keys,
                                                c->ndim, c->sizes, out);
  st__storage_release(&storage);
  return status;
}

st_status st__layout_like(const st_tensor *t, st_tensor *const *part,
                          st_tensor **out) {
  st_layout_config c = {
    t->storage->layout, t->device, (st_dtype)t->dtype, t->ndim, t->sizes,
    st_tensor_nparts(t), part, {0}};
  memcpy(c.notes, parts_of(t)->notes, sizeof c.notes);
  return st_tensor_of_parts(&c, out);
}
