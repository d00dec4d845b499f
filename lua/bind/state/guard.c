/* What a sandbox takes away, and the guards of functions: Note [Sandboxes].
 */

#include <stdlib.h>
#include <string.h>

#include "state/error.h"
#include "state/guard.h"

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

const char *const st__class_name[] = {
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

/* The part of a binding state that holds the sandbox. */
typedef struct membership { st__sandbox *of; } membership;

static void leave(void *part) {
  st__sandbox *s = ((membership *)part)->of;
  if (!s || atomic_fetch_sub(&s->refs, 1) > 1) return;
  st_limits_release(&s->limits);
  free(s);
}

void st__sandbox_join(st__state *h, lua_State *L) {
  membership *m = st__new_part(h, L, sizeof *m, leave);
  st__sandbox *s = st__find_sandbox(L);
  if (s) {
    atomic_fetch_add(&s->refs, 1);
    h->sandbox = m->of = s;
    return;
  }
  lua_pushlightuserdata(L, &registry_key);       /* [+1] */
  s = calloc(1, sizeof *s);
  if (!s) luaL_error(L, "strided: out of memory");
  lua_pushlightuserdata(L, s);                   /* [+1] */
  h->sandbox = m->of = s;
  atomic_init(&s->refs, 1);
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
}

/* -- Taking --------------------------------------------------------------- */

static const struct taken *find_row(const char *function) {
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    if (strcmp(taken[i].function, function) == 0) return &taken[i];
  }
  return NULL;
}

void st__check_broken(st__state *h, lua_State *L, const char *name) {
  if (h->is_broken) st__error(h, L, ST_BAD_STATE, "%s: " ST_BROKEN, name);
}

void st__refuse_taken(st__state *h, lua_State *L, const char *name, int id) {
  if (h->is_broken) st__check_broken(h, L, name);
  st__error(h, L, ST_BAD_STATE, "%s: not available in a sandbox, which takes "
            "%s away", name, st__class_name[id]);
}

/* While it is closed, the library itself needs its internals. */
bool st__takes(const st__sandbox *s, int id) {
  return s->taken & 1 << id && !(id == ID_INTERNALS && s->is_closing);
}

bool st__is_guarded(const luaL_Reg *fn) { return find_row(fn->name) != NULL; }

void st__check_guarded(st__state *h, lua_State *L, const luaL_Reg *fn) {
  if (!h->sandbox->taken) return;
  const struct taken *row = find_row(fn->name);
  if (st__takes(h->sandbox, row->id) &&
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

/* Differs for different addresses, with the same certainty as a hash. */
int64_t st__hide_address(const st__state *h, const void *p) {
  uint64_t x = (uint64_t)(uintptr_t)p;
  if (!(h->sandbox->taken & ADDRESSES)) return (int64_t)x;
  x ^= h->sandbox->key;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return (int64_t)((x ^ x >> 31) >> 12); /* a double represents it */
}
