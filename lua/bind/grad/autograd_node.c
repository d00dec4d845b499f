/* Nodes: the operations that gradients go back through.
 */

#include <string.h>

#include "bind.h"

st__node_box *st__check_node(st__host *h, lua_State *L, int idx) {
  st__node_box *box = st__box_check(h, L, idx, ST_BOX_NODE, "self");
  if (!box->n) st__error(h, L, ST_BAD_STATE, "the node is finalised");
  return box;
}

static st__node_box *self(lua_State *L) {
  return st__check_node(st__host_of(L), L, 1);
}

/* -- Boxes ---------------------------------------------------------------- */

st__node_box *st__push_node(st__host *h, lua_State *L, bool is_anchored) {
  st__node_box *box = st__box_new(h, L, ST_BOX_NODE, sizeof *box); /* [+1] */
  st__note_box(h, L, lua_gettop(L));
  if (!is_anchored) return box;
  st__get_env(L, 1);                                   /* [+1] */
  st__attach(h, L, lua_gettop(L) - 1);                 /* [-1] */
  return box;
}

static int node_gc(lua_State *L) {
  st__host *h = st__host_of(L);
  st__node_box *box = st__box_test(h, L, 1, ST_BOX_NODE);
  if (!box) return 0;
  st__forget_box(h, &box->box);
  st_node_release(&box->n);
  return 0;
}

static int node_tostring(lua_State *L) {
  lua_pushfstring(L, "<%s>", st_node_name(self(L)->n)); /* [+1] */
  return 1;
}

/* Two objects may stand for one node. */
static int node_eq(lua_State *L) {
  st__host *h = st__host_of(L);
  const st__node_box *a = st__box_test(h, L, 1, ST_BOX_NODE);
  const st__node_box *b = st__box_test(h, L, 2, ST_BOX_NODE);
  lua_pushboolean(L, a && b && a->n == b->n);          /* [+1] */
  return 1;
}

/* -- Properties ----------------------------------------------------------- */

static void push_name(st__host *h, lua_State *L, const st__node_box *box) {
  (void)h;
  lua_pushstring(L, st_node_name(box->n));             /* [+1] */
}

static void push_sequence(st__host *h, lua_State *L,
                          const st__node_box *box) {
  st__push_int(h, L, (int64_t)st_node_sequence(box->n)); /* [+1] */
}

static void push_where(st__host *h, lua_State *L, const st__node_box *box) {
  (void)h;
  lua_pushstring(L, st_node_where(box->n));            /* [+1] */
}

/* {node, number} for each input, false for one without a gradient */
static void push_next(st__host *h, lua_State *L, const st__node_box *box) {
  const int n = st_node_ninputs(box->n);
  lua_createtable(L, n, 0);                            /* [+1] */
  for (int i = 0; i < n; i++) {
    int nr = 0;
    st_node *next = st_node_next(box->n, i, &nr);
    if (next) {
      lua_createtable(L, 2, 0);                        /* [+1] */
      st__push_node(h, L, box->box.is_anchored)->n = next; /* [+1] */
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

/* The very object that a leaf is, if there is one; nil for other nodes */
static void push_leaf(st__host *h, lua_State *L, const st__node_box *box) {
  st_tensor *t = st_node_leaf(box->n);
  if (!t) lua_pushnil(L);                              /* [+1] */
  if (!t || st__push_known(h, L, t)) return;           /* [+0|1] */
  st__push_kept(h, L, t);                              /* [+1] */
  st__note_box(h, L, lua_gettop(L));
  if (!box->box.is_anchored) return;
  st__get_env(L, 1);                                   /* [+1] */
  st__attach(h, L, lua_gettop(L) - 1);                 /* [-1] */
}

static const struct property {
  const char *name;
  void (*push)(st__host *h, lua_State *L, const st__node_box *box);
} properties[] = {
  {"name", push_name}, {"sequence", push_sequence}, {"where", push_where},
  {"next", push_next}, {"leaf", push_leaf}, {NULL, NULL}
};

/* node.name, ... or a method; upvalue 2: the methods */
static int node_index(lua_State *L) {
  const st__node_box *box = self(L);
  lua_settop(L, 2);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  for (const struct property *p = properties; p->name; p++) {
    if (strcmp(p->name, key) != 0) continue;
    p->push(st__host_of(L), L, box);                   /* [+1] */
    return 1;
  }
  lua_rawget(L, lua_upvalueindex(2));                  /* [-1, +1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__meta_node(st__host *h, lua_State *L) {
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
