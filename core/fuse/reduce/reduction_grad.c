/* Gradients of custom reductions.
 *
 * Note [Gradients of a custom reduction]
 * The backward pass computes the reduction again with differentiable operators:
 * map's values are combined in neighbouring pairs, level by level, final is
 * applied to the last ones, and this computation is differentiated. If combine
 * is a built-in operator (a sum, a product, an extremum), the built-in
 * reduction replaces the levels: the gradient of a sum is expanded, that of an
 * extremum is shared evenly among equal elements. The gradient of map is a
 * fused program, unless the backward pass is recorded itself (create_graph):
 * then map runs operator by operator, too.
 */

#include "fuse/reduce/reduction_op.h"

#include <string.h>

#include "fuse/schedule/elementwise_op.h"
#include "grad/engine/engine.h"

/* -- Operators ------------------------------------------------------------ */

/* Replaces *t by the result of an operator with n arguments. */
static st_status apply(st_tensor **t, st_op_id id, int n,
                       const st_value *args) {
  st_tensor *out;
  ST_TRY(st__invoke1(id, n, args, &out));
  st__tensor_release(t);
  *t = out;
  return ST_OK;
}

/* The same for an operator of *t and v. */
static st_status apply_with(st_tensor **t, st_op_id id, st_value v) {
  return apply(t, id, 2, (st_value[]){st__of_tensor(*t), v});
}

/* Every second element of the last dimension, in [first, end). */
static st_status every_second(const st_tensor *t, int64_t first, int64_t end,
                              st_tensor **out) {
  return st__invoke1(ST_OP_slice_Tensor,
                     ST_VALUES(t, t->ndim - 1, first, end, 2), out);
}

static void release_all(int n, st_tensor **t) {
  for (int i = 0; i < n; i++) st__tensor_release(&t[i]);
}

static st_status to_dtype(st_tensor **t, int dtype) {
  return (*t)->dtype == dtype
       ? ST_OK : apply_with(t, ST_OP_to_dtype, st__of_int(dtype));
}

/* -- The reduction -------------------------------------------------------- */

typedef struct reduction {
  const st_reducer *r;
  const st_reducer_call *c;
  uint8_t accs[ST_TREE_ACCS];  /* dtypes of the accumulators */
  int64_t n;                   /* elements of a result */
  int nouter;
  int64_t outer[ST_MAX_DIMS];  /* sizes of the outer dimensions */
} reduction;

/* Moves the reduced dimensions to the end and flattens them into one. */
static st_status flatten_dims(const reduction *f, int dtype, st_tensor **t) {
  const st_reducer_call *c = f->c;
  int64_t dims[ST_MAX_DIMS], sizes[ST_MAX_DIMS + 1];
  int n = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int d = 0; d < c->ndim; d++) {
      if ((int)(c->dims >> d & 1) == pass) dims[n++] = d;
    }
  }
  memcpy(sizes, f->outer, sizeof f->outer);
  sizes[f->nouter] = f->n;
  ST_TRY(apply_with(t, ST_OP_expand, st__of_ints(c->sizes, c->ndim)));
  ST_TRY(apply_with(t, ST_OP_permute, st__of_ints(dims, n)));
  ST_TRY(apply_with(t, ST_OP_reshape, st__of_ints(sizes, f->nouter + 1)));
  return to_dtype(t, dtype);
}

/* out[i] = combine(a, b)[i], in the accumulators' dtypes and with the shape of
 * a[i]; inputs: a, then b. */
static st_status combine(const reduction *f, st_tensor *const *inputs,
                         st_tensor **out) {
  ST_TRY(st__graph_run(f->r->combine->graph, inputs, NULL, out, NULL, NULL));
  for (int j = 0; j < f->r->naccs; j++) {
    const st_value wide = st__of_ints(inputs[0]->sizes, inputs[0]->ndim);
    if (!st__same_sizes(out[j], inputs[0])) {
      ST_TRY(apply_with(&out[j], ST_OP_expand, wide));
    }
    ST_TRY(to_dtype(&out[j], f->accs[j]));
  }
  return ST_OK;
}

