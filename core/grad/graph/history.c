/* The histories of tensors: their life and their gradients.
 */

#include "grad/graph/history.h"

#include "grad/graph/leaf.h"

/* -- Creation and release ------------------------------------------------- */

void st__version_counter_drop(st_version_counter **c) {
  if (*c && st__ref_drop(&(*c)->refs)) {
    st__free(ST_MEM_GRAPH, *c, sizeof **c);
  }
  *c = NULL;
}

void st__retained_grad_drop(void *ctx) {
  st_retained_grad *s = ctx;
  if (!s || !st__ref_drop(&s->refs)) return;
  st__tensor_release(&s->grad);
  st__free(ST_MEM_GRAPH, s, sizeof *s);
}

static void destroy(st_history *h) {
  st__node_release(&h->grad_fn);
  st__tensor_release(&h->grad);
  st__retained_grad_drop(h->retained_grad);
  st__hooks_free(&h->hooks);
  st__version_counter_drop(&h->version_counter);
  st__free(ST_MEM_GRAPH, h, sizeof *h);
}

/* Iterative, since a gradient may have a gradient of its own, and so on:
 * Note [Deferred release]. */
static void history_free(st_history *h) {
  static _Thread_local st_history *deferred;
  static _Thread_local bool is_releasing;
  st__leaf_freed(h);
  h->next = deferred;
  deferred = h;
  if (is_releasing) return;
  is_releasing = true;
  while ((h = deferred)) {
    deferred = h->next;
    destroy(h);
  }
  is_releasing = false;
}

void st__history_set_up(void) { st__history_free = history_free; }

st_status st__history_of(st_tensor *t, st_history **out) {
  if (!t->history) {
    t->history = st__alloc_zero(ST_MEM_GRAPH, sizeof *t->history);
  }
  *out = t->history;
  return t->history ? ST_OK : ST_NO_MEMORY;
}

/* -- Gradients ------------------------------------------------------------ */

st_tensor *st_tensor_grad(const st_tensor *t) {
  const st_history *h = t->history;
  return !h ? NULL : h->retained_grad ? h->retained_grad->grad : h->grad;
}

static st_status check_grad(const st_tensor *t, const st_tensor *grad) {
  if (grad == t) {
    return st__fail(ST_BAD_VALUE, "a tensor cannot be its own gradient");
  }
  if (st__base(grad) == t) { /* neither would be released any more */
    return st__fail(ST_BAD_VALUE, "a view of a tensor cannot be its gradient: "
                    "clone() it");
  }
  if (grad->dtype != t->dtype) {
    return st__fail(ST_BAD_DTYPE, "a gradient of %s cannot be that of a "
                    "tensor of %s", st__dtype_name(grad->dtype),
                    st__dtype_name(t->dtype));
  }
  if (grad->device != t->device) {
    return st__fail(ST_BAD_VALUE, "a gradient on device '%s' cannot be that "
                    "of a tensor on '%s'",
                    st__device_name(grad->device),
                    st__device_name(t->device));
  }
  if (st__same_sizes(t, grad)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "a gradient of shape %s cannot be that of a "
                  "tensor of shape %s", ST_SHAPE_TEXT(grad),
                  ST_SHAPE_TEXT(t));
}

st_status st_tensor_set_grad(st_tensor *t, st_tensor *grad) {
  st_history *h = t->history;
  if (!grad && !h) return ST_OK;
  if (grad) ST_TRY(check_grad(t, grad));
  ST_TRY(st__history_of(t, &h));
  st_tensor **const at = h->retained_grad ? &h->retained_grad->grad : &h->grad;
  if (grad) st__tensor_retain(grad);
  st__tensor_release(at);
  *at = grad;
  return ST_OK;
}
