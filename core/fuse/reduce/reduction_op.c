/* Custom reductions: structured operators, whose meta finds or compiles the
 * programs and whose impl runs the loop.
 */

#include "fuse/reduce/reduction_op.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "fuse/schedule/elementwise_op.h"
#include "grad/record/derivatives.h"
#include "iter/loop_report.h"

/* -- Lifetime ------------------------------------------------------------- */

static void retain(void *reducer) {
  st__ref_take(&((st_reducer *)reducer)->refs);
}

static void release(void *reducer) {
  st_reducer *const r = reducer;
  if (!r || !st__ref_drop(&r->refs)) return;
  st__compiled_release(r->map);
  st__compiled_release(r->combine);
  st__compiled_release(r->final);
  st__schema_free(&r->schema);
  st__free(ST_MEM_REGISTRY, r, sizeof *r);
}

static st_status new_compiled(const st_graph *graph, st_compiled_graph **out) {
  st_graph *g = (st_graph *)(uintptr_t)graph;
  st__graph_retain(g);
  const st_status status = st__compiled_new(g, out);
  if (status != ST_OK) st_graph_release(&g);
  return status;
}

/* True if output j of combine is op(a, b) or op(b, a) of accumulator j, for a
 * commutative op, which becomes *out. */
static bool is_commutative(const st_graph *g, int j, st_op_id *out) {
  static const st_op_id ops[] = {
    ST_OP_add_Tensor, ST_OP_mul_Tensor, ST_OP_maximum, ST_OP_minimum,
    ST_OP_fmax, ST_OP_fmin, ST_OP_logical_and, ST_OP_logical_or,
    ST_OP_logical_xor, ST_OP_bitwise_and_Tensor, ST_OP_bitwise_or_Tensor,
    ST_OP_bitwise_xor_Tensor
  };
  const int at = g->outputs[j] - g->ninputs, other = g->ninputs / 2 + j;
  if (g->nnodes != g->noutputs || at < 0 || at >= g->nnodes) return false;
  const st_graph_node *n = &g->nodes[at];
  const st_node_arg *a = &n->args[0], *b = &n->args[1];
  size_t k = 0;
  while (k < sizeof ops / sizeof *ops && st__op(ops[k]) != n->op) k++;
  if (k == sizeof ops / sizeof *ops) return false;
  *out = ops[k];
  if (*out == ST_OP_add_Tensor && (n->args[2].kind != ST_NODE_ARG_VALUE ||
      st__to_float(&n->args[2].value, 1) != 1)) {
    return false;
  }
  return a->kind == ST_NODE_ARG_TENSOR && b->kind == ST_NODE_ARG_TENSOR &&
         ((a->at == j && b->at == other) || (a->at == other && b->at == j));
}

static st_status new_reducer(const st_custom_reduction *f, st_reducer **out) {
  st_status status;
  st_reducer *r = st__alloc_zero(ST_MEM_REGISTRY, sizeof *r);
  if (!r) return ST_NO_MEMORY;
  st__ref_init(&r->refs);
  r->naccs = f->map->noutputs;
  r->has_init = f->ninit > 0;
  memcpy(r->init, f->init, sizeof r->init);
  r->is_commutative = true;
  for (int j = 0; j < r->naccs; j++) {
    r->is_commutative = is_commutative(f->combine, j,
                                       &r->builtin[j]) && r->is_commutative;
  }
  ST_TRY_FAIL(new_compiled(f->map, &r->map));
  ST_TRY_FAIL(new_compiled(f->combine, &r->combine));
  ST_TRY_FAIL(new_compiled(f->final, &r->final));
  *out = r;
  return ST_OK;
fail:
  release(r);
  return status;
}

/* -- Calls ---------------------------------------------------------------- */

static bool is_option(const st_arg *arg) {
  return strcmp(arg->name, "dim") == 0 || strcmp(arg->name, "keepdim") == 0;
}

