/* Calls of operators: runs a filled frame and pushes the results.
 */

#include <string.h>

#include "call/call.h"

/* -- Numbers wrapped as tensors ------------------------------------------- */

static st_dtype wrapped_dtype(st_scalar_kind kind) {
  switch (kind) {
    case ST_SCALAR_BOOL: return ST_BOOL;
    case ST_SCALAR_INT: return ST_INT64;
    case ST_SCALAR_UINT: return ST_UINT64;
    case ST_SCALAR_FLOAT: return ST_FLOAT64;
    default: return ST_COMPLEX128;
  }
}

static void unwrap(st__frame *f, int n) {
  for (int k = 0; k < n; k++) st_tensor_release(&f->args[f->wrap[k]].u.tensor);
}

/* Wraps the number of argument i as a 0-dim tensor; a symbolic scalar gives
 * its proxy. */
static st_status wrap(st__frame *f, int i, st_tensor **out) {
  const int at = (int)f->args[i].len - 1;
  if (at >= 0) return st_tracing_number_symbol(f->h->tracing, at, out);
  return st_tensor_scalar(f->scalar[i], wrapped_dtype(f->scalar[i].kind),
                          true, out);
}

/* No Lua code runs between wrap and unwrap except in the engine's call, whose
 * errors are statuses, so the wrapped numbers need no userdata. A finalizer
 * that ran during the conversion of the arguments may have redefined the
 * operator. */
st_status st__run_frame(st__frame *f, st__request *req) {
  if (st_op_schema(f->op) != f->text) {
    return st_fail(ST_BAD_STATE, "%s was redefined while it was called",
                   st_op_name(f->op));
  }
  for (int k = 0; k < f->nwraps; k++) {
    const int i = f->wrap[k];
    st_tensor *number = NULL;
    const st_status status = wrap(f, i, &number);
    f->args[i] = st__tensor_arg(number);
    if (status != ST_OK) {
      unwrap(f, k);
      return status;
    }
  }
  req->op = f->op;
  req->declared = f->text;
  req->n = f->nargs;
  req->args = f->args;
  f->h->frame = f;
  const st_status status = st__run(f->h, f->L, req);
  f->h->frame = NULL;
  unwrap(f, f->nwraps);
  if (status == ST_BAD_DTYPE) st__advise_dtype(f);
  return status;
}

/* -- Results -------------------------------------------------------------- */

/* Bytes newly allocated for a result: 0 for a view. A result annotated as an
 * alias, as that of t:to(dtype), need not be a view. */
static int64_t new_bytes(const st_arg *ret, const st_tensor *t) {
  const bool is_view = ret->is_alias && st_tensor_storage_refcount(t) > 1;
  return is_view ? 0 : st__memory_of(t);
}

/* The same for a result that is a tensor or a list of tensors. */
static int64_t new_bytes_of(const st_arg *ret, const st_value *v) {
  int64_t n = 0;
  if (v->tag == ST_TAG_TENSOR) return new_bytes(ret, v->u.tensor);
  if (v->tag != ST_TAG_TENSORS) return 0;
  for (uint32_t k = 0; k < v->len; k++) n += new_bytes(ret, v->u.tensors[k]);
  return n;
}

/* True if a result, or one in a list, must inherit a keepalive environment. */
static bool any_needs_env(const st__frame *f, const st_arg *ret,
                          const st_value *v) {
  if (v->tag == ST_TAG_TENSOR) return st__needs_env(f, ret, v->u.tensor);
  if (v->tag != ST_TAG_TENSORS) return false;
  for (uint32_t k = 0; k < v->len; k++) {
    if (st__needs_env(f, ret, v->u.tensors[k])) return true;
  }
  return false;
}

/* Argument i if it is a tensor that the operator writes, else NULL. */
static const st_tensor *written(const st__frame *f, int i) {
  return f->schema[i].is_write && f->args[i].tag == ST_TAG_TENSOR
         ? f->args[i].u.tensor : NULL;
}

/* Memory of the storages written, which out= and resize_ may enlarge. */
static int64_t written_bytes(const st__frame *f) {
  int64_t n = 0;
  for (int i = 0; i < f->nargs; i++) {
    const st_tensor *t = written(f, i);
    if (t) n += st__memory_of(t);
  }
  return n;
}

/* Increase of written_bytes since `before`. */
static int64_t growth(const st__frame *f, int64_t before) {
  const int64_t now = written_bytes(f);
  return now > before ? now - before : 0;
}

/* Stack index of the written argument that result r returns: the n-th written
 * result is the n-th written argument. 0 if the result is a new value. */
static int written_source(const st__frame *f, int r) {
  int n = 0;
  if (!f->rets[r].is_write) return 0;
  for (int k = 0; k <= r; k++) n += f->rets[k].is_write;
  for (int i = 0; i < f->nargs; i++) {
    const st_arg *a = &f->schema[i];
    if (a->is_write && --n == 0) return a->list ? 0 : f->source[i];
  }
  return 0;
}

