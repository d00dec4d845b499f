/* Elementwise operators made from a graph: structured operators, whose meta
 * finds or compiles the program and whose impl runs it.
 */

#include "fuse/schedule/elementwise_op.h"

#include <string.h>

#include "base/text.h"
#include "grad/record/derivatives.h"
#include "iter/loop_report.h"
#include "op/table/register.h"

/* -- Arguments ------------------------------------------------------------ */

static bool is_number(const st_arg *arg) {
  return !arg->list && !arg->optional &&
         (arg->type == ST_TYPE_FLOAT || arg->type == ST_TYPE_INT ||
          arg->type == ST_TYPE_BOOL || arg->type == ST_TYPE_SCALAR);
}

st_status st_graph_arguments(const st_schema *s, int *ninputs, int *nparams) {
  *ninputs = *nparams = 0;
  for (int i = 0; i < s->nargs; i++) {
    if (st__is_one_tensor(&s->args[i])) {
      ++*ninputs;
    } else if (is_number(&s->args[i])) {
      ++*nparams;
    } else {
      return st__fail(ST_BAD_SCHEMA, "argument '%s' of %s is %s; a fused "
                      "operator takes tensors and numbers", s->args[i].name,
                      s->name, s->args[i].text);
    }
  }
  for (int i = 0; i < s->nrets; i++) {
    if (st__is_one_tensor(&s->rets[i])) continue;
    return st__fail(ST_BAD_SCHEMA, "result %d of %s is %s; a fused operator "
                    "returns tensors", i + 1, s->name, s->rets[i].text);
  }
  return ST_OK;
}

/* The scalar of an argument; an integer for a float argument is converted. */
static st_scalar number_of(const st_arg *arg, const st_value *v) {
  if (arg->type == ST_TYPE_FLOAT) {
    return st__scalar_float(st__to_float(v, 0));
  }
  return st__scalar_of(v);
}

/* The inputs and scalar inputs of the graph, from a call's arguments. */
static void graph_args(const st_schema *s, int nargs, const st_value *args,
                       st_tensor **inputs, st_scalar *params) {
  int ninputs = 0, nparams = 0;
  for (int i = 0; i < nargs; i++) {
    if (s->args[i].type == ST_TYPE_TENSOR) {
      inputs[ninputs++] = st__to_tensor(&args[i]);
    } else {
      params[nparams++] = number_of(&s->args[i], &args[i]);
    }
  }
}

/* Note [Redefined operators]
 * An operator may be redefined with another schema while kernels and
 * derivatives of the old one are still registered; and a derivative outlives
 * its library. So arguments are read by the schema that the graph was
 * registered with, and arguments that do not match it are an error. */
static st_status redefined(const char *name) {
  return st__fail(ST_BAD_STATE, "%s was redefined after its expressions "
                  "were", name);
}

static bool same_type(const st_arg *a, const st_arg *b) {
  return a->type == b->type && a->list == b->list &&
         a->optional == b->optional;
}

static st_status check_layout(const st_schema *own, const st_schema *s,
                              int nargs) {
  bool same = nargs == own->nargs && s->nrets == own->nrets;
  for (int i = 0; i < nargs && same; i++) {
    same = same_type(&own->args[i], &s->args[i]);
  }
  return same ? ST_OK : redefined(own->name);
}

st_status st__check_run_schema(const st_schema *own, const st_run *r) {
  const int n = r->call->schema->nargs;
  return check_layout(own, r->call->schema,
                      r->variant == ST_OUT ? n - r->nouts : n);
}

/* args and rets have a None behind the last value. */
st_status st__check_values_schema(const st_schema *own, const st_op *op,
                                  const st_value *args, const st_value *rets) {
  const int nargs = own->nargs, nrets = own->nrets;
  bool same = nargs == ST_MAX_ARGS || st__is_none(&args[nargs]);
  same = same && (nrets == ST_MAX_ARGS || st__is_none(&rets[nrets]));
  for (int i = 0; i < nargs && same; i++) {
    const bool is_tensor = args[i].tag == ST_TAG_TENSOR;
    same = is_tensor == (own->args[i].type == ST_TYPE_TENSOR) &&
           args[i].tag != ST_TAG_TENSORS;
  }
  for (int i = 0; i < nrets && same; i++) {
    same = rets[i].tag == ST_TAG_TENSOR;
  }
  return same ? ST_OK : redefined(st_op_name(op));
}

/* -- The operator --------------------------------------------------------- */

/* Note [Inlining of graph operators]
 * While loops are captured, an operator made from a graph runs its nodes. So a
 * graph may call such an operator, and both become one program. */
