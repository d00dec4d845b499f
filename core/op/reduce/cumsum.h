/* Cumulative sums, products and extrema.
 */
#ifndef ST_OP_REDUCE_CUMSUM_H
#define ST_OP_REDUCE_CUMSUM_H

#include "op/row/op.h"

/* Sets *dtype to the argument "dtype", or to otherwise if it is absent;
 * BAD_DTYPE if no tensor can have it. */
st_status st__asked_dtype(const st_run *r, st_dtype otherwise,
                          st_dtype *dtype);

#endif
