/* Saved arguments and results.
 */

#include "grad/graph/saved_tensor.h"

#include <string.h>

#include "op/row/composite.h"
#include "tensor/view.h"

/* -- Saving --------------------------------------------------------------- */

static st_status save_header(st_saved *s, const st_tensor *t) {
  st_tensor *header;
  ST_TRY(st__view_alias(t, &header));
  header->flags |= t->flags & ST_FLAG_WRAPPED;
  s->value = st__of_tensor(header);
  ST_TRY(st__share_version(t, header));
  s->version = st__version(header);
  return ST_OK;
}

/* A view made within no_grad requires a gradient without having a history; a
 * new header would not, so the view itself is saved. */
static void save_itself(st_saved *s, st_tensor *t) {
  st__value_clear(&s->value);
  st__tensor_retain(t);
  s->value = st__of_tensor(t);
}

static st_status save_tensor(st_saved *s, st_tensor *t, bool is_result) {
  st_edge edge = {NULL, 0};
  if (!(t->keys & ST_BIT(ST_FUNC_ADInplaceOrView)) && !st__tls().inference) {
    return st__fail(ST_BAD_STATE, "an inference tensor cannot be saved for a "
                    "gradient:\nclone it outside of inference mode");
  }
  ST_TRY(save_header(s, t));
  s->is_result = is_result;
  if (is_result) return ST_OK;
  ST_TRY(st__gradient_edge(t, &edge));
  if (!edge.node && st__requires_grad(t)) save_itself(s, t);
  s->source = edge.node;
  s->nr = edge.nr;
  return ST_OK;
}

static st_status make_list(st_saved *s, uint32_t n) {
  s->list = st__alloc_zero(ST_MEM_GRAPH, (n + 1) * sizeof *s->list);
  if (!s->list) return ST_NO_MEMORY;
  s->value = (st_value){.tag = ST_TAG_TENSORS, .len = n};
  return ST_OK;
}

st_status st__save(st_saved *s, const st_value *v, bool is_result) {
  if (v->tag == ST_TAG_TENSOR) {
    return save_tensor(s, v->u.tensor, is_result);
  }
  if (v->tag != ST_TAG_TENSORS) return st__value_copy(v, &s->value);
  ST_TRY(make_list(s, v->len));
  for (uint32_t i = 0; i < v->len; i++) {
    if (!v->u.tensors[i]) continue;
    ST_TRY(save_tensor(&s->list[i], v->u.tensors[i], is_result));
    s->list[i].nr = is_result ? (int)i : s->list[i].nr;
  }
  return ST_OK;
}

st_status st__save_clone(st_saved *s, const st_tensor *t) {
  st_edge edge;
  st_tensor *copy = NULL;
  const st_value self = st__of_tensor(t);
  const st_tls old = st__tls();
  st_tls tls = old;
  tls.excluded |= ST_AUTOGRAD_BITS | ST_BIT(ST_FUNC_ADInplaceOrView);
  st__set_tls(tls);
  const st_status status = st__invoke1(ST_OP_clone, 1, &self, &copy);
  st__set_tls(old);
  ST_TRY(status);
  s->value = st__of_tensor(copy);
  s->version = st__version(copy);
  ST_TRY(st__gradient_edge((st_tensor *)(uintptr_t)t, &edge));
  s->source = edge.node;
  s->nr = edge.nr;
  return ST_OK;
}

static size_t geometry_size(int ndim) {
  return sizeof(st_saved_geometry) + 2 * (size_t)ndim * sizeof(int64_t);
}

static st_status save_geometry(st_saved *s, const st_tensor *t) {
  st_saved_geometry *g = st__alloc(ST_MEM_GRAPH, geometry_size(t->ndim));
  if (!g) return ST_NO_MEMORY;
  g->dtype = t->dtype;
  g->device = (uint8_t)t->device;
  g->ndim = t->ndim;
  g->offset = t->offset;
  for (int d = 0; d < t->ndim; d++) {
    g->dims[d] = t->sizes[d];
    g->dims[t->ndim + d] = t->strides[d];
  }
  s->geometry = g;
  return ST_OK;
}

st_status st__save_geometry(st_saved *s, const st_value *v) {
  if (v->tag == ST_TAG_TENSOR) return save_geometry(s, v->u.tensor);
  if (v->tag != ST_TAG_TENSORS) return st__value_copy(v, &s->value);
  ST_TRY(make_list(s, v->len));
  for (uint32_t i = 0; i < v->len; i++) {
    if (v->u.tensors[i]) {
      ST_TRY(save_geometry(&s->list[i], v->u.tensors[i]));
    }
  }
  return ST_OK;
}

