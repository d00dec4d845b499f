/* Does memory overlap? Only what is cheap to know: a tensor that is neither
 * dense nor expanded is TOO_HARD, and allowed. */

#include "tensor/overlap.h"

#include <string.h>

#include "base/dtype.h"

st_overlap st__internal_overlap(const st_tensor *t) {
  if (t->flags & ST_FLAG_DENSE) return ST_OVERLAP_NO;
  for (int d = 0; d < t->ndim; d++) {
    if (t->strides[d] == 0 && t->sizes[d] > 1) return ST_OVERLAP_FULL;
  }
  return ST_OVERLAP_TOO_HARD;
}

/* Where t's bytes begin: an address, so that two storages over the same
 * foreign memory are seen through; on the meta device an offset. */
static uintptr_t first_byte(const st_tensor *t) {
  return (uintptr_t)t->storage->data +
         (uintptr_t)t->offset * st__itemsize((st_dtype)t->dtype);
}

st_overlap st__overlap(const st_tensor *a, const st_tensor *b) {
  if (a == b) return ST_OVERLAP_FULL;
  if (a->numel == 0 || b->numel == 0) return ST_OVERLAP_NO;
  if (!(a->flags & b->flags & ST_FLAG_DENSE)) return ST_OVERLAP_TOO_HARD;
  if (a->storage != b->storage && (!a->storage->data || !b->storage->data)) {
    return ST_OVERLAP_NO;
  }
  const uintptr_t a0 = first_byte(a), b0 = first_byte(b);
  const uintptr_t a1 =
    a0 + (uintptr_t)a->numel * st__itemsize((st_dtype)a->dtype);
  const uintptr_t b1 =
    b0 + (uintptr_t)b->numel * st__itemsize((st_dtype)b->dtype);
  if (a0 == b0 && a1 == b1) {
    const bool same = a->ndim == b->ndim &&
      memcmp(a->strides, b->strides, a->ndim * sizeof *a->strides) == 0;
    return same ? ST_OVERLAP_FULL : ST_OVERLAP_PARTIAL;
  }
  return a0 < b1 && b0 < a1 ? ST_OVERLAP_PARTIAL : ST_OVERLAP_NO;
}

st_status st__check_internal_overlap(const st_tensor *t) {
  if (st__internal_overlap(t) != ST_OVERLAP_FULL) return ST_OK;
  return st__fail(ST_OVERLAP, "the tensor to be written, shape %s, strides "
                  "%s, has several elements in one place; clone it first",
                  ST_SHAPE_TEXT(t),
                  st__shape_text(t->ndim, t->strides, (char[160]){0}, 160));
}

static st_status overlaps(const st_tensor *out, const st_tensor *in) {
  return st__fail(ST_OVERLAP, "the tensor to be written, shape %s, shares "
                  "memory with an input, shape %s; clone one of them first",
                  ST_SHAPE_TEXT(out), ST_SHAPE_TEXT(in));
}

st_status st__check_partial_overlap(const st_tensor *out,
                                    const st_tensor *in) {
  return st__overlap(out, in) == ST_OVERLAP_PARTIAL ? overlaps(out, in)
                                                    : ST_OK;
}

st_status st__check_no_overlap(const st_tensor *out, const st_tensor *in) {
  const st_overlap o = st__overlap(out, in);
  return o == ST_OVERLAP_PARTIAL || o == ST_OVERLAP_FULL ? overlaps(out, in)
                                                         : ST_OK;
}
