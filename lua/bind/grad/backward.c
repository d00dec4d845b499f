/* Autograd properties of tensors, and backward passes.
 */

#include <string.h>

#include "grad/grad.h"

static st_tensor *self(lua_State *L) {
  st__cannot_record(st__state_of(L), L, "it reads a gradient or a history");
  return st__check_tensor(st__state_of(L), L, 1, "self");
}

/* Raises a failure, with the name in front of its message. */
static int raise(lua_State *L, const char *name, st_status status) {
  if (status != ST_HOST) st_fail(status, "%s: %s", name, st_message());
  return st__raise(st__state_of(L), L, status);
}

/* -- Properties ----------------------------------------------------------- */

static int requires_grad(lua_State *L) {
  lua_pushboolean(L, st_tensor_requires_grad(self(L)));  /* [+1] */
  return 1;
}

static int is_leaf(lua_State *L) {
  lua_pushboolean(L, st_tensor_is_leaf(self(L)));        /* [+1] */
  return 1;
}

static int retains_grad(lua_State *L) {
  lua_pushboolean(L, st_tensor_retains_grad(self(L)));   /* [+1] */
  return 1;
}

static int version(lua_State *L) {
  uint32_t n;
  const st_status status = st_tensor_version(self(L), &n);
  if (status != ST_OK) return raise(L, "version", status);
  st__push_int(st__state_of(L), L, n);                   /* [+1] */
  return 1;
}

/* The userdata of t at the top inherits the environments of that at index 1. */
static void inherit_from_self(lua_State *L, const st_tensor *t) {
  if (!st_tensor_requires_grad(t)) return;
  st__env_inherit_from(st__state_of(L), L, lua_gettop(L), 1, false);
}

/* t.grad, or nil. The new userdata is made first: a finalizer that runs
 * meanwhile may change t.grad. The userdata retains the gradient, as t may get
 * another one. */
static int grad(lua_State *L) {
  if (!st_tensor_grad(self(L))) return 0;
  st__tensor_ud *ud = st__new_tensor_ud(st__state_of(L), L); /* [+1] */
  st_tensor *g = st_tensor_grad(self(L));
  if (!g) return 0;
  st_tensor_retain(g);
  ud->t = g;
  inherit_from_self(L, g);
  st__gc_charge(st__state_of(L), lua_touserdata(L, -1), st__memory_of(g));
  return 1;
}

/* t.base: the existing userdata, or a new one; nil if t is not a view */
static int base(lua_State *L) {
  st__state *h = st__state_of(L);
  st_tensor *b = st_tensor_base(self(L));
  if (!b) return 0;
  if (st__push_existing(h, L, b)) return 1;              /* [+1] */
  st__push_tensor(h, L, b);                              /* [+1] */
  inherit_from_self(L, b);
  return 1;
}

/* t.data: a tensor that shares the elements and has no history */
static int data(lua_State *L) {
  st__tensor_ud *ud = st__new_tensor_ud(st__state_of(L), L); /* [+1] */
  const st_status status = st_tensor_untracked(self(L), &ud->t);
  return status == ST_OK ? 1 : raise(L, "data", status);
}

/* t.grad_fn, or nil */
static int grad_fn(lua_State *L) {
  st__entry e;
  int nr;
  st__state *h = st__state_of(L);
  const st__tensor_ud *t = lua_touserdata(L, 1);
  self(L);
  st__node_ud *ud = st__push_node(h, L, t->has_keepalive); /* [+1] */
  st_status status = st__begin(h, L, "grad_fn", &e);
  if (status == ST_OK) {
    status = st__end(h, L, &e, st_tensor_grad_fn(self(L), &ud->n, &nr));
  }
  if (status != ST_OK) return raise(L, "grad_fn", status);
  return ud->n != NULL;
}

static void push_gradient_text(lua_State *L) {
  if (grad_fn(L)) {                                        /* [+1] */
    const st__node_ud *ud = lua_touserdata(L, -1);
    lua_pushfstring(L, "grad_fn=<%s>", st_node_name(ud->n)); /* [+1] */
  } else {
    lua_pushliteral(L, "requires_grad=true");              /* [+1] */
  }
  lua_remove(L, -2);                                       /* [-1] */
}

