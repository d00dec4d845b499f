/* The functions of strided_dispatch.h, most of them one-line calls of the
 * dispatcher.
 */

#include "strided.h"

#include <string.h>

#include "os/cpu.h"
#include "base/call_limits.h"
#include "dispatch/dispatch.h"
#include "fuse/schedule/elementwise_op.h"
#include "op/row/op.h"
#include "op/row/scripted.h"

/* -- Operators ------------------------------------------------------------ */

const char *st_op_schema(const st_op *op) {
  const st_schema *s = st__op_schema(op);
  return s ? s->text : NULL;
}

int st_op_nargs(const st_op *op) {
  const st_schema *s = st__op_schema(op);
  return s ? s->nargs : 0;
}

int st_op_nrets(const st_op *op) {
  const st_schema *s = st__op_schema(op);
  return s ? s->nrets : 0;
}

uint64_t st_registry_epoch(void) { return st__registry_epoch(); }

const st_arg *st_op_arg(const st_op *op, int i) {
  const st_schema *s = st__op_schema(op);
  return s && i >= 0 && i < s->nargs ? &s->args[i] : NULL;
}

const st_arg *st_op_ret(const st_op *op, int i) {
  const st_schema *s = st__op_schema(op);
  return s && i >= 0 && i < s->nrets ? &s->rets[i] : NULL;
}

bool st_op_slot(const st_op *op, const char *key, const char **kernel,
                const char **provenance) {
  const st_key k = st__key_parse(key);
  if (k == ST_KEY_INVALID) return false;
  st__op_slot(op, k, kernel, provenance);
  return true;
}

static st_status check_op(const st_op *op) {
  ST_TRY(st__limits_check());
  return op ? ST_OK : st__fail(ST_NOT_FOUND, "there is no such operator");
}

st_status st_call_op(const st_op *op, int n, const st_value *args,
                     st_value *rets) {
  return st_call_declared(op, NULL, n, args, rets);
}

st_status st_call_declared(const st_op *op, const char *declared, int n,
                           const st_value *args, st_value *rets) {
  ST_TRY(check_op(op));
  return st__call_checked(ST_CALLER_ENGINE, op, declared, n, args, rets);
}

st_status st_call_converted(const st_op *op, const char *declared,
                            const st_value *args, st_value *rets) {
  ST_TRY(st__limits_check());
  return st__call_converted(ST_CALLER_ENGINE, op, declared, args, rets);
}

st_status st_redispatch(const st_op *op, st_keyset keys, const st_value *args,
                        st_value *rets) {
  return st_redispatch_declared(op, NULL, keys, args, rets);
}

st_status st_redispatch_declared(const st_op *op, const char *declared,
                                 st_keyset keys, const st_value *args,
                                 st_value *rets) {
  const st_schema *s;
  ST_TRY(check_op(op));
  ST_TRY(st__check_args(op, declared, args, &s));
  return st__redispatch_boxed(op, s, keys, args, rets);
}

static st_status find_key(const char *name, st_key *out) {
  *out = name ? st__key_parse(name) : ST_KEY_INVALID;
  if (*out != ST_KEY_INVALID) return ST_OK;
  return st__fail(ST_BAD_VALUE, "there is no dispatch key '%.80s'",
                  name ? name : "");
}

st_status st_call_for_key(const st_op *op, const char *key,
                          const st_value *args, st_value *rets) {
  return st_call_for_key_declared(op, NULL, key, args, rets);
}

static st_status call_for_key(st_caller caller, const st_op *op,
                              const char *declared, const char *key,
                              const st_value *args, st_value *rets) {
  const st_schema *s;
  st_key k;
  ST_TRY(check_op(op));
  ST_TRY(find_key(key, &k));
  if (st__key_is_alias(k)) {
    return st__fail(ST_BAD_VALUE, "%s is an alias key: no kernel runs for it",
                    key);
  }
  ST_TRY(st__check_args(op, declared, args, &s));
  return st__call_for_key(caller, op, s, k, args, rets);
}

