/* Fused functions: st.fuse. A call runs the schedule that the compile cache has
 * for its arguments, records one first, or calls the function if it cannot be
 * fused.
 *
 * Note [Lifetime of a fused function]
 * The environment of the userdata holds the function and its results that are
 * not tensors. The registry does not: a function whose upvalues refer to the
 * userdata would never be collected. Schedules own the captured tensors,
 * without userdata; the environments of these tensors (Note [Keeping gradient
 * functions alive]) are found through the userdata that the function itself
 * refers to.
 */

#include <stdio.h>
#include <string.h>

#include "trace/trace.h"

enum { MAX_ARGS = 32, MAX_OUTPUTS = 16, MAX_SLOTS = 64,
       FUNCTION = 1, CONSTANTS = 2 };

typedef struct fused_function {
  st_compile_cache *f;
  st_schedule *pinned; /* the last one run, retained while it runs */
  bool is_running;
  uint64_t constants;  /* bit per slot: has constant results */
} fused_function;

/* A call in progress. Its arguments are at stack indices 2 .. nargs + 1. */
typedef struct call {
  st__state *h;
  lua_State *L;
  fused_function *ud;
  int nargs, ntensors;
  bool has_returned;   /* the function that is recorded */
  st_compile_cache_arg args[MAX_ARGS];
  double numbers[MAX_ARGS];
#if LUA_VERSION_NUM >= 503
  lua_Integer integers[MAX_ARGS];
#endif
  bool flags[MAX_ARGS];
  st_tensor *inputs[MAX_ARGS];
} call;

static fused_function *check_fused(lua_State *L) {
  return st__checkudata(st__state_of(L), L, 1, ST_UD_FUSED, "self");
}

/* -- Arguments ------------------------------------------------------------ */

static void take_number(call *c, st_compile_cache_arg *a, int i) {
#if LUA_VERSION_NUM >= 503
  if (lua_isinteger(c->L, i + 2)) {
    c->integers[i] = lua_tointeger(c->L, i + 2);
    *a = (st_compile_cache_arg){NULL, &c->integers[i], sizeof *c->integers,
                                LUA_TNUMBER | 0x40};
    return;
  }
#endif
  c->numbers[i] = lua_tonumber(c->L, i + 2);
  *a = (st_compile_cache_arg){NULL, &c->numbers[i], sizeof *c->numbers,
                              LUA_TNUMBER};
}

static bool take_tensor(call *c, st_compile_cache_arg *a, int i) {
  st_tensor *t = st__to_tensor(c->h, c->L, i + 2);
  if (!t) return false;
  *a = (st_compile_cache_arg){t, NULL, 0, LUA_TUSERDATA};
  c->inputs[c->ntensors++] = t;
  return true;
}

static bool take_string(call *c, st_compile_cache_arg *a, int i) {
  size_t n;
  a->bytes = lua_tolstring(c->L, i + 2, &n);
  a->nbytes = (int)n;
  return n < 1024;
}

/* Returns false if the argument cannot be part of a cache key. */
static bool take_arg(call *c, int i) {
  st_compile_cache_arg *a = &c->args[i];
  const int type = lua_type(c->L, i + 2);
  *a = (st_compile_cache_arg){NULL, "", 0, type};
  switch (type) {
    case LUA_TUSERDATA: return take_tensor(c, a, i);
    case LUA_TNUMBER: take_number(c, a, i); return true;
    case LUA_TSTRING: return take_string(c, a, i);
    case LUA_TBOOLEAN:
      c->flags[i] = lua_toboolean(c->L, i + 2);
      a->bytes = &c->flags[i];
      a->nbytes = sizeof c->flags[i];
      return true;
    default: return type == LUA_TNIL;
  }
}

static bool take_args(call *c) {
  c->ntensors = 0;
  if (c->nargs > MAX_ARGS) return false;
  for (int i = 0; i < c->nargs; i++) {
    if (!take_arg(c, i)) return false;
  }
  return c->ntensors > 0;
}

