/* Tables as arguments: lists, tables of keywords, and lists with keywords:
 * {2, 3, dtype = "int64"}.
 */

#include <string.h>

#include "value/value.h"

/* True for n = #t, which table.pack adds. */
static bool is_pack_length(lua_State *L, int64_t n) {
  const char *key = lua_tostring(L, -2);
  return key[0] == 'n' && key[1] == '\0' &&
         lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) == (double)n;
}

/* lua_next visits the array of a table, where Lua stores a list, before all
 * other keys; only a list's last few elements may lie outside of the array. So
 * the traversal starts shortly before the end of the list. */
enum { TAIL = 16 };

unsigned st__count_names(lua_State *L, int idx, int *names) {
  const int64_t n = (int64_t)lua_objlen(L, idx);
  unsigned parts = n > 0 ? ST_PART_LIST : 0;
  *names = 0;
  if (n > TAIL) lua_pushinteger(L, (lua_Integer)(n - TAIL)); /* [+1] */
  else lua_pushnil(L);                                       /* [+1] */
  while (lua_next(L, idx)) {                                 /* [-1, +0|2] */
    if (lua_type(L, -2) == LUA_TSTRING) {
      *names += !is_pack_length(L, n);
    } else if (!st__is_list_key(L, -2, n)) {
      parts |= ST_PART_OTHER;
    }
    lua_pop(L, 1);                                           /* [-1] */
  }
  return parts | (*names ? ST_PART_NAMES : 0);
}

unsigned st__table_parts(lua_State *L, int idx) {
  int names;
  return st__count_names(L, idx, &names);
}

bool st__is_list_key(lua_State *L, int idx, int64_t n) {
  if (lua_type(L, idx) != LUA_TNUMBER) return false;
  const double k = lua_tonumber(L, idx);
  return k >= 1 && k <= (double)n && k == (double)(int64_t)k;
}
