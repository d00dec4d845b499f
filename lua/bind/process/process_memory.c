/* strided.memory: memory statistics and limits.
 */

#include "process/process.h"

/* Sets a field of the table at the top. [0] */
static void set_bytes(st__state *h, lua_State *L, const char *name,
                      int64_t n) {
  st__push_int(h, L, n);      /* [+1] */
  lua_setfield(L, -2, name);  /* [-1] */
}

/* Pushes a limit; nil if there is none. [+1] */
static int push_limit(st__state *h, lua_State *L, int64_t bytes) {
  if (bytes == INT64_MAX) lua_pushnil(L); /* [+1] */
  else st__push_int(h, L, bytes);         /* [+1] */
  return 1;
}

/* {tensors = {count =, bytes =, peak =}, ...}. [+1] */
static int push_kinds(lua_State *L) {
  st__state *h = st__state_of(L);
  st_memory m;
  lua_newtable(L);                     /* [+1] */
  for (int k = 0; st_memory_stats(k, &m); k++) {
    lua_createtable(L, 0, 3);          /* [+1] */
    set_bytes(h, L, "count", m.count);
    set_bytes(h, L, "bytes", m.bytes);
    set_bytes(h, L, "peak", m.peak);
    lua_setfield(L, -2, m.name);       /* [-1] */
  }
  return 1;
}

/* stats(): {live =, peak =, cached =, limit =, cache_limit =, kinds =} */
static int stats(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_memory_totals m = st_memory_sum();
  lua_createtable(L, 0, 6);            /* [+1] */
  set_bytes(h, L, "live", m.live);
  set_bytes(h, L, "peak", m.peak);
  set_bytes(h, L, "cached", m.cached);
  set_bytes(h, L, "cache_limit", m.cache_limit);
  push_limit(h, L, m.limit);           /* [+1] */
  lua_setfield(L, -2, "limit");        /* [-1] */
  push_kinds(L);                       /* [+1] */
  lua_setfield(L, -2, "kinds");        /* [-1] */
  return 1;
}

/* trim(): returns the number of bytes returned to the system */
static int trim(lua_State *L) {
  st__push_int(st__state_of(L), L, st_memory_trim()); /* [+1] */
  return 1;
}

static int reset_peak(lua_State *L) {
  (void)L;
  st_memory_reset_peak();
  return 0;
}

/* Applies the limit in argument 1, nil for none; returns the previous one. */
static int set(lua_State *L, int64_t before,
               st_status (*apply)(int64_t bytes)) {
  st__state *h = st__state_of(L);
  const int64_t bytes = lua_isnoneornil(L, 1)
                        ? INT64_MAX : st__check_int(h, L, 1, "bytes");
  const st_status status = apply(bytes);
  return status == ST_OK ? push_limit(h, L, before) /* [+1] */
                         : st__raise(h, L, status);
}

/* set_limit([bytes]): returns the previous limit */
static int set_limit(lua_State *L) {
  return set(L, st_memory_sum().limit, st_memory_set_limit);
}

/* set_cache_limit([bytes]): returns the previous limit */
static int set_cache_limit(lua_State *L) {
  return set(L, st_memory_sum().cache_limit, st_memory_set_cache_limit);
}

/* memory_fail_at(k): disables the retry of failed allocations unless k is 0 */
static int memory_fail_at(lua_State *L) {
  st__state *h = st__state_of(L);
  const int64_t k = st__check_int(h, L, 1, "k");
  h->has_retry = k == 0;
  st__push_int(h, L, st_memory_fail_at(k)); /* [+1] */
  return 1;
}

/* strided.memory(): returns the kinds alone */
static int call(lua_State *L) { return push_kinds(L); }

void st__open_memory(st__state *h, lua_State *L) {
  static const luaL_Reg outer[] = {
    {"memory_fail_at", memory_fail_at}, {NULL, NULL}
  };
  static const luaL_Reg functions[] = {
    {"stats", stats}, {"trim", trim}, {"reset_peak", reset_peak},
    {"set_limit", set_limit}, {"set_cache_limit", set_cache_limit},
    {NULL, NULL}
  };
  static const luaL_Reg metamethods[] = {{"__call", call}, {NULL, NULL}};
  st__set_functions(h, L, outer);
  lua_newtable(L);                /* [+1] */
  st__set_functions(h, L, functions);
  lua_newtable(L);                /* [+1] */
  st__set_functions(h, L, metamethods);
  lua_setmetatable(L, -2);        /* [-1] */
  lua_setfield(L, -2, "memory");  /* [-1] */
}
