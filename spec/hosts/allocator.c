/* A host whose Lua runs out of memory: every allocation of a state, the k-th
 * one, is refused in turn, alone or with all that follow, while strided is
 * opened and then in each scenario of a script. Nothing crashes, errors arrive
 * as errors, and a closed state leaves nothing in the engine.
 *
 *     allocator SCRIPT
 *
 * Prints a line per scenario: its name and how many allocations failed.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "strided.h"

#ifndef LUA_OK
#define LUA_OK 0
#endif

enum { KINDS = 16, OPEN_STEP = 7, MOST = 20000 };

static int64_t fail_in;  /* allocations until one fails, 0: none does */
static bool persists;    /* and all after it */
static bool has_failed;
static size_t held;      /* bytes that the state has */
static int64_t before[KINDS];

static void give_up(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why ? why : "");
  exit(1);
}

/* Shrinking a block must not fail. */
static void *allocate(void *ud, void *p, size_t old, size_t n) {
  (void)ud;
  if (!p) old = 0; /* a later Lua says the type there */
  if (n == 0) {
    held -= old;
    free(p);
    return NULL;
  }
  if (n > old && fail_in > 0 && --fail_in == 0) {
    has_failed = true;
    fail_in = persists;
    return NULL;
  }
  void *q = realloc(p, n);
  if (q) held += n - old;
  return q;
}

static void fail_at(int64_t k) {
  fail_in = k;
  has_failed = false;
}

/* -- What is left --------------------------------------------------------- */

static void remember(void) {
  st_memory m;
  for (int k = 0; k < KINDS && st_memory_stats(k, &m); k++) {
    before[k] = m.count;
  }
}

static void check_left(const char *what) {
  st_memory m;
  for (int k = 0; k < KINDS && st_memory_stats(k, &m); k++) {
    if (strcmp(m.name, "registry") == 0 || m.count == before[k]) continue;
    fprintf(stderr, "%s: %lld %s, %lld before\n", what, (long long)m.count,
            m.name, (long long)before[k]);
    exit(1);
  }
}

/* -- Opening -------------------------------------------------------------- */

/* Leaves the script's list of scenarios on the stack, or raises. */
static int open_script(lua_State *L) {
  luaL_openlibs(L);
  if (luaL_loadfile(L, lua_touserdata(L, 1)) != LUA_OK) return lua_error(L);
  lua_call(L, 0, 1);
  return 1;
}

static int open_in(lua_State *L, const char *script) {
  lua_pushcfunction(L, open_script);
  lua_pushlightuserdata(L, (void *)(size_t)script);
  return lua_pcall(L, 1, 1, 0);
}

static void check_error(lua_State *L, const char *what, int status) {
  const char *why = lua_tostring(L, -1);
  if (status == LUA_ERRMEM) return;
  if (why && (strstr(why, "not enough memory") ||
              strstr(why, "out of memory") ||
              strstr(why, "stack overflow"))) { /* no memory for a stack */
    return;
  }
  give_up(what, why ? why : "an error that is no text");
}

/* Lets every OPEN_STEP-th allocation of opening fail; returns how many did. */
static int fail_opening(const char *script) {
  for (int64_t k = 1, n = 0;; k += OPEN_STEP, n++) {
    fail_at(k);
    lua_State *L = lua_newstate(allocate, NULL);
    const int status = L ? open_in(L, script) : LUA_ERRMEM;
    fail_in = 0;
    if (status != LUA_OK && L) check_error(L, "opening", status);
    if (L) lua_close(L);
    check_left("opening");
    if (held) give_up("opening", "the state kept memory");
    if (!has_failed) return (int)n;
  }
}

/* -- Scenarios ------------------------------------------------------------ */

/* The list is at 1. Calls its function number i, field. */
static int call(lua_State *L, int i, const char *field) {
  lua_rawgeti(L, 1, i);
  lua_getfield(L, -1, field);
  lua_remove(L, -2);
  return lua_pcall(L, 0, 0, 0);
}

static void collect(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
}

static int fail_scenario(lua_State *L, int i, const char *name) {
  for (int64_t k = 1; k < MOST; k++) {
    collect(L); /* or old strings serve again */
    fail_at(k);
    const int status = call(L, i, "run");
    fail_in = 0;
    if (status != LUA_OK) check_error(L, name, status);
    lua_settop(L, 1);
    const bool done = !has_failed;
    if (call(L, i, "check") != LUA_OK) give_up(name, lua_tostring(L, -1));
    if (done) return (int)k - 1;
  }
  give_up(name, "never succeeds");
  return 0;
}

static void run_scenarios(lua_State *L) {
  for (int i = 1;; i++) {
    lua_rawgeti(L, 1, i);
    if (lua_isnil(L, -1)) break;
    lua_getfield(L, -1, "name");
    const char *name = lua_tostring(L, -1);
    lua_settop(L, 1);
    if (call(L, i, "run") != LUA_OK) give_up(name, lua_tostring(L, -1));
    collect(L);
    remember();
    int n = 0;
    for (int way = 0; way < 2; way++) {
      persists = way == 1;
      n += fail_scenario(L, i, name);
    }
    persists = false;
    collect(L);
    check_left(name);
    printf("%s: %d\n", name, n);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) give_up("usage", "allocator SCRIPT");
  if (st_init() != ST_OK) give_up("st_init", st_message());
  lua_State *L = lua_newstate(allocate, NULL); /* what is kept is made */
  if (!L || open_in(L, argv[1]) != LUA_OK) {
    give_up("opening", L ? lua_tostring(L, -1) : "no state");
  }
  lua_close(L);
  remember();
  int n = fail_opening(argv[1]);
  persists = true;
  n += fail_opening(argv[1]);
  persists = false;
  printf("opening: %d\n", n);
  int64_t open[KINDS];
  memcpy(open, before, sizeof open);
  L = lua_newstate(allocate, NULL);
  if (!L || open_in(L, argv[1]) != LUA_OK) give_up("opening", "again");
  run_scenarios(L);
  lua_close(L);
  memcpy(before, open, sizeof open);
  check_left("closing");
  if (held) give_up("closing", "the state kept memory");
  return 0;
}