/* -- The function itself -------------------------------------------------- */

/* [+1] */
static void push_env_field(lua_State *L, int what) {
  st__get_env(L, 1);                                   /* [+1] */
  lua_rawgeti(L, -1, what);                            /* [+1] */
  lua_remove(L, -2);                                   /* [-1] */
}

/* Calls the function with the arguments; returns the number of results. */
static int call_function(st__state *h, lua_State *L, int nargs) {
  lua_settop(L, nargs + 1);
  push_env_field(L, FUNCTION);                         /* [+1] */
  lua_replace(L, 1);                                   /* [-1] */
  st__call_out(h, L, "fuse", nargs, LUA_MULTRET);      /* [-n-1, +n] */
  return lua_gettop(L);
}

/* -- Recording ------------------------------------------------------------ */

/* Marks in a list of results: a tensor, and nil. */
static char tensor_mark, nil_mark;

/* Replaces the tensors among the arguments, which start at index `first`, by
 * fake tensors; equal arguments get the same fake tensor. */
static void put_fakes(const call *c, lua_State *L, int first) {
  for (int i = 0, at = 0; i < c->nargs; i++) {
    if (!c->args[i].tensor) continue;
    int same = 0;
    while (c->args[same].tensor != c->args[i].tensor) same++;
    if (same < i) {
      lua_pushvalue(L, first + same);                  /* [+1] */
    } else {
      st__push_tensor(c->h, L,                         /* [+1] */
                      st_recorder_input(c->h->recorder, at));
    }
    lua_replace(L, first + i);                         /* [-1] */
    at++;
  }
}

/* Pushes the n results from index `first` on as a list of marks and constants;
 * nil if all are tensors. [+1] */
static void push_constants(st__state *h, lua_State *L, int first, int n) {
  int ntensors = 0;
  lua_createtable(L, n, 0);                            /* [+1] */
  for (int i = 0; i < n; i++) {
    const int type = lua_type(L, first + i);
    const bool is_tensor = st__to_tensor(h, L, first + i) != NULL;
    ntensors += is_tensor;
    if (is_tensor) {
      lua_pushlightuserdata(L, &tensor_mark);          /* [+1] */
    } else if (type == LUA_TNIL) {
      lua_pushlightuserdata(L, &nil_mark);             /* [+1] */
    } else if (type == LUA_TNUMBER || type == LUA_TSTRING ||
               type == LUA_TBOOLEAN) {
      lua_pushvalue(L, first + i);                     /* [+1] */
    } else {
      st_recorder_refuse(h->recorder, "a result is not a tensor, number, "
                         "string, boolean or nil");
      lua_pushboolean(L, 0);                           /* [+1] */
    }
    lua_rawseti(L, -2, i + 1);                         /* [-1] */
  }
  if (ntensors < n || n == 0) return;
  lua_pop(L, 1);                                       /* [-1] */
  lua_pushnil(L);                                      /* [+1] */
}

/* run_recorded(call, fn, ...): returns the list of constants or nil, then the
 * results of fn for fake tensors */
