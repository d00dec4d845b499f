/* Runs the functions of scripts in a sandbox, under its limits.
 *
 * Note [Time limits]
 * A debug hook tests the time every HOOK_INTERVAL instructions, and the engine
 * at every call of an operator. From then on the hook raises at every
 * instruction, so that a script which catches the error gets no further.
 * Machine code of LuaJIT calls no hooks: a time limit turns its compiler off.
 * Hooks do not run in finalizers, nor in the message handler of an xpcall that
 * the hook's error has entered; a host does not give these to scripts.
 *
 * Note [Threads of runs]
 * In LuaJIT and Lua 5.1 getfenv(level) reads the environment of any function up
 * the stack, so of the host's that have called `run`, and getfenv(0) that of
 * the thread. So a script runs on a thread of its own, whose globals are the
 * script's, unless the host has given its own thread others. PUC Lua 5.1 has
 * a hook for each thread. There a hook relays the host's: one that is set from
 * a signal handler, as standalone interpreters do at Ctrl-C, is set for the
 * host's thread and moves to the script's.
 */

#include <math.h>

#include "sandbox/sandbox.h"
#include "state/profile.h"

enum { HOOK_INTERVAL = 1000 };

#define HAS_THREAD (LUA_VERSION_NUM == 501)

/* In LuaJIT; NULL elsewhere. */
extern int luaJIT_setmode(lua_State *L, int idx, int mode)
  __attribute__((weak));

/* -- Around a run --------------------------------------------------------- */

static char enter_key, leave_key;

/* close_sandbox(enter, leave): says that the Lua side is closed; each run calls
 * enter() before and leave() after itself. */
static int close_sandbox(lua_State *L) {
  lua_settop(L, 2);
  lua_pushlightuserdata(L, &leave_key);          /* [+1] */
  lua_insert(L, 2);                              /* [0] */
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
  lua_pushlightuserdata(L, &enter_key);          /* [+1] */
  lua_insert(L, 1);                              /* [0] */
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
  st__state_of(L)->sandbox->is_closed = true;
  return 0;
}

/* Calls the function of a key. */
static void call_around(lua_State *L, char *key) {
  lua_pushlightuserdata(L, key);                 /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);              /* [-1, +1] */
  if (lua_isfunction(L, -1)) st__call_c(L, 0, 0); /* [-1] */
  else lua_pop(L, 1);                            /* [-1] */
}

/* error_text(value): the text of an error value */
static int error_text(lua_State *L) {
  if (luaL_getmetafield(L, 1, "__tostring") != 0) { /* [+1] */
    lua_pushvalue(L, 1);                         /* [+1] */
    st__call_c(L, 1, 1);                         /* [-1] */
    if (lua_type(L, -1) == LUA_TSTRING) return 1;
  }
  lua_pushfstring(L, "an error without text, a %s", luaL_typename(L, 1));
  return 1;
}

/* Makes a text of the error value at the top, while the limits are on: a host
 * that prints a value with __tostring would run the script without them. */
static void make_text(st__state *h, lua_State *L) {
  const int type = lua_type(L, -1);
  if (type == LUA_TSTRING || type == LUA_TNUMBER || type == LUA_TBOOLEAN ||
      type == LUA_TNIL) {
    return;
  }
  lua_pushcfunction(L, error_text);              /* [+1] */
  lua_insert(L, -2);                             /* [0] */
  st__pcall_c(h, L, 1, 1, 0);                    /* [-1] */
  if (lua_type(L, -1) == LUA_TSTRING) return;
  lua_pop(L, 1);                                 /* [-1] */
  lua_pushliteral(L, "an error whose text is an error"); /* [+1] */
}

/* -- Hooks ---------------------------------------------------------------- */

/* Compiled code does not call hooks: Note [Time limits]. */
static void stop_compiler(lua_State *L) {
  enum { ENGINE = 0, OFF = 0, FLUSH = 0x200 };
  if (!luaJIT_setmode) return;
  luaJIT_setmode(L, 0, ENGINE | FLUSH);
  luaJIT_setmode(L, 0, ENGINE | OFF);
}

/* True if the host's thread has got another hook: it moves to L. */
static bool takes_hook(st__sandbox *s, lua_State *L) {
  lua_State *const host = s->host;
  if (!HAS_THREAD || luaJIT_setmode || !host) return false;
  const lua_Hook hook = lua_gethook(host);
  const int mask = lua_gethookmask(host), count = lua_gethookcount(host);
  if (hook == s->hook && mask == s->mask && count == s->count) return false;
  lua_sethook(host, s->hook, s->mask, s->count);
  lua_sethook(L, hook, mask, count);
  return true;
}

static void on_count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (!lua_checkstack(L, 4)) return;
  st__sandbox *s = st__find_sandbox(L);
  if (!s || !s->is_running || takes_hook(s, L)) return;
  if (st_limits_check() == ST_OK) return;
  lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