st_status st_call_for_key_declared(const st_op *op, const char *declared,
                                   const char *key, const st_value *args,
                                   st_value *rets) {
  return call_for_key(ST_CALLER_ENGINE, op, declared, key, args, rets);
}

/* -- Schemas -------------------------------------------------------------- */

void st_schema_release(st_schema **s) { st__schema_free(s); }

const char *st_schema_text(const st_schema *s) { return s->text; }
const char *st_schema_name(const st_schema *s) { return s->name; }
const char *st_schema_overload(const st_schema *s) { return s->overload; }
int st_schema_nargs(const st_schema *s) { return s->nargs; }
int st_schema_nrets(const st_schema *s) { return s->nrets; }
bool st_schema_is_mutable(const st_schema *s) { return s->is_mutable; }
bool st_schema_is_vararg(const st_schema *s) { return s->is_vararg; }
bool st_schema_is_varret(const st_schema *s) { return s->is_varret; }

char *st_schema_signature(const st_schema *s, char *buf, size_t size) {
  st__signature_text(s, buf, size);
  return buf;
}

const st_arg *st_schema_arg(const st_schema *s, int i) {
  return i >= 0 && i < s->nargs ? &s->args[i] : NULL;
}

const st_arg *st_schema_ret(const st_schema *s, int i) {
  return i >= 0 && i < s->nrets ? &s->rets[i] : NULL;
}

/* -- Typed calls ---------------------------------------------------------- */

st_status st_typed_find(const char *name, const char *overload,
                        const char *signature, st_typed *out) {
  return st__typed_find(name, overload, signature, &out->op, &out->signature);
}

const char *st_op_signature(const st_op *op) {
  return op ? st__op_signature(op) : NULL;
}

st_status st_route_enter(const st_typed *h, st_keyset keys, st_route *r) {
  return st__route_enter(h->op, h->signature, keys, r);
}

st_status st_route_reenter(const st_typed *h, st_keyset keys, st_route *r) {
  return st__route_reenter(h->op, h->signature, keys, r);
}

st_status st_route_run(st_route *r, const st_value *args, st_value *rets) {
  return st__route_run(r, args, rets);
}

st_status st_route_leave(st_route *r, st_status status) {
  return st__route_leave(r, status);
}

/* -- Registration --------------------------------------------------------- */

st_status st_define(const char *ns, const char *schema, const char *doc,
                    const char *debug, st_registration **out) {
  const st_definition d = {ns, schema, doc, debug, 0};
  return st__def(&d, 0, out);
}

st_status st_implement(const char *name, const char *key,
                       const st_kernel *kernel, st_registration **out) {
  st_key k;
  ST_TRY(find_key(key ? key : "CompositeImplicitAutograd", &k));
  return st__impl(name, k, kernel, out);
}

st_status st_implement_fallback(const char *key, const st_kernel *kernel,
                                st_registration **out) {
  st_registration *r;
  st_key k;
  ST_TRY(find_key(key, &k));
  ST_TRY(st__prepare_fallback(k, kernel, 0, false, &r));
  return st__link_one(r, out);
}

st_status st_listen(void (*fn)(void *ctx, const st_op *op, bool is_defined),
                    void *ctx, st_registration **out) {
  const st_listener l = {fn, ctx};
  st_registration *r;
  ST_TRY(st__prepare_listener(&l, &r));
  return st__link_one(r, out);
}

/* -- Libraries ------------------------------------------------------------ */

st_status st_library_define(st_library *lib, const char *schema,
                            const char *doc, int tags, const char *debug) {
  const st_definition d = {NULL, schema, doc, debug, tags};
  return st__library_define(lib, &d, NULL);
}

st_status st_library_define_with(st_library *lib, const char *schema,
                                 const char *doc, int tags,
                                 const st_kernel *kernel) {
  const st_definition d = {NULL, schema, doc, kernel->debug, tags};
  return st__library_define(lib, &d, kernel);
}

