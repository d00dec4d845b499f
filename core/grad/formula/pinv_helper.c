/* Helper for the derivative of pseudoinverses.
 *
 * Source: G. H. Golub, V. Pereyra, "The differentiation of pseudo-inverses and
 * nonlinear least squares problems whose variables separate", SIAM Journal on
 * Numerical Analysis 10(2), 1973.
 */

#include "grad/formula/helpers.h"

/* pinv_back(G, A, P), where P is the pseudoinverse:
 * (I - A P) G' P P' + P' P G' (I - P A) - P' G P'. */
ST_HELPER_FN(st__help_pinv_back) {
  ST_READ(TENSOR(G), TENSOR(A), TENSOR(P));
  st_op_scope c = {.status = ST_OK};
  const st_tensor *adjoint = st__adjoint(&c, P), *G_H = st__adjoint(&c, G);
  const st_tensor *rows = st__times(&c, st__times(&c, G_H, P), adjoint);
  const st_tensor *cols = st__times(&c, adjoint, st__times(&c, P, G_H));
  const st_tensor *first = st__minus(
    &c, rows, st__times(&c, A, st__times(&c, P, rows)));
  const st_tensor *second = st__minus(
    &c, cols, st__times(&c, st__times(&c, cols, P), A));
  const st_tensor *third = st__times(&c, adjoint, st__times(&c, G, adjoint));
  return st__scope_return(&c, st__minus(&c, st__plus(&c, first, second), third),
                          out);
}
