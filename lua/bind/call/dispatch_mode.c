/* Modes and observers: Lua functions that get the operator calls of a body.
 * A mode replaces each call; an observer is only notified of it.
 */

#include <stdio.h>

#include "call/call.h"

/* -- Modes ---------------------------------------------------------------- */

/* Calls from another Lua state are not intercepted. */
static st_status run_mode(const st_call *call, const st_value *args,
                          st_value *rets) {
  const st__lua_fn *s = call->ctx;
  if (st__current_state() != s->h) {
    return st_redispatch_declared(call->op, st_schema_text(call->schema),
                                  call->keys, args, rets);
  }
  return st__run_lua_fn(s, call, call->keys, args, rets);
}

/* dispatch_mode(fn, body, ...): calls fn(op, keys, ...) in place of every
 * operator that body calls; its results are those of the call. Returns body's
 * results. */
static int dispatch_mode(lua_State *L) {
  char where[LUA_IDSIZE + 16];
  st__state *h = st__state_of(L);
  st__check_callable(h, L, 1, "fn");
  st__check_callable(h, L, 2, "body");
  st__check_body(h, L, "dispatch_mode");
  st__cannot_record(h, L, "it runs a mode");
  lua_pushvalue(L, 1);                                   /* [+1] */
  st__lua_fn s = {h, luaL_ref(L, LUA_REGISTRYINDEX),     /* [-1] */
                  ST_TAKES_OPERATOR,
                  st__where(h, L, where, sizeof where)};
  st_mode m = {.fn = run_mode, .ctx = &s};
  st_mode_push(&m);
  const int status = st__run_body(h, L, lua_gettop(L) - 2, LUA_MULTRET);
  st_mode_pop();
  luaL_unref(L, LUA_REGISTRYINDEX, s.ref);
  return status == 0 ? lua_gettop(L) - 1 : lua_error(L);
}

/* -- Observers ------------------------------------------------------------ */

struct st__observers { int runner_ref; }; /* calls an observer */

enum { BEFORE = 1, AFTER, FAILURE, MAX_DEPTH = 256 };

typedef struct observation {
  st__state *h;
  int ref;         /* to a table with indices BEFORE, AFTER, FAILURE */
  bool has_failed;
  int depth;       /* nesting depth of the observed calls */
  const char *schema[MAX_DEPTH];  /* of these calls when they began */
} observation;

/* One call of an observer's function. */
typedef struct event {
  observation *o;
  int which;
  const st_op *op;
  bool ok;
  int n;
  const st_arg *schema;
  const st_value *values;
} event;

static void lend(const st_value *v) {
  if (v->tag == ST_TAG_TENSOR) st_lend(v->u.tensor);
  for (uint32_t k = 0; v->tag == ST_TAG_TENSORS && k < v->len; k++) {
    if (v->u.tensors[k]) st_lend(v->u.tensors[k]);
  }
}

static int run_event(lua_State *L) {
  const event *e = lua_touserdata(L, 1);
  st__state *h = e->o->h;
  luaL_checkstack(L, e->n + LUA_MINSTACK, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, e->o->ref);          /* [+1] */
  lua_rawgeti(L, -1, e->which);                          /* [+1] */
  if (!lua_toboolean(L, -1)) return 0;
  const int base = lua_gettop(L);
  st__push_overload(h, L, e->op);                        /* [+1] */
  if (e->which == AFTER) lua_pushboolean(L, e->ok);      /* [+1] */
  for (int i = 0; i < e->n; i++) {
    lend(&e->values[i]);
    st__push_argument(h, L, &e->schema[i], &e->values[i]); /* [+1] */
  }
  st__call_lua(h, L, "observe", lua_gettop(L) - base, 0); /* [-n] */
  return 0;
}

/* Stores the error at the top of the stack, the first one of an observer.
 * [-1] */
static void store_failure(observation *o, lua_State *L) {
  o->has_failed = true;
  lua_rawgeti(L, LUA_REGISTRYINDEX, o->ref);             /* [+1] */
  lua_insert(L, -2);
  lua_rawseti(L, -2, FAILURE);                           /* [-1] */
  lua_pop(L, 1);                                         /* [-1] */
}

/* The functions may call operators that fail, which changes st_message: the
 * message of a failed observed call is saved and restored. */