st_status st_library_implement(st_library *lib, const char *name,
                               const char *key, const st_kernel *kernel) {
  return st__library_implement(lib, name, key, kernel);
}

/* -- Structured operators ------------------------------------------------- */

const st_value *st_run_args(const st_run *r) { return r->args; }
st_tensor *st_run_tensor(const st_run *r, int i) {
  return st__arg_tensor(r, i);
}
st_device st_run_device(const st_run *r) { return r->device; }
int st_run_noutputs(const st_run *r) { return r->nouts; }
int64_t *st_run_note(st_run *r) { return r->note; }

st_status st_set_output_raw_strided(st_run *r, int i, int ndim,
                                    const int64_t *sizes,
                                    const int64_t *strides, st_dtype dtype) {
  return st__set_output(r, i, ndim, sizes, strides, dtype);
}

st_status st_set_output_contiguous(st_run *r, int i, int ndim,
                                   const int64_t *sizes, st_dtype dtype) {
  return st_set_output_strided(r, i, ndim, sizes, NULL, dtype);
}

st_tensor *st_maybe_get_output(const st_run *r, int i) {
  return i >= 0 && i < r->nouts ? r->out[i] : NULL;
}

/* -- Inspection ----------------------------------------------------------- */

st_status st_explain(const st_op *op, int n, const st_value *args,
                     char **out) {
  ST_TRY(check_op(op));
  return st__explain_all(op, n, args, out);
}

int st_op_tags(const st_op *op) {
#define ST_TAG_OR(id, name) | ST_OPTAG_##id
  return op ? st__op_tags(op) & (0 ST_TAG_MAP(ST_TAG_OR)) : 0;
#undef ST_TAG_OR
}

const char *st_op_isa(const st_op *op) {
  const st_kernel_id id = op ? st__op_kernel(op) : ST_K_NONE;
  return id == ST_K_NONE ? NULL : st__isa_name(st__kernel_isa(id));
}

const char *st_tag_name(int bit) {
  static const char *const names[] = {
#define ST_TAG_NAME(id, name) name,
    ST_TAG_MAP(ST_TAG_NAME)
#undef ST_TAG_NAME
  };
  const int n = (int)(sizeof names / sizeof *names);
  return bit >= 0 && bit < n ? names[bit] : NULL;
}

/* -- Thread state --------------------------------------------------------- */

st_tls st_tls_get(void) { return st__tls(); }
void st_tls_set(st_tls state) { st__set_tls(state); }

st_tls st_tls_include(st_keyset keys) {
  st_tls tls = st__tls();
  tls.included |= keys;
  return tls;
}

st_tls st_tls_exclude(st_keyset keys) {
  st_tls tls = st__tls();
  tls.excluded |= keys;
  return tls;
}

st_tls st_tls_below_autograd(void) {
  return st_tls_exclude(ST_AUTOGRAD_BITS);
}

st_tls st_tls_below_adinplaceorview(void) {
  return st_tls_exclude(ST_AUTOGRAD_BITS | ST_BIT(ST_FUNC_ADInplaceOrView));
}

st_tls st_tls_grad(bool enabled) {
  st_tls tls = st__tls();
  tls.grad = enabled;
  return tls;
}

/* Guards (C3). */
st_tls st_tls_inference(bool enabled) {
  st_tls tls = st__tls();
  const st_keyset tracked = ST_BIT(ST_FUNC_ADInplaceOrView);
  tls.inference = enabled;
  tls.grad = !enabled;
  tls.included = enabled ? tls.included & ~tracked : tls.included | tracked;
  tls.excluded = enabled ? tls.excluded | ST_AUTOGRAD_BITS
                         : tls.excluded & ~ST_AUTOGRAD_BITS;
  return tls;
}

