/* Hooks: Lua functions that backward passes call with gradients.
 *
 * A hook is a table that holds its function; environments hold the table (Note
 * [Keeping gradient functions alive]). Removing a hook also clears the table,
 * so the function is released even if the engine drops its reference later.
 */

#include <string.h>

#include "grad/grad.h"

/* A registered hook, ctx of st_tensor_hook and st_node_hook. */
typedef struct hook_ref {
  st__weak_ref weak;
  double owner;        /* weak number of the userdata */
  char where[];        /* source line of its registration */
} hook_ref;

/* The handle that removes a hook; hook and owner are weak numbers. */
typedef struct hook_handle {
  double hook, owner;
  uint64_t id;
} hook_handle;

/* -- Running -------------------------------------------------------------- */

/* Pushes the function; returns false and pushes nothing if it was removed.
 * [+0|1] */
static bool push_function(lua_State *L, const hook_ref *k) {
  st__weak_push(k->weak.h, L, k->weak.number);           /* [+1] */
  if (lua_isnil(L, -1)) {
    st__error(k->weak.h, L, ST_BAD_STATE, "the hook from %s was "
              "collected with its tensors", k->where);
  }
  lua_rawgeti(L, -1, 1);                               /* [+1] */
  lua_remove(L, -2);                                   /* [-1] */
  if (!lua_isnil(L, -1)) return true;
  lua_pop(L, 1);                                       /* [-1] */
  return false;
}

typedef struct tensor_run {
  const hook_ref *k;
  st_tensor *grad, **out;
} tensor_run;

static void call_tensor_hook(lua_State *L, void *arg) {
  const tensor_run *r = arg;
  st__state *h = r->k->weak.h;
  if (!push_function(L, r->k)) return;                 /* [+1] */
  st__push_lent(h, L, r->grad);                     /* [+1] */
  st__call_lua(h, L, "a hook", 1, 1);                  /* [-2, +1] */
  if (lua_isnil(L, -1)) return;
  st_tensor *t = st__to_tensor(h, L, -1);
  if (!t) {
    st__error(h, L, ST_BAD_TYPE, "the hook from %s must return a Tensor or "
              "nothing, got %s", r->k->where, st__type_name(h, L, -1));
  }
  st__pass_add(h, L, lua_gettop(L));
  st_tensor_retain(t);
  *r->out = t;
}

static st_status run_tensor_hook(void *ctx, st_tensor *grad,
                                 st_tensor **out) {
  tensor_run r = {ctx, grad, out};
  const st_status status = st__weak_ref_check(&r.k->weak, "a hook");
  if (status != ST_OK) return status;
  return st__run_task(r.k->weak.h, call_tensor_hook, &r);
}

/* Passes the leaf's own userdata if it still has this tensor, else a new
 * one. */
static void call_post_hook(lua_State *L, void *arg) {
  const tensor_run *r = arg;
  st__state *h = r->k->weak.h;
  if (!push_function(L, r->k)) return;                 /* [+1] */
  st__weak_push(h, L, r->k->owner);                    /* [+1] */
  if (st__to_tensor(h, L, -1) != r->grad) {
    lua_pop(L, 1);                                     /* [-1] */
    st__push_lent(h, L, r->grad);                   /* [+1] */
  }
  st__call_lua(h, L, "a hook", 1, 0);                  /* [-2] */
}

static st_status run_post_hook(void *ctx, st_tensor *leaf, st_tensor **out) {
  tensor_run r = {ctx, leaf, out};
  const st_status status = st__weak_ref_check(&r.k->weak, "a hook");
  if (status != ST_OK) return status;
  return st__run_task(r.k->weak.h, call_post_hook, &r);
}

typedef struct node_run {
  const hook_ref *k;
  int ninputs;
  st_tensor **inputs;
  int nresults;
  st_tensor **results;
} node_run;

/* A list of gradients; false for one that is undefined. [+1] */
static void push_grads(st__state *h, lua_State *L, int n, st_tensor **grads) {
  lua_createtable(L, n, 0);                            /* [+1] */
  for (int i = 0; i < n; i++) {
    if (grads[i]) st__push_lent(h, L, grads[i]);    /* [+1] */
    else lua_pushboolean(L, 0);                        /* [+1] */
    lua_rawseti(L, -2, i + 1);                         /* [-1] */
  }
}

