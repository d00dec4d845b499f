/* Copies between operands that disagree about the fastest dimension: private
 * to this folder.
 *
 * Note [Staged tiles]
 * A transposed copy touches a new cache line for every element of one side.
 * So it goes tile by tile: rows of the source are read one after the other
 * into a small buffer, and rows of the destination are written from there.
 * The buffer also keeps power-of-two strides from falling into one cache set.
 */
#ifndef ST_ITER_TRANSPOSE_H
#define ST_ITER_TRANSPOSE_H

#include "iter/iter.h"

/* The source's fastest dimension when the copy from operand 1 to operand 0
 * wants tiles, else 0. */
int st__transpose_dim(const st_iter *it);
/* Makes that dimension the iterator's dimension 1; false without one. */
bool st__transpose_prepare(st_iter *it);
/* The loop for a dst whose inner stride, and a src whose outer stride, is
 * the element size: 1, 2, 4, 8 or 16 bytes. */
st_loop st__transpose_loop(size_t itemsize);

#endif
