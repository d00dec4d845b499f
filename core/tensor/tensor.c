/* Tensor headers: creation, release and changes of geometry.
 */

#include "tensor/tensor.h"

#include <string.h>

#include "base/memory.h"
#include "tensor/geometry.h"
#include "tensor/memory_format.h"
#include "tensor/subbyte.h"

_Thread_local st_keyset st__untracked_keys;

void (*st__history_free)(st_history *h);
_Thread_local st_unused_check st__check_unused;

/* -- Headers -------------------------------------------------------------- */

static bool has_heap_dims(const st_tensor *t) {
  return t->sizes && t->sizes != t->dims;
}

static size_t heap_dims_size(int ndim) {
  return 2 * (size_t)ndim * sizeof(int64_t);
}

/* A buffer for ndim sizes and strides of t: t's own if it fits, otherwise new;
 * NULL if out of memory. Does not change t. */
static int64_t *alloc_dims(st_tensor *t, int ndim) {
  if (ndim <= ST_INLINE_DIMS) return t->dims;
  if (has_heap_dims(t) && t->ndim == ndim) return t->sizes;
  return st__alloc(ST_MEM_VALUE, heap_dims_size(ndim));
}

static void free_dims(st_tensor *t, int64_t *buffer, int ndim) {
  if (buffer != t->dims && buffer != t->sizes) {
    st__free(ST_MEM_VALUE, buffer, heap_dims_size(ndim));
  }
}

/* Copies the geometry to `buffer`, from alloc_dims. g may be t's own. */
static void set_geometry(st_tensor *t, int64_t *buffer, const st_geometry *g,
                         int64_t numel) {
  int64_t *const old = has_heap_dims(t) ? t->sizes : NULL;
  const int old_ndim = t->ndim, ndim = g->ndim;
  t->sizes = buffer;
  t->strides = buffer + (buffer == t->dims ? ST_INLINE_DIMS : ndim);
  for (int d = 0; d < ndim; d++) { /* few: cheaper than memmove */
    t->sizes[d] = g->sizes[d];
    t->strides[d] = g->strides[d];
  }
  t->ndim = (uint8_t)ndim;
  t->offset = g->offset;
  t->numel = numel;
  t->flags = st__compute_flags(ndim, t->sizes, t->strides) |
             (ndim == 0 ? t->flags & ST_FLAG_WRAPPED : 0);
  if (st__is_subbyte_tensor(t)) {
    t->flags = st__subbyte_flags((st_dtype)t->dtype, &(st_geometry){
      ndim, t->sizes, t->strides, g->offset});
  }
  if (old && old != buffer) {
    st__free(ST_MEM_VALUE, old, heap_dims_size(old_ndim));
  }
}

void st__inline_storage_drop(st_inline_storage *j) {
  if (atomic_load_explicit(&j->storage.parts, memory_order_acquire) == 1 ||
      atomic_fetch_sub_explicit(&j->storage.parts, 1,
                                memory_order_acq_rel) == 1) {
    st__free_block(j, (size_t)j->storage.inline_units * ST_INLINE_UNIT);
  }
}

/* Releases the storage of a header in one block with a storage, and the
 * header's part of the block. */
static void destroy_inline(st_tensor *t) {
  st_inline_storage *j = (st_inline_storage *)(void *)t;
  st_storage *s = t->storage;
  st__count(ST_MEM_TENSOR, -1, -(int64_t)sizeof *t);
  if (s == &j->storage && st__ref_is_last(&s->refs)) {
    /* nobody else has a part of the block */
    atomic_store_explicit(&j->storage.parts, 1, memory_order_relaxed);
    st__storage_release(&s);
  } else {
    st__storage_release(&s);
    st__inline_storage_drop(j);
  }
}