/* -- Setting -------------------------------------------------------------- */

static void set_requires_grad(lua_State *L, bool flag) {
  const st_status status = st_tensor_set_requires_grad(self(L), flag);
  if (status != ST_OK) raise(L, "requires_grad", status);
  if (flag) st__track_ud(st__state_of(L), L, 1);
}

/* t:requires_grad_([flag]): returns t */
static int tensor_requires_grad(lua_State *L) {
  lua_settop(L, 2);
  set_requires_grad(L, lua_isnil(L, 2) || lua_toboolean(L, 2));
  lua_settop(L, 1);                                      /* [-1] */
  return 1;
}

/* t.grad = argument 3 */
static void set_grad(st__state *h, lua_State *L) {
  st_tensor *g = lua_isnil(L, 3) ? NULL
                                 : st__check_tensor(h, L, 3, "grad");
  const st_status status = st_tensor_set_grad(self(L), g);
  if (status != ST_OK) raise(L, "grad", status);
  if (st__any_env(h) && st__env_collect(h, L, 3, false)) { /* [+0|1] */
    st__track_ud(h, L, 1);
    st__env_add(h, L, 1);                                /* [-1] */
  }
}

static bool set_property(st__state *h, lua_State *L, const char *name) {
  if (strcmp(name, "grad") == 0) set_grad(h, L);
  else if (strcmp(name, "requires_grad") != 0) return false;
  else if (lua_isboolean(L, 3)) set_requires_grad(L, lua_toboolean(L, 3));
  else st__error(h, L, ST_BAD_TYPE, "requires_grad must be true or false, "
                 "got %s", st__type_name(h, L, 3));
  return true;
}

/* t:retain_grad(): returns t */
static int retain_grad(lua_State *L) {
  const st_status status = st_tensor_retain_grad(self(L));
  if (status != ST_OK) return raise(L, "retain_grad", status);
  lua_settop(L, 1);
  return 1;
}

/* t:detach_(): returns t */
static int detach(lua_State *L) {
  const st_status status = st_tensor_detach(self(L));
  if (status != ST_OK) return raise(L, "detach_", status);
  lua_settop(L, 1);
  return 1;
}

/* -- Parameters of a pass ------------------------------------------------- */

/* The parameters of a backward pass. `outputs` and `grads` are stack indices of
 * lists of userdata; the pass borrows their tensors. */
typedef struct request {
  st__state *h;
  lua_State *L;
  const char *name;
  int outputs, grads;
  int options;          /* the table, or 0 */
  st_backward_pass pass;
} request;

/* Element i of the list of tensors at idx, or the tensor at idx. [+1] */
static void push_element(lua_State *L, int idx, int i) {
  if (lua_istable(L, idx)) lua_rawgeti(L, idx, i);       /* [+1] */
  else lua_pushvalue(L, idx);                            /* [+1] */
}

/* The tensor at the top; NULL for nil, false or st.none if allow_none. */
static st_tensor *check_element(const request *r, const char *what,
                                bool allow_none) {
  st__state *h = r->h;
  lua_State *L = r->L;
  st_tensor *t = st__to_tensor(h, L, -1);
  if (t || (allow_none && (!lua_toboolean(L, -1) ||
                           st__is_sentinel(h, L, -1, ST_SENTINEL_NONE)))) {
    return t;
  }
  st__error(h, L, ST_BAD_TYPE, "%s: %s must be a Tensor or a list of Tensors, "
            "got %s", r->name, what, st__type_name(h, L, -1));
  return NULL;
}

/* The n tensors at idx; n < 0: any number. Copies the list, as the user's may
 * change during the pass. [+2] */
static st_tensor **read_list(const request *r, int idx, const char *what,
                             int n, int *count) {
  lua_State *L = r->L;
  const bool allow_none = n >= 0;
  const int len = lua_istable(L, idx) ? (int)lua_objlen(L, idx) : 1;
  if (n < 0) n = len;
  if (len > n || (n != 1 && !lua_istable(L, idx))) {
    st__error(r->h, L, ST_BAD_VALUE, "%s: %s has %d tensors, but there are "
              "%d outputs", r->name, what, len, n);
  }
  lua_createtable(L, n, 0);                              /* [+1] */
  st_tensor **list = lua_newuserdata(L, (size_t)(n + 1) * sizeof *list);
  for (int i = 0; i < n; i++) {                          /* [+1] */
    push_element(L, idx, i + 1);                         /* [+1] */
    list[i] = check_element(r, what, allow_none);
    if (!list[i]) {
      lua_pop(L, 1);                                     /* [-1] */
      lua_pushboolean(L, 0);                             /* [+1] */
    }
    lua_rawseti(L, -3, i + 1);                           /* [-1] */
  }
  if (count) *count = n;
  return list;
}

