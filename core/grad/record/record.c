/* Recording: the kernels of the Autograd and ADInplaceOrView keys.
 *
 * Note [Recording a call]
 * A call is recorded if grad mode is on and an argument for which its rule has
 * a formula requires a gradient. The node is made before the operator runs, so
 * that failures come before any write. Its edges and the arguments that the
 * formulas of the connected inputs read are saved then, results after the
 * operator has run. If a formula reads the argument that an in-place operator
 * overwrites, a copy is saved.
 */

#include "grad/record/record.h"

#include <string.h>

#include "base/interrupt.h"
#include "grad/record/derivatives.h"
#include "grad/graph/view_history.h"
#include "op/row/composite.h"
#include "tensor/view.h"

/* -- Redispatch ----------------------------------------------------------- */

static st_status redispatch(const st_call *call, const st_value *args,
                            st_value *rets) {
  return st__call_below(call, ST_FUNC_AutogradOther,
                        ST_AUTOGRAD_BITS | ST_BIT(ST_FUNC_ADInplaceOrView),
                        args, rets);
}

/* -- Required gradients --------------------------------------------------- */

static bool value_requires_grad(const st_value *v) {
  const st_tensors list = st__tensors_in(v);
  for (uint32_t i = 0; i < list.n; i++) {
    if (list.p[i] && st__requires_grad(list.p[i])) return true;
  }
  return false;
}

/* True if a target of the rule requires a gradient. */
static bool is_recorded(const st_rule *r, const st_value *args) {
  for (uint64_t bits = r->targets; bits; bits &= bits - 1) {
    if (value_requires_grad(&args[__builtin_ctzll(bits)])) return true;
  }
  return false;
}

/* -- The node ------------------------------------------------------------- */

/* Most masks are 0; the instruction that counts is not in base x86-64. */
static int count_bits(uint64_t mask) {
  return mask ? __builtin_popcountll(mask) : 0;
}

static int saved_count(const st_rule *r) {
  return count_bits(r->args) + count_bits(r->results) +
         count_bits(r->arg_shapes) + count_bits(r->result_shapes);
}

static void release_record(st_node *n) {
  st_rule_node *const rec = (st_rule_node *)(void *)n;
  const int nsaved = saved_count(rec->rule);
  for (int i = 0; i < nsaved; i++) {
    st__saved_release(&rec->args[i]);
  }
}

static void free_record(st_node *n) {
  st_rule_node *const rec = (st_rule_node *)(void *)n;
  const int nsaved = saved_count(rec->rule);
  for (int i = 0; i < nsaved; i++) {
    st__saved_clear(&rec->args[i]);
  }
  st__rule_release(rec->rule);
}

static const st_node_kind record_kind = {st__rule_run, release_record,
                                         free_record};

/* The number of node inputs of an argument: one per tensor. */
static int inputs_of(const st_value *v) {
  return v->tag == ST_TAG_TENSORS ? (int)v->len : 1;
}

/* nresults: 0 for an operator that returns a list, until it has run. */
static st_status new_record(st_rule *r, const st_value *args, int nresults,
                            st_rule_node **out) {
  const int nsaved = saved_count(r);
  const size_t firsts = ((size_t)count_bits(r->targets) + 2) / 2 * 2;
  int ninputs = 0, rank = 0;
  st_node *n;
  for (uint64_t bits = r->targets; bits; bits &= bits - 1) {
    ninputs += inputs_of(&args[__builtin_ctzll(bits)]);
  }
  ST_TRY(st__node_new(&record_kind, sizeof(st_rule_node) +
                      (size_t)nsaved * sizeof(st_saved) +
                      firsts * sizeof(int), ninputs, nresults, &n));
  st_rule_node *const rec = *out = (st_rule_node *)(void *)n;
  rec->rule = r;
  st__rule_retain(r);
  n->name = r->name;
  rec->args = (st_saved *)(void *)(rec + 1);
  rec->results = rec->args + count_bits(r->args);
  rec->arg_shapes = rec->results + count_bits(r->results);
  rec->result_shapes = rec->arg_shapes + count_bits(r->arg_shapes);
  rec->first =
    (int *)(void *)(rec->result_shapes + count_bits(r->result_shapes));
  ninputs = 0;
  for (uint64_t bits = r->targets; bits; bits &= bits - 1) {
    rec->first[rank++] = ninputs;
    ninputs += inputs_of(&args[__builtin_ctzll(bits)]);
  }
  rec->first[rank] = ninputs;
  return ST_OK;
}

