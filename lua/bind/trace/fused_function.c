/* Fused functions: st.fuse. A call finds the steps that were made of a
 * function for arguments like these, and runs them; or it records them first;
 * or it calls the function.
 *
 * Note [The function of a fused function]
 * The function, and what it gives besides tensors, are in the environment of
 * the box, not in the registry: a function whose upvalues refer to the box
 * would never be collected. What it has met is held by the steps, as tensors
 * without boxes; their environments (Note [Anchors]) are found through the
 * boxes that the function itself refers to.
 */

#include <string.h>

#include "bind.h"

enum { MOST_ARGS = 32, MOST_OUTPUTS = 16, MOST_SLOTS = 64,
       FUNCTION = 1, CONSTANTS = 2 };

typedef struct fusion {
  st_fusion *f;
  st_steps *pinned;    /* that ran last, so that they do not go while they
                          run */
  bool is_running;
  uint64_t constants;  /* by slot: results are not only tensors */
} fusion;

/* A call on its way. Arguments are at 2 .. nargs + 1. */
typedef struct call {
  st__host *h;
  lua_State *L;
  fusion *box;
  int nargs, ntensors;
  st_fusion_arg args[MOST_ARGS];
  double numbers[MOST_ARGS];
#if LUA_VERSION_NUM >= 503
  lua_Integer integers[MOST_ARGS];
#endif
  bool flags[MOST_ARGS];
  st_tensor *inputs[MOST_ARGS];
} call;

static fusion *check_fusion(lua_State *L) {
  return st__box_check(st__host_of(L), L, 1, ST_BOX_FUSION, "self");
}

void st__check_known(st__host *h, lua_State *L, const st_tensor *t) {
  if (!h->recording) return;
  if (st_rehearsal_has(h->recording, t)) {
    st__raise(h, L, st_rehearsal_ask(h->recording));
  }
  st__cannot_record(h, "it looks at the elements of a tensor that it has met");
}

/* -- Arguments ------------------------------------------------------------ */

static void take_number(call *c, st_fusion_arg *a, int i) {
#if LUA_VERSION_NUM >= 503
  if (lua_isinteger(c->L, i + 2)) {
    c->integers[i] = lua_tointeger(c->L, i + 2);
    *a = (st_fusion_arg){NULL, &c->integers[i], sizeof *c->integers,
                         LUA_TNUMBER | 0x40};
    return;
  }
#endif
  c->numbers[i] = lua_tonumber(c->L, i + 2);
  *a = (st_fusion_arg){NULL, &c->numbers[i], sizeof *c->numbers, LUA_TNUMBER};
}

static bool take_tensor(call *c, st_fusion_arg *a, int i) {
  st_tensor *t = st__to_tensor(c->h, c->L, i + 2);
  if (!t) return false;
  *a = (st_fusion_arg){t, NULL, 0, LUA_TUSERDATA};
  c->inputs[c->ntensors++] = t;
  return true;
}

static bool take_string(call *c, st_fusion_arg *a, int i) {
  size_t n;
  a->bytes = lua_tolstring(c->L, i + 2, &n);
  a->nbytes = (int)n;
  return n < 1024;
}

/* False: calls with such arguments are not told from others. */
static bool take_arg(call *c, int i) {
  st_fusion_arg *a = &c->args[i];
  const int type = lua_type(c->L, i + 2);
  *a = (st_fusion_arg){NULL, "", 0, type};
  switch (type) {
    case LUA_TUSERDATA: return take_tensor(c, a, i);
    case LUA_TNUMBER: take_number(c, a, i); return true;
    case LUA_TSTRING: return take_string(c, a, i);
    case LUA_TBOOLEAN:
      c->flags[i] = lua_toboolean(c->L, i + 2);
      a->bytes = &c->flags[i];
      a->nbytes = sizeof c->flags[i];
      return true;
    default: return type == LUA_TNIL;
  }
}

static bool take_args(call *c) {
  c->ntensors = 0;
  if (c->nargs > MOST_ARGS) return false;
  for (int i = 0; i < c->nargs; i++) {
    if (!take_arg(c, i)) return false;
  }
  return c->ntensors > 0;
}

/* -- The function itself -------------------------------------------------- */

