/* What the stages of st__iter_build share: private to this folder.
 */
#ifndef ST_ITER_BUILD_H
#define ST_ITER_BUILD_H

#include "iter/iter.h"

/* The types stage (I5): decides it->device and it->common_dtype,
 * gives every operand its target, and makes the temporaries. */
st_status st__iter_types(st_iter *it);
/* op becomes a copy in dtype, laid out alike; numbers need no allocation. */
st_status st__iter_copy_input(st_iter *it, st_iter_operand *op,
                              st_dtype dtype);

/* Merges neighbouring dimensions that all operands walk as one. */
void st__iter_coalesce(st_iter *it);

static inline bool st__iter_has(const st_iter *it, uint32_t flag) {
  return (it->flags & flag) != 0;
}

/* What its elements are in memory, where the loop sees op->target. */
static inline st_dtype st__iter_own_dtype(const st_iter_operand *op) {
  return op->casts ? (st_dtype)op->tensor->dtype : op->target;
}

/* An operand whose geometry counts: there is a tensor and it stays as it
 * is. */
static inline bool st__iter_is_fixed(const st_iter_operand *op) {
  return op->tensor && !op->will_resize;
}

#endif
