/* The recorder: a tracer that runs operators on fake tensors (Note [Fake
 * tensors of a recording]).
 */

#include "fuse/trace/recorder.h"

#include "fuse/trace/recorded_operator.h"
#include "grad/graph/history.h"
#include "grad/record/derivatives.h"

/* -- Refusals ------------------------------------------------------------- */

static const char *name_of(const st_recorder *r) {
  return r->base.graph->name;
}

static st_status fail_refused(const st_recorder *r) {
  return st__fail(ST_BAD_STATE, "%s cannot be fused: %s", name_of(r), r->why);
}

void st_recorder_refuse(st_recorder *r, const char *why) {
  char where[128] = "";
  if (r->was_refused) return;
  r->was_refused = true;
  if (r->base.where) r->base.where(r->base.ctx, where, sizeof where);
  snprintf(r->why, sizeof r->why, "%s%s%s", why, *where ? ", at " : "", where);
}

static st_status refuse(st_recorder *r, const char *why) {
  char text[224];
  snprintf(text, sizeof text, "%s%s%s", why, r->op ? ": " : "",
           r->op ? st__recorded_name(r->op) : "");
  st_recorder_refuse(r, text);
  return fail_refused(r);
}

st_status st_recorder_reject_read(st_recorder *r) {
  return refuse(r, "it reads the elements of a tensor");
}

/* -- Values --------------------------------------------------------------- */

static int find(const st_recorder *r, const st_tensor *t) {
  return st__tracer_find(&r->base, t);
}

bool st_recorder_is_fake(const st_recorder *r, const st_tensor *t) {
  const int v = find(r, t);
  return v >= 0 && r->values[v].tensor != t;
}

/* Binds t to value v, from now on. */
static st_status bind_value(st_recorder *r, st_tensor *t, int v) {
  if (st__tracer_is_full(&r->base, 1)) return refuse(r, "too many calls");
  st__tracer_bind(&r->base, t, v);
  return ST_OK;
}

/* Sets value v; a result is one of the last call. Retains tensor and fake. */
static void set_value(st_recorder *r, int v, st_origin origin,
                      st_tensor *tensor, st_tensor *fake) {
  r->values[v] = (st_recorded_value){.origin = (uint8_t)origin,
                                     .call = r->base.graph->nnodes - 1,
                                     .tensor = tensor, .fake = fake};
  if (tensor) st__tensor_retain(tensor);
  st__tensor_retain(fake);
}

/* Appends a tensor to the graph, which no call computes. */
static st_status add_value(st_recorder *r, st_origin origin,
                           st_tensor *tensor, st_tensor *fake, int *out) {
  st_graph *g = r->base.graph;
  if (g->ntensors == ST_RECORD_VALUES) return refuse(r, "too many calls");
  *out = g->ntensors++;
  set_value(r, *out, origin, tensor, fake);
  return ST_OK;
}

/* Note [Gradients of a recording] */
static void require_gradient(st_tensor *fake) {
  fake->keys |= ST_BIT(ST_FUNC_Autograd);
}

static st_status new_fake(const st_recorder *r, const st_tensor *t,
                          st_tensor **out) {
  ST_TRY(st__tensor_empty_strided(ST_DEVICE_META, t->dtype, t->ndim,
                                  t->sizes, t->strides, out));
  (*out)->flags |= t->flags & ST_FLAG_WRAPPED;
  if (r->has_gradients && st__requires_grad(t)) require_gradient(*out);
  return ST_OK;
}

/* -- Arguments ------------------------------------------------------------ */

bool st__is_recordable(const st_tensor *t) {
  return !(t->flags & ST_FLAG_SYMBOL) &&
         (t->keys & ~ST_AUTOGRAD_BITS) == st__tracked_tensor_keys(t->device) &&
         (t->device == ST_DEVICE_CPU || st__device_compiles(t->device));
}

