/* Storages and tensors. A tensor is a header (shape, strides, offset, dtype,
 * cached flags) over a reference-counted storage; a view is another header over
 * the same storage. No function here reads or writes elements, except
 * st__tensor_from_scalar.
 *
 * Ownership: functions borrow their inputs; the caller owns what is returned
 * through `**out` and releases it with st__tensor_release.
 */
#ifndef ST_TENSOR_TENSOR_H
#define ST_TENSOR_TENSOR_H

#include "base/call_limits.h"
#include "base/refcount.h"
#include "base/sizes.h"
#include "tensor/device.h"

enum { ST_INLINE_DIMS = 5 };

/* -- Storage -------------------------------------------------------------- */

/* Frees the bytes of a storage. NULL: they are the engine's own. */
typedef void (*st_storage_free_fn)(void *ctx, void *data, size_t nbytes);

struct st_storage {
  st_refcount refs;
  uint8_t device;      /* st_device */
  uint8_t inline_units; /* Note [Inline storages]; 0: allocated separately */
  atomic_bool is_shared; /* Note [Shared storages] */
  unsigned is_bound : 1; /* its memory is freed with the state that created it,
                            so it must not be shared */
  unsigned layout : 7;   /* st_layout: Note [Layouts of extensions] */
  char *data;          /* NULL on the meta device and for zero tensors; on an
                          extension device a handle: Note [Memory of extension
                          devices] */
  size_t nbytes;
  st_storage_free_fn free_fn;
  void *free_ctx;      /* of free_fn; without one, the limits that the storage
                          is charged to, or NULL: Note [Limits of calls] */
  _Atomic uint32_t version;  /* number of in-place writes (A2) */
  atomic_uchar parts;        /* parts of an st_inline_storage not yet freed */
  atomic_bool is_recorded;   /* Note [Storages of differentiable tensors] */
  _Atomic uint16_t lender;   /* Note [Operands of running calls] */
};

/* A storage with uninitialised bytes; on the meta device none are allocated.
 * BAD_STATE for a device that is not registered. */
st_status st__storage_new(st_device device, size_t nbytes, st_storage **out);
/* As st__storage_new, in a given struct: that of an st_inline_storage of
 * inline_units units (Note [Inline storages]) or, for 0, an allocated one. */
st_status st__storage_init(st_storage *s, int inline_units, st_device device,
                           size_t nbytes);
/* A storage without memory, for a zero tensor. */
st_status st__storage_new_bare(st_device device, size_t nbytes,
                               st_storage **out);
/* A storage that takes ownership of data and frees it by fn. On failure the
 * caller still owns data. */
st_status st__storage_wrap(void *data, size_t nbytes, st_storage_free_fn fn,
                           void *ctx, st_storage **out);
/* Resizes in place and keeps the common bytes. BAD_STATE for a shared
 * storage and for memory that cannot be moved. For st__tensor_grow, which
 * checks that no running call uses it. */
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
  ST_FLAG_WRAPPED         = 1 << 6, /* a wrapped scalar (T9) */
  ST_FLAG_SYMBOL          = 1 << 7  /* a proxy of a traced tensor:
                                       fuse/trace/graph.h */
};

/* The autograd metadata of a tensor: grad/graph/history.h. */
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
  int64_t *sizes;    /* ndim sizes; dims, or allocated with the strides */
  int64_t *strides;  /* ndim strides, in elements */
  int64_t dims[2 * ST_INLINE_DIMS];
  st_history *history; /* owned, or NULL */
};

/* How a view was made, which determines whether it can be written in place
 * while gradients are recorded (A6). */
typedef enum st_creation {
  ST_CREATION_DEFAULT, ST_CREATION_NO_GRAD, ST_CREATION_INFERENCE,
  ST_CREATION_MULTI_OUTPUT, ST_CREATION_FUNCTION
} st_creation;

/* A header that was allocated without a storage. */
typedef struct st_view_tensor {
  st_tensor tensor;
  st_tensor *base;      /* owned; the tensor of which it is a differentiable
                           view, itself no view; or NULL */
  st_creation creation;
  uint32_t version;     /* when its grad_fn was made */
  st_limits *limits;    /* that it is charged to, or NULL */
} st_view_tensor;

