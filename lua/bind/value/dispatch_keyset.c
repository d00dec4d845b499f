/* Dispatch key sets as Lua values: st.keyset("CPU", "AutogradCPU"). The name of
 * a key is accepted where a set is expected. Sets are immutable.
 */

#include <string.h>

#include "value/value.h"

void st__push_keyset(st__state *h, lua_State *L, st_keyset ks) {
  st_keyset *ud = st__newudata(h, L, ST_UD_KEYSET, sizeof *ud);   /* [+1] */
  *ud = ks;
}

st_keyset st__check_keyset(st__state *h, lua_State *L, int idx) {
  st_keyset ks = 0;
  const st_keyset *ud = st__testudata(h, L, idx, ST_UD_KEYSET);
  if (ud) return *ud;
  if (lua_type(L, idx) != LUA_TSTRING) {
    st__argument_error(h, L, ST_BAD_TYPE, "expected a set of dispatch keys or "
                       "the name of a key, got %s", st__type_name(h, L, idx));
  }
  size_t n;
  const char *name = lua_tolstring(L, idx, &n);
  if (st_key_is_alias(name)) {
    st__argument_error(h, L, ST_BAD_VALUE, "'%s' is an alias key: it stands "
                       "for several keys in registrations and cannot be in a "
                       "set", name);
  }
  if (strlen(name) != n || !st_key_parse(name, &ks)) {
    st__argument_error(h, L, ST_BAD_VALUE, "there is no dispatch key '%.80s'",
                       name);
  }
  return ks;
}

static st_keyset self(lua_State *L) {
  return *(st_keyset *)st__checkudata(st__state_of(L), L, 1, ST_UD_KEYSET,
                                      "self");
}

static st_keyset operand(lua_State *L, int idx) {
  return st__check_keyset(st__state_of(L), L, idx);
}

static int return_set(lua_State *L, st_keyset ks) {
  st__push_keyset(st__state_of(L), L, ks); /* [+1] */
  return 1;
}

/* -- Constructors --------------------------------------------------------- */

/* The union of the sets and keys from idx on. */
static st_keyset union_from(lua_State *L, int idx) {
  st_keyset ks = 0;
  const int n = lua_gettop(L);
  for (int i = idx; i <= n; i++) ks |= operand(L, i);
  return ks;
}

/* keyset("CPU", ...) */
static int new_set(lua_State *L) { return return_set(L, union_from(L, 1)); }

static int full_set(lua_State *L) { return return_set(L, st_keyset_full()); }

/* keyset_after(key): the set of the keys of lower priority */
static int set_after(lua_State *L) {
  st_keyset ks;
  st__state *h = st__state_of(L);
  const char *key = st__check_string(h, L, 1, "key");
  if (st_keyset_after(key, &ks) != ST_OK) {
    return st__argument_error(h, L, ST_BAD_VALUE, "there is no dispatch key "
                              "'%.80s'", key);
  }
  return return_set(L, ks);
}

/* t:key_set() */
static int tensor_key_set(lua_State *L) {
  st__cannot_record(st__state_of(L), L, "it reads dispatch keys");
  return return_set(L, st_tensor_keys(st__check_tensor(st__state_of(L), L, 1,
                                                       "self")));
}

/* -- Algebra -------------------------------------------------------------- */

/* set:add(...) */
static int set_add(lua_State *L) {
  return return_set(L, self(L) | union_from(L, 2));
}

/* set:remove(...): the backend bits remain (K5) */
static int set_remove(lua_State *L) {
  const st_keyset ks = self(L);
  return return_set(L, st_keyset_minus(ks, union_from(L, 2)));
}

/* set:remove_backend("CPU") */
static int set_remove_backend(lua_State *L) {
  st_keyset ks = self(L);
  const char *key = st__check_string(st__state_of(L), L, 2, "key");
  const st_status status = st_keyset_remove_backend(&ks, key);
  if (status != ST_OK) return st__raise(st__state_of(L), L, status);
  return return_set(L, ks);
}