/* Frees t. Returns the base of a view, for the caller to release, or NULL. */
static st_tensor *destroy(st_tensor *t) {
  st_tensor *const base = st__base(t);
  if (t->history) st__history_free(t->history);
  if (has_heap_dims(t)) {
    st__free(ST_MEM_VALUE, t->sizes, heap_dims_size(t->ndim));
  }
  if (t->has_inline) {
    destroy_inline(t);
    return NULL;
  }
  st__storage_release(&t->storage);
  st__limits_credit(((st_view_tensor *)(void *)t)->limits,
                    sizeof(st_view_tensor));
  st__free(ST_MEM_TENSOR, t, sizeof(st_view_tensor));
  return base;
}

/* Initialises a header, without geometry and storage. */
static inline void init(st_tensor *t, st_dtype dtype, st_device device,
                        st_keyset keys) {
  st__ref_init(&t->refs);
  t->dtype = (uint8_t)dtype;
  t->flags = 0;
  t->ndim = 0;
  t->device = (unsigned)device & 127;
  t->has_inline = false;
  t->keys = keys;
  t->sizes = NULL;
  t->storage = NULL;
  t->history = NULL;
}

static inline st_tensor *new_view_tensor(st_dtype dtype, st_device device,
                                         st_keyset keys) {
  st_limits *owner;
  if (st__limits_charge(sizeof(st_view_tensor), &owner) != ST_OK) return NULL;
  st_view_tensor *t = st__alloc(ST_MEM_TENSOR, sizeof *t);
  if (!t) {
    st__limits_credit(owner, sizeof *t);
    return NULL;
  }
  t->limits = owner;
  init(&t->tensor, dtype, device, keys);
  t->base = NULL;
  t->creation = ST_CREATION_DEFAULT;
  t->version = 0;
  return &t->tensor;
}

typedef struct header { st_dtype dtype; st_keyset keys; } header;

/* A header over storage (retained), whose geometry is checked. */
static st_status new_header(st_storage *storage, header h,
                            const st_geometry *g, int64_t numel,
                            st_tensor **out) {
  st_tensor *t = new_view_tensor(h.dtype, storage->device, h.keys);
  if (!t) return ST_NO_MEMORY;
  int64_t *buffer = alloc_dims(t, g->ndim);
  if (!buffer) {
    destroy(t);
    return ST_NO_MEMORY;
  }
  set_geometry(t, buffer, g, numel);
  st__storage_retain(storage);
  t->storage = storage;
  *out = t;
  return ST_OK;
}

st_status st__tensor_new(st_storage *storage, st_dtype dtype,
                         const st_geometry *given, st_tensor **out) {
  st_geometry g = *given;
  int64_t contiguous[ST_MAX_DIMS], numel;
  ST_TRY(st__check_rank(g.ndim));
  ST_TRY(st__check_tensor_dtype(dtype));
  if (!g.strides) {
    ST_TRY(st__numel_of(g.ndim, g.sizes, &numel));
    st__new_strides(dtype, g.ndim, g.sizes, contiguous);
    g.strides = contiguous;
  }
  ST_TRY(st__check_geometry(storage, dtype, &g, &numel));
  const st_keyset keys = st__keys_of_dtype(st__tensor_keys(storage->device),
                                           dtype);
  return new_header(storage, (header){dtype, keys}, &g, numel, out);
}

/* The flags are 0, so it is neither contiguous nor dense, and strides of 0 make
 * no address of an index. */
st_status st__tensor_unstrided(st_storage *storage, st_dtype dtype,
                               st_keyset keys, int ndim, const int64_t *sizes,
                               st_tensor **out) {
  const int64_t strides[ST_MAX_DIMS] = {0};
  int64_t numel;
  ST_TRY(st__check_rank(ndim));
  ST_TRY(st__check_tensor_dtype(dtype));
  ST_TRY(st__numel_of(ndim, sizes, &numel));
  ST_TRY(new_header(storage, (header){dtype, keys},
                    &(st_geometry){ndim, sizes, strides, 0}, numel, out));
  (*out)->flags = 0;
  return ST_OK;
}

void st__tensor_retain(st_tensor *t) { st__ref_take(&t->refs); }

/* A leaf, which has a history, may have a weak reference from its
 * AccumulateGrad. A history is never added while another thread releases t. */