static void read_outputs(request *r, int idx) {
  st__cannot_record(r->h, r->L, "it computes gradients");
  r->pass.outputs = read_list(r, idx, "outputs", -1, &r->pass.noutputs);
  r->outputs = lua_gettop(r->L) - 1;                     /* [+2] */
}

static void read_grads(request *r, int idx, const char *what) {
  r->pass.grad_outputs = read_list(r, idx, what, r->pass.noutputs, NULL);
  r->grads = lua_gettop(r->L) - 1;                       /* [+2] */
}

static void read_inputs(request *r, int idx) {
  r->pass.inputs = read_list(r, idx, "inputs", -1, &r->pass.ninputs);
  if (r->pass.ninputs > 0) return;                       /* [+2] */
  st__error(r->h, r->L, ST_BAD_VALUE, "%s: inputs is empty", r->name);
}

/* Checks the optional table of options at idx: each key must be in names. */
static void take_options(request *r, int idx, const char *const *names) {
  lua_State *L = r->L;
  if (lua_isnoneornil(L, idx)) return;
  if (!lua_istable(L, idx)) {
    st__error(r->h, L, ST_BAD_TYPE, "%s: the options must be a table, got %s",
              r->name, st__type_name(r->h, L, idx));
  }
  r->options = idx;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) { /* [+2, -1] */
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                     : "?";
    int k = 0;
    while (names[k] && strcmp(names[k], key) != 0) k++;
    if (names[k]) continue;
    st__unknown_option(r->h, L, r->name, key, names);
  }
}

static bool flag(const request *r, const char *name, bool otherwise) {
  if (!r->options) return otherwise;
  st__get_field(r->h, r->L, r->options, name);           /* [+1] */
  const bool value = lua_isnil(r->L, -1) ? otherwise
                                         : lua_toboolean(r->L, -1);
  lua_pop(r->L, 1);                                      /* [-1] */
  return value;
}

/* Pushes an option; returns false and pushes nothing if it is not set.
 * [+0|1] */
static bool push_option(const request *r, const char *name) {
  if (!r->options) return false;
  st__get_field(r->h, r->L, r->options, name);           /* [+1] */
  if (!lua_isnil(r->L, -1)) return true;
  lua_pop(r->L, 1);                                      /* [-1] */
  return false;
}

static void read_flags(request *r) {
  r->pass.create_graph = flag(r, "create_graph", false);
  r->pass.retain_graph = flag(r, "retain_graph", r->pass.create_graph);
}

/* -- Passes --------------------------------------------------------------- */

typedef struct finish { st__state *h; int env; } finish;

/* A leaf whose gradient has a history inherits the pass's environment. */
static void attach_leaf(lua_State *L, st__tensor_ud *ud, void *ctx) {
  const finish *f = ctx;
  const st_tensor *g = st_tensor_grad(ud->t);
  if (!g || !st_tensor_requires_grad(g)) return;
  lua_pushvalue(L, f->env);                              /* [+1] */
  st__env_add(f->h, L, lua_gettop(L) - 1);               /* [-1] */
}

/* With create_graph: the n results, userdata in the list at idx, and the
 * gradients of leaves inherit the pass's environment. env: its stack index, or
 * 0. */
static void inherit_env(const request *r, int idx, int n, int env) {
  st__state *h = r->h;
  lua_State *L = r->L;
  finish f = {h, env};
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);                              /* [+1] */
    const int at = lua_gettop(L);
    const st__tensor_ud *ud = lua_touserdata(L, at);
    if (ud->t && st_tensor_requires_grad(ud->t)) {
      st__track_ud(h, L, at);
      if (env) lua_pushvalue(L, env);                    /* [+0|1] */
      if (env) st__env_add(h, L, at);                    /* [-0|1] */
    }
    lua_pop(L, 1);                                       /* [-1] */
  }
  if (env) st__each_tensor_ud(h, L, attach_leaf, &f);
}

