/* st.trace: the dispatcher's events while a function runs. The engine's
 * callback must not call Lua, so it stores the events in C memory; they are
 * pushed afterwards.
 */

#include <stdlib.h>

#include "bind.h"

typedef struct events {
  st_trace *e;
  size_t n, room;
  struct events *outer;  /* the enclosing trace's */
} events;

static _Thread_local events *active;

static void note(void *ctx, const st_trace *event) {
  events *all = ctx;
  if (all->n == all->room) {
    const size_t room = all->room ? 2 * all->room : 64;
    st_trace *e = realloc(all->e, room * sizeof *e);
    if (!e) return; /* the event is lost; the call continues */
    all->e = e;
    all->room = room;
  }
  all->e[all->n++] = *event;
}

static void stop(events *all) {
  if (active != all) return;
  active = all->outer;
  st_set_trace(active ? note : NULL, active);
}

static int events_gc(lua_State *L) {
  events *all = st__testudata(st__state_of(L), L, 1, ST_UD_EVENTS);
  if (!all) return 0;
  stop(all);
  free(all->e);
  all->e = NULL;
  all->n = all->room = 0;
  return 0;
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);    /* [+1] */
  lua_setfield(L, -2, name);  /* [-1] */
}

/* {op =, key =, kernel =, kind =, keys =, depth =} [+1] */
static void push_event(lua_State *L, const st_trace *e) {
  char text[4096];
  lua_createtable(L, 0, 6);                              /* [+1] */
  st__push_op_name(L, e->op);                            /* [+1] */
  lua_setfield(L, -2, "op");                             /* [-1] */
  set_text(L, "key", e->key);
  set_text(L, "kernel", e->kernel);
  set_text(L, "kind", e->kind);
  set_text(L, "keys", st_keyset_text(e->keys, text, sizeof text));
  lua_pushinteger(L, e->depth);                          /* [+1] */
  lua_setfield(L, -2, "depth");                          /* [-1] */
}

/* trace(body, ...), body a function or an operator: returns the list of events,
 * then the results of body. For a tensor it calls aten::trace, upvalue 2. */
static int trace(lua_State *L) {
  st__state *h = st__state_of(L);
  if (!lua_isfunction(L, 1) && !st__testudata(h, L, 1, ST_UD_OPERATOR)) {
    lua_pushvalue(L, lua_upvalueindex(2));               /* [+1] */
    lua_insert(L, 1);
    st__call_c(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
  }
  st__check_body(h, L, "trace");
  st__cannot_record(h, "it runs an observer");
  events *all = st__newudata(h, L, ST_UD_EVENTS, sizeof *all); /* [+1] */
  lua_insert(L, 1);
  all->outer = active;
  active = all;
  st_set_trace(note, all);
  const int status = st__run_body(h, L, lua_gettop(L) - 2, LUA_MULTRET);
  stop(all);
  if (status != 0) return lua_error(L);
  const int nrets = lua_gettop(L) - 1;
  luaL_checkstack(L, 4, NULL);
  lua_createtable(L, (int)all->n, 0);                    /* [+1] */
  for (size_t k = 0; k < all->n; k++) {
    push_event(L, &all->e[k]);                           /* [+1] */
    lua_rawseti(L, -2, (int)k + 1);                      /* [-1] */
  }
  lua_insert(L, 2);
  return nrets + 1;
}

void st__meta_events(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {{"__gc", events_gc}, {NULL, NULL}};
  st__set_functions(h, L, methods);
}

void st__open_dispatch_trace(st__state *h, lua_State *L) {
  lua_pushlightuserdata(L, h);        /* [+1] */
  if (!st__push_callable(h, L, "aten::trace", false)) { /* [+1] */
    lua_pushnil(L);                   /* [+1] */
  }
  lua_pushcclosure(L, trace, 2);      /* [-2, +1] */
  lua_setfield(L, -2, "trace");       /* [-1] */
}