static bool drop(st_tensor *t) {
  return t->history ? st__ref_drop(&t->refs) : st__ref_drop_strong(&t->refs);
}

void st__tensor_release(st_tensor **t) {
  st_tensor *p = *t;
  *t = NULL;
  while (p && drop(p)) p = destroy(p);
}

/* -- Creation ------------------------------------------------------------- */

/* Checks the arguments of a new tensor. Returns its number of elements and the
 * bytes of its storage. */
static st_status check_new(st_dtype dtype, const st_geometry *g, int64_t *numel,
                           size_t *nbytes) {
  ST_TRY(st__check_rank(g->ndim));
  ST_TRY(st__check_tensor_dtype(dtype));
  ST_TRY(st__numel_of(g->ndim, g->sizes, numel));
  ST_TRY(st__check_strides(g, (int64_t)st__itemsize(dtype)));
  return st__nbytes_of(g, dtype, nbytes);
}

/* A header with a storage but no geometry: Note [Inline storages]. Where no
 * blocks are kept, for a memory checker, the block ends with the elements. */
static st_status new_inline(st_device device, st_dtype dtype, size_t nbytes,
                            st_tensor **out) {
  const bool has_data = ST_INLINE_ELEMENTS && device == ST_DEVICE_CPU &&
                        nbytes <= ST_INLINE_MAX_BYTES;
  const size_t behind = has_data ? nbytes + !nbytes : 0;
  const int units = (int)((ST_INLINE_HEAD + behind + ST_INLINE_UNIT - 1) /
                          ST_INLINE_UNIT);
  const size_t size = ST_BLOCK_CACHE ? (size_t)units * ST_INLINE_UNIT
                                     : ST_INLINE_HEAD + behind;
  st_inline_storage *j = st__alloc_block(size);
  if (!j) return ST_NO_MEMORY;
  const st_status status = st__storage_init(&j->storage, units, device,
                                            nbytes);
  if (status != ST_OK) {
    st__free_block(j, (size_t)units * ST_INLINE_UNIT);
    return status;
  }
  st__count(ST_MEM_STORAGE, 1, sizeof j->storage);
  st__count(ST_MEM_TENSOR, 1, sizeof j->tensor);
  init(&j->tensor, dtype, device, st__tensor_keys(device));
  j->tensor.has_inline = true;
  atomic_init(&j->storage.parts, 2);
  j->tensor.storage = &j->storage;
  *out = &j->tensor;
  return ST_OK;
}

/* Sets the keys, and what pads rows to 0. */
static void make_subbyte(st_tensor *t, const st_geometry *g) {
  const st_dtype dtype = (st_dtype)t->dtype;
  const int64_t row = g->ndim ? g->sizes[g->ndim - 1] : 1;
  t->keys = st__keys_of_dtype(t->keys, dtype);
  if (row % st__per_byte(dtype) != 0 && t->storage->data) {
    memset(t->storage->data, 0, t->storage->nbytes);
  }
}

st_status st__tensor_empty_strided(st_device device, st_dtype dtype, int ndim,
                                   const int64_t *sizes,
                                   const int64_t *strides, st_tensor **out) {
  const st_geometry g = {ndim, sizes, strides, 0};
  int64_t numel;
  size_t nbytes;
  st_tensor *t;
  ST_TRY(check_new(dtype, &g, &numel, &nbytes));
  if (st__is_subbyte(dtype)) ST_TRY(st__check_subbyte(device, dtype, &g));
  ST_TRY(new_inline(device, dtype, nbytes, &t));
  if (st__is_subbyte(dtype)) make_subbyte(t, &g);
  int64_t *buffer = alloc_dims(t, ndim);
  if (!buffer) {
    destroy(t);
    return ST_NO_MEMORY;
  }
  set_geometry(t, buffer, &g, numel);
  *out = t;
  return ST_OK;
}

/* The number of elements of few and small sizes, whose products cannot
 * overflow; -1 for others. */
