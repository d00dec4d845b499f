/* Operators and kernels from Lua.
 *
 * Note [Lua kernels]
 * The engine calls a Lua kernel through run_kernel, on whatever coroutine the
 * running call came from. Everything that may raise runs in protected mode:
 * an error is kept in the host and comes out again where the call entered
 * the engine. A kernel belongs to its Lua state; a call from another state or
 * thread is an error. The engine may hold on to a kernel after it has been
 * taken back; the reference to the function is dropped later, by the thread
 * of the state (st__bury).
 */

#include <stdlib.h>
#include <string.h>

#include "bind.h"

struct st__kernel_ref {
  st__host *h;           /* counted */
  int ref;               /* of the function in the registry */
  st__kernel_ref *next;  /* among the dead */
};

/* -- Life of a kernel ----------------------------------------------------- */

/* The engine is done with it; any thread. */
static void retire(void *ctx) {
  st__kernel_ref *k = ctx;
  st__host *h = k->h;
  pthread_mutex_lock(&h->mutex);
  const bool is_closed = h->is_closed;
  if (!is_closed) {
    k->next = h->dead;
    h->dead = k;
  }
  pthread_mutex_unlock(&h->mutex);
  if (!is_closed) return;
  free(k);
  st__host_release(h);
}

void st__bury(st__host *h, lua_State *L) {
  pthread_mutex_lock(&h->mutex);
  st__kernel_ref *k = h->dead;
  h->dead = NULL;
  pthread_mutex_unlock(&h->mutex);
  while (k) {
    st__kernel_ref *next = k->next;
    luaL_unref(L, LUA_REGISTRYINDEX, k->ref);
    free(k);
    st__host_release(h);
    k = next;
  }
}

/* -- Arguments and results ------------------------------------------------ */

static void push_tensors(st__host *h, lua_State *L, const st_value *v) {
  lua_createtable(L, (int)v->len, 0);              /* [+1] */
  for (int k = 0; k < (int)v->len; k++) {
    if (v->u.tensors[k]) {
      st__push_kept(h, L, v->u.tensors[k]);        /* [+1] */
    } else {
      st_mark *m = st__box_new(h, L, ST_BOX_MARK, sizeof *m); /* [+1] */
      *m = ST_MARK_NONE;
    }
    lua_rawseti(L, -2, k + 1);                     /* [-1] */
  }
}

/* A borrowed argument; dims, positions and ends become Lua's. [+1] */
static void push_argument(st__host *h, lua_State *L, const st_arg *a,
                          const st_value *v) {
  st_generator **g;
  st_value copy = *v;
  switch (v->tag) {
    case ST_TAG_TENSOR: st__push_kept(h, L, v->u.tensor); break;  /* [+1] */
    case ST_TAG_TENSORS: push_tensors(h, L, v); break;            /* [+1] */
    case ST_TAG_GENERATOR:
      g = st__box_new(h, L, ST_BOX_GENERATOR, sizeof *g);         /* [+1] */
      st_generator_retain(v->u.generator);
      *g = v->u.generator;
      break;
    default: st__push_value(h, L, a, &copy);                      /* [+1] */
  }
}

/* An owned copy of a converted result. */
static st_status own(const st_value *v, st_value *out) {
  st_scalar s = {ST_SCALAR_COMPLEX, {.c = {0, 0}}};
  switch (v->tag) {
    case ST_TAG_TENSOR: return st_value_of_tensor(v->u.tensor, out);
    case ST_TAG_TENSORS:
      return st_value_of_tensors(v->u.tensors, (int)v->len, out);
    case ST_TAG_INTS: return st_value_of_ints(v->u.ints, (int)v->len, out);
    case ST_TAG_STRING: return st_value_of_string(v->u.string, v->len, out);
    case ST_TAG_COMPLEX:
      memcpy(s.u.c, v->u.pair, sizeof s.u.c);
      return st_value_of_scalar(s, out);
    case ST_TAG_GENERATOR: st_generator_retain(v->u.generator); break;
    case ST_TAG_FLOATS: case ST_TAG_BOOLS:
      return st_fail(ST_BAD_TYPE, "a Lua kernel cannot return such a list");
    default: break;
  }
  *out = *v;
  return ST_OK;
}

/* -- Running -------------------------------------------------------------- */

typedef struct run {
  st__host *h;
  int ref;
  const st_op *op;
  /* The schema as it is when the call begins; the kernel may change it. */
  int nargs, nrets;
  const st_arg *schema, *results;
  const st_value *args;
  st_value *rets;
  int nowned;           /* results that rets has so far */
} run;

