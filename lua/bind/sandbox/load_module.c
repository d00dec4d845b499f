/* Loading of the library's own modules on first use.
 *
 * Note [Modules load whole or not at all]
 * While a module loads, LuaJIT and Lua 5.1 keep a mark in its place in
 * package.loaded, and an error leaves it there: the next require says "loop or
 * previous error loading module", for ever. Any instruction may raise such an
 * error, an interrupt, a time limit or a lack of memory. So the library's files
 * load others by this function, which takes the marks of all its modules away
 * after a failure. It is in C, where no hook runs between the failure and that.
 */

#include <string.h>

#include "sandbox/sandbox.h"

/* A module that this function is loading; the outer one loads it. */
typedef struct module {
  const char *name;
  struct module *outer;
} module;

struct st__loading {
  int require_ref;       /* the global require */
  module *innermost;     /* or NULL */
};

void st__push_require(const st__state *h, lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->loading->require_ref); /* [+1] */
}

static bool is_loading(const module *l, const char *name) {
  for (; l; l = l->outer) {
    if (strcmp(l->name, name) == 0) return true;
  }
  return false;
}

/* True for a mark: a light userdata, which LuaJIT may show as a number. */
static bool is_mark(lua_State *L, int idx) {
  return lua_islightuserdata(L, idx) || lua_type(L, idx) == LUA_TNUMBER;
}

void st__remove_marks(const st__state *h, lua_State *L) {
  const int loaded = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, loaded); lua_pop(L, 1)) { /* [+2, -1] */
    if (!is_mark(L, -1) || lua_type(L, -2) != LUA_TSTRING) continue;
    const char *name = lua_tostring(L, -2);
    if (strncmp(name, "strided", strlen("strided")) != 0 ||
        is_loading(h->loading->innermost, name)) {
      continue;
    }
    lua_pushvalue(L, -2);        /* [+1] */
    lua_pushnil(L);              /* [+1] */
    lua_rawset(L, loaded);       /* [-2] */
  }
}

/* require(name): what the global one returns, for a module of the library */
static int require_module(lua_State *L) {
  st__state *h = st__state_of(L);
  module here = {st__check_string(h, L, 1, "name"), h->loading->innermost};
  st__check_broken(h, L, here.name);
  st__check_depth(h, L, "require");
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_settop(L, 1);
  lua_pushliteral(L, "_LOADED");                    /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_pushvalue(L, 1);                              /* [+1] */
  lua_rawget(L, 2);
  if (lua_toboolean(L, 3) && !is_mark(L, 3)) return 1;
  st__push_require(h, L);                           /* [+1] */
  lua_pushvalue(L, 1);                              /* [+1] */
  h->loading->innermost = &here;
  const int status = st__pcall_c(h, L, 1, 1, 0);    /* [-2, +1] */
  h->loading->innermost = here.outer;
  if (status == 0) return 1;
  lua_pushvalue(L, 2);                              /* [+1] */
  st__remove_marks(h, L);
  lua_pop(L, 1);                                    /* [-1] */
  return lua_error(L);
}

void st__open_load_module(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"require", require_module}, {NULL, NULL}
  };
  h->loading = st__new_part(h, L, sizeof *h->loading, NULL);
  lua_getglobal(L, "require");                      /* [+1] */
  h->loading->require_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  st__set_functions(h, L, functions);
}