st_status st_tls_autocast(bool enabled, st_dtype dtype, bool caches,
                          st_tls *out) {
  st_tls tls = st__tls();
  if (!st__is_reduced_float(dtype)) {
    return st__fail(ST_BAD_DTYPE, "autocast: the dtype must be bfloat16 or "
                    "float16, it is %s", st__dtype_name(dtype));
  }
  tls.excluded = enabled ? tls.excluded & ~ST_AUTOCAST_BITS
                         : tls.excluded | ST_AUTOCAST_BITS;
  tls.autocast_dtype = (uint8_t)dtype;
  tls.caches_casts = caches;
  *out = tls;
  return ST_OK;
}

bool st_autocast_is_enabled(void) {
  return !(st__tls().excluded & ST_BIT(ST_FUNC_AutocastCPU));
}

/* -- Scripts -------------------------------------------------------------- */

st_status st_script_call_declared(const st_op *op, const char *declared, int n,
                                  const st_value *args, st_value *rets) {
  ST_TRY(check_op(op));
  return st__call_checked(ST_CALLER_SCRIPT, op, declared, n, args, rets);
}

st_status st_script_call_converted(const st_op *op, const char *declared,
                                   const st_value *args, st_value *rets) {
  ST_TRY(st__limits_check());
  return st__call_converted(ST_CALLER_SCRIPT, op, declared, args, rets);
}

st_status st_script_call_for_key(const st_op *op, const char *declared,
                                 const char *key, const st_value *args,
                                 st_value *rets) {
  return call_for_key(ST_CALLER_SCRIPT, op, declared, key, args, rets);
}

st_status st_run_scripted_kernel(const st_call *call, const st_value *args,
                                 st_value *rets, const char *where,
                                 st_status (*fn)(void *arg), void *arg) {
  return st__run_scripted(call, args, rets, where,
                          &(st_script_fn){fn, arg});
}

/* -- Keys ----------------------------------------------------------------- */

bool st_key_parse(const char *name, st_keyset *out) {
  const st_key k = st__key_parse(name);
  if (k != ST_KEY_INVALID) *out = st__key_set(k);
  return k != ST_KEY_INVALID;
}

const char *st_keyset_highest(st_keyset ks) {
  return st__key_name(st__keyset_highest(ks));
}

st_status st_keyset_after(const char *key, st_keyset *out) {
  st_key k;
  ST_TRY(find_key(key, &k));
  if (st__key_is_alias(k) && k != ST_KEY_AUTOGRAD) {
    return st__fail(ST_BAD_VALUE, "the alias key %s has no priority", key);
  }
  *out = st__keyset_after(k);
  return ST_OK;
}

st_keyset st_keyset_full(void) { return st__keyset_full; }

const char *st_keyset_next(st_keyset ks, int *state) {
  const st_key k = st__keyset_next(ks, state);
  return k == ST_KEY_INVALID ? NULL : st__key_name(k);
}

st_status st_keyset_remove_backend(st_keyset *ks, const char *backend) {
  st_key k;
  ST_TRY(find_key(backend, &k));
  if (st__key_is_alias(k) || st__key_backend(k) < 0) {
    return st__fail(ST_BAD_VALUE, "'%s' has no backend", backend);
  }
  *ks = st__keyset_minus_backend(*ks, st__key_backend(k));
  return ST_OK;
}

bool st_key_is_alias(const char *name) {
  return st__key_is_alias(st__key_parse(name));
}

/* -- Trace ---------------------------------------------------------------- */

typedef struct observer {
  void (*fn)(void *ctx, const st_trace *event);
  void *ctx;
} observer;

static _Thread_local observer observing;

static void observe(void *ctx, const st_trace_event *e) {
  const observer *o = ctx;
  const st_trace event = {e->op, e->kind, st__key_name(e->key), e->kernel,
                          e->keys, e->depth};
  o->fn(o->ctx, &event);
}

void st_set_trace(void (*fn)(void *ctx, const st_trace *event), void *ctx) {
  observing = (observer){fn, ctx};
  st__set_trace(fn ? observe : NULL, &observing);
}
