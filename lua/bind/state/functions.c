/* C functions of the binding as values of Lua: how they are registered.
 */

#include "state/error.h"
#include "state/guard.h"

void st__raise_lost(st__state *h, lua_State *L, int first, const char *name) {
  const char *colon = *name ? ": " : "", *why = st__lost_reason();
  if (why) st__error(h, L, ST_BAD_STATE, "%s%s%s", name, colon, why);
  st__clear_lost_pages();
  for (int i = first; i <= lua_gettop(L); i++) {
    const st__tensor_ud *ud = st__testudata(h, L, i, ST_UD_TENSOR);
    if (ud && ud->t && st__is_lost(ud->t)) {
      st__error(h, L, ST_BAD_STATE, "%s%sthe mapped file of a tensor was "
                "truncated, or cannot be read or written; nothing more is "
                "written to it", name, colon);
    }
  }
}

/* Note [Functions that access elements]
 * A function that reads or writes elements itself, as totable does, may meet
 * pages of a mapped file that is truncated: they are zeros then, and the
 * function must not say that it is done (Note [Truncated files]). So such
 * functions are registered in a way of their own, which asks when they return,
 * and st__check_memory, which gives the address of elements, serves no other
 * function. Operator calls ask in st__call_operator. */
static int call_access(lua_State *L) {
  const luaL_Reg *fn = lua_touserdata(L, lua_upvalueindex(2));
  const int n = fn->func(L);                     /* [+n] */
  if (atomic_load_explicit(&st__has_lost_pages, memory_order_relaxed)) {
    const bool has_name = lua_toboolean(L, lua_upvalueindex(3));
    st__raise_lost(st__state_of(L), L, 1, has_name ? fn->name : "");
  }
  return n;
}

static int call_guarded_access(lua_State *L) {
  st__check_guarded(st__state_of(L), L,
                    lua_touserdata(L, lua_upvalueindex(2)));
  return call_access(L);
}

void st__check_access(st__state *h, lua_State *L) {
  if (lua_type(L, lua_upvalueindex(4)) != LUA_TBOOLEAN) {
    st__error(h, L, ST_BAD_STATE, "strided: a function that accesses elements "
              "is registered as one that does not");
  }
}

void st__set_functions(st__state *h, lua_State *L, const luaL_Reg *fns) {
  st__keep_names(h, L, fns);
  for (; fns->name; fns++) {
    if (!st__push_guarded(h, L, fns)) {    /* [+0|1] */
      lua_pushlightuserdata(L, h);         /* [+1] */
      lua_pushcclosure(L, fns->func, 1);   /* [-1, +1] */
    }
    lua_setfield(L, -2, fns->name);      /* [-1] */
  }
}

void st__set_access_functions(st__state *h, lua_State *L, const luaL_Reg *fns,
                              bool has_names) {
  st__keep_names(h, L, fns);
  for (; fns->name; fns++) {
    lua_pushlightuserdata(L, h);         /* [+1] */
    lua_pushlightuserdata(L, (void *)(uintptr_t)fns); /* [+1] */
    lua_pushboolean(L, has_names);       /* [+1] */
    lua_pushboolean(L, 1); /* [+1]: what st__check_access asks for */
    lua_pushcclosure(L, st__is_guarded(fns) ? call_guarded_access : call_access,
                     4);                 /* [-4, +1] */
    lua_setfield(L, -2, fns->name);      /* [-1] */
  }
}

/* A boolean as second upvalue marks functions that run a body: see
 * may_borrow. */
void st__set_body_functions(st__state *h, lua_State *L, const luaL_Reg *fns) {
  st__keep_names(h, L, fns);
  for (; fns->name; fns++) {
    lua_pushlightuserdata(L, h);         /* [+1] */
    lua_pushboolean(L, 1);               /* [+1] */
    lua_pushcclosure(L, fns->func, 2);   /* [-2, +1] */
    lua_setfield(L, -2, fns->name);      /* [-1] */
  }
}
