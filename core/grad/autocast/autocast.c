/* The kernels of the key AutocastCPU: Note [Autocast]. */

#include "grad/autocast/autocast.h"

#include "op/row/op.h"

/* -- Dtypes --------------------------------------------------------------- */

/* ORDER POLICY */
typedef enum policy { LOWER, FLOAT32, PROMOTE } policy;

/* While the results of a script are checked, a tensor on the meta device stands
 * for one on the CPU. */
static bool is_eligible(const st_tensor *t) {
  return t && st__is_floating(t->dtype) && t->dtype != ST_FLOAT64 &&
         !st__is_wrapped(t) &&
         (t->device == ST_DEVICE_CPU || (st__is_meta(t) && st__is_checking()));
}

static bool has_more_precise(const st_value *v, st_dtype lower) {
  const st_tensors all = st__tensors_in(v);
  for (uint32_t i = 0; i < all.n; i++) {
    if (is_eligible(all.p[i]) && all.p[i]->dtype != lower) return true;
  }
  return false;
}

static st_dtype dtype_for(policy p, st_dtype lower, int nargs,
                          const st_value *args) {
  if (p != PROMOTE) return p == LOWER ? lower : ST_FLOAT32;
  for (int i = 0; i < nargs; i++) {
    if (has_more_precise(&args[i], lower)) return ST_FLOAT32;
  }
  return lower;
}

/* -- Arguments ------------------------------------------------------------ */

typedef struct cast_args {
  const st_value *given;
  st_dtype to;
  bool caches;               /* casts of parameters are kept */
  st_value args[ST_MAX_ARGS];
  bool is_ours[ST_MAX_ARGS]; /* args[i] is owned */
} cast_args;

static bool needs_cast(const cast_args *c, const st_tensor *t) {
  return is_eligible(t) && t->dtype != c->to;
}

static bool has_cast(const cast_args *c, const st_value *v) {
  const st_tensors all = st__tensors_in(v);
  for (uint32_t k = 0; k < all.n; k++) {
    if (needs_cast(c, all.p[k])) return true;
  }
  return false;
}

static st_status replace(const cast_args *c, st_tensor **slot) {
  st_tensor *made = NULL;
  if (!needs_cast(c, *slot)) return ST_OK;
  if (c->caches && st__is_cached_cast(*slot)) {
    ST_TRY(st__cached_cast(*slot, c->to, &made));
  } else {
    ST_TRY(st__invoke1(ST_OP_to_dtype, ST_VALUES(*slot, c->to), &made));
  }
  st__tensor_release(slot);
  *slot = made;
  return ST_OK;
}

static st_status cast_arg(cast_args *c, int i) {
  st_value *v = &c->args[i];
  st_status status = ST_OK;
  *v = c->given[i];
  c->is_ours[i] = false;
  if (!has_cast(c, v)) return ST_OK;
  ST_TRY(st__value_copy(&c->given[i], v));
  c->is_ours[i] = true;
  const st_tensors all = st__tensors_in(v);
  for (uint32_t k = 0; status == ST_OK && k < all.n; k++) {
    status = replace(c, &all.p[k]);
  }
  return status;
}

static st_status run_cast(const st_call *call, cast_args *c, st_value *rets) {
  const int n = call->schema->nargs;
  st_status status = ST_OK;
  int done = 0;
  while (done < n && status == ST_OK) status = cast_arg(c, done++);
  if (status == ST_OK) {
    status = st__call_below(call, ST_FUNC_AutocastCPU, 0, c->args, rets);
  }
  for (int i = 0; i < done; i++) {
    if (c->is_ours[i]) st__value_clear(&c->args[i]);
  }
  return status;
}

/* -- Kernels -------------------------------------------------------------- */

static st_status run(const st_call *call, const st_value *args,
                     st_value *rets, policy p) {
  const st_tls before = st__tls();
  const bool is_on = !(before.excluded & ST_BIT(ST_FUNC_AutocastCPU));
  const st_dtype lower = (st_dtype)before.autocast_dtype;
  st_tls tls = before;
  cast_args c;
  c.given = args;
  c.to = dtype_for(p, lower, call->schema->nargs, args);
  c.caches = is_on && before.caches_casts && c.to == lower;
  tls.excluded |= ST_AUTOCAST_BITS;
  st__set_tls(tls);
  const st_status status = run_cast(call, &c, rets);
  st__set_tls(before);
  return status;
}

static ST_BOXED(run_lower) { return run(call, args, rets, LOWER); }
static ST_BOXED(run_float32) { return run(call, args, rets, FLOAT32); }
static ST_BOXED(run_promote) { return run(call, args, rets, PROMOTE); }

static const struct { st_op_id id; policy policy; } rows[] = {
#define ST_AUTOCAST(id, policy) {ST_OP_##id, policy},
#include "grad/autocast/policies.def"
#undef ST_AUTOCAST
};

/* ORDER POLICY */
static const st_kernel kernels[] = {
  {.fn = run_lower, .debug = "autocast to lower precision"},
  {.fn = run_float32, .debug = "autocast to float32"},
  {.fn = run_promote, .debug = "autocast to the widest dtype"},
};

st_status st__register_autocast(void) {
  const st_key key = st__key_parse("AutocastCPU");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ST_TRY(st__impl_op(st__op(rows[i].id), key, &kernels[rows[i].policy],
                       NULL));
  }
  return ST_OK;
}
