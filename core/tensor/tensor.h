/* Storages and tensors. A tensor is a header (shape, strides, offset, dtype,
 * cached flags) over a refcounted storage; a view is another header over the
 * same storage. Nothing here looks at an element.
 *
 * Ownership: functions borrow their inputs; what is returned through `**out`
 * is owned by the caller, who drops it with st__tensor_release.
 */
#ifndef ST_TENSOR_TENSOR_H
#define ST_TENSOR_TENSOR_H

#include "base/refcount.h"
#include "base/status.h"
#include "tensor/keys.h"

enum { ST_INLINE_DIMS = 5 };

/* -- Devices -------------------------------------------------------------- */

/* "cpu", "meta", and "privateuse1" until it is registered by another name. */
const char *st__device_name(st_device device);
bool st__device_parse(const char *name, st_device *out);
/* See strided.h. */
st_status st__device_register(st_device device, const char *name,
                              const st_allocator *allocator);

/* -- Storage -------------------------------------------------------------- */

/* What gives a storage its bytes back. NULL stands for the engine's own
 * allocator. */
typedef void (*st_storage_free_fn)(void *ctx, void *data, size_t nbytes);

struct st_storage {
  st_refcount refs;
  uint8_t device;      /* st_device */
  uint8_t inline_units; /* Note [Inline storages]; 0: in a block of its own */
  atomic_bool is_shared; /* Note [Shared storages] */
  bool is_bound;         /* its memory ends with the host that brought it, so
                            it is not to be shared */
  char *data;          /* NULL on the meta device and of zero tensors;
                          elsewhere than on the CPU not ours to touch: Note
                          [Memory of extension devices] */
  size_t nbytes;
  st_storage_free_fn free_fn;
  void *free_ctx;
  _Atomic uint32_t version;  /* how often it was written in place (A2) */
  atomic_uchar parts;        /* of a joint block that are alive */
  atomic_bool is_recorded;   /* Note [Storages of differentiable tensors] */
};

/* Uninitialised bytes; on the meta device none are allocated. BAD_STATE for
 * a device that nobody has registered. */
st_status st__storage_new(st_device device, size_t nbytes, st_storage **out);
/* The same where there is room for it, behind a tensor's header in a block of
 * so many units (Note [Inline storages]). */
st_status st__storage_init(st_storage *s, int inline_units, st_device device,
                           size_t nbytes);
/* One without memory, of a zero tensor. */
st_status st__storage_new_bare(st_device device, size_t nbytes,
                               st_storage **out);
/* Takes data, which free_fn gives back later; on failure it stays yours. */
st_status st__storage_wrap(void *data, size_t nbytes, st_storage_free_fn fn,
                           void *ctx, st_storage **out);
/* Grows or shrinks in place, keeping the common bytes. */
st_status st__storage_resize(st_storage *s, size_t nbytes);
void st__storage_retain(st_storage *s);
void st__storage_release(st_storage **s); /* nulls *s; NULL is fine */

/* -- Tensor --------------------------------------------------------------- */

/* Cached properties of sizes and strides (T2 to T7). */
enum {
  ST_FLAG_CONTIGUOUS      = 1 << 0, /* is_contiguous */
  ST_FLAG_CL_CONTIGUOUS   = 1 << 1, /* is_contiguous(channels_last) */
  ST_FLAG_CL3_CONTIGUOUS  = 1 << 2, /* is_contiguous(channels_last_3d) */
  ST_FLAG_CL              = 1 << 3, /* strides like channels_last */
  ST_FLAG_CL3             = 1 << 4, /* strides like channels_last_3d */
  ST_FLAG_DENSE           = 1 << 5, /* non-overlapping and dense */
  ST_FLAG_WRAPPED         = 1 << 6, /* a plain number, wrapped (T9) */
  ST_FLAG_SYMBOL          = 1 << 7  /* stands for a tensor while a function is
                                       traced: fuse/trace/graph.h */
};

/* What autograd knows of a tensor: grad/graph/history.h. */
typedef struct st_history st_history;

struct st_tensor {
  st_refcount refs;
  uint8_t dtype;     /* st_dtype */
  uint8_t flags;
  uint8_t ndim;
  unsigned device : 7;   /* st_device */
  unsigned has_inline : 1; /* the header begins an st_inline_storage */
  int64_t offset;    /* elements from the start of the storage */
  int64_t numel;
  st_keyset keys;
  st_storage *storage;
  int64_t *sizes;    /* ndim sizes; point into dims or into the heap */
  int64_t *strides;  /* ndim strides, in elements */
  int64_t dims[2 * ST_INLINE_DIMS];
  st_history *history; /* owned; NULL without */
};

