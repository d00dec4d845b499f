/* Does memory overlap? Exact answers (I1, I2).
 */
#ifndef ST_TENSOR_OVERLAP_H
#define ST_TENSOR_OVERLAP_H

#include "tensor/tensor.h"

enum {
  ST_OVERLAP_STEPS = 1 << 16, /* of the search, before it gives up ... */
  ST_OVERLAP_SORTED = 1 << 20 /* ... and elements are compared, up to these */
};

typedef enum st_overlap {
  ST_OVERLAP_NO,   /* no byte belongs to both */
  ST_OVERLAP_SAME, /* the same elements in the same order */
  ST_OVERLAP_SOME  /* anything else, or too many steps to tell */
} st_overlap;

/* Memory of our own belongs to one storage, but foreign memory may be any. */
static inline bool st__may_overlap(const st_tensor *a, const st_tensor *b) {
  return a->storage == b->storage ||
         (a->device == b->device &&
          (a->storage->free_fn || b->storage->free_fn));
}

st_overlap st__overlap_of(const st_tensor *a, const st_tensor *b);
static inline st_overlap st__overlap(const st_tensor *a, const st_tensor *b) {
  return st__may_overlap(a, b) ? st__overlap_of(a, b) : ST_OVERLAP_NO;
}

/* Do two elements of t lie in one place? Exact for every tensor of up to
 * ST_OVERLAP_SORTED elements; of larger ones, those that the search gives up
 * count as overlapping. NO_MEMORY. */
st_status st__overlaps_itself(const st_tensor *t, bool *out);

/* OVERLAP when t, about to be written, overlaps itself. */
st_status st__check_internal_overlap(const st_tensor *t);
/* OVERLAP when writing out would change in while it is read; the same
 * elements in the same order are fine. */
st_status st__check_partial_overlap(const st_tensor *out, const st_tensor *in);
/* OVERLAP on any overlap. */
st_status st__check_no_overlap(const st_tensor *out, const st_tensor *in);

#endif
