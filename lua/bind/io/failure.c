/* Failures of files, which Lua code gets as nil and a reason.
 */

#include "io/io.h"

const char st__interrupted[] = "interrupted";

const char *st__poll_reason(lua_State *L) {
  return st__poll_status(st__state_of(L), L) == ST_OK ? NULL
                                                      : st__interrupted;
}

int st__failed(lua_State *L, const char *why) {
  if (why == st__interrupted) {
    return st__raise(st__state_of(L), L, ST_INTERRUPTED);
  }
  lua_pushnil(L);           /* [+1] */
  lua_pushstring(L, why);   /* [+1] */
  return 2;
}