static int run_recorded(lua_State *L) {
  call *c = lua_touserdata(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  put_fakes(c, L, 3);
  st__call_c(L, c->nargs, LUA_MULTRET);                /* [-n-1, +n] */
  c->has_returned = true;
  const int n = lua_gettop(L) - 1;
  if (n > MAX_OUTPUTS) st_recorder_refuse(c->h->recorder, "too many results");
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  push_constants(c->h, L, 2, n);                       /* [+1] */
  lua_replace(L, 1);                                   /* [-1] */
  return n + 1;
}

/* The line of the function; what it has returned is at none. */
static void write_where(void *ctx, char *text, size_t size) {
  const call *c = ctx;
  *text = '\0';
  if (c->has_returned) return;
  st__where(c->h, c->h->running ? c->h->running : c->L, text, size);
}

/* Reads the tensors among the n values from index `first` on; returns their
 * number. */
static int read_outputs(const call *c, int first, int n, st_tensor **out) {
  int ntensors = 0;
  for (int i = 0; i < n && i < MAX_OUTPUTS; i++) {
    st_tensor *t = st__to_tensor(c->h, c->L, first + i);
    if (t) out[ntensors++] = t;
  }
  return ntensors;
}

/* Stores the list of constants at index `constants` in the environment, which
 * is preallocated: nothing is allocated here. */
static void keep_constants(const call *c, const st_schedule *schedule,
                           int constants) {
  lua_State *L = c->L;
  const int slot = st_schedule_slot(schedule);
  const uint64_t bit = (uint64_t)1 << slot;
  const bool has_some = !lua_isnil(L, constants);
  c->ud->constants = has_some ? c->ud->constants | bit
                               : c->ud->constants & ~bit;
  st__get_env(L, 1);                                   /* [+1] */
  if (has_some) lua_pushvalue(L, constants);           /* [+1] */
  else lua_pushboolean(L, 0);                          /* [+1] */
  lua_rawseti(L, -2, CONSTANTS + slot);                /* [-1] */
  lua_pop(L, 1);                                       /* [-1] */
}

/* The error at the top becomes the reason why the function is called. */
static void keep_error(lua_State *L, st_recorder *r) {
  char why[256];
  if (lua_type(L, -1) != LUA_TSTRING) return;
  snprintf(why, sizeof why, "it fails with fake tensors: %s",
           lua_tostring(L, -1));
  st_recorder_refuse(r, why);
}

/* True if no finalizer has changed the arguments. */
static bool has_args(const call *c) {
  for (int i = 0; i < c->nargs; i++) {
    if (c->args[i].tensor &&
        st__to_tensor(c->h, c->L, i + 2) != c->args[i].tensor) {
      return false;
    }
  }
  return true;
}

/* Records the function by calling it with fake tensors. The recorder owns the
 * arguments, which the function may free. NULL: it cannot be fused for these
 * arguments. */
static st_schedule *record(call *c) {
  lua_State *L = c->L;
  st__state *h = c->h;
  st_tensor *outputs[MAX_OUTPUTS];
  st_schedule *schedule = NULL;
  const int base = c->nargs + 1;
  const st_tracing_config config = {st_compile_cache_name(c->ud->f),
                                    c->ntensors, 0, write_where, c};
  c->has_returned = false;
  st__check_body(h, L, "fuse");
  luaL_checkstack(L, c->nargs + LUA_MINSTACK, "arguments");
  lua_pushcfunction(L, run_recorded);                  /* [+1] */
  lua_pushlightuserdata(L, c);                         /* [+1] */
  push_env_field(L, FUNCTION);                         /* [+1] */
  for (int i = 0; i < c->nargs; i++) lua_pushvalue(L, i + 2); /* [+1] */
  if (!has_args(c)) {
    lua_settop(L, base);
    return NULL;
  }
  st_recorder *r;
  st_status status = st_recorder_begin(&config, c->inputs, &r);
  if (status != ST_OK) st__raise(h, L, status);
  h->recorder = r;
  const int failed = st__run_body(h, L, c->nargs + 2, LUA_MULTRET);
  h->recorder = NULL;
  const bool stops = failed && st__stops_call(L, failed);
  if (failed) keep_error(L, r);
  if (stops) st_recorder_stop(r);
  const int n = failed ? -1 : read_outputs(c, base + 2,
                                           lua_gettop(L) - base - 1, outputs);
  status = st_compile_cache_end(c->ud->f, c->nargs, c->args, &r, n, outputs,
                                &schedule);
  if (stops || (status != ST_OK && failed)) lua_error(L);
  if (status != ST_OK) st__raise(h, L, status);
  if (schedule) keep_constants(c, schedule, base + 1);
  lua_settop(L, base);
  return schedule;
}

/* -- Running -------------------------------------------------------------- */

static void pin(fused_function *ud, st_schedule *schedule) {
  st_schedule *old = ud->pinned;
  ud->pinned = schedule;
  if (old) st_schedule_release(&old);
}

/* Bytes of a storage that only this result owns. */
static int64_t weight(const st_tensor *t) {
  return st_tensor_storage_refcount(t) > 1 ? 0 : st__memory_of(t);
}

/* The stack index of input k. */
static int index_of_input(const call *c, int k) {
  int i = 0;
  while (!c->args[i].tensor || k-- > 0) i++;
  return i + 2;
}

/* A new userdata for output k, or the argument that it equals. [+1] */
static void push_output(const call *c, const st_schedule *schedule, int k) {
  const int input = st_schedule_output(schedule, k);
  if (input < 0) st__new_tensor_ud(c->h, c->L);        /* [+1] */
  else lua_pushvalue(c->L, index_of_input(c, input));  /* [+1] */
}

/* Pushes the results: empty userdata and constants. at: receives the stack
 * indices of the userdata. Returns the number of results. [+n] */
static int push_results(const call *c, const st_schedule *schedule, int *at) {
  lua_State *L = c->L;
  const int slot = st_schedule_slot(schedule);
  int n = 0;
  luaL_checkstack(L, MAX_OUTPUTS + LUA_MINSTACK, NULL);
  if (!(c->ud->constants >> slot & 1)) {
    for (; n < st_schedule_noutputs(schedule); n++) {
      push_output(c, schedule, n);                     /* [+1] */
      at[n] = lua_gettop(L);
    }
    return n;
  }
  push_env_field(L, CONSTANTS + slot);          /* [+1] */
  const int list = lua_gettop(L), nresults = (int)lua_objlen(L, list);
  for (int i = 0; i < nresults; i++) {
    lua_rawgeti(L, list, i + 1);                       /* [+1] */
    const void *mark = lua_touserdata(L, -1);
    if (mark == &tensor_mark) {
      lua_pop(L, 1);                                   /* [-1] */
      push_output(c, schedule, n);                     /* [+1] */
      at[n++] = lua_gettop(L);
    } else if (mark == &nil_mark) {
      lua_pop(L, 1);                                   /* [-1] */
      lua_pushnil(L);                                  /* [+1] */
    }
  }
  lua_remove(L, list);                                 /* [-1] */
  for (int i = 0; i < n; i++) at[i]--;
  return nresults;
}

/* The environment of the arguments and of the captured tensors. [+0|1] */
static bool collect_env(const call *c, const st_schedule *schedule) {
  st__state *h = c->h;
  lua_State *L = c->L;
  bool has_one = false;
  for (int i = 0; i < c->nargs; i++) {
    if (c->args[i].tensor) has_one = st__env_collect(h, L, i + 2, has_one);
  }
  for (int i = 0; i < st_schedule_ncaptured(schedule); i++) {
    st_tensor *t = st_schedule_captured(schedule, i);
    if (!st_tensor_requires_grad(t) || !st__push_existing(h, L, t)) continue;
    if (has_one) lua_insert(L, -2);                    /* [+1] */
    const int at = lua_gettop(L) - has_one;
    has_one = st__env_collect(h, L, at, has_one);      /* [+0|1] */
    lua_remove(L, at);                                 /* [-1] */
  }
  return has_one;
}

/* Results inherit the environments of the arguments and of the captured
 * tensors. at: their stack indices */
static void inherit_env(const call *c, const st_schedule *schedule,
                        const int *at) {
  st__state *h = c->h;
  lua_State *L = c->L;
  const bool has_one = st__any_env(h) &&
                       collect_env(c, schedule); /* [+0|1] */
  for (int i = 0; i < st_schedule_noutputs(schedule); i++) {
    if (has_one) st__env_inherit_top(h, L, at[i], false);
    else if (st_tensor_requires_grad(st__to_tensor(h, L, at[i]))) {
      st__track_ud(h, L, at[i]);
    }
  }
  if (has_one) lua_pop(L, 1);                          /* [-1] */
}

static st_status run_schedule(const call *c, const st_schedule *schedule,
                              st_tensor **outs) {
  st__entry e;
  fused_function *ud = c->ud;
  st_status status = st__begin(c->h, c->L, st_compile_cache_name(ud->f), &e);
  if (status != ST_OK) return status;
  ud->is_running = true;
  if (c->h->profile) {
    st__profile_enter(c->h, "fused ", st_compile_cache_name(ud->f));
  }
  status = st_schedule_run(schedule, c->inputs, outs);
  if (c->h->profile) st__profile_leave(c->h);
  ud->is_running = false;
  return st__end(c->h, c->L, &e, status);
}

/* True if no finalizer has changed the arguments or the pinned schedule. */
static bool is_same(const call *c, const st_schedule *schedule) {
  return has_args(c) && c->ud->pinned == schedule && !c->ud->is_running;
}

static void take_outputs(const call *c, const st_schedule *schedule,
                         const int *at, st_tensor **outs) {
  for (int i = 0; i < st_schedule_noutputs(schedule); i++) {
    if (st_schedule_output(schedule, i) >= 0) {
      st_tensor_release(&outs[i]);
    } else {
      ((st__tensor_ud *)lua_touserdata(c->L, at[i]))->t = outs[i];
    }
  }
}

/* True if a call of the schedule has failed, and not what surrounds it. Then
 * the function is called, and fails as well, or goes on behind a pcall: the
 * schedule has changed nothing. */
static bool is_failed_call(st_status status) {
  return status != ST_OK && status != ST_NO_MEMORY && status != ST_HOST &&
         status != ST_INTERRUPTED;
}

static int run(const call *c, st_schedule *schedule) {
  lua_State *L = c->L;
  st_tensor *outs[MAX_OUTPUTS];
  int at[MAX_OUTPUTS];
  bool made = false, needs_env = st__any_env(c->h);
  int64_t bytes = 0;
  if (c->ud->is_running) {
    st_schedule_release(&schedule);
    return call_function(c->h, L, c->nargs);
  }
  pin(c->ud, schedule);
  const int n = push_results(c, schedule, at); /* [+n] */
  if (!is_same(c, schedule)) return call_function(c->h, L, c->nargs);
  st_status status = run_schedule(c, schedule, outs);
  if (status == ST_NO_MEMORY && !st_schedule_is_random(schedule) &&
      st__gc_retry(c->h, L, &made)) {
    if (!is_same(c, schedule)) return call_function(c->h, L, c->nargs);
    status = run_schedule(c, schedule, outs);
  }
  if (is_failed_call(status)) return call_function(c->h, L, c->nargs);
  if (status != ST_OK) return st__raise(c->h, L, status);
  for (int i = 0; i < st_schedule_noutputs(schedule); i++) {
    if (st_schedule_output(schedule, i) < 0) bytes += weight(outs[i]);
    needs_env = needs_env || st_tensor_requires_grad(outs[i]);
  }
  take_outputs(c, schedule, at, outs);
  if (needs_env) inherit_env(c, schedule, at);
  st__gc_charge(c->h, NULL, bytes);
  return n + st__check_lost(c->h, L, 1, st_compile_cache_name(c->ud->f));
}

/* True if the function must be called whatever its arguments are. */
static bool is_called(const call *c) {
  return c->h->recorder || c->h->tracing || c->ud->is_running;
}

/* f(...) */
static int call_fused(lua_State *L) {
  call c;
  st_schedule *schedule;
  c.h = st__state_of(L);
  c.L = L;
  c.ud = check_fused(L);
  c.nargs = lua_gettop(L) - 1;
  if (is_called(&c) || !take_args(&c)) return call_function(c.h, L, c.nargs);
  if (!st_compile_cache_find(c.ud->f, c.nargs, c.args, &schedule)) {
    schedule = record(&c);
  }
  return schedule ? run(&c, schedule) : call_function(c.h, L, c.nargs);
}

/* -- Methods -------------------------------------------------------------- */

/* f:explain(...): returns the schedule for these arguments as a string, or why
 * there is none */
static int explain(lua_State *L) {
  call c;
  st_schedule *schedule;
  c.h = st__state_of(L);
  c.L = L;
  c.ud = check_fused(L);
  c.nargs = lua_gettop(L) - 1;
  if (is_called(&c) || !take_args(&c)) {
    lua_pushliteral(L, "the function is called: its arguments have no "
                    "cache key\n");                    /* [+1] */
    return 1;
  }
  if (!st_compile_cache_find(c.ud->f, c.nargs, c.args, &schedule)) {
    schedule = record(&c);
  }
  if (!schedule) {
    lua_pushfstring(L, "the function is called: %s\n", /* [+1] */
                    has_args(&c) ? st_compile_cache_why(c.ud->f, c.nargs,
                                                        c.args)
                                 : "it changes its arguments");
    return 1;
  }
  pin(c.ud, schedule);
  char **text = st__newudata(c.h, L, ST_UD_TEXT, sizeof *text); /* [+1] */
  if (c.ud->pinned != schedule) return 0;
  const st_status status = st_schedule_text(schedule, text);
  if (status != ST_OK) return st__raise(c.h, L, status);
  lua_pushstring(L, *text);                            /* [+1] */
  st_text_release(text);
  return 1;
}

/* f:clear(): removes all schedules from the compile cache */
static int clear(lua_State *L) {
  fused_function *ud = check_fused(L);
  st_compile_cache_clear(ud->f);
  if (!ud->is_running) pin(ud, NULL);
  return 0;
}

static int fused_tostring(lua_State *L) {
  lua_pushfstring(L, "fused function (%s)",            /* [+1] */
                  st_compile_cache_name(check_fused(L)->f));
  return 1;
}

static int fused_gc(lua_State *L) {
  fused_function *ud = st__testudata(st__state_of(L), L, 1, ST_UD_FUSED);
  if (!ud || !ud->f) return 0;
  pin(ud, NULL);
  st_compile_cache_release(&ud->f);
  return 0;
}

/* fuse(fn, name): returns a fused function */
static int fuse(lua_State *L) {
  st__state *h = st__state_of(L);
  st__check_callable(h, L, 1, "fn");
  const char *name = luaL_checkstring(L, 2);
  fused_function *ud = st__newudata(h, L, ST_UD_FUSED, sizeof *ud); /* [+1] */
  lua_createtable(L, CONSTANTS + MAX_SLOTS, 0);        /* [+1] */
  lua_pushvalue(L, 1);                                 /* [+1] */
  lua_rawseti(L, -2, FUNCTION);                        /* [-1] */
  st__set_env(L, -2);                                  /* [-1] */
  const st_status status = st_compile_cache_new(name, &ud->f);
  return status == ST_OK ? 1 : st__raise(h, L, status);
}

/* is_fused(x): true for a fused function */
static int is_fused(lua_State *L) {
  const bool is = st__testudata(st__state_of(L), L, 1, ST_UD_FUSED) != NULL;
  lua_pushboolean(L, is);                              /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_fused(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__gc", fused_gc}, {"__tostring", fused_tostring}, {NULL, NULL}
  };
  static const luaL_Reg callers[] = {{"__call", call_fused}, {NULL, NULL}};
  static const luaL_Reg runners[] = {{"explain", explain}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"clear", clear}, {NULL, NULL}};
  st__set_functions(h, L, metamethods);
  st__set_body_functions(h, L, callers);
  lua_newtable(L);                                     /* [+1] */
  st__set_body_functions(h, L, runners);
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");                      /* [-1] */
}

void st__open_fused_function(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"fuse", fuse}, {"is_fused", is_fused},
                                       {NULL, NULL}};
  st__fill_meta(h, ST_UD_FUSED, fill_fused);
  st__set_functions(h, L, functions);
}
