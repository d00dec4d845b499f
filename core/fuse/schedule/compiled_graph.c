/* Compiled graphs: lookup, compilation and execution of their programs.
 */

#include "fuse/schedule/compiled_graph.h"

#include <string.h>

#include "fuse/device/device_loop.h"
#include "grad/engine/engine.h"
#include "op/create/copy_clone_to.h"
#include "op/create/factory.h"
#include "op/lazy/lazy.h"

/* -- Lifetime ------------------------------------------------------------- */

st_status st__compiled_new(st_graph *g, st_compiled_graph **out) {
  st_compiled_graph *f = st__alloc_zero(ST_MEM_REGISTRY, sizeof *f);
  if (!f) return ST_NO_MEMORY;
  st__ref_init(&f->refs);
  f->graph = g;
  *out = f;
  return ST_OK;
}

void st__compiled_retain(st_compiled_graph *f) { st__ref_take(&f->refs); }

static void drop_entry(st_specialized *e) {
  if (!e) return;
  st__program_release(&e->program);
  st__free(ST_MEM_REGISTRY, e, sizeof *e);
}

void st__compiled_release(void *compiled) {
  st_compiled_graph *const f = compiled;
  if (!f || !st__ref_drop(&f->refs)) return;
  for (int i = 0; i < f->n; i++) drop_entry(f->entries[i]);
  st_graph_release(&f->graph);
  st__schema_free(&f->schema);
  st__free(ST_MEM_REGISTRY, f, sizeof *f);
}

/* -- Keys ----------------------------------------------------------------- */

/* A copy whose unused union bytes are zero. */
static st_scalar canonical(st_scalar s) {
  st_scalar out;
  memset(&out, 0, sizeof out);
  out.kind = s.kind;
  if (s.kind == ST_SCALAR_COMPLEX) {
    out.u.c[0] = s.u.c[0];
    out.u.c[1] = s.u.c[1];
  } else {
    out.u.i = s.u.i;
  }
  return out;
}

void st__specialization_init(st_specialization *key) {
  memset(key, 0, sizeof *key);
  key->default_dtype = (uint8_t)st__default_dtype();
  key->has_jit = st_is_jit_enabled();
  key->epoch = st__registry_epoch();
  for (int i = 0; i < ST_GRAPH_OUTPUTS; i++) {
    key->out_dtypes[i] = key->grads[i].dtype = ST_DTYPE_NONE;
  }
}

void st__specialize(const st_compiled_graph *f, st_tensor *const *inputs,
                    const st_scalar *params, st_specialization *key) {
  const st_graph *g = f->graph;
  st__specialization_init(key);
  for (int i = 0; i < g->ninputs; i++) key->in[i] = st__arg_spec_of(inputs[i]);
  for (int i = 0; i < g->nparams; i++) {
    const st_scalar s = canonical(params[i]);
    memcpy(&key->params[i], &s, sizeof s);
  }
}

/* -- Programs ------------------------------------------------------------- */

static size_t key_size(const st_compiled_graph *f) {
  return offsetof(st_specialization, params) +
         (size_t)f->graph->nparams * sizeof(st_scalar);
}

/* The caller holds the registry's mutex. */
static st_specialized *find(const st_compiled_graph *f,
                            const st_specialization *key) {
  const size_t size = key_size(f);
  for (int i = 0; i < f->n; i++) {
    if (memcmp(&f->entries[i]->key, key, size) == 0) return f->entries[i];
  }
  return NULL;
}

/* Owns e. */
static void insert(st_compiled_graph *f, st_specialized *e) {
  st_specialized *old = e;
  st__lock();
  if (find(f, &e->key)) {
    /* another thread has inserted the same key */
  } else if (f->n < ST_COMPILED_PROGRAMS) {
    f->entries[f->n++] = e;
    old = NULL;
  } else {
    old = f->entries[f->next];
    f->entries[f->next] = e;
    f->next = (f->next + 1) % ST_COMPILED_PROGRAMS;
  }
  st__unlock();
  drop_entry(old);
}

