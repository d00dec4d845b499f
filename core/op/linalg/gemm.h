/* Products of matrices: c <- alpha a b + beta c, in batches.
 */
#ifndef ST_OP_LINALG_GEMM_H
#define ST_OP_LINALG_GEMM_H

#include "op/registry/op.h"

static inline bool st__scalar_is_zero(st_scalar s) {
  double c[2];
  st__scalar_to_complex(s, c);
  return c[0] == 0 && c[1] == 0;
}

/* a (batch, m, k), b (batch, k, n) and c (batch, m, n) have the same dtype,
 * any strides and the sizes that fit; or all are matrices. beta = 0: c is not
 * read. c shares no memory with a and b. Fails only before it writes. */
st_status st__gemm(const st_tensor *a, const st_tensor *b, st_tensor *c,
                   st_scalar alpha, st_scalar beta);

#endif
