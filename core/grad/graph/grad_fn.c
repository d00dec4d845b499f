/* The nodes that computed tensors: grad_fn, requires_grad, writes in place and
 * hooks.
 */

#include "dispatch/dispatch.h"
#include "grad/graph/history.h"
#include "grad/graph/leaf.h"
#include "grad/graph/view_history.h"

/* -- Queries -------------------------------------------------------------- */

st_status st__grad_fn(st_tensor *t, st_edge *out) {
  *out = (st_edge){NULL, 0};
  if (st__base(t) && st__requires_grad(t)) ST_TRY(st__view_refresh(t));
  if (t->history) *out = (st_edge){t->history->grad_fn, t->history->nr};
  return ST_OK;
}

st_status st__gradient_edge(st_tensor *t, st_edge *out) {
  *out = (st_edge){NULL, 0};
  if (!st__requires_grad(t)) return ST_OK;
  ST_TRY(st__grad_fn(t, out));
  if (out->node) {
    st_node_retain(out->node);
    return ST_OK;
  }
  return t->history && t->history->requires_grad
         ? st_tensor_accumulator(t, &out->node) : ST_OK;
}

/* -- Updates -------------------------------------------------------------- */

/* From now on existing views of t require a gradient as well. */
static void mark_views(st_tensor *t) {
  if (st__ref_count(&t->storage->refs) > 1) {
    atomic_store_explicit(&t->storage->is_recorded, true,
                          memory_order_relaxed);
  }
}

static void set_retained_grad(st_retained_grad *s, st_tensor *grad) {
  st__tensor_release(&s->grad);
  st__tensor_retain(grad);
  s->grad = grad;
}

static st_status retain_grad_hook(void *ctx, st_tensor *grad, st_tensor **out) {
  (void)out;
  set_retained_grad(ctx, grad);
  return ST_OK;
}

/* Result nr of node is what h belongs to. */
static st_status add_retain_hook(const st_history *h, st_node *node, int nr) {
  const st_hook hook = {
    .when = ST_HOOK_RESULT, .nr = nr,
    .u.tensor = {retain_grad_hook, h->retained_grad,
                 st__retained_grad_drop}
  };
  ST_TRY(st__hook_add(&node->hooks, &hook, NULL));
  st__ref_take(&h->retained_grad->refs);
  return ST_OK;
}

st_status st__set_grad_fn(st_tensor *t, st_node *node, int nr) {
  st_history *h;
  ST_TRY(st__history_of(t, &h));
  st_node_retain(node);
  st__node_release(&h->grad_fn);
  h->grad_fn = node;
  h->nr = nr;
  t->keys |= ST_BIT(ST_FUNC_Autograd);
  if (st__base(t)) st__view_is_current(t);
  return h->retained_grad ? add_retain_hook(h, node, nr) : ST_OK;
}

st_status st__check_inplace(st_tensor *t) {
  const st_tensor *base = st__base(t);
  st_edge edge;
  if (base) {
    ST_TRY(st__view_check(t, "is written in place"));
    ST_TRY(st__grad_fn((st_tensor *)(uintptr_t)base, &edge));
    if (st__requires_grad(t) && !edge.node) {
      return st__fail(ST_BAD_STATE, "a view of a leaf that requires a "
                      "gradient cannot be written in place while gradients "
                      "are recorded:\nclone the leaf first, or write it "
                      "within no_grad");
    }
  }
  if (!st__requires_grad(t)) return ST_OK;
  ST_TRY(st__grad_fn(t, &edge));
  if (edge.node) return ST_OK;
  return st__fail(ST_BAD_STATE, "a leaf that requires a gradient cannot be "
                  "written in place while gradients are recorded:\nclone it "
                  "first, or write it within no_grad");
}

st_status st__rebase_prepare(st_tensor *t, st_node *node, int nr,
                             st_node **next) {
  st_tensor *const base = st__base(t);
  st_history *h;
  ST_TRY(st__history_of(base ? base : t, &h));
  if (base) {
    ST_TRY(st__copy_slices(base, t, node, nr, next));
  } else {
    st_node_retain(node);
    *next = node;
  }
  if (!h->retained_grad) return ST_OK;
  const st_status status = add_retain_hook(h, *next, base ? 0 : nr);
  if (status != ST_OK) st__node_release(next);
  return status;
}

void st__rebase(st_tensor *t, st_node **next, int nr) {
  st_tensor *const base = st__base(t), *const owner = base ? base : t;
  st_history *const h = owner->history;
  st__node_release(&h->grad_fn);
  h->grad_fn = *next;
  h->nr = base ? 0 : nr;
  *next = NULL;
  owner->keys |= ST_BIT(ST_FUNC_Autograd);
  t->keys |= ST_BIT(ST_FUNC_Autograd);
  mark_views(owner);
}

