/* Histories of views.
 *
 * Note [CopySlices]
 * Writes are recorded in the history of the base. When a node F writes a view,
 * the base becomes the result of a CopySlices node that owns F. It passes the
 * view's part of the base's gradient to F and replaces this part by what F
 * returns (A5). Every view of the base, the written one included, then has a
 * version that is newer than its node. When its node is next needed, a new one
 * is made: that of the same view of the new base.
 */

#include "grad/graph/view_history.h"

#include "dispatch/dispatch.h"
#include "op/row/composite.h"
#include "tensor/view.h"

static st_view_tensor *as_view(const st_tensor *t) {
  return (st_view_tensor *)(uintptr_t)t;
}

/* -- Tracking ------------------------------------------------------------- */

st_status st__view_track(st_tensor *t, st_tensor *view,
                         st_creation creation) {
  st_tensor *const base = st__base(t) ? st__base(t) : t;
  ST_TRY(st__share_version(t, view));
  if (!st__is_differentiable(t) || !st__is_differentiable(view)) return ST_OK;
  if (view->has_inline || view == t || st__base(view)) return ST_OK;
  if (creation == ST_CREATION_DEFAULT && base != t) {
    creation = as_view(t)->creation;
  }
  st__tensor_retain(base);
  as_view(view)->base = base;
  as_view(view)->creation = creation;
  as_view(view)->version = st__version(view);
  if (base->keys & ST_AUTOGRAD_BITS) {
    view->keys |= ST_BIT(ST_FUNC_Autograd);
  }
  return ST_OK;
}

void st__view_is_current(st_tensor *view) {
  as_view(view)->version = st__version(view);
}

/* -- Checks --------------------------------------------------------------- */

static const char *const reasons[] = {
  [ST_CREATION_DEFAULT] = "",
  [ST_CREATION_NO_GRAD] = "it was made within no_grad:\nmake and write it "
    "both inside or both outside",
  [ST_CREATION_INFERENCE] = "it was made in inference mode:\nmake and write "
    "it both inside or both outside",
  [ST_CREATION_MULTI_OUTPUT] = "it is one of several views that one operator "
    "returned:\nuse an operator that is not in place, or select() or narrow()",
  [ST_CREATION_FUNCTION] = "a custom autograd function returned it:\nclone it "
    "in that function"
};

st_status st__view_check(const st_tensor *view, const char *what) {
  const st_creation c = as_view(view)->creation;
  const st_history *h = view->history;
  if (c == ST_CREATION_DEFAULT) return ST_OK;
  if (h && h->grad_fn) {
    return st__fail(ST_BAD_STATE, "output %d of %s is a view and %s, but %s",
                    (int)st__display_index(h->nr), h->grad_fn->name, what,
                    reasons[c]);
  }
  return st__fail(ST_BAD_STATE, "a view %s, but %s", what, reasons[c]);
}

/* -- View functions ------------------------------------------------------- */

/* A view as a function of its base, to be applied to another tensor. */
typedef struct view_fn {
  int ndim;
  int64_t offset;           /* from the base's first element */
  bool is_conj, is_neg;     /* the view differs from the base in this bit */
  int to_real;              /* 1: real view of complex, -1: the reverse */
  int64_t *sizes, *strides; /* of the view, for -1 with a last dimension of
                               pairs; dims, or allocated */
  int64_t dims[2 * (ST_INLINE_DIMS + 1)];
} view_fn;

static size_t view_fn_size(const view_fn *w) {
  return 2 * (size_t)w->ndim * sizeof(int64_t);
}

static void view_fn_free(view_fn *w) {
  if (w->ndim > ST_INLINE_DIMS + 1) {
    st__free(ST_MEM_GRAPH, w->sizes, view_fn_size(w));
  }
}

static st_status view_fn_init(const st_tensor *base, const st_tensor *view,
                              view_fn *w) {
  const bool from = st__is_complex(base->dtype);
  const bool to = st__is_complex(view->dtype);
  w->to_real = from - to;
  w->ndim = view->ndim + (w->to_real < 0);
  w->is_conj = st__is_conj(view) != st__is_conj(base) && from && to;
  w->is_neg = st__is_neg(view) != st__is_neg(base);
  w->sizes = w->dims;
  if (w->ndim > ST_INLINE_DIMS + 1) {
    w->sizes = st__alloc(ST_MEM_GRAPH, view_fn_size(w));
    if (!w->sizes) return ST_NO_MEMORY;
  }
  w->strides = w->sizes + w->ndim;
  const int64_t scale = w->to_real < 0 ? 2 : 1;
  for (int d = 0; d < view->ndim; d++) {
    w->sizes[d] = view->sizes[d];
    w->strides[d] = view->strides[d] * scale;
  }
  if (w->to_real < 0) {
    w->sizes[view->ndim] = 2;
    w->strides[view->ndim] = 1;
  }
  w->offset = view->offset * scale -
              base->offset * (w->to_real > 0 ? 2 : 1);
  return ST_OK;
}

