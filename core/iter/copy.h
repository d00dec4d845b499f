/* copy_ and clone, the operations that the iterator itself needs.
 */
#ifndef ST_ITER_COPY_H
#define ST_ITER_COPY_H

#include "iter/iter.h"

/* Copies src to dst with broadcasting and conversion (Y1 to Y6), as if they
 * shared no memory. OVERLAP when dst overlaps itself. */
st_status st__copy(st_tensor *dst, const st_tensor *src);
/* Copies between tensors of equal sizes that do not overlap. Cannot fail. */
__attribute__((warn_unused_result))
st_status st__copy_unchecked(st_tensor *dst, const st_tensor *src);

/* st__copy if one of the two is on an extension device: Note [Copies between
 * devices]. Neither is on the meta device, and both have memory. here copies on
 * the CPU. */
typedef st_status (*st_copy_fn)(st_tensor *dst, const st_tensor *src);
st_status st__copy_on_device(st_tensor *dst, const st_tensor *src,
                             st_copy_fn here);

/* For a device without a backend: calls the kernel of copy_ that its extension
 * has registered. NO_KERNEL without one. Set by op/device. */
extern st_status (*st__copy_by_kernel)(st_tensor *dst, const st_tensor *src);
/* The first element of t, and the bytes from there to the last. */
st_place st__place_of(const st_tensor *t);
size_t st__span(const st_tensor *t);

/* True if a copy over this iterator, built for one output and one input, runs
 * tile by tile because the two have different fastest dimensions. */
bool st__copy_is_tiled(const st_iter *it);

/* A new tensor with the values of t, in dtype and format, on the device of t;
 * PRESERVE keeps the order of dimensions. */
st_status st__clone(const st_tensor *t, st_dtype dtype, st_format format,
                    st_tensor **out);
/* t itself (retained), or a clone if writing out would change it. */
st_status st__clone_if_overlapping(const st_tensor *out, const st_tensor *t,
                                   st_tensor **own);
/* t itself (retained) if it is contiguous in format, else a clone. BAD_VALUE
 * for PRESERVE. */
st_status st__contiguous(const st_tensor *t, st_format format,
                         st_tensor **out);

#endif
