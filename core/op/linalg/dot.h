/* The dot product of two float32 or two float64 vectors.
 */
#ifndef ST_OP_LINALG_DOT_H
#define ST_OP_LINALG_DOT_H

#include "op/row/op.h"

/* Elements and their byte strides. */
typedef struct st_dot {
  st_dtype dtype;
  char *a, *b;
  int64_t step_a, step_b, n;
} st_dot;

/* The same bits for any strides and number of threads. INTERRUPTED: *out is
 * not set. */
st_status st__dot(const st_dot *d, double *out);

#endif
