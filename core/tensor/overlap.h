/* Does memory overlap? (SEMANTICS I1, I2)
 */
#ifndef ST_TENSOR_OVERLAP_H
#define ST_TENSOR_OVERLAP_H

#include "tensor/tensor.h"

typedef enum st_overlap {
  ST_OVERLAP_NO, ST_OVERLAP_FULL, ST_OVERLAP_PARTIAL, ST_OVERLAP_TOO_HARD
} st_overlap;

/* NO, FULL (some element surely shares memory with another) or TOO_HARD. */
st_overlap st__internal_overlap(const st_tensor *t);
st_overlap st__overlap(const st_tensor *a, const st_tensor *b);

/* OVERLAP when t, about to be written, overlaps itself. */
st_status st__check_internal_overlap(const st_tensor *t);
/* OVERLAP when writing out would change in while it is read; full overlap
 * (the same elements in the same places) is fine. */
st_status st__check_partial_overlap(const st_tensor *out, const st_tensor *in);
/* OVERLAP on any overlap, even a full one. */
st_status st__check_no_overlap(const st_tensor *out, const st_tensor *in);

#endif