/* Stack index of the argument that an operator returned unchanged, as
 * contiguous does with a contiguous self. 0 if v is another tensor. */
static int returned_source(const st__frame *f, const st_value *v) {
  for (int i = 0; i < f->nargs; i++) {
    const int at = f->source[i];
    const bool is_same = f->args[i].tag == ST_TAG_TENSOR &&
                         f->args[i].u.tensor == v->u.tensor;
    if (at && is_same && st__to_tensor(f->h, f->L, at) == v->u.tensor) {
      return at;
    }
  }
  return 0;
}

/* -- Owners of results ---------------------------------------------------- */

/* A userdata that owns the results while they are converted to Lua values: its
 * finalizer releases them if Lua raises an error. */
typedef struct values { int n; st_value v[]; } values;

static int values_gc(lua_State *L) {
  st__state *h = st__state_of(L);
  values *owner = st__testudata(h, L, 1, ST_UD_VALUES);
  for (int i = 0; owner && i < owner->n; i++) st_value_clear(&owner->v[i]);
  if (owner) owner->n = 0;
  return 0;
}

static int call_general(st__frame *f, st__request *req) {
  st__state *h = f->h;
  lua_State *L = f->L;
  const int nrets = f->nrets;
  st__gc_pace_if_due(h, L);
  values *owner = st__newudata(h, L, ST_UD_VALUES,           /* [+1] */
                               sizeof *owner + (size_t)nrets *
                               sizeof *owner->v);
  req->rets = owner->v;
  const int64_t before = written_bytes(f);
  const st_status status = st__run_frame(f, req);
  if (status != ST_OK) return st__raise(h, L, status);
  owner->n = nrets;
  int64_t bytes = growth(f, before);
  bool inherits = false;
  luaL_checkstack(L, nrets + 4, NULL);
  for (int r = 0; r < nrets; r++) {
    st_value *v = &owner->v[r];
    const st_arg *ret = &f->rets[r];
    int source = written_source(f, r);
    if (!source && v->tag == ST_TAG_TENSOR) source = returned_source(f, v);
    if (!source) bytes += new_bytes_of(ret, v);
    inherits = inherits || any_needs_env(f, ret, v);
    if (source) lua_pushvalue(L, source);     /* [+1] */
    else st__push_value(h, L, ret, v);        /* [+1] */
  }
  for (int r = 0; r < nrets; r++) st_value_clear(&owner->v[r]);
  owner->n = 0;
  if (inherits) st__env_inherit(f, lua_gettop(L) - nrets + 1);
  st__gc_charge(h, NULL, bytes);
  return nrets;
}

/* [+1] */
static st__tensor_ud *push_result(st__frame *f) {
  if (!f->spare) return st__new_tensor_ud(f->h, f->L); /* [+1] */
  lua_pushvalue(f->L, f->spare);                       /* [+1] */
  return lua_touserdata(f->L, -1);
}

/* The common case of one tensor, stored directly in its userdata. */
static int call_tensor(st__frame *f, st__request *req) {
  st_value v;
  int source = written_source(f, 0);
  st__tensor_ud *ud = source ? NULL : push_result(f); /* [+0|1] */
  const int64_t before = source ? written_bytes(f) : 0;
  req->rets = &v;
  const st_status status = st__run_frame(f, req);
  if (status != ST_OK) return st__raise(f->h, f->L, status);
  const int64_t grown = source ? growth(f, before) : 0;
  if (!source) source = returned_source(f, &v);
  const bool inherits = st__needs_env(f, f->rets, v.u.tensor);
  if (source) {
    st_value_clear(&v);
    lua_pushvalue(f->L, source);                             /* [+0|1] */
    if (inherits) st__env_inherit(f, lua_gettop(f->L));
    st__gc_charge(f->h, lua_touserdata(f->L, -1), grown);
    return 1;
  }
  ud->t = v.u.tensor;
  if (inherits) st__env_inherit(f, lua_gettop(f->L));
  st__gc_charge(f->h, ud, new_bytes(f->rets, ud->t));
  return 1;
}

/* No result, or one value that owns no memory but the parts of a complex
 * scalar, which are released before Lua could raise an error. */
static int call_plain(st__frame *f, st__request *req) {
  st_value v;
  req->rets = &v;
  const st_status status = st__run_frame(f, req);
  if (status != ST_OK) return st__raise(f->h, f->L, status);
  if (f->nrets == 0) return 0;
  if (v.tag == ST_TAG_COMPLEX) {
    st_scalar s = {ST_SCALAR_COMPLEX, {.c = {v.u.pair[0], v.u.pair[1]}}};
    st_value_clear(&v);
    st__push_scalar(f->h, f->L, s);                           /* [+1] */
  } else {
    st__push_value(f->h, f->L, f->rets, &v);                  /* [+1] */
  }
  return 1;
}