/* Appends the last of an odd number of values to the pairs. */
static st_status append_last(st_tensor *values, st_tensor **pairs) {
  const int64_t n = values->sizes[values->ndim - 1];
  const st_value dim = st__of_int(values->ndim - 1);
  st_tensor *list[2] = {*pairs, NULL}, *out;
  if (n % 2 == 0) return ST_OK;
  ST_TRY(every_second(values, n - 1, n, &list[1]));
  const st_status status =
    st__invoke1(ST_OP_cat, ST_VALUES(st__of_tensors(list, 2), dim), &out);
  st__tensor_release(&list[1]);
  ST_TRY(status);
  st__tensor_release(pairs);
  *pairs = out;
  return ST_OK;
}

static st_status combine_pairs(const reduction *f, st_tensor **values) {
  const int k = f->r->naccs;
  st_tensor *inputs[2 * ST_TREE_ACCS] = {NULL}, *out[ST_TREE_ACCS] = {NULL};
  st_status status = ST_OK;
  for (int j = 0; j < k; j++) {
    const int64_t end = values[j]->sizes[values[j]->ndim - 1] / 2 * 2;
    ST_TRY_FAIL(every_second(values[j], 0, end, &inputs[j]));
    ST_TRY_FAIL(every_second(values[j], 1, end, &inputs[k + j]));
  }
  ST_TRY_FAIL(combine(f, inputs, out));
  for (int j = 0; j < k; j++) {
    ST_TRY_FAIL(append_last(values[j], &out[j]));
    st__tensor_release(&values[j]);
    values[j] = out[j];
    out[j] = NULL;
  }
fail:
  release_all(2 * k, inputs);
  release_all(k, out);
  return status;
}

/* The built-in reduction over one dimension that equals combining with
 * builtin; ST_OP_COUNT if there is none. */
static st_op_id builtin_of(st_op_id builtin, st_dtype acc) {
  const bool has_order = !st__is_complex(acc);
  switch (builtin) {
    case ST_OP_add_Tensor:
      return acc == ST_BOOL ? ST_OP_COUNT : ST_OP_sum_dim_IntList;
    case ST_OP_mul_Tensor:
      return acc == ST_BOOL ? ST_OP_COUNT : ST_OP_prod_dim_int;
    case ST_OP_maximum: return has_order ? ST_OP_amax : ST_OP_COUNT;
    case ST_OP_minimum: return has_order ? ST_OP_amin : ST_OP_COUNT;
    default: return ST_OP_COUNT;
  }
}

static st_status reduce(const reduction *f, int j, st_op_id id, st_tensor **t) {
  const int64_t dim = (*t)->ndim - 1;
  const st_value dims = id == ST_OP_prod_dim_int ? st__of_int(dim)
                                                 : st__of_ints(&dim, 1);
  const st_value args[] = {st__of_tensor(*t), dims, st__of_bool(false)};
  ST_TRY(apply(t, id, 3, args));
  return to_dtype(t, f->accs[j]);
}

/* Reduces each of the values from [outer ..., n] to [outer ...]. */
static st_status reduce_values(const reduction *f, st_tensor **values) {
  bool is_builtin = f->r->is_commutative;
  st_op_id ids[ST_TREE_ACCS];
  for (int j = 0; j < f->r->naccs && is_builtin; j++) {
    ids[j] = builtin_of(f->r->builtin[j], (st_dtype)f->accs[j]);
    is_builtin = ids[j] != ST_OP_COUNT;
  }
  for (int64_t n = f->n; n > 1 && !is_builtin; n = n / 2 + n % 2) {
    ST_TRY(combine_pairs(f, values));
  }
  for (int j = 0; j < f->r->naccs; j++) {
    const st_value outer = st__of_ints(f->outer, f->nouter);
    if (is_builtin) ST_TRY(reduce(f, j, ids[j], &values[j]));
    else ST_TRY(apply_with(&values[j], ST_OP_reshape, outer));
  }
  return ST_OK;
}

