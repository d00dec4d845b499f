/* Recording (Note [Doubles]). */

#include "fuse/trace/recorder.h"

#include <string.h>

#include "dispatch/thread.h"
#include "grad/record/record.h"
#include "op/registry/op.h"

enum { MOST_LISTED = 256, NOTHING = -1 };

/* -- Refusals ------------------------------------------------------------- */

static st_status fail_refused(const st_rehearsal *r) {
  return st__fail(ST_BAD_STATE, "%s cannot be fused: %s", r->name, r->why);
}

void st__rehearsal_refuse(st_rehearsal *r, const char *why) {
  if (r->was_refused || r->was_asked) return;
  r->was_refused = true;
  snprintf(r->why, sizeof r->why, "%s", why);
}

static st_status refuse(st_rehearsal *r, const char *why) {
  st__rehearsal_refuse(r, why);
  return fail_refused(r);
}

st_status st__rehearsal_ask(st_rehearsal *r) {
  char where[128] = "";
  if (!r->was_asked) {
    if (r->where) r->where(r->ctx, where, sizeof where);
    r->was_asked = true;
    snprintf(r->why, sizeof r->why, "%s%sthe elements of a tensor are not "
             "known while %s is traced: what it does must not depend on them",
             where, *where ? ": " : "", r->name);
  }
  return st__fail(ST_BAD_STATE, "the elements of a tensor are not known while "
                  "%s is traced: what it does must not depend on them",
                  r->name);
}

/* -- Values --------------------------------------------------------------- */

static int find(const st_rehearsal *r, const st_tensor *t) {
  for (int i = r->nknown - 1; i >= 0; i--) {
    if (r->known[i].tensor == t) return r->known[i].value;
  }
  return NOTHING;
}

bool st__rehearsal_has(const st_rehearsal *r, const st_tensor *t) {
  const int v = find(r, t);
  return v >= 0 && r->values[v].tensor != t;
}

/* t is value v from now on. */
static st_status know(st_rehearsal *r, st_tensor *t, int v) {
  if (r->nknown == 2 * ST_RECORD_VALUES) return refuse(r, "it is too long");
  st__tensor_retain(t);
  r->known[r->nknown].tensor = t;
  r->known[r->nknown++].value = v;
  return ST_OK;
}

/* A new value; tensor and twin are retained. */
static st_status add_value(st_rehearsal *r, st_origin origin,
                           st_tensor *tensor, st_tensor *twin, int *out) {
  if (r->nvalues == ST_RECORD_VALUES) return refuse(r, "it is too long");
  st_recorded *v = &r->values[r->nvalues];
  *v = (st_recorded){.origin = (uint8_t)origin, .call = r->ncalls,
                     .tensor = tensor, .twin = twin};
  if (tensor) st__tensor_retain(tensor);
  st__tensor_retain(twin);
  *out = r->nvalues++;
  return ST_OK;
}

static st_status new_twin(const st_tensor *t, st_tensor **out) {
  ST_TRY(st__tensor_empty_strided(ST_DEVICE_META, (st_dtype)t->dtype, t->ndim,
                                  t->sizes, t->strides, out));
  (*out)->flags |= t->flags & ST_FLAG_WRAPPED;
  return ST_OK;
}

static st_status add_double(st_rehearsal *r, st_origin origin, st_tensor *t,
                            int *out) {
  st_tensor *twin = NULL;
  st_status status = new_twin(t, &twin);
  if (status == ST_OK) {
    status = add_value(r, origin, origin == ST_ORIGIN_KEPT ? t : NULL, twin,
                       out);
  }
  if (status == ST_OK) status = know(r, twin, *out);
  st__tensor_release(&twin);
  return status;
}

/* -- Arguments ------------------------------------------------------------ */

static bool is_number(const st_tensor *t) {
  return (t->flags & ST_FLAG_WRAPPED) && t->ndim == 0 && st__data(t);
}

bool st__is_plain(const st_tensor *t) {
  return t->device == ST_DEVICE_CPU && !(t->flags & ST_FLAG_SYMBOL) &&
         (t->keys & ~ST_AUTOGRAD_BITS) ==
           (st__device_keys(ST_DEVICE_CPU) | ST_BIT(ST_FUNC_ADInplaceOrView) |
            ST_BIT(ST_FUNC_AutocastCPU));
}

