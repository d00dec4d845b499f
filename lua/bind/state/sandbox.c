/* The sandbox: what a host takes away from the scripts of a Lua state, and the
 * limits of their calls.
 *
 * Note [Sandboxes]
 * The first binding state of a Lua state creates its sandbox, turned off. The
 * registry stores the address, so that a binding state which is opened later,
 * after a script has cleared package.loaded, has the same one. Nothing turns it
 * off once it is on. What it takes is listed once, in ST_TAKEN_MAP: functions
 * of these names are registered with a guard, a C function that tests the
 * sandbox first. So it does not matter how a script gets hold of one: from a
 * module, from package.loaded, as a local kept from before, or in a coroutine.
 *
 * Note [Time limits]
 * A debug hook tests the time every HOOK_INTERVAL instructions, and the engine
 * at every call of an operator. From then on the hook raises at every
 * instruction, so that a script which catches the error gets no further.
 * Machine code of LuaJIT calls no hooks: a time limit turns its compiler off.
 * Hooks do not run in finalizers, nor in the message handler of an xpcall that
 * the hook's error has entered; a host does not give these to scripts.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bind.h"
#include "trace/profile.h"

/* X(class, function, its name in messages, type of a first argument with which
 * it stays: LUA_TNONE if it is always taken). A first argument of that type
 * does not have the function read an address or change the process. */
#define ST_TAKEN_MAP(X) \
  X(FILES, "open_source", "load", LUA_TNONE)                            \
  X(FILES, "open_aside", "save", LUA_TNONE)                             \
  X(FILES, "find_program", "find_program", LUA_TNONE)                   \
  X(FILES, "run_program", "run_program", LUA_TNONE)                     \
  X(FILES, "make_folder", "make_folder", LUA_TNONE)                     \
  X(FILES, "make_private", "make_private", LUA_TNONE)                   \
  X(FILES, "list_folder", "list_folder", LUA_TNONE)                     \
  X(ADDRESSES, "frombuffer", "frombuffer of an address", LUA_TSTRING)   \
  X(ADDRESSES, "from_dlpack", "from_dlpack of an address", LUA_TUSERDATA) \
  X(ADDRESSES, "from_arrow", "from_arrow", LUA_TNONE)                   \
  X(ADDRESSES, "to_arrow", "to_arrow", LUA_TNONE)                       \
  X(ADDRESSES, "data_ptr", "data_ptr", LUA_TNONE)                       \
  X(ADDRESSES, "pointer", "capsule:pointer", LUA_TNONE)                 \
  X(ADDRESSES, "take", "capsule:take", LUA_TNONE)                       \
  X(ADDRESSES, "plan_data", "plan:run_ffi", LUA_TNONE)                  \
  X(SHARING, "share", "share", LUA_TNONE)                               \
  X(SHARING, "attach", "attach", LUA_TNONE)                             \
  X(SHARING, "unshare", "unshare", LUA_TNONE)                           \
  X(REGISTRATION, "strict_registration", "strict_registration", LUA_TNONE) \
  X(REGISTRATION, "listen", "listen", LUA_TNONE)                        \
  X(SETTINGS, "set_num_threads", "set_num_threads", LUA_TNONE)          \
  X(SETTINGS, "set_limit", "memory.set_limit", LUA_TNONE)               \
  X(SETTINGS, "set_cache_limit", "memory.set_cache_limit", LUA_TNONE)   \
  X(SETTINGS, "trim", "memory.trim", LUA_TNONE)                         \
  X(SETTINGS, "reset_peak", "memory.reset_peak", LUA_TNONE)             \
  X(SETTINGS, "memory_fail_at", "memory_fail_at", LUA_TNONE)            \
  X(SETTINGS, "set_default_dtype", "set_default_dtype", LUA_TNONE)      \
  X(SETTINGS, "set_jit_enabled", "set_jit_enabled", LUA_TNONE)          \
  X(SETTINGS, "manual_seed", "manual_seed", LUA_TUSERDATA)              \
  X(SETTINGS, "get_rng_state", "get_rng_state", LUA_TNONE)              \
  X(SETTINGS, "set_rng_state", "set_rng_state", LUA_TNONE)              \
  X(SETTINGS, "warnings", "warnings", LUA_TNONE)                        \
  X(SESSION, "catch_interrupts", "catch_interrupts", LUA_TNONE)         \
  X(SESSION, "interruptible", "interruptible", LUA_TNONE)               \
  X(SESSION, "wait_input", "wait_input", LUA_TNONE)                     \
  X(SESSION, "is_terminal", "is_terminal", LUA_TNONE)                   \
  X(SESSION, "has_write_failed", "has_write_failed", LUA_TNONE)         \
  X(SESSION, "terminal_size", "terminal_size", LUA_TNONE)               \
  X(SESSION, "ask_terminal", "ask_terminal", LUA_TNONE)                 \
  X(INTERNALS, "start_workers", "DataLoader with workers", LUA_TNONE)   \
  X(INTERNALS, "close_sandbox", "close_sandbox", LUA_TNONE)             \
  X(INTERNALS, "set_home", "set_home", LUA_TNONE)                       \
  X(INTERNALS, "set_index", "set_index", LUA_TNONE)                     \
  X(INTERNALS, "set_metamethod", "set_metamethod", LUA_TNONE)           \
  X(INTERNALS, "set_int64", "set_int64", LUA_TNONE)                     \
  X(INTERNALS, "set_compiler", "set_compiler", LUA_TNONE)