/* A tensor that is not bound yet is captured. */
static st_status capture(st_recorder *r, st_tensor *t, int *out) {
  if (st__is_wrapped_number(t)) {
    return add_value(r, ST_ORIGIN_NUMBER, t, t, out);
  }
  if (!st__is_recordable(t)) {
    return refuse(r, "it uses a tensor that is not a plain CPU tensor");
  }
  if ((st_device)t->device != r->device) {
    return refuse(r, "it uses tensors of several devices");
  }
  st_tensor *fake = NULL;
  ST_TRY(new_fake(r, t, &fake));
  st_status status = add_value(r, ST_ORIGIN_CAPTURED, t, fake, out);
  if (status == ST_OK) status = bind_value(r, fake, *out);
  if (status == ST_OK) status = bind_value(r, t, *out);
  st__tensor_release(&fake);
  return status;
}

static st_status take_tensor(st_tracer *t, const st_arg *arg, st_tensor *s,
                             st_node_arg *ref) {
  (void)arg;
  ref->at = st__tracer_find(t, s);
  return ref->at == ST_UNBOUND ? capture((st_recorder *)t, s, &ref->at)
                               : ST_OK;
}

/* Fake tensors are on the meta device, so a Device argument of a composite
 * operator's call may name it. The call runs on Meta and is recorded with the
 * device of the recording. */
static st_status take_value(st_tracer *t, const st_arg *arg,
                            st_node_arg *ref) {
  st_recorder *r = (st_recorder *)t;
  st_value *v = &ref->value;
  if (v->tag == ST_TAG_GENERATOR) {
    return refuse(r, "it passes a random generator to an operator");
  }
  if (arg->type != ST_TYPE_DEVICE || v->tag != ST_TAG_INT) return ST_OK;
  if (v->u.i != (int64_t)r->device &&
      (v->u.i != ST_DEVICE_META || r->depth == 0)) {
    return refuse(r, "it uses another device");
  }
  v->u.i = r->device;
  return ST_OK;
}

static st_status fail_listed(st_tracer *t, const st_arg *arg) {
  (void)arg;
  return refuse((st_recorder *)t, "a list is too long");
}

static const st_tracer_kind KIND = {take_tensor, take_value, fail_listed};

/* -- Fake arguments ------------------------------------------------------- */

/* An intercepted call: what to record, and the arguments to run it with. */
typedef struct pending_call {
  const st_call *call;
  st_traced_call traced;
  st_value args[ST_MAX_ARGS];
  st_tensor *listed[ST_TRACER_LISTED];
  bool is_whole, may_draw; /* of the node */
} pending_call;

/* A fake tensor is passed as it is, even where an in-place call has bound it
 * to a newer value: an operator must return the tensor that it was given. */
static st_tensor *fake_of(const st_recorder *r, int v, st_tensor *t) {
  return r->values[v].tensor == t ? r->values[v].fake : t;
}

/* The call runs on Meta. One without tensors, of a factory function, does by
 * its Device argument alone. */
static void choose_device(pending_call *w, bool has_tensor) {
  const st_schema *s = w->call->schema;
  for (int i = 0; i < s->nargs; i++) {
    if (s->args[i].type == ST_TYPE_DEVICE &&
        (w->args[i].tag == ST_TAG_INT || !has_tensor)) {
      w->args[i] = st__of_int(ST_DEVICE_META);
    }
  }
}

static void take_fakes(const st_recorder *r, pending_call *w,
                       const st_value *args) {
  st_tensor **listed = w->listed;
  bool has_tensor = false;
  for (int i = 0; i < w->call->schema->nargs; i++) {
    const st_node_arg *ref = &w->traced.args[i];
    w->args[i] = args[i];
    if (ref->kind == ST_NODE_ARG_TENSOR) {
      w->args[i] = st__of_tensor(fake_of(r, ref->at, args[i].u.tensor));
      has_tensor = true;
    } else if (ref->kind == ST_NODE_ARG_TENSORS) {
      for (int k = 0; k < ref->n; k++) {
        st_tensor *t = args[i].u.tensors[k];
        listed[k] = t ? fake_of(r, ref->list[k], t) : NULL;
        has_tensor = has_tensor || t;
      }
      w->args[i] = st__of_tensors(listed, ref->n);
      listed += ref->n;
    }
  }
  choose_device(w, has_tensor);
}

