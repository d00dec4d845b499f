/* Running the hooks of a backward pass. A gradient that a hook returns must
 * have the dtype, shape and device of the one that it replaces.
 */

#include "grad/engine/hook.h"

#include "base/dtype.h"

static bool is_like(const st_tensor *a, const st_tensor *b) {
  return a->dtype == b->dtype && a->device == b->device &&
         st__same_sizes(a, b);
}

static st_status mismatch(const st_tensor *was, const st_tensor *is) {
  return st__fail(ST_BAD_SHAPE, "a hook must not change the dtype, shape or "
                  "device of a gradient: expected %s %s on %s, got %s %s on "
                  "%s", st__dtype_name(was->dtype),
                  ST_SHAPE_TEXT(was), st__device_name(was->device),
                  st__dtype_name(is->dtype), ST_SHAPE_TEXT(is),
                  st__device_name(is->device));
}

/* -- Tensor hooks --------------------------------------------------------- */

static st_status call_tensor_hook(const st_hook *h, st_tensor **grad) {
  st_tensor *other = NULL;
  ST_TRY(h->u.tensor.fn(h->u.tensor.ctx, *grad, &other));
  if (!other) return ST_OK;
  if (!is_like(*grad, other)) {
    const st_status status = mismatch(*grad, other);
    st__tensor_release(&other);
    return status;
  }
  st__tensor_release(grad);
  *grad = other;
  return ST_OK;
}

st_status st__run_result_hooks(st_hook **list, st_tensor **grads) {
  uint64_t last = 0;
  for (st_hook *h; (h = st__hook_begin(*list, ST_HOOK_RESULT, last));) {
    last = h->id;
    const st_status status = grads[h->nr]
                             ? call_tensor_hook(h, &grads[h->nr]) : ST_OK;
    st__hook_end(list, h);
    ST_TRY(status);
  }
  return ST_OK;
}

/* -- Node hooks ----------------------------------------------------------- */

static st_status check_result(const st_node *n, int i, const st_tensor *was,
                              const st_tensor *is) {
  if (!is || (was ? is_like(was, is) : st__metadata_matches(&n->results[i],
                                                            is))) {
    return ST_OK;
  }
  if (was) return mismatch(was, is);
  return st__fail(ST_BAD_SHAPE, "a hook returned a gradient of %s %s for "
                  "result %d of %s, which has another dtype or shape",
                  st__dtype_name(is->dtype), ST_SHAPE_TEXT(is),
                  i + 1, n->name);
}

/* The hook gets a copy of the list, so that its replacements can be compared
 * with the originals; they become the node's gradients if all are valid. */
static st_status call_before(const st_node *n, const st_hook *h,
                             st_tensor **grads) {
  const size_t bytes = (size_t)n->nresults * sizeof(st_tensor *);
  st_tensor **now = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!now) return ST_NO_MEMORY;
  for (int i = 0; i < n->nresults; i++) {
    if (grads[i]) st__tensor_retain(grads[i]);
    now[i] = grads[i];
  }
  st_status status = h->u.node.fn(h->u.node.ctx, 0, NULL, n->nresults, now);
  for (int i = 0; status == ST_OK && i < n->nresults; i++) {
    status = check_result(n, i, grads[i], now[i]);
  }
  for (int i = 0; i < n->nresults; i++) {
    st_tensor *const old = grads[i];
    if (status == ST_OK) {
      grads[i] = now[i];
      now[i] = old;
    }
    st__tensor_release(&now[i]);
  }
  st__free(ST_MEM_SCRATCH, now, bytes);
  return status;
}

st_status st__run_hooks_before(st_node *n, st_tensor **grads) {
  uint64_t last = 0;
  for (st_hook *h; (h = st__hook_begin(n->hooks, ST_HOOK_BEFORE, last));) {
    last = h->id;
    const st_status status = call_before(n, h, grads);
    st__hook_end(&n->hooks, h);
    ST_TRY(status);
  }
  return ST_OK;
}

st_status st__run_hooks_after(st_node *n, st_tensor **inputs,
                              st_tensor **grads) {
  uint64_t last = 0;
  for (st_hook *h; (h = st__hook_begin(n->hooks, ST_HOOK_AFTER, last));) {
    last = h->id;
    const st_status status = h->u.node.fn(h->u.node.ctx, n->ninputs, inputs,
                                          n->nresults, grads);
    st__hook_end(&n->hooks, h);
    ST_TRY(status);
  }
  return ST_OK;
}
