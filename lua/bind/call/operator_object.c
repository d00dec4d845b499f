/* Operators as Lua values: C functions for st.add and t:add, and objects for
 * st.ops.aten.add (an overload packet) and st.ops.aten.add.Tensor.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/call.h"

typedef st__packet packet;

static packet *check_packet(lua_State *L) {
  return st__checkudata(st__state_of(L), L, 1, ST_UD_OPERATOR, "self");
}

/* -- Calls ---------------------------------------------------------------- */

/* Upvalues: binding state, packet. */
static int call_function(lua_State *L) {
  packet *p = lua_touserdata(L, lua_upvalueindex(2));
  return st__call_operator(st__on_thread(p->h, L), L, p, 1, false);
}

static int call_method(lua_State *L) {
  packet *p = lua_touserdata(L, lua_upvalueindex(2));
  return st__call_operator(st__on_thread(p->h, L), L, p, 1, true);
}

static int packet_call(lua_State *L) {
  packet *p = check_packet(L);
  return st__call_operator(st__state_of(L), L, p, 2, false);
}

bool st__push_callable(st__state *h, lua_State *L, const char *name,
                       bool is_method) {
  if (st_op_overloads(name, NULL, 0) == 0) return false;
  lua_pushlightuserdata(L, h);                        /* [+1] */
  st__push_packet(h, L, name, "");                        /* [+1] */
  lua_pushcclosure(L, is_method ? call_method : call_function, 2);
  return true;                                        /* [-2, +1] */
}

/* -- Names without a namespace -------------------------------------------- */

/* A search for the first operator called name in any namespace. */

typedef struct search { const char *name, *found; } search;

static bool match_name(void *ctx, const st_op *op) {
  search *s = ctx;
  const char *colons = strstr(st_op_name(op), "::");
  if (colons && strcmp(colons + 2, s->name) == 0) s->found = st_op_name(op);
  return !s->found;
}

bool st__push_named(st__state *h, lua_State *L, const char *name,
                    bool is_method) {
  search s = {name, NULL};
  char full[256];
  const int n = snprintf(full, sizeof full, "aten::%s", name);
  if (n < (int)sizeof full && st__push_callable(h, L, full, is_method)) {
    return true;                                      /* [+1] */
  }
  st_op_each(match_name, &s);
  if (!s.found || !st__push_callable(h, L, s.found, is_method)) {
    lua_pushnil(L);                                   /* [+1] */
  }
  return false;
}

/* -- Values that designate an operator ------------------------------------ */

/* Pushes the object of "aten::add", "aten::add.Tensor", "add", "hypot2.out";
 * false and nothing pushed for an unknown name. [+0|1] */
static bool push_by_name(st__state *h, lua_State *L, const char *name) {
  char full[256], *dot;
  search s = {full + 6, NULL};
  const char *aten = strstr(name, "::") ? "" : "aten::";
  const int n = snprintf(full, sizeof full, "%s%s", aten, name);
  if (n >= (int)sizeof full) return false;
  if ((dot = strchr(full, '.'))) *dot++ = '\0';
  const char *found = full;
  if (st_op_overloads(full, NULL, 0) == 0) {
    if (*aten) st_op_each(match_name, &s);
    found = s.found;
  }
  if (!found) return false;
  if (!dot) {
    st__push_packet(h, L, found, "");                     /* [+1] */
    return true;
  }
  const st_op *op = st_op_find(found, strcmp(dot, "default") ? dot : "");
  if (!op || !st_op_schema(op)) return false;
  st__push_overload(h, L, op);                        /* [+1] */
  return true;
}

/* Pushes the packet that a C function of this file calls; false for any other
 * value. [+0|1] */
static bool push_upvalue(lua_State *L, int idx, bool *is_method) {
  const lua_CFunction fn = lua_tocfunction(L, idx);
  *is_method = fn == call_method;
  if (fn != call_function && fn != call_method) return false;
  return lua_getupvalue(L, idx, 2) != NULL;           /* [+0|1] */
}

