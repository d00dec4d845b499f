/* DLPack in Lua: a capsule owns an exported tensor until a consumer takes it,
 * as Python's "dltensor" capsules do.
 */

#include "io/io.h"

/* One of the two is set until the capsule is used. */
typedef struct capsule {
  struct DLManagedTensor *plain;
  struct DLManagedTensorVersioned *versioned;
} capsule;

static bool is_used(const capsule *c) { return !c->plain && !c->versioned; }

static capsule *check_capsule(lua_State *L) {
  return st__checkudata(st__state_of(L), L, 1, ST_UD_CAPSULE, "self");
}

static int capsule_release(lua_State *L) {
  capsule *c = st__testudata(st__state_of(L), L, 1, ST_UD_CAPSULE);
  if (!c) return 0;
  st_dlpack_release(&c->plain);
  st_dlpack_release_versioned(&c->versioned);
  return 0;
}

/* -- Exporting ------------------------------------------------------------ */

/* to_dlpack(t, versioned): returns a capsule */
static int to_dlpack(lua_State *L) {
  st__state *h = st__state_of(L);
  st_tensor *t = st__check_tensor(h, L, 1, "self");
  st__access_elements(h, L, NULL);
  lua_settop(L, 2);
  capsule *c = st__newudata(h, L, ST_UD_CAPSULE, sizeof *c); /* [+1] */
  const st_status status =
    lua_toboolean(L, 2) ? st_tensor_to_dlpack_versioned(t, &c->versioned)
                        : st_tensor_to_dlpack(t, &c->plain);
  if (status == ST_OK) return 1;
  return st__error(h, L, status, "to_dlpack: %s", st_message());
}

/* Pushes the address as an integer. [+1] */
static int push_address(lua_State *L) {
  st__state *h = st__state_of(L);
  const capsule *c = check_capsule(L);
  if (is_used(c)) {
    return st__error(h, L, ST_BAD_STATE, "the capsule has been used");
  }
  st__push_int(h, L, c->plain ? (intptr_t)c->plain
                              : (intptr_t)c->versioned); /* [+1] */
  return 1;
}

/* capsule:take(): returns the address and passes ownership to the caller */
static int capsule_take(lua_State *L) {
  push_address(L);                                       /* [+1] */
  *check_capsule(L) = (capsule){NULL, NULL};
  return 1;
}

static int capsule_is_used(lua_State *L) {
  lua_pushboolean(L, is_used(check_capsule(L)));         /* [+1] */
  return 1;
}

static int capsule_tostring(lua_State *L) {
  const capsule *c = check_capsule(L);
  lua_pushstring(L, c->plain ? "capsule(dltensor)"
                    : c->versioned ? "capsule(dltensor_versioned)"
                    : "capsule(used)");                  /* [+1] */
  return 1;
}

/* -- Importing ------------------------------------------------------------ */

/* from_dlpack(capsule | address, versioned): returns a tensor */
static int from_dlpack(lua_State *L) {
  st__state *h = st__state_of(L);
  st__address a = {NULL, false, 0};
  capsule *c = st__testudata(h, L, 1, ST_UD_CAPSULE);
  capsule pointed = {NULL, NULL};
  lua_settop(L, 2);
  if (!c && !st__to_address(h, L, 1, "from_dlpack", &a)) {
    return st__error(h, L, ST_BAD_TYPE, "from_dlpack: argument 'source' must "
                     "be a capsule or an address, got %s",
                     st__type_name(h, L, 1));
  }
  if (a.has_size) {
    return st__error(h, L, ST_BAD_TYPE, "from_dlpack: a cdata that is an "
                     "array or structure is not a pointer");
  }
  st__tensor_ud *ud = st__new_tensor_ud(h, L);           /* [+1] */
  if (!c) {
    if (lua_toboolean(L, 2)) pointed.versioned = a.p;
    else pointed.plain = a.p;
    c = &pointed;
  }
  if (is_used(c)) {
    return st__error(h, L, ST_BAD_STATE, "from_dlpack: %s",
                     c == &pointed ? "the address is NULL"
                                   : "the capsule has been used");
  }
  const st_status status =
    c->plain ? st_tensor_from_dlpack(c->plain, &ud->t)
             : st_tensor_from_dlpack_versioned(c->versioned, &ud->t);
  if (status != ST_OK) {
    return st__error(h, L, status, "from_dlpack: %s", st_message());
  }
  *c = (capsule){NULL, NULL};
  st__gc_charge(h, ud, (int64_t)st_tensor_storage_nbytes(ud->t));
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_capsule(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {
    {"pointer", push_address}, {"take", capsule_take},
    {"is_used", capsule_is_used}, {"release", capsule_release}, {NULL, NULL}
  };
  static const luaL_Reg metamethods[] = {
    {"__gc", capsule_release}, {"__tostring", capsule_tostring}, {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                                       /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");                        /* [-1] */
}

void st__open_dlpack(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"to_dlpack", to_dlpack}, {NULL, NULL}
  };
  static const luaL_Reg access[] = {{"from_dlpack", from_dlpack}, {NULL, NULL}};
  st__fill_meta(h, ST_UD_CAPSULE, fill_capsule);
  st__set_functions(h, L, functions);
  st__set_access_functions(h, L, access, true); /* read-only memory is copied */
}
