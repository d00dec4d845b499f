/* Sets of dispatch keys, by name: st.keyset("CPU", "AutogradCPU").
 */

#include <stdio.h>
#include <string.h>

#include "bind.h"


static st_keyset *check_set(lua_State *L) {
  return st__box_check(st__host_of(L), L, 1, ST_BOX_KEYSET, "self");
}

static void push_set(st__host *h, lua_State *L, st_keyset ks) {
  st_keyset *box = st__box_new(h, L, ST_BOX_KEYSET, sizeof *box); /* [+1] */
  *box = ks;
}

/* The bits of the key named at idx. */
static st_keyset check_key(lua_State *L, int idx) {
  st_keyset ks = 0;
  const char *name = luaL_checkstring(L, idx);
  if (!st_key_parse(name, &ks)) {
    st__error(st__host_of(L), L, ST_BAD_VALUE, "there is no dispatch key "
              "'%.80s'", name);
  }
  return ks;
}

static int new_set(lua_State *L) {
  st_keyset ks = 0;
  const int n = lua_gettop(L);
  for (int i = 1; i <= n; i++) ks |= check_key(L, i);
  push_set(st__host_of(L), L, ks); /* [+1] */
  return 1;
}

/* set:add(name): another set */
static int set_add(lua_State *L) {
  push_set(st__host_of(L), L, *check_set(L) | check_key(L, 2)); /* [+1] */
  return 1;
}

/* set:remove(name): another set; backends stay (SEMANTICS K5) */
static int set_remove(lua_State *L) {
  const st_keyset key = check_key(L, 2);
  push_set(st__host_of(L), L, st_keyset_minus(*check_set(L), key)); /* [+1] */
  return 1;
}

static int set_has(lua_State *L) {
  const st_keyset key = check_key(L, 2);
  lua_pushboolean(L, (*check_set(L) & key) == key); /* [+1] */
  return 1;
}

/* set:highest(): the name of the key that a call would take first */
static int set_highest(lua_State *L) {
  lua_pushstring(L, st_keyset_highest(*check_set(L))); /* [+1] */
  return 1;
}

static int set_tostring(lua_State *L) {
  char text[4096];
  lua_pushstring(L, st_keyset_text(*check_set(L), text, sizeof text));
  return 1;
}

static int set_eq(lua_State *L) {
  st__host *h = st__host_of(L);
  const st_keyset *a = st__box_test(h, L, 1, ST_BOX_KEYSET);
  const st_keyset *b = st__box_test(h, L, 2, ST_BOX_KEYSET);
  lua_pushboolean(L, a && b && *a == *b); /* [+1] */
  return 1;
}

void st__open_keyset(st__host *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"keyset", new_set}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {
    {"__tostring", set_tostring}, {"__eq", set_eq}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"add", set_add}, {"remove", set_remove}, {"has", set_has},
    {"highest", set_highest}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
  st__push_meta(h, L, ST_BOX_KEYSET); /* [+1] */
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                    /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");     /* [-1] */
  lua_pop(L, 1);                      /* [-1] */
}