static void read_args(const st_schema *s, int nargs, const st_value *args,
                      st_reducer_call *c, const st_value **dim) {
  int ninputs = 0, nparams = 1;
  for (int i = 0; i < nargs; i++) {
    const st_arg *arg = &s->args[i];
    const bool is_set = !st__is_none(&args[i]);
    if (strcmp(arg->name, "dim") == 0) {
      *dim = is_set ? &args[i] : NULL;
    } else if (strcmp(arg->name, "keepdim") == 0) {
      c->keepdim = is_set && args[i].u.i;
    } else if (arg->type == ST_TYPE_TENSOR) {
      c->inputs[ninputs++] = st__to_tensor(&args[i]);
    } else if (arg->type == ST_TYPE_FLOAT) {
      c->params[nparams++] = st__scalar_float(st__to_float(&args[i], 0));
    } else {
      c->params[nparams++] = st__scalar_of(&args[i]);
    }
  }
}

st_status st__reducer_call(const st_reducer *r, const st_value *args,
                           st_reducer_call *c) {
  const st_schema *s = r->schema;
  const st_value *dim = NULL;
  int64_t n = 1;
  read_args(s, s->nargs, args, c, &dim);
  c->ndim = 0;
  for (int i = 0; i < r->map->graph->ninputs; i++) {
    const st_tensor *t = c->inputs[i];
    int64_t old[ST_MAX_DIMS];
    memcpy(old, c->sizes, (size_t)c->ndim * sizeof *old);
    ST_TRY(st__broadcast_shape(c->ndim, old, t->ndim, t->sizes, c->sizes,
                               &c->ndim));
  }
  ST_TRY(st__wrap_dims(dim ? dim->u.ints : NULL, dim ? (int)dim->len : 0,
                       c->ndim, &c->dims));
  for (int d = 0; d < c->ndim; d++) {
    if (!(c->dims >> d & 1)) continue;
    n *= c->sizes[d];
    if (c->sizes[d] > 0 || r->has_init) continue;
    return st__fail(ST_BAD_SHAPE, "dimension %d of the arguments, shape %s, "
                    "has no elements, and there is no init",
                    (int)st__display_index(d),
                    st__shape_text(c->ndim, c->sizes, (char[160]){0}, 160));
  }
  c->params[0] = st__scalar_int(n);
  return ST_OK;
}

/* -- Programs ------------------------------------------------------------- */

/* The key of a graph whose inputs are the accumulators, `times` times. */
static void acc_key(const st_reducer *r, const uint8_t *accs, int times,
                    st_specialization *key) {
  st__specialization_init(key);
  for (int i = 0; i < times * r->naccs; i++) {
    key->in[i].dtype = accs[i % r->naccs];
  }
}

/* The dtype of an accumulator of dtype d with the initial value init. The value
 * -0.0 leaves integers as they are: it is what a Lua script gets for -n of
 * n = 0. */
static st_promotion with_init(st_dtype d, st_scalar init) {
  if (init.kind == ST_SCALAR_FLOAT && init.u.f == 0 && signbit(init.u.f)) {
    init = st__scalar_int(0);
  }
  const st_dtype s = st__scalar_dtype(init);
  if (st__is_complex(s) && st__is_floating(d)) {
    return st__promote(d, ST_COMPLEX64);
  }
  if (st__is_inexact(s)) return (st_promotion){st__is_inexact(d) ? d : s};
  return (st_promotion){d == ST_BOOL ? s : d};
}

/* The dtypes of the accumulators: those of map's outputs, promoted with those
 * of combine's outputs until they no longer change. */
static st_status find_accs(const st_reducer *r, const st_program *map,
                           uint8_t *accs) {
  bool stays = false;
  st_dtype d;
  for (int j = 0; j < r->naccs; j++) {
    d = (st_dtype)map->out_dtype[j];
    if (r->has_init) ST_TRY(st__promoted(with_init(d, r->init[j]), &d));
    accs[j] = (uint8_t)d;
  }
  while (!stays) {
    st_specialization key;
    st_program *p = NULL;
    acc_key(r, accs, 2, &key);
    ST_TRY(st__compiled_program(r->combine, &key, &p));
    stays = true;
    st_status status = ST_OK;
    for (int j = 0; j < r->naccs && status == ST_OK; j++) {
      const st_dtype old = (st_dtype)accs[j];
      status = st__promoted(st__promote(old, (st_dtype)p->out_dtype[j]), &d);
      accs[j] = (uint8_t)d;
      stays = stays && d == old;
    }
    st__program_release(&p);
    ST_TRY(status);
  }
  return ST_OK;
}