static st_status connect(st_rule_node *rec, int i, st_tensor *t) {
  if (!t || !st__requires_grad(t)) return ST_OK;
  ST_TRY(st__gradient_edge(t, &rec->node.edges[i]));
  return st__metadata_init(&rec->node.inputs[i], t);
}

static st_status connect_all(st_rule_node *rec, const st_value *args) {
  const st_rule *r = rec->rule;
  for (uint64_t bits = r->targets; bits; bits &= bits - 1) {
    const int i = __builtin_ctzll(bits), at = rec->first[st__rank(r->targets,
                                                                  i)];
    const st_tensors list = st__tensors_in(&args[i]);
    for (uint32_t k = 0; k < list.n; k++) {
      ST_TRY(connect(rec, at + (int)k, list.p[k]));
    }
  }
  return ST_OK;
}

/* The bits of the targets with an edge. A view made within no_grad requires a
 * gradient but has no history, so it has none. */
static uint64_t connected(const st_rule_node *rec) {
  uint64_t found = 0;
  int rank = 0;
  for (uint64_t bits = rec->rule->targets; bits; bits &= bits - 1, rank++) {
    for (int i = rec->first[rank]; i < rec->first[rank + 1]; i++) {
      if (rec->node.edges[i].node) found |= bits & -bits;
    }
  }
  return found;
}

/* -- Saved values --------------------------------------------------------- */

typedef struct needs {
  uint64_t args, results, arg_shapes, result_shapes;
} needs;

/* An argument that only one formula reads is saved if the gradient of that
 * formula is needed. As in ATen, results and arguments that several formulas
 * read are always saved, so that which tensors may be written in place does
 * not depend on which inputs require gradients. */
static needs needs_of(const st_rule *r, uint64_t wanted) {
  needs n = {.args = r->common, .results = r->results};
  if (r->custom.backward) n.args = r->args;
  for (int i = 0; i < r->nformulas; i++) {
    const st_formula *f = &r->formulas[i];
    if (!(f->targets & wanted)) continue;
    n.args |= f->args;
    n.arg_shapes |= f->arg_shapes;
    n.result_shapes |= f->result_shapes;
  }
  return n;
}

static st_status save_args(st_rule_node *rec, const needs *need,
                           const st_value *args) {
  const st_rule *r = rec->rule;
  for (uint64_t bits = need->args; bits; bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    st_saved *const s = &rec->args[st__rank(r->args, i)];
    const bool is_lost = i == 0 && r->is_inplace;
    if (is_lost && !(r->needed & 1)) continue;
    if (is_lost && args[0].tag == ST_TAG_TENSOR) {
      ST_TRY(st__save_clone(s, args[0].u.tensor));
    } else {
      ST_TRY(st__save(s, &args[i], false));
    }
    rec->node.has_saved |= args[i].tag == ST_TAG_TENSOR ||
                           args[i].tag == ST_TAG_TENSORS;
  }
  for (uint64_t bits = need->arg_shapes; bits; bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    ST_TRY(st__save_geometry(&rec->arg_shapes[st__rank(r->arg_shapes, i)],
                             &args[i]));
  }
  return ST_OK;
}

static st_status save_results(st_rule_node *rec, const needs *need,
                              const st_value *rets) {
  const st_rule *r = rec->rule;
  for (uint64_t bits = need->results; bits; bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    st_saved *const s = &rec->results[st__rank(r->results, i)];
    ST_TRY(st__save(s, &rets[i], true));
    if (!s->list) s->nr = i;
    rec->node.has_saved = true;
  }
  for (uint64_t bits = need->result_shapes; bits; bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    ST_TRY(st__save_geometry(
      &rec->result_shapes[st__rank(r->result_shapes, i)], &rets[i]));
  }
  return ST_OK;
}

/* -- Results -------------------------------------------------------------- */

/* Replaces a result that is one of the arguments, and so has a history, by an
 * alias of it. */
static st_status unshare_header(st_tensor **t) {
  st_tensor *view;
  if (st__ref_count(&(*t)->refs) == 1) return ST_OK;
  ST_TRY(st__view_alias(*t, &view));
  st__tensor_release(t);
  *t = view;
  return ST_OK;
}

static st_status give_history(st_rule_node *rec, st_tensor **t, int nr) {
  const st_rule *r = rec->rule;
  if (rec->node.nresults > 1) {
    ST_TRY(st__metadata_init(&rec->node.results[nr], *t));
  }
  if (!st__is_differentiable(*t)) return ST_OK;
  if (r->is_inplace) {
    st_node *next;
    ST_TRY(st__rebase_prepare(*t, &rec->node, nr, &next));
    st__rebase(*t, &next, nr);
    return ST_OK;
  }
  ST_TRY(unshare_header(t));
  ST_TRY(st__set_grad_fn(*t, &rec->node, nr));
  if (r->is_multi && r->is_view && st__base(*t)) {
    ((st_view_tensor *)(void *)*t)->creation = ST_CREATION_MULTI_OUTPUT;
  }
  return ST_OK;
}