static st_status inline_graph(st_run *r, const st_compiled_graph *f,
                              st_tensor *const *inputs,
                              const st_scalar *params) {
  st_tensor *outs[ST_GRAPH_OUTPUTS] = {NULL};
  st_status status = st__graph_run(f->graph, inputs, params, outs, NULL,
                                   NULL);
  for (int i = 0; i < r->nouts; i++) {
    if (status == ST_OK && !r->given[i]) {
      r->out[i] = outs[i];
      continue;
    }
    if (status == ST_OK) status = st__copy(r->given[i], outs[i]);
    if (status == ST_OK) st__tensor_retain(r->out[i] = r->given[i]);
    st__tensor_release(&outs[i]);
  }
  return status;
}

/* True if impl will be called. */
static bool is_run(const st_run *r) {
  return !r->is_meta || st__is_dry_run();
}

static st_status meta(st_run *r) {
  st_compiled_graph *const f = st_run_ctx(r);
  st_tensor *inputs[ST_GRAPH_INPUTS];
  st_scalar params[ST_GRAPH_SCALARS];
  st_specialization key;
  st_program *p = NULL;
  ST_TRY(st__check_run_schema(f->schema, r));
  graph_args(f->schema, f->schema->nargs, r->args, inputs, params);
  if (r->is_meta && st__captured()) return inline_graph(r, f, inputs, params);
  st__specialize(f, inputs, params, &key);
  for (int i = 0; i < r->nouts; i++) {
    if (r->given[i]) key.out_dtypes[i] = r->given[i]->dtype;
  }
  ST_TRY(st__compiled_program(f, &key, &p));
  r->has_iter = true;
  st_status status = st__program_iter(&r->it, p, inputs, r->given);
  if (status == ST_OK) status = st__program_check(p, &r->it);
  for (int i = 0; i < r->nouts && status == ST_OK; i++) {
    r->out[i] = st__iter_take_output(&r->it, i);
  }
  if (status == ST_OK && is_run(r)) {
    memcpy(r->note, &p, sizeof p);
  } else {
    st__program_release(&p);
  }
  return status;
}

static st_status impl(st_run *r) {
  st_program *p;
  if (r->is_meta && st__captured()) return ST_OK;
  memcpy(&p, r->note, sizeof p);
  const st_status status = st__program_run(p, &r->it);
  st__program_release(&p);
  return status;
}

/* -- Inspection ----------------------------------------------------------- */

static st_compiled_graph *compiled_of(const st_op *op) {
  const st_kernel_facts k = st__kernel_facts(op, "CPU");
  const st_structured_ctx *ctx = k.ctx;
  if (k.fn != st__structured || ctx->row->meta != meta ||
      ctx->variant == ST_OUT) {
    return NULL;
  }
  return ctx->own;
}

static st_status text_of(st_compiled_graph *f, const st_op *op,
                         const st_value *args, char **out) {
  const st_schema *s = st__op_schema(op);
  st_tensor *inputs[ST_GRAPH_INPUTS];
  st_scalar params[ST_GRAPH_SCALARS];
  st_specialization key;
  st_program *p = NULL;
  ST_TRY(check_layout(f->schema, s, s->nargs));
  graph_args(f->schema, s->nargs, args, inputs, params);
  st__specialize(f, inputs, params, &key);
  if (s->is_mutable) key.out_dtypes[0] = inputs[0]->dtype;
  ST_TRY(st__compiled_program(f, &key, &p));
  const st_status status = st__program_text(p, out);
  st__program_release(&p);
  return status;
}

/* Reclamation is paused between finding f and retaining it. */
static st_compiled_graph *retain_compiled(const st_op *op) {
  st__pause_reclaim(true);
  st_compiled_graph *f = compiled_of(op);
  if (f) st__compiled_retain(f);
  st__pause_reclaim(false);
  return f;
}

static st_status join_texts(const char *head, const char *more, char **out) {
  st_text t = {0};
  st__text_format(&t, "%s  computes       %s\n", head, more);
  return st__text_finish(&t, out);
}

st_status st__explain_all(const st_op *op, int n, const st_value *args,
                          char **out) {
  st_value all[ST_MAX_ARGS];
  char *head = NULL, *more = NULL;
  ST_TRY(st__explain(op, n, args, &head));
  *out = head;
  st_compiled_graph *f = retain_compiled(op);
  if (!f) return ST_OK;
  if (st__bind_args(op, n, args, all) == ST_OK &&
      text_of(f, op, all, &more) == ST_OK &&
      join_texts(head, more, out) == ST_OK) {
    st__text_free(&head);
  }
  st__text_free(&more);
  st__compiled_release(f);
  return ST_OK;
}

/* -- Derivatives ---------------------------------------------------------- */