/* -- Results -------------------------------------------------------------- */

/* The results must be tensors on the meta device, either all new or all
 * bound. */
static st_status check_results(st_recorder *r, const st_value *rets, int n,
                               bool *is_new) {
  int nbindings = 0;
  for (int i = 0; i < n; i++) {
    const st_tensor *t = st__nth_result(rets, i);
    if (!t || !st__is_meta(t) || st__is_lazy(t) || !st__is_strided(t)) {
      return refuse(r, "an operator returns no plain tensor");
    }
    nbindings += find(r, t) != ST_UNBOUND;
  }
  *is_new = nbindings == 0;
  if (nbindings == 0 || nbindings == n) return ST_OK;
  return refuse(r, "an operator returns one of its arguments");
}

static bool requires_gradient(const st_tensor *t) {
  return t && (t->keys & ST_AUTOGRAD_BITS);
}

static bool reads_gradient(const pending_call *w) {
  for (int i = 0; i < w->call->schema->nargs; i++) {
    const st_tensors all = st__tensors_in(&w->args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      if (requires_gradient(all.p[k])) return true;
    }
  }
  return false;
}

/* Appends a call of op with these fake results. */
static st_status record(st_recorder *r, const pending_call *w, const st_op *op,
                        const st_schema *s, const st_value *rets) {
  const st_graph *g = r->base.graph;
  const int n = st__count_results(s, rets);
  int first;
  if (g->nnodes == ST_GRAPH_NODES || n > ST_RECORD_VALUES - g->ntensors ||
      st__tracer_is_full(&r->base, n)) {
    return refuse(r, "too many calls");
  }
  ST_TRY(st__tracer_add(&r->base, &w->traced, op, s, n, &first));
  g->nodes[g->nnodes - 1].is_whole = w->is_whole;
  g->nodes[g->nnodes - 1].may_draw = w->may_draw;
  const bool derives = reads_gradient(w) && st__op_passes_gradients(op);
  for (int i = 0; i < n; i++) {
    st_tensor *t = st__nth_result(rets, i);
    if (derives && st__is_differentiable(t)) require_gradient(t);
    set_value(r, first + i, ST_ORIGIN_CALL, NULL, t);
    st__tracer_bind(&r->base, t, first + i);
  }
  return ST_OK;
}

static void clear_results(const st_schema *s, st_value *rets) {
  for (int i = 0; i < s->nrets; i++) st__value_clear(&rets[i]);
}

/* -- Leaves --------------------------------------------------------------- */

/* Calls op on fake tensors. Warnings are muted: the run on real tensors gives
 * them. */
static st_status run_fakes(st_recorder *r, const st_op *op,
                           const pending_call *w, st_value *rets) {
  const bool muted = st__mute(true), missed = st__set_missed(false);
  const st_status status = st__call(op, w->args, rets);
  const bool looks = st__set_missed(missed);
  st__mute(muted);
  if (status == ST_NO_MEMORY || status == ST_INTERRUPTED) return status;
  if (status != ST_OK) return refuse(r, st_message());
  if (!looks || st__gives_tensors(st__op_schema(op))) return ST_OK;
  clear_results(st__op_schema(op), rets);
  return st_recorder_reject_read(r);
}