/* Replaces grads by the tensors of the list at the top. */
static void take_grads(const hook_ref *k, lua_State *L, int n,
                       st_tensor **grads) {
  st__state *h = k->weak.h;
  if (!lua_istable(L, -1)) {
    st__error(h, L, ST_BAD_TYPE, "the hook from %s must return a list of "
              "Tensors or nothing, got %s", k->where,
              st__type_name(h, L, -1));
  }
  const int list = lua_gettop(L);
  st_tensor **now = lua_newuserdata(L, (size_t)(n + 1) * sizeof *now);
  for (int i = 0; i < n; i++) {                        /* [+1] */
    lua_rawgeti(L, list, i + 1);                       /* [+1] */
    now[i] = st__to_tensor(h, L, -1);
    if (!now[i] && lua_toboolean(L, -1)) {
      st__error(h, L, ST_BAD_TYPE, "the hook from %s must return a list of "
                "Tensors: element %d is %s", k->where, i + 1,
                st__type_name(h, L, -1));
    }
    lua_pop(L, 1);                                     /* [-1] */
  }
  st__pass_add(h, L, list);
  for (int i = 0; i < n; i++) {
    if (now[i]) st_tensor_retain(now[i]);
    st_tensor_release(&grads[i]);
    grads[i] = now[i];
  }
}

static void call_node_hook(lua_State *L, void *arg) {
  const node_run *r = arg;
  st__state *h = r->k->weak.h;
  if (!push_function(L, r->k)) return;                 /* [+1] */
  if (r->inputs) push_grads(h, L, r->ninputs, r->inputs); /* [+0|1] */
  push_grads(h, L, r->nresults, r->results);           /* [+1] */
  st__call_lua(h, L, "a hook", r->inputs ? 2 : 1, 1);  /* [-n, +1] */
  if (lua_isnil(L, -1)) return;
  if (r->inputs) take_grads(r->k, L, r->ninputs, r->inputs);
  else take_grads(r->k, L, r->nresults, r->results);
}

static st_status run_node_hook(void *ctx, int ninputs, st_tensor **inputs,
                               int nresults, st_tensor **results) {
  node_run r = {ctx, ninputs, inputs, nresults, results};
  const st_status status = st__weak_ref_check(&r.k->weak, "a hook");
  if (status != ST_OK) return status;
  return st__run_task(r.k->weak.h, call_node_hook, &r);
}

/* -- Registering ---------------------------------------------------------- */

/* For the function at index 2: pushes the hook's table and its handle. [+2] */
static hook_ref *push_hook(lua_State *L, hook_handle **out) {
  char where[LUA_IDSIZE + 16];
  st__state *h = st__state_of(L);
  lua_settop(L, 2);
  st__check_callable(h, L, 2, "fn");
  lua_createtable(L, 1, 0);                            /* [+1] */
  lua_pushvalue(L, 2);                                 /* [+1] */
  lua_rawseti(L, -2, 1);                               /* [-1] */
  *out = st__newudata(h, L, ST_UD_HOOK, sizeof **out); /* [+1] */
  (*out)->owner = st__weak_put(h, L, 1);
  st__where(h, L, where, sizeof where);
  const size_t n = strlen(where) + 1;
  hook_ref *k = st__weak_ref_new(h, L, 3, sizeof *k + n);
  memcpy(k->where, where, n);
  (*out)->hook = k->weak.number;
  k->owner = (*out)->owner;
  return k;
}

typedef st_status add_fn(st_tensor *t, const st_tensor_hook *hook,
                         uint64_t *id);

/* The tensor at index 1, retained: a kernel or a finalizer may free it. */
static st_status retain_self(lua_State *L, st_tensor **out) {
  *out = st__to_tensor(st__state_of(L), L, 1);
  if (!*out) return st_fail(ST_BAD_STATE, "self is a freed Tensor");
  st_tensor_retain(*out);
  return ST_OK;
}

