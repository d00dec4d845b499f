/* autograd_function: functions with a user-defined gradient. The context of a
 * call is the environment of its results (Note [Keeping gradient functions
 * alive]); the graph node refers to it by a weak reference.
 */

#include <string.h>

#include "grad/grad.h"

/* Data of a call's graph node. `inputs` and `outputs` are the indices of
 * tensors among the arguments and among the results of `forward`. */
typedef struct function {
  st__weak_ref weak;
  int nargs, nrets;
  int ninputs, noutputs, nsaved;
  const int *inputs, *outputs;
  st_tensor **fakes;   /* the outputs on meta, if several */
  st_device *devices;
  const char *name;
} function;

/* -- Backward ------------------------------------------------------------- */

typedef struct backward_run {
  const function *f;
  st_tensor *const *grads, *const *saved;
  const bool *wanted;
  st_tensor **inputs;
} backward_run;

/* Zeros like output j. [+1] */
static void push_zeros(lua_State *L, const function *f, int j) {
  st__state *h = f->weak.h;
  const st_tensor *fake = f->fakes[j];
  const st_scalar zero = {ST_SCALAR_INT, {.i = 0}};
  st__tensor_ud *ud = st__new_tensor_ud(h, L);         /* [+1] */
  const st_status status =
    st_tensor_empty(f->devices[j], st_tensor_dtype(fake),
                    st_tensor_ndim(fake), st_tensor_sizes(fake), NULL,
                    &ud->t);
  if (status != ST_OK) st__raise(h, L, status);
  const st_value args[] = {st__tensor_arg(ud->t), st__scalar_arg(&zero)};
  st__call_for(h, L, ST_HANDLE_FILL, 2, args);
}

/* The gradient of each result; nil for results that are not tensors.
 * [+nrets] */
static void push_grads(lua_State *L, const backward_run *r) {
  const function *f = r->f;
  for (int i = 0, j = 0; i < f->nrets; i++) {
    if (j == f->noutputs || f->outputs[j] != i) {
      lua_pushnil(L);                                  /* [+1] */
      continue;
    }
    if (r->grads[j]) st__push_lent(f->weak.h, L, r->grads[j]); /* [+1] */
    else if (f->fakes[j]) push_zeros(L, f, j);         /* [+1] */
    else lua_pushnil(L);                               /* [+1] */
    j++;
  }
}

static void set_saved(lua_State *L, int ctx, const backward_run *r) {
  const int n = r->f->nsaved;
  lua_createtable(L, n, 0);                            /* [+1] */
  for (int i = 0; i < n; i++) {
    if (r->saved[i]) st__push_lent(r->f->weak.h, L, r->saved[i]); /* [+1] */
    else lua_pushboolean(L, 0);                        /* [+1] */
    lua_rawseti(L, -2, i + 1);                         /* [-1] */
  }
  st__set_field(r->f->weak.h, L, ctx, "saved");        /* [-1] */
}

/* Raises unless the value at idx is a valid gradient of argument `at`, which is
 * input k if it is a tensor. */
static void check_grad(lua_State *L, const backward_run *r, int at, int k,
                       int idx) {
  const function *f = r->f;
  st__state *h = f->weak.h;
  const bool is_tensor = k < f->ninputs && f->inputs[k] == at;
  if (!lua_toboolean(L, idx)) return;
  if (is_tensor && st__to_tensor(h, L, idx)) return;
  st__error(h, L, ST_BAD_TYPE, "%s: backward must return %s for argument "
            "%d, got %s", f->name,
            is_tensor ? "a Tensor or nil" : "nil (not a tensor)", at + 1,
            st__type_name(h, L, idx));
}

