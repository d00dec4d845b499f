/* What the library's Lua files ask of refusals: Note [Errors that may be
 * caught].
 */

#include "state/engine.h"
#include "state/hook_error.h"

/* refused(text): notes the text of an error that is about to be raised */
static int refused(lua_State *L) {
  st__note_refusal(st__state_of(L), L, 1);
  return 0;
}

/* is_refusal(err): true for the last refusal */
static int is_refusal(lua_State *L) {
  const st__state *h = st__state_of(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->refusal_ref); /* [+1] */
  lua_pushboolean(L, lua_type(L, 1) == LUA_TSTRING &&
                     lua_rawequal(L, 1, -1));       /* [+1] */
  return 1;
}

/* where(): returns "file:line: " of the innermost user frame, or "" */
static int where(lua_State *L) {
  char text[LUA_IDSIZE + 16];
  const st__state *h = st__state_of(L);
  const bool is_known = *st__where(h, L, text, sizeof text) != 0;
  lua_pushfstring(L, is_known ? "%s: " : "%s", text); /* [+1] */
  return 1;
}

/* try(fn, ...): true and what fn(...) returns, or false and the text of the
 * refusal; other errors pass */
static int try(lua_State *L) {
  st__state *h = st__state_of(L);
  st__check_depth(h, L, "try");
  st__check_callable(h, L, 1, "fn");
  if (st__pcall_c(h, L, lua_gettop(L) - 1, LUA_MULTRET, 0) == 0) {
    luaL_checkstack(L, 1, NULL);
    lua_pushboolean(L, 1);                          /* [+1] */
    lua_insert(L, 1);
    return lua_gettop(L);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->refusal_ref); /* [+1] */
  const bool is_known = lua_type(L, -2) == LUA_TSTRING &&
                        lua_rawequal(L, -2, -1);
  lua_pop(L, 1);                                    /* [-1] */
  if (!is_known) return lua_error(L);
  lua_pushboolean(L, 0);                            /* [+1] */
  lua_insert(L, -2);
  return 2;
}

void st__open_refusal(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"refused", refused}, {"is_refusal", is_refusal}, {"try", try},
    {"where", where}, {NULL, NULL}
  };
  st__prepare_hook_errors(L);
  st__set_functions(h, L, functions);
}