/* Note [Storages of differentiable tensors]
 * Tensors that require a gradient have an Autograd key. A view requires one as
 * soon as its base does, for instance after a tensor with a history was copied
 * into the base. There is no list of views. So a storage is marked when a
 * tensor on it that may have views begins to require a gradient. Calls with
 * tensors on marked storages go through the Autograd key, whose kernel checks
 * each tensor (grad/graph/history.h). */
static inline st_keyset st__keys(const st_tensor *t) {
  const bool marked = atomic_load_explicit(&t->storage->is_recorded,
                                           memory_order_relaxed);
  return t->keys | (st_keyset)marked << ST_FUNC_Autograd;
}

/* The base of a differentiable view, or NULL. */
static inline st_tensor *st__base(const st_tensor *t) {
  return t->has_inline ? NULL : ((const st_view_tensor *)(const void *)t)->base;
}

/* Frees a history. Set by grad/. */
extern void (*st__history_free)(st_history *h);

/* Note [Inline storages]
 * A tensor that is made with a new storage is in one block with it, and few
 * elements follow in the same block: one allocation instead of three. Header
 * and storage have separate lifetimes; the last to be released frees the block.
 * Header, storage and elements are counted separately in the memory
 * statistics. With ST_INLINE_ELEMENTS = 0, for the library with guard pages
 * (spec/guard), elements always have a block of their own. */
typedef struct st_inline_storage {
  st_tensor tensor;
  st_storage storage;
} st_inline_storage;

enum {
  ST_INLINE_UNIT = 64,
  ST_INLINE_HEAD = 192, /* offset of the elements */
  ST_INLINE_MAX_BYTES = 512 /* most bytes of elements in the block */
};
_Static_assert(sizeof(st_inline_storage) <= ST_INLINE_HEAD,
               "the head is long enough");

/* Releases one part of the block. */
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
/* False for a tensor whose elements are not at strides of whole bytes: Note
 * [Layouts of extensions], Note [Elements of fewer than eight bits]. It has the
 * key of its layout, or SubByte, instead of that of dense tensors. */
static inline bool st__is_strided(const st_tensor *t) {
  return t->keys & ST_BIT(ST_FUNC_Dense);
}
/* Note [Elements that are not there]
 * A tensor on the meta device has no elements. What a kernel does without them
 * is complete: the results are there, too. But a composite operator that looks
 * at elements to choose what to call, that checks them, or that fills a tensor
 * itself computes something else with elements than without, and a recording
 * calls it without those that will be there later (Note [Fake tensors of a
 * recording]). So code that does such things asks st__has_elements or
 * st__is_cpu, never st__is_meta, and what moves elements outside of a call
 * (iter/, fills and copies) says so, too: where there are none, this thread
 * notes that they were missed, and whoever records takes the note. A spec
 * checks that core/op does not ask otherwise. */
bool st__miss_elements(void);        /* makes the note; returns false */
bool st__set_missed(bool is_missed); /* returns the previous note */

static inline bool st__has_elements(const st_tensor *t) {
  return (t->device != ST_DEVICE_META && st__is_strided(t)) ||
         st__miss_elements();
}
static inline bool st__is_cpu(const st_tensor *t) {
  return (t->device == ST_DEVICE_CPU && st__is_strided(t)) ||
         (t->device == ST_DEVICE_META && st__miss_elements());
}
/* The tensor whose device a result gets: a if it is on the meta device. */
static inline const st_tensor *st__meta_or(const st_tensor *a,
                                           const st_tensor *b) {
  return a && st__is_meta(a) ? a : b; /* NULL: a call before it failed */
}

/* True on a device of an extension. */
static inline bool st__is_privateuse(const st_tensor *t) {
  return t->device > ST_DEVICE_META;
}

/* Note [Lazy tensors]
 * The elements of a lazy tensor are not the values in memory. With the key
 * Conjugate they are their conjugates (complex dtypes only), with Negative
 * their negatives, and with ZeroTensor zeros without memory: data is NULL, as
 * on the meta device. Conjugate and Negative may be combined; each is its own
 * inverse. Views keep the keys. For operators without a kernel for these keys
 * the fallback of the key (op/lazy/conj_neg.c) resolves them, so kernels see
 * ordinary tensors. copy_ and clone handle the keys. All other code that reads
 * memory must check st__is_lazy first. */
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
/* True for a plain tensor: its elements are its bytes, in the CPU's memory. */
static inline bool st__is_plain(const st_tensor *t) {
  return st__is_cpu(t) && !st__is_lazy(t);
}
/* True for a zero tensor on a device whose kernels would access its bytes, and
 * for a tensor of another layout. It reaches a kernel of strided tensors only
 * if a caller excluded its key. */
