/* Derivatives of operators, as Lua functions.
 *
 * The environment of the library's userdata holds the function, as it holds
 * kernels. C does not, so the function may refer to its library without a leak.
 */

#include <stdio.h>
#include <string.h>

#include "library/library.h"

/* A registered derivative, ctx of st_derivative. */
typedef struct derivative {
  st__weak_ref weak;
  const char *schema;  /* the operator's, at registration */
  char where[];
} derivative;

/* One evaluation of a derivative. The operator may be redefined while the
 * function runs, so the fields keep its old definition: schemas are never
 * freed. */
typedef struct derivative_run {
  const derivative *d;
  const st_op *op;
  const char *schema;
  int nargs, nrets;
  const st_arg *arg, *ret;
  const st_value *args, *rets;
  st_tensor *const *grads;
  const bool *wanted;
  st_tensor **inputs;
} derivative_run;

/* -- Pushing the arguments ------------------------------------------------ */

/* A tensor, a list of them, or any other value. [+1] */
static void push_value(st__state *h, lua_State *L, const st_arg *a,
                       const st_value *v) {
  if (v->tag == ST_TAG_TENSOR) {
    st__push_lent(h, L, v->u.tensor);               /* [+1] */
  } else if (v->tag == ST_TAG_TENSORS) {
    lua_createtable(L, (int)v->len, 0);                /* [+1] */
    for (uint32_t k = 0; k < v->len; k++) {
      if (v->u.tensors[k]) st__push_lent(h, L, v->u.tensors[k]); /* [+1] */
      else lua_pushboolean(L, 0);                      /* [+1] */
      lua_rawseti(L, -2, (int)k + 1);                  /* [-1] */
    }
  } else {
    st__push_argument(h, L, a, v);                     /* [+1] */
  }
}

/* The function's context, {op =, args =, results =}. [+1] */
static void push_context(lua_State *L, const derivative_run *r) {
  st__state *h = r->d->weak.h;
  lua_createtable(L, 0, 3);                            /* [+1] */
  st__push_overload(h, L, r->op);                      /* [+1] */
  lua_setfield(L, -2, "op");                           /* [-1] */
  lua_createtable(L, r->nargs, 0);                     /* [+1] */
  for (int i = 0; i < r->nargs; i++) {
    push_value(h, L, &r->arg[i], &r->args[i]);         /* [+1] */
    lua_rawseti(L, -2, i + 1);                         /* [-1] */
  }
  lua_setfield(L, -2, "args");                         /* [-1] */
  lua_createtable(L, r->nrets, 0);                     /* [+1] */
  for (int i = 0; i < r->nrets; i++) {
    push_value(h, L, &r->ret[i], &r->rets[i]);         /* [+1] */
    lua_rawseti(L, -2, i + 1);                         /* [-1] */
  }
  lua_setfield(L, -2, "results");                      /* [-1] */
}

/* The number of gradients: one per result, or one per element of a single
 * result that is a list. */
static int count_grads(const derivative_run *r) {
  return r->nrets == 1 && r->rets[0].tag == ST_TAG_TENSORS
         ? (int)r->rets[0].len : r->nrets;
}

/* [+n] */
static void push_grads(lua_State *L, const derivative_run *r, int n) {
  luaL_checkstack(L, n + LUA_MINSTACK, NULL);
  for (int i = 0; i < n; i++) {
    if (r->grads[i]) st__push_lent(r->d->weak.h, L, r->grads[i]); /* [+1] */
    else lua_pushnil(L);                               /* [+1] */
  }
}

/* -- Reading the gradients ------------------------------------------------ */

/* The gradient at the top, or NULL for nil or false; raises for other
 * values. */
static st_tensor *check_grad(lua_State *L, const derivative_run *r, int i) {
  st__state *h = r->d->weak.h;
  st_tensor *t = st__to_tensor(h, L, -1);
  if (t || !lua_toboolean(L, -1)) return t;
  st__error(h, L, ST_BAD_TYPE, "the derivative from %s must return a Tensor "
            "or nil for argument %d, got %s", r->d->where, i + 1,
            st__type_name(h, L, -1));
  return NULL;
}

/* Reads the gradients of argument i, at idx, into out; returns their number. */
static int read_grads(lua_State *L, const derivative_run *r, int i, int idx,
                      st_tensor **out) {
  const st_value *v = &r->args[i];
  const bool is_list = v->tag == ST_TAG_TENSORS && lua_istable(L, idx);
  const int n = v->tag == ST_TAG_TENSORS ? (int)v->len : 1;
  if (r->arg[i].type != ST_TYPE_TENSOR) {
    if (!lua_toboolean(L, idx)) return 0;
    st__error(r->d->weak.h, L, ST_BAD_TYPE, "the derivative from %s must "
              "return nil for argument %d, which is not a tensor",
              r->d->where, i + 1);
  }
  for (int k = 0; k < n; k++) {
    if (is_list) lua_rawgeti(L, idx, k + 1);           /* [+1] */
    else if (v->tag != ST_TAG_TENSORS) lua_pushvalue(L, idx); /* [+1] */
    else lua_pushnil(L);                               /* [+1] */
    out[k] = check_grad(L, r, i);
    lua_pop(L, 1);                                     /* [-1] */
  }
  return n;
}