/* Gradients that are not pointwise (BAD_STATE) have a NULL program. */
static st_status compile(const st_compiled_graph *f,
                         const st_specialization *key, st_specialized *e) {
  if (!key->wanted) {
    return st__lower_graph(f->graph, key->in, key->params,
                           key->out_dtypes, &e->program);
  }
  const st_gradient_spec spec = {key->in, key->params, key->grads, key->wanted,
                                 key->summed};
  const st_status status =
    st__lower_gradients(f->graph, &spec, &e->given, &e->program);
  return status == ST_BAD_STATE ? ST_OK : status;
}

static st_status find_or_compile(st_compiled_graph *f,
                                 const st_specialization *key, uint32_t *given,
                                 st_program **out) {
  st__lock();
  const st_specialized *found = find(f, key);
  if (found) {
    *out = found->program;
    *given = found->given;
    if (*out) st__program_retain(*out);
  }
  st__unlock();
  if (found) return ST_OK;
  st_specialized *e = st__alloc_zero(ST_MEM_REGISTRY, sizeof *e);
  if (!e) return ST_NO_MEMORY;
  memcpy(&e->key, key, sizeof *key);
  const st_status status = compile(f, key, e);
  if (status != ST_OK) {
    drop_entry(e);
    return status;
  }
  *out = e->program;
  *given = e->given;
  if (*out) st__program_retain(*out);
  insert(f, e);
  return ST_OK;
}

st_status st__compiled_program(st_compiled_graph *f,
                               const st_specialization *key, st_program **out) {
  uint32_t given;
  return find_or_compile(f, key, &given, out);
}

/* -- Iterators ------------------------------------------------------------ */

enum {
  FLAGS = ST_ITER_CHECK_OVERLAP | ST_ITER_RESIZE_OUTPUTS |
          ST_ITER_SAME_DEVICE | ST_ITER_CPU_SCALARS | ST_ITER_BORROWED
};

/* The program casts, so the iterator does not: given any static dtype, it looks
 * for no common one, and each output has its own. */
st_status st__program_iter(st_iter *it, const st_program *p,
                           st_tensor *const *inputs, st_tensor *const *outs) {
  st__iter_init(it, FLAGS);
  it->static_dtype = (st_dtype)p->out_dtype[0];
  for (int i = 0; i < p->noutputs; i++) {
    st__iter_output(it, outs[i], (st_dtype)p->out_dtype[i]);
  }
  for (int i = 0; i < p->ninputs; i++) {
    st__iter_input(it, inputs[p->order[i]]);
  }
  return st__iter_build(it);
}

st_status st__program_check(const st_program *p, st_iter *it) {
  bool found = false;
  if (p->nchecks == 0 || it->is_meta || it->numel == 0) return ST_OK;
  ST_TRY(st__program_find_zero(p, it, &found));
  if (!found) return ST_OK;
  return st__fail(ST_BAD_VALUE, "division of integers by zero");
}

/* Note [Operands of programs]
 * A program reads the elements of its operands in memory, so none may be lazy
 * (Note [Lazy tensors]). The arguments of an operator are resolved before its
 * kernel runs. The gradients and the saved tensors of a backward pass reach a
 * program without a call, and only through st__program_apply. */
static bool reads_lazy(const st_program *p, st_tensor *const *inputs) {
  st_keyset keys = 0;
  for (int i = 0; i < p->ninputs; i++) keys |= inputs[p->order[i]]->keys;
  return keys & ST_LAZY_BITS;
}

/* On what `get` makes of the inputs. */
static st_status apply_to(st_program *p,
                          st_status (*get)(const st_tensor *, st_tensor **),
                          st_tensor *const *inputs, st_tensor **outs) {
  st_tensor *own[ST_GRAPH_OUTPUTS + ST_GRAPH_INPUTS] = {NULL};
  st_status status = ST_OK;
  for (int i = 0; i < p->ninputs && status == ST_OK; i++) {
    const int at = p->order[i];
    status = get(inputs[at], &own[at]);
  }
  if (status == ST_OK) status = st__program_apply(p, own, outs);
  for (int i = 0; i < p->ninputs; i++) st__tensor_release(&own[p->order[i]]);
  return status;
}

