/* Overload packets: the overloads of a name, as userdata.
 *
 * Note [Overload packets]
 * A packet caches the handles of the overloads of a name. Handles stay valid
 * and overloads are appended in order of definition, so the cache is refreshed
 * only by the first call and when no cached overload fits.
 */

#include <stdlib.h>
#include <string.h>

#include "call/call.h"

typedef st__packet packet;

struct st__operators {
  int objects_ref;     /* packets and overloads, a weak table */
  int methods_ref;     /* methods of operator objects */
};

void st__free_resolutions(st__packet *p) {
  free(p->cache);
  p->cache = NULL;
}

void st__refresh(st__state *h, lua_State *L, packet *p) {
  if (p->is_overload) return;
  const int n = st_op_overloads(p->name, NULL, 0);
  const st_op **ops = malloc((size_t)(n ? n : 1) * sizeof *ops);
  if (!ops) st__error(h, L, ST_NO_MEMORY, "%s: out of memory", p->name);
  const int m = st_op_overloads(p->name, ops, n);
  free(p->ops);
  p->ops = ops;
  p->n = m < n ? m : n;
  st__free_resolutions(p);
}

packet *st__push_packet(st__state *h, lua_State *L, const char *name,
                        const char *overload) {
  const size_t a = strlen(name), b = strlen(overload);
  packet *p = st__newudata(h, L, ST_UD_OPERATOR, sizeof *p + a + b + 2);
  p->h = h;
  p->may_cut = st__may_cut(name);
  memcpy(p->name, name, a + 1);
  if (b) {
    p->name[a] = '.';
    memcpy(p->name + a + 1, overload, b + 1);
  }
  return p;
}

void st__push_op_name(lua_State *L, const st_op *op) {
  const char *overload = st_op_overload_name(op);
  lua_pushfstring(L, *overload ? "%s.%s" : "%s", st_op_name(op),
                  overload);                                /* [+1] */
}

void st__push_lines(lua_State *L, const char *text) {
  const size_t n = strlen(text);
  lua_pushlstring(L, text, n - (n && text[n - 1] == '\n'));  /* [+1] */
}

void st__push_packets(st__state *h, lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->operators->objects_ref); /* [+1] */
}

void st__keep_operator_methods(st__state *h, lua_State *L) {
  h->operators->methods_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
}

void st__push_operator_methods(st__state *h, lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->operators->methods_ref); /* [+1] */
}

void st__push_overload(st__state *h, lua_State *L, const st_op *op) {
  st__push_packets(h, L);                                   /* [+1] */
  lua_pushlightuserdata(L, (void *)(uintptr_t)op);          /* [+1] */
  lua_rawget(L, -2);                                        /* [-1, +1] */
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);                                          /* [-1] */
    packet *p = st__push_packet(h, L, st_op_name(op), st_op_overload_name(op));
    p->is_overload = true;                                  /* [+1] */
    p->only = op;
    p->ops = &p->only;
    p->n = 1;
    lua_pushlightuserdata(L, (void *)(uintptr_t)op);        /* [+1] */
    lua_pushvalue(L, -2);                                   /* [+1] */
    lua_rawset(L, -4);                                      /* [-2] */
  }
  lua_remove(L, -2);                                        /* [-1] */
}

static int packet_gc(lua_State *L) {
  packet *p = st__testudata(st__state_of(L), L, 1, ST_UD_OPERATOR);
  if (!p) return 0;
  if (!p->is_overload) free(p->ops);
  st__free_resolutions(p);
  p->ops = NULL;
  p->n = 0;
  return 0;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_packet(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {{"__gc", packet_gc}, {NULL, NULL}};
  h->operators = st__new_part(h, L, sizeof *h->operators, NULL);
  h->operators->objects_ref = st__new_weak_table(L);
  st__push_meta(h, L, ST_UD_OPERATOR);         /* [+1] */
  st__set_functions(h, L, metamethods);
  lua_pop(L, 1);                               /* [-1] */
}
