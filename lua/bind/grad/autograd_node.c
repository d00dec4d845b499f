/* Nodes of the autograd graph as userdata.
 */

#include <string.h>

#include "grad/grad.h"

st__node_ud *st__check_node(st__state *h, lua_State *L, int idx) {
  st__node_ud *ud = st__checkudata(h, L, idx, ST_UD_NODE, "self");
  if (!ud->n) st__error(h, L, ST_BAD_STATE, "the node was finalized");
  return ud;
}

static st__node_ud *self(lua_State *L) {
  return st__check_node(st__state_of(L), L, 1);
}

/* -- Userdata ------------------------------------------------------------- */

st__node_ud *st__push_node(st__state *h, lua_State *L, bool has_keepalive) {
  st__node_ud *ud = st__newudata(h, L, ST_UD_NODE, sizeof *ud);    /* [+1] */
  st__track_ud(h, L, lua_gettop(L));
  if (!has_keepalive) return ud;
  st__get_env(L, 1);                                   /* [+1] */
  st__env_add(h, L, lua_gettop(L) - 1);                /* [-1] */
  return ud;
}

static int node_gc(lua_State *L) {
  st__state *h = st__state_of(L);
  st__node_ud *ud = st__testudata(h, L, 1, ST_UD_NODE);
  if (!ud) return 0;
  st__untrack_ud(h, &ud->ud);
  st_node_release(&ud->n);
  return 0;
}

static int node_tostring(lua_State *L) {
  lua_pushfstring(L, "<%s>", st_node_name(self(L)->n)); /* [+1] */
  return 1;
}

/* Two userdata may refer to the same node. */
static int node_eq(lua_State *L) {
  st__state *h = st__state_of(L);
  const st__node_ud *a = st__testudata(h, L, 1, ST_UD_NODE);
  const st__node_ud *b = st__testudata(h, L, 2, ST_UD_NODE);
  lua_pushboolean(L, a && b && a->n == b->n);          /* [+1] */
  return 1;
}

/* -- Properties ----------------------------------------------------------- */

static void push_name(st__state *h, lua_State *L, const st__node_ud *ud) {
  (void)h;
  lua_pushstring(L, st_node_name(ud->n));              /* [+1] */
}

static void push_sequence(st__state *h, lua_State *L,
                          const st__node_ud *ud) {
  st__push_int(h, L, (int64_t)st_node_sequence(ud->n));  /* [+1] */
}

static void push_where(st__state *h, lua_State *L, const st__node_ud *ud) {
  (void)h;
  lua_pushstring(L, st_node_where(ud->n));             /* [+1] */
}

/* {node, output number} for each input; false for one without a gradient */
static void push_next(st__state *h, lua_State *L, const st__node_ud *ud) {
  const int n = st_node_ninputs(ud->n);
  lua_createtable(L, n, 0);                            /* [+1] */
  for (int i = 0; i < n; i++) {
    int nr = 0;
    st_node *next = st_node_next(ud->n, i, &nr);
    if (next) {
      lua_createtable(L, 2, 0);                        /* [+1] */
      st__push_node(h, L, ud->ud.has_keepalive)->n = next; /* [+1] */
      st_node_retain(next);
      lua_rawseti(L, -2, 1);                           /* [-1] */
      lua_pushinteger(L, nr + 1);                      /* [+1] */
      lua_rawseti(L, -2, 2);                           /* [-1] */
    } else {
      lua_pushboolean(L, 0);                           /* [+1] */
    }
    lua_rawseti(L, -2, i + 1);                         /* [-1] */
  }
}

/* The existing userdata of a leaf, or a new one; nil for other nodes */
static void push_leaf(st__state *h, lua_State *L, const st__node_ud *ud) {
  st_tensor *t = st_node_leaf(ud->n);
  if (!t) lua_pushnil(L);                              /* [+1] */
  if (!t || st__push_existing(h, L, t)) return;        /* [+0|1] */
  st__push_tensor(h, L, t);                            /* [+1] */
  st__track_ud(h, L, lua_gettop(L));
  if (!ud->ud.has_keepalive) return;
  st__get_env(L, 1);                                   /* [+1] */
  st__env_add(h, L, lua_gettop(L) - 1);                /* [-1] */
}

static const struct property {
  const char *name;
  void (*push)(st__state *h, lua_State *L, const st__node_ud *ud);
} properties[] = {
  {"name", push_name}, {"sequence", push_sequence}, {"where", push_where},
  {"next", push_next}, {"leaf", push_leaf}, {NULL, NULL}
};

/* node.name, ... or a method; upvalue 2: the methods */
static int node_index(lua_State *L) {
  const st__node_ud *ud = self(L);
  lua_settop(L, 2);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  for (const struct property *p = properties; p->name; p++) {
    if (strcmp(p->name, key) != 0) continue;
    p->push(st__state_of(L), L, ud);                   /* [+1] */
    return 1;
  }
  lua_rawget(L, lua_upvalueindex(2));                  /* [-1, +1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_node(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__gc", node_gc}, {"__tostring", node_tostring}, {"__eq", node_eq},
    {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"register_hook", st__node_hook}, {"register_prehook", st__node_prehook},
    {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
  lua_pushlightuserdata(L, h);               /* [+1] */
  lua_newtable(L);                           /* [+1] */
  st__set_functions(h, L, methods);
  lua_pushcclosure(L, node_index, 2);        /* [-2, +1] */
  lua_setfield(L, -2, "__index");            /* [-1] */
}

void st__open_node(st__state *h, lua_State *L) {
  (void)L;
  st__fill_meta(h, ST_UD_NODE, fill_node);
}