/* For a device that cannot run the program. */
static st_status apply_on_cpu(st_program *p, st_device device,
                              st_tensor *const *inputs, st_tensor **outs) {
  st_tensor *here[ST_PROGRAM_OPERANDS] = {NULL};
  st_status status = apply_to(p, st__to_cpu, inputs, here);
  for (int i = 0; i < p->noutputs && status == ST_OK; i++) {
    status = st__copy_to_device(&here[i], device, &outs[i]);
  }
  for (int i = 0; i < p->noutputs; i++) st__tensor_release(&here[i]);
  return status;
}

st_status st__program_apply(st_program *p, st_tensor *const *inputs,
                            st_tensor **outs) {
  if (reads_lazy(p, inputs)) return apply_to(p, st__resolve_lazy, inputs, outs);
  st_iter it;
  st_tensor *none[ST_PROGRAM_OPERANDS] = {NULL};
  st_status status = st__program_iter(&it, p, inputs, none);
  const st_device device = it.device;
  if (status == ST_OK && device <= ST_DEVICE_META) {
    status = st__program_check(p, &it);
  }
  if (status == ST_OK) {
    status = device <= ST_DEVICE_META ? st__program_run(p, &it)
                                      : st__program_run_on_device(p, &it);
    for (int i = 0; status == ST_OK && i < p->noutputs; i++) {
      outs[i] = st__iter_take_output(&it, i);
    }
  }
  st__iter_release(&it);
  return status == ST_NO_KERNEL && device > ST_DEVICE_META
         ? apply_on_cpu(p, device, inputs, outs) : status;
}

st_status st__compiled_run(st_compiled_graph *f, st_tensor *const *inputs,
                           const st_scalar *params, st_tensor **outs) {
  st_specialization key;
  st_program *p = NULL;
  st__specialize(f, inputs, params, &key);
  ST_TRY(st__compiled_program(f, &key, &p));
  const st_status status = st__program_apply(p, inputs, outs);
  st__program_release(&p);
  return status;
}

/* -- Gradients ------------------------------------------------------------ */

static void gradient_key(const st_compiled_graph *f, st_tensor *const *inputs,
                         const st_scalar *params, st_tensor *const *grads,
                         const bool *wanted, st_specialization *key) {
  st__specialize(f, inputs, params, key);
  for (int i = 0; i < f->graph->noutputs; i++) {
    if (grads[i]) key->grads[i] = st__arg_spec_of(grads[i]);
  }
  const st_tensor *grad = NULL;
  for (int i = 0; i < f->graph->noutputs && !grad; i++) grad = grads[i];
  for (int i = 0; i < f->graph->ninputs; i++) {
    const bool sums = grad && !st__same_sizes(inputs[i], grad);
    key->wanted |= (uint32_t)wanted[i] << i;
    key->summed |= (uint32_t)sums << i;
  }
}

/* The tensor to differentiate by: an alias of t, whose history leads to t, if
 * create_graph is set; else a detached one. */
static st_status detached_input(st_tensor *t, bool is_wanted, bool create_graph,
                                st_tensor **out) {
  const st_value arg = st__of_tensor(t);
  ST_TRY(st__invoke1(create_graph ? ST_OP_alias : ST_OP_detach, 1, &arg,
                     out));
  (*out)->flags |= t->flags & ST_FLAG_WRAPPED;
  if (!is_wanted || st__requires_grad(*out)) return ST_OK;
  return st_tensor_set_requires_grad(*out, true);
}

typedef struct backward_args {
  st_tensor *const *inputs;
  const st_scalar *params;
  st_tensor *const *grads;
  const bool *wanted;      /* by input */
} backward_args;