static int add_tensor_hook(lua_State *L, const char *name, add_fn *add,
                           const st_tensor_hook *how) {
  st__entry e;
  hook_handle *handle;
  st_tensor *t = NULL;
  st_node *target = NULL;
  st__state *h = st__state_of(L);
  st__check_tensor(h, L, 1, "self");
  st__cannot_record(h, L, "it registers a hook");
  st_tensor_hook hook = *how;
  hook.ctx = push_hook(L, &handle);                    /* [+2] */
  hook.free_ctx = st__weak_ref_free;
  st_status status = retain_self(L, &t);
  if (status == ST_OK) status = st__begin(h, L, name, &e);
  if (status == ST_OK) {
    status = st__end(h, L, &e, add(t, &hook, &handle->id));
  }
  if (status != ST_OK) st__weak_ref_free(hook.ctx);
  else status = st__node_of(h, L, t, &target);
  st_tensor_release(&t);
  if (status != ST_OK) return st__raise(h, L, status);
  st__node_ud *node = st__push_node(h, L, false);      /* [+1] */
  node->n = target;
  st__track_ud(h, L, 1);
  lua_pushvalue(L, 3);                                 /* [+1] */
  st__env_add(h, L, 1);                                /* [-1] */
  lua_pushvalue(L, 3);                                 /* [+1] */
  st__env_add_downstream(h, L, target);                /* [-1] */
  lua_pop(L, 1);                                       /* [-1] */
  return 1;
}

/* t:register_hook(fn): fn(grad) may return another gradient */
static int register_hook(lua_State *L) {
  static const st_tensor_hook how = {.fn = run_tensor_hook};
  return add_tensor_hook(L, "register_hook", st_tensor_add_hook, &how);
}

/* t:register_post_accumulate_grad_hook(fn): calls fn(t) after each update of
 * t.grad */
static int register_post_hook(lua_State *L) {
  static const st_tensor_hook how = {.fn = run_post_hook};
  return add_tensor_hook(L, "register_post_accumulate_grad_hook",
                         st_tensor_add_post_hook, &how);
}

static int add_node_hook(lua_State *L, bool before) {
  hook_handle *handle;
  st__state *h = st__state_of(L);
  st__node_ud *ud = st__check_node(h, L, 1);
  st_node_hook hook = {run_node_hook, push_hook(L, &handle), /* [+2] */
                       st__weak_ref_free};
  const st_status status = st_node_add_hook(ud->n, before, &hook,
                                            &handle->id);
  if (status != ST_OK) {
    st__weak_ref_free(hook.ctx);
    return st__raise(h, L, status);
  }
  lua_pushvalue(L, 3);                                 /* [+1] */
  st__env_add(h, L, 1);                                /* [-1] */
  lua_pushvalue(L, 3);                                 /* [+1] */
  st__env_add_downstream(h, L, ud->n);                 /* [-1] */
  return 1;
}

int st__node_hook(lua_State *L) { return add_node_hook(L, false); }
int st__node_prehook(lua_State *L) { return add_node_hook(L, true); }

/* -- Removing ------------------------------------------------------------- */

/* Removes the hook from the engine if its owner is alive. */
static void drop_hook(st__state *h, lua_State *L, const hook_handle *k) {
  st__weak_push(h, L, k->owner);                       /* [+1] */
  const st__tensor_ud *ud = st__testudata(h, L, -1, ST_UD_TENSOR);
  const st__node_ud *node = st__testudata(h, L, -1, ST_UD_NODE);
  if (ud && ud->t) st_tensor_remove_hook(ud->t, k->id);
  if (node && node->n) st_node_remove_hook(node->n, k->id);
  lua_pop(L, 1);                                       /* [-1] */
}

/* handle:remove(): returns true if the hook was still registered */
static int hook_remove(lua_State *L) {
  st__state *h = st__state_of(L);
  const hook_handle *k = st__checkudata(h, L, 1, ST_UD_HOOK, "self");
  bool was_there = false;
  st__weak_push(h, L, k->hook);                        /* [+1] */
  if (lua_istable(L, -1)) {
    lua_rawgeti(L, -1, 1);                             /* [+1] */
    was_there = !lua_isnil(L, -1);
    lua_pop(L, 1);                                     /* [-1] */
    lua_pushnil(L);                                    /* [+1] */
    lua_rawseti(L, -2, 1);                             /* [-1] */
  }
  if (was_there) drop_hook(h, L, k);
  lua_pushboolean(L, was_there);                       /* [+1] */
  return 1;
}

static void fill_hook(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {{"remove", hook_remove}, {NULL, NULL}};
  lua_newtable(L);                           /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");            /* [-1] */
}

void st__open_hook(st__state *h, lua_State *L) {
  static const luaL_Reg tensor_methods[] = {
    {"register_hook", register_hook},
    {"register_post_accumulate_grad_hook", register_post_hook}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_HOOK, fill_hook);
  lua_getfield(L, -1, "methods");            /* [+1] */
  st__set_functions(h, L, tensor_methods);
  lua_pop(L, 1);                             /* [-1] */
}
