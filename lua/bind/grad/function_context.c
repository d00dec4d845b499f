/* Contexts of functions with a user-defined gradient.
 *
 * A context is a table, whose fields are the script's. The binding's are in the
 * environment of a userdata, under a key that is a userdata, too: a script
 * that traverses the context sees both, and can do nothing with them. A light
 * userdata as the key would be an address, which st.frombuffer accepts.
 */

#include "grad/grad.h"

struct st__contexts {
  int meta_ref;      /* metatable of contexts */
  int fields_ref;    /* key of the binding's fields in them */
};

/* -- Fields --------------------------------------------------------------- */

/* Pushes the table of the binding's fields; nil if there is none. [+1] */
static void push_fields(st__state *h, lua_State *L, int ctx) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->contexts->fields_ref); /* [+1] */
  lua_rawget(L, ctx);                                  /* [-1, +1] */
  if (st__testudata(h, L, -1, ST_UD_CONTEXT)) st__get_env(L, -1); /* [+1] */
  else lua_pushnil(L);                                 /* [+1] */
  lua_remove(L, -2);                                   /* [-1] */
}

void st__push_field(st__state *h, lua_State *L, int ctx, const char *name) {
  push_fields(h, L, ctx);                              /* [+1] */
  if (!lua_istable(L, -1)) return;                     /* no context: nil */
  lua_pushstring(L, name);                             /* [+1] */
  lua_rawget(L, -2);                                   /* [-1, +1] */
  lua_remove(L, -2);                                   /* [-1] */
}

void st__set_field(st__state *h, lua_State *L, int ctx, const char *name) {
  push_fields(h, L, ctx);                              /* [+1] */
  if (lua_istable(L, -1)) {
    lua_pushstring(L, name);                           /* [+1] */
    lua_pushvalue(L, -3);                              /* [+1] */
    lua_rawset(L, -3);                                 /* [-2] */
  }
  lua_pop(L, 2);                                       /* [-2] */
}

void st__push_context(st__state *h, lua_State *L) {
  lua_createtable(L, 0, 4);                            /* [+1] */
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->contexts->fields_ref); /* [+1] */
  st__newudata(h, L, ST_UD_CONTEXT, 1);                /* [+1] */
  lua_createtable(L, 0, 6);                            /* [+1] */
  st__set_env(L, -2);                                  /* [-1] */
  lua_rawset(L, -3);                                   /* [-2] */
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->contexts->meta_ref); /* [+1] */
  lua_setmetatable(L, -2);                             /* [-1] */
}

/* -- Methods -------------------------------------------------------------- */

/* Raises unless argument 1 is a context whose forward function is running. */
static void check_forward(lua_State *L, const char *name) {
  st__state *h = st__state_of(L);
  bool runs = false;
  if (lua_istable(L, 1)) {
    st__push_field(h, L, 1, "is_forward");                /* [+1] */
    runs = lua_toboolean(L, -1);
    lua_pop(L, 1);                                     /* [-1] */
  }
  if (runs) return;
  st__error(h, L, ST_BAD_STATE, "%s: only the forward function of its "
            "context may call it", name);
}

/* Stores the arguments from the second on as a list in a field; each must be a
 * tensor, or nil if allow_nil. */
static int keep_list(lua_State *L, const char *name, const char *field,
                     bool allow_nil) {
  st__state *h = st__state_of(L);
  check_forward(L, name);
  const int n = lua_gettop(L) - 1;
  lua_createtable(L, n, 1);                            /* [+1] */
  for (int i = 1; i <= n; i++) {
    if (!allow_nil || !lua_isnil(L, i + 1)) {
      st__check_tensor(h, L, i + 1, name);
    }
    if (lua_isnil(L, i + 1)) lua_pushboolean(L, 0);    /* [+1] */
    else lua_pushvalue(L, i + 1);                      /* [+1] */
    lua_rawseti(L, -2, i);                             /* [-1] */
  }
  st__set_field(h, L, 1, field);                          /* [-1] */
  return 0;
}

/* ctx:save(...): saves tensors, or nil, for backward */
static int context_save(lua_State *L) {
  return keep_list(L, "save", "saved", true);
}

/* ctx:mark_dirty(...): declares arguments that forward writes in place */
static int context_mark_dirty(lua_State *L) {
  return keep_list(L, "mark_dirty", "dirty", false);
}

/* ctx:mark_non_differentiable(...): declares results without a gradient */
static int context_mark_constant(lua_State *L) {
  return keep_list(L, "mark_non_differentiable", "constant", false);
}

/* ctx:saved(): returns the values given to ctx:save */
static int context_saved(lua_State *L) {
  st__state *h = st__state_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  st__push_field(h, L, 1, "saved");                       /* [+1] */
  if (!lua_istable(L, -1)) {
    st__push_field(h, L, 1, "is_over");                   /* [+1] */
    if (!lua_toboolean(L, -1)) return 0;
    return st__error(h, L, ST_BAD_STATE, "saved: saved tensors are available "
                     "only while forward or backward runs");
  }
  const int list = lua_gettop(L), n = (int)lua_objlen(L, list);
  luaL_checkstack(L, n, "saved");
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);                           /* [+1] */
    if (lua_toboolean(L, -1)) continue;
    lua_pop(L, 1);                                     /* [-1] */
    lua_pushnil(L);                                    /* [+1] */
  }
  return n;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_context(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {
    {"save", context_save}, {"saved", context_saved},
    {"mark_dirty", context_mark_dirty},
    {"mark_non_differentiable", context_mark_constant}, {NULL, NULL}
  };
  h->contexts = st__new_part(h, L, sizeof *h->contexts, NULL);
  lua_newtable(L);                                     /* [+1] */
  lua_newtable(L);                                     /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");                      /* [-1] */
  lua_pushliteral(L, "protected");                     /* [+1] */
  lua_setfield(L, -2, "__metatable");                  /* [-1] */
  h->contexts->meta_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  st__newudata(h, L, ST_UD_CONTEXT, 1);                /* [+1] */
  h->contexts->fields_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
}
