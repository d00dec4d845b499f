/* Exact tests for overlapping memory (I1, I2).
 */
#ifndef ST_TENSOR_OVERLAP_H
#define ST_TENSOR_OVERLAP_H

#include "tensor/tensor.h"

enum {
  ST_OVERLAP_STEPS = 1 << 16, /* limit of the search */
  ST_OVERLAP_SORTED = 1 << 20 /* beyond it the addresses of a tensor of up to
                                 this many elements are compared */
};

typedef enum st_overlap {
  ST_OVERLAP_NO,   /* no byte belongs to both */
  ST_OVERLAP_SAME, /* the same elements in the same order */
  ST_OVERLAP_SOME  /* otherwise, also if the search reaches its limit */
} st_overlap;

/* Memory of our allocator belongs to one storage; storages of foreign memory
 * may overlap. */
static inline bool st__may_overlap(const st_tensor *a, const st_tensor *b) {
  return a->storage == b->storage ||
         (a->device == b->device &&
          (a->storage->free_fn || b->storage->free_fn));
}

st_overlap st__overlap_of(const st_tensor *a, const st_tensor *b);
static inline st_overlap st__overlap(const st_tensor *a, const st_tensor *b) {
  return st__may_overlap(a, b) ? st__overlap_of(a, b) : ST_OVERLAP_NO;
}

/* *out is true if two elements of t have the same address. Exact for tensors of
 * up to ST_OVERLAP_SORTED elements; a larger one counts as overlapping if the
 * search reaches its limit. Fails with NO_MEMORY. */
ST_API st_status st_tensor_overlaps_itself(const st_tensor *t, bool *out);

/* OVERLAP if t, which is about to be written, overlaps itself. */
st_status st__check_internal_overlap(const st_tensor *t);
/* OVERLAP if out and in overlap at all. */
st_status st__check_no_overlap(const st_tensor *out, const st_tensor *in);

#endif