/* Replaces values by combine(init, values). */
static st_status apply_init(const reduction *f, st_tensor **values) {
  const int k = f->r->naccs;
  st_tensor *inputs[2 * ST_TREE_ACCS] = {NULL}, *out[ST_TREE_ACCS] = {NULL};
  st_status status = ST_OK;
  if (!f->r->has_init) return ST_OK;
  for (int j = 0; j < k; j++) {
    st_scalar init = f->r->init[j];
    ST_TRY_FAIL(st__invoke1(ST_OP_full,
                            ST_VALUES(st__of_ints(f->outer, f->nouter),
                                      st__of_scalar(&init), f->accs[j]),
                            &inputs[j]));
    inputs[k + j] = values[j];
    st__tensor_retain(values[j]);
  }
  ST_TRY_FAIL(combine(f, inputs, out));
  for (int j = 0; j < k; j++) {
    st__tensor_release(&values[j]);
    values[j] = out[j];
    out[j] = NULL;
  }
fail:
  release_all(2 * k, inputs);
  release_all(k, out);
  return status;
}

/* Computes the operator's results from map's values, in the shapes of their
 * gradients. */
static st_status finish(const reduction *f, st_tensor *const *given,
                        st_tensor *const *grads, st_tensor **outs) {
  const st_graph *g = f->r->final->graph;
  st_tensor *values[ST_TREE_ACCS] = {NULL};
  st_status status = ST_OK;
  for (int j = 0; j < f->r->naccs; j++) {
    values[j] = given[j];
    st__tensor_retain(given[j]);
    ST_TRY_FAIL(flatten_dims(f, f->accs[j], &values[j]));
  }
  ST_TRY_FAIL(reduce_values(f, values));
  ST_TRY_FAIL(apply_init(f, values));
  ST_TRY_FAIL(st__graph_run(g, values, f->c->params, outs, NULL, NULL));
  for (int i = 0; i < g->noutputs; i++) {
    if (!grads[i]) continue;
    const st_value outer = st__of_ints(f->outer, f->nouter);
    const st_value shape = st__of_ints(grads[i]->sizes, grads[i]->ndim);
    ST_TRY_FAIL(apply_with(&outs[i], ST_OP_expand, outer));
    ST_TRY_FAIL(apply_with(&outs[i], ST_OP_reshape, shape));
  }
fail:
  release_all(f->r->naccs, values);
  return status;
}

/* -- Backward ------------------------------------------------------------- */

/* The tensors to differentiate by; NULL entries are skipped. */
typedef struct targets {
  int n;
  st_tensor *const *xs;
  bool create_graph;
} targets;

static st_status differentiate(const reduction *f, st_tensor *const *given,
                               st_tensor *const *grads, targets by,
                               st_tensor **out) {
  const int nouts = f->r->final->graph->noutputs;
  st_tensor *outs[ST_GRAPH_OUTPUTS] = {NULL}, *leaves[ST_GRAPH_INPUTS];
  st_tensor *ys[ST_GRAPH_OUTPUTS], *dys[ST_GRAPH_OUTPUTS];
  st_tensor *dxs[ST_GRAPH_INPUTS] = {NULL};
  st_backward_pass pass = {.outputs = ys, .grad_outputs = dys,
                           .inputs = leaves, .allow_unused = true,
                           .create_graph = by.create_graph,
                           .retain_graph = by.create_graph};
  st_status status;
  ST_TRY_FAIL(finish(f, given, grads, outs));
  for (int i = 0; i < nouts; i++) {
    if (!grads[i] || !st__requires_grad(outs[i])) continue;
    ys[pass.noutputs] = outs[i];
    dys[pass.noutputs++] = grads[i];
  }
  for (int i = 0; i < by.n; i++) {
    if (by.xs[i]) leaves[pass.ninputs++] = by.xs[i];
  }
  if (pass.noutputs > 0) ST_TRY_FAIL(st_backward(&pass, dxs));
  for (int i = 0, k = 0; i < by.n; i++) {
    if (by.xs[i]) out[i] = dxs[k++];
  }
fail:
  release_all(nouts, outs);
  return status;
}