st_status st_tensor_detach(st_tensor *t) {
  if (st__base(t)) {
    return st__fail(ST_BAD_STATE, "a view cannot be detached in place: "
                    "use detach()");
  }
  t->keys &= ~ST_AUTOGRAD_BITS;
  if (t->history) {
    st__node_release(&t->history->grad_fn);
    t->history->nr = 0;
    t->history->requires_grad = false;
  }
  return ST_OK;
}

static st_status check_can_require(const st_tensor *t) {
  if (!st__is_differentiable(t)) {
    return st__fail(ST_BAD_DTYPE, "only tensors of floating and complex "
                    "dtypes can require a gradient, not %s%s",
                    st__dtype_name(t->dtype), t->dtype != ST_INT64 ? ""
                    : ": numbers without a fraction make int64, write {dtype "
                      "= \"float32\"}");
  }
  if (!(t->keys & ST_BIT(ST_FUNC_ADInplaceOrView)) && !st__tls().inference) {
    return st__fail(ST_BAD_STATE, "an inference tensor cannot require a "
                    "gradient outside of inference mode: clone it first");
  }
  return ST_OK;
}

st_status st_tensor_set_requires_grad(st_tensor *t, bool requires_grad) {
  st_history *h;
  st_edge edge;
  ST_TRY(st__grad_fn(t, &edge));
  if (requires_grad &&
      (edge.node || (t->history && t->history->requires_grad))) {
    return ST_OK;
  }
  if (!requires_grad && edge.node) {
    return st__fail(ST_BAD_STATE, "only for a leaf can requires_grad be set "
                    "to false, and this tensor was computed (%s):\nuse "
                    "detach()", edge.node->name);
  }
  if (!requires_grad) {
    t->keys &= ~ST_AUTOGRAD_BITS;
    if (t->history) t->history->requires_grad = false;
    return ST_OK;
  }
  ST_TRY(check_can_require(t));
  ST_TRY(st__history_of(t, &h));
  h->requires_grad = true;
  t->keys |= ST_BIT(ST_FUNC_Autograd);
  mark_views(t);
  return ST_OK;
}

st_status st_tensor_retain_grad(st_tensor *t) {
  st_edge edge;
  if (!st__requires_grad(t)) {
    return st__fail(ST_BAD_STATE, "only a tensor that requires a gradient "
                    "can retain it");
  }
  ST_TRY(st__grad_fn(t, &edge));
  if (!edge.node || t->history->retained_grad) return ST_OK;
  st_retained_grad *s = st__alloc_zero(ST_MEM_GRAPH, sizeof *s);
  if (!s) return ST_NO_MEMORY;
  st__ref_init(&s->refs);
  t->history->retained_grad = s;
  return add_retain_hook(t->history, t->history->grad_fn, t->history->nr);
}

/* -- Hooks ---------------------------------------------------------------- */

/* The hooks of a leaf are in its history, those of other tensors at their
 * grad_fn. */
static st_status hooks_of(st_tensor *t, st_hook ***list, int *nr) {
  st_edge edge;
  st_history *h;
  ST_TRY(st__grad_fn(t, &edge));
  ST_TRY(st__history_of(t, &h));
  *list = edge.node ? &edge.node->hooks : &h->hooks;
  *nr = edge.nr;
  return ST_OK;
}

st_status st__tensor_hook(st_tensor *t, const st_tensor_hook *fn,
                          bool is_post, uint64_t *id) {
  st_hook **list;
  st_hook hook = {.when = is_post ? ST_HOOK_POST : ST_HOOK_RESULT,
                  .u.tensor = *fn};
  if (!st__requires_grad(t)) {
    return st__fail(ST_BAD_STATE, "only a tensor that requires a gradient "
                    "can have hooks");
  }
  ST_TRY(hooks_of(t, &list, &hook.nr));
  if (is_post && list != &t->history->hooks) {
    return st__fail(ST_BAD_STATE, "only a leaf accumulates a gradient, and "
                    "this tensor was computed");
  }
  ST_TRY(st__hook_add(list, &hook, id));
  if (list == &t->history->hooks) st__leaf_keep(t);
  return ST_OK;
}

bool st_tensor_remove_hook(st_tensor *t, uint64_t id) {
  st_history *const h = t->history;
  if (!h) return false;
  return st__hook_remove(&h->hooks, id) ||
         (h->grad_fn && st__hook_remove(&h->grad_fn->hooks, id));
}