static inline bool st__lacks_memory(const st_tensor *t) {
  return (st__is_zero(t) && !st__is_meta(t)) || !st__is_strided(t);
}
/* The error for such a tensor. */
st_status st__refuse_memoryless(const st_tensor *t);
/* For code that serves elements of fewer than eight bits, too. */
static inline st_status st__check_layout(const st_tensor *t) {
  return t->storage->layout ? st__refuse_memoryless(t) : ST_OK;
}
/* For operators that look at elements before they call others. */
static inline st_status st__check_strided(const st_tensor *t) {
  return st__is_strided(t) ? ST_OK : st__refuse_memoryless(t);
}

/* True if t, which has elements, has the strides of a new contiguous tensor,
 * also those of dimensions of size 1. */
static inline bool st__has_new_strides(const st_tensor *t) {
  int64_t next = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    if (t->strides[d] != next) return false;
    next *= t->sizes[d];
  }
  return true;
}

/* Where the elements of a tensor are in its storage; sizes, strides and offset
 * are in elements. */
typedef struct st_geometry {
  int ndim;
  const int64_t *sizes, *strides;
  int64_t offset;
} st_geometry;

static inline st_geometry st__geometry(const st_tensor *t) {
  return (st_geometry){t->ndim, t->sizes, t->strides, t->offset};
}

/* A new header over storage (retained), which is that of strided tensors.
 * strides NULL means contiguous. BAD_SHAPE for a wrong number of dimensions,
 * negative sizes or strides and overflow, BAD_INDEX if an element is outside
 * the storage, BAD_VALUE if its bytes are not aligned for the dtype. */
st_status st__tensor_new(st_storage *storage, st_dtype dtype,
                         const st_geometry *g, st_tensor **out);

/* A new tensor with its own, uninitialised storage of the size that it needs.
 * st__tensor_empty takes a memory format (not PRESERVE). */
st_status st__tensor_empty(st_device device, st_dtype dtype, int ndim,
                           const int64_t *sizes, st_format format,
                           st_tensor **out);
st_status st__tensor_empty_strided(st_device device, st_dtype dtype, int ndim,
                                   const int64_t *sizes,
                                   const int64_t *strides, st_tensor **out);

/* The same with the device, sizes and strides of t, which is contiguous and
 * whose elements are not smaller. */
st_status st__tensor_like(const st_tensor *t, st_dtype dtype, st_tensor **out);

/* A zero tensor (Note [Lazy tensors]), contiguous. */
st_status st__tensor_zero(st_device device, st_dtype dtype, int ndim,
                          const int64_t *sizes, st_tensor **out);

/* A new header with t's dtype over t's storage. Checks the geometry as
 * st__tensor_new does. */
st_status st__tensor_view(const st_tensor *t, int ndim, const int64_t *sizes,
                          const int64_t *strides, int64_t offset,
                          st_tensor **out);

/* The same without the checks, for a geometry that passes them because t's
 * does: its elements are elements of t, and there is one or t has none. At most
 * ST_MAX_DIMS dimensions. */
st_status st__tensor_view_within(const st_tensor *t, const st_geometry *g,
                                 st_tensor **out);

/* The same for elements of t, or none, where a product of sizes and strides may
 * overflow. Sizes and strides are not negative. */
st_status st__tensor_view_inside(const st_tensor *t, const st_geometry *g,
                                 st_tensor **out);

/* The same bytes read as dtype: complex as real, float32 as int32. */
st_status st__tensor_view_as(const st_tensor *t, st_dtype dtype,
                             const st_geometry *g, st_tensor **out);

/* A 0-dim tensor with the value of a scalar. wrapped: for type promotion it
 * counts as a scalar. */
st_status st__tensor_from_scalar(st_scalar s, st_dtype dtype, bool wrapped,
                                 st_tensor **out);

/* A new header without strides over the storage of a tensor of a layout
 * (retained). */
st_status st__tensor_unstrided(st_storage *storage, st_dtype dtype,
                               st_keyset keys, int ndim, const int64_t *sizes,
                               st_tensor **out);