packet *st__push_operator(st__state *h, lua_State *L, int idx,
                          bool *is_method) {
  *is_method = false;
  const bool is_name = lua_type(L, idx) == LUA_TSTRING;
  if (st__testudata(h, L, idx, ST_UD_OPERATOR)) {
    lua_pushvalue(L, idx);                            /* [+1] */
  } else if (is_name) {
    if (!push_by_name(h, L, lua_tostring(L, idx))) {  /* [+0|1] */
      st__argument_error(h, L, ST_NOT_FOUND, "there is no operator '%.80s'",
                         lua_tostring(L, idx));
    }
  } else if (!push_upvalue(L, idx, is_method)) {      /* [+0|1] */
    st__argument_error(h, L, ST_BAD_TYPE, "an operator is needed: its name, "
                       "st.<name> or an object of st.ops, got %s",
                       st__type_name(h, L, idx));
  }
  packet *p = lua_touserdata(L, -1);
  st__refresh(h, L, p);
  return p;
}

/* -- Objects -------------------------------------------------------------- */

/* packet:schema(): the schemas of the overloads, one per line */
static int packet_schema(lua_State *L) {
  packet *p = check_packet(L);
  st__refresh(st__state_of(L), L, p);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int k = 0; k < p->n; k++) {
    const char *schema = st_op_schema(p->ops[k]);
    if (!schema) continue;
    if (k) luaL_addchar(&b, '\n');
    luaL_addstring(&b, schema);
  }
  luaL_pushresult(&b); /* [+1] */
  return 1;
}

static int packet_doc(lua_State *L) {
  packet *p = check_packet(L);
  st__refresh(st__state_of(L), L, p);
  for (int k = 0; k < p->n; k++) {
    const char *doc = st_op_doc(p->ops[k]);
    if (!doc || !*doc) continue;
    lua_pushstring(L, doc); /* [+1] */
    return 1;
  }
  return 0;
}

/* packet:overloads(): full names, in order of definition */
static int packet_overloads(lua_State *L) {
  packet *p = check_packet(L);
  st__refresh(st__state_of(L), L, p);
  lua_newtable(L);                                          /* [+1] */
  for (int k = 0; k < p->n; k++) {
    st__push_op_name(L, p->ops[k]);                         /* [+1] */
    lua_rawseti(L, -2, k + 1);                              /* [-1] */
  }
  return 1;
}

static int packet_name(lua_State *L) {
  lua_pushstring(L, check_packet(L)->name); /* [+1] */
  return 1;
}

/* packet:kernel(key): the kernel that runs for a key and its provenance, or
 * nil */
static int packet_kernel(lua_State *L) {
  packet *p = check_packet(L);
  const char *kernel = NULL, *provenance = NULL;
  st__refresh(st__state_of(L), L, p);
  const char *key = st__check_string(st__state_of(L), L, 2, "key");
  if (!p->n || !st_op_slot(p->ops[0], key, &kernel, &provenance)) return 0;
  lua_pushstring(L, kernel);     /* [+1] */
  lua_pushstring(L, provenance); /* [+1] */
  return 2;
}

/* packet:derivative(): the formulas of the first overload that has them, one
 * per line, or "not differentiable"; nil if the operator is a composite */
static int packet_derivative(lua_State *L) {
  packet *p = check_packet(L);
  st__refresh(st__state_of(L), L, p);
  for (int k = 0; k < p->n; k++) {
    const char *text = st_op_derivative(p->ops[k]);
    if (!text) continue;
    lua_pushstring(L, text);     /* [+1] */
    return 1;
  }
  return 0;
}

static const luaL_Reg object_methods[] = {
  {"schema", packet_schema}, {"doc", packet_doc}, {"name", packet_name},
  {"overloads", packet_overloads}, {"kernel", packet_kernel},
  {"derivative", packet_derivative}, {NULL, NULL}
};

/* A method, or the overload of that name; upvalue 2: the table of methods. */
static int packet_index(lua_State *L) {
  packet *p = check_packet(L);
  lua_pushvalue(L, 2);                    /* [+1] */
  lua_rawget(L, lua_upvalueindex(2));     /* [-1, +1] */
  if (!lua_isnil(L, -1)) return 1;
  if (lua_type(L, 2) != LUA_TSTRING || p->is_overload) return 1;
  const char *overload = lua_tostring(L, 2);
  if (strcmp(overload, "default") == 0) overload = "";
  const st_op *op = st_op_find(p->name, overload);
  if (!op || !st_op_schema(op)) return 1;
  st__push_overload(st__state_of(L), L, op); /* [+1] */
  return 1;
}

/* -- Looking up ----------------------------------------------------------- */

