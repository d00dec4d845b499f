/* AccumulateGrad nodes, which add gradients to leaves (Note [AccumulateGrad
 * nodes]).
 */

#include "grad/graph/leaf.h"
#include "op/row/composite.h"

/* -- Accumulating --------------------------------------------------------- */

/* True if grad has the strides of a dense leaf, or is contiguous if the leaf
 * is not dense. */
static bool has_layout_of(const st_tensor *leaf, const st_tensor *grad) {
  if (!(leaf->flags & ST_FLAG_DENSE)) return st__is_contiguous(grad);
  for (int d = 0; d < leaf->ndim; d++) {
    if (leaf->sizes[d] != 1 && leaf->strides[d] != grad->strides[d]) {
      return false;
    }
  }
  return true;
}

/* True if the caller has the only reference to grad and to its storage, so
 * that the leaf can take grad without a copy. grad may be a view whose base
 * has no other reference. */
static bool is_exclusive(const st_tensor *grad) {
  const st_tensor *base = st__base(grad);
  return st__ref_count(&grad->refs) == 1 &&
         (!base || st__ref_count(&base->refs) == 1) &&
         st__ref_count(&grad->storage->refs) == 1 + (base != NULL) &&
         (grad->flags & ST_FLAG_DENSE) && !st__is_lazy(grad);
}

/* grad itself, or its detached alias if it is a view. */
static st_tensor *steal_grad(st_op_scope *c, st_tensor *grad) {
  if (!st__base(grad)) return grad;
  return st__apply1(c, ST_OP_detach, grad);
}

/* A copy of grad with the strides of a dense leaf, otherwise contiguous. */
static st_tensor *clone_grad(st_op_scope *c, const st_tensor *leaf,
                             const st_tensor *grad) {
  if (!(leaf->flags & ST_FLAG_DENSE)) {
    return ST_APPLY(c, ST_OP_clone, grad, ST_FORMAT_CONTIGUOUS);
  }
  st_tensor *t = ST_APPLY(c, ST_OP_new_empty_strided, grad,
                          st__of_ints(leaf->sizes, leaf->ndim),
                          st__of_ints(leaf->strides, leaf->ndim));
  return st__apply2(c, ST_OP_copy_, t, grad);
}

static st_tensor *sum_of(st_op_scope *c, const st_tensor *leaf, st_tensor *grad,
                         bool create_graph) {
  st_tensor *old = leaf->history ? leaf->history->grad : NULL;
  const bool is_strided = st__is_strided(grad) && (!old || st__is_strided(old));
  if (!old && create_graph) return grad;
  if (!old && !is_strided) return st__apply1(c, ST_OP_clone, grad);
  if (!old && has_layout_of(leaf, grad) && is_exclusive(grad)) {
    return steal_grad(c, grad);
  }
  if (!old) return clone_grad(c, leaf, grad);
  if (create_graph || !is_strided) return st__plus(c, old, grad);
  ST_APPLY_INTO(c, ST_OP_add_Tensor, old, grad);
  return old;
}

/* Adds grad to the leaf's gradient. The first gradient is stored without a copy
 * if the caller has the only reference to it. */
static st_status accumulate(st_tensor *leaf, st_tensor *grad,
                            bool create_graph) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *sum = sum_of(&c, leaf, grad, create_graph);
  if (st__scope_ok(&c)) c.status = st_tensor_set_grad(leaf, sum);
  return st__scope_end(&c, 0, NULL, NULL);
}

static st_status call_post_hooks(st_tensor *leaf) {
  st_hook **const list = &leaf->history->hooks;
  uint64_t last = 0;
  for (st_hook *h; (h = st__hook_begin(*list, ST_HOOK_POST, last));) {
    st_tensor *unused = NULL;
    last = h->id;
    const st_status status = h->u.tensor.fn(h->u.tensor.ctx, leaf, &unused);
    st__hook_end(list, h);
    st__tensor_release(&unused);
    ST_TRY(status);
  }
  return ST_OK;
}

static st_status run(st_node *n, st_tensor *const *grads, const bool *wanted,
                     st_tensor **out) {
  (void)wanted; (void)out;
  st_tensor *leaf = st__leaf_take(n);
  if (!leaf) return ST_OK;
  st_status status = accumulate(leaf, grads[0], st__tls().grad);
  if (status == ST_OK) status = call_post_hooks(leaf);
  st__tensor_release(&leaf);
  return status;
}

/* -- Creation ------------------------------------------------------------- */

static const st_node_kind kind = {run, NULL, st__leaf_unlink};

/* This may call the function of anomaly mode, which can free leaves. */
static st_status new_accumulator(const st_tensor *t, st_node **out) {
  ST_TRY(st__node_new(&kind, sizeof(st_leaf_node), 0, 1, out));
  (*out)->name = "AccumulateGrad";
  const st_status status = st__metadata_init(&(*out)->results[0], t);
  if (status != ST_OK) st__node_release(out);
  return status;
}

st_status st_tensor_accumulator(st_tensor *t, st_node **out) {
  st_history *h;
  st_node *fresh;
  ST_TRY(st__history_of(t, &h));
  if ((*out = st__leaf_link(t, NULL))) return ST_OK;
  ST_TRY(new_accumulator(t, &fresh));
  *out = st__leaf_link(t, fresh);
  if (*out != fresh) st__node_release(&fresh);
  return ST_OK;
}

bool st__accumulates(const st_node *n) { return n->kind == &kind; }

st_tensor *st_node_leaf(const st_node *n) {
  return st__accumulates(n) ? ((const st_leaf_node *)(const void *)n)->leaf
                            : NULL;
}

st_tensor *st__leaf_retain(const st_node *n) {
  return st__accumulates(n) ? st__leaf_take(n) : NULL;
}