/* Stores the gradients that the function returned: the values from index
 * `first` to the top. Reads and checks all of them before it retains one. */
static void take_grads(lua_State *L, const derivative_run *r, int first) {
  st__state *h = r->d->weak.h;
  const int nargs = r->nargs;
  const int given = lua_gettop(L) - first + 1;
  int slots = 0, room = 1;
  if (given > nargs) {
    st__error(h, L, ST_BAD_VALUE, "the derivative from %s returned %d "
              "gradients, but %s has %d arguments", r->d->where, given,
              st_op_name(r->op), nargs);
  }
  lua_settop(L, first + nargs - 1);
  for (int i = 0; i < nargs; i++) {
    room += r->args[i].tag == ST_TAG_TENSORS ? (int)r->args[i].len : 1;
  }
  st_tensor **grads = lua_newuserdata(L, (size_t)room * sizeof *grads);
  for (int i = 0; i < nargs; i++) {                    /* [+1] */
    slots += read_grads(L, r, i, first + i, grads + slots);
    st__pass_add(h, L, first + i);
  }
  for (int i = 0; i < slots; i++) {
    if (grads[i]) st_tensor_retain(grads[i]);
    r->inputs[i] = grads[i];
  }
}

/* -- Running -------------------------------------------------------------- */

static void call_derivative(lua_State *L, void *arg) {
  const derivative_run *r = arg;
  st__state *h = r->d->weak.h;
  const int n = count_grads(r);
  st__weak_push(h, L, r->d->weak.number);              /* [+1] */
  if (!lua_istable(L, 1)) {
    st__error(h, L, ST_BAD_STATE, "the derivative from %s was collected "
              "with its library", r->d->where);
  }
  if (r->schema != r->d->schema) {
    st__error(h, L, ST_BAD_STATE, "%s was redefined after its derivative "
              "was registered", st_op_name(r->op));
  }
  lua_rawgeti(L, 1, 1);                                /* [+1] */
  push_context(L, r);                                  /* [+1] */
  push_grads(L, r, n);                                 /* [+n] */
  st__call_lua(h, L, st_op_name(r->op), n + 1,
               LUA_MULTRET);                           /* [-n-2, +m] */
  take_grads(L, r, 2);
}

static st_status run_derivative(void *ctx, const st_op *op,
                                const st_value *args, const st_value *rets,
                                st_tensor *const *grads, const bool *wanted,
                                st_tensor **inputs) {
  derivative_run r = {
    .d = ctx, .op = op, .schema = st_op_schema(op),
    .nargs = st_op_nargs(op), .nrets = st_op_nrets(op),
    .arg = st_op_arg(op, 0), .ret = st_op_ret(op, 0), .args = args,
    .rets = rets, .grads = grads, .wanted = wanted, .inputs = inputs};
  if (st_is_capturing()) {
    return st_fail(ST_BAD_STATE, "its derivative is a Lua function, which "
                   "cannot be fused");
  }
  const st_status status = st__weak_ref_check(&r.d->weak, "a derivative");
  if (status != ST_OK) return status;
  return st__run_task(r.d->weak.h, call_derivative, &r);
}

/* -- Registering ---------------------------------------------------------- */

/* The environment of the library at index 1, created on first use. [+1] */
static void push_library_env(lua_State *L, bool *has_env) {
  if (*has_env) {
    st__get_env(L, 1);                                 /* [+1] */
    return;
  }
  lua_newtable(L);                                     /* [+1] */
  lua_pushvalue(L, -1);                                /* [+1] */
  st__set_env(L, 1);                                   /* [-1] */
  *has_env = true;
}

/* The current schema of ns::name, or NULL. */
static const char *schema_of(const st_library *lib, const char *name) {
  char full[256];
  const char *ns = strstr(name, "::") ? "" : st_library_namespace(lib);
  const int n = snprintf(full, sizeof full, "%s%s%s", ns, *ns ? "::" : "",
                         name);
  if (n >= (int)sizeof full) return NULL;
  char *dot = strchr(full, '.');
  if (dot) *dot++ = '\0';
  const st_op *op = st_op_find(full, dot ? dot : "");
  return op ? st_op_schema(op) : NULL;
}

st_status st__derive(st__state *h, lua_State *L, st_library *lib,
                     const char *name, int idx, bool *has_env) {
  char where[LUA_IDSIZE + 16];
  st__where(h, L, where, sizeof where);
  const size_t n = strlen(where) + 1;
  lua_createtable(L, 1, 0);                            /* [+1] */
  lua_pushvalue(L, idx);                               /* [+1] */
  lua_rawseti(L, -2, 1);                               /* [-1] */
  push_library_env(L, has_env);                        /* [+1] */
  lua_pushvalue(L, -2);                                /* [+1] */
  lua_pushboolean(L, 1);                               /* [+1] */
  lua_rawset(L, -3);                                   /* [-2] */
  derivative *d = st__weak_ref_new(h, L, lua_gettop(L) - 1, sizeof *d + n);
  memcpy(d->where, where, n);
  d->schema = schema_of(lib, name);
  const st_derivative how = {run_derivative, d, st__weak_ref_free};
  const st_status status = st_library_derivative(lib, name, &how);
  if (status != ST_OK) st__weak_ref_free(d);
  return status;
}