static st_status give_histories(st_rule_node *rec, st_value *rets) {
  const st_schema *s = rec->rule->schema;
  for (int i = 0; i < s->nrets; i++) {
    if (rets[i].tag == ST_TAG_TENSOR) {
      ST_TRY(give_history(rec, &rets[i].u.tensor, i));
    }
    for (uint32_t k = 0; rets[i].tag == ST_TAG_TENSORS && k < rets[i].len;
         k++) {
      ST_TRY(give_history(rec, &rets[i].u.tensors[k], (int)k));
    }
  }
  return ST_OK;
}

/* Replaces the node by one with n results. The number of results is fixed when
 * a node is made, but the length of a returned list is known only after the
 * operator has run. Saved values move to the new node. */
static st_status resize_node(st_rule_node **rec, const st_value *args, int n) {
  st_rule_node *old = *rec;
  st_node *gone = &old->node;
  const st_rule *r = old->rule;
  ST_TRY(new_record((st_rule *)(uintptr_t)r, args, n, rec));
  st_rule_node *const now = *rec;
  const size_t nsaved = (size_t)saved_count(r);
  memcpy(now->args, old->args, nsaved * sizeof(st_saved));
  memset(old->args, 0, nsaved * sizeof(st_saved));
  now->node.has_saved = old->node.has_saved;
  st__node_release(&gone);
  ST_TRY(connect_all(now, args));
  st__node_number(&now->node);
  return ST_OK;
}

static st_status finish(st_rule_node **rec, const needs *need,
                        const st_value *args, st_value *rets) {
  if ((*rec)->rule->is_multi) {
    ST_TRY(resize_node(rec, args, (int)rets[0].len));
  }
  ST_TRY(save_results(*rec, need, rets));
  return give_histories(*rec, rets);
}

/* Note [Failures after a write]
 * What follows a call, saving its results and giving them a history, needs
 * memory. An operator that writes self in place returns self with the same
 * geometry, so all this is prepared before it runs: afterwards nothing can
 * fail, and a call without memory leaves self as it was. An operator such as
 * t_, which changes the geometry, writes no element.
 */
static bool prepares(const st_rule *r, const st_call *call,
                     const st_value *args) {
  return r->is_inplace && args[0].tag == ST_TAG_TENSOR &&
         !(st__op_tags(call->op) & ST_OPTAG_INPLACE_VIEW);
}

/* *next: the next node of self, owned; NULL if self has none. */
static st_status prepare_write(st_rule_node *rec, const needs *need,
                               const st_value *args, st_node **next) {
  st_tensor *const self = args[0].u.tensor;
  ST_TRY(save_results(rec, need, args));
  if (!st__is_differentiable(self)) return ST_OK;
  return st__rebase_prepare(self, &rec->node, 0, next);
}

static void finish_write(const st_rule_node *rec, const needs *need,
                         st_tensor *self, st_node **next) {
  if (need->results) {
    st_saved *const s = &rec->results[0];
    s->version = st__version(s->value.u.tensor);
  }
  if (*next) st__rebase(self, next, 0);
}

static void clear_rets(const st_schema *s, st_value *rets) {
  for (int i = 0; i < s->nrets; i++) st__value_clear(&rets[i]);
}

static st_status record(const st_call *call, st_rule *r,
                        const st_value *args, st_value *rets) {
  st_rule_node *rec;
  ST_TRY(new_record(r, args, r->is_multi ? 0 : r->schema->nrets, &rec));
  st_node *n = &rec->node;
  st_status status = connect_all(rec, args);
  const needs need = needs_of(r, connected(rec));
  if (status == ST_OK) status = save_args(rec, &need, args);
  st__node_number(n);
  if (status == ST_OK && prepares(r, call, args)) {
    st_node *next = NULL;
    status = prepare_write(rec, &need, args, &next);
    if (status == ST_OK) status = redispatch(call, args, rets);
    if (status == ST_OK) finish_write(rec, &need, args[0].u.tensor, &next);
    st__node_release(&next);
    st__node_release(&n);
    return status;
  }
  if (status == ST_OK) status = redispatch(call, args, rets);
  if (status == ST_OK) {
    status = finish(&rec, &need, args, rets);
    n = &rec->node;
    if (status != ST_OK) clear_rets(r->schema, rets);
  }
  st__node_release(&n);
  return status;
}

