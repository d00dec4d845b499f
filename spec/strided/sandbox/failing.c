/* A module of Lua: failing.at(k, persists) lets the k-th allocation of the Lua
 * state fail from here on, and all after it if persists is true; 0: none. It
 * returns the number of allocations since the last call.
 */

#include <lauxlib.h>
#include <lua.h>

static lua_Alloc allocator;
static void *context;
static lua_Integer fail_in, count;
static int persists;

/* Shrinking a block must not fail. */
static void *allocate(void *ud, void *p, size_t old, size_t n) {
  (void)ud;
  if (n > (p ? old : 0)) {
    count++;
    if (fail_in > 0 && --fail_in == 0) {
      fail_in = persists;
      return NULL;
    }
  }
  return allocator(context, p, old, n);
}

static int at(lua_State *L) {
  const lua_Integer k = luaL_checkinteger(L, 1);
  const lua_Integer was = count;
  persists = lua_toboolean(L, 2);
  count = 0;
  fail_in = 0;
  lua_pushinteger(L, was);
  fail_in = k;
  return 1;
}

int luaopen_failing(lua_State *L);

int luaopen_failing(lua_State *L) {
  allocator = lua_getallocf(L, &context);
  lua_setallocf(L, allocate, NULL);
  lua_newtable(L);
  lua_pushcfunction(L, at);
  lua_setfield(L, -2, "at");
  return 1;
}
