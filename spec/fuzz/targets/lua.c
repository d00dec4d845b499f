/* A libFuzzer target for what is reached through Lua: any bytes, given to the
 * function that spec/fuzz/targets/NAME.lua returns. It raises what it likes,
 * but a broken promise goes to the global function `broken`, and that ends the
 * run.
 *
 *     ./dev fuzz 1000000 slices
 *
 * Note [Lines are paths]
 * Clang's counters see our C code alone. A line of Lua that follows another
 * counts as an edge too, so parsers in Lua are searched as those in C are.
 *
 * Note [One state for many inputs]
 * Opening a state takes a thousand times as long as an input does. So one
 * lives for many, and what it has left behind is looked for now and then and
 * at the end.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "strided.h"

enum {
  LOOK = 20000,     /* inputs between two looks at what is alive */
  RENEW = 200000,   /* inputs of a state */
  EDGES = 1 << 14,
  KINDS = 16
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

__attribute__((section("__libfuzzer_extra_counters")))
static uint8_t edges[EDGES];

static lua_State *L;
static int inputs;                 /* of this state */
static int64_t before[KINDS];      /* alive once the state was open */

/* -- Paths ---------------------------------------------------------------- */

static uint32_t hash(const char *s) {
  uint32_t h = 2166136261u;
  for (; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
  return h;
}

/* Note [Lines are paths] */
static void see_line(lua_State *state, lua_Debug *ar) {
  static uint32_t last, source_hash;
  static const char *source;
  lua_getinfo(state, "S", ar);
  if (ar->source != source) source_hash = hash(source = ar->source);
  const uint32_t here = (source_hash + (uint32_t)ar->currentline) * 2654435761u;
  uint8_t *edge = &edges[((here >> 16) ^ (last >> 17)) % EDGES];
  *edge += *edge < UINT8_MAX;
  last = here;
}

/* -- Promises ------------------------------------------------------------- */

static void give_up(const char *what) {
  fprintf(stderr, "broken: %s\n", what);
  abort();
}

static int broken(lua_State *state) {
  give_up(luaL_checkstring(state, 1));
  return 0;
}

/* Names that were registered once stay. */
static void check_live(void) {
  st_memory m;
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  for (int k = 0; k < KINDS && st_memory_stats(k, &m); k++) {
    if (before[k] == m.count || strcmp(m.name, "registry") == 0) continue;
    fprintf(stderr, "%lld %s are alive, %lld before\n", (long long)m.count,
            m.name, (long long)before[k]);
    give_up("something was left behind");
  }
}

/* -- The state ------------------------------------------------------------ */

static void check(int status) {
  if (status != 0) give_up(lua_tostring(L, -1));
}

/* The target's function is left at slot 1, what marks errors at slot 2. */
static void open_state(void) {
  const char *name = getenv("FUZZ_TARGET");
  st_memory m;
  if (!name) give_up("FUZZ_TARGET must name a target");
  L = luaL_newstate();
  if (!L) give_up("no state");
  luaL_openlibs(L);
  lua_register(L, "broken", broken);
  lua_getglobal(L, "require");
  lua_pushfstring(L, "spec.fuzz.targets.%s", name);
  check(lua_pcall(L, 1, 1, 0));
  inputs = 0;
  LLVMFuzzerTestOneInput((const uint8_t *)"", 0); /* what is kept is made */
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  for (int k = 0; k < KINDS && st_memory_stats(k, &m); k++) {
    before[k] = m.count;
  }
  lua_sethook(L, see_line, LUA_MASKLINE, 0);
}

static void finish(void) {
  lua_sethook(L, NULL, 0, 0);
  check_live();
  lua_close(L);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  open_state();
  atexit(finish);
  return 0;
}

/* An error of Lua itself is a check that ours lack: "file:12: attempt to". */
static void check_error(void) {
  const char *why = lua_tostring(L, -1);
  const char *text = why ? strstr(why, ": ") : NULL;
  if (text && strncmp(text, ": attempt to ", 13) == 0) give_up(why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_pushvalue(L, 1);
  lua_pushlstring(L, (const char *)data, size);
  if (lua_pcall(L, 1, 0, 0) != 0) check_error();
  lua_settop(L, 1);
  inputs++;
  if (inputs % LOOK == 0) check_live();
  if (inputs == RENEW) {
    finish();
    open_state();
  }
  return 0;
}