st_status st__record_call(const st_call *call, const st_value *args,
                          st_value *rets) {
  st_rule *r;
  if (!st__tls().grad) return redispatch(call, args, rets);
  ST_TRY(st__derived_rule(call->ctx, call->op, &r));
  if (!r || !is_recorded(r, args)) return redispatch(call, args, rets);
  if (r->is_inplace) ST_TRY(st__check_inplace(args[0].u.tensor));
  if (call->schema != r->schema) {
    return st__fail(ST_BAD_STATE, "was redefined after its derivative was "
                    "registered");
  }
  return record(call, r, args, rets);
}

/* -- out= variants -------------------------------------------------------- */

st_status st__refuse_out(const st_call *call, const st_value *args,
                         st_value *rets) {
  for (int i = 0; st__tls().grad && i < call->schema->nargs; i++) {
    if (!value_requires_grad(&args[i])) continue;
    if (call->schema->args[0].is_write) {
      return st__fail(ST_BAD_STATE, "does not record gradients, but argument "
                      "'%s' requires one:\nuse it within no_grad",
                      call->schema->args[i].name);
    }
    return st__fail(ST_BAD_STATE, "out= does not record gradients, but "
                    "argument '%s' requires one:\nuse the operator without "
                    "out=, or within no_grad", call->schema->args[i].name);
  }
  return redispatch(call, args, rets);
}

/* -- Versions and views --------------------------------------------------- */

static void bump_versions(const st_value *v) {
  const st_tensors list = st__tensors_in(v);
  for (uint32_t i = 0; i < list.n; i++) {
    if (list.p[i]) st__bump_version(list.p[i]);
  }
}

static void bump_written(const st_schema *s, const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    if (s->args[i].is_write) bump_versions(&args[i]);
  }
}

/* True if a call that failed may have written: it was interrupted, perhaps
 * inside of a kernel that reports an error of its own. */
static bool may_have_written(st_status status) {
  return status == ST_INTERRUPTED ||
         (status == ST_HOST && st__was_interrupted());
}

static st_status track_views(st_tensor *self, st_value *ret) {
  const st_tls tls = st__tls();
  const bool is_list = ret->tag == ST_TAG_TENSORS;
  const st_creation creation = tls.inference ? ST_CREATION_INFERENCE
    : !tls.grad ? ST_CREATION_NO_GRAD
    : is_list ? ST_CREATION_MULTI_OUTPUT : ST_CREATION_DEFAULT;
  if (!is_list) return st__view_track(self, ret->u.tensor, creation);
  for (uint32_t i = 0; i < ret->len; i++) {
    ST_TRY(st__view_track(self, ret->u.tensors[i], creation));
  }
  return ST_OK;
}

/* An inference tensor has no version counter, so a write to a saved one could
 * not be detected (A7). */
static st_status check_counts(const st_schema *s, const st_value *args) {
  if (st__tls().inference) return ST_OK;
  for (int i = 0; i < s->nargs; i++) {
    const st_tensor *t = st__to_tensor(&args[i]);
    if (!s->args[i].is_write || !t ||
        (t->keys & ST_BIT(ST_FUNC_ADInplaceOrView))) {
      continue;
    }
    return st__fail(ST_BAD_STATE, "argument '%s' is an inference tensor, "
                    "which cannot be written outside of inference mode: "
                    "clone it first", s->args[i].name);
  }
  return ST_OK;
}

st_status st__tracked(const st_call *call, const st_value *args,
                      st_value *rets) {
  const st_schema *s = call->schema;
  st_tensor *const self = s->nargs ? st__to_tensor(&args[0]) : NULL;
  st_status status;
  if (s->is_mutable) bump_written(s, args);
  if (s->is_mutable || !self) return ST_OK;
  if (call->op == st__op(ST_OP_detach)) {
    status = st__share_version(self, rets[0].u.tensor);
  } else {
    status = track_views(self, &rets[0]);
  }
  if (status != ST_OK) st__value_clear(&rets[0]);
  return status;
}

st_status st__track(const st_call *call, const st_value *args,
                    st_value *rets) {
  const st_schema *s = call->schema;
  ST_TRY(check_counts(s, args));
  const st_status status = st__call_below(call, ST_FUNC_ADInplaceOrView,
                                          ST_BIT(ST_FUNC_ADInplaceOrView), args,
                                          rets);
  if (status == ST_OK) return st__tracked(call, args, rets);
  if (may_have_written(status)) bump_written(s, args);
  return status;
}