/* The value that an argument is, met for the first time or not. */
static st_status refer(st_rehearsal *r, st_tensor *t, int *out) {
  *out = find(r, t);
  if (*out != NOTHING) return ST_OK;
  if (is_number(t)) return add_value(r, ST_ORIGIN_NUMBER, t, t, out);
  if (!st__is_plain(t)) return refuse(r, "it has met a tensor of another kind");
  ST_TRY(add_double(r, ST_ORIGIN_KEPT, t, out));
  return know(r, t, *out);
}

/* A double stands for itself, whatever it is by now: what an operator gives
 * back must be the tensor that it was given. */
static st_tensor *double_of(const st_rehearsal *r, int v, st_tensor *t) {
  return r->values[v].tensor == t ? r->values[v].twin : t;
}

/* A call on its way: what it is recorded with, and what it is run with. */
typedef struct work {
  const st_call *call;
  st_ref refs[ST_MAX_ARGS];
  st_value args[ST_MAX_ARGS];
  int nlisted;
  bool has_tensor;
  int at[MOST_LISTED];
  st_tensor *listed[MOST_LISTED];
} work;

static st_status take_list(st_rehearsal *r, work *w, int i,
                           const st_value *v) {
  const int n = (int)v->len;
  int *at = w->at + w->nlisted;
  st_tensor **listed = w->listed + w->nlisted;
  if (n > MOST_LISTED - w->nlisted) return refuse(r, "a list is too long");
  w->nlisted += n;
  for (int k = 0; k < n; k++) {
    at[k] = NOTHING;
    listed[k] = NULL;
    if (!v->u.tensors[k]) continue;
    w->has_tensor = true;
    ST_TRY(refer(r, v->u.tensors[k], &at[k]));
    listed[k] = double_of(r, at[k], v->u.tensors[k]);
  }
  w->refs[i] = (st_ref){.kind = ST_REF_TENSORS, .n = n, .list = at};
  w->args[i] = st__of_tensors(listed, n);
  return ST_OK;
}

/* Doubles say that they are on the meta device, and so does who asks them. */
static st_status take_device(st_rehearsal *r, work *w, int i) {
  st_value *v = &w->args[i];
  if (v->tag != ST_TAG_INT) return ST_OK;
  if (v->u.i != ST_DEVICE_CPU && v->u.i != ST_DEVICE_META) {
    return refuse(r, "it uses another device");
  }
  v->u.i = ST_DEVICE_META;
  w->refs[i].value.u.i = ST_DEVICE_CPU;
  return ST_OK;
}

static st_status take_arg(st_rehearsal *r, work *w, int i,
                          const st_value *v) {
  w->refs[i] = (st_ref){.kind = ST_REF_VALUE, .value = *v};
  w->args[i] = *v;
  if (v->tag == ST_TAG_TENSOR) {
    int *at = &w->refs[i].at;
    w->has_tensor = true;
    w->refs[i].kind = ST_REF_TENSOR;
    ST_TRY(refer(r, v->u.tensor, at));
    w->args[i] = st__of_tensor(double_of(r, *at, v->u.tensor));
    return ST_OK;
  }
  if (v->tag == ST_TAG_TENSORS) return take_list(r, w, i, v);
  if (v->tag == ST_TAG_GENERATOR) {
    return refuse(r, "it uses a random generator of its own");
  }
  return w->call->schema->args[i].type == ST_TYPE_DEVICE
         ? take_device(r, w, i) : ST_OK;
}

/* Where there is no tensor, the device alone makes doubles of the results. */
static void choose_device(work *w) {
  const st_schema *s = w->call->schema;
  for (int i = 0; i < s->nargs && !w->has_tensor; i++) {
    if (s->args[i].type == ST_TYPE_DEVICE) {
      w->args[i] = st__of_int(ST_DEVICE_META);
    }
  }
}

static st_status take_args(st_rehearsal *r, work *w, const st_value *args) {
  w->nlisted = 0;
  w->has_tensor = false;
  for (int i = 0; i < w->call->schema->nargs; i++) {
    ST_TRY(take_arg(r, w, i, &args[i]));
  }
  choose_device(w);
  return ST_OK;
}

/* -- Results -------------------------------------------------------------- */

