/* Listeners: Lua functions that are called when operators are defined and
 * removed.
 *
 * The engine notifies during a registration, on the thread of the registration.
 * So events are queued in C memory, and the listening Lua state delivers them
 * at the end of its next registration. Another thread may be appending to the
 * queue while a listener is closed, so the binding state keeps the memory of
 * the listener and reuses it for the next one.
 */

#include <stdlib.h>
#include <string.h>

#include "library/library.h"
#include "state/hook_error.h"

typedef struct event {
  const st_op *op;
  bool is_defined;
} event;

typedef struct listener {
  st__state *h;
  struct listener *next;         /* in the binding state's list */
  st_registration *registration;
  int ref;                    /* of the function */
  /* Guarded by the mutex of the binding states: */
  bool is_open;
  event *events;
  size_t first, n, room;      /* [first, n) are pending */
  bool has_lost;              /* an event was lost: out of memory */
} listener;

struct st__listeners {
  listener *first;
  bool is_delivering;
};

/* -- Queueing ------------------------------------------------------------- */

static bool make_room(listener *l) {
  if (l->n < l->room) return true;
  const size_t room = l->room ? 2 * l->room : 64;
  event *events = realloc(l->events, room * sizeof *events);
  if (!events) return false;
  l->events = events;
  l->room = room;
  return true;
}

static void enqueue(void *ctx, const st_op *op, bool is_defined) {
  listener *l = ctx;
  st__lock_states();
  if (l->is_open && make_room(l)) {
    l->events[l->n++] = (event){op, is_defined};
  } else {
    l->has_lost = l->is_open;
  }
  st__unlock_states();
}

/* -- Delivering ----------------------------------------------------------- */

/* Takes one pending event and returns the reference of its listener's
 * function; LUA_NOREF if no event is pending. e->op is NULL if events were
 * lost. */
static int take_event(st__state *h, event *e) {
  int ref = LUA_NOREF;
  st__lock_states();
  listener *l = h->listeners->first;
  while (l && l->first == l->n && !l->has_lost) l = l->next;
  if (l) {
    ref = l->ref;
    *e = l->first < l->n ? l->events[l->first++] : (event){NULL, false};
    if (!e->op) l->has_lost = false;
    if (l->first == l->n) l->first = l->n = 0;
  }
  st__unlock_states();
  return ref;
}

/* A function may close any listener, so each turn searches from the start. */
static int deliver_all(lua_State *L) {
  event e = {NULL, false};
  st__state *h = lua_touserdata(L, 1);
  for (int ref; (ref = take_event(h, &e)) != LUA_NOREF; ) {
    if (!e.op) st__error(h, L, ST_NO_MEMORY, "listen: out of memory, "
                         "events were lost");
    lua_rawgeti(L, LUA_REGISTRYINDEX, ref);                  /* [+1] */
    st__push_op_name(L, e.op);                               /* [+1] */
    lua_pushboolean(L, e.is_defined);                        /* [+1] */
    st__call_lua(h, L, "listen", 2, 0);                      /* [-3] */
  }
  return 0;
}

/* Returns Lua's status; on failure the error is on the stack. That of a hook is
 * raised later: LATER. [+0|1] */
enum { LATER = -1 };

static int deliver(st__state *h, lua_State *L) {
  st__watch w;
  if (!h->listeners->first || h->listeners->is_delivering) return 0;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  h->listeners->is_delivering = true;
  lua_pushcfunction(L, deliver_all);                         /* [+1] */
  lua_pushlightuserdata(L, h);                               /* [+1] */
  st__watch_begin(L, &w);
  const int status = st__pcall_c(h, L, 1, 0, 0);             /* [-2, +0|1] */
  h->listeners->is_delivering = false;
  return st__watch_end(L, &w, status) ? LATER : status;      /* [0|-1] */
}

/* The registration has taken effect, so an error in a listener is only a
 * warning. Without memory or stack no event may have been taken: it waits for
 * the next delivery. */
void st__deliver(st__state *h, lua_State *L) {
  for (int status = LUA_ERRRUN; status == LUA_ERRRUN;) {
    status = deliver(h, L);                                  /* [+0|1] */
    if (status <= 0) return;
    const char *text = lua_tostring(L, -1);
    if (text && strstr(text, "stack overflow")) status = LUA_ERRMEM;
    if (status == LUA_ERRRUN) {
      st_warn(text ? text : "a listener raised an error object");
    }
    lua_pop(L, 1);                                           /* [-1] */
  }
}

/* -- Listening ------------------------------------------------------------ */

/* Returns a closed listener or a new one; NULL when out of memory. */
static listener *find_listener(st__state *h) {
  listener *l = h->listeners->first;
  while (l && l->is_open) l = l->next;
  if (l) return l;
  l = calloc(1, sizeof *l);
  if (!l) return NULL;
  l->h = h;
  l->next = h->listeners->first;
  h->listeners->first = l;
  return l;
}

static void set_open(listener *l, bool is_open) {
  st__lock_states();
  l->is_open = is_open;
  l->first = l->n = 0;
  l->has_lost = false;
  st__unlock_states();
}

static void close_listener(lua_State *L, listener **ud) {
  listener *l = *ud;
  if (!l) return;
  *ud = NULL;
  st_registration_release(&l->registration);
  set_open(l, false);
  luaL_unref(L, LUA_REGISTRYINDEX, l->ref);
}

/* handle:close(), __gc */
static int listener_close(lua_State *L) {
  listener **ud = st__testudata(st__state_of(L), L, 1, ST_UD_LISTENER);
  if (ud) close_listener(L, ud);
  return 0;
}

/* listen(fn): returns a handle; calls fn(name, is_defined) for every existing
 * operator, then for every change until the handle is closed */
static int listen(lua_State *L) {
  st__state *h = st__state_of(L);
  st__check_callable(h, L, 1, "fn");
  listener **ud = st__newudata(h, L, ST_UD_LISTENER, sizeof *ud);
  lua_pushvalue(L, 1);                                       /* [+2] */
  const int ref = luaL_ref(L, LUA_REGISTRYINDEX);            /* [-1] */
  listener *l = find_listener(h);
  if (!l) {
    luaL_unref(L, LUA_REGISTRYINDEX, ref);
    return st__error(h, L, ST_NO_MEMORY, "listen: out of memory");
  }
  *ud = l;
  l->ref = ref;
  set_open(l, true);
  const st_status status = st_listen(enqueue, l, &l->registration);
  if (status != ST_OK) {
    close_listener(L, ud);
    return st__raise(h, L, status);
  }
  const int delivered = deliver(h, L);                       /* [+0|1] */
  if (delivered == 0) return 1;
  close_listener(L, ud);
  return delivered == LATER ? 0 : lua_error(L);
}

/* -- Opening -------------------------------------------------------------- */

static void fill_listener(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__gc", listener_close}, {"__close", listener_close}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"close", listener_close}, {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                      /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");       /* [-1] */
}

static void clear(void *part) {
  const st__listeners *all = part;
  for (listener *l = all->first, *next; l; l = next) {
    next = l->next;
    free(l->events);
    free(l);
  }
}

void st__open_listen(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"listen", listen}, {NULL, NULL}};
  h->listeners = st__new_part(h, L, sizeof *h->listeners, clear);
  st__fill_meta(h, ST_UD_LISTENER, fill_listener);
  st__set_functions(h, L, functions);
}
