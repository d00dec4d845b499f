/* The gradients of activations, each in one pass over memory.
 */

#include <string.h>

#include "op/elementwise/pointwise.h"
#include "op/row/op.h"

/* The sign of self follows from the sign of the result only if the slope is
 * not negative. */
static st_status check_slope(const st_run *r, int slope, int is_result) {
  const double s = st__scalar_to_double(st__scalar_of(&r->args[slope]));
  if (!st__to_bool(&r->args[is_result], false) || s >= 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "%s is negative (%g), so the gradient cannot "
                  "be computed from the result",
                  r->call->schema->args[slope].name, s);
}

/* args: grad_output, alpha, scale, input_scale, is_result, self_or_result */
st_status st__elu_backward_meta(st_run *r) {
  ST_TRY(check_slope(r, 1, 4));
  return st__binary_meta(r);
}

st_status st__elu_backward_impl(st_run *r) {
  const bool is_result = st__to_bool(&r->args[4], false);
  st_params k;
  ST_TRY(st__check_scalars(r));
  st__get_scalars(r, &k);
  return st__run_kernel(r, is_result ? ST_K_elu_result_backward
                                     : ST_K_elu_backward, &k);
}

/* args: grad_output, self, negative_slope, self_is_result */
st_status st__leaky_relu_backward_meta(st_run *r) {
  ST_TRY(check_slope(r, 2, 3));
  return st__binary_meta(r);
}

/* args: grad_output, self, approximate */
st_status st__gelu_backward_impl(st_run *r) {
  const char *approximate = r->args[2].u.string;
  if (strcmp(approximate, "none") == 0) {
    return st__run_kernel(r, ST_K_gelu_backward, NULL);
  }
  if (strcmp(approximate, "tanh") == 0) {
    return st__run_kernel(r, ST_K_gelu_tanh_backward, NULL);
  }
  return st__fail(ST_BAD_VALUE, "approximate must be \"none\" or \"tanh\", "
                  "not \"%s\"", approximate);
}

/* args: grad_output, self, eps */
st_status st__logit_backward_impl(st_run *r) {
  const double eps = st__to_float(&r->args[2], -1);
  const st_params k = {.s = {st__scalar_float(eps)}};
  return st__run_kernel(r, ST_K_logit_backward, &k);
}