static void run_observer(const event *e) {
  char message[1024];
  lua_State *L = e->o->h->running;
  if (!lua_checkstack(L, LUA_MINSTACK)) return;
  snprintf(message, sizeof message, "%s", e->ok ? "" : st_message());
  st__state *h = e->o->h;
  if (st__nested_pcall(h, h->observers->runner_ref,          /* [+0|1] */
                       (void *)(uintptr_t)e) != 0) {
    store_failure(e->o, L);                                  /* [-1] */
  }
  if (!e->ok) st_fail(ST_HOST, "%s", message);
}

static void observe_before(void *ctx, const st_op *op,
                           const st_value *args) {
  observation *o = ctx;
  if (st__current_state() != o->h) return;
  if (o->depth < MAX_DEPTH) o->schema[o->depth] = st_op_schema(op);
  o->depth++;
  if (o->has_failed) return;
  run_observer(&(event){o, BEFORE, op, true, args ? st_op_nargs(op) : 0,
                        st_op_arg(op, 0), args});
}

/* A call may have redefined its operator. Then the types of its results are
 * unknown, and the function gets none. */
static void observe_after(void *ctx, const st_op *op, st_status status,
                          const st_value *rets) {
  observation *o = ctx;
  if (st__current_state() != o->h) return;
  const int depth = --o->depth;
  if (o->has_failed) return;
  const bool is_same_schema = rets && status == ST_OK && depth < MAX_DEPTH &&
                     o->schema[depth] == st_op_schema(op);
  run_observer(&(event){o, AFTER, op, status == ST_OK,
                        is_same_schema ? st_op_nrets(op) : 0, st_op_ret(op, 0),
                        rets});
}

/* Copies the function options[name] to index `which` of the table at the top;
 * false if it is nil. */
static void copy_function(lua_State *L, const char *name, int which) {
  st__state *h = st__state_of(L);
  st__get_field(h, L, 1, name);                          /* [+1] */
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);                                       /* [-1] */
    lua_pushboolean(L, 0);                               /* [+1] */
  } else {
    st__check_callable(h, L, -1, name);
  }
  lua_rawseti(L, -2, which);                             /* [-1] */
}

/* observe({before = fn, after = fn, values = true}, body, ...): calls
 * before(op, ...) and after(op, ok, ...) around every operator that body
 * calls, with its arguments and results if `values` is true. Returns body's
 * results. */
static int observe(lua_State *L) {
  observation o = {.h = st__state_of(L)};
  st_observer observer = {observe_before, observe_after, &o, false, NULL};
  st__check_table(o.h, L, 1, "options");
  st__check_callable(o.h, L, 2, "body");
  st__check_body(o.h, L, "observe");
  st__cannot_record(o.h, L, "it runs an observer");
  st__get_field(o.h, L, 1, "values");                    /* [+1] */
  observer.wants_values = lua_toboolean(L, -1);
  lua_pop(L, 1);                                         /* [-1] */
  lua_createtable(L, 3, 0);                              /* [+1] */
  copy_function(L, "before", BEFORE);
  copy_function(L, "after", AFTER);
  lua_pushboolean(L, 0);                                 /* [+1] */
  lua_rawseti(L, -2, FAILURE);                           /* [-1] */
  o.ref = luaL_ref(L, LUA_REGISTRYINDEX);                /* [-1] */
  st_observe(&observer);
  const int status = st__run_body(o.h, L, lua_gettop(L) - 2, LUA_MULTRET);
  st_unobserve(&observer);
  if (status == 0 && o.has_failed) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, o.ref);            /* [+1] */
    lua_rawgeti(L, -1, FAILURE);                         /* [+1] */
  }
  luaL_unref(L, LUA_REGISTRYINDEX, o.ref);
  if (status != 0 || o.has_failed) return lua_error(L);
  return lua_gettop(L) - 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_mode(st__state *h, lua_State *L) {
  static const luaL_Reg runners[] = {
    {"dispatch_mode", dispatch_mode}, {"observe", observe}, {NULL, NULL}
  };
  st__set_body_functions(h, L, runners);
  h->observers = st__new_part(h, L, sizeof *h->observers, NULL);
  lua_pushcfunction(L, run_event);                     /* [+1] */
  h->observers->runner_ref = luaL_ref(L, LUA_REGISTRYINDEX);    /* [-1] */
}