static void clear_one(st_saved *s) {
  if (!s->list) st__value_clear(&s->value);
  if (s->geometry) {
    st__free(ST_MEM_GRAPH, s->geometry, geometry_size(s->geometry->ndim));
  }
  st__node_release(&s->source);
}

void st__saved_clear(st_saved *s) {
  for (uint32_t i = 0; s->list && i < s->value.len; i++) {
    clear_one(&s->list[i]);
  }
  if (s->list) {
    st__free(ST_MEM_GRAPH, s->list, (s->value.len + 1) * sizeof *s->list);
  }
  clear_one(s);
  *s = (st_saved){.value = st__none()};
}

static bool holds_tensors(const st_saved *s) {
  for (uint32_t i = 0; s->list && i < s->value.len; i++) {
    if (s->list[i].value.tag == ST_TAG_TENSOR) return true;
  }
  return !s->list && s->value.tag == ST_TAG_TENSOR;
}

void st__saved_release(st_saved *s) {
  if (holds_tensors(s)) st__saved_clear(s);
}

/* -- Unpacking ------------------------------------------------------------ */

static st_status changed(const st_saved *s, const st_node *node,
                         const char *name) {
  const st_tensor *t = s->value.u.tensor;
  return st__fail(ST_BAD_STATE, "%s: '%s' (%s %s), saved for the gradient, "
                  "was written in place since: it is at version %u, expected "
                  "%u%s%s", node->name, name,
                  st__dtype_name(t->dtype), ST_SHAPE_TEXT(t),
                  st__version(t), s->version,
                  node->where ? "\nrecorded at " : "",
                  node->where ? node->where : "");
}

static st_status check_one(const st_saved *s, const st_node *node,
                           const char *name) {
  const bool is_tensor = !s->list && s->value.tag == ST_TAG_TENSOR;
  if (!is_tensor || st__version(s->value.u.tensor) == s->version) return ST_OK;
  return changed(s, node, name);
}

st_status st__saved_check(const st_saved *s, const st_node *node,
                          const char *name) {
  for (uint32_t i = 0; s->list && i < s->value.len; i++) {
    ST_TRY(check_one(&s->list[i], node, name));
  }
  return check_one(s, node, name);
}

bool st__saved_is_written(const st_saved *s) {
  return s->value.tag != ST_TAG_TENSOR ||
         st__version(s->value.u.tensor) != s->version;
}

static st_status unpack_tensor(const st_saved *s, st_node *node,
                               const char *name, st_tensor **out) {
  st_tensor *t = s->value.u.tensor;
  st_node *const source = s->is_result ? node : s->source;
  ST_TRY(check_one(s, node, name));
  if (!source || !st__tls().grad || !st__is_differentiable(t)) {
    st__tensor_retain(t);
    *out = t;
    return ST_OK;
  }
  ST_TRY(st__view_alias(t, out));
  (*out)->flags |= t->flags & ST_FLAG_WRAPPED;
  st_status status = st__share_version(t, *out);
  if (status == ST_OK) status = st__set_grad_fn(*out, source, s->nr);
  if (status != ST_OK) st__tensor_release(out);
  return status;
}

static st_status unpack_list(const st_saved *s, st_node *node,
                             const char *name, st_value *out) {
  ST_TRY(st__value_new_tensors((int)s->value.len, out));
  for (uint32_t i = 0; i < s->value.len; i++) {
    if (s->list[i].value.tag != ST_TAG_TENSOR) continue;
    const st_status status = unpack_tensor(&s->list[i], node, name,
                                           &out->u.tensors[i]);
    if (status != ST_OK) {
      st__value_clear(out);
      return status;
    }
  }
  return ST_OK;
}

st_status st__saved_unpack(const st_saved *s, st_node *node, const char *name,
                           st_value *out) {
  st_tensor *t;
  if (node->is_released) {
    return st__fail(ST_BAD_STATE, "%s: its saved tensors were freed by an "
                    "earlier backward pass:\nset retain_graph in that pass "
                    "to run another one", node->name);
  }
  if (s->list) return unpack_list(s, node, name, out);
  if (s->value.tag != ST_TAG_TENSOR) return st__value_copy(&s->value, out);
  ST_TRY(unpack_tensor(s, node, name, &t));
  *out = st__of_tensor(t);
  return ST_OK;
}