/* [+1] */
static void push_kept(lua_State *L, int what) {
  st__get_env(L, 1);                                   /* [+1] */
  lua_rawgeti(L, -1, what);                            /* [+1] */
  lua_remove(L, -2);                                   /* [-1] */
}

/* With the arguments; returns how many results there are. */
static int call_function(lua_State *L, int nargs) {
  lua_settop(L, nargs + 1);
  push_kept(L, FUNCTION);                              /* [+1] */
  lua_replace(L, 1);                                   /* [-1] */
  lua_call(L, nargs, LUA_MULTRET);                     /* [-n-1, +n] */
  return lua_gettop(L);
}

/* -- Recording ------------------------------------------------------------ */

/* In a list of results: a tensor, and nil. */
static char tensor_mark, nil_mark;

/* Puts doubles in place of the tensors among the arguments, which are from
 * first on; one that is there twice is one double. */
static void put_doubles(const call *c, lua_State *L, int first) {
  for (int i = 0, at = 0; i < c->nargs; i++) {
    if (!c->args[i].tensor) continue;
    int same = 0;
    while (c->args[same].tensor != c->args[i].tensor) same++;
    if (same < i) {
      lua_pushvalue(L, first + same);                  /* [+1] */
    } else {
      st__push_kept(c->h, L,                           /* [+1] */
                    st_rehearsal_input(c->h->recording, at));
    }
    lua_replace(L, first + i);                         /* [-1] */
    at++;
  }
}

/* The n results from first on as a list of marks and constants, nil when all
 * are tensors. [+1] */
static void push_constants(st__host *h, lua_State *L, int first, int n) {
  int ntensors = 0;
  lua_createtable(L, n, 0);                            /* [+1] */
  for (int i = 0; i < n; i++) {
    const int type = lua_type(L, first + i);
    const bool is_tensor = st__to_tensor(h, L, first + i) != NULL;
    ntensors += is_tensor;
    if (is_tensor) {
      lua_pushlightuserdata(L, &tensor_mark);          /* [+1] */
    } else if (type == LUA_TNIL) {
      lua_pushlightuserdata(L, &nil_mark);             /* [+1] */
    } else if (type == LUA_TNUMBER || type == LUA_TSTRING ||
               type == LUA_TBOOLEAN) {
      lua_pushvalue(L, first + i);                     /* [+1] */
    } else {
      st__cannot_record(h, "it returns what is neither a tensor nor plain");
      lua_pushboolean(L, 0);                           /* [+1] */
    }
    lua_rawseti(L, -2, i + 1);                         /* [-1] */
  }
  if (ntensors < n || n == 0) return;
  lua_pop(L, 1);                                       /* [-1] */
  lua_pushnil(L);                                      /* [+1] */
}

/* run_recorded(call, fn, ...): the list of constants or nil, and what fn
 * returns for doubles */