/* Stores the n gradients that start at index `first`, one per argument. */
static void take_grads(lua_State *L, const backward_run *r, int first, int n) {
  const function *f = r->f;
  for (int at = 0, k = 0; at < n; at++) {
    if (at >= f->nargs && !lua_isnil(L, first + at)) {
      st__error(f->weak.h, L, ST_BAD_VALUE, "%s: backward returned %d "
                "gradients, but forward has %d argument%s", f->name, n,
                f->nargs, f->nargs == 1 ? "" : "s");
    }
    check_grad(L, r, at, k, first + at);
    if (k < f->ninputs && f->inputs[k] == at) k++;
  }
  for (int k = 0; k < f->ninputs; k++) {
    if (f->inputs[k] < n || !r->wanted[k]) continue;
    st__error(f->weak.h, L, ST_BAD_VALUE, "%s: backward returned %d "
              "gradient%s, but argument %d requires one", f->name, n,
              n == 1 ? "" : "s", f->inputs[k] + 1);
  }
  for (int k = 0; k < f->ninputs && f->inputs[k] < n; k++) {
    st__pass_add(f->weak.h, L, first + f->inputs[k]);
  }
  for (int k = 0; k < f->ninputs && f->inputs[k] < n; k++) {
    st_tensor *t = st__to_tensor(f->weak.h, L, first + f->inputs[k]);
    if (t) st_tensor_retain(t);
    r->inputs[k] = t;
  }
}

static void call_backward(lua_State *L, void *arg) {
  const backward_run *r = arg;
  const function *f = r->f;
  luaL_checkstack(L, f->nrets + LUA_MINSTACK, NULL);
  st__weak_push(f->weak.h, L, f->weak.number);           /* [+1] */
  if (!lua_istable(L, 1)) {
    st__error(f->weak.h, L, ST_BAD_STATE, "%s: the context of this call was "
              "collected with its tensors", f->name);
  }
  set_saved(L, 1, r);
  st__push_field(f->weak.h, L, 1, "backward");                    /* [+1] */
  lua_pushvalue(L, 1);                                 /* [+1] */
  push_grads(L, r);                                    /* [+nrets] */
  st__call_lua(f->weak.h, L, f->name, f->nrets + 1,
               LUA_MULTRET);                           /* [-nrets-2, +n] */
  const int n = lua_gettop(L) - 1;
  take_grads(L, r, 2, n);
  lua_pushnil(L);                                      /* [+1] */
  st__set_field(f->weak.h, L, 1, "saved");                        /* [-1] */
}

static st_status run_backward(void *ctx, st_tensor *const *grads,
                              st_tensor *const *saved, const bool *wanted,
                              st_tensor **inputs) {
  backward_run r = {ctx, grads, saved, wanted, inputs};
  if (!ctx) return st_fail(ST_BAD_STATE, "its function was not recorded");
  const st_status status = st__weak_ref_check(&r.f->weak, r.f->name);
  if (status != ST_OK) return status;
  return st__run_task(r.f->weak.h, call_backward, &r);
}

static void free_function(void *ctx) {
  function *f = ctx;
  for (int j = 0; j < f->noutputs; j++) st_tensor_release(&f->fakes[j]);
  st__weak_ref_free(f);
}

/* -- Forward -------------------------------------------------------------- */

/* A call; ctx and first are stack indices. */
typedef struct application {
  st__state *h;
  lua_State *L;
  int nargs, ctx;
  int first, nrets;      /* results */
  int ninputs, noutputs, nsaved;
  int room;              /* capacity for saved tensors */
  st_tensor **tensors;   /* inputs, outputs, saved */
  bool *differentiable;
  const char *name;
} application;

/* [+1] */
static void push_definition(lua_State *L, const char *name) {
  lua_getfield(L, lua_upvalueindex(2), name);          /* [+1] */
}

/* A new context for the call. [+1] */
static void push_context(application *a) {
  lua_State *L = a->L;
  const bool is_recording = st_tls_get().grad;
  st__push_context(a->h, L);                           /* [+1] */
  a->ctx = lua_gettop(L);
  push_definition(L, "backward");                      /* [+1] */
  st__set_field(a->h, L, a->ctx, "backward");                /* [-1] */
  lua_pushboolean(L, 1);                               /* [+1] */
  st__set_field(a->h, L, a->ctx, "is_forward");              /* [-1] */
  lua_createtable(L, a->nargs, 0);                     /* [+1] */
  for (int i = 1; i <= a->nargs; i++) {
    const st_tensor *t = st__to_tensor(a->h, L, i);
    lua_pushboolean(L, t && is_recording && st_tensor_requires_grad(t));
    lua_rawseti(L, -2, i);                             /* [+1, -1] */
  }
  lua_setfield(L, a->ctx, "needs_grad");               /* [-1] */
}

