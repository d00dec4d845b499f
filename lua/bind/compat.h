/* Macros that let one C source compile for the Lua 5.1 ABI (LuaJIT and PUC)
 * and for Lua 5.2 to 5.4, which renamed functions.
 */
#ifndef ST_LUA_COMPAT_H
#define ST_LUA_COMPAT_H

#include <lauxlib.h>
#include <lua.h>

#if LUA_VERSION_NUM >= 502
#define lua_objlen lua_rawlen
#else
#define luaL_checkversion(L) ((void)(L))
#endif

/* The table associated with a userdata: the environment in 5.1, the user value
 * from 5.2 on. [+1], [-1] */
#if LUA_VERSION_NUM >= 504
#define st__get_env(L, idx) lua_getiuservalue(L, idx, 1)
#define st__set_env(L, idx) lua_setiuservalue(L, idx, 1)
#elif LUA_VERSION_NUM >= 502
#define st__get_env lua_getuservalue
#define st__set_env lua_setuservalue
#else
#define st__get_env lua_getfenv
#define st__set_env lua_setfenv
#endif

#if LUA_VERSION_NUM >= 504 /* no unused user value */
#undef lua_newuserdata
#define lua_newuserdata(L, n) lua_newuserdatauv(L, n, 0)
#define st__new_with_env(L, n) lua_newuserdatauv(L, n, 1)
#else
#define st__new_with_env lua_newuserdata
#endif

/* lua_gc's option LUA_GCISRUNNING: 0 when the collector is stopped. PUC 5.1
 * does not have it and returns -1. */
enum { ST_GC_IS_RUNNING = 9 };

/* Calls fn in protected mode with the light userdata ud as its one argument.
 * Returns Lua's status; on failure the error object is on the stack. */
static inline int st__protected(lua_State *L, lua_CFunction fn, void *ud) {
#if LUA_VERSION_NUM >= 502
  lua_pushcfunction(L, fn);       /* [+1] */
  lua_pushlightuserdata(L, ud);   /* [+1] */
  return lua_pcall(L, 1, 0, 0);   /* [-2, +0|1] */
#else
  return lua_cpcall(L, fn, ud);   /* [+0|1] */
#endif
}

#endif