static int run_recorded(lua_State *L) {
  const call *c = lua_touserdata(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  put_doubles(c, L, 3);
  lua_call(L, c->nargs, LUA_MULTRET);                  /* [-n-1, +n] */
  const int n = lua_gettop(L) - 1;
  if (n > MOST_OUTPUTS) st__cannot_record(c->h, "it returns too much");
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  push_constants(c->h, L, 2, n);                       /* [+1] */
  lua_replace(L, 1);                                   /* [-1] */
  return n + 1;
}

static void say_where(void *ctx, char *text, size_t size) {
  const call *c = ctx;
  st__place(c->h, c->h->running ? c->h->running : c->L, text, size);
}

/* The tensors among n values from first on. */
static int read_outputs(const call *c, int first, int n, st_tensor **out) {
  int ntensors = 0;
  for (int i = 0; i < n && i < MOST_OUTPUTS; i++) {
    st_tensor *t = st__to_tensor(c->h, c->L, first + i);
    if (t) out[ntensors++] = t;
  }
  return ntensors;
}

/* The environment has room for it. constants: where they are */
static void keep_constants(const call *c, const st_steps *steps,
                           int constants) {
  lua_State *L = c->L;
  const int slot = st_steps_slot(steps);
  const uint64_t bit = (uint64_t)1 << slot;
  const bool has_some = !lua_isnil(L, constants);
  c->box->constants = has_some ? c->box->constants | bit
                               : c->box->constants & ~bit;
  st__get_env(L, 1);                                   /* [+1] */
  if (has_some) lua_pushvalue(L, constants);           /* [+1] */
  else lua_pushboolean(L, 0);                          /* [+1] */
  lua_rawseti(L, -2, CONSTANTS + slot);                /* [-1] */
  lua_pop(L, 1);                                       /* [-1] */
}

/* Calls the function with doubles. NULL: it has to be called. */
static st_steps *record(call *c) {
  lua_State *L = c->L;
  st__host *h = c->h;
  st_tensor *outputs[MOST_OUTPUTS];
  st_steps *steps = NULL;
  const int base = c->nargs + 1;
  const st_tracing_config config = {st_fusion_name(c->box->f), c->ntensors, 0,
                                    say_where, c};
  st__check_turn(h, L, "fuse");
  luaL_checkstack(L, c->nargs + LUA_MINSTACK, "arguments");
  lua_pushcfunction(L, run_recorded);                  /* [+1] */
  lua_pushlightuserdata(L, c);                         /* [+1] */
  push_kept(L, FUNCTION);                              /* [+1] */
  for (int i = 0; i < c->nargs; i++) lua_pushvalue(L, i + 2); /* [+1] */
  st_rehearsal *r;
  st_status status = st_rehearsal_begin(&config, c->inputs, &r);
  if (status != ST_OK) st__raise(h, L, status);
  h->recording = r;
  const int failed = st__run_body(h, L, c->nargs + 2, LUA_MULTRET);
  h->recording = NULL;
  const int n = failed ? -1 : read_outputs(c, base + 2,
                                           lua_gettop(L) - base - 1, outputs);
  status = st_fusion_end(c->box->f, c->nargs, c->args, &r, n, outputs,
                         &steps);
  if (status != ST_OK && failed) lua_error(L);
  if (status != ST_OK) st__raise(h, L, status);
  if (steps) keep_constants(c, steps, base + 1);
  lua_settop(L, base);
  return steps;
}

/* -- Running -------------------------------------------------------------- */

static void pin(fusion *box, st_steps *steps) {
  st_steps *old = box->pinned;
  box->pinned = steps;
  if (old) st_steps_release(&old);
}

/* Bytes that a result is the first to keep alive. */
static int64_t weight(const st_tensor *t) {
  return st_tensor_storage_refcount(t) > 1
         ? 0 : (int64_t)st_tensor_storage_nbytes(t);
}

/* Where input k is on the stack. */
static int place_of(const call *c, int k) {
  int i = 0;
  while (!c->args[i].tensor || k-- > 0) i++;
  return i + 2;
}

/* A box for output k, or the argument that it is. [+1] */
static void push_output(const call *c, const st_steps *steps, int k) {
  const int input = st_steps_output(steps, k);
  if (input < 0) st__push_box(c->h, c->L);             /* [+1] */
  else lua_pushvalue(c->L, place_of(c, input));        /* [+1] */
}

/* Boxes of the results, and what is no tensor. Returns how many. [+n] */
static int push_results(const call *c, const st_steps *steps, int *at) {
  lua_State *L = c->L;
  const int slot = st_steps_slot(steps);
  int n = 0;
  luaL_checkstack(L, MOST_OUTPUTS + LUA_MINSTACK, NULL);
  if (!(c->box->constants >> slot & 1)) {
    for (; n < st_steps_noutputs(steps); n++) {
      push_output(c, steps, n);                        /* [+1] */
      at[n] = lua_gettop(L);
    }
    return n;
  }
  push_kept(L, CONSTANTS + slot);               /* [+1] */
  const int list = lua_gettop(L), nresults = (int)lua_objlen(L, list);
  for (int i = 0; i < nresults; i++) {
    lua_rawgeti(L, list, i + 1);                       /* [+1] */
    const void *mark = lua_touserdata(L, -1);
    if (mark == &tensor_mark) {
      lua_pop(L, 1);                                   /* [-1] */
      push_output(c, steps, n);                        /* [+1] */
      at[n++] = lua_gettop(L);
    } else if (mark == &nil_mark) {
      lua_pop(L, 1);                                   /* [-1] */
      lua_pushnil(L);                                  /* [+1] */
    }
  }
  lua_remove(L, list);                                 /* [-1] */
  for (int i = 0; i < n; i++) at[i]--;
  return nresults;
}

/* The environment of the arguments and of what the function has met. [+0|1] */
static bool gather(const call *c, const st_steps *steps) {
  st__host *h = c->h;
  lua_State *L = c->L;
  bool has_one = false;
  for (int i = 0; i < c->nargs; i++) {
    if (c->args[i].tensor) has_one = st__gather(h, L, i + 2, has_one);
  }
  for (int i = 0; i < st_steps_nkept(steps); i++) {
    st_tensor *t = st_steps_kept(steps, i);
    if (!st_tensor_requires_grad(t) || !st__push_known(h, L, t)) continue;
    if (has_one) lua_insert(L, -2);                    /* [+1] */
    const int at = lua_gettop(L) - has_one;
    has_one = st__gather(h, L, at, has_one);           /* [+0|1] */
    lua_remove(L, at);                                 /* [-1] */
  }
  return has_one;
}

/* What the results need of the arguments' environments, and of those that the
 * function has met. at: where they are */
static void settle(const call *c, const st_steps *steps, const int *at) {
  st__host *h = c->h;
  lua_State *L = c->L;
  const bool has_one = h->anchors.count > 0 && gather(c, steps); /* [+0|1] */
  for (int i = 0; i < st_steps_noutputs(steps); i++) {
    if (has_one) st__settle_with(h, L, at[i], false);
    else if (st_tensor_requires_grad(st__to_tensor(h, L, at[i]))) {
      st__note_box(h, L, at[i]);
    }
  }
  if (has_one) lua_pop(L, 1);                          /* [-1] */
}

static st_status run_steps(const call *c, const st_steps *steps,
                           st_tensor **outs) {
  st__entry e;
  fusion *box = c->box;
  st_status status = st__begin(c->h, c->L, st_fusion_name(box->f), &e);
  if (status != ST_OK) return status;
  box->is_running = true;
  status = st_steps_run(steps, c->inputs, outs);
  box->is_running = false;
  return st__end(c->h, c->L, &e, status);
}

/* Are the arguments and the steps what they were? Finalisers have run. */
static bool is_same(const call *c, const st_steps *steps) {
  for (int i = 0; i < c->nargs; i++) {
    if (c->args[i].tensor &&
        st__to_tensor(c->h, c->L, i + 2) != c->args[i].tensor) {
      return false;
    }
  }
  return c->box->pinned == steps && !c->box->is_running;
}

static void take_outputs(const call *c, const st_steps *steps,
                         const int *at, st_tensor **outs) {
  for (int i = 0; i < st_steps_noutputs(steps); i++) {
    if (st_steps_output(steps, i) >= 0) {
      st_tensor_release(&outs[i]);
    } else {
      ((st__box *)lua_touserdata(c->L, at[i]))->t = outs[i];
    }
  }
}

static int run(const call *c, st_steps *steps) {
  lua_State *L = c->L;
  st_tensor *outs[MOST_OUTPUTS];
  int at[MOST_OUTPUTS];
  bool made = false, is_loose = c->h->anchors.count > 0;
  int64_t bytes = 0;
  if (c->box->is_running) {
    st_steps_release(&steps);
    return call_function(L, c->nargs);
  }
  pin(c->box, steps);
  const int n = push_results(c, steps, at);    /* [+n] */
  if (!is_same(c, steps)) return call_function(L, c->nargs);
  st_status status = run_steps(c, steps, outs);
  if (status == ST_NO_MEMORY && !st_steps_are_random(steps) &&
      st__make_room(c->h, L, &made)) {
    if (!is_same(c, steps)) return call_function(L, c->nargs);
    status = run_steps(c, steps, outs);
  }
  if (status != ST_OK) return st__raise(c->h, L, status);
  for (int i = 0; i < st_steps_noutputs(steps); i++) {
    if (st_steps_output(steps, i) < 0) bytes += weight(outs[i]);
    is_loose = is_loose || st_tensor_requires_grad(outs[i]);
  }
  take_outputs(c, steps, at, outs);
  if (is_loose) settle(c, steps, at);
  st__charge(c->h, L, NULL, bytes);
  return n;
}

/* Is the function called, whatever the arguments? */
static bool is_called(const call *c) {
  return c->h->recording || c->h->tracing || c->box->is_running;
}

/* f(...) */
static int call_fusion(lua_State *L) {
  call c;
  st_steps *steps;
  c.h = st__host_of(L);
  c.L = L;
  c.box = check_fusion(L);
  c.nargs = lua_gettop(L) - 1;
  if (is_called(&c) || !take_args(&c)) return call_function(L, c.nargs);
  if (!st_fusion_find(c.box->f, c.nargs, c.args, &steps)) steps = record(&c);
  return steps ? run(&c, steps) : call_function(L, c.nargs);
}

/* -- Methods -------------------------------------------------------------- */

/* f:explain(...): the steps for these arguments, or why there are none */
static int explain(lua_State *L) {
  call c;
  st_steps *steps;
  c.h = st__host_of(L);
  c.L = L;
  c.box = check_fusion(L);
  c.nargs = lua_gettop(L) - 1;
  if (is_called(&c) || !take_args(&c)) {
    lua_pushliteral(L, "the function is called: these arguments cannot be "
                    "told from others\n");             /* [+1] */
    return 1;
  }
  if (!st_fusion_find(c.box->f, c.nargs, c.args, &steps)) steps = record(&c);
  if (!steps) {
    lua_pushfstring(L, "the function is called: %s\n", /* [+1] */
                    st_fusion_why(c.box->f, c.nargs, c.args));
    return 1;
  }
  pin(c.box, steps);
  char **text = st__box_new(c.h, L, ST_BOX_TEXT, sizeof *text); /* [+1] */
  if (c.box->pinned != steps) return 0;
  const st_status status = st_steps_text(steps, text);
  if (status != ST_OK) return st__raise(c.h, L, status);
  lua_pushstring(L, *text);                            /* [+1] */
  st_text_release(text);
  return 1;
}

/* f:clear(): forgets all steps */
static int clear(lua_State *L) {
  fusion *box = check_fusion(L);
  st_fusion_clear(box->f);
  if (!box->is_running) pin(box, NULL);
  return 0;
}

static int fusion_tostring(lua_State *L) {
  lua_pushfstring(L, "fused function (%s)",            /* [+1] */
                  st_fusion_name(check_fusion(L)->f));
  return 1;
}

static int fusion_gc(lua_State *L) {
  fusion *box = st__box_test(st__host_of(L), L, 1, ST_BOX_FUSION);
  if (!box || !box->f) return 0;
  pin(box, NULL);
  st_fusion_release(&box->f);
  return 0;
}

/* fuse(fn, name): a fused function */
static int fuse(lua_State *L) {
  st__host *h = st__host_of(L);
  st__check_callable(h, L, 1, "fn");
  const char *name = luaL_checkstring(L, 2);
  fusion *box = st__box_new(h, L, ST_BOX_FUSION, sizeof *box); /* [+1] */
  lua_createtable(L, CONSTANTS + MOST_SLOTS, 0);       /* [+1] */
  lua_pushvalue(L, 1);                                 /* [+1] */
  lua_rawseti(L, -2, FUNCTION);                        /* [-1] */
  st__set_env(L, -2);                                  /* [-1] */
  const st_status status = st_fusion_new(name, &box->f);
  return status == ST_OK ? 1 : st__raise(h, L, status);
}

/* -- Opening -------------------------------------------------------------- */

void st__meta_fusion(st__host *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__gc", fusion_gc}, {"__tostring", fusion_tostring}, {NULL, NULL}
  };
  static const luaL_Reg callers[] = {{"__call", call_fusion}, {NULL, NULL}};
  static const luaL_Reg runners[] = {{"explain", explain}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"clear", clear}, {NULL, NULL}};
  st__set_functions(h, L, metamethods);
  st__set_runners(h, L, callers);
  lua_newtable(L);                                     /* [+1] */
  st__set_runners(h, L, runners);
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");                      /* [-1] */
}

void st__open_fusion(st__host *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"fuse", fuse}, {NULL, NULL}};
  st__set_functions(h, L, functions);
}