#if LUA_VERSION_NUM >= 504
  /* An error would close the variables of a coroutine without hooks. It is
   * suspended instead; the hook of the thread that resumed it raises. */
  if (lua_isyieldable(L)) {
    lua_yield(L, 0);
    return;
  }
#endif
  luaL_where(L, 0);                              /* [+1] */
  lua_pushstring(L, st_message());               /* [+1] */
  lua_concat(L, 2);                              /* [-2, +1] */
  lua_error(L);
}

bool st__has_time_hook(lua_State *L) {
  return lua_gethook(L) == on_count && lua_gethookcount(L) == 1;
}

/* -- Threads -------------------------------------------------------------- */

#if HAS_THREAD
/* Calls the hook of the host's thread, on the script's. */
static void relay(lua_State *L, lua_Debug *ar) {
  if (!lua_checkstack(L, 4)) return;
  st__sandbox *s = st__find_sandbox(L);
  if (!s || !s->is_running || takes_hook(s, L) || !s->hook) return;
  if (ar->event == LUA_HOOKCOUNT && !(s->mask & LUA_MASKCOUNT)) return;
  s->hook(L, ar);
}

/* debug.sethook(thread, debug.gethook()) for the thread at idx, or, if that is
 * 0, debug.sethook(thread): hooks in Lua are kept by their threads. */
static void copy_lua_hook(lua_State *L, int idx, bool sets) {
  const int top = lua_gettop(L);
  lua_pushliteral(L, "_LOADED");                 /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);              /* [-1, +1] */
  lua_getfield(L, -1, "debug");                  /* [+1] */
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "sethook");              /* [+1] */
    lua_pushvalue(L, idx);                       /* [+1] */
    lua_getfield(L, -3, "gethook");              /* [+1] */
    st__call_c(L, 0, 3);                         /* [-1, +3] */
    if (lua_isfunction(L, -3)) {
      if (!sets) lua_pop(L, 3);                  /* [-3] */
      st__call_c(L, sets ? 4 : 1, 0);            /* [-2 or -5] */
    }
  }
  lua_settop(L, top);
}

/* Pushes the globals of the value at idx, if it is a function of Lua or calls
 * one. [+0|1] */
static bool push_globals_of(lua_State *L, int idx) {
  const int top = lua_gettop(L);
  lua_pushvalue(L, idx);                         /* [+1] */
  if (!lua_isfunction(L, -1)) luaL_getmetafield(L, idx, "__call"); /* [+0|1] */
  const bool is_lua = lua_isfunction(L, -1) && !lua_iscfunction(L, -1);
  if (is_lua) {
    lua_getfenv(L, -1);                          /* [+1] */
    lua_insert(L, top + 1);
  }
  lua_settop(L, top + is_lua);
  return is_lua;
}

/* Gives the thread at index 2 the globals of the script: those of the first
 * function of Lua among what it gets. */
static void set_globals(const st__sandbox *s, lua_State *L) {
  if (lua_topointer(L, LUA_GLOBALSINDEX) != s->globals) return; /* the host */
  const int top = lua_gettop(L);
  bool has_any = false;
  for (int i = 3; i <= top && !has_any; i++) {
    has_any = push_globals_of(L, i);             /* [+0|1] */
  }
  if (!has_any) lua_newtable(L);                 /* [+0|1] */
  lua_setfenv(L, 2);                             /* [-1] */
}

/* Pushes a thread for the run, and inserts it at index 2. */
static lua_State *new_thread(const st__sandbox *s, lua_State *L) {
  lua_State *T = lua_newthread(L);               /* [+1] */
  lua_insert(L, 2);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (!lua_checkstack(T, lua_gettop(L) + LUA_MINSTACK)) {
    luaL_error(L, "run: too many arguments");
  }
  set_globals(s, L);
  return T;
}
#endif

/* The thread that the function at index 2 runs on. */
static lua_State *start_thread(st__sandbox *s, lua_State *L) {
#if HAS_THREAD
  lua_State *T = new_thread(s, L);               /* [+1] */
  if (!luaJIT_setmode && lua_gethook(L)) copy_lua_hook(L, 2, true);
  lua_xmove(L, T, lua_gettop(L) - 2);
  s->host = L;
  s->thread = T;
  return T;
#else
  (void)s;
  return L;
#endif
}

