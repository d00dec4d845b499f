/* What the operators of the namespace `image` share: chains of calls, layouts
 * of images, registration.
 */

#include <stdio.h>
#include <string.h>

#include "image.h"

/* -- Chains of calls ------------------------------------------------------ */

st_tensor *image_keep(image_scope *s, st_tensor *t) {
  if (s->n < IMAGE_SCOPE) {
    s->kept[s->n++] = t;
    return t;
  }
  st_tensor_release(&t);
  s->status = st_fail(ST_BAD_STATE, "a scope keeps at most %d tensors",
                      IMAGE_SCOPE);
  return NULL;
}

st_tensor *image_call(image_scope *s, const char *name, const char *overload,
                      int n, const st_value *args) {
  st_value ret;
  if (s->status != ST_OK) return NULL;
  const st_op *op = st_op_find(name, overload);
  if (!op) {
    s->status = st_fail(ST_NOT_FOUND, "there is no operator %s", name);
    return NULL;
  }
  s->status = st_call_op(op, n, args, &ret);
  return s->status == ST_OK ? image_keep(s, ret.u.tensor) : NULL;
}

st_tensor *image_call_t(image_scope *s, const char *name,
                        const char *overload, st_tensor *t) {
  const st_value args[] = {of_tensor(t)};
  return image_call(s, name, overload, 1, args);
}

st_tensor *image_call_tv(image_scope *s, const char *name,
                         const char *overload, st_tensor *t, st_value v) {
  const st_value args[] = {of_tensor(t), v};
  return image_call(s, name, overload, 2, args);
}

st_tensor *image_to(image_scope *s, st_tensor *t, st_dtype dtype) {
  if (s->status != ST_OK || st_tensor_dtype(t) == dtype) return t;
  return image_call_tv(s, "aten::to", "dtype", t, of_int(dtype));
}

st_status image_leave(image_scope *s) {
  for (int i = 0; i < s->n; i++) st_tensor_release(&s->kept[i]);
  return s->status;
}

st_status image_return(image_scope *s, st_tensor *t, st_value *rets) {
  if (s->status == ST_OK) s->status = st_value_of_tensor(t, rets);
  return image_leave(s);
}

/* -- Layouts -------------------------------------------------------------- */

image_layout image_layout_of(const st_tensor *t) {
  const int n = st_tensor_ndim(t);
  const int64_t *sizes = st_tensor_sizes(t), *strides = st_tensor_strides(t);
  image_layout l = {.channels = n > 2 ? sizes[n - 3] : 1,
                    .height = sizes[n - 2], .width = sizes[n - 1],
                    .batch = 1, .c = n > 2 ? strides[n - 3] : 1,
                    .h = strides[n - 2], .w = strides[n - 1]};
  if (st_tensor_numel(t) == 0) l.batch = 0;
  for (int i = 0; i < n - 3 && l.batch > 0; i++) l.batch *= sizes[i];
  l.is_interleaved = l.channels > 1 && l.channels <= 4 && l.c == 1 &&
                     l.w >= l.channels;
  return l;
}

int64_t image_offset(const st_tensor *t, int64_t i) {
  const int n = st_tensor_ndim(t);
  int64_t offset = 0;
  for (int d = n - 4; d >= 0; d--) {
    const int64_t size = st_tensor_sizes(t)[d];
    offset += i % size * st_tensor_strides(t)[d];
    i /= size;
  }
  return offset;
}

/* (..., C, H, W) as (..., H, W, C), contiguous, and back. */
static st_tensor *copy_interleaved(image_scope *s, st_tensor *t) {
  int64_t last[ST_MAX_DIMS], first[ST_MAX_DIMS];
  const int n = st_tensor_ndim(t);
  for (int i = 0; i < n; i++) last[i] = first[i] = i;
  last[n - 3] = n - 2;
  last[n - 2] = n - 1;
  last[n - 1] = n - 3;
  first[n - 3] = n - 1;
  first[n - 2] = n - 3;
  first[n - 1] = n - 2;
  t = image_call_tv(s, "aten::permute", "", t, of_ints(last, n));
  t = image_call_t(s, "aten::contiguous", "", t);
  return image_call_tv(s, "aten::permute", "", t, of_ints(first, n));
}

