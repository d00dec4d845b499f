/* Sharing tensors between Lua states: share, attach, unshare.
 */

#include <math.h>
#include <string.h>

#include "io/io.h"

/* Raises the engine's error with the function's name in front. */
static int fail(st__state *h, lua_State *L, const char *name, st_status code) {
  return st__error(h, L, code, "%s: %s", name, st_message());
}

/* The token as a C string. One that contains a NUL becomes "", which the engine
 * refuses. */
static const char *check_token(lua_State *L, const char *name) {
  st__state *h = st__state_of(L);
  if (lua_type(L, 1) != LUA_TSTRING) {
    st__error(h, L, ST_BAD_TYPE, "%s: argument 'token' must be a string, got "
              "%s", name, st__type_name(h, L, 1));
  }
  size_t n;
  const char *token = lua_tolstring(L, 1, &n);
  return strlen(token) == n ? token : "";
}

/* The number of attachments at idx; 0 for math.huge: until it is unshared. */
static int64_t check_times(st__state *h, lua_State *L, int idx) {
  int64_t times;
  if (lua_type(L, idx) == LUA_TNUMBER && lua_tonumber(L, idx) == HUGE_VAL) {
    return 0;
  }
  if (!st__to_int(h, L, idx, &times) || times < 1) {
    st__error(h, L, ST_BAD_VALUE, "share: argument 'times' must be 1, 2, ... "
              "or math.huge");
  }
  return times;
}

/* Pushes the keyword argument `times` of the table at index 2. [+1] */
static void push_times(st__state *h, lua_State *L) {
  for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) { /* [+2, -1] */
    if (lua_type(L, -2) == LUA_TSTRING &&
        strcmp(lua_tostring(L, -2), "times") == 0) {
      continue;
    }
    st__error(h, L, ST_BAD_VALUE, "share: unknown keyword argument%s%s",
              lua_type(L, -2) == LUA_TSTRING ? " " : "",
              lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "");
  }
  lua_pushliteral(L, "times");                          /* [+1] */
  lua_rawget(L, 2);                                     /* [-1, +1] */
}

/* share(t, [times]): returns the token */
static int share(lua_State *L) {
  st__state *h = st__state_of(L);
  char token[ST_TOKEN_SIZE];
  lua_settop(L, 2);
  const st_tensor *t = st__to_tensor(h, L, 1);
  if (!t) {
    return st__error(h, L, ST_BAD_TYPE, "share: argument 't' must be a "
                     "Tensor, got %s", st__type_name(h, L, 1));
  }
  st__access_elements(h, L, NULL);
  if (lua_istable(L, 2)) push_times(h, L);              /* [+0|1] */
  const int64_t times = lua_isnil(L, -1) ? 1 : check_times(h, L, -1);
  const st_status status = st_share(t, times, token);
  if (status != ST_OK) return fail(h, L, "share", status);
  lua_pushstring(L, token);                             /* [+1] */
  return 1;
}

/* attach(token): returns the tensor */
static int attach(lua_State *L) {
  st__state *h = st__state_of(L);
  const char *token = check_token(L, "attach");
  st__tensor_ud *ud = st__new_tensor_ud(h, L);          /* [+1] */
  const st_status status = st_attach(token, &ud->t);
  return status == ST_OK ? 1 : fail(h, L, "attach", status);
}

/* unshare(token): returns true if the token was still valid */
static int unshare_token(lua_State *L) {
  lua_pushboolean(L, st_unshare(check_token(L, "unshare"))); /* [+1] */
  return 1;
}

void st__open_share(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"share", share}, {"attach", attach}, {"unshare", unshare_token},
    {NULL, NULL}
  };
  st__set_functions(h, L, functions);
}