/* packet("aten::add"): the packet of the name, the same object as long as Lua
 * holds it, or nil; an operator object is returned unchanged */
static int find_packet(lua_State *L) {
  lua_settop(L, 1);
  if (st__testudata(st__state_of(L), L, 1, ST_UD_OPERATOR)) return 1;
  st__state *h = st__state_of(L);
  const char *name = st__check_string(h, L, 1, "name");
  if (st_op_overloads(name, NULL, 0) == 0) return 0;
  st__push_packets(h, L);                                   /* [+1] */
  lua_pushvalue(L, 1);                                      /* [+1] */
  lua_rawget(L, 2);                                         /* [-1, +1] */
  if (!lua_isnil(L, -1)) return 1;
  st__push_packet(h, L, name, "");                              /* [+1] */
  lua_pushvalue(L, 1);                                      /* [+1] */
  lua_pushvalue(L, -2);                                     /* [+1] */
  lua_rawset(L, 2);                                         /* [-2] */
  return 1;
}

/* callable("aten::add", is_method): a C function that calls it, or nil */
static int find_callable(lua_State *L) {
  const char *name = st__check_string(st__state_of(L), L, 1, "name");
  return st__push_callable(st__state_of(L), L, name, lua_toboolean(L, 2));
}

/* named("add", is_method): a C function or nil, and true if it may be cached:
 * operators of libraries may be removed */
static int find_named(lua_State *L) {
  const char *name = st__check_string(st__state_of(L), L, 1, "name");
  const bool keep = st__push_named(st__state_of(L), L, name,
                                   lua_toboolean(L, 2)); /* [+1] */
  lua_pushboolean(L, keep);                              /* [+1] */
  return 2;
}

static bool count_operator(void *ctx, const st_op *op) {
  (void)op;
  ++*(int *)ctx;
  return true;
}

typedef struct handles { const st_op **ops; int n, max; } handles;

static bool keep_operator(void *ctx, const st_op *op) {
  handles *all = ctx;
  if (all->n < all->max) all->ops[all->n++] = op;
  return all->n < all->max;
}

/* operators(): "ns::name" of every overload, and for each whether it is a
 * method. No Lua function is called while the engine enumerates. */
static int list_operators(lua_State *L) {
  int max = 1;
  st_op_each(count_operator, &max);
  handles all = {lua_newuserdata(L, (size_t)max * sizeof(st_op *)), 0, max};
  st_op_each(keep_operator, &all);        /* [+1] */
  lua_createtable(L, all.n, 0);           /* [+1] */
  lua_createtable(L, all.n, 0);           /* [+1] */
  for (int k = 0; k < all.n; k++) {
    const st_arg *a;
    bool is_method = false;
    for (int i = 0; (a = st_op_arg(all.ops[k], i)) && !is_method; i++) {
      is_method = a->type == ST_TYPE_TENSOR && !a->list &&
                  (i == 0 || strcmp(a->name, "self") == 0);
    }
    lua_pushstring(L, st_op_name(all.ops[k])); /* [+1] */
    lua_rawseti(L, -3, k + 1);                 /* [-1] */
    lua_pushboolean(L, is_method);             /* [+1] */
    lua_rawseti(L, -2, k + 1);                 /* [-1] */
  }
  return 2;
}

/* -- Opening -------------------------------------------------------------- */

static const luaL_Reg functions[] = {
  {"packet", find_packet}, {"callable", find_callable},
  {"named", find_named},
  {"operators", list_operators}, {NULL, NULL}
};
static const luaL_Reg metamethods[] = {
  {"__call", packet_call}, {"__tostring", packet_name},
  {NULL, NULL}
};

void st__open_operator(st__state *h, lua_State *L) {
  st__set_functions(h, L, functions);
  st__push_meta(h, L, ST_UD_OPERATOR);         /* [+1] */
  st__set_functions(h, L, metamethods);
  lua_pushlightuserdata(L, h);                 /* [+1] */
  lua_newtable(L);                             /* [+1] */
  st__set_functions(h, L, object_methods);
  lua_pushvalue(L, -1);                        /* [+1] */
  st__keep_operator_methods(h, L);             /* [-1] */
  lua_pushcclosure(L, packet_index, 2);        /* [-2, +1] */
  lua_setfield(L, -2, "__index");              /* [-1] */
  lua_pop(L, 1);                               /* [-1] */
}