static st_status find_map(const st_reducer *r, const st_reducer_call *c,
                          st_specialization *key, uint8_t *accs,
                          st_program **out) {
  st_program *p = NULL;
  st__specialize(r->map, c->inputs, c->params + 1, key);
  ST_TRY(st__compiled_program(r->map, key, &p));
  const st_status status = find_accs(r, p, accs);
  if (status == ST_OK && memcmp(p->out_dtype, accs, (size_t)r->naccs) == 0) {
    *out = p;
    return ST_OK;
  }
  st__program_release(&p);
  ST_TRY(status);
  memcpy(key->out_dtypes, accs, (size_t)r->naccs);
  return st__compiled_program(r->map, key, out);
}

st_status st__reducer_programs(const st_reducer *r, const st_reducer_call *c,
                               const uint8_t *outs, st_reducer_programs *p) {
  st_specialization map, key;
  uint8_t accs[ST_TREE_ACCS];
  st_status status;
  *p = (st_reducer_programs){NULL, NULL, NULL};
  ST_TRY_FAIL(find_map(r, c, &map, accs, &p->map));
  acc_key(r, accs, 2, &key);
  memcpy(key.out_dtypes, accs, (size_t)r->naccs);
  ST_TRY_FAIL(st__compiled_program(r->combine, &key, &p->combine));
  acc_key(r, accs, 1, &key);
  key.params[0].kind = ST_SCALAR_INT;
  key.params[0].u.i = c->params[0].u.i;
  memcpy(key.params + 1, map.params,
         (size_t)(r->final->graph->nparams - 1) * sizeof *key.params);
  memcpy(key.out_dtypes, outs, (size_t)r->final->graph->noutputs);
  ST_TRY_FAIL(st__compiled_program(r->final, &key, &p->final));
  return ST_OK;
fail:
  st__reducer_release_programs(p);
  return status;
}

void st__reducer_release_programs(st_reducer_programs *p) {
  st__program_release(&p->map);
  st__program_release(&p->combine);
  st__program_release(&p->final);
}

/* -- The operator --------------------------------------------------------- */

static st_status set_outputs(st_run *r, const st_reducer_call *c,
                             const st_program *final, int ninputs) {
  int64_t sizes[ST_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < c->ndim; d++) {
    const bool is_reduced = c->dims >> d & 1;
    if (!is_reduced) sizes[n++] = c->sizes[d];
    else if (c->keepdim) sizes[n++] = 1;
  }
  for (int i = 0; i < r->nouts; i++) {
    ST_TRY(st__set_output(r, i, n, sizes, NULL,
                          (st_dtype)final->out_dtype[i]));
    for (int k = 0; k < ninputs; k++) {
      ST_TRY(st__forbid_alias(r, i, c->inputs[k]));
    }
  }
  return ST_OK;
}

/* Fails before anything is written if map would divide an integer by zero. */
static st_status check_map(const st_program *p, const st_reducer_call *c) {
  st_iter it;
  st_tensor *none[ST_PROGRAM_OPERANDS] = {NULL};
  if (p->nchecks == 0) return ST_OK;
  st_status status = st__program_iter(&it, p, c->inputs, none);
  if (status == ST_OK) status = st__program_check(p, &it);
  st__iter_release(&it);
  return status;
}

/* Reports the reduction of the first argument to a dry run. */
static void report_dry_run(const st_run *r, const st_reducer_call *c) {
  const st_tensor *self = c->inputs[0];
  const bool is_all = self->ndim == c->ndim;
  st__dry_run_reduce(self, is_all ? c->dims : 0, r->out[0], ST_K_NONE);
}

static st_status read_call(const st_run *r, st_reducer_call *c) {
  const st_reducer *red = st_run_ctx(r);
  ST_TRY(st__check_run_schema(red->schema, r));
  return st__reducer_call(red, r->args, c);
}

