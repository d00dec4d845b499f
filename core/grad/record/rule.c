/* Rules, and the nodes that apply them.
 */

#include "grad/record/rule.h"

#include <string.h>

#include "op/row/composite.h"

/* -- Creation ------------------------------------------------------------- */

/* Names the nodes: those of "mul_" are "MulBackward0". */
static void name_nodes(st_rule *r) {
  const char *s = strstr(st_op_name(r->op), "::");
  size_t n = 0;
  bool is_start = true;
  for (s = s ? s + 2 : st_op_name(r->op); *s && n < 48; s++) {
    if (*s == '_') {
      is_start = true;
      continue;
    }
    const bool is_small = *s >= 'a' && *s <= 'z';
    r->name[n++] = is_start && is_small ? (char)(*s - 'a' + 'A') : *s;
    is_start = false;
  }
  memcpy(r->name + n, "Backward0", sizeof "Backward0");
}

static st_status new_rule(const st_op *op, st_rule **out) {
  st_rule *r = st__alloc_zero(ST_MEM_REGISTRY, sizeof *r);
  if (!r) return ST_NO_MEMORY;
  const st_schema *s = st__op_schema(op);
  st__ref_init(&r->refs);
  r->op = op;
  r->schema = s;
  r->is_inplace = s->nargs > 0 && s->args[0].is_write;
  r->is_view = !s->is_mutable && s->nrets > 0 && s->rets[0].is_alias;
  r->is_multi = s->nrets > 0 && s->rets[0].list;
  name_nodes(r);
  *out = r;
  return ST_OK;
}

static st_status parse_all(st_rule *r, int n, const char *const *formulas,
                           bool is_builtin) {
  r->formulas = st__alloc_zero(ST_MEM_REGISTRY,
                               (size_t)n * sizeof *r->formulas);
  if (!r->formulas) return ST_NO_MEMORY;
  r->nformulas = n;
  for (int i = 0; i < n; i++) {
    st_formula *const f = &r->formulas[i];
    ST_TRY(st__formula_parse(formulas[i], r->schema, is_builtin, f));
    if (r->targets & f->targets) {
      return st__fail(ST_BAD_SCHEMA, "two derivatives for one argument: '%s'",
                      formulas[i]);
    }
    r->targets |= f->targets;
    r->common |= r->args & f->args;
    r->args |= f->args;
    r->needed |= f->needed;
    r->results |= f->results;
    r->arg_shapes |= f->arg_shapes;
    r->result_shapes |= f->result_shapes;
  }
  if (r->is_inplace && !(r->targets & 1)) {
    return st__fail(ST_BAD_SCHEMA, "the derivative for '%s', which is written "
                    "in place, is missing", r->schema->args[0].name);
  }
  return ST_OK;
}

st_status st__rule_new(const st_op *op, int n, const char *const *formulas,
                       bool is_builtin, st_rule **out) {
  ST_TRY(new_rule(op, out));
  const st_status status = n ? parse_all(*out, n, formulas, is_builtin)
                             : ST_OK;
  if (status == ST_OK) return ST_OK;
  st__rule_release(*out);
  *out = NULL;
  return status;
}

st_status st__rule_custom(const st_op *op, const st_derivative *d,
                          st_rule **out) {
  ST_TRY(new_rule(op, out));
  st_rule *const r = *out;
  r->custom = *d;
  for (int i = 0; i < r->schema->nargs; i++) {
    r->args |= (uint64_t)1 << i;
    r->needed |= (uint64_t)1 << i;
    if (r->schema->args[i].type == ST_TYPE_TENSOR) {
      r->targets |= (uint64_t)1 << i;
    }
  }
  for (int i = 0; i < r->schema->nrets; i++) r->results |= (uint64_t)1 << i;
  return ST_OK;
}

void st__rule_retain(st_rule *r) { st__ref_take(&r->refs); }

void st__rule_release(void *rule) {
  st_rule *const r = rule;
  if (!r || !st__ref_drop(&r->refs)) return;
  for (int i = 0; i < r->nformulas; i++) st__formula_free(&r->formulas[i]);
  if (r->formulas) {
    st__free(ST_MEM_REGISTRY, r->formulas,
             (size_t)r->nformulas * sizeof *r->formulas);
  }
  if (r->custom.free_ctx) r->custom.free_ctx(r->custom.ctx);
  st__free(ST_MEM_REGISTRY, r, sizeof *r);
}

/* -- Running -------------------------------------------------------------- */