void st__tensor_retain(st_tensor *t);
void st__tensor_release(st_tensor **t); /* nulls *t; NULL is fine */
/* self, as a result. */
static inline st_status st__give(const st_tensor *self, st_tensor **out) {
  *out = (st_tensor *)(uintptr_t)self;
  st__tensor_retain(*out);
  return ST_OK;
}

/* Note [Operands of running calls]
 * A kernel checks its arguments, then uses their sizes and addresses; between
 * the two it may call operators whose kernels are functions of a script. So
 * while such a function runs, tensors that calls below it on the stack use keep
 * their geometry, and their storages do not move. Every change of a geometry
 * and every growth of a storage asks st__check_unused (dispatch/operands.c),
 * which knows the calls that run. Intermediate tensors, which no call has as
 * an argument any more, are known by their storages: one is lent when the
 * engine passes a tensor to a script or takes one from it. It gets the number
 * of the lender: of the calls that run, the outermost one that this script, or
 * the one around it, has made. Until that returns, a lent tensor with another
 * owner than the script may be in use. */
typedef st_status (*st_unused_check)(const st_tensor *t, bool moves);
/* BAD_STATE if a running call may use the geometry of t or, if its storage is
 * to be moved, other tensors of that. NULL while no such function runs. */
extern _Thread_local st_unused_check st__check_unused;

/* Changes t's shape in place, with the strides of a format. The storage grows
 * if necessary and never shrinks (M7). */
st_status st__tensor_resize(st_tensor *t, int ndim, const int64_t *sizes,
                            st_format format);
/* Grows the storage to at least nbytes; t does not change. */
st_status st__tensor_grow(st_tensor *t, size_t nbytes);
/* Grows it to what st__tensor_resize needs. */
st_status st__tensor_reserve(st_tensor *t, int ndim, const int64_t *sizes,
                             st_format format);
/* As st__tensor_resize, for an out= tensor: warns if it had elements. */
st_status st__tensor_resize_out(st_tensor *t, int ndim, const int64_t *sizes,
                                st_format format);
/* New sizes and strides over the same storage, bounds checked. */
st_status st__tensor_restride(st_tensor *t, int ndim, const int64_t *sizes,
                              const int64_t *strides, int64_t offset);
/* Gives t back a geometry of at most ST_INLINE_DIMS dimensions that it had
 * before the running call changed it. Cannot fail. */
void st__tensor_restore(st_tensor *t, const st_geometry *g);
/* Exchanges the sizes, strides and offsets of two headers over one storage.
 * Cannot fail. */
void st__tensor_swap(st_tensor *a, st_tensor *b);

/* Note [Copies of a few dimensions]
 * A compiler makes memcpy of a loop that copies dimensions, and `rep movs` of
 * memcpy: that takes 4 ns, a few loads and stores less. The assembly lets the
 * loop stay one. */
#define ST_KEEP_LOOP(p) __asm__("" : "+r"(p))

/* A loop, since for short shapes the call of memcmp costs more than the
 * comparison. */
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
st_status st__nbytes_of(const st_geometry *g, st_dtype dtype, size_t *out);
/* Wraps dim from [-ndim, ndim) to [0, ndim); a 0-dim tensor counts as 1-dim.
 * BAD_DIM, with the range, if dim is outside it. */
st_status st__wrap_other_dim(int64_t dim, int ndim, int *out);
static inline st_status st__wrap_dim(int64_t dim, int ndim, int *out) {
  if (dim < 0 || dim >= ndim) return st__wrap_other_dim(dim, ndim, out);
  *out = (int)dim;
  return ST_OK;
}
/* A list of dimensions (NULL or n = 0: all) as a bit set; BAD_DIM for
 * duplicates (E1). */
st_status st__wrap_dims(const int64_t *dims, int n, int ndim, uint64_t *set);
/* Writes "[2, 3]" to buf, truncated with "..." if it does not fit; returns
 * buf. */
char *st__shape_text(int ndim, const int64_t *sizes, char *buf, size_t size);
#define ST_SHAPE_TEXT(t) \
  st__shape_text((t)->ndim, (t)->sizes, (char[160]){0}, 160)
/* The broadcast shape of a and b (I3); out has max(na, nb) sizes and may be a
 * or b. */
st_status st__broadcast_shape(int na, const int64_t *a, int nb,
                              const int64_t *b, int64_t *out, int *nout);

#endif
