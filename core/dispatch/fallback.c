/* Default fallbacks: dispatch modes, operators without a derivative. */

#include "base/dtype.h"
#include "dispatch/entry.h"

/* -- Modes ---------------------------------------------------------------- */

st_status st__run_mode(const st_call *call, const st_value *args,
                       st_value *rets) {
  st_thread *self = st__self();
  st_mode *const mode = self->mode;
  if (!mode) {
    return st__fail(ST_NO_KERNEL, "redispatched to the key Lua, but no mode "
                    "is active");
  }
  const st_keyset mine = mode->outer ? 0 : ST_BIT(ST_FUNC_Lua);
  const st_call below = {.op = call->op, .schema = call->schema,
                         .keys = call->keys & ~mine, .ctx = mode->ctx};
  st__set_mode(self, mode->outer);
  const st_status status = mode->fn(&below, args, rets);
  st__set_mode(self, mode);
  return status;
}

/* -- Operators without a derivative --------------------------------------- */

/* Note [Operators without a derivative]
 * A tensor that requires a gradient has an Autograd key. An operator that has
 * neither a kernel for that key nor a composite one of differentiable operators
 * would lose the gradient silently, so it fails. It does not fail if no
 * gradient is lost: if gradients are not recorded, or if no result has a
 * differentiable dtype. */

static bool carries_gradient(const st_value *v) {
  const st_tensors all = st__tensors_in(v);
  for (uint32_t i = 0; i < all.n; i++) {
    if (all.p[i] && st__is_inexact(all.p[i]->dtype)) return true;
  }
  return false;
}

/* The name of the first argument that requires a gradient, or NULL. */
static const char *find_grad_arg(const st_schema *s, const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    const st_tensors all = st__tensors_in(&args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      const st_tensor *t = all.p[k];
      if (t && (t->keys & ST_AUTOGRAD_BITS)) return s->args[i].name;
    }
  }
  return NULL;
}

static st_status fail_no_derivative(const char *arg) {
  return st__fail(ST_NO_KERNEL, "argument '%s' requires a gradient, and the "
                  "operator has no derivative:\nregister a kernel for "
                  "Autograd, detach the argument, or call it with gradients "
                  "off (no_grad)", arg);
}

static bool results_carry_gradient(const st_schema *s, const st_value *rets) {
  for (int i = 0; i < s->nrets; i++) {
    if (carries_gradient(&rets[i])) return true;
  }
  return false;
}

static bool has_tensor_results(const st_schema *s) {
  for (int i = 0; i < s->nrets; i++) {
    if (s->rets[i].type == ST_TYPE_TENSOR) return true;
  }
  return false;
}

/* Excludes the Autograd keys, so that operators that the kernel calls do not
 * run this check again. */
static st_status run_below(const st_call *call, const st_value *args,
                           st_value *rets) {
  return st__call_below(call, ST_FUNC_AutogradOther, ST_AUTOGRAD_BITS, args,
                        rets);
}

st_status st__run_underivable(const st_call *call, const st_value *args,
                              st_value *rets) {
  const st_schema *s = call->schema;
  const char *grad_arg = st__thread.tls.grad ? find_grad_arg(s, args) : NULL;
  if (!grad_arg || !has_tensor_results(s)) return run_below(call, args, rets);
  if (s->is_mutable) return fail_no_derivative(grad_arg);
  ST_TRY(run_below(call, args, rets));
  if (!results_carry_gradient(s, rets)) return ST_OK;
  for (int i = 0; i < s->nrets; i++) st__value_clear(&rets[i]);
  return fail_no_derivative(grad_arg);
}