static st_status record_leaf(st_recorder *r, const pending_call *w,
                             st_value *rets) {
  const st_schema *s = w->call->schema;
  bool is_new = false;
  ST_TRY(run_fakes(r, w->call->op, w, rets));
  const int n = st__count_results(s, rets);
  st_status status = check_results(r, rets, n, &is_new);
  if (status == ST_OK && w->is_whole && !is_new) {
    status = refuse(r, "an operator returns one of its arguments");
  }
  if (status == ST_OK && is_new) status = record(r, w, w->call->op, s, rets);
  if (status != ST_OK) clear_results(s, rets);
  return status;
}

/* An operator that returns no tensor: it runs on the fake tensors and is not
 * recorded. Its result may depend on sizes, and must not on elements. */
static st_status run_query(st_recorder *r, const pending_call *w,
                           st_value *rets) {
  r->uses_sizes = true;
  return run_fakes(r, w->call->op, w, rets);
}

/* -- In-place calls ------------------------------------------------------- */

static bool is_like(const st_tensor *a, const st_tensor *b) {
  return a->dtype == b->dtype && st__same_sizes(a, b) &&
         st__same_dims(a->ndim, a->strides, b->strides);
}

/* Note [Recordings are functional] */
static st_status record_inplace(st_recorder *r, const pending_call *w,
                                st_tensor *self, st_value *rets) {
  static const char why[] = "it writes a tensor that it has not created, or "
                            "that has views";
  const st_recorded_value *v = &r->values[w->traced.args[0].at];
  const st_op *op = st__functional_of(w->call->op);
  st_value made = st__none();
  bool is_new = false;
  if (v->origin != ST_ORIGIN_CALL ||
      st__ref_count(&self->storage->refs) > 1) {
    return refuse(r, why);
  }
  if (!op) return refuse(r, "an in-place operator has no functional one");
  ST_TRY(run_fakes(r, op, w, &made));
  st_status status = check_results(r, &made, 1, &is_new);
  if (status == ST_OK && (!is_new || !is_like(st__to_tensor(&made), self))) {
    status = refuse(r, why);
  }
  if (status == ST_OK) {
    status = record(r, w, op, st__op_schema(op), &made);
  }
  if (status == ST_OK) {
    status = bind_value(r, self, r->base.graph->ntensors - 1);
  }
  if (status == ST_OK && requires_gradient(st__to_tensor(&made))) {
    require_gradient(self);
  }
  st__value_clear(&made);
  if (status != ST_OK) return status;
  st__tensor_retain(self);
  rets[0] = st__of_tensor(self);
  return ST_OK;
}

/* -- Composite operators -------------------------------------------------- */

/* How far the recording is. */
typedef struct progress { int nnodes, ntensors, nbindings; } progress;

static progress progress_of(const st_recorder *r) {
  return (progress){r->base.graph->nnodes, r->base.graph->ntensors,
                    r->base.nbindings};
}

static void go_back(st_recorder *r, progress to) {
  st_graph *g = r->base.graph;
  while (r->base.nbindings > to.nbindings) {
    st__tensor_release(&r->base.bindings[--r->base.nbindings].tensor);
  }
  while (g->ntensors > to.ntensors) {
    st_recorded_value *v = &r->values[--g->ntensors];
    st__tensor_release(&v->tensor);
    st__tensor_release(&v->fake);
  }
  g->nnodes = to.nnodes;
  r->was_refused = false;
}

/* Runs a composite operator with the mode on, so that its parts are
 * recorded. */
static st_status run_parts(st_recorder *r, const pending_call *w,
                           st_value *rets) {
  st_mode_push(&r->base.mode);
  r->depth++;
  const st_status status =
    st__redispatch_boxed(w->call->op, w->call->schema,
                         st__device_keys(ST_DEVICE_META), w->args, rets);
  r->depth--;
  st_mode_pop();
  return status;
}

