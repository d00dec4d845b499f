/* st.trace: the dispatcher's events while a function runs. The engine's
 * callback must not call Lua, so it stores the events in C memory; they are
 * pushed afterwards. An observer adds the shapes and the duration of a call to
 * its event; redispatches have none.
 */

#include <stdlib.h>

#include "trace/trace.h"

typedef struct event {
  st_trace trace;
  int64_t start, time;   /* in ns; time -1: not known */
  uint64_t *args;        /* owned: nargs words of st__profile_add, or NULL */
  int nargs;
} event;

typedef struct events {
  event *e;
  size_t n, room;
  int64_t start;
  long last;             /* the event that an observed call belongs to, or -1 */
  int depth;             /* of the observed calls */
  long calls[ST_PROFILE_DEPTH]; /* their events */
  st_observer observer;
  struct events *outer;  /* the enclosing trace's */
} events;

static _Thread_local events *active;

static void note(void *ctx, const st_trace *t) {
  events *all = ctx;
  all->last = -1;
  if (all->n == all->room) {
    const size_t room = all->room ? 2 * all->room : 64;
    event *e = st_limits_realloc(all->e, room * sizeof *e);
    if (!e) return; /* the event is lost; the call continues */
    all->e = e;
    all->room = room;
  }
  all->last = (long)all->n;
  all->e[all->n++] = (event){*t, st__profile_now() - all->start, -1, NULL, 0};
}

static void note_args(event *e, const st_op *op, const st_value *args) {
  st__profile_key k = {.n = 0};
  if (!args) return;
  st__profile_add(&k, op, args);
  e->args = st_limits_realloc(NULL, (size_t)k.n * sizeof *k.words + 1);
  if (!e->args) return;
  memcpy(e->args, k.words, (size_t)k.n * sizeof *k.words);
  e->nargs = k.n;
}

/* The events of the calls inside an inner trace are that one's. */
static void before(void *ctx, const st_op *op, const st_value *args) {
  events *all = ctx;
  const long at = active == all ? all->last : -1;
  if (at >= 0) note_args(&all->e[at], op, args);
  if (all->depth < ST_PROFILE_DEPTH) all->calls[all->depth] = at;
  all->depth++;
  if (at >= 0) all->e[at].start = st__profile_now() - all->start;
}

static void after(void *ctx, const st_op *op, st_status status,
                  const st_value *rets) {
  events *all = ctx;
  const int64_t end = st__profile_now() - all->start;
  (void)op, (void)status, (void)rets;
  if (all->depth == 0 || --all->depth >= ST_PROFILE_DEPTH) return;
  const long at = all->calls[all->depth];
  if (at >= 0) all->e[at].time = end - all->e[at].start;
}

static void begin(events *all) {
  all->outer = active;
  active = all;
  all->last = -1;
  all->start = st__profile_now();
  all->observer = (st_observer){before, after, all, true, NULL};
  st_observe(&all->observer);
  st_set_trace(note, all);
}

static void stop(events *all) {
  if (active != all) return;
  st_unobserve(&all->observer);
  active = all->outer;
  st_set_trace(active ? note : NULL, active);
}

static int events_gc(lua_State *L) {
  events *all = st__testudata(st__state_of(L), L, 1, ST_UD_EVENTS);
  if (!all) return 0;
  stop(all);
  for (size_t k = 0; k < all->n; k++) st_limits_free(all->e[k].args);
  st_limits_free(all->e);
  all->e = NULL;
  all->n = all->room = 0;
  return 0;
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);    /* [+1] */
  lua_setfield(L, -2, name);  /* [-1] */
}

static void set_number(lua_State *L, const char *name, double x) {
  lua_pushnumber(L, (lua_Number)x); /* [+1] */
  lua_setfield(L, -2, name);        /* [-1] */
}

/* {op =, key =, kernel =, kind =, keys =, depth =, start =, time =, shapes =}
 * [+1] */
static void push_event(lua_State *L, const event *e) {
  char text[4096];
  const st_trace *t = &e->trace;
  lua_createtable(L, 0, 9);                              /* [+1] */
  st__push_op_name(L, t->op);                            /* [+1] */
  lua_setfield(L, -2, "op");                             /* [-1] */
  set_text(L, "key", t->key);
  set_text(L, "kernel", t->kernel);
  set_text(L, "kind", t->kind);
  set_text(L, "keys", st_keyset_text(t->keys, text, sizeof text));
  lua_pushinteger(L, t->depth);                          /* [+1] */
  lua_setfield(L, -2, "depth");                          /* [-1] */
  set_number(L, "start", (double)e->start / 1e9);
  if (e->time >= 0) set_number(L, "time", (double)e->time / 1e9);
  if (e->args) {
    st__profile_args ignored = {.ntensors = 0};
    st__profile_push_args(L, e->args, e->nargs, &ignored); /* [+1] */
    lua_setfield(L, -2, "shapes");                       /* [-1] */
  }
}

/* True for a function, an operator, and a table that can be called, such as a
 * module of a network. */
static bool is_body(st__state *h, lua_State *L) {
  if (lua_isfunction(L, 1) || st__testudata(h, L, 1, ST_UD_OPERATOR)) {
    return true;
  }
  if (!lua_istable(L, 1) || !luaL_getmetafield(L, 1, "__call")) return false;
  lua_pop(L, 1);                                         /* [-1] */
  return true;
}

/* trace(body, ...): returns the list of events, then the results of body. For
 * a tensor it calls aten::trace, upvalue 2. */
static int trace(lua_State *L) {
  st__state *h = st__state_of(L);
  if (!is_body(h, L)) {
    lua_pushvalue(L, lua_upvalueindex(2));               /* [+1] */
    lua_insert(L, 1);
    st__call_c(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
  }
  st__check_body(h, L, "trace");
  st__cannot_record(h, L, "it runs an observer");
  events *all = st__newudata(h, L, ST_UD_EVENTS, sizeof *all); /* [+1] */
  lua_insert(L, 1);
  begin(all);
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

static void fill_events(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {{"__gc", events_gc}, {NULL, NULL}};
  st__set_functions(h, L, methods);
}

void st__open_dispatch_trace(st__state *h, lua_State *L) {
  st__fill_meta(h, ST_UD_EVENTS, fill_events);
  lua_pushlightuserdata(L, h);        /* [+1] */
  if (!st__push_callable(h, L, "aten::trace", false)) { /* [+1] */
    lua_pushnil(L);                   /* [+1] */
  }
  lua_pushcclosure(L, trace, 2);      /* [-2, +1] */
  lua_setfield(L, -2, "trace");       /* [-1] */
}