/* X(class, its name in messages and in the option `allow`) */
#define ST_CLASS_MAP(X) \
  X(FILES, "files") X(ADDRESSES, "addresses") X(SHARING, "sharing")   \
  X(REGISTRATION, "registration") X(SETTINGS, "settings")             \
  X(SESSION, "session") X(INTERNALS, "internals")

enum {
#define ST_CLASS_INDEX(id, name) ID_##id,
  ST_CLASS_MAP(ST_CLASS_INDEX)
#undef ST_CLASS_INDEX
#define ST_CLASS_BIT(id, name) id = 1 << ID_##id,
  ST_CLASS_MAP(ST_CLASS_BIT)
#undef ST_CLASS_BIT
  EVERYTHING = 2 * INTERNALS - 1
};

static const char *const class_name[] = {
#define ST_CLASS_NAME(id, name) name,
  ST_CLASS_MAP(ST_CLASS_NAME)
#undef ST_CLASS_NAME
};

static const struct taken {
  int id;
  const char *function, *name;
  int harmless;
} taken[] = {
#define ST_TAKEN_ROW(class, function, name, type) \
  {ID_##class, function, name, type},
  ST_TAKEN_MAP(ST_TAKEN_ROW)
#undef ST_TAKEN_ROW
};

enum { HOOK_INTERVAL = 1000, NAMESPACES = 512 };

struct st__sandbox {
  atomic_int refs;     /* of binding states */
  int taken;           /* classes; 0: the sandbox is off */
  bool has_opened;     /* a binding state exists */
  bool is_timed, is_running;
  double seconds;
  st_limits *limits;   /* owned, or NULL */
  uint64_t key;        /* of st__hide_address */
  char namespaces[NAMESPACES]; /* " geo ml " */
};

/* -- One per Lua state ---------------------------------------------------- */

static char registry_key;

static st__sandbox *find(lua_State *L) {
  lua_pushlightuserdata(L, &registry_key);       /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);              /* [-1, +1] */
  st__sandbox *s = lua_touserdata(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  return s;
}

bool st__sandbox_join(st__state *h, lua_State *L) {
  st__sandbox *s = find(L);
  if (!s) {
    lua_pushlightuserdata(L, &registry_key);     /* [+1] */
    s = calloc(1, sizeof *s);
    if (!s) return false;
    lua_pushlightuserdata(L, s);                 /* [+1] */
    h->sandbox = s;
    atomic_init(&s->refs, 1);
    lua_rawset(L, LUA_REGISTRYINDEX);            /* [-2] */
    return true;
  }
  atomic_fetch_add(&s->refs, 1);
  h->sandbox = s;
  return true;
}

void st__sandbox_leave(st__sandbox *s) {
  if (!s || atomic_fetch_sub(&s->refs, 1) > 1) return;
  st_limits_release(&s->limits);
  free(s);
}

st_limits *st__sandbox_limits(const st__state *h) {
  return h->sandbox->limits;
}

/* -- Taking --------------------------------------------------------------- */

static const struct taken *find_row(const char *function) {
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    if (strcmp(taken[i].function, function) == 0) return &taken[i];
  }
  return NULL;
}

static void refuse(st__state *h, lua_State *L, const char *name, int id) {
  st__error(h, L, ST_BAD_STATE, "%s: not available in a sandbox, which takes "
            "%s away", name, class_name[id]);
}

