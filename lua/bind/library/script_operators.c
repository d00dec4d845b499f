/* Operators that scripts in a sandbox have defined.
 *
 * Note [Operators of scripts]
 * In a namespace that the host gives, operators of its own may be defined
 * already, and a kernel for another key, or another overload, would change what
 * they do. So a script's libraries register for the operators that libraries of
 * scripts have defined: a weak table has these libraries by the names.
 */

#include <string.h>

#include "library/library.h"

static char own_key;

#define BLANKS " \t\r\n\f\v" /* which schemas may have between their words */

/* Pushes "ns::name" of a name or schema in the namespace. [+1] */
static const char *push_base_name(lua_State *L, const char *ns,
                                  const char *name) {
  name += strspn(name, BLANKS);
  const char *colons = strstr(name, "::");
  if (colons && colons < name + strcspn(name, "(")) {
    name = colons + 2 + strspn(colons + 2, BLANKS);
  }
  lua_pushfstring(L, "%s::", ns);                /* [+1] */
  lua_pushlstring(L, name, strcspn(name, ".(" BLANKS)); /* [+1] */
  lua_concat(L, 2);                              /* [-2, +1] */
  return lua_tostring(L, -1);
}

/* Pushes the table of libraries. [+1] */
static void push_own(lua_State *L) {
  lua_pushlightuserdata(L, &own_key);            /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);              /* [-1, +1] */
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);                                 /* [-1] */
  lua_newtable(L);                               /* [+1] */
  lua_newtable(L);                               /* [+1] */
  lua_pushliteral(L, "v");                       /* [+1] */
  lua_setfield(L, -2, "__mode");                 /* [-1] */
  lua_setmetatable(L, -2);                       /* [-1] */
  lua_pushlightuserdata(L, &own_key);            /* [+1] */
  lua_pushvalue(L, -2);                          /* [+1] */
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
}

void st__own_operator(lua_State *L, int idx, const char *ns,
                      const char *name) {
  push_own(L);                                   /* [+1] */
  push_base_name(L, ns, name);                   /* [+1] */
  lua_pushvalue(L, idx);                         /* [+1] */
  lua_rawset(L, -3);                             /* [-2] */
  lua_pop(L, 1);                                 /* [-1] */
}

void st__check_own_operator(st__state *h, lua_State *L, const char *ns,
                            const char *name, bool is_new) {
  push_own(L);                                   /* [+1] */
  const char *full = push_base_name(L, ns, name); /* [+1] */
  if (is_new && st_op_overloads(full, NULL, 0) == 0) {
    lua_pop(L, 2);                               /* [-2] */
    return;
  }
  lua_pushvalue(L, -1);                          /* [+1] */
  lua_rawget(L, -3);                             /* [-1, +1] */
  if (!st__is_open_library(h, L, lua_gettop(L))) {
    st__error(h, L, ST_BAD_STATE, "library: '%s' is not an operator of a "
              "script: not available in a sandbox, which takes registration "
              "away", full);
  }
  lua_pop(L, 3);                                 /* [-3] */
}
