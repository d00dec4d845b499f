/* How failures become Lua errors: at the line of the caller, with the text
 * that the engine left.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bind.h"

/* Frames of C functions and of strided's own Lua files are not where the
 * user made the mistake. */
static bool is_users(const st__host *h, const lua_Debug *ar) {
  return ar->currentline > 0 &&
         (!h->home[0] || strncmp(ar->source, h->home, strlen(h->home)) != 0);
}

/* "file:line: ", or "" when nobody is known. [+1] */
static void push_where(const st__host *h, lua_State *L) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (!is_users(h, &ar)) continue;
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline); /* [+1] */
    return;
  }
  lua_pushliteral(L, ""); /* [+1] */
}

int st__raise(st__host *h, lua_State *L, st_status status) {
  luaL_checkstack(L, 4, NULL);
  if (status == ST_HOST && h->has_error) {
    h->has_error = false;
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->error_ref); /* [+1] */
    lua_pushboolean(L, 0);                           /* [+1] */
    lua_rawseti(L, LUA_REGISTRYINDEX, h->error_ref); /* [-1] */
    return lua_error(L);
  }
  push_where(h, L);                /* [+1] */
  lua_pushstring(L, st_message()); /* [+1] */
  lua_concat(L, 2);                /* [-2, +1] */
  return lua_error(L);
}

int st__error(st__host *h, lua_State *L, st_status code, const char *format,
              ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return st__raise(h, L, st_fail(code, "%s", text));
}