/* How a view came to be, which decides whether it can be written in place
 * while gradients are recorded (A6). */
typedef enum st_creation {
  ST_CREATION_DEFAULT, ST_CREATION_NO_GRAD, ST_CREATION_INFERENCE,
  ST_CREATION_MULTI_OUTPUT, ST_CREATION_FUNCTION
} st_creation;

/* A header that has no storage behind it. */
typedef struct st_view_tensor {
  st_tensor tensor;
  st_tensor *base;      /* owned; of a view that gradients flow through, the
                           tensor that is no view */
  st_creation creation;
  uint32_t version;     /* of its elements when its history was made */
} st_view_tensor;

/* Note [Storages of differentiable tensors]
 * Tensors have an Autograd key when they need a gradient. One that was made a
 * view of another needs one, too, from the moment the other does, be it
 * because a gradient was written into it. Nobody has a list of views: so a
 * storage is marked when a tensor over it that may have views begins to need
 * a gradient, and calls with tensors over marked storages go through the
 * Autograd key, which asks each (grad/graph/history.h). */
static inline st_keyset st__keys(const st_tensor *t) {
  const bool marked = atomic_load_explicit(&t->storage->is_recorded,
                                           memory_order_relaxed);
  return t->keys | (st_keyset)marked << ST_FUNC_Autograd;
}

/* NULL for what is no view. */
static inline st_tensor *st__base(const st_tensor *t) {
  return t->has_inline ? NULL : ((const st_view_tensor *)(const void *)t)->base;
}

/* What frees histories. */
extern void (*st__history_free)(st_history *h);

/* Note [Inline storages]
 * A tensor that is made with a storage of its own lies in one block with it,
 * and few elements lie behind them: one allocation instead of three. Header
 * and storage live as long as they would alone; who goes last frees the block.
 * Header, storage and elements are counted each by itself. */
typedef struct st_inline_storage {
  st_tensor tensor;
  st_storage storage;
} st_inline_storage;

enum {
  ST_INLINE_UNIT = 64,
  ST_INLINE_HEAD = 192, /* where elements begin */
  ST_INLINE_MAX_BYTES = 512 /* bytes of elements in the block */
};
_Static_assert(sizeof(st_inline_storage) <= ST_INLINE_HEAD,
               "the head is long enough");

/* A part of the block has ended. */
void st__inline_storage_drop(st_inline_storage *j);

static inline int64_t st__numel(const st_tensor *t) { return t->numel; }
static inline char *st__data(const st_tensor *t) {
  extern const uint8_t st__dtype_size[];
  char *p = t->storage->data;
  return p ? p + t->offset * st__dtype_size[t->dtype] : NULL;
}
static inline bool st__is_contiguous(const st_tensor *t) {
  return t->flags & ST_FLAG_CONTIGUOUS;
}
static inline bool st__is_wrapped(const st_tensor *t) {
  return t->flags & ST_FLAG_WRAPPED;
}
static inline bool st__is_meta(const st_tensor *t) {
  return t->device == ST_DEVICE_META;
}
/* Is it on a device that an extension brought? */
static inline bool st__is_privateuse(const st_tensor *t) {
  return t->device > ST_DEVICE_META;
}

/* Note [Lazy tensors]
 * A tensor is lazy when its elements are not what its bytes say: with the key
 * Conjugate they are the conjugates of them (of a complex dtype only), with
 * Negative the negatives, and with ZeroTensor they are zeros and there are no
 * bytes: data is NULL, as on the meta device. Both of the former at once are
 * fine; each is its own inverse. Views keep the keys. An operator that does
 * not know them meets the key's fallback (op/lazy/conj_neg.c), so kernels see
 * plain tensors; copy_ and clone know them; whoever else reads memory asks
 * st__is_lazy first. */
static inline bool st__is_lazy(const st_tensor *t) {
  return t->keys & ST_LAZY_BITS;
}
static inline bool st__is_conj(const st_tensor *t) {
  return t->keys & ST_BIT(ST_FUNC_Conjugate);
}
static inline bool st__is_neg(const st_tensor *t) {
  return t->keys & ST_BIT(ST_FUNC_Negative);
}
static inline bool st__is_zero(const st_tensor *t) {
  return t->keys & ST_BIT(ST_FUNC_ZeroTensor);
}
/* A zero tensor on a device where kernels would touch its bytes: one gets as
 * far as a kernel only where a caller has masked the key. */
static inline bool st__lacks_memory(const st_tensor *t) {
  return st__is_zero(t) && !st__is_meta(t);
}
st_status st__refuse_memoryless(void);