static st_status meta(st_run *r) {
  const st_reducer *red = st_run_ctx(r);
  st_reducer_call c = {.ndim = 0};
  st_reducer_programs p;
  uint8_t outs[ST_GRAPH_OUTPUTS];
  ST_TRY(read_call(r, &c));
  for (int i = 0; i < r->nouts; i++) {
    outs[i] = r->given[i] ? r->given[i]->dtype : ST_DTYPE_NONE;
  }
  ST_TRY(st__reducer_programs(red, &c, outs, &p));
  st_status status = r->is_meta ? ST_OK : check_map(p.map, &c);
  if (status == ST_OK) {
    status = set_outputs(r, &c, p.final, red->map->graph->ninputs);
  }
  if (status != ST_OK || r->is_meta) st__reducer_release_programs(&p);
  else memcpy(r->note, &p, sizeof p);
  if (status == ST_OK && r->is_meta) report_dry_run(r, &c);
  return status;
}

static st_status impl(st_run *r) {
  const st_reducer *red = st_run_ctx(r);
  st_reducer_call c = {.ndim = 0};
  st_reducer_programs p;
  memcpy(&p, r->note, sizeof p);
  st_status status = read_call(r, &c);
  st_reduction_loop s = {.map = p.map, .combine = p.combine, .final = p.final,
                         .naccs = red->naccs,
                         .is_commutative = red->is_commutative,
                         .has_init = red->has_init, .ndim = c.ndim,
                         .sizes = c.sizes, .dims = c.dims, .keepdim = c.keepdim,
                         .inputs = c.inputs, .outs = r->out};
  memcpy(s.init, red->init, sizeof s.init);
  if (status == ST_OK) status = st__reduction_run(&s);
  st__reducer_release_programs(&p);
  return status;
}

/* -- Schemas -------------------------------------------------------------- */

/* Counts tensors and scalars; dim and keepdim are left out. */
static st_status count_args(const st_schema *s, int *ninputs, int *nparams) {
  st_schema operands = *s;
  st_arg args[ST_MAX_ARGS];
  operands.args = args;
  operands.nargs = 0;
  for (int i = 0; i < s->nargs; i++) {
    if (!is_option(&s->args[i])) args[operands.nargs++] = s->args[i];
  }
  return st_graph_arguments(&operands, ninputs, nparams);
}

static st_status check_options(const st_schema *s) {
  const int dim = st__schema_arg(s, "dim");
  const int keepdim = st__schema_arg(s, "keepdim");
  const st_arg *d = dim < 0 ? NULL : &s->args[dim];
  if (d && (!d->list || !d->optional ||
            (d->type != ST_TYPE_DIM && d->type != ST_TYPE_INT))) {
    return st__fail(ST_BAD_SCHEMA, "argument 'dim' of %s must be Dim[1]?, not "
                    "%s", s->name, d->text);
  }
  if (keepdim >= 0 && (s->args[keepdim].type != ST_TYPE_BOOL ||
                       s->args[keepdim].list)) {
    return st__fail(ST_BAD_SCHEMA, "argument 'keepdim' of %s must be bool, "
                    "not %s", s->name, s->args[keepdim].text);
  }
  return ST_OK;
}

/* Completes the schema's text with dim, as a list of Dim, and keepdim. */
static st_status complete_schema(const st_schema *s, char **out) {
  const char *end = strstr(s->text, ") -> "), *from = s->text;
  const int dim = st__schema_arg(s, "dim");
  bool has_keyword = false;
  st_text t = {0};
  for (int i = 0; i < s->nargs; i++) has_keyword |= s->args[i].kwarg_only;
  if (dim >= 0 && s->args[dim].type == ST_TYPE_INT) {
    char words[64];
    snprintf(words, sizeof words, "%s dim", s->args[dim].text);
    const char *at = strstr(s->text, words);
    ST_ASSERT(at);
    st__text_add(&t, from, (size_t)(at - from));
    st__text_puts(&t, "Dim");
    from = at + strlen("int");
  }
  st__text_add(&t, from, (size_t)(end - from));
  if (dim < 0) {
    st__text_puts(&t, has_keyword ? ", " : ", *, ");
    st__text_puts(&t, "Dim[1]? dim=None");
    has_keyword = true;
  }
  if (st__schema_arg(s, "keepdim") < 0) {
    st__text_puts(&t, has_keyword ? ", " : ", *, ");
    st__text_puts(&t, "bool keepdim=False");
  }
  st__text_puts(&t, end);
  return st__text_finish(&t, out);
}

