/* Declarations shared by the stages of st__iter_build. Private to this folder.
 */
#ifndef ST_ITER_BUILD_H
#define ST_ITER_BUILD_H

#include "iter/iter.h"

/* The dtype stage (I5): sets it->device and it->common_dtype and the target of
 * each operand, and makes the temporaries of outputs. */
st_status st__iter_types(st_iter *it);
/* Makes temporary, or if it is NULL a tensor that is allocated later, the
 * tensor of op. */
void st__iter_use_temporary(st_iter *it, st_iter_operand *op,
                            st_tensor *temporary, st_dtype dtype);
/* On the meta device a temporary has no bytes but the same strides as on the
 * CPU, so that results have the same layout on both. */
static inline st_device st__iter_temporary_device(const st_iter *it) {
  return it->is_meta ? ST_DEVICE_META : it->device;
}
/* Only the CPU's memory can be converted here. The loops of other devices
 * convert what they read and write. */
static inline bool st__iter_converts(const st_iter *it) {
  return it->is_meta || it->device == ST_DEVICE_CPU;
}

/* Sorts the dimensions by the operands' strides, the fastest first. */
void st__iter_reorder(st_iter *it);
/* Merges adjacent dimensions that all operands can walk as one. */
void st__iter_coalesce(st_iter *it);

static inline bool st__iter_has(const st_iter *it, uint32_t flag) {
  return (it->flags & flag) != 0;
}

/* Strides of dimensions that are never walked can have any value, so their
 * products may overflow; they must not be undefined behaviour. */
static inline int64_t st__wrapping_mul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* The dtype of the elements in memory; the loop sees op->target. */
static inline st_dtype st__iter_own_dtype(const st_iter_operand *op) {
  return op->casts ? op->tensor->dtype : op->target;
}

/* True if the operand has a tensor that will not be resized, so that its
 * strides take part in the layout. */
static inline bool st__iter_is_fixed(const st_iter_operand *op) {
  return op->tensor && !op->will_resize;
}

#endif