/* A backward pass cannot be restarted after an allocation failure, so this
 * collects garbage first if live memory is above half of the limit. */
static void make_room(st__state *h, lua_State *L) {
  const st_memory_totals m = st_memory_sum();
  bool made = false;
  if (m.limit < INT64_MAX && m.live > m.limit / 2) {
    st__gc_retry(h, L, &made);
  }
}

/* Runs the pass. uds: the stack index of the list of userdata that receive the
 * gradients of the inputs, or 0. */
static void run(request *r, st_tensor **grads, int uds) {
  st__entry e;
  st__state *h = r->h;
  lua_State *L = r->L;
  bool has_one = false;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  make_room(h, L);
  if (st__any_env(h)) {
    has_one = st__env_collect(h, L, r->outputs, false);  /* [+0|1] */
    if (r->grads) has_one = st__env_collect(h, L, r->grads, has_one);
  }
  st__pass_enter(h, L, has_one);                         /* [-0|1, +1] */
  st_status status = st__begin(h, L, r->name, &e);
  if (status == ST_OK) {
    if (h->profile) st__profile_enter(h, "backward pass", "");
    status = st__end(h, L, &e, st_backward(&r->pass, grads));
    if (h->profile) st__profile_leave(h);
  }
  const int env = st__pass_leave(h, L) ? lua_gettop(L) : 0;
  if (status != ST_OK) raise(L, r->name, status);
  const int n = uds ? r->pass.ninputs : 0;
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, uds, i + 1);                          /* [+1] */
    ((st__tensor_ud *)lua_touserdata(L, -1))->t = grads[i];
    lua_pop(L, 1);                                       /* [-1] */
  }
  if (r->pass.create_graph) inherit_env(r, uds, n, env);
}

static int run_backward(request *r) {
  if (push_option(r, "inputs")) {                        /* [+0|1] */
    read_inputs(r, lua_gettop(r->L));                    /* [+2] */
  }
  r->pass.accumulate = true;
  read_flags(r);
  run(r, NULL, 0);
  return 0;
}

/* t:backward([gradient][, options]) */
static int tensor_backward(lua_State *L) {
  static const char *const names[] = {"gradient", "retain_graph",
                                      "create_graph", "inputs", NULL};
  st__state *h = st__state_of(L);
  request r = {h, L, "backward", .options = 0};
  lua_settop(L, 3);
  self(L);
  const bool has_options = lua_istable(L, 2) && lua_isnil(L, 3);
  const bool has_gradient = !has_options && !lua_isnil(L, 2);
  if (has_gradient) st__check_tensor(h, L, 2, "gradient");
  take_options(&r, has_options ? 2 : 3, names);
  read_outputs(&r, 1);                                   /* [+2] */
  if (has_gradient) {
    read_grads(&r, 2, "gradient");                       /* [+2] */
  } else if (push_option(&r, "gradient")) {              /* [+0|1] */
    read_grads(&r, lua_gettop(L), "gradient");           /* [+2] */
  }
  return run_backward(&r);
}

/* backward(outputs[, options]) */
static int backward(lua_State *L) {
  static const char *const names[] = {"grad_outputs", "retain_graph",
                                      "create_graph", "inputs", NULL};
  request r = {st__state_of(L), L, "backward", .options = 0};
  lua_settop(L, 2);
  take_options(&r, 2, names);
  read_outputs(&r, 1);                                   /* [+2] */
  if (push_option(&r, "grad_outputs")) {                 /* [+0|1] */
    read_grads(&r, lua_gettop(L), "grad_outputs");       /* [+2] */
  }
  return run_backward(&r);
}

/* Bytes of the storages that only these gradients own. */
static int64_t weight_of(st_tensor *const *grads, int n) {
  int64_t bytes = 0;
  for (int i = 0; i < n; i++) {
    if (grads[i] && st_tensor_storage_refcount(grads[i]) == 1) {
      bytes += st__memory_of(grads[i]);
    }
  }
  return bytes;
}

/* grad(outputs, inputs[, options]): the gradient of each input; nil for one
 * that the outputs do not depend on */