static st_status check(const st_schema *s, const st_custom_reduction *f) {
  int ninputs, nparams;
  const int n = f->map->noutputs;
  ST_TRY(check_options(s));
  ST_TRY(count_args(s, &ninputs, &nparams));
  if (ninputs == 0) {
    return st__fail(ST_BAD_SCHEMA, "%s takes no tensor", s->name);
  }
  if (f->ninit > 0 && f->ninit != n) {
    return st__fail(ST_BAD_VALUE, "init of %s has %d numbers, its map returns "
                    "%d results", s->name, f->ninit, n);
  }
  if (f->combine->noutputs != n) {
    return st__fail(ST_BAD_VALUE, "combine of %s returns %d results, its map "
                    "%d", s->name, f->combine->noutputs, n);
  }
  if (s->nrets != f->final->noutputs) {
    return st__fail(ST_BAD_SCHEMA, "%s returns %d results, its final %d",
                    s->name, s->nrets, f->final->noutputs);
  }
  const bool fits = f->map->ninputs == ninputs && f->map->nparams == nparams &&
                    f->combine->ninputs == 2 * n && f->combine->nparams == 0 &&
                    f->final->ninputs == n &&
                    f->final->nparams == nparams + 1;
  return fits ? ST_OK : st__fail(ST_BAD_VALUE, "the graphs of %s do not match "
                                 "the arguments of its schema", s->name);
}

/* Refuses a graph that is not pointwise with float32, as it is with no dtype.
 * Other errors may be due to float32 and are ignored. */
static st_status check_pointwise(const st_graph *g) {
  const st_status status = st__lower_for_float32(g);
  return status == ST_BAD_STATE || status == ST_NO_MEMORY ? status : ST_OK;
}

/* -- Registration --------------------------------------------------------- */

static st_status define(st_library *part, const st_schema *s,
                        const char *schema, st_reducer *r,
                        const st_custom_reduction *f) {
  char out[128] = "out", name[256];
  if (*s->overload) snprintf(out, sizeof out, "%s_out", s->overload);
  const st_structured d = {
    .schema = schema, .out = st__can_have_out(s) ? out : NULL, .meta = meta,
    .impl = impl, .ctx = r, .free_ctx = release, .doc = f->doc,
    .debug = f->debug};
  const st_derivative derivative = {.backward = st__reducer_backward,
                                    .ctx = r,
                                    .free_ctx = release};
  retain(r);
  st_status status = st_library_structured(part, &d);
  if (status != ST_OK) {
    release(r);
    return status;
  }
  snprintf(name, sizeof name, "%s%s%s", s->name, *s->overload ? "." : "",
           s->overload);
  retain(r);
  status = st__library_derivative_later(part, name, &derivative,
                                        retain);
  if (status != ST_OK) release(r);
  return status;
}

/* Registers the operator, its variant and their derivative, or nothing on
 * failure. */
static st_status define_all(st_library *lib, const st_schema *s,
                            const char *schema, st_reducer *r,
                            const st_custom_reduction *f) {
  st_library *part = NULL;
  ST_TRY(st__library_stage(lib, &part));
  st_status status = define(part, s, schema, r, f);
  if (status == ST_OK) status = st__library_merge(lib, part);
  st_library_close(&part);
  return status;
}

st_status st_library_reduction(st_library *lib, const st_custom_reduction *f) {
  st_schema *s = NULL;
  st_reducer *r = NULL;
  char *text = NULL;
  st_status status;
  ST_TRY(st_schema_new(f->schema, st_library_namespace(lib), &s));
  ST_TRY_FAIL(check(s, f));
  ST_TRY_FAIL(check_pointwise(f->map));
  ST_TRY_FAIL(check_pointwise(f->combine));
  ST_TRY_FAIL(check_pointwise(f->final));
  ST_TRY_FAIL(complete_schema(s, &text));
  ST_TRY_FAIL(new_reducer(f, &r));
  ST_TRY_FAIL(st_schema_new(text, st_library_namespace(lib),
                            &r->schema));
  status = define_all(lib, s, text, r, f);
fail:
  release(r);
  st__text_free(&text);
  st__schema_free(&s);
  return status;
}