/* The view of t, which has the layout of the base. */
static st_tensor *view_fn_apply(st_op_scope *c, const st_tensor *t,
                                const view_fn *w) {
  if (w->to_real > 0) t = st__apply1(c, ST_OP_view_as_real, t);
  if (!st__scope_ok(c)) return NULL;
  st_tensor *v =
    ST_APPLY(c, ST_OP_as_strided, t, st__of_ints(w->sizes, w->ndim),
             st__of_ints(w->strides, w->ndim), w->offset + t->offset);
  if (w->to_real < 0) v = st__apply1(c, ST_OP_view_as_complex, v);
  if (w->is_conj) v = st__apply1(c, ST_OP__conj, v);
  if (w->is_neg) v = st__apply1(c, ST_OP__neg_view, v);
  return v;
}

/* -- Regenerating the node of a view -------------------------------------- */

/* An alias of base that has base's gradient edge as its grad_fn. */
static st_status alias_base(st_tensor *base, st_tensor **out) {
  st_edge edge;
  st_status status;
  ST_TRY(st__view_alias(base, out));
  ST_TRY_FAIL(st__gradient_edge(base, &edge));
  status = st__set_grad_fn(*out, edge.node, edge.nr);
  st__node_release(&edge.node);
  if (status == ST_OK) return ST_OK;
fail:
  st__tensor_release(out);
  return status;
}

static st_status regenerate_grad_fn(st_tensor *view, const view_fn *w) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *base;
  ST_TRY(alias_base(st__base(view), &base));
  const st_tensor *seen = view_fn_apply(&c, base, w);
  if (st__scope_ok(&c) && (!seen->history || !seen->history->grad_fn ||
                           !st__same_sizes(seen, view))) {
    c.status = st__fail(ST_BAD_STATE, "a kernel that replaces the built-in one "
                        "of a view operator did not record a gradient");
  }
  if (st__scope_ok(&c)) {
    c.status = st__set_grad_fn(view, seen->history->grad_fn,
                               seen->history->nr);
  }
  st__tensor_release(&base);
  return st__scope_end(&c, 0, NULL, NULL);
}

st_status st__view_refresh(st_tensor *view) {
  st_tensor *const base = st__base(view);
  view_fn w;
  if (!(base->keys & ST_AUTOGRAD_BITS)) return ST_OK;
  if (as_view(view)->version == st__version(view)) return ST_OK;
  ST_TRY(st__view_check(view, "was written since, through its base or "
                        "another view of it"));
  ST_TRY(view_fn_init(base, view, &w));
  const st_tls old = st__tls();
  st_tls tls = old;
  tls.grad = true;
  tls.inference = false;
  tls.excluded &= ~(ST_AUTOGRAD_BITS | ST_BIT(ST_FUNC_ADInplaceOrView));
  st__set_tls(tls);
  const st_status status = regenerate_grad_fn(view, &w);
  st__set_tls(old);
  view_fn_free(&w);
  return status;
}

/* -- CopySlices ----------------------------------------------------------- */

typedef struct copy_slices {
  st_node node;
  st_node *fn;       /* owned */
  int nr;            /* the view is this result of fn */
  st_input_metadata base;
  int64_t *strides;  /* the base's, base.ndim of them */
  view_fn view_fn;
} copy_slices;

/* A copy of the base's gradient with the base's strides. */
static st_tensor *lay_out(st_op_scope *c, const copy_slices *s,
                          const st_tensor *grad) {
  st_tensor *t = ST_APPLY(c, ST_OP_new_empty_strided, grad,
                          st__of_ints(s->base.sizes, s->base.ndim),
                          st__of_ints(s->strides, s->base.ndim));
  if (!st__scope_ok(c)) return NULL;
  return st__apply2(c, ST_OP_copy_, t, grad);
}