static int set_union(lua_State *L) {
  return return_set(L, operand(L, 1) | operand(L, 2));
}

static int set_minus(lua_State *L) {
  return return_set(L, st_keyset_minus(operand(L, 1), operand(L, 2)));
}

static int set_intersection(lua_State *L) {
  return return_set(L, operand(L, 1) & operand(L, 2));
}

static int set_xor(lua_State *L) {
  return return_set(L, operand(L, 1) ^ operand(L, 2));
}

/* -- Queries -------------------------------------------------------------- */

/* set:has(...): true if it has all of them */
static int set_has(lua_State *L) {
  const st_keyset ks = self(L), keys = union_from(L, 2);
  lua_pushboolean(L, (ks & keys) == keys); /* [+1] */
  return 1;
}

static int set_is_empty(lua_State *L) {
  lua_pushboolean(L, self(L) == 0); /* [+1] */
  return 1;
}

/* set:highest(): the name of the key of highest priority */
static int set_highest(lua_State *L) {
  lua_pushstring(L, st_keyset_highest(self(L))); /* [+1] */
  return 1;
}

/* #set: the number of its runtime keys */
static int set_len(lua_State *L) {
  int state = 0, n = 0;
  const st_keyset ks = self(L);
  while (st_keyset_next(ks, &state)) n++;
  lua_pushinteger(L, n); /* [+1] */
  return 1;
}

/* Upvalues: binding state, set, state of st_keyset_next. */
static int next_key(lua_State *L) {
  const st_keyset *ks = lua_touserdata(L, lua_upvalueindex(2));
  int state = (int)lua_tointeger(L, lua_upvalueindex(3));
  const char *name = st_keyset_next(*ks, &state);
  lua_pushinteger(L, state);             /* [+1] */
  lua_replace(L, lua_upvalueindex(3));   /* [-1] */
  if (!name) return 0;
  lua_pushstring(L, name);               /* [+1] */
  return 1;
}

/* set:each(): iterates over the names of the keys, from low to high priority */
static int set_each(lua_State *L) {
  self(L);
  lua_pushlightuserdata(L, st__state_of(L)); /* [+1] */
  lua_pushvalue(L, 1);                      /* [+1] */
  lua_pushinteger(L, 0);                    /* [+1] */
  lua_pushcclosure(L, next_key, 3);         /* [-3, +1] */
  return 1;
}

static int set_tostring(lua_State *L) {
  char text[4096];
  lua_pushstring(L, st_keyset_text(self(L), text, sizeof text)); /* [+1] */
  return 1;
}

static int set_eq(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_keyset *a = st__testudata(h, L, 1, ST_UD_KEYSET);
  const st_keyset *b = st__testudata(h, L, 2, ST_UD_KEYSET);
  lua_pushboolean(L, a && b && *a == *b); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_keyset(st__state *h, lua_State *L) {
  /* Lua 5.3 and later use the bitwise ones. */
  static const luaL_Reg metamethods[] = {
    {"__tostring", set_tostring}, {"__eq", set_eq}, {"__len", set_len},
    {"__add", set_union}, {"__sub", set_minus}, {"__mul", set_intersection},
    {"__bor", set_union}, {"__band", set_intersection}, {"__bxor", set_xor},
    {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"add", set_add}, {"remove", set_remove},
    {"remove_backend", set_remove_backend}, {"xor", set_xor},
    {"has", set_has}, {"is_empty", set_is_empty}, {"highest", set_highest},
    {"each", set_each}, {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                    /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");     /* [-1] */
}

void st__open_keyset(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"keyset", new_set}, {"keyset_full", full_set},
    {"keyset_after", set_after}, {NULL, NULL}
  };
  static const luaL_Reg tensor_methods[] = {
    {"key_set", tensor_key_set}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_KEYSET, fill_keyset);
  st__set_functions(h, L, functions);
  lua_getfield(L, -1, "methods");     /* [+1] */
  st__set_functions(h, L, tensor_methods);
  lua_pop(L, 1);                      /* [-1] */
}