st_tensor *image_with_rows(image_scope *s, st_tensor *t) {
  const image_layout l = image_layout_of(t);
  if (l.is_interleaved) {
    return l.w == l.channels ? t : copy_interleaved(s, t);
  }
  return l.w == 1 ? t : image_call_t(s, "aten::contiguous", "", t);
}

bool image_is_float(st_dtype dtype) {
  return dtype == ST_FLOAT32 || dtype == ST_FLOAT64 || dtype == ST_FLOAT16 ||
         dtype == ST_BFLOAT16;
}

/* The shape as "(3, 4)" into text. */
static const char *shape_text(const st_tensor *t, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "(");
  for (int i = 0; i < st_tensor_ndim(t) && used < size; i++) {
    used += (size_t)snprintf(text + used, size - used, i ? ", %lld" : "%lld",
                             (long long)st_tensor_sizes(t)[i]);
  }
  if (used < size) snprintf(text + used, size - used, ")");
  return text;
}

st_status image_check(const st_tensor *t, int n, int64_t channels) {
  char text[160];
  const int ndim = st_tensor_ndim(t);
  if (ndim < n) {
    return st_fail(ST_BAD_SHAPE, "self must be an image %s, got the shape %s",
                   n == 2 ? "(..., H, W)" : "(..., C, H, W)",
                   shape_text(t, text, sizeof text));
  }
  if (channels && st_tensor_sizes(t)[ndim - 3] != channels) {
    return st_fail(ST_BAD_SHAPE, "self must have %lld channels (..., %lld, H, "
                   "W), got the shape %s", (long long)channels,
                   (long long)channels, shape_text(t, text, sizeof text));
  }
  return ST_OK;
}

st_status image_bad_dtype(const st_tensor *t, const char *wanted) {
  return st_fail(ST_BAD_DTYPE, "self must be %s, got %s", wanted,
                 st_dtype_name(st_tensor_dtype(t)));
}

st_status image_set_output(st_run *r, const st_tensor *self, int64_t channels,
                           int64_t height, int64_t width, st_dtype dtype) {
  int64_t sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS];
  const int n = st_tensor_ndim(self);
  memcpy(sizes, st_tensor_sizes(self), (size_t)n * sizeof *sizes);
  if (n > 2) sizes[n - 3] = channels;
  sizes[n - 2] = height;
  sizes[n - 1] = width;
  if (!image_layout_of(self).is_interleaved) {
    return st_set_output_strided(r, 0, n, sizes, NULL, dtype);
  }
  int64_t step = channels;
  bool fits = true; /* if not, the sizes are refused below */
  strides[n - 3] = 1;
  for (int d = n - 1; d >= 0; d--) {
    if (d == n - 3) continue;
    strides[d] = step;
    fits = fits && !__builtin_mul_overflow(step, sizes[d] > 1 ? sizes[d] : 1,
                                           &step);
  }
  if (!fits) return st_set_output_strided(r, 0, n, sizes, NULL, dtype);
  return st_set_output_strided(r, 0, n, sizes, strides, dtype);
}

/* -- Registration --------------------------------------------------------- */

st_status image_define(st_library *lib, const char *schema, const char *doc,
                       st_kernel_fn fn) {
  const st_kernel kernel = {.fn = fn, .debug = "strided.image"};
  return st_library_define_with(lib, schema, doc, 0, &kernel);
}

st_status image_define_structured(st_library *lib, const char *schema,
                                  const char *doc,
                                  st_status (*meta)(st_run *),
                                  st_status (*impl)(st_run *)) {
  const st_structured s = {.schema = schema, .out = "out", .meta = meta,
                           .impl = impl, .doc = doc,
                           .debug = "strided.image"};
  return st_library_structured(lib, &s);
}
