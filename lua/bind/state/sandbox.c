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
 */

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bind.h"
#include "state/sandbox.h"

/* X(class, function, its name in messages, type of a first argument with which
 * it stays: LUA_TNONE if it is always taken). A first argument of that type
 * does not have the function read an address or change the process. */
#define ST_TAKEN_MAP(X) \
  X(FILES, "open_source", "load", LUA_TNONE)                            \
  X(FILES, "open_aside", "save", LUA_TNONE)                             \
  X(FILES, "append", "append", LUA_TNONE)                               \
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

/* -- One per Lua state ---------------------------------------------------- */

static char registry_key;

st__sandbox *st__find_sandbox(lua_State *L) {
  lua_pushlightuserdata(L, &registry_key);       /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);              /* [-1, +1] */
  st__sandbox *s = lua_touserdata(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  return s;
}

bool st__sandbox_join(st__state *h, lua_State *L) {
  st__sandbox *s = st__find_sandbox(L);
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

void st__refuse_taken(st__state *h, lua_State *L, const char *name, int id) {
  if (h->is_broken) st__check_broken(h, L, name);
  st__error(h, L, ST_BAD_STATE, "%s: not available in a sandbox, which takes "
            "%s away", name, class_name[id]);
}

/* While it is closed, the library itself needs its internals. */
static bool takes(const st__sandbox *s, int id) {
  return s->taken & 1 << id && !(id == ID_INTERNALS && s->is_closing);
}

bool st__is_guarded(const luaL_Reg *fn) { return find_row(fn->name) != NULL; }

void st__check_guarded(st__state *h, lua_State *L, const luaL_Reg *fn) {
  if (!h->sandbox->taken) return;
  const struct taken *row = find_row(fn->name);
  if (takes(h->sandbox, row->id) &&
      (row->harmless == LUA_TNONE || lua_type(L, 1) != row->harmless)) {
    st__refuse_taken(h, L, row->name, row->id);
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
  st__refuse_taken(h, L, "library", ID_REGISTRATION);
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
    if (strcmp(class_name[id], class) == 0 && takes(h->sandbox, id)) {
      st__refuse_taken(h, L, name, id);
    }
  }
  return 0;
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
  st__prepare_closing(h, L);
  st__close_sandbox(h, L, 0, 0);
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

/* sandbox(options, close): turns it on; returns the box. close(given) closes
 * the Lua side: given gets the public modules. */
static int sandbox(lua_State *L) {
  st__state *h = st__state_of(L);
  st__sandbox *s = h->sandbox;
  options o = {.memory = INT64_MAX, .namespaces = " "};
  lua_settop(L, 2);
  if (h->is_broken) st__check_broken(h, L, "sandbox");
  if (s->taken) {
    return st__error(h, L, ST_BAD_STATE, "sandbox: this Lua state is in a "
                     "sandbox already");
  }
  read_options(h, L, &o);
  st__check_callable(h, L, 2, "close");
  st__prepare_closing(h, L);
  st__newudata(h, L, ST_UD_SANDBOX, 1); /* [+1] */
  s->is_timed = o.seconds > 0;
  s->seconds = o.seconds;
  if (o.memory != INT64_MAX || o.threads || s->is_timed) {
    set_limits(h, L, o.memory, o.threads);
  }
  memcpy(s->namespaces, o.namespaces, sizeof s->namespaces);
  st__close_sandbox(h, L, o.allowed, 2);
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_sandbox(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"sandbox", sandbox}, {"check_taken", check_taken}, {NULL, NULL}
  };
  st__keep_core(h, L);
  st__set_functions(h, L, functions);
}
