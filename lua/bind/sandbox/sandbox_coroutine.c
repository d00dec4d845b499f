/* Coroutines that a time limit has ended, in Lua 5.4.
 *
 * Note [Closing after a time limit]
 * A coroutine that an error has ended keeps the variables that are to be
 * closed; coroutine.close and the function of coroutine.wrap close them. If the
 * error is that of a hook, hooks stay off in the coroutine for good, so that
 * nothing would end a handler that loops. The hook of the time limit suspends a
 * coroutine instead of raising where it can, but not below a function of C such
 * as table.sort. So a sandbox with a time limit replaces these two functions by
 * such that leave a coroutine as it is which that hook has ended. It is
 * identified by the hook's count, which stays. pcall needs no such care: it
 * lets hooks run again before it closes variables.
 */

#include "sandbox/sandbox.h"

#if LUA_VERSION_NUM >= 504

static bool is_ended(lua_State *co) {
  return lua_status(co) > LUA_YIELD && st__has_time_hook(co);
}

/* coroutine.close; its first upvalue is Lua's own. */
static int close(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  if (co && is_ended(co)) {
    lua_pushboolean(L, 0);                       /* [+1] */
    lua_pushliteral(L, "a time limit has ended this coroutine"); /* [+1] */
    return 2;
  }
  lua_pushvalue(L, lua_upvalueindex(1));         /* [+1] */
  lua_insert(L, 1);
  st__call_c(L, lua_gettop(L) - 1, LUA_MULTRET); /* [-n, +n] */
  return lua_gettop(L);
}

/* Raises the error at the top of a coroutine, whose variables are closed by the
 * function at index 1. */
static int raise(lua_State *L, lua_State *co) {
  const int status = lua_status(co);
  if (status > LUA_YIELD && !is_ended(co)) {
    lua_pushvalue(L, lua_upvalueindex(2));       /* [+1] */
    lua_pushvalue(L, lua_upvalueindex(1));       /* [+1] */
    st__call_c(L, 1, 2);                         /* [-2, +2] */
  } else {
    lua_xmove(co, L, 1);                         /* [+1] */
  }
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);                            /* [+1] */
    lua_insert(L, -2);
    lua_concat(L, 2);                            /* [-1] */
  }
  return lua_error(L);
}

/* What coroutine.wrap returns. Upvalues: the coroutine, coroutine.close. */
static int resume(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  const int nargs = lua_gettop(L);
  int n;
  if (!lua_checkstack(co, nargs)) {
    return luaL_error(L, "too many arguments to resume");
  }
  lua_xmove(L, co, nargs);                       /* [-n] */
  if (st__resume(co, L, nargs, &n) > LUA_YIELD) return raise(L, co);
  if (!lua_checkstack(L, n + 1)) {
    lua_pop(co, n);
    return luaL_error(L, "too many results to resume");
  }
  lua_xmove(co, L, n);                           /* [+n] */
  return n;
}

/* coroutine.wrap; its first upvalue is coroutine.close. */
static int wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);              /* [+1] */
  lua_pushvalue(L, 1);                           /* [+1] */
  lua_xmove(L, co, 1);                           /* [-1] */
  lua_pushvalue(L, lua_upvalueindex(1));         /* [+1] */
  lua_pushcclosure(L, resume, 2);                /* [-2, +1] */
  return 1;
}

void st__guard_coroutines(lua_State *L, int loaded) {
  lua_pushliteral(L, "coroutine");               /* [+1] */
  lua_rawget(L, loaded);                         /* [-1, +1] */
  if (!lua_istable(L, -1)) {
    lua_pop(L, 1);                               /* [-1] */
    return;
  }
  lua_getfield(L, -1, "close");                  /* [+1] */
  lua_pushvalue(L, -1);                          /* [+1] */
  lua_pushcclosure(L, close, 1);                 /* [0] */
  lua_setfield(L, -3, "close");                  /* [-1] */
  lua_pushcclosure(L, wrap, 1);                  /* [0] */
  lua_setfield(L, -2, "wrap");                   /* [-1] */
  lua_pop(L, 1);                                 /* [-1] */
}

#else

void st__guard_coroutines(lua_State *L, int loaded) { (void)L; (void)loaded; }

#endif