/* Calls forward(ctx, ...) with recording disabled. [+nrets] */
static void run_forward(application *a) {
  lua_State *L = a->L;
  st__check_body(a->h, L, a->name);
  luaL_checkstack(L, a->nargs + LUA_MINSTACK, NULL);
  push_definition(L, "forward");                       /* [+1] */
  lua_pushvalue(L, a->ctx);                            /* [+1] */
  for (int i = 1; i <= a->nargs; i++) lua_pushvalue(L, i); /* [+1] */
  const st_tls before = st_tls_get();
  st_tls_set(st_tls_grad(false));
  const int status = st__run_body(a->h, L, a->nargs + 1, LUA_MULTRET);
  st_tls_set(before);
  if (status != 0) lua_error(L);
  a->first = a->ctx + 1;
  a->nrets = lua_gettop(L) - a->ctx;
  lua_pushnil(L);                                      /* [+1] */
  st__set_field(a->h, L, a->ctx, "is_forward");              /* [-1] */
}

/* True if the list in this field of the context contains t. */
static bool is_marked(const application *a, const char *field,
                      const st_tensor *t) {
  lua_State *L = a->L;
  bool found = false;
  st__push_field(a->h, L, a->ctx, field);                    /* [+1] */
  const int n = lua_istable(L, -1) ? (int)lua_objlen(L, -1) : 0;
  for (int i = 1; i <= n && !found; i++) {
    lua_rawgeti(L, -1, i);                             /* [+1] */
    found = st__to_tensor(a->h, L, -1) == t;
    lua_pop(L, 1);                                     /* [-1] */
  }
  lua_pop(L, 1);                                       /* [-1] */
  return found;
}

/* True if t, the result at idx, has a history of another call or appears among
 * the arguments or the earlier results. */
static bool needs_header(const application *a, int idx, const st_tensor *t) {
  if (is_marked(a, "dirty", t)) return false;
  if (st_tensor_requires_grad(t)) return true;
  for (int i = 1; i <= a->nargs; i++) {
    if (st__to_tensor(a->h, a->L, i) == t) return true;
  }
  for (int i = a->first; i < idx; i++) {
    if (st__to_tensor(a->h, a->L, i) == t) return true;
  }
  return false;
}

/* Replaces the result at idx by an alias with its own tensor header. */
static void separate(application *a, int idx, st_tensor *t) {
  lua_State *L = a->L;
  const st_value arg = st__tensor_arg(t);
  st_value ret;
  st__tensor_ud *ud = st__new_tensor_ud(a->h, L);      /* [+1] */
  const st_tls before = st_tls_get();
  st_tls_set(st_tls_grad(false));
  const st_status status =
    st__run(a->h, L, &(st__request){.op = a->h->op[ST_HANDLE_ALIAS], .n = 1,
                                    .args = &arg, .rets = &ret});
  st_tls_set(before);
  if (status != ST_OK) st__raise(a->h, L, status);
  ud->t = ret.u.tensor;
  lua_replace(L, idx);                                 /* [-1] */
}

/* Gives results their own headers where needed. This dispatches a call, after
 * which deferred releases run: no tensor pointer may be read before. */
static void separate_outputs(application *a) {
  for (int i = 0; i < a->nrets; i++) {
    const int at = a->first + i;
    st_tensor *t = st__to_tensor(a->h, a->L, at);
    if (!t) continue;
    a->differentiable[i] = !is_marked(a, "constant", t);
    if (needs_header(a, at, t)) separate(a, at, t);
  }
}

static void take_inputs(application *a) {
  for (int i = 1; i <= a->nargs; i++) {
    st_tensor *t = st__to_tensor(a->h, a->L, i);
    if (t) a->tensors[a->ninputs++] = t;
  }
}

static void take_outputs(application *a) {
  for (int i = 0; i < a->nrets; i++) {
    st_tensor *t = st__to_tensor(a->h, a->L, a->first + i);
    if (!t) continue;
    a->differentiable[a->noutputs] = a->differentiable[i];
    a->tensors[a->ninputs + a->noutputs++] = t;
  }
}