/* The gradients with map as one program: its values are the leaves. */
static st_status backward_fused(const reduction *f, st_tensor *const *grads,
                                const bool *wanted, st_tensor **out) {
  const int k = f->r->naccs;
  st_tensor *values[ST_TREE_ACCS] = {NULL}, *leaves[ST_TREE_ACCS] = {NULL};
  st_tensor *dvalues[ST_TREE_ACCS] = {NULL};
  st_reducer_call *c = (st_reducer_call *)(uintptr_t)f->c;
  const st_tls old = st__tls();
  st_tls tls = old;
  bool found = false;
  st_status status;
  ST_TRY_FAIL(st__compiled_run(f->r->map, c->inputs, c->params + 1, values));
  tls.grad = true;
  st__set_tls(tls);
  for (int j = 0; j < k; j++) {
    const st_dtype d = values[j]->dtype;
    if (!st__is_floating(d) && !st__is_complex(d)) continue;
    ST_TRY_FAIL(st_tensor_set_requires_grad(values[j], true));
    leaves[j] = values[j];
  }
  ST_TRY_FAIL(differentiate(f, values, grads,
                            (targets){k, leaves, false}, dvalues));
  st__set_tls(old);
  for (int j = 0; j < k; j++) found |= dvalues[j] != NULL;
  if (!found) goto fail;
  ST_TRY_FAIL(st__compiled_backward(f->r->map, c->inputs, c->params + 1,
                                    dvalues, wanted, out));
fail:
  st__set_tls(old);
  release_all(k, values);
  release_all(k, dvalues);
  return status;
}

/* The gradients operator by operator, with a history that leads to the
 * arguments. */
static st_status backward_recorded(const reduction *f, st_tensor *const *grads,
                                   const bool *wanted, st_tensor **out) {
  const st_graph *g = f->r->map->graph;
  st_tensor *own[ST_GRAPH_INPUTS] = {NULL}, *xs[ST_GRAPH_INPUTS] = {NULL};
  st_tensor *values[ST_TREE_ACCS] = {NULL};
  st_status status = ST_OK;
  for (int i = 0; i < g->ninputs; i++) {
    const st_value arg = st__of_tensor(f->c->inputs[i]);
    ST_TRY_FAIL(st__invoke1(ST_OP_alias, 1, &arg, &own[i]));
    own[i]->flags |= f->c->inputs[i]->flags & ST_FLAG_WRAPPED;
    if (!wanted[i]) continue;
    if (!st__requires_grad(own[i])) {
      ST_TRY_FAIL(st_tensor_set_requires_grad(own[i], true));
    }
    xs[i] = own[i];
  }
  ST_TRY_FAIL(st__graph_run(g, own, f->c->params + 1, values, NULL, NULL));
  ST_TRY_FAIL(differentiate(f, values, grads,
                            (targets){g->ninputs, xs, true}, out));
fail:
  release_all(g->ninputs, own);
  release_all(f->r->naccs, values);
  return status;
}

static st_status find_accs(reduction *f) {
  uint8_t outs[ST_GRAPH_OUTPUTS];
  st_reducer_programs p;
  memset(outs, ST_DTYPE_NONE, sizeof outs);
  ST_TRY(st__reducer_programs(f->r, f->c, outs, &p));
  memcpy(f->accs, p.combine->out_dtype, sizeof f->accs);
  st__reducer_release_programs(&p);
  return ST_OK;
}

st_status st__reducer_backward(void *ctx, const st_op *op,
                               const st_value *args, const st_value *rets,
                               st_tensor *const *grads, const bool *wanted,
                               st_tensor **inputs) {
  st_reducer_call c = {.ndim = 0};
  reduction f = {.r = ctx, .c = &c};
  ST_TRY(st__check_values_schema(f.r->schema, op, args, rets));
  ST_TRY(st__reducer_call(f.r, args, &c));
  f.n = c.params[0].u.i;
  for (int d = 0; d < c.ndim; d++) {
    if (!(c.dims >> d & 1)) f.outer[f.nouter++] = c.sizes[d];
  }
  if (f.n == 0) return ST_OK;
  ST_TRY(find_accs(&f));
  return st__tls().grad ? backward_recorded(&f, grads, wanted, inputs)
                        : backward_fused(&f, grads, wanted, inputs);
}