static int count_tensors(const st_schema *s, const st_value *rets) {
  int n = 0;
  for (int i = 0; i < s->nrets; i++) {
    n += rets[i].tag == ST_TAG_TENSORS ? (int)rets[i].len : 1;
  }
  return n;
}

static st_tensor *nth_tensor(const st_value *rets, int n) {
  for (;; rets++) {
    if (rets->tag != ST_TAG_TENSORS) {
      if (n-- == 0) return st__to_tensor(rets);
    } else if (n < (int)rets->len) {
      return rets->u.tensors[n];
    } else {
      n -= (int)rets->len;
    }
  }
}

/* New tensors on the meta device, all of them; or known ones. */
static st_status check_results(st_rehearsal *r, const st_value *rets, int n,
                               bool *is_new) {
  int nknown = 0;
  for (int i = 0; i < n; i++) {
    const st_tensor *t = nth_tensor(rets, i);
    if (!t || !st__is_meta(t) || st__is_lazy(t)) {
      return refuse(r, "an operator gives no plain tensor");
    }
    nknown += find(r, t) != NOTHING;
  }
  *is_new = nknown == 0;
  if (nknown == 0 || nknown == n) return ST_OK;
  return refuse(r, "an operator gives one of its arguments");
}

/* A call of op, which gives these doubles. */
static st_status record(st_rehearsal *r, const work *w, const st_op *op,
                        const st_schema *s, const st_value *rets) {
  char where[128] = "";
  const int n = count_tensors(s, rets);
  const size_t size = (size_t)s->nargs * sizeof *w->refs;
  if (r->ncalls == ST_RECORD_CALLS) return refuse(r, "it is too long");
  if (r->where) r->where(r->ctx, where, sizeof where);
  st_recorded_call *c = &r->calls[r->ncalls];
  *c = (st_recorded_call){.op = op, .schema = s, .nresults = n,
                          .result = r->nvalues};
  c->where = st__arena_text(&r->arena, where, strlen(where));
  c->args = st__arena_alloc(&r->arena, size + 1, 2048);
  if (!c->where || !c->args) return ST_NO_MEMORY;
  memcpy(c->args, w->refs, size);
  for (int i = 0; i < s->nargs; i++) {
    ST_TRY(st__ref_keep(&r->arena, &c->args[i]));
  }
  for (int i = 0; i < n; i++) {
    int v = NOTHING;
    ST_TRY(add_value(r, ST_ORIGIN_CALL, NULL, nth_tensor(rets, i), &v));
    ST_TRY(know(r, nth_tensor(rets, i), v));
  }
  if (w->nlisted > r->most_listed) r->most_listed = w->nlisted;
  r->ncalls++;
  return ST_OK;
}

/* -- Leaves --------------------------------------------------------------- */

/* A call with doubles; warnings are for real ones. */
static st_status run_doubles(st_rehearsal *r, const st_op *op,
                             const work *w, st_value *rets) {
  const bool muted = st__mute(true);
  const st_status status = st__call(op, w->args, rets);
  st__mute(muted);
  if (status == ST_OK || status == ST_NO_MEMORY) return status;
  return refuse(r, st__message());
}

static st_status record_leaf(st_rehearsal *r, const work *w,
                             st_value *rets) {
  const st_schema *s = w->call->schema;
  bool is_new = false;
  ST_TRY(run_doubles(r, w->call->op, w, rets));
  const int n = count_tensors(s, rets);
  st_status status = check_results(r, rets, n, &is_new);
  if (status == ST_OK && is_new) status = record(r, w, w->call->op, s, rets);
  for (int i = 0; i < s->nrets && status != ST_OK; i++) {
    st__value_clear(&rets[i]);
  }
  return status;
}

/* What is no tensor follows from doubles, or nobody knows it yet. */
static st_status run_question(st_rehearsal *r, const work *w,
                              st_value *rets) {
  r->is_shaped = true;
  return run_doubles(r, w->call->op, w, rets);
}

/* -- In place ------------------------------------------------------------- */

/* "aten::add_" -> "aten::add", of the same overload and arguments. */
static const st_op *functional(const work *w) {
  const st_op *op = w->call->op;
  char name[128];
  snprintf(name, sizeof name, "%s", st__op_name(op));
  const size_t n = strlen(name);
  if (n == 0 || name[n - 1] != '_') return NULL;
  name[n - 1] = 0;
  const st_op *found = st__op_find(name, st__op_overload_name(op));
  const st_schema *s = found ? st__op_schema(found) : NULL;
  return s && s->nargs == w->call->schema->nargs && s->nrets == 1 ? found
                                                                  : NULL;
}