static void take_saved(application *a) {
  lua_State *L = a->L;
  st__push_field(a->h, L, a->ctx, "saved");                  /* [+1] */
  if (!lua_istable(L, -1)) a->room = 0;
  for (int i = 1; i <= a->room; i++) {
    lua_rawgeti(L, -1, i);                             /* [+1] */
    a->tensors[a->ninputs + a->noutputs + a->nsaved++] =
      st__to_tensor(a->h, L, -1);
    lua_pop(L, 1);                                     /* [-1] */
  }
  lua_pop(L, 1);                                       /* [-1] */
}

/* Dirty tensors must be among the results, or their history would be lost. */
static void check_dirty(application *a) {
  lua_State *L = a->L;
  st__push_field(a->h, L, a->ctx, "dirty");                  /* [+1] */
  const int n = lua_istable(L, -1) ? (int)lua_objlen(L, -1) : 0;
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);                             /* [+1] */
    const st_tensor *t = st__to_tensor(a->h, L, -1);
    bool found = false;
    for (int k = 0; k < a->noutputs; k++) {
      found = found || a->tensors[a->ninputs + k] == t;
    }
    if (!found) {
      st__error(a->h, L, ST_BAD_VALUE, "%s: a tensor that forward marks dirty "
                "must be among its results", a->name);
    }
    lua_pop(L, 1);                                     /* [-1] */
  }
  lua_pop(L, 1);                                       /* [-1] */
}

/* Allocates and fills the arrays of the call's tensors, in a userdata. [+1] */
static void take_tensors(application *a) {
  lua_State *L = a->L;
  st__push_field(a->h, L, a->ctx, "saved");                  /* [+1] */
  a->room = lua_istable(L, -1) ? (int)lua_objlen(L, -1) : 0;
  lua_pop(L, 1);                                       /* [-1] */
  const size_t n = (size_t)a->nargs + (size_t)a->nrets + (size_t)a->room;
  a->tensors = lua_newuserdata(L, (n + 1) * (sizeof *a->tensors + 1));
  a->differentiable = (bool *)(a->tensors + n + 1);    /* [+1] */
  separate_outputs(a);
  take_inputs(a);
  take_outputs(a);
  take_saved(a);
  check_dirty(a);
}

/* -- Recording ------------------------------------------------------------ */

/* Indices of the tensors among the n values that start at index `first`. */
static const int *find_tensors(const application *a, int first, int n,
                               int *out) {
  const int *const start = out;
  for (int i = 0; i < n; i++) {
    if (st__to_tensor(a->h, a->L, first + i)) *out++ = i;
  }
  return start;
}

/* Fake outputs as models for zero gradients: one of several results may have no
 * gradient. */
static st_status make_fakes(const application *a, function *f) {
  for (int j = 0; a->noutputs > 1 && j < a->noutputs; j++) {
    const st_tensor *t = a->tensors[a->ninputs + j];
    f->devices[j] = st_tensor_device(t);
    const st_status status =
      st_tensor_empty(ST_DEVICE_META, st_tensor_dtype(t), st_tensor_ndim(t),
                      st_tensor_sizes(t), NULL, &f->fakes[j]);
    if (status != ST_OK) return status;
  }
  return ST_OK;
}

/* Allocates the node's data as one block. */
static function *new_function(application *a) {
  const size_t nout = (size_t)a->noutputs;
  const size_t name = strlen(a->name) + 1;
  function *f = st__weak_ref_new(
    a->h, a->L, a->ctx, sizeof *f + nout * (sizeof *f->fakes +
    sizeof *f->devices) + (nout + (size_t)a->ninputs) * sizeof(int) + name);
  f->fakes = (st_tensor **)(void *)(f + 1);
  f->devices = (st_device *)(void *)(f->fakes + nout);
  int *positions = (int *)(void *)(f->devices + nout);
  f->nargs = a->nargs;
  f->nrets = a->nrets;
  f->ninputs = a->ninputs;
  f->noutputs = a->noutputs;
  f->nsaved = a->nsaved;
  f->inputs = find_tensors(a, 1, a->nargs, positions);
  f->outputs = find_tensors(a, a->first, a->nrets, positions + a->ninputs);
  f->name = memcpy(positions + a->ninputs + a->noutputs, a->name, name);
  return f;
}