static int64_t small_numel(int ndim, const int64_t *sizes) {
  enum { SMALL = 1 << 20 };
  int64_t numel = 1;
  if (ndim < 0 || ndim > ST_INLINE_DIMS) return -1;
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] < 0 || sizes[d] > SMALL || numel > SMALL) return -1;
    numel *= sizes[d];
  }
  return numel;
}

/* True for the dtypes of tensors but those of fewer than eight bits. */
static bool is_of_bytes(st_dtype d) {
  return st_dtype_is_in(ST_DTYPES_OF(~(ST_KIND_BIT(PROMOTED_INT) |
                                       ST_KIND_BIT(SUBBYTE_SIGNED) |
                                       ST_KIND_BIT(SUBBYTE_UNSIGNED))), d);
}

static st_status new_contiguous(st_device device, st_dtype dtype, int ndim,
                                const int64_t *sizes, int64_t numel,
                                st_tensor **out) {
  st_tensor *t;
  ST_TRY(new_inline(device, dtype, (size_t)numel * st__itemsize(dtype), &t));
  t->sizes = t->dims;
  t->strides = t->dims + ST_INLINE_DIMS;
  for (int d = 0; d < ndim; d++) t->sizes[d] = sizes[d];
  st__contiguous_strides(ndim, sizes, t->strides);
  t->ndim = (uint8_t)ndim;
  t->offset = 0;
  t->numel = numel;
  t->flags = ndim < 4 ? ST_FLAG_CONTIGUOUS | ST_FLAG_DENSE
                      : st__compute_flags(ndim, t->sizes, t->strides);
  *out = t;
  return ST_OK;
}

st_status st__tensor_empty(st_device device, st_dtype dtype, int ndim,
                           const int64_t *sizes, st_format format,
                           st_tensor **out) {
  int64_t strides[ST_MAX_DIMS], numel = small_numel(ndim, sizes);
  if (numel >= 0 && format == ST_FORMAT_CONTIGUOUS && is_of_bytes(dtype)) {
    return new_contiguous(device, dtype, ndim, sizes, numel, out);
  }
  ST_TRY(st__check_rank(ndim));
  ST_TRY(st__numel_of(ndim, sizes, &numel));
  ST_TRY(st__format_strides(ndim, sizes, format, strides));
  if (format == ST_FORMAT_CONTIGUOUS) {
    st__new_strides(dtype, ndim, sizes, strides);
  }
  return st__tensor_empty_strided(device, dtype, ndim, sizes, strides, out);
}

st_status st__tensor_like(const st_tensor *t, st_dtype dtype,
                          st_tensor **out) {
  const int ndim = t->ndim;
  const size_t itemsize = st__itemsize(dtype);
  st_tensor *p;
  ST_ASSERT(itemsize <= st__itemsize(t->dtype)); /* t's fits into memory */
  if (ndim > ST_INLINE_DIMS) {
    return st__tensor_empty_strided(t->device, dtype, ndim, t->sizes,
                                    t->strides, out);
  }
  ST_TRY(new_inline(t->device, dtype, (size_t)t->numel * itemsize, &p));
  p->sizes = p->dims;
  p->strides = p->dims + ST_INLINE_DIMS;
  for (int d = 0; d < ndim; d++) {
    p->sizes[d] = t->sizes[d];
    p->strides[d] = t->strides[d];
  }
  p->ndim = (uint8_t)ndim;
  p->offset = 0;
  p->numel = t->numel;
  p->flags = t->flags & (uint8_t)~(ST_FLAG_WRAPPED | ST_FLAG_SYMBOL);
  *out = p;
  return ST_OK;
}

st_status st__tensor_zero(st_device device, st_dtype dtype, int ndim,
                          const int64_t *sizes, st_tensor **out) {
  int64_t strides[ST_MAX_DIMS], numel;
  size_t nbytes;
  st_storage *storage = NULL;
  if (st__is_subbyte(dtype)) {
    return st__fail(ST_BAD_DTYPE, "there are no zero tensors of %s",
                    st__dtype_name(dtype));
  }
  ST_TRY(st__check_rank(ndim));
  ST_TRY(st__numel_of(ndim, sizes, &numel));
  st__contiguous_strides(ndim, sizes, strides);
  const st_geometry g = {ndim, sizes, strides, 0};
  ST_TRY(check_new(dtype, &g, &numel, &nbytes));
  ST_TRY(st__storage_new_bare(device, nbytes, &storage));
  const st_status status = st__tensor_new(storage, dtype, &g, out);
  st__storage_release(&storage);
  if (status == ST_OK) (*out)->keys |= ST_BIT(ST_FUNC_ZeroTensor);
  return status;
}