/* Result r is at idx. */
static void take_result(run *r, lua_State *L, int i, int idx) {
  st__frame f;
  f.h = r->h;
  f.L = L;
  f.op = r->op;
  f.allow_wrap = f.wants_wrap = f.explains = false;
  f.nslots = f.nwraps = f.ntensors = 0;
  const st_arg *a = &r->results[i];
  if (lua_isnil(L, idx) && a->optional) {
    f.args[0] = (st_value){.tag = ST_TAG_NONE};
  } else if (!st__convert(&f, 0, a, idx)) {
    st__error(r->h, L, ST_BAD_TYPE, "%s: result %d of its Lua kernel must be "
              "%s, got %s", st_op_name(r->op), i + 1, a->text,
              st__type_name(r->h, L, idx));
  }
  const st_status status = own(&f.args[0], &r->rets[i]);
  if (status != ST_OK) st__raise(r->h, L, status);
  r->nowned++;
}

static int run_protected(lua_State *L) {
  run *r = lua_touserdata(L, 1);
  const int nargs = r->nargs, nrets = r->nrets;
  luaL_checkstack(L, nargs + ST_FRAME_STACK * nrets + LUA_MINSTACK, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, r->ref);       /* [+1] */
  for (int i = 0; i < nargs; i++) {
    push_argument(r->h, L, &r->schema[i], &r->args[i]); /* [+1] */
  }
  const int base = lua_gettop(L) - nargs;
  lua_call(L, nargs, nrets);                       /* [-nargs-1, +nrets] */
  for (int i = 0; i < nrets; i++) take_result(r, L, i, base + i);
  return 0;
}

/* Keeps the error at the top of the stack for st__raise. [-1] */
static st_status keep_error(st__host *h, lua_State *L) {
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1)
                                                    : "an error object";
  const st_status status = st_fail(ST_HOST, "%s", text);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->error_ref); /* [-1] */
  h->has_error = true;
  return status;
}

static st_status run_kernel(const st_call *call, const st_value *args,
                            st_value *rets) {
  const st__kernel_ref *k = st_call_context(call);
  st__host *h = k->h;
  if (st__current_host() != h) {
    return st_fail(ST_BAD_STATE, "its kernel is a function of a Lua state "
                   "that is not running on this thread");
  }
  const st_op *op = st_call_operator(call);
  run r = {h, k->ref, op, st_op_nargs(op), st_op_nrets(op), st_op_arg(op, 0),
           st_op_ret(op, 0), args, rets, 0};
  lua_State *L = h->running;
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    return st_fail(ST_NO_MEMORY, "the Lua stack is full");
  }
  if (st__protected(L, run_protected, &r) == 0) return ST_OK; /* [+0|1] */
  for (int i = 0; i < r.nowned; i++) st_value_clear(&rets[i]);
  return keep_error(h, L);                                    /* [-1] */
}

/* -- Registrations -------------------------------------------------------- */

static st_registration **push_registration(st__host *h, lua_State *L) {
  return st__box_new(h, L, ST_BOX_REGISTRATION, sizeof(st_registration *));
}

static int registration_release(lua_State *L) {
  st__host *h = st__host_of(L);
  st_registration **r = st__box_test(h, L, 1, ST_BOX_REGISTRATION);
  if (r) st_registration_release(r);
  st__bury(h, L);
  return 0;
}

/* define(ns, schema, doc, debug): a registration */
static int define(lua_State *L) {
  st__host *h = st__host_of(L);
  const char *ns = luaL_checkstring(L, 1);
  const char *schema = luaL_checkstring(L, 2);
  st_registration **r = push_registration(h, L); /* [+1] */
  const st_status status = st_define(ns, schema, luaL_optstring(L, 3, ""),
                                     luaL_optstring(L, 4, ""), r);
  return status == ST_OK ? 1 : st__raise(h, L, status);
}

/* implement(name, key, fn or nil, debug): a registration; no fn registers a
 * fallthrough */
static int implement(lua_State *L) {
  st__host *h = st__host_of(L);
  const char *name = luaL_checkstring(L, 1);
  const char *key = luaL_optstring(L, 2, NULL);
  const char *debug = luaL_optstring(L, 4, "");
  st__kernel_ref *k = NULL;
  st_registration **r = push_registration(h, L);     /* [+1] */
  if (!lua_isnil(L, 3)) {
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_pushvalue(L, 3);                             /* [+1] */
    const int ref = luaL_ref(L, LUA_REGISTRYINDEX);  /* [-1] */
    k = malloc(sizeof *k);
    if (!k) {
      luaL_unref(L, LUA_REGISTRYINDEX, ref);
      return st__error(h, L, ST_NO_MEMORY, "%s: out of memory", name);
    }
    *k = (st__kernel_ref){h, ref, NULL};
    atomic_fetch_add(&h->refs, 1);
  }
  const st_status status = st_implement(name, key, k ? run_kernel : NULL, k,
                                        k ? retire : NULL, debug, r);
  if (status == ST_OK) return 1;
  if (k) retire(k);
  st__bury(h, L);
  return st__raise(h, L, status);
}

/* -- Opening -------------------------------------------------------------- */

void st__open_library(st__host *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"define", define}, {"implement", implement},
    {"release", registration_release}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"__gc", registration_release}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
  st__push_meta(h, L, ST_BOX_REGISTRATION); /* [+1] */
  st__set_functions(h, L, methods);
  lua_pop(L, 1);                            /* [-1] */
}
