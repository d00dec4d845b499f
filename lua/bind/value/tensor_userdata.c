/* Tensors in Lua: the userdata, whose finalizer releases the tensor. Scopes
 * release early: tensor_scope.c.
 */

#include <string.h>

#include "value/value.h"

/* Called for each argument of each call, so it does not look at the metatable.
 * Only a full userdata has a length, and no other userdata of this size begins
 * with this address. */
static inline st__tensor_ud *to_tensor_ud(st__state *h, lua_State *L,
                                          int idx) {
  st__tensor_ud *ud = lua_touserdata(L, idx);
  return ud && lua_objlen(L, idx) == sizeof *ud &&
         ud->kind == &h->meta[ST_UD_TENSOR] ? ud : NULL;
}

st_tensor *st__to_tensor(st__state *h, lua_State *L, int idx) {
  const st__tensor_ud *ud = to_tensor_ud(h, L, idx);
  return ud ? ud->t : NULL;
}

st__tensor_ud *st__to_tensor_ud(st__state *h, lua_State *L, int idx) {
  st__tensor_ud *ud = to_tensor_ud(h, L, idx);
  return ud && ud->t ? ud : NULL;
}

st_tensor *st__check_tensor(st__state *h, lua_State *L, int idx,
                            const char *arg) {
  st_tensor *t = st__to_tensor(h, L, idx);
  if (!t) {
    const bool is_method = strcmp(arg, "self") == 0 && lua_isnoneornil(L, idx);
    st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be a Tensor, "
                       "got %s%s", arg, st__type_name(h, L, idx),
                       is_method ? "; write a colon before a method" : "");
  }
  if (st_tensor_is_symbol(t)) {
    st__argument_error(h, L, ST_BAD_STATE, "argument '%s' represents tensors "
                       "of any dtype and shape while a function is traced: its "
                       "shape, dtype and elements are not known", arg);
  }
  if (st__is_fake(h, t)) st_recorder_uses_shape(h->recorder);
  return t;
}

/* A userdata that is in no scope. [+1] */
static st__tensor_ud *new_tensor_ud(st__state *h, lua_State *L) {
  st__tensor_ud *ud = st__new_with_env(L, sizeof *ud); /* [+1] */
  *ud = (st__tensor_ud){.kind = &h->meta[ST_UD_TENSOR]};
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->meta_ref[ST_UD_TENSOR]); /* [+1] */
  lua_setmetatable(L, -2);                             /* [-1] */
  return ud;
}

st__tensor_ud *st__new_tensor_ud(st__state *h, lua_State *L) {
  st__gc_pace_if_due(h, L);
  st__tensor_ud *ud = new_tensor_ud(h, L);          /* [+1] */
  if (h->scope && st__owns_fiber(h)) st__scope_enter(h, L, h->scope, ud);
  return ud;
}

st__tensor_ud *st__push_tensor(st__state *h, lua_State *L, st_tensor *t) {
  st__tensor_ud *ud = st__new_tensor_ud(h, L); /* [+1] */
  st_tensor_retain(t);
  ud->t = t;
  return ud;
}

/* Releasing a tensor may release the Lua owner of foreign memory, whose
 * reference is dropped here. */
static void release(st__state *h, lua_State *L, st__tensor_ud *ud) {
  st_tensor_release(&ud->t);
  if (!h->running && atomic_load_explicit(&h->unrefs, memory_order_relaxed)) {
    st__lua_ref_sweep(h, L);
  }
}

static int tensor_gc(lua_State *L) {
  st__state *h = st__state_of(L);
  st__tensor_ud *ud = to_tensor_ud(h, L, 1);
  if (!ud) return 0;
  h->freed += ud->charged;
  st__scope_leave(h, ud);
  st__untrack_ud(h, ud);
  release(h, L, ud);
  return 0;
}

/* free(): releases the tensor now; using it later is an error. In a Lua kernel
 * or a finalizer, a C function deeper in the stack may hold the tensor as a
 * borrowed argument: the release is then deferred until the outermost call
 * returns, in a deep stack one of a later call. */
static int tensor_free(lua_State *L) {
  st__state *h = st__state_of(L);
  st__tensor_ud *ud = st__checkudata(h, L, 1, ST_UD_TENSOR, "self");
  const bool is_nested = h->running || st__is_nested(h, L);
  if (ud->t && !is_nested) st__cannot_record(h, L, "it frees a tensor");
  if (ud->t) st__gc_credit(h, ud);
  if (!ud->t || !is_nested) {
    release(h, L, ud);
    return 0;
  }
  lua_createtable(L, 2, 0);                         /* [+1] */
  st__tensor_ud *deferred = new_tensor_ud(h, L);    /* [+1] */
  lua_rawseti(L, -2, 1);                            /* [-1] */
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->deferred_ref); /* [+1] */
  lua_rawseti(L, -2, 2);                            /* [-1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->deferred_ref); /* [-1] */
  h->has_deferred = true;
  deferred->t = ud->t;
  ud->t = NULL;
  return 0;
}

/* set_metamethod(event, fn): sets a metamethod of tensors to a Lua function */
static int set_metamethod(lua_State *L) {
  const char *event = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  st__push_meta(st__state_of(L), L, ST_UD_TENSOR); /* [+1] */
  lua_pushvalue(L, 2);                             /* [+1] */
  lua_setfield(L, -2, event);                      /* [-1] */
  return 0;
}

static int is_tensor(lua_State *L) {
  lua_pushboolean(L, st__testudata(st__state_of(L), L, 1, ST_UD_TENSOR) !=
                     NULL); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_tensor(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"is_tensor", is_tensor}, {"set_metamethod", set_metamethod}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {{"free", tensor_free}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {
    {"__gc", tensor_gc}, {"__close", tensor_free}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
  lua_newtable(L);                              /* [+1] */
  lua_setfield(L, -2, "properties");            /* [-1] */
  lua_newtable(L);                              /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "methods");               /* [-1] */
  lua_newtable(L);                              /* [+1] */
  lua_pushliteral(L, "list of tensors");        /* [+1] */
  lua_setfield(L, -2, "__metatable");           /* [-1] */
  lua_pushvalue(L, -1);                         /* [+1] */
  h->lists_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  lua_setfield(L, -2, "tensor_lists");          /* [-1] */
  st__push_meta(h, L, ST_UD_TENSOR);            /* [+1] */
  st__set_functions(h, L, metamethods);
  lua_pop(L, 1);                                /* [-1] */
}
