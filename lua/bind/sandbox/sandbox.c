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

#include "sandbox/sandbox.h"

/* check_taken(class, name): raises if the sandbox takes the class away */
static int check_taken(lua_State *L) {
  st__state *h = st__state_of(L);
  const char *class = luaL_checkstring(L, 1), *name = luaL_checkstring(L, 2);
  for (int id = 0; EVERYTHING >> id; id++) {
    if (strcmp(st__class_name[id], class) == 0 && st__takes(h->sandbox, id)) {
      st__refuse_taken(h, L, name, id);
    }
  }
  return 0;
}

/* -- Turning it on -------------------------------------------------------- */

static int find_class(const char *name, size_t n) {
  for (int id = 0; 1 << id < INTERNALS; id++) {
    const char *class = st__class_name[id];
    if (strlen(class) == n && memcmp(class, name, n) == 0) {
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