static bool is_like(const st_tensor *a, const st_tensor *b) {
  return a->dtype == b->dtype && st__same_sizes(a, b) &&
         st__same_dims(a->ndim, a->strides, b->strides);
}

/* Note [Recordings write nothing] */
static st_status record_inplace(st_rehearsal *r, const work *w,
                                st_tensor *self, st_value *rets) {
  static const char why[] = "it writes what it has not made, or has views of";
  const st_recorded *v = &r->values[w->refs[0].at];
  const st_op *op = functional(w);
  st_value made = st__none();
  bool is_new = false;
  if (v->origin != ST_ORIGIN_CALL ||
      st__ref_count(&self->storage->refs) > 1) {
    return refuse(r, why);
  }
  if (!op) return refuse(r, "it writes with an operator that only writes");
  ST_TRY(run_doubles(r, op, w, &made));
  st_status status = check_results(r, &made, 1, &is_new);
  if (status == ST_OK && (!is_new || !is_like(st__to_tensor(&made), self))) {
    status = refuse(r, why);
  }
  if (status == ST_OK) {
    status = record(r, w, op, st__op_schema(op), &made);
  }
  if (status == ST_OK) status = know(r, self, r->nvalues - 1);
  st__value_clear(&made);
  if (status != ST_OK) return status;
  st__tensor_retain(self);
  rets[0] = st__of_tensor(self);
  return ST_OK;
}

/* -- The mode ------------------------------------------------------------- */

static bool gives_tensors(const st_schema *s) {
  for (int i = 0; i < s->nrets; i++) {
    if (s->rets[i].type != ST_TYPE_TENSOR) return false;
  }
  return s->nrets > 0;
}

/* The index of the first argument that is written, or -1. */
static int first_written(const st_schema *s, const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    if (s->args[i].is_write && args[i].tag != ST_TAG_NONE) return i;
  }
  return -1;
}

/* A number that what was met gives is not that of the next run. */
static st_status look(st_rehearsal *r, const st_schema *s,
                      const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    const st_tensor *t = st__to_tensor(&args[i]);
    if (t && st__rehearsal_has(r, t)) return st__rehearsal_ask(r);
  }
  return refuse(r, "it looks at the elements of a tensor that it has met");
}

typedef enum making { COMPOSITE, LEAF, ALIEN } making;

/* A Lua kernel, or another that the engine knows nothing of, is alien. */
static making making_of(const st_op *op) {
  const st_kernel_facts cpu = st__kernel_facts(op, "CPU");
  const st_kernel_facts meta = st__kernel_facts(op, "Meta");
  const st_kernel_facts grad = st__kernel_facts(op, "AutogradCPU");
  if (cpu.is_implicit && grad.is_implicit) {
    return cpu.is_owned ? ALIEN : COMPOSITE;
  }
  if ((cpu.is_owned && cpu.fn != st__structured) ||
      (meta.is_owned && meta.fn != st__structured) ||
      (grad.is_owned && grad.fn != st__record_call)) {
    return ALIEN;
  }
  return LEAF;
}

/* Its parts are recorded. */
static st_status enter_composite(st_rehearsal *r, const work *w,
                                 st_value *rets) {
  r->is_shaped = true;
  st__mode_push(&r->mode);
  const st_status status =
    st__redispatch_boxed(w->call->op, w->call->schema,
                         st__device_keys(ST_DEVICE_META), w->args, rets);
  st__mode_pop();
  return status;
}

static st_status check_state(st_rehearsal *r) {
  const st_tls now = st__tls();
  if (r->was_asked) return st__rehearsal_ask(r);
  if (r->was_refused) return fail_refused(r);
  if (!now.grad) return refuse(r, "it stops recording gradients");
  return ST_OK;
}

