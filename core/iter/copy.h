/* copy_: the one operation that the iterator itself needs.
 */
#ifndef ST_ITER_COPY_H
#define ST_ITER_COPY_H

#include "iter/iter.h"

/* dst <- src with broadcasting and conversion (Y1 to Y6), as if they
 * shared no memory. OVERLAP when dst overlaps itself. */
st_status st__copy(st_tensor *dst, const st_tensor *src);
/* Same sizes, no overlap, nothing can fail: for temporaries. */
void st__copy_unchecked(st_tensor *dst, const st_tensor *src);

/* Whether a copy over this iterator, built for one output and one input, goes
 * tile by tile, because the two disagree about the fastest dimension. */
bool st__copy_is_tiled(const st_iter *it);

/* clone / to: a new tensor of dtype and device, laid out in format
 * (PRESERVE keeps t's order), with t's values. */
st_status st__clone(const st_tensor *t, st_dtype dtype, st_format format,
                    st_tensor **out);
/* t itself (retained), or a clone when writing out would change it. */
st_status st__clone_if_overlapping(const st_tensor *out, const st_tensor *t,
                                   st_tensor **own);
/* t itself (retained) when it is contiguous in format, else a clone. */
st_status st__contiguous(const st_tensor *t, st_format format,
                         st_tensor **out);

#endif