/* Runs fn with the gradient of the view. */
static st_status run_fn(const copy_slices *s, st_tensor *grad,
                        const bool *wanted, st_tensor **out) {
  st_tensor *grads[ST_MAX_ARGS] = {NULL};
  if (s->fn->nresults > ST_MAX_ARGS) return ST_BAD_STATE;
  grads[s->nr] = grad;
  bool all[ST_MAX_ARGS];
  bool *const fn_wanted = s->fn->ninputs <= ST_MAX_ARGS
                          ? all : st__alloc(ST_MEM_SCRATCH,
                                            (size_t)s->fn->ninputs);
  if (!fn_wanted) return ST_NO_MEMORY;
  fn_wanted[0] = s->fn->edges[0].node != NULL; /* fn saved nothing for it */
  for (int i = 1; i < s->fn->ninputs; i++) fn_wanted[i] = wanted[i];
  const st_status status = s->fn->kind->run(s->fn, grads, fn_wanted, out);
  if (fn_wanted != all) {
    st__free(ST_MEM_SCRATCH, fn_wanted, (size_t)s->fn->ninputs);
  }
  return status;
}

/* fn stores the gradient of the view in out[0]; the gradient of the whole base
 * replaces it. */
static st_status run_copy_slices(st_node *n, st_tensor *const *grads,
                                 const bool *wanted, st_tensor **out) {
  const copy_slices *s = (const copy_slices *)(const void *)n;
  st_op_scope c = {.status = ST_OK};
  st_tensor *whole = lay_out(&c, s, grads[0]);
  st_tensor *part = st__scope_ok(&c) ? view_fn_apply(&c, whole,
                                                     &s->view_fn) : NULL;
  st_tensor *copy = st__apply1(&c, ST_OP_clone, part);
  if (st__scope_ok(&c)) c.status = run_fn(s, copy, wanted, out);
  if (st__scope_ok(&c) && out[0]) {
    st__apply2(&c, ST_OP_copy_, part, out[0]);
  } else if (st__scope_ok(&c)) {
    st__apply1(&c, ST_OP_zero_, part);
  }
  st__tensor_release(&out[0]);
  if (st__scope_ok(&c)) {
    st__tensor_retain(whole);
    out[0] = whole;
  }
  return st__scope_end(&c, 0, NULL, NULL);
}

/* fn keeps its saved tensors if other nodes refer to it: a second derivative
 * may reach it later without this node. */
static void release_copy_slices(st_node *n) {
  copy_slices *s = (copy_slices *)(void *)n;
  if (s->fn && st__ref_count(&s->fn->refs) == 1) st__node_release_saved(s->fn);
}

static void free_copy_slices(st_node *n) {
  copy_slices *s = (copy_slices *)(void *)n;
  st__node_release(&s->fn);
  if (s->strides) {
    st__free(ST_MEM_GRAPH, s->strides, (s->base.ndim + 1u) * sizeof(int64_t));
  }
  if (s->base.ndim > ST_INLINE_DIMS) {
    st__free(ST_MEM_GRAPH, s->base.sizes, s->base.ndim * sizeof(int64_t));
  }
  view_fn_free(&s->view_fn);
}

static const st_node_kind slices_kind = {run_copy_slices, release_copy_slices,
                                         free_copy_slices};

static st_status fill(copy_slices *s, st_tensor *base, const st_tensor *view) {
  st_node *const n = &s->node;
  ST_TRY(st__metadata_init(&s->base, base));
  s->strides = st__alloc(ST_MEM_GRAPH, (base->ndim + 1u) * sizeof(int64_t));
  if (!s->strides) return ST_NO_MEMORY;
  for (int d = 0; d < base->ndim; d++) s->strides[d] = base->strides[d];
  ST_TRY(view_fn_init(base, view, &s->view_fn));
  ST_TRY(st__gradient_edge(base, &n->edges[0]));
  ST_TRY(st__metadata_init(&n->inputs[0], base));
  ST_TRY(st__metadata_init(&n->results[0], base));
  for (int i = 1; i < n->ninputs; i++) {
    st_edge *const e = &s->fn->edges[i];
    if (!e->node) continue;
    st_node_retain(e->node);
    n->edges[i] = *e;
    const st_tensor like = {.dtype = s->fn->inputs[i].dtype,
                            .ndim = s->fn->inputs[i].ndim,
                            .sizes = s->fn->inputs[i].sizes,
                            .device = s->fn->inputs[i].device & 127u};
    ST_TRY(st__metadata_init(&n->inputs[i], &like));
  }
  return ST_OK;
}

st_status st__copy_slices(st_tensor *base, const st_tensor *view,
                          st_node *fn, int nr, st_node **out) {
  ST_TRY(st__node_new(&slices_kind, sizeof(copy_slices), fn->ninputs, 1, out));
  copy_slices *s = (copy_slices *)(void *)*out;
  s->node.name = "CopySlices";
  s->node.has_saved = true; /* fn */
  s->nr = nr;
  st_node_retain(fn);
  s->fn = fn;
  const st_status status = fill(s, base, view);
  st__node_number(*out);
  if (status != ST_OK) st__node_release(out);
  return status;
}
