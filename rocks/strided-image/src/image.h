/* Declarations shared by the operators of the namespace `image`.
 */
#ifndef STRIDED_IMAGE_H
#define STRIDED_IMAGE_H

#include <strided.h>

#define TRY(e) do {                              \
    const st_status try_ = (e);                  \
    if (try_ != ST_OK) return try_;              \
  } while (0)

/* The operators of each file are defined in the library. */
st_status image_register_files(st_library *lib);    /* decode, encode, info */
st_status image_register_resize(st_library *lib);
st_status image_register_geometry(st_library *lib); /* crop, flip, rotate .. */
st_status image_register_colour(st_library *lib);
st_status image_register_blur(st_library *lib);

/* A composite operator: schema, doc, kernel for CompositeImplicitAutograd. */
st_status image_define(st_library *lib, const char *schema, const char *doc,
                       st_kernel_fn fn);
/* A structured one, without in-place variant. */
st_status image_define_structured(st_library *lib, const char *schema,
                                  const char *doc,
                                  st_status (*meta)(st_run *),
                                  st_status (*impl)(st_run *));

/* -- Arguments ------------------------------------------------------------ */

/* The values borrow their tensors and arrays. */
static inline st_value of_tensor(const st_tensor *t) {
  union { const st_tensor *from; st_tensor *to; } borrowed = {t};
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = borrowed.to};
}
static inline st_value of_int(int64_t i) {
  return (st_value){.tag = ST_TAG_INT, .u.i = i};
}
static inline st_value of_bool(bool b) {
  return (st_value){.tag = ST_TAG_BOOL, .u.i = b};
}
static inline st_value of_float(double f) {
  return (st_value){.tag = ST_TAG_FLOAT, .u.f = f};
}
static inline st_value of_ints(const int64_t *p, int n) {
  return (st_value){.tag = ST_TAG_INTS, .len = (uint32_t)n, .u.ints = p};
}
static inline st_value of_none(void) {
  return (st_value){.tag = ST_TAG_NONE};
}
/* A float argument: C callers may pass an integer. */
static inline double float_of(const st_value *v) {
  return v->tag == ST_TAG_FLOAT ? v->u.f : (double)v->u.i;
}

/* -- Chains of calls ------------------------------------------------------ */

/* Note [Scopes]
 * A composite operator is a chain of calls. A scope keeps what they return, and
 * the first failure: calls after it do nothing and return NULL. image_return
 * hands the result out and releases the rest. */
enum { IMAGE_SCOPE = 40 };
typedef struct image_scope {
  st_status status;
  int n;
  st_tensor *kept[IMAGE_SCOPE];
} image_scope;

/* Calls an operator of one result; borrowed from the scope. NULL tensors among
 * the arguments are those of calls that failed. */
st_tensor *image_call(image_scope *s, const char *name, const char *overload,
                      int n, const st_value *args);
/* The same for common arguments. */
st_tensor *image_call_t(image_scope *s, const char *name,
                        const char *overload, st_tensor *t);
st_tensor *image_call_tv(image_scope *s, const char *name,
                         const char *overload, st_tensor *t, st_value v);
st_tensor *image_to(image_scope *s, st_tensor *t, st_dtype dtype);
/* The scope's owner has made t. */
st_tensor *image_keep(image_scope *s, st_tensor *t);
st_status image_return(image_scope *s, st_tensor *t, st_value *rets);
/* Releases what the scope keeps; returns the first failure. */
st_status image_leave(image_scope *s);

/* -- Images --------------------------------------------------------------- */

/* How the elements of (..., C, H, W) lie, in elements; a tensor of two
 * dimensions has one channel. */
typedef struct image_layout {
  int64_t channels, height, width, batch; /* batch: product of the others */
  int64_t c, h, w;                        /* strides */
  bool is_interleaved; /* 2 to 4 channels, those of a pixel adjacent */
} image_layout;

image_layout image_layout_of(const st_tensor *t);
/* The offset of image number i of the batch, in elements. */
int64_t image_offset(const st_tensor *t, int64_t i);
/* t, or a copy of it where neither pixels, with all their channels, nor the
 * elements of a row are adjacent. Its layout is interleaved if that of t is. */
st_tensor *image_with_rows(image_scope *s, st_tensor *t);
/* BAD_SHAPE unless t has at least n dimensions and, where channels is not 0,
 * that many channels. */
st_status image_check(const st_tensor *t, int n, int64_t channels);
/* Declares an output as image_layout_of(self), with other sizes; its channels
 * are next to each other if those of self are. */
st_status image_set_output(st_run *r, const st_tensor *self, int64_t channels,
                           int64_t height, int64_t width, st_dtype dtype);
st_status image_bad_dtype(const st_tensor *t, const char *wanted);
bool image_is_float(st_dtype dtype);

#endif