/* A new header over storage (retained). strides NULL means contiguous.
 * Checks the rank, overflow, negative sizes and that every element lies
 * inside the storage; BAD_SHAPE or BAD_INDEX otherwise. */
st_status st__tensor_new(st_storage *storage, st_dtype dtype, int ndim,
                         const int64_t *sizes, const int64_t *strides,
                         int64_t offset, st_tensor **out);

/* A new tensor with its own, uninitialised storage just large enough.
 * st__tensor_empty lays it out in a memory format (not PRESERVE). */
st_status st__tensor_empty(st_device device, st_dtype dtype, int ndim,
                           const int64_t *sizes, st_format format,
                           st_tensor **out);
st_status st__tensor_empty_strided(st_device device, st_dtype dtype, int ndim,
                                   const int64_t *sizes,
                                   const int64_t *strides, st_tensor **out);

/* A zero tensor (Note [Lazy tensors]), contiguous. */
st_status st__tensor_zero(st_device device, st_dtype dtype, int ndim,
                          const int64_t *sizes, st_tensor **out);

/* Another header with t's dtype over t's storage: what every view is made
 * of. Bounds are checked as in st__tensor_new. */
st_status st__tensor_view(const st_tensor *t, int ndim, const int64_t *sizes,
                          const int64_t *strides, int64_t offset,
                          st_tensor **out);

/* The same bytes read as dtype: complex as real, float32 as int32. */
st_status st__tensor_view_as(const st_tensor *t, st_dtype dtype, int ndim,
                             const int64_t *sizes, const int64_t *strides,
                             int64_t offset, st_tensor **out);

/* A 0-dim tensor that holds a plain number; wrapped marks it as such for
 * type promotion. */
st_status st__tensor_from_scalar(st_scalar s, st_dtype dtype, bool wrapped,
                                 st_tensor **out);

void st__tensor_retain(st_tensor *t);
void st__tensor_release(st_tensor **t); /* nulls *t; NULL is fine */

/* Changes t's shape in place: contiguous (or format) strides, the storage
 * grows when it must and never shrinks (M7). */
st_status st__tensor_resize(st_tensor *t, int ndim, const int64_t *sizes,
                            st_format format);
/* The same for an out= tensor: a warning if it had elements. */
st_status st__tensor_resize_out(st_tensor *t, int ndim, const int64_t *sizes,
                                st_format format);
/* New sizes and strides over the same storage, bounds checked. */
st_status st__tensor_restride(st_tensor *t, int ndim, const int64_t *sizes,
                              const int64_t *strides, int64_t offset);
/* Exchanges the sizes, strides and offsets of two headers over one storage.
 * Cannot fail. */
void st__tensor_swap(st_tensor *a, st_tensor *b);

/* Shapes are short: a call of memcmp would take longer than a fast set-up. */
static inline bool st__same_dims(int n, const int64_t *a, const int64_t *b) {
  for (int d = 0; d < n; d++) {
    if (a[d] != b[d]) return false;
  }
  return true;
}
static inline bool st__has_sizes(const st_tensor *t, int ndim,
                                 const int64_t *sizes) {
  return t->ndim == ndim && st__same_dims(ndim, t->sizes, sizes);
}
static inline bool st__same_sizes(const st_tensor *a, const st_tensor *b) {
  return st__has_sizes(a, b->ndim, b->sizes);
}

/* -- Shapes --------------------------------------------------------------- */

/* Product of sizes; BAD_SHAPE for a negative size or an overflow. */
st_status st__numel_of(int ndim, const int64_t *sizes, int64_t *out);
void st__contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides);
/* Bytes a storage needs so that the geometry fits, offset included. */
st_status st__nbytes_of(int ndim, const int64_t *sizes,
                        const int64_t *strides, int64_t offset,
                        size_t itemsize, size_t *out);
/* dim in [-ndim, ndim) -> [0, ndim); a 0-dim tensor counts as 1-dim.
 * BAD_DIM with the range otherwise. */
st_status st__wrap_dim(int64_t dim, int ndim, int *out);
/* A list of dims (NULL or n = 0: all) as a bit set; duplicates are errors
 * (E1). */
st_status st__wrap_dims(const int64_t *dims, int n, int ndim, uint64_t *set);
/* "[2, 3]" into buf, cut with "..." if it does not fit; returns buf. */
char *st__shape_text(int ndim, const int64_t *sizes, char *buf, size_t size);
#define ST_SHAPE_TEXT(t) \
  st__shape_text((t)->ndim, (t)->sizes, (char[160]){0}, 160)
/* infer_size of broadcasting (I3): out has max(na, nb) sizes. */
st_status st__broadcast_shape(int na, const int64_t *a, int nb,
                              const int64_t *b, int64_t *out, int *nout);

#endif