/* True if each tensor among the results comes from the recording. */
static bool are_bound(const st_recorder *r, const st_schema *s,
                      const st_value *rets) {
  for (int i = 0; i < s->nrets; i++) {
    const st_tensors all = st__tensors_in(&rets[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      if (find(r, all.p[k]) == ST_UNBOUND) return false;
    }
  }
  return true;
}

/* True if the parts draw random numbers, which is not known of all when the
 * operator failed, or if the operator takes a generator. */
static bool may_draw(const st_recorder *r, const pending_call *w,
                     progress from, st_status status) {
  const st_schema *s = w->call->schema;
  bool draws = status != ST_OK;
  for (int i = from.nnodes; i < r->base.graph->nnodes; i++) {
    const st_graph_node *n = &r->base.graph->nodes[i];
    draws |= n->may_draw;
    draws |= st__op_tags(n->op) & ST_OPTAG_NONDETERMINISTIC_SEEDED;
  }
  for (int i = 0; i < s->nargs; i++) {
    draws |= s->args[i].type == ST_TYPE_GENERATOR;
  }
  return draws;
}

static st_status record_whole(st_recorder *r, pending_call *w, bool is_inplace,
                              st_value *rets) {
  w->is_whole = true;
  if (is_inplace) return record_inplace(r, w, w->args[0].u.tensor, rets);
  if (st__gives_tensors(w->call->schema)) return record_leaf(r, w, rets);
  return st_recorder_reject_read(r);
}

/* Note [Composites recorded whole] */
static st_status record_composite(st_recorder *r, pending_call *w,
                                  bool is_inplace, st_value *rets) {
  const st_schema *s = w->call->schema;
  const progress before = progress_of(r);
  const bool muted = st__mute(true), missed = st__set_missed(false);
  const unsigned nmuted = st__count_muted();
  r->uses_sizes = true;
  const st_status status = run_parts(r, w, rets);
  st__mute(muted);
  const bool is_split = status == ST_OK && nmuted == st__count_muted() &&
                        are_bound(r, s, rets);
  if (!st__set_missed(missed) && is_split) return ST_OK;
  if (status == ST_OK) clear_results(s, rets);
  if (status == ST_NO_MEMORY || status == ST_INTERRUPTED) return status;
  w->may_draw = may_draw(r, w, before, status);
  go_back(r, before);
  return record_whole(r, w, is_inplace, rets);
}

/* -- Calls ---------------------------------------------------------------- */

static st_status check_state(st_recorder *r) {
  const st_tls now = st__tls();
  if (r->was_refused) return fail_refused(r);
  if (!now.grad) return refuse(r, "it turns off the recording of gradients");
  return ST_OK;
}

static st_status intercept(st_recorder *r, pending_call *w,
                           const st_value *args, st_value *rets) {
  const st_schema *s = w->call->schema;
  const int tags = st__op_tags(w->call->op);
  const int writes = st__first_written(s, args);
  ST_TRY(check_state(r));
  if (tags & ST_OPTAG_DATA_DEPENDENT_OUTPUT) {
    return st_recorder_reject_read(r);
  }
  if (tags & ST_OPTAG_INPLACE_VIEW) {
    return refuse(r, "it changes the shape of a tensor in place");
  }
  if (writes > 0) return refuse(r, "it writes with out=");
  const st_recorded_kind kind = st__recorded_kind(w->call->op, r->device);
  if (kind == ST_RECORDED_OPAQUE) {
    return refuse(r, "it calls an operator of a library");
  }
  ST_TRY(st__tracer_take_args(&r->base, s, args, &w->traced));
  take_fakes(r, w, args);
  if (writes == 0 && args[0].tag != ST_TAG_TENSOR) {
    return refuse(r, "it writes a list of tensors");
  }
  if (kind == ST_RECORDED_COMPOSITE) {
    return record_composite(r, w, writes == 0, rets);
  }
  if (writes == 0) return record_inplace(r, w, args[0].u.tensor, rets);
  return st__gives_tensors(s) ? record_leaf(r, w, rets)
                          : run_query(r, w, rets);
}

static st_status run_mode(const st_call *call, const st_value *args,
                          st_value *rets) {
  st_recorder *r = call->ctx;
  pending_call *w = st__alloc(ST_MEM_SCRATCH, sizeof *w);
  st_status status = ST_NO_MEMORY;
  if (w) {
    w->call = call;
    const st_op *outer = r->op;
    w->is_whole = w->may_draw = false;
    r->op = call->op;
    status = intercept(r, w, args, rets);
    r->op = outer;
    st__free(ST_MEM_SCRATCH, w, sizeof *w);
  }
  if (status == ST_NO_MEMORY) r->lacks_memory = true;
  return status;
}

/* -- Beginning and end ---------------------------------------------------- */

void st__recorder_leave(st_recorder *r) { st__tracer_leave(&r->base); }

void st__recorder_free(st_recorder **recording) {
  st_recorder *r = *recording;
  *recording = NULL;
  for (int i = 0; i < r->ninputs; i++) st__tensor_release(&r->inputs[i]);
  for (int i = 0; i < ST_RECORD_VALUES; i++) {
    st__tensor_release(&r->values[i].tensor);
    st__tensor_release(&r->values[i].fake);
  }
  st__tracer_free(&r->base);
  st__free(ST_MEM_SCRATCH, r, sizeof *r);
}

static st_status bind_inputs(st_recorder *r, int n, st_tensor *const *inputs) {
  for (int i = 0; i < n; i++) {
    st_tensor *fake = NULL;
    ST_TRY(new_fake(r, inputs[i], &fake));
    set_value(r, i, ST_ORIGIN_ARG, NULL, fake);
    st__tracer_bind(&r->base, fake, i);
    st__tensor_release(&fake);
    st__tensor_retain(r->inputs[i] = inputs[i]);
    r->ninputs = i + 1;
  }
  return ST_OK;
}

/* No history is recorded here: each run of the schedule records its own. Grad
 * mode is on so that check_state sees when the function turns it off. */
st_status st_recorder_begin(const st_tracing_config *c,
                            st_tensor *const *inputs, st_recorder **out) {
  ST_ASSERT(c->ninputs <= ST_RECORD_ARGS);
  st_recorder *r = st__alloc_zero(ST_MEM_SCRATCH, sizeof *r);
  if (!r) return ST_NO_MEMORY;
  r->has_gradients = st__tls().grad;
  r->changes = st__registry_changes();
  if (c->ninputs > 0) r->device = inputs[0]->device;
  st_status status = st__tracer_init(&r->base, &KIND, c);
  if (status == ST_OK) status = bind_inputs(r, c->ninputs, inputs);
  if (status != ST_OK) {
    st__recorder_free(&r);
    return status;
  }
  st__tracer_enter(&r->base, run_mode, true);
  *out = r;
  return ST_OK;
}

st_device st_recorder_device(const st_recorder *r) { return r->device; }

st_tensor *st_recorder_input(const st_recorder *r, int i) {
  return r->values[i].fake;
}

bool st__recorder_input_changed(const st_recorder *r) {
  for (int i = 0; i < r->ninputs; i++) {
    const st_tensor *t = r->inputs[i];
    if (!is_like(t, r->values[i].fake) || !st__is_recordable(t)) return true;
  }
  return false;
}

bool st__recorder_outputs(st_recorder *r, int n,
                          st_tensor *const *outputs) {
  st_graph *g = r->base.graph;
  if (n > ST_RECORD_OUTPUTS) st_recorder_refuse(r, "too many results");
  for (int i = 0; i < n && !r->was_refused; i++) {
    g->outputs[i] = find(r, outputs[i]);
    if (g->outputs[i] == ST_UNBOUND ||
        r->values[g->outputs[i]].origin == ST_ORIGIN_CAPTURED) {
      st_recorder_refuse(r, "it returns a captured tensor");
    }
  }
  g->noutputs = n;
  return !r->was_refused;
}