static int grad_of(lua_State *L) {
  static const char *const names[] = {"grad_outputs", "retain_graph",
                                      "create_graph", "allow_unused", NULL};
  st__state *h = st__state_of(L);
  request r = {h, L, "grad", .options = 0};
  lua_settop(L, 3);
  take_options(&r, 3, names);
  read_outputs(&r, 1);                                   /* [+2] */
  read_inputs(&r, 2);                                    /* [+2] */
  if (push_option(&r, "grad_outputs")) {                 /* [+0|1] */
    read_grads(&r, lua_gettop(L), "grad_outputs");       /* [+2] */
  }
  read_flags(&r);
  r.pass.allow_unused = flag(&r, "allow_unused", false);
  const int n = r.pass.ninputs;
  lua_createtable(L, n, 0);                              /* [+1] */
  const int uds = lua_gettop(L);
  st_tensor **grads = lua_newuserdata(L, (size_t)n * sizeof *grads);
  for (int i = 1; i <= n; i++) {                         /* [+1] */
    grads[i - 1] = NULL;
    st__new_tensor_ud(h, L);                             /* [+1] */
    lua_rawseti(L, uds, i);                              /* [-1] */
  }
  luaL_checkstack(L, n + LUA_MINSTACK, "inputs");
  run(&r, grads, uds);
  st__gc_charge(h, NULL, weight_of(grads, n));
  for (int i = 1; i <= n; i++) {
    if (grads[i - 1]) lua_rawgeti(L, uds, i);            /* [+1] */
    else lua_pushnil(L);                                 /* [+1] */
  }
  return n;
}

/* -- Anomaly detection ---------------------------------------------------- */

/* The user's line that is running, for nodes recorded in anomaly mode. */
static st_status node_where(void *ctx, char *text, size_t size) {
  st__state *h = ctx;
  lua_State *L = h->running;
  *text = '\0';
  if (st__current_state() == h && L) st__where(h, L, text, size);
  return ST_OK;
}

/* detect_anomaly(body, ...): returns what body returns; nodes that body records
 * store their source line, and a NaN in a gradient is an error */
static int detect_anomaly(lua_State *L) {
  static _Thread_local const st_anomaly *current;
  st__state *h = st__state_of(L);
  st__check_callable(h, L, 1, "body");
  st__check_body(h, L, "detect_anomaly");
  st__cannot_record(h, L, "it runs in anomaly mode");
  const st_anomaly *outer = current;
  const st_anomaly anomaly = {node_where, h, true};
  current = &anomaly;
  st_set_anomaly(current);
  const int status = st__run_body(h, L, lua_gettop(L) - 1, LUA_MULTRET);
  current = outer;
  st_set_anomaly(current);
  return status == 0 ? lua_gettop(L) : lua_error(L);
}

/* -- Opening -------------------------------------------------------------- */

void st__open_grad(st__state *h, lua_State *L) {
  static const luaL_Reg properties[] = {
    {"requires_grad", requires_grad}, {"is_leaf", is_leaf},
    {"retains_grad", retains_grad}, {"version", version},
    {"_version", version}, {"grad", grad}, {"grad_fn", grad_fn},
    {"base", base}, {"data", data}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"requires_grad_", tensor_requires_grad}, {"retain_grad", retain_grad},
    {"detach_", detach}, {NULL, NULL}
  };
  static const luaL_Reg passes[] = {{"backward", tensor_backward},
                                    {NULL, NULL}};
  static const luaL_Reg functions[] = {
    {"backward", backward}, {"grad", grad_of}, {NULL, NULL}
  };
  static const luaL_Reg runners[] = {
    {"detect_anomaly", detect_anomaly}, {NULL, NULL}
  };
  h->push_gradient_text = push_gradient_text;
  h->set_property = set_property;
  st__set_access_functions(h, L, functions, true);
  st__set_body_functions(h, L, runners);
  lua_getfield(L, -1, "methods");                        /* [+1] */
  st__set_functions(h, L, methods);
  st__set_access_functions(h, L, passes, true);
  lua_getfield(L, -2, "properties");                     /* [+1] */
  st__set_functions(h, L, properties);
  lua_pop(L, 2);                                         /* [-2] */
}