st_status st__tensor_view_as(const st_tensor *t, st_dtype dtype,
                             const st_geometry *g, st_tensor **out) {
  ST_TRY(st__tensor_new(t->storage, dtype, g, out));
  (*out)->keys = st__keys_of_dtype(t->keys & ~ST_AUTOGRAD_BITS, dtype);
  return ST_OK;
}

st_status st__tensor_view(const st_tensor *t, int ndim, const int64_t *sizes,
                          const int64_t *strides, int64_t offset,
                          st_tensor **out) {
  return st__tensor_view_as(t, t->dtype,
                            &(st_geometry){ndim, sizes, strides, offset}, out);
}

st_status st__tensor_view_within(const st_tensor *t, const st_geometry *g,
                                 st_tensor **out) {
  uint64_t numel = 1; /* a size of 0 may follow large ones */
  const int ndim = g->ndim;
  if (!st__is_strided(t)) {
    return st__tensor_view_as(t, (st_dtype)t->dtype, g, out);
  }
  st_tensor *view = new_view_tensor((st_dtype)t->dtype, (st_device)t->device,
                                    t->keys & ~ST_AUTOGRAD_BITS);
  if (!view) return ST_NO_MEMORY;
  int64_t *sizes = alloc_dims(view, ndim);
  if (!sizes) {
    destroy(view);
    return ST_NO_MEMORY;
  }
  int64_t *strides = sizes + (ndim > ST_INLINE_DIMS ? ndim : ST_INLINE_DIMS);
  view->sizes = sizes;
  view->strides = strides;
  for (int d = 0; d < ndim; d++) {
    sizes[d] = g->sizes[d];
    strides[d] = g->strides[d];
    numel *= (uint64_t)g->sizes[d];
    ST_KEEP_LOOP(sizes);
  }
  view->ndim = (uint8_t)ndim;
  view->offset = g->offset;
  view->numel = (int64_t)numel;
  view->flags = st__compute_flags(ndim, sizes, strides);
  st__ref_take(&t->storage->refs);
  view->storage = t->storage;
  *out = view;
  return ST_OK;
}

/* True if no sum of products of sizes and strides, in bytes, can overflow, nor
 * the number of elements. */
static bool is_modest(const st_geometry *g) {
  enum { MOST = 1 << 20 };
  const int64_t most_stride = (int64_t)1 << 32;
  int64_t numel = 1;
  if (g->ndim > ST_INLINE_DIMS || g->offset > most_stride) return false;
  for (int d = 0; d < g->ndim; d++) {
    if (g->sizes[d] > MOST || g->strides[d] > most_stride) return false;
    numel *= g->sizes[d];
    if (numel > MOST) return false;
  }
  return true;
}

st_status st__tensor_view_inside(const st_tensor *t, const st_geometry *g,
                                 st_tensor **out) {
  return is_modest(g) ? st__tensor_view_within(t, g, out)
                      : st__tensor_view_as(t, (st_dtype)t->dtype, g, out);
}

/* -- Changes -------------------------------------------------------------- */

/* Note [Operands of running calls] */
static st_status check_unused(const st_tensor *t) {
  ST_TRY(st__check_strided(t));
  return st__check_unused ? st__check_unused(t, false) : ST_OK;
}

st_status st__tensor_restride(st_tensor *t, int ndim, const int64_t *sizes,
                              const int64_t *strides, int64_t offset) {
  const st_geometry g = {ndim, sizes, strides, offset};
  int64_t numel;
  ST_TRY(check_unused(t));
  ST_TRY(st__check_rank(ndim));
  ST_TRY(st__check_geometry(t->storage, (st_dtype)t->dtype, &g, &numel));
  int64_t *buffer = alloc_dims(t, ndim);
  if (!buffer) return ST_NO_MEMORY;
  set_geometry(t, buffer, &g, numel);
  return ST_OK;
}

