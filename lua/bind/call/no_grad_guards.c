/* Guards, such as no_grad, inference_mode and exclude_keys: functions that run
 * a body with this thread's dispatch state changed and restore the state when
 * the body returns or raises. A body runs in protected mode on the C stack, so
 * a coroutine cannot yield out of it.
 */

#include "call/call.h"

/* -- Guards --------------------------------------------------------------- */

/* Calls the body at idx with the arguments after it; returns 0 or the status of
 * its error. */
static int run_body(lua_State *L, const char *name, st_tls state, int idx) {
  st__state *h = st__state_of(L);
  st__check_callable(h, L, idx, "body");
  st__check_body(h, L, name);
  st__cannot_record(h, L, "it changes the thread's state");
  const st_tls before = st_tls_get();
  st_tls_set(state);
  const int status = st__run_body(h, L, lua_gettop(L) - idx, LUA_MULTRET);
  st_tls_set(before);
  return status;
}

/* The number of the body's results; raises its error. */
static int finish(lua_State *L, int status, int idx) {
  return status == 0 ? lua_gettop(L) - idx + 1 : lua_error(L);
}

static int run_guarded(lua_State *L, const char *name, st_tls state,
                       int idx) {
  return finish(L, run_body(L, name, state, idx), idx);
}

/* include_keys(set, body, ...): adds these keys to every call of body */
static int include_keys(lua_State *L) {
  const st_keyset ks = st__check_keyset(st__state_of(L), L, 1);
  return run_guarded(L, "include_keys", st_tls_include(ks), 2);
}

/* exclude_keys(set, body, ...): removes these keys from every call of body */
static int exclude_keys(lua_State *L) {
  const st_keyset ks = st__check_keyset(st__state_of(L), L, 1);
  return run_guarded(L, "exclude_keys", st_tls_exclude(ks), 2);
}

static int below_autograd(lua_State *L) {
  return run_guarded(L, "below_autograd", st_tls_below_autograd(), 1);
}

static int below_adinplaceorview(lua_State *L) {
  return run_guarded(L, "below_adinplaceorview",
                     st_tls_below_adinplaceorview(), 1);
}

static int no_grad(lua_State *L) {
  return run_guarded(L, "no_grad", st_tls_grad(false), 1);
}

static int enable_grad(lua_State *L) {
  return run_guarded(L, "enable_grad", st_tls_grad(true), 1);
}

/* set_grad_enabled(flag, body, ...) */
static int set_grad_enabled(lua_State *L) {
  return run_guarded(L, "set_grad_enabled",
                     st_tls_grad(lua_toboolean(L, 1)), 2);
}

static int inference_mode(lua_State *L) {
  return run_guarded(L, "inference_mode", st_tls_inference(true), 1);
}

/* autocast(enabled, dtype, caches, body, ...): amp.lua checks the first three.
 * The casts that are kept end with the outermost region. */
static int autocast(lua_State *L) {
  st__state *h = st__state_of(L);
  const bool is_outermost = !st_autocast_is_enabled();
  const st_dtype dtype = st__check_dtype(h, L, 2, "dtype");
  st_tls state;
  const st_status status = st_tls_autocast(lua_toboolean(L, 1), dtype,
                                           lua_toboolean(L, 3), &state);
  if (status != ST_OK) return st__raise(h, L, status);
  const int failure = run_body(L, "autocast", state, 4);
  if (is_outermost) st_autocast_clear();
  return finish(L, failure, 4);
}

/* -- Queries -------------------------------------------------------------- */

static int is_grad_enabled(lua_State *L) {
  st__cannot_record(st__state_of(L), L, "it calls is_grad_enabled");
  lua_pushboolean(L, st_tls_get().grad);      /* [+1] */
  return 1;
}

static int is_inference_mode_enabled(lua_State *L) {
  lua_pushboolean(L, st_tls_get().inference); /* [+1] */
  return 1;
}

static int is_autocast_enabled(lua_State *L) {
  lua_pushboolean(L, st_autocast_is_enabled());         /* [+1] */
  return 1;
}

static int is_autocast_cache_enabled(lua_State *L) {
  lua_pushboolean(L, st_tls_get().caches_casts);        /* [+1] */
  return 1;
}

static int get_autocast_dtype(lua_State *L) {
  st__push_dtype(st__state_of(L), L,
                 (st_dtype)st_tls_get().autocast_dtype); /* [+1] */
  return 1;
}

static int clear_autocast_cache(lua_State *L) {
  (void)L;
  st_autocast_clear();
  return 0;
}

static int included_keys(lua_State *L) {
  st__cannot_record(st__state_of(L), L, "it reads dispatch keys");
  st__push_keyset(st__state_of(L), L, st_tls_get().included); /* [+1] */
  return 1;
}

static int excluded_keys(lua_State *L) {
  st__cannot_record(st__state_of(L), L, "it reads dispatch keys");
  st__push_keyset(st__state_of(L), L, st_tls_get().excluded); /* [+1] */
  return 1;
}

/* -- Tensors -------------------------------------------------------------- */

/* t:is_inference() */
static int is_inference(lua_State *L) {
  const st_tensor *t = st__check_tensor(st__state_of(L), L, 1, "self");
  lua_pushboolean(L, st_tensor_is_inference(t));   /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_guard(st__state *h, lua_State *L) {
  static const luaL_Reg runners[] = {
    {"include_keys", include_keys}, {"exclude_keys", exclude_keys},
    {"below_autograd", below_autograd},
    {"below_adinplaceorview", below_adinplaceorview}, {"no_grad", no_grad},
    {"enable_grad", enable_grad}, {"set_grad_enabled", set_grad_enabled},
    {"inference_mode", inference_mode}, {"autocast", autocast},
    {NULL, NULL}
  };
  static const luaL_Reg functions[] = {
    {"is_grad_enabled", is_grad_enabled},
    {"is_inference_mode_enabled", is_inference_mode_enabled},
    {"included_keys", included_keys}, {"excluded_keys", excluded_keys},
    {"is_autocast_enabled", is_autocast_enabled},
    {"is_autocast_cache_enabled", is_autocast_cache_enabled},
    {"get_autocast_dtype", get_autocast_dtype},
    {"clear_autocast_cache", clear_autocast_cache},
    {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"is_inference", is_inference}, {NULL, NULL}
  };
  st__set_body_functions(h, L, runners);
  st__set_functions(h, L, functions);
  lua_getfield(L, -1, "methods");     /* [+1] */
  st__set_functions(h, L, methods);
  lua_pop(L, 1);                      /* [-1] */
}