/* -- Calls ---------------------------------------------------------------- */

/* True if a result may own memory other than the parts of a complex scalar. */
static bool may_own(const st_arg *ret) {
  if (ret->list) return true;
  switch (ret->type) {
    case ST_TYPE_INT: case ST_TYPE_FLOAT: case ST_TYPE_BOOL:
    case ST_TYPE_DIM: case ST_TYPE_INDEX: case ST_TYPE_END:
    case ST_TYPE_DTYPE: case ST_TYPE_LAYOUT: case ST_TYPE_FORMAT:
    case ST_TYPE_DEVICE: case ST_TYPE_SCALAR: case ST_TYPE_COMPLEX:
      return false;
    default: return true;
  }
}

/* Sets requires_grad on a factory's result at the top of the stack. */
static void require_grad(st__frame *f) {
  lua_State *L = f->L;
  st_tensor *t = st__to_tensor(f->h, L, -1);
  const st_status status = t ? st_tensor_set_requires_grad(t, true) : ST_OK;
  if (status != ST_OK) st__raise(f->h, L, status);
  if (t) st__track_ud(f->h, L, lua_gettop(L));
}

static int finish(st__frame *f, st__request *req) {
  const st_arg *ret = f->rets;
  if (f->nrets == 0) return call_plain(f, req);
  if (f->nrets > 1) return call_general(f, req);
  if (!may_own(ret)) return call_plain(f, req);
  return ret->type == ST_TYPE_TENSOR && !ret->list && !ret->optional
         ? call_tensor(f, req) : call_general(f, req);
}

int st__return_frame(st__frame *f, st__request *req) {
  const int n = finish(f, req);
  if (f->requires_grad && req->kind != ST_REQUEST_EXPLAIN) require_grad(f);
  return n;
}

int st__call_operator(st__state *h, lua_State *L, st__packet *p, int first,
                      bool is_method) {
  st__frame f;
  f.is_method = is_method;
  f.is_complete = false;
  int n = st__call_cached(h, L, p, first, &f);
  if (n < 0) {
    st__request req = {.kind = ST_REQUEST_CONVERTED}; /* 5 ns */
    n = st__return_frame(&f, &req);
  }
  if (atomic_load_explicit(&st__has_lost_pages, memory_order_relaxed)) {
    st__raise_lost(h, L, first, st__short_name(p->name));
  }
  return n;
}

/* Of the operators that the binding calls. */
struct st__shortcuts { st_shortcut of[ST_HANDLE_COUNT]; };

static const st_shortcut *shortcut_of(st__state *h, st_handle op, int n) {
  st_shortcut *s = &h->shortcuts->of[op];
  if (!st__may_shortcut(h)) return NULL;
  if (s->epoch != st_registry_epoch()) st_shortcut_find(h->op[op], s);
  return s->run && n == st_op_nargs(h->op[op]) ? s : NULL;
}

bool st__is_shortcut(st__state *h, st_handle op, int n, const st_value *args) {
  const st_shortcut *s = shortcut_of(h, op, n);
  return s && st_shortcut_serves(s, args);
}

/* Calls the shortcut of op, if it serves these arguments. */
static bool run_shortcut(st__state *h, lua_State *L, st_handle op, int n,
                         const st_value *args, st_value *ret) {
  const st_shortcut *s = shortcut_of(h, op, n);
  return s && st__run_shortcut(h, L, s, args, ret);
}

static st_status run_handle(st__state *h, lua_State *L, st_handle op, int n,
                            const st_value *args, st_value *ret) {
  if (run_shortcut(h, L, op, n, args, ret)) return ST_OK;
  st__check_room(L);
  return st__run(h, L, &(st__request){.op = h->op[op], .n = n, .args = args,
                                      .rets = ret});
}

void st__call_into(st__state *h, lua_State *L, st_handle op, int n,
                   const st_value *args, st__tensor_ud *ud) {
  st_value v;
  const st_status status = run_handle(h, L, op, n, args, &v);
  if (status != ST_OK) st__raise(h, L, status);
  if (ud->t) st_tensor_release(&ud->t);
  ud->t = v.u.tensor;
}

void st__call_for(st__state *h, lua_State *L, st_handle op, int n,
                  const st_value *args) {
  st_value v;
  const st_status status = run_handle(h, L, op, n, args, &v);
  if (status != ST_OK) st__raise(h, L, status);
  st_value_clear(&v);
}

/* -- Opening -------------------------------------------------------------- */

static void fill_values(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {{"__gc", values_gc}, {NULL, NULL}};
  st__set_functions(h, L, methods);
}

void st__open_results(st__state *h, lua_State *L) {
  h->shortcuts = st__new_part(h, L, sizeof *h->shortcuts, NULL);
  st__fill_meta(h, ST_UD_VALUES, fill_values);
}