static st_status backward(void *ctx, const st_op *op, const st_value *args,
                          const st_value *rets, st_tensor *const *grads,
                          const bool *wanted, st_tensor **inputs) {
  st_compiled_graph *const f = ctx;
  const st_schema *s = f->schema;
  st_tensor *tensors[ST_GRAPH_INPUTS];
  st_scalar params[ST_GRAPH_SCALARS];
  ST_TRY(st__check_values_schema(s, op, args, rets));
  graph_args(s, s->nargs, args, tensors, params);
  return st__compiled_backward(f, tensors, params, grads, wanted, inputs);
}

static void retain(void *compiled) { st__compiled_retain(compiled); }

/* Registers the derivative of operator `name`, which computes f. */
static st_status derive(st_library *lib, const char *name,
                        st_compiled_graph *f) {
  const st_derivative d = {.backward = backward, .ctx = f,
                           .free_ctx = st__compiled_release};
  st__compiled_retain(f);
  const st_status status = st__library_derivative_later(lib, name, &d,
                                                        retain);
  if (status != ST_OK) st__compiled_release(f);
  return status;
}

/* -- Registration --------------------------------------------------------- */

static bool has_inplace(const st_schema *s) {
  return s->nrets == 1 && s->nargs > 0 &&
         s->args[0].type == ST_TYPE_TENSOR && !s->args[0].kwarg_only;
}

/* "ns::name.overload", with mark after the name: "_" for the in-place
 * variant. */
static void full_name(const st_schema *s, const char *mark, char *buf,
                      size_t size) {
  snprintf(buf, size, "%s%s%s%s", s->name, mark, *s->overload ? "." : "",
           s->overload);
}

static st_status define(st_library *part, const st_schema *s,
                        const st_structured *d, st_compiled_graph *f) {
  char name[256];
  st__compiled_retain(f);
  const st_status status = st_library_structured(part, d);
  if (status != ST_OK) {
    st__compiled_release(f);
    return status;
  }
  full_name(s, "", name, sizeof name);
  ST_TRY(derive(part, name, f));
  if (!d->inplace) return ST_OK;
  full_name(s, "_", name, sizeof name);
  return derive(part, name, f);
}

/* Registers the operator, its variants and their derivatives, or nothing on
 * failure. */
static st_status define_all(st_library *lib, const st_schema *s,
                            const st_structured *d, st_compiled_graph *f) {
  st_library *part = NULL;
  ST_TRY(st__library_stage(lib, &part));
  st_status status = define(part, s, d, f);
  if (status == ST_OK) status = st__library_merge(lib, part);
  st_library_close(&part);
  return status;
}

static st_status check(const st_schema *s, const st_graph *g) {
  int ninputs, nparams;
  ST_TRY(st_graph_arguments(s, &ninputs, &nparams));
  if (ninputs == 0) {
    return st__fail(ST_BAD_SCHEMA, "%s takes no tensor", s->name);
  }
  if (s->nrets != g->noutputs) {
    return st__fail(ST_BAD_SCHEMA, "%s returns %d results, its body %d",
                    s->name, s->nrets, g->noutputs);
  }
  ST_ASSERT(ninputs == g->ninputs && nparams == g->nparams);
  return ST_OK;
}

/* Refuses a graph that is not pointwise with float32, as it is with no dtype.
 * All fake tensors have one shape, so a pointwise operator cannot fail for its
 * shapes. Errors of dtypes and values may be due to float32 and are ignored. */
static st_status check_pointwise(const st_graph *g) {
  const st_status status = st__lower_for_float32(g);
  const bool may_be_the_dtype = status == ST_BAD_DTYPE ||
                                status == ST_BAD_VALUE ||
                                status == ST_BAD_TYPE;
  return may_be_the_dtype ? ST_OK : status;
}

st_status st__library_elementwise(st_library *lib, const char *schema,
                                  st_graph *g, const char *doc,
                                  const char *debug) {
  char out[128] = "out";
  st_schema *s = NULL;
  st_compiled_graph *f = NULL;
  st_status status;
  ST_TRY(st_schema_new(schema, st_library_namespace(lib), &s));
  ST_TRY_FAIL(check(s, g));
  ST_TRY_FAIL(check_pointwise(g));
  ST_TRY_FAIL(st__compiled_new(g, &f));
  if (*s->overload) snprintf(out, sizeof out, "%s_out", s->overload);
  const st_structured d = {
    .schema = schema, .inplace = has_inplace(s),
    .out = st__can_have_out(s) ? out : NULL, .meta = meta, .impl = impl,
    .ctx = f, .free_ctx = st__compiled_release, .doc = doc, .debug = debug,
    .tags = ST_OPTAG_POINTWISE };
  f->schema = s;
  status = define_all(lib, s, &d, f);
  /* After a failure g still belongs to the caller; f drops its reference. */
  if (status != ST_OK) st__graph_retain(g);
  s = NULL;
  st__compiled_release(f);
fail:
  st__schema_free(&s);
  return status;
}