static st_status see(st_rehearsal *r, work *w, const st_value *args,
                     st_value *rets) {
  const st_schema *s = w->call->schema;
  const int tags = st__op_tags(w->call->op), writes = first_written(s, args);
  ST_TRY(check_state(r));
  if (tags & ST_OPTAG_DATA_DEPENDENT_OUTPUT) return look(r, s, args);
  if (tags & ST_OPTAG_INPLACE_VIEW) return refuse(r, "it changes a shape");
  if (writes > 0) return refuse(r, "it writes with out=");
  const making made = making_of(w->call->op);
  if (made == ALIEN) return refuse(r, "it calls an operator of a library");
  ST_TRY(take_args(r, w, args));
  if (writes == 0 && args[0].tag != ST_TAG_TENSOR) {
    return refuse(r, "it writes a list of tensors");
  }
  if (made == COMPOSITE) return enter_composite(r, w, rets);
  if (writes == 0) return record_inplace(r, w, args[0].u.tensor, rets);
  return gives_tensors(s) ? record_leaf(r, w, rets)
                          : run_question(r, w, rets);
}

static st_status run_mode(const st_call *call, const st_value *args,
                          st_value *rets) {
  st_rehearsal *r = call->ctx;
  work *w = st__alloc(ST_MEM_SCRATCH, sizeof *w);
  st_status status = ST_NO_MEMORY;
  if (w) {
    w->call = call;
    status = see(r, w, args, rets);
    st__free(ST_MEM_SCRATCH, w, sizeof *w);
  }
  if (status == ST_NO_MEMORY) r->lacks_memory = true;
  return status;
}

/* -- Beginning and end ---------------------------------------------------- */

/* Gradients belong to what is run later; but whether they are recorded must
 * not change on the way. */
static void enter(st_rehearsal *r) {
  st_tls tls = r->tls = st__tls();
  tls.grad = true;
  tls.excluded |= ST_AUTOGRAD_BITS | ST_BIT(ST_FUNC_ADInplaceOrView);
  st__set_tls(tls);
  r->mode = (st_mode){.fn = run_mode, .ctx = r};
  st__mode_push(&r->mode);
}

void st__rehearsal_leave(st_rehearsal *r) {
  st__mode_pop();
  st_tls tls = r->tls;
  tls.included = st__tls().included;
  st__set_tls(tls);
}

void st__rehearsal_free(st_rehearsal **recording) {
  st_rehearsal *r = *recording;
  *recording = NULL;
  for (int i = 0; i < r->nknown; i++) st__tensor_release(&r->known[i].tensor);
  for (int i = 0; i < r->nvalues; i++) {
    if (r->values[i].tensor) st__tensor_release(&r->values[i].tensor);
    st__tensor_release(&r->values[i].twin);
  }
  st__arena_free(&r->arena);
  st__free(ST_MEM_SCRATCH, r, sizeof *r);
}

st_status st__rehearsal_begin(const st_tracing_config *c,
                              st_tensor *const *inputs, st_rehearsal **out) {
  ST_ASSERT(c->ninputs <= ST_RECORD_ARGS);
  st_rehearsal *r = st__alloc(ST_MEM_SCRATCH, sizeof *r);
  if (!r) return ST_NO_MEMORY;
  memset(r, 0, offsetof(st_rehearsal, outputs));
  r->arena = (st_arena){.kind = ST_MEM_REGISTRY};
  r->name = c->name;
  r->where = c->where;
  r->ctx = c->ctx;
  for (int i = 0; i < c->ninputs; i++) {
    int v = NOTHING;
    const st_status status = add_double(r, ST_ORIGIN_ARG, inputs[i], &v);
    if (status != ST_OK) return st__rehearsal_free(&r), status;
  }
  enter(r);
  *out = r;
  return ST_OK;
}

st_tensor *st__rehearsal_input(const st_rehearsal *r, int i) {
  return r->values[i].twin;
}

bool st__rehearsal_outputs(st_rehearsal *r, int n,
                           st_tensor *const *outputs) {
  if (n > ST_RECORD_OUTPUTS) st__rehearsal_refuse(r, "it returns too much");
  for (int i = 0; i < n && !r->was_refused; i++) {
    r->outputs[i] = find(r, outputs[i]);
    if (r->outputs[i] == NOTHING ||
        r->values[r->outputs[i]].origin == ST_ORIGIN_KEPT) {
      st__rehearsal_refuse(r, "it returns a tensor that it has met");
    }
  }
  r->noutputs = n;
  return !r->was_refused && !r->was_asked;
}
