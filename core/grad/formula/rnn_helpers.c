/* The derivative of a recurrent layer.
 */

#include "grad/formula/helpers.h"

enum { GRADS = 3, INPUTS = 5 };

/* Calls _rnn_layer_backward. */
static st_status backward(const st_value *all, st_value *out) {
  st_value rets[INPUTS];
  ST_TRY(st__value_new_tensors(INPUTS, out));
  const st_status status = st__invoke(ST_OP__rnn_layer_backward, 12, all,
                                      rets);
  for (int i = 0; status == ST_OK && i < INPUTS; i++) {
    out->u.tensors[i] = rets[i].u.tensor;
  }
  if (status != ST_OK) st__value_clear(out);
  return status;
}

/* Differentiates _rnn_layer_steps instead, so that the gradients are
 * differentiable. The inputs are aliases: an input may have been computed from
 * another one. */
static st_status recorded(const st_value *all, st_value *out) {
  st_op_scope c = {.status = ST_OK};
  st_value given[8];
  st_tensor *outputs[GRADS], *inputs[INPUTS], *grads[INPUTS] = {NULL};
  int slots[INPUTS], n = 0;
  for (int i = 0; i < 8; i++) given[i] = all[GRADS + i];
  for (int i = 0; i < INPUTS; i++) {
    const st_tensor *t = st__to_tensor(&given[i]);
    if (!t || !(t->keys & ST_AUTOGRAD_BITS)) continue;
    given[i] = st__of_tensor(inputs[n] = st__apply1(&c, ST_OP_alias, t));
    slots[n++] = i;
  }
  st__apply_multi(&c, ST_OP__rnn_layer_steps, 8, given, GRADS, outputs);
  if (st__scope_ok(&c)) c.status = st__value_new_tensors(INPUTS, out);
  if (st__scope_ok(&c) && n > 0) {
    st_tensor *const coming[] = {all[0].u.tensor, all[1].u.tensor,
                                 all[2].u.tensor};
    const st_backward_pass pass = {
      .noutputs = st__is_none(&given[2]) ? 2 : GRADS, .outputs = outputs,
      .grad_outputs = coming, .ninputs = n, .inputs = inputs,
      .create_graph = true, .retain_graph = true, .allow_unused = true};
    c.status = st_backward(&pass, grads);
    if (!st__scope_ok(&c)) st__value_clear(out);
  }
  for (int i = 0; st__scope_ok(&c) && i < n; i++) {
    out->u.tensors[slots[i]] = grads[i];
  }
  return st__scope_end(&c, 0, NULL, NULL);
}

/* rnn_back(grad_output, grad_hy, grad_cy, gates, hx, cx, weight, bias, mode,
 * batch_sizes, reverse, saved) */
ST_HELPER_FN(st__help_rnn_back) {
  st_value all[12];
  for (int i = 0; i < n; i++) all[i] = args[i].value;
  return st__tls().grad ? recorded(all, out) : backward(all, out);
}