static bool record(application *a) {
  st__entry e;
  bool recorded = false;
  function *f = new_function(a);
  const st_function record = {
    .name = f->name, .backward = run_backward, .ctx = f,
    .free_ctx = free_function, .ninputs = a->ninputs,
    .noutputs = a->noutputs, .nsaved = a->nsaved, .inputs = a->tensors,
    .outputs = a->tensors + a->ninputs,
    .saved = a->tensors + a->ninputs + a->noutputs,
    .differentiable = a->differentiable};
  st_status status = make_fakes(a, f);
  if (status == ST_OK) status = st__begin(a->h, a->L, a->name, &e);
  if (status == ST_OK) {
    status = st__end(a->h, a->L, &e, st_record(&record, &recorded));
  }
  if (!recorded) free_function(f);
  if (status != ST_OK) st__raise(a->h, a->L, status);
  return recorded;
}

/* Gives the results the context and the environments of the arguments. */
static void inherit_env(application *a) {
  lua_State *L = a->L;
  lua_pushvalue(L, a->ctx);                            /* [+1] */
  for (int i = 1; i <= a->nargs && st__any_env(a->h); i++) {
    st__env_collect(a->h, L, i, true);
  }
  for (int i = 0; i < a->nrets; i++) {
    st_tensor *t = st__to_tensor(a->h, L, a->first + i);
    if (t) st__env_inherit_top(a->h, L, a->first + i, is_marked(a, "dirty", t));
  }
  lua_pop(L, 1);                                       /* [-1] */
}

/* Upvalues: the binding state, the definition. */
static int apply(lua_State *L) {
  application a = {.h = st__state_of(L), .L = L, .nargs = lua_gettop(L)};
  st__cannot_record(a.h, L, "it calls a function with a gradient of its own");
  push_definition(L, "name");                          /* [+1] */
  a.name = lua_tostring(L, -1);                        /* owned by upvalue 2 */
  lua_pop(L, 1);                                       /* [-1] */
  push_context(&a);                                    /* [+1] */
  run_forward(&a);                                     /* [+nrets] */
  take_tensors(&a);                                    /* [+1] */
  const bool was_recorded = a.noutputs > 0 && record(&a);
  lua_pushnil(L);                                      /* [+1] */
  st__set_field(a.h, L, a.ctx, "saved");                    /* [-1] */
  lua_pushboolean(L, 1);                               /* [+1] */
  st__set_field(a.h, L, a.ctx, "is_over");                  /* [-1] */
  if (was_recorded) inherit_env(&a);
  lua_pop(L, 1);                                       /* [-1] */
  return a.nrets;
}

/* -- Opening -------------------------------------------------------------- */

/* Copies a function from the table at index 1 to the table at the top. */
static void take_function(lua_State *L, const char *name) {
  st__state *h = st__state_of(L);
  st__get_field(h, L, 1, name);                        /* [+1] */
  if (!st__is_callable(h, L, -1)) {
    st__error(h, L, ST_BAD_TYPE, "Function: '%s' must be a function, got %s",
              name, st__type_name(h, L, -1));
  }
  lua_setfield(L, -2, name);                           /* [-1] */
}

/* autograd_function{name =, forward =, backward =}: a function */
static int new_apply(lua_State *L) {
  st__state *h = st__state_of(L);
  lua_settop(L, 1);
  if (!lua_istable(L, 1)) {
    return st__error(h, L, ST_BAD_TYPE, "Function: expected a table {name =, "
                     "forward =, backward =}, got %s",
                     st__type_name(h, L, 1));
  }
  lua_pushlightuserdata(L, h);                         /* [+1] */
  lua_createtable(L, 0, 3);                            /* [+1] */
  take_function(L, "forward");
  take_function(L, "backward");
  st__get_field(h, L, 1, "name");                      /* [+1] */
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);                                     /* [-1] */
    lua_pushliteral(L, "Function");                    /* [+1] */
  } else if (lua_type(L, -1) != LUA_TSTRING) {
    st__error(h, L, ST_BAD_TYPE, "Function: 'name' must be a string, got %s",
              st__type_name(h, L, -1));
  }
  lua_setfield(L, -2, "name");                         /* [-1] */
  lua_pushcclosure(L, apply, 2);                       /* [-2, +1] */
  return 1;
}

void st__open_autograd_function(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"autograd_function", new_apply}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
}
