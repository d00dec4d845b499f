/* Process-wide settings: threads, versions, random generators.
 */

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "process/process.h"

/* -- Threads and versions ------------------------------------------------- */

static int get_num_threads(lua_State *L) {
  lua_pushinteger(L, st_num_threads()); /* [+1] */
  return 1;
}

static int set_num_threads(lua_State *L) {
  st__state *h = st__state_of(L);
  const int64_t n = st__check_int(h, L, 1, "n");
  st__cannot_record(h, L, "it changes a setting");
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

/* config(): {version =, api_version =, isa =, fma =, threads =,
 * machine = {choice = number}, kernels = {operator = isa}} */
static int config(lua_State *L) {
  lua_newtable(L);                 /* [+1] */
  lua_pushstring(L, st_version()); /* [+1] */
  lua_setfield(L, -2, "version");  /* [-1] */
  lua_pushinteger(L, st_api_version()); /* [+1] */
  lua_setfield(L, -2, "api_version");   /* [-1] */
  lua_pushstring(L, st_isa());     /* [+1] */
  lua_setfield(L, -2, "isa");      /* [-1] */
  lua_pushboolean(L, st_has_fma()); /* [+1] */
  lua_setfield(L, -2, "fma");       /* [-1] */
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

static const char DRAWS[] = "it uses the state of random numbers";

static st_generator *check_generator(lua_State *L) {
  st__state *h = st__state_of(L);
  st_generator **g = st__checkudata(h, L, 1, ST_UD_GENERATOR, "self");
  st__cannot_record(h, L, DRAWS);
  return *g;
}

/* manual_seed(seed): seeds the default generator and those of devices */
static int manual_seed(lua_State *L) {
  st__state *h = st__state_of(L);
  st__cannot_record(h, L, DRAWS);
  st_manual_seed((uint64_t)st__check_int(h, L, 1, "seed"));
  return 0;
}

static const char *algorithm_name(const st_generator *g) {
  return st_generator_algorithm(g) == ST_PHILOX ? "philox" : "mt19937";
}

/* The field `algorithm` of the table at 1, and its field `seed` in place of
 * it. */
static st_algorithm read_options(st__state *h, lua_State *L) {
  lua_pushnil(L);                               /* [+1] */
  while (lua_next(L, 1)) {                      /* [-1, +2] */
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(key, "algorithm") != 0 && strcmp(key, "seed") != 0) {
      st__error(h, L, ST_BAD_VALUE, "Generator: unknown option '%s': it "
                "has algorithm and seed", key);
    }
    lua_pop(L, 1);                              /* [-1] */
  }
  st__get_field(h, L, 1, "algorithm");          /* [+1] */
  const char *name = lua_isnil(L, -1) ? "mt19937" : lua_tostring(L, -1);
  const bool philox = name && strcmp(name, "philox") == 0;
  if (!name || (!philox && strcmp(name, "mt19937") != 0)) {
    st__error(h, L, ST_BAD_VALUE, "Generator: algorithm must be "
              "\"mt19937\" or \"philox\"");
  }
  st__get_field(h, L, 1, "seed");               /* [+1] */
  lua_replace(L, 1);                            /* [-1] */
  return philox ? ST_PHILOX : ST_MERSENNE;
}

/* Generator([seed]), Generator{algorithm =, seed =}: a new generator */
static int new_generator(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_algorithm algorithm = lua_istable(L, 1) ? read_options(h, L)
                                                   : ST_MERSENNE;
  const int64_t seed = lua_isnoneornil(L, 1)
                       ? (int64_t)st_system_seed()
                       : st__check_int(h, L, 1, "seed");
  st_generator **g = st__newudata(h, L, ST_UD_GENERATOR, sizeof *g);
  const st_status status = st_generator_new_of(algorithm, (uint64_t)seed, g);
  return status == ST_OK ? 1 : st__raise(h, L, status);
}

/* get_rng_state(): returns a copy of the default generator */
static int get_rng_state(lua_State *L) {
  st__state *h = st__state_of(L);
  st__cannot_record(h, L, DRAWS);
  st_generator **g = st__newudata(h, L, ST_UD_GENERATOR, sizeof *g);
  const st_status status = st_generator_new(0, g);
  if (status != ST_OK) return st__raise(h, L, status);
  st_generator_assign(*g, st_default_generator());
  return 1;
}

typedef struct state { const void *p; size_t n; } state;

/* A copy of the bytes of a state, in the tensor at idx. [+1] */
static state check_state(st__state *h, lua_State *L, int idx,
                         const char *name) {
  const st_tensor *t = st__check_tensor(h, L, idx, "state");
  st__access_elements(h, L, name);
  if (st_tensor_dtype(t) != ST_UINT8 || st_tensor_ndim(t) != 1 ||
      st_tensor_device(t) != ST_DEVICE_CPU ||
      !st_tensor_is_contiguous(t, ST_FORMAT_CONTIGUOUS)) {
    st__error(h, L, ST_BAD_VALUE, "%s: a state is a contiguous tensor of "
              "bytes, as get_state() of a generator returns", name);
  }
  const size_t n = (size_t)st_tensor_numel(t);
  void *copy = lua_newuserdata(L, n);                  /* [+1] */
  t = st__check_tensor(h, L, idx, "state"); /* which a finalizer may resize */
  if ((size_t)st_tensor_numel(t) != n) {
    st__error(h, L, ST_BAD_STATE, "%s: the state changed", name);
  }
  if (n > 0) memcpy(copy, st_tensor_data(t), n);
  st__check_lost(h, L, idx, name);
  return (state){copy, n};
}

/* Sets the default generator to a state, of the algorithm whose states have
 * this size. */
static st_status read_default(state s) {
  st_generator *g = NULL;
  st_status status = st_generator_new_of(ST_PHILOX, 0, &g);
  if (status == ST_OK &&
      st_generator_state_size(g) != s.n) {
    st_generator_release(&g);
    status = st_generator_new_of(ST_MERSENNE, 0, &g);
  }
  if (status != ST_OK) return status;
  status = st_generator_set_state(g, s.p, s.n);
  if (status == ST_OK) st_generator_assign(st_default_generator(), g);
  st_generator_release(&g);
  return status;
}

/* set_rng_state(generator or state): copies it to the default generator */
static int set_rng_state(lua_State *L) {
  st__state *h = st__state_of(L);
  st__cannot_record(h, L, DRAWS);
  if (st__to_tensor(h, L, 1)) {
    const state s = check_state(h, L, 1, "set_rng_state"); /* [+1] */
    const st_status status = read_default(s);
    return status == ST_OK ? 0 : st__raise(h, L, status);
  }
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

/* The generator at 1, which is not finalized. */
static st_generator *live_generator(st__state *h, lua_State *L) {
  st_generator *g = check_generator(L);
  if (!g) st__error(h, L, ST_BAD_STATE, "the generator was finalized");
  return g;
}

/* generator:manual_seed(seed): returns the generator */
static int generator_seed(lua_State *L) {
  st__state *h = st__state_of(L);
  st_generator *g = live_generator(h, L);
  st_generator_seed(g, (uint64_t)st__check_int(h, L, 2, "seed"));
  lua_settop(L, 1);
  return 1;
}

static int generator_initial_seed(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_generator *g = live_generator(h, L);
  st__push_int(h, L, (int64_t)st_generator_initial_seed(g)); /* [+1] */
  return 1;
}

static int generator_algorithm(lua_State *L) {
  const st_generator *g = live_generator(st__state_of(L), L);
  lua_pushstring(L, algorithm_name(g)); /* [+1] */
  return 1;
}

static int generator_clone(lua_State *L) {
  st__state *h = st__state_of(L);
  st_generator *g = live_generator(h, L);
  st_generator **out = st__newudata(h, L, ST_UD_GENERATOR, sizeof *out);
  const st_status status = st_generator_new(0, out);
  if (status != ST_OK) return st__raise(h, L, status);
  st_generator_assign(*out, g);
  return 1;
}

/* generator:split([n]): n new generators */
static int generator_split(lua_State *L) {
  st__state *h = st__state_of(L);
  st_generator *g = live_generator(h, L);
  const int64_t n = lua_isnoneornil(L, 2) ? 2 : st__check_int(h, L, 2, "n");
  if (n < 1 || n > 200) {
    return st__error(h, L, ST_BAD_VALUE, "split: n must be 1 to 200, it is %"
                     PRId64, n);
  }
  luaL_checkstack(L, (int)n + 4, "generators");
  for (int64_t i = 0; i < n; i++) {
    st_generator **out = st__newudata(h, L, ST_UD_GENERATOR, sizeof *out);
    const st_status status = st_generator_split(g, out);
    if (status != ST_OK) return st__raise(h, L, status);
  }
  return (int)n;
}

/* generator:jump(n): skips n words; returns the generator */
static int generator_jump(lua_State *L) {
  st__state *h = st__state_of(L);
  st_generator *g = live_generator(h, L);
  const int64_t n = st__check_int(h, L, 2, "n");
  if (n < 0) {
    return st__error(h, L, ST_BAD_VALUE, "jump: n must not be negative, it is %"
                     PRId64, n);
  }
  const st_status status = st_generator_jump(g, (uint64_t)n);
  if (status != ST_OK) return st__raise(h, L, status);
  lua_settop(L, 1);
  return 1;
}

/* generator:get_state(): a uint8 tensor */
static int generator_get_state(lua_State *L) {
  st__state *h = st__state_of(L);
  st_generator *g = live_generator(h, L);
  const int64_t size = (int64_t)st_generator_state_size(g);
  st__tensor_ud *ud = st__new_tensor_ud(h, L); /* [+1] */
  st_status status = st_tensor_empty(ST_DEVICE_CPU, ST_UINT8, 1, &size, NULL,
                                     &ud->t);
  if (status == ST_OK) {
    status = st_generator_get_state(g, st_tensor_data(ud->t), (size_t)size);
  }
  if (status != ST_OK) return st__raise(h, L, status);
  return 1;
}

/* generator:set_state(t): returns the generator */
static int generator_set_state(lua_State *L) {
  st__state *h = st__state_of(L);
  const state s = check_state(h, L, 2, "set_state");   /* [+1] */
  const st_status status = st_generator_set_state(live_generator(h, L), s.p,
                                                  s.n);
  if (status != ST_OK) return st__raise(h, L, status);
  lua_settop(L, 1);
  return 1;
}

static int generator_text(lua_State *L) {
  st_generator *g = check_generator(L);
  if (!g) {
    lua_pushliteral(L, "Generator (finalized)"); /* [+1] */
    return 1;
  }
  char text[80];
  snprintf(text, sizeof text, "Generator {algorithm = \"%s\", seed = %" PRIu64
           "}", algorithm_name(g), st_generator_initial_seed(g));
  lua_pushstring(L, text); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_generator(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__gc", generator_gc}, {"__tostring", generator_text}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"manual_seed", generator_seed},
    {"initial_seed", generator_initial_seed},
    {"algorithm", generator_algorithm}, {"clone", generator_clone},
    {"split", generator_split}, {"jump", generator_jump},
    {"get_state", generator_get_state}, {"set_state", generator_set_state},
    {NULL, NULL}
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
  st__fill_meta(h, ST_UD_GENERATOR, fill_generator);
  st__set_functions(h, L, functions);
}
