/* Batched matrix products: c <- alpha a b + beta c.
 */
#ifndef ST_OP_LINALG_GEMM_H
#define ST_OP_LINALG_GEMM_H

#include "op/row/op.h"

static inline bool st__scalar_is_zero(st_scalar s) {
  double c[2];
  st__scalar_to_complex(s, c);
  return c[0] == 0 && c[1] == 0;
}

/* a (batch, m, k), b (batch, k, n) and c (batch, m, n) have the same dtype and
 * any strides; or all three are matrices. If beta is 0, c is not read. c must
 * not overlap a or b. Every error precedes the first write. */
st_status st__gemm(const st_tensor *a, const st_tensor *b, st_tensor *c,
                   st_scalar alpha, st_scalar beta);
/* The same for c = alpha a b + beta add; add expands to c, or is NULL for c
 * itself. A row is added by the kernel, others are copied to c first, which is
 * written then if what follows fails. */
st_status st__gemm_add(const st_tensor *a, const st_tensor *b,
                       const st_tensor *add, st_tensor *c, st_scalar alpha,
                       st_scalar beta);
/* c = a b for matrices of int8, uint8 or int16 and one of int32 of any strides;
 * a is not empty. */
st_status st__gemm_whole(const st_tensor *a, const st_tensor *b, st_tensor *c);

#endif