/* Sets the hook of the thread. */
static void start_hook(st__sandbox *s, lua_State *L, lua_State *T) {
  s->hook = lua_gethook(L);
  s->mask = lua_gethookmask(L);
  s->count = lua_gethookcount(L);
  if (s->is_timed) {
    stop_compiler(L);
    st_limits_set_time(s->limits, s->seconds);
    lua_sethook(T, on_count, LUA_MASKCOUNT, HOOK_INTERVAL);
    return;
  }
#if HAS_THREAD
  if (luaJIT_setmode) return; /* its hook is for all threads */
  const bool has_count = (s->mask & LUA_MASKCOUNT) != 0;
  lua_sethook(T, relay, s->mask | LUA_MASKCOUNT,
              has_count ? s->count : HOOK_INTERVAL);
#endif
}

static void end_hook(st__state *h, lua_State *L, lua_State *T) {
  st__sandbox *s = h->sandbox;
  if (s->is_timed) {
    st_limits_set_time(s->limits, INFINITY);
    if (T == L || luaJIT_setmode) lua_sethook(L, s->hook, s->mask, s->count);
  }
#if HAS_THREAD
  if (!s->is_timed && !luaJIT_setmode && lua_gethook(T) != relay) {
    lua_sethook(L, lua_gethook(T), lua_gethookmask(T), lua_gethookcount(T));
  }
#endif
  if (h->thread == T && T != L) h->thread = NULL;
  s->host = s->thread = NULL;
}

/* Moves what the thread has to the host's stack, which has the box and the
 * thread. Returns Lua's status. */
static int take_results(lua_State *L, lua_State *T, int status) {
  if (T == L) return status;
#if HAS_THREAD
  if (!luaJIT_setmode && lua_gethook(L)) copy_lua_hook(L, 2, false);
#endif
  const int n = lua_gettop(T);
  if (lua_checkstack(L, n + LUA_MINSTACK)) {
    lua_xmove(T, L, n);                          /* [+n] */
  } else {
    lua_settop(T, 0);
    lua_pushliteral(L, "run: too many results"); /* [+1] */
    status = LUA_ERRRUN;
  }
  lua_remove(L, 2);                              /* [-1] */
  return status;
}

/* -- Running -------------------------------------------------------------- */

/* After the call of the function above `base` values of the thread's stack.
 * Returns Lua's status. */
static int end_body(st__state *h, lua_State *T, int base, int status) {
  if (status != 0) {
    make_text(h, T);
  } else if (h->sandbox->is_timed && st_limits_check() != ST_OK) {
    lua_settop(T, base); /* the script has ended, after its time */
    lua_pushstring(T, st_message());             /* [+1] */
    return LUA_ERRRUN;
  }
  return status;
}

/* box:run(fn, ...): as pcall, under the limits */
static int run(lua_State *L) {
  st__state *h = st__state_of(L);
  st__sandbox *s = h->sandbox;
  st__checkudata(h, L, 1, ST_UD_SANDBOX, "self");
  st__check_callable(h, L, 2, "fn");
  st__check_fiber(h, L, "run");
  st__check_body(h, L, "run");
  if (s->is_running) {
    return st__error(h, L, ST_BAD_STATE, "run: the sandbox runs a function "
                     "already");
  }
  call_around(L, &enter_key);
  const st__profile *profile = h->profile;
  lua_State *const T = start_thread(s, L);       /* [-n] */
  start_hook(s, L, T);
  st_limits *before = st_limits_enter(s->limits);
  s->is_running = true;
  const int base = T == L, nargs = lua_gettop(T) - base - 1;
  int status = st__run_body(h, T, nargs, LUA_MULTRET); /* [-n, +n] */
  status = end_body(h, T, base, status);
  s->is_running = false;
  st_limits_enter(before);
  end_hook(h, L, T);
  while (h->profile && h->profile != profile) st__profile_stop(h->profile);
  status = take_results(L, T, status);           /* [+n] */
  call_around(L, &leave_key);
  lua_pushboolean(L, status == 0);               /* [+1] */
  lua_replace(L, 1);                             /* [-1] */
  return lua_gettop(L);
}

/* box:used(): returns the bytes that are charged to the limits */
static int used(lua_State *L) {
  st__state *h = st__state_of(L);
  st__checkudata(h, L, 1, ST_UD_SANDBOX, "self");
  const st_limits *l = h->sandbox->limits;
  st__push_int(h, L, l ? st_limits_used(l) : 0); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_sandbox(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {{"used", used}, {NULL, NULL}};
  static const luaL_Reg runners[] = {{"run", run}, {NULL, NULL}};
  lua_newtable(L);                               /* [+1] */
  st__set_functions(h, L, methods);
  st__set_body_functions(h, L, runners);
  lua_setfield(L, -2, "__index");                /* [-1] */
}

void st__open_sandbox_run(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"close_sandbox", close_sandbox}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_SANDBOX, fill_sandbox);
#if HAS_THREAD
  if (!h->sandbox->globals) {
    h->sandbox->globals = lua_topointer(L, LUA_GLOBALSINDEX);
  }
#endif
  st__set_functions(h, L, functions);
}
