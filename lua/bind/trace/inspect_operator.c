/* Introspection of operators: dumps, dispatch tables and tags; and the two
 * calls that bypass the computation of dispatch keys.
 */

#include <string.h>

#include "trace/trace.h"

static st__packet *check_packet(lua_State *L) {
  st__state *h = st__state_of(L);
  st__packet *p = st__checkudata(h, L, 1, ST_UD_OPERATOR, "self");
  st__refresh(h, L, p);
  return p;
}

/* -- Calls that bypass key computation ------------------------------------ */

/* Calls the operator at index 1; all arguments of its schema are given, from
 * index 3 on. */
static int call_bypass(lua_State *L, st__request *req) {
  st__frame f;
  st__state *h = st__state_of(L);
  st__packet *p = st__checkudata(h, L, 1, ST_UD_OPERATOR, "self");
  f.is_method = false;
  f.is_complete = true;
  f.spare = 0;
  st__resolve_frame(h, L, p, 3, &f);
  return st__return_frame(&f, req);
}

/* op:redispatch(keys, ...): dispatches on these keys, not on those of the
 * arguments and the thread */
static int packet_redispatch(lua_State *L) {
  const st_keyset keys = st__check_keyset(st__state_of(L), L, 2);
  return call_bypass(L, &(st__request){.kind = ST_REQUEST_REDISPATCH,
                                       .keys = keys});
}

/* op:call_for_key("CPU", ...): calls the kernel of one key */
static int packet_call_for_key(lua_State *L) {
  const char *key = st__check_string(st__state_of(L), L, 2, "key");
  return call_bypass(L, &(st__request){.kind = ST_REQUEST_KEY, .key = key});
}

/* -- Dumps ---------------------------------------------------------------- */

typedef st_status (*dump_fn)(const char *name, char **out);

/* Replaces "ns::name.overload" at the top of the stack by the text of fn. */
static void push_dump(lua_State *L, dump_fn fn) {
  st__state *h = st__state_of(L);
  char **text = st__newudata(h, L, ST_UD_TEXT, sizeof *text); /* [+1] */
  const st_status status = fn(lua_tostring(L, -2), text);
  if (status != ST_OK) st__raise(h, L, status);
  st__push_lines(L, *text);                                   /* [+1] */
  st_text_release(text);
  lua_replace(L, -3);                                         /* [-1] */
  lua_pop(L, 1);                                              /* [-1] */
}

/* Concatenates the texts of all overloads. */
static int dump_all(lua_State *L, dump_fn fn) {
  const int n = check_packet(L)->n;
  luaL_checkstack(L, 2 * n + LUA_MINSTACK, NULL);
  const int top = lua_gettop(L);
  for (int k = 0; k < n; k++) {
    const st__packet *p = lua_touserdata(L, 1);
    if (k >= p->n) break; /* a finalizer removed overloads */
    if (k) lua_pushliteral(L, "\n\n");                        /* [+0|1] */
    st__push_op_name(L, p->ops[k]);                           /* [+1] */
    push_dump(L, fn);
  }
  lua_concat(L, lua_gettop(L) - top);                         /* [-n, +1] */
  return 1;
}

/* op:dump(): schemas, tags, and kernels with the lines that registered them */
static int packet_dump(lua_State *L) { return dump_all(L, st_dump); }

/* op:table(): the kernel selected for each key, and the reason */
static int packet_table(lua_State *L) { return dump_all(L, st_dump_table); }

/* dump("ns::name.overload"), even if it has no schema */
static int dump(lua_State *L) {
  if (st__testudata(st__state_of(L), L, 1, ST_UD_OPERATOR)) {
    return dump_all(L, st_dump);
  }
  st__check_string(st__state_of(L), L, 1, "name");
  lua_settop(L, 1);
  push_dump(L, st_dump);
  return 1;
}

/* -- Properties ----------------------------------------------------------- */

/* op:tags(): returns a list of names */
static int packet_tags(lua_State *L) {
  const st__packet *p = check_packet(L);
  const char *name;
  int tags = 0, n = 0;
  for (int k = 0; k < p->n; k++) tags |= st_op_tags(p->ops[k]);
  lua_newtable(L);                        /* [+1] */
  for (int bit = 0; (name = st_tag_name(bit)); bit++) {
    if (!(tags >> bit & 1)) continue;
    lua_pushstring(L, name);              /* [+1] */
    lua_rawseti(L, -2, ++n);              /* [-1] */
  }
  return 1;
}

/* op:signature(): returns the C types that a typed handle must have, one line
 * per overload */
static int packet_signature(lua_State *L) {
  const st__packet *p = check_packet(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int k = 0; k < p->n; k++) {
    const char *signature = st_op_signature(p->ops[k]);
    if (!signature) continue;
    if (k) luaL_addchar(&b, '\n');
    luaL_addstring(&b, signature);
  }
  luaL_pushresult(&b); /* [+1] */
  return 1;
}

/* dangling_impls(): returns the names with kernels but without a schema */
static int dangling_impls(lua_State *L) {
  st__state *h = st__state_of(L);
  char **text = st__newudata(h, L, ST_UD_TEXT, sizeof *text); /* [+1] */
  const st_status status = st_dump_dangling(text);
  if (status != ST_OK) return st__raise(h, L, status);
  lua_newtable(L);                                            /* [+1] */
  int n = 0;
  for (const char *at = *text; *at; ) {
    const size_t len = strcspn(at, "\n");
    if (len) {
      lua_pushlstring(L, at, len);                            /* [+1] */
      lua_rawseti(L, -2, ++n);                                /* [-1] */
    }
    at += len + (at[len] == '\n');
  }
  st_text_release(text);
  return 1;
}

/* check_registry(): returns true; raises if a dispatch table is inconsistent */
static int check_registry(lua_State *L) {
  const st_status status = st_check_registry();
  if (status != ST_OK) return st__raise(st__state_of(L), L, status);
  lua_pushboolean(L, 1); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_inspect(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"dump", dump}, {"dangling_impls", dangling_impls},
    {"check_registry", check_registry}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"redispatch", packet_redispatch}, {"call_for_key", packet_call_for_key},
    {"dump", packet_dump}, {"table", packet_table}, {"tags", packet_tags},
    {"signature", packet_signature}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
  st__push_operator_methods(h, L);                     /* [+1] */
  st__set_functions(h, L, methods);
  lua_pop(L, 1);                                       /* [-1] */
}