/* Runs the graph again, operator by operator, and differentiates that: for
 * gradients with a history, and for those without a program. */
static st_status replay(const st_graph *g, const backward_args *a,
                        bool create_graph, st_tensor **out) {
  st_tensor *own[ST_GRAPH_INPUTS] = {NULL}, *outs[ST_GRAPH_OUTPUTS] = {NULL};
  st_tensor *ys[ST_GRAPH_OUTPUTS], *dys[ST_GRAPH_OUTPUTS];
  st_tensor *xs[ST_GRAPH_INPUTS], *dxs[ST_GRAPH_INPUTS] = {NULL};
  st_backward_pass pass = {.outputs = ys, .grad_outputs = dys, .inputs = xs,
                           .allow_unused = true,
                           .create_graph = create_graph,
                           .retain_graph = create_graph};
  const st_tls old = st__tls();
  st_tls tls = old;
  st_status status = ST_OK;
  tls.grad = true;
  st__set_tls(tls);
  for (int i = 0; i < g->ninputs; i++) {
    ST_TRY_FAIL(detached_input(a->inputs[i], a->wanted[i], create_graph,
                               &own[i]));
    if (a->wanted[i]) xs[pass.ninputs++] = own[i];
  }
  ST_TRY_FAIL(st__graph_run(g, own, a->params, outs, NULL, NULL));
  ST_TRY_FAIL(st__expand_to_grads(g->noutputs, outs, a->grads));
  for (int i = 0; i < g->noutputs; i++) {
    if (!a->grads[i] || !st__requires_grad(outs[i])) continue;
    ys[pass.noutputs] = outs[i];
    dys[pass.noutputs++] = a->grads[i];
  }
  if (pass.noutputs > 0) ST_TRY_FAIL(st_backward(&pass, dxs));
  for (int i = 0, k = 0; i < g->ninputs; i++) {
    if (a->wanted[i]) out[i] = dxs[k++];
  }
fail:
  st__set_tls(old);
  for (int i = 0; i < g->ninputs; i++) st__tensor_release(&own[i]);
  for (int i = 0; i < g->noutputs; i++) st__tensor_release(&outs[i]);
  return status;
}

/* Runs the program p of the gradients. Its inputs are the gradients of outputs
 * that are not NULL, then the graph's inputs. */
static st_status run_gradients(const st_compiled_graph *f, st_program *p,
                               st_tensor *const *inputs,
                               st_tensor *const *grads, uint32_t given,
                               st_tensor **out) {
  st_tensor *all[ST_GRAPH_OUTPUTS + ST_GRAPH_INPUTS];
  st_tensor *results[ST_GRAPH_INPUTS] = {NULL};
  int n = 0;
  for (int i = 0; i < f->graph->noutputs; i++) {
    if (grads[i]) all[n++] = grads[i];
  }
  for (int i = 0; i < f->graph->ninputs; i++) all[n++] = inputs[i];
  if (p->noutputs > 0) ST_TRY(st__program_apply(p, all, results));
  for (int i = 0, k = 0; i < f->graph->ninputs; i++) {
    if (given >> i & 1) out[i] = results[k++];
  }
  return ST_OK;
}

st_status st__compiled_backward(st_compiled_graph *f, st_tensor *const *inputs,
                                const st_scalar *params,
                                st_tensor *const *grads, const bool *wanted,
                                st_tensor **out) {
  st_specialization key;
  st_program *p = NULL;
  uint32_t given = 0;
  const backward_args args = {inputs, params, grads, wanted};
  if (st__tls().grad) return replay(f->graph, &args, true, out);
  gradient_key(f, inputs, params, grads, wanted, &key);
  if (!key.wanted) return ST_OK;
  ST_TRY(find_or_compile(f, &key, &given, &p));
  if (!p) return replay(f->graph, &args, false, out);
  const st_status status = run_gradients(f, p, inputs, grads, given, out);
  st__program_release(&p);
  return status;
}