void st__tensor_restore(st_tensor *t, const st_geometry *g) {
  int64_t numel = 1;
  for (int d = 0; d < g->ndim; d++) numel *= g->sizes[d];
  set_geometry(t, t->dims, g, numel);
}

/* The strides of a format and the bytes of the storage that they need. */
static st_status resized_layout(const st_tensor *t, int ndim,
                                const int64_t *sizes, st_format format,
                                int64_t *strides, int64_t *numel,
                                size_t *nbytes) {
  const st_geometry g = {ndim, sizes, strides, t->offset};
  ST_TRY(st__check_rank(ndim));
  ST_TRY(st__numel_of(ndim, sizes, numel));
  ST_TRY(st__format_strides(ndim, sizes, format, strides));
  ST_TRY(st__check_strides(&g, (int64_t)st__itemsize(t->dtype)));
  return st__nbytes_of(&g, (st_dtype)t->dtype, nbytes);
}

st_status st__tensor_grow(st_tensor *t, size_t nbytes) {
  ST_TRY(st__check_strided(t));
  if (nbytes <= t->storage->nbytes) return ST_OK;
  if (st__check_unused) ST_TRY(st__check_unused(t, true));
  return st__storage_resize(t->storage, nbytes);
}

st_status st__tensor_reserve(st_tensor *t, int ndim, const int64_t *sizes,
                             st_format format) {
  int64_t strides[ST_MAX_DIMS], numel;
  size_t nbytes;
  ST_TRY(resized_layout(t, ndim, sizes, format, strides, &numel, &nbytes));
  return st__tensor_grow(t, nbytes);
}

st_status st__tensor_resize(st_tensor *t, int ndim, const int64_t *sizes,
                            st_format format) {
  int64_t strides[ST_MAX_DIMS], numel;
  size_t nbytes;
  ST_TRY(check_unused(t));
  ST_TRY(resized_layout(t, ndim, sizes, format, strides, &numel, &nbytes));
  int64_t *buffer = alloc_dims(t, ndim);
  if (!buffer) return ST_NO_MEMORY;
  const st_status status = st__tensor_grow(t, nbytes);
  if (status != ST_OK) {
    free_dims(t, buffer, ndim);
    return status;
  }
  set_geometry(t, buffer, &(st_geometry){ndim, sizes, strides, t->offset},
               numel);
  return ST_OK;
}

st_status st__tensor_resize_out(st_tensor *t, int ndim, const int64_t *sizes,
                                st_format format) {
  char before[160];
  const bool had_elements = t->numel > 0;
  if (had_elements) {
    st__shape_text(t->ndim, t->sizes, before, sizeof before);
  }
  ST_TRY(st__tensor_resize(t, ndim, sizes, format));
  if (had_elements) {
    st__warn("an out= tensor of shape %s with elements in it was resized to "
             "%s: pass one of that shape, or one without elements", before,
             ST_SHAPE_TEXT(t));
  }
  return ST_OK;
}

/* Copies the geometry of `from` to t. is_inline: it is in from->dims, so t's
 * pointers are set to its own dims. */
static void rebase_dims(st_tensor *t, const st_tensor *from, bool is_inline) {
  t->ndim = from->ndim;
  t->flags = from->flags;
  t->offset = from->offset;
  t->numel = from->numel;
  memcpy(t->dims, from->dims, sizeof t->dims);
  t->sizes = is_inline ? t->dims : from->sizes;
  t->strides = is_inline ? t->dims + ST_INLINE_DIMS : from->strides;
}

void st__tensor_swap(st_tensor *a, st_tensor *b) {
  const st_tensor old = *a;
  const bool is_inline = !has_heap_dims(a);
  rebase_dims(a, b, !has_heap_dims(b));
  rebase_dims(b, &old, is_inline);
}
