/* Helper for the derivative of pseudoinverses.
 *
 * Source: G. H. Golub, V. Pereyra, "The differentiation of pseudo-inverses and
 * nonlinear least squares problems whose variables separate", SIAM Journal on
 * Numerical Analysis 10(2), 1973.
 */

#include "grad/formula/helpers.h"

static st_tensor *times(st_op_scope *c, const st_tensor *a,
                        const st_tensor *b) {
  return st__apply2(c, ST_OP_matmul, a, b);
}

static st_tensor *minus(st_op_scope *c, const st_tensor *a,
                        const st_tensor *b) {
  return st__apply2(c, ST_OP_sub_Tensor, a, b);
}

/* pinv_back(G, A, P), where P is the pseudoinverse:
 * (I - A P) G' P P' + P' P G' (I - P A) - P' G P'. */
st_status st__help_pinv_back(int n, const st_helper_arg *args,
                             st_value *out) {
  const st_tensor *G = st__read_tensor(&args), *A = st__read_tensor(&args);
  const st_tensor *P = st__read_tensor(&args);
  st_op_scope c = {.status = ST_OK};
  (void)n;
  const st_tensor *adjoint = st__apply1(&c, ST_OP_mH, P);
  const st_tensor *turned = st__apply1(&c, ST_OP_mH, G);
  const st_tensor *rows = times(&c, times(&c, turned, P), adjoint);
  const st_tensor *cols = times(&c, adjoint, times(&c, P, turned));
  const st_tensor *first = minus(&c, rows, times(&c, A, times(&c, P, rows)));
  const st_tensor *second = minus(&c, cols, times(&c, times(&c, cols, P), A));
  st_tensor *sum = st__apply2(&c, ST_OP_add_Tensor, first, second);
  return st__scope_return(&c, minus(&c, sum, times(&c, adjoint,
                                                   times(&c, G, adjoint))),
                          out);
}