/* True if a gradient that f reads is defined. */
static bool has_any(const st_formula *f, const st_rule_node *rec,
                    st_tensor *const *grads) {
  for (int i = 0; i < rec->node.nresults; i++) {
    const bool reads_grad = f->takes_list || f->grads >> (i & 63) & 1;
    if (reads_grad && grads[i]) return true;
  }
  return false;
}

/* Stores the tensors of v, the value of f, as gradients of the inputs. Clears
 * v. */
static st_status store_grads(const st_formula *f, const st_rule_node *rec,
                             st_value *v, const bool *wanted, st_tensor **out) {
  const st_rule *r = rec->rule;
  uint32_t at = 0;
  for (uint64_t bits = f->targets; bits; bits &= bits - 1) {
    const int rank = st__rank(r->targets, __builtin_ctzll(bits));
    for (int i = rec->first[rank]; i < rec->first[rank + 1]; i++, at++) {
      st_tensor **from = v->tag == ST_TAG_TENSOR ? &v->u.tensor
                       : v->tag == ST_TAG_TENSORS && at < v->len
                         ? &v->u.tensors[at] : NULL;
      if (!from || !*from || !wanted[i] || (v->tag == ST_TAG_TENSOR && at)) {
        continue;
      }
      st__tensor_retain(*from);
      out[i] = *from;
    }
  }
  st__value_clear(v);
  return ST_OK;
}

static bool is_wanted(const st_formula *f, const st_rule_node *rec,
                      const bool *wanted) {
  for (uint64_t bits = f->targets; bits; bits &= bits - 1) {
    const int rank = st__rank(rec->rule->targets, __builtin_ctzll(bits));
    for (int i = rec->first[rank]; i < rec->first[rank + 1]; i++) {
      if (wanted[i]) return true;
    }
  }
  return false;
}

static st_status run_formula(const st_formula *f, st_rule_node *rec,
                             st_tensor *const *grads, const bool *wanted,
                             st_tensor **out) {
  st_value v;
  if (!has_any(f, rec, grads)) return ST_OK;
  ST_TRY(st__formula_value(f, rec, grads, &v));
  return store_grads(f, rec, &v, wanted, out);
}

static st_status unpack_all(st_rule_node *rec, st_value *args, st_value *rets) {
  const st_rule *r = rec->rule;
  for (int i = 0; i < r->schema->nargs; i++) {
    ST_TRY(st__saved_unpack(&rec->args[i], &rec->node, r->schema->args[i].name,
                            &args[i]));
  }
  for (int i = 0; i < r->schema->nrets; i++) {
    ST_TRY(st__saved_unpack(&rec->results[i], &rec->node, "result", &rets[i]));
  }
  return ST_OK;
}

static st_status run_custom(st_rule_node *rec, st_tensor *const *grads,
                            const bool *wanted, st_tensor **out) {
  const st_rule *r = rec->rule;
  st_value args[ST_MAX_ARGS] = {{0}}, rets[ST_MAX_ARGS] = {{0}};
  st_status status = unpack_all(rec, args, rets);
  if (status == ST_OK) {
    status = r->custom.backward(r->custom.ctx, r->op, args, rets, grads,
                                wanted, out);
  }
  for (int i = 0; i < r->schema->nargs; i++) st__value_clear(&args[i]);
  for (int i = 0; i < r->schema->nrets; i++) st__value_clear(&rets[i]);
  return status;
}

/* Checks all saved tensors, whether or not a formula reads them this time: the
 * error must not depend on the values that the gradient is computed from. */
static st_status check_saved(const st_rule_node *rec) {
  const st_rule *r = rec->rule;
  for (uint64_t bits = r->needed; bits; bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    ST_TRY(st__saved_check(&rec->args[st__rank(r->args, i)], &rec->node,
                           r->schema->args[i].name));
  }
  for (uint64_t bits = r->results; bits; bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    ST_TRY(st__saved_check(&rec->results[st__rank(r->results, i)],
                           &rec->node, "result"));
  }
  return ST_OK;
}

st_status st__rule_run(st_node *n, st_tensor *const *grads,
                       const bool *wanted, st_tensor **out) {
  st_rule_node *const rec = (st_rule_node *)(void *)n;
  const st_rule *r = rec->rule;
  if (r->custom.backward) return run_custom(rec, grads, wanted, out);
  ST_TRY(check_saved(rec));
  for (int i = 0; i < r->nformulas; i++) {
    if (!is_wanted(&r->formulas[i], rec, wanted)) continue;
    ST_TRY(run_formula(&r->formulas[i], rec, grads, wanted, out));
  }
  return ST_OK;
}
