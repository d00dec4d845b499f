/* Calls with other tensors in the place of those that have a key.
 */

#include "op/row/substitution.h"

#include <string.h>

#include "tensor/overlap.h"

/* -- Arguments ------------------------------------------------------------ */

typedef struct substituted {
  const st_call *call;
  const st_substitution *how;
  const st_value *given;
  st_value args[ST_MAX_ARGS];
  bool is_ours[ST_MAX_ARGS];  /* args[i] is owned */
} substituted;

static bool has_bits(const substituted *l, const st_tensor *t) {
  return t && (t->keys & l->how->bit);
}

static bool has_any(const substituted *l, const st_value *v) {
  if (v->tag == ST_TAG_TENSOR) return has_bits(l, v->u.tensor);
  for (uint32_t k = 0; v->tag == ST_TAG_TENSORS && k < v->len; k++) {
    if (has_bits(l, v->u.tensors[k])) return true;
  }
  return false;
}

/* These checks come first, because a failed call must not write anything. */
static st_status check_written(const substituted *l, int i) {
  const char *name = l->call->schema->args[i].name;
  if (l->how->is_immutable) {
    return st__fail(ST_BAD_STATE, "argument '%s' is a zero tensor, which is "
                    "immutable; clone() it first", name);
  }
  if (l->given[i].tag == ST_TAG_TENSORS) {
    return st__fail(ST_BAD_STATE, "argument '%s' is written, but the list "
                    "contains %s; clone() it first", name, l->how->what);
  }
  return st__check_internal_overlap(l->given[i].u.tensor);
}

static st_status replace(const substituted *l, st_tensor **slot) {
  st_tensor *other = NULL;
  if (!has_bits(l, *slot)) return ST_OK;
  ST_TRY(l->how->replace(*slot, &other));
  st__tensor_release(slot);
  *slot = other;
  return ST_OK;
}

static st_status replace_arg(substituted *l, int i) {
  st_value *v = &l->args[i];
  st_status status = ST_OK;
  *v = l->given[i];
  if (!has_any(l, v)) return ST_OK;
  if (l->call->schema->args[i].is_write) ST_TRY(check_written(l, i));
  ST_TRY(st__value_copy(&l->given[i], v));
  l->is_ours[i] = true;
  if (v->tag == ST_TAG_TENSOR) return replace(l, &v->u.tensor);
  for (uint32_t k = 0; status == ST_OK && k < v->len; k++) {
    status = replace(l, &v->u.tensors[k]);
  }
  return status;
}

/* -- Copying back --------------------------------------------------------- */

static bool is_written(const substituted *l, int i) {
  return l->is_ours[i] && l->call->schema->args[i].is_write;
}

/* The operator may have resized an out= argument. */
static st_status resize(const substituted *l, int i) {
  st_tensor *given = l->given[i].u.tensor;
  const st_tensor *made = l->args[i].u.tensor;
  return st__same_sizes(given, made) ? ST_OK
    : st__tensor_resize(given, made->ndim, made->sizes, ST_FORMAT_CONTIGUOUS);
}

st_status st__call_copy(const st_tensor *self, const st_tensor *src) {
  const st_value args[] = {st__of_tensor(self), st__of_tensor(src)};
  st_value ret;
  ST_TRY(st__invoke(ST_OP_copy_, 2, args, &ret));
  st__value_clear(&ret);
  return ST_OK;
}

static st_status copy_back(const substituted *l, int i) {
  st_tensor *given = l->given[i].u.tensor;
  const st_tensor *made = l->args[i].u.tensor;
  return st__is_privateuse(given) ? st__call_copy(given, made)
                                  : st__copy_unchecked(given, made);
}

/* In the results, replaces the other tensor by the argument. */
static void replace_results(const substituted *l, int i, st_value *rets) {
  for (int k = 0; k < l->call->schema->nrets; k++) {
    if (st__to_tensor(&rets[k]) != l->args[i].u.tensor) continue;
    st__value_clear(&rets[k]);
    st__tensor_retain(l->given[i].u.tensor);
    rets[k] = l->given[i];
  }
}

static st_status restore_args(const substituted *l, st_value *rets) {
  const int n = l->call->schema->nargs;
  st_status status = ST_OK;
  for (int i = 0; i < n && status == ST_OK; i++) {
    if (is_written(l, i)) status = resize(l, i);
  }
  for (int i = 0; i < n && status == ST_OK; i++) {
    if (is_written(l, i)) status = copy_back(l, i);
  }
  for (int i = 0; i < n && status == ST_OK; i++) {
    if (is_written(l, i)) replace_results(l, i, rets);
  }
  for (int k = 0; k < l->call->schema->nrets && status != ST_OK; k++) {
    st__value_clear(&rets[k]);
  }
  return status;
}

/* -- The call ------------------------------------------------------------- */

st_status st__call_substituted(const st_call *call, const st_substitution *s,
                               const st_value *args, st_value *rets) {
  const int n = call->schema->nargs;
  substituted l;
  st_status status = ST_OK;
  l.call = call;
  l.how = s;
  l.given = args;
  memset(l.is_ours, 0, sizeof l.is_ours);
  for (int i = 0; i < n && status == ST_OK; i++) status = replace_arg(&l, i);
  if (status == ST_OK) {
    status = st__redispatch_boxed(call->op, call->schema, s->keys, l.args,
                                  rets);
  }
  if (status == ST_OK) status = restore_args(&l, rets);
  for (int i = 0; i < n; i++) {
    if (l.is_ours[i]) st__value_clear(&l.args[i]);
  }
  return status;
}