bool st__is_guarded(const luaL_Reg *fn) { return find_row(fn->name) != NULL; }

void st__check_guarded(st__state *h, lua_State *L, const luaL_Reg *fn) {
  if (!h->sandbox->taken) return;
  const struct taken *row = find_row(fn->name);
  if (h->sandbox->taken & 1 << row->id &&
      (row->harmless == LUA_TNONE || lua_type(L, 1) != row->harmless)) {
    refuse(h, L, row->name, row->id);
  }
}

static int guard(lua_State *L) {
  st__state *h = lua_touserdata(L, lua_upvalueindex(1));
  const luaL_Reg *fn = lua_touserdata(L, lua_upvalueindex(2));
  st__check_guarded(h, L, fn);
  return fn->func(L);
}

bool st__push_guarded(st__state *h, lua_State *L, const luaL_Reg *fn) {
  if (!st__is_guarded(fn)) return false;
  lua_pushlightuserdata(L, h);                   /* [+1] */
  lua_pushlightuserdata(L, (void *)(uintptr_t)fn); /* [+1] */
  lua_pushcclosure(L, guard, 2);                 /* [-2, +1] */
  return true;
}

const luaL_Reg *st__guarded_function(lua_State *L) {
  if (lua_tocfunction(L, -1) != guard) return NULL;
  lua_getupvalue(L, -1, 2);                      /* [+1] */
  const luaL_Reg *fn = lua_touserdata(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  return fn;
}

void st__check_namespace(st__state *h, lua_State *L, const char *ns) {
  char word[NAMESPACES];
  const st__sandbox *s = h->sandbox;
  if (!(s->taken & REGISTRATION)) return;
  h->is_strict = true;
  const size_t n = strlen(ns);
  if (n > 0 && n < sizeof word - 3 && !strchr(ns, ' ')) {
    word[0] = ' ';
    memcpy(word + 1, ns, n);
    memcpy(word + 1 + n, " ", 2);
    if (strstr(s->namespaces, word)) return;
  }
  refuse(h, L, "library", ID_REGISTRATION);
}

bool st__is_boxed(const st__state *h) {
  return (h->sandbox->taken & REGISTRATION) != 0;
}

/* Differs for different addresses, with the same certainty as a hash. */
int64_t st__hide_address(const st__state *h, const void *p) {
  uint64_t x = (uint64_t)(uintptr_t)p;
  if (!(h->sandbox->taken & ADDRESSES)) return (int64_t)x;
  x ^= h->sandbox->key;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return (int64_t)((x ^ x >> 31) >> 12); /* a double represents it */
}

/* check_taken(class, name): raises if the sandbox takes the class away */
static int check_taken(lua_State *L) {
  st__state *h = st__state_of(L);
  const char *class = luaL_checkstring(L, 1), *name = luaL_checkstring(L, 2);
  for (int id = 0; EVERYTHING >> id; id++) {
    if (strcmp(class_name[id], class) == 0 && h->sandbox->taken & 1 << id) {
      refuse(h, L, name, id);
    }
  }
  return 0;
}

/* is_sandboxed(): true once the sandbox is on */
static int is_sandboxed(lua_State *L) {
  lua_pushboolean(L, st__state_of(L)->sandbox->taken != 0); /* [+1] */
  return 1;
}

/* -- Around a run ---------------------------------------------------------- */

static char enter_key, leave_key;

/* close_sandbox(enter, leave): takes internals away, once all modules are
 * loaded; each run calls enter() before and leave() after itself. */
static int close_sandbox(lua_State *L) {
  st__state_of(L)->sandbox->taken |= INTERNALS;
  lua_settop(L, 2);
  lua_pushlightuserdata(L, &leave_key);          /* [+1] */
  lua_insert(L, 2);                              /* [0] */
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
  lua_pushlightuserdata(L, &enter_key);          /* [+1] */
  lua_insert(L, 1);                              /* [0] */
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
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

/* -- Turning it on -------------------------------------------------------- */

static int find_class(const char *name, size_t n) {
  for (int id = 0; 1 << id < INTERNALS; id++) {
    if (strlen(class_name[id]) == n && memcmp(class_name[id], name, n) == 0) {
      return 1 << id;
    }
  }
  return 0;
}

/* All but the internals: close_sandbox. */
static void turn_on(st__sandbox *s, int allowed) {
  if (getrandom(&s->key, sizeof s->key, 0) < 0) s->key = (uintptr_t)s;
  s->taken = EVERYTHING & ~allowed & ~INTERNALS;
}

static void set_limits(st__state *h, lua_State *L, int64_t memory,
                       int threads) {
  const st_status status = st_limits_new(memory, threads,
                                         &h->sandbox->limits);
  if (status != ST_OK) st__raise(h, L, status);
}

const char *st__sandbox_from_env(st__state *h, lua_State *L) {
  const char *text = getenv("STRIDED_SANDBOX");
  int64_t memory = INT64_MAX;
  int threads = 0;
  if (!text || !*text || strcmp(text, "0") == 0) return NULL;
  const char *p = strcmp(text, "1") == 0 ? "" : text;
  while (*p) {
    char *end;
    const size_t n = strcspn(p, "=");
    if (p[n] != '=' || p[n + 1] < '1' || p[n + 1] > '9') return text;
    const long long value = strtoll(p + n + 1, &end, 10);
    if (n == 6 && strncmp(p, "memory", n) == 0) memory = value;
    else if (n == 7 && strncmp(p, "threads", n) == 0 && value <= 256) {
      threads = (int)value;
    } else return text;
    if (*end && *end != ',') return text;
    p = end + (*end == ',');
  }
  if (memory != INT64_MAX || threads) set_limits(h, L, memory, threads);
  turn_on(h->sandbox, 0);
  return NULL;
}

bool st__sandbox_may_open(st__state *h) {
  const bool may = !h->sandbox->taken || !h->sandbox->has_opened;
  h->sandbox->has_opened = true;
  return may;
}

/* -- Options -------------------------------------------------------------- */

typedef struct options {
  int64_t memory;
  double seconds;
  int threads, allowed;
  char namespaces[NAMESPACES];
} options;

#define OPTION "sandbox: option '%s' must be "

/* Calls read(o, text, n) for each string of the list at the top; false if it
 * is none, or if read says so. */
static bool read_list(options *o, lua_State *L,
                      bool (*read)(options *o, const char *text, size_t n)) {
  if (!lua_istable(L, -1)) return false;
  bool ok = true;
  const int n = (int)lua_objlen(L, -1);
  for (int i = 1; i <= n && ok; i++) {
    size_t size;
    lua_rawgeti(L, -1, i);                       /* [+1] */
    ok = lua_type(L, -1) == LUA_TSTRING;
    const char *text = ok ? lua_tolstring(L, -1, &size) : NULL;
    ok = ok && read(o, text, size);
    lua_pop(L, 1);                               /* [-1] */
  }
  return ok;
}

static bool read_class(options *o, const char *text, size_t n) {
  const int class = find_class(text, n);
  o->allowed |= class;
  return class != 0;
}

/* Appends "name "; aten and "_", every namespace, are never given. */
static bool read_namespace(options *o, const char *text, size_t n) {
  const size_t used = strlen(o->namespaces);
  if (n == 0 || strlen(text) != n || strchr(text, ' ') ||
      strcmp(text, "aten") == 0 || strcmp(text, "_") == 0 ||
      used + n + 2 > sizeof o->namespaces) {
    return false;
  }
  memcpy(o->namespaces + used, text, n);
  memcpy(o->namespaces + used + n, " ", 2);
  return true;
}

/* Reads the option `name`, whose value is at the top. */
static void read_option(st__state *h, lua_State *L, const char *name,
                        options *o) {
  int64_t n = 0;
  if (strcmp(name, "memory") == 0) {
    if (st__to_int(h, L, -1, &n) && n > 0) o->memory = n;
    else st__error(h, L, ST_BAD_VALUE, OPTION "a number of bytes", name);
  } else if (strcmp(name, "threads") == 0) {
    if (st__to_int(h, L, -1, &n) && n > 0 && n <= 256) o->threads = (int)n;
    else st__error(h, L, ST_BAD_VALUE, OPTION "1 to 256", name);
  } else if (strcmp(name, "seconds") == 0) {
    o->seconds = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    if (!(o->seconds > 0)) {
      st__error(h, L, ST_BAD_VALUE, OPTION "a number above 0", name);
    }
  } else if (strcmp(name, "allow") == 0) {
    if (!read_list(o, L, read_class)) {
      st__error(h, L, ST_BAD_VALUE, OPTION "a list of 'files', 'addresses', "
                "'sharing', 'registration', 'settings' or 'session'", name);
    }
  } else if (strcmp(name, "namespaces") == 0) {
    if (!read_list(o, L, read_namespace)) {
      st__error(h, L, ST_BAD_VALUE, OPTION "a list of names other than 'aten' "
                "and '_'", name);
    }
  } else {
    st__error(h, L, ST_BAD_VALUE, "sandbox: there is no option '%.40s'", name);
  }
}

static void read_options(st__state *h, lua_State *L, options *o) {
  if (lua_isnoneornil(L, 1)) return;
  if (!lua_istable(L, 1)) {
    st__error(h, L, ST_BAD_TYPE, "sandbox: options must be a table, got %s",
              st__type_name(h, L, 1));
  }
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) { /* [+2, -1] */
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                      : "?";
    read_option(h, L, name, o);
  }
}

/* -- Time ----------------------------------------------------------------- */

/* In LuaJIT; NULL elsewhere. */
extern int luaJIT_setmode(lua_State *L, int idx, int mode)
  __attribute__((weak));

/* Compiled code does not call hooks: Note [Time limits]. */
static void stop_compiler(lua_State *L) {
  enum { ENGINE = 0, OFF = 0, FLUSH = 0x200 };
  if (!luaJIT_setmode) return;
  luaJIT_setmode(L, 0, ENGINE | FLUSH);
  luaJIT_setmode(L, 0, ENGINE | OFF);
}

static void on_count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (!lua_checkstack(L, 4)) return;
  const st__sandbox *s = find(L);                /* [0] */
  if (!s || !s->is_running || st_limits_check() == ST_OK) return;
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

/* -- Running -------------------------------------------------------------- */

typedef struct box { char unused; } box;

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
  const lua_Hook hook = lua_gethook(L);
  const int mask = lua_gethookmask(L), count = lua_gethookcount(L);
  if (s->is_timed) {
    stop_compiler(L);
    st_limits_set_time(s->limits, s->seconds);
    lua_sethook(L, on_count, LUA_MASKCOUNT, HOOK_INTERVAL);
  }
  st_limits *before = st_limits_enter(s->limits);
  s->is_running = true;
  int status = st__run_body(h, L, lua_gettop(L) - 2, LUA_MULTRET);
  if (status != 0) {
    make_text(h, L);
  } else if (s->is_timed && st_limits_check() != ST_OK) {
    lua_settop(L, 1); /* the script has ended, after its time */
    lua_pushstring(L, st_message());             /* [+1] */
    status = LUA_ERRRUN;
  }
  s->is_running = false;
  st_limits_enter(before);
  if (s->is_timed) {
    st_limits_set_time(s->limits, INFINITY);
    lua_sethook(L, hook, mask, count);
  }
  while (h->profile && h->profile != profile) st__profile_stop(h->profile);
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

/* sandbox([options]): turns it on; returns the box */
static int sandbox(lua_State *L) {
  st__state *h = st__state_of(L);
  st__sandbox *s = h->sandbox;
  options o = {.memory = INT64_MAX, .namespaces = " "};
  lua_settop(L, 1);
  if (s->taken) {
    return st__error(h, L, ST_BAD_STATE, "sandbox: this Lua state is in a "
                     "sandbox already");
  }
  read_options(h, L, &o);
  st__newudata(h, L, ST_UD_SANDBOX, sizeof(box)); /* [+1] */
  s->is_timed = o.seconds > 0;
  s->seconds = o.seconds;
  if (o.memory != INT64_MAX || o.threads || s->is_timed) {
    set_limits(h, L, o.memory, o.threads);
  }
  memcpy(s->namespaces, o.namespaces, sizeof s->namespaces);
  turn_on(s, o.allowed);
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__meta_sandbox(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {{"used", used}, {NULL, NULL}};
  static const luaL_Reg runners[] = {{"run", run}, {NULL, NULL}};
  lua_newtable(L);                               /* [+1] */
  st__set_functions(h, L, methods);
  st__set_body_functions(h, L, runners);
  lua_setfield(L, -2, "__index");                /* [-1] */
}

void st__open_sandbox(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"sandbox", sandbox}, {"is_sandboxed", is_sandboxed},
    {"check_taken", check_taken}, {"close_sandbox", close_sandbox},
    {NULL, NULL}
  };
  st__set_functions(h, L, functions);
}
