/* Process-wide settings: threads, versions, random generators.
 */

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "bind.h"

/* -- Threads and versions ------------------------------------------------- */

static int get_num_threads(lua_State *L) {
  lua_pushinteger(L, st_num_threads()); /* [+1] */
  return 1;
}

static int set_num_threads(lua_State *L) {
  st__state *h = st__state_of(L);
  const int64_t n = st__check_int(h, L, 1, "n");
  if (n < INT_MIN || n > INT_MAX) {
    return st__error(h, L, ST_BAD_VALUE, "the number of threads must be 1 to "
                     "256, not %" PRId64, n);
  }
  const st_status status = st_set_num_threads((int)n);
  return status == ST_OK ? 0 : st__raise(h, L, status);
}

static bool count_kernels(void *ctx, const st_op *op) {
  *(int *)ctx += st_op_isa(op) != NULL;
  return true;
}

typedef struct handles { const st_op **ops; int n, max; } handles;

static bool collect_kernels(void *ctx, const st_op *op) {
  handles *all = ctx;
  if (all->n < all->max && st_op_isa(op)) all->ops[all->n++] = op;
  return all->n < all->max;
}

/* {["aten::add.Tensor"] = "avx2", ...}. Collects the operators first: no Lua
 * code may run during st_op_each. [+1] */
static void push_kernels(lua_State *L) {
  int max = 1;
  st_op_each(count_kernels, &max);
  handles all = {lua_newuserdata(L, (size_t)max * sizeof(st_op *)), 0, max};
  st_op_each(collect_kernels, &all);                       /* [+1] */
  lua_createtable(L, 0, all.n);                            /* [+1] */
  for (int k = 0; k < all.n; k++) {
    const char *overload = st_op_overload_name(all.ops[k]);
    lua_pushfstring(L, *overload ? "%s.%s" : "%s",
                    st_op_name(all.ops[k]), overload);     /* [+1] */
    lua_pushstring(L, st_op_isa(all.ops[k]));              /* [+1] */
    lua_rawset(L, -3);                                     /* [-2] */
  }
  lua_remove(L, -2);                                       /* [-1] */
}

static void push_machine(lua_State *L) {
  int64_t value;
  lua_newtable(L);                          /* [+1] */
  for (int i = 0;; i++) {
    const char *name = st_machine_choice(i, &value);
    if (!name) break;
    lua_pushnumber(L, (lua_Number)value);   /* [+1] */
    lua_setfield(L, -2, name);              /* [-1] */
  }
}

/* config(): {version =, isa =, threads =, machine = {choice = number},
 * kernels = {operator = isa}} */
static int config(lua_State *L) {
  lua_newtable(L);                 /* [+1] */
  lua_pushstring(L, st_version()); /* [+1] */
  lua_setfield(L, -2, "version");  /* [-1] */
  lua_pushstring(L, st_isa());     /* [+1] */
  lua_setfield(L, -2, "isa");      /* [-1] */
  lua_pushinteger(L, st_num_threads()); /* [+1] */
  lua_setfield(L, -2, "threads");  /* [-1] */
  push_machine(L);                 /* [+1] */
  lua_setfield(L, -2, "machine");  /* [-1] */
  push_kernels(L);                 /* [+1] */
  lua_setfield(L, -2, "kernels");  /* [-1] */
  return 1;
}

/* set_home(source): the folder of strided's Lua files, for st__raise */
static int set_home(lua_State *L) {
  st__state *h = st__state_of(L);
  size_t n;
  const char *home = luaL_checklstring(L, 1, &n);
  if (n < sizeof h->home) memcpy(h->home, home, n + 1);
  return 0;
}

/* -- Random numbers ------------------------------------------------------- */

static st_generator *check_generator(lua_State *L) {
  return *(st_generator **)st__checkudata(st__state_of(L), L, 1,
                                          ST_UD_GENERATOR, "self");
}

/* manual_seed(seed): seeds the default generator */
static int manual_seed(lua_State *L) {
  st__cannot_record(st__state_of(L), "it seeds random numbers");
  st__state *h = st__state_of(L);
  st_generator_seed(st_default_generator(),
                    (uint64_t)st__check_int(h, L, 1, "seed"));
  return 0;
}

/* Generator([seed]): returns a new generator */
static int new_generator(lua_State *L) {
  st__state *h = st__state_of(L);
  const int64_t seed = lua_isnoneornil(L, 1)
                       ? 67280421310721 : st__check_int(h, L, 1, "seed");
  st_generator **g = st__newudata(h, L, ST_UD_GENERATOR, sizeof *g);
  const st_status status = st_generator_new((uint64_t)seed, g);
  return status == ST_OK ? 1 : st__raise(h, L, status);
}

/* get_rng_state(): returns a copy of the default generator */
static int get_rng_state(lua_State *L) {
  st__state *h = st__state_of(L);
  st_generator **g = st__newudata(h, L, ST_UD_GENERATOR, sizeof *g);
  const st_status status = st_generator_new(0, g);
  if (status != ST_OK) return st__raise(h, L, status);
  st_generator_assign(*g, st_default_generator());
  return 1;
}

/* set_rng_state(generator): copies its state to the default generator */
static int set_rng_state(lua_State *L) {
  st__cannot_record(st__state_of(L), "it seeds random numbers");
  st__state *h = st__state_of(L);
  st_generator *g = *(st_generator **)st__checkudata(h, L, 1, ST_UD_GENERATOR,
                                                     "generator");
  if (!g) return st__error(h, L, ST_BAD_STATE, "the generator was finalized");
  st_generator_assign(st_default_generator(), g);
  return 0;
}

static int generator_gc(lua_State *L) {
  st_generator **g = st__testudata(st__state_of(L), L, 1, ST_UD_GENERATOR);
  if (g) st_generator_release(g);
  return 0;
}

/* generator:manual_seed(seed): returns the generator */
static int generator_seed(lua_State *L) {
  st__state *h = st__state_of(L);
  st_generator *g = check_generator(L);
  if (!g) return st__error(h, L, ST_BAD_STATE, "the generator was finalized");
  st_generator_seed(g, (uint64_t)st__check_int(h, L, 2, "seed"));
  lua_settop(L, 1);
  return 1;
}

static int generator_initial_seed(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_generator *g = check_generator(L);
  if (!g) return st__error(h, L, ST_BAD_STATE, "the generator was finalized");
  st__push_int(h, L, (int64_t)st_generator_initial_seed(g)); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

void st__meta_generator(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__gc", generator_gc}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"manual_seed", generator_seed},
    {"initial_seed", generator_initial_seed}, {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                       /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");        /* [-1] */
}

void st__open_system(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"get_num_threads", get_num_threads},
    {"set_num_threads", set_num_threads}, {"config", config},
    {"set_home", set_home}, {"manual_seed", manual_seed},
    {"Generator", new_generator}, {"get_rng_state", get_rng_state},
    {"set_rng_state", set_rng_state},
    /* The same for strided.autograd.checkpoint, which undoes what it sets:
     * sandboxes do not take these. */
    {"copy_rng", get_rng_state}, {"restore_rng", set_rng_state}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
}
