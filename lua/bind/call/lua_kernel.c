/* Lua functions that the engine calls: kernels, fallbacks, modes.
 *
 * Note [Lua kernels]
 * The engine calls a function through st__run_lua_fn, on the coroutine of the
 * running call. Everything that may raise runs in protected mode: the error is
 * stored in the binding state and raised again where the call entered the
 * engine. A kernel belongs to its Lua state; a call from another state or
 * thread is an error. The engine may hold a kernel after its registration is
 * released; the thread of the state then drops the reference to the function
 * later (st__lua_ref_sweep).
 *
 * Note [Identity of arguments]
 * A kernel that a Lua call reaches directly gets the same userdata that Lua
 * passed: the frame has their stack indices, and the stack is still that of
 * the running C function. h->frame is NULL while Lua code runs, so that it
 * always refers to the innermost call. Other tensors get new userdata.
 */

#include <stdio.h>
#include <string.h>

#include "call/call.h"

/* Of functions that run protected. */
struct st__runners {
  int runner_ref, handler_ref;   /* runs a Lua kernel; message handler */
  int task_ref;                  /* runs another function */
};

/* Holds the function: Note [Registry references]. */
typedef struct kernel_ref {
  st__lua_ref ref_block;
  st__lua_fn lua_fn;
  char where[];
} kernel_ref;

/* -- Arguments ------------------------------------------------------------ */

static void push_tensors(st__state *h, lua_State *L, const st_value *v) {
  lua_createtable(L, (int)v->len, 0);              /* [+1] */
  for (int k = 0; k < (int)v->len; k++) {
    if (v->u.tensors[k]) {
      st__push_in_pass(h, L, v->u.tensors[k]);     /* [+1] */
    } else {
      st_sentinel *m = st__newudata(h, L, ST_UD_SENTINEL, sizeof *m); /* [+1] */
      *m = ST_SENTINEL_NONE;
    }
    lua_rawseti(L, -2, k + 1);                     /* [-1] */
  }
}

void st__push_argument(st__state *h, lua_State *L, const st_arg *a,
                       const st_value *v) {
  st_generator **g;
  st_value copy = *v;
  switch (v->tag) {
    case ST_TAG_TENSOR: st__push_in_pass(h, L, v->u.tensor); break; /* [+1] */
    case ST_TAG_TENSORS: push_tensors(h, L, v); break;            /* [+1] */
    case ST_TAG_GENERATOR:
      g = st__newudata(h, L, ST_UD_GENERATOR, sizeof *g);         /* [+1] */
      st_generator_retain(v->u.generator);
      *g = v->u.generator;
      break;
    default: st__push_value(h, L, a, &copy);                      /* [+1] */
  }
}

/* -- Results -------------------------------------------------------------- */

/* One call of a function, passed to run_protected. */
typedef struct run {
  const st__lua_fn *lua_fn;
  const st_op *op;
  st_keyset keys;
  /* Of the schema at the call; the function may redefine the operator. */
  int nargs, nrets;
  const st_arg *schema, *results;
  const st_value *args;
  st_value *rets;
  int nowned;           /* results stored in rets so far */
  uint64_t known;       /* bit i: the userdata of argument i is on the stack */
} run;

/* An owned copy of a converted result. */
static st_status own_copy(const st_value *v, st_value *out) {
  st_scalar s = {ST_SCALAR_COMPLEX, {.c = {0, 0}}};
  const int n = (int)v->len;
  switch ((st_tag)v->tag) {
    case ST_TAG_TENSOR: return st_value_of_tensor(v->u.tensor, out);
    case ST_TAG_TENSORS: return st_value_of_tensors(v->u.tensors, n, out);
    case ST_TAG_INTS: return st_value_of_ints(v->u.ints, n, out);
    case ST_TAG_FLOATS: return st_value_of_floats(v->u.floats, n, out);
    case ST_TAG_BOOLS: return st_value_of_bools(v->u.bools, n, out);
    case ST_TAG_STRING: return st_value_of_string(v->u.string, v->len, out);
    case ST_TAG_COMPLEX:
      memcpy(s.u.c, v->u.pair, sizeof s.u.c);
      return st_value_of_scalar(s, out);
    case ST_TAG_GENERATOR: st_generator_retain(v->u.generator); break;
    default: break;
  }
  *out = *v;
  return ST_OK;
}

/* Raises an error with the declared type of result i and the actual one. */
static void fail_result(const run *r, const st__frame *f, int i, int idx) {
  char want[128], got[96];
  const char *element = lua_istable(f->L, idx)
                        ? strstr(f->why->text, "element ") : NULL;
  st__arg_type_text(&r->results[i], want, sizeof want);
  st__describe_value(f->h, f->L, idx, got, sizeof got);
  st__error(f->h, f->L, ST_BAD_TYPE, "%s: result %d of the Lua function from "
            "%s must be %s, %s %s", st__short_name(st_op_name(r->op)), i + 1,
            r->lua_fn->where, want, element ? "its" : "got",
            element ? element : got);
}

static void fail_count(const run *r, lua_State *L, int n) {
  st__error(r->lua_fn->h, L, ST_BAD_TYPE, "%s: the Lua function from %s must "
            "return %d result%s, got %d", st__short_name(st_op_name(r->op)),
            r->lua_fn->where, r->nrets, r->nrets == 1 ? "" : "s", n);
}

/* Converts the value at idx to result i. */
static void take_result(run *r, lua_State *L, int i, int idx) {
  st__frame f;
  st__reason why;
  st__state *h = r->lua_fn->h;
  const st_arg *a = &r->results[i];
  st_status status;
  st_tensor *t = a->type == ST_TYPE_TENSOR ? st__to_tensor(h, L, idx) : NULL;
  if (t && !a->list) {
    status = st_value_of_tensor(t, &r->rets[i]);
  } else {
    f.h = h;
    f.L = L;
    f.op = r->op;
    f.allow_wrap = f.needs_wrap = false;
    f.why = &why;
    f.keywords = f.nslots = f.nwraps = f.ntensors = 0;
    why.text[0] = '\0';
    if (lua_isnil(L, idx) && a->optional) {
      f.args[0] = (st_value){.tag = ST_TAG_NONE};
    } else if (!st__convert(&f, 0, a, idx)) {
      fail_result(r, &f, i, idx);
    }
    status = own_copy(&f.args[0], &r->rets[i]);
  }
  if (status != ST_OK) st__raise(h, L, status);
  r->nowned++;
}

/* -- Running -------------------------------------------------------------- */

/* Lua arguments: the run, then the userdata of the known arguments. */
static int run_protected(lua_State *L) {
  run *r = lua_touserdata(L, 1);
  st__state *h = r->lua_fn->h;
  const int nargs = r->nargs, nrets = r->nrets;
  int before = 0, known = 2;
  luaL_checkstack(L, nargs + ST_FRAME_STACK * nrets + LUA_MINSTACK, NULL);
  const int base = lua_gettop(L) + 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, r->lua_fn->ref); /* [+1] */
  if (r->lua_fn->convention == ST_TAKES_OPERATOR) {
    st__push_overload(h, L, r->op);                  /* [+1] */
    before++;
  }
  if (r->lua_fn->convention != ST_TAKES_ARGS) {
    st__push_keyset(h, L, r->keys);                  /* [+1] */
    before++;
  }
  for (int i = 0; i < nargs; i++) {
    if (r->known >> i & 1) lua_pushvalue(L, known++);            /* [+1] */
    else st__push_argument(h, L, &r->schema[i], &r->args[i]);    /* [+1] */
  }
  st__call_lua(h, L, st__short_name(st_op_name(r->op)), before + nargs,
               LUA_MULTRET);                         /* [-nargs-before-1, +n] */
  const int n = lua_gettop(L) - base + 1;
  /* For "-> ()" any results are ignored. */
  if (n > nrets && nrets > 0) fail_count(r, L, n);
  lua_settop(L, base + nrets - 1);
  for (int i = 0; i < nrets; i++) {
    take_result(r, L, i, base + i);
    st__env_return(h, L, base + i);
  }
  return 0;
}

typedef struct task {
  void (*fn)(lua_State *L, void *arg);
  void *arg;
} task;

static int run_task(lua_State *L) {
  const task *t = lua_touserdata(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_settop(L, 0);
  t->fn(L, t->arg);
  return 0;
}

/* Writes one frame of a traceback; returns its length, as snprintf. */
static int write_frame(lua_State *L, lua_Debug *ar, char *text, size_t size) {
  lua_getinfo(L, "n", ar);
  if (*ar->what == 'm') {
    return snprintf(text, size, "\n\t%s:%d: in main chunk", ar->short_src,
                    ar->currentline);
  }
  if (ar->name) {
    return snprintf(text, size, "\n\t%s:%d: in '%.40s'", ar->short_src,
                    ar->currentline, ar->name);
  }
  return snprintf(text, size, "\n\t%s:%d: in function <%s:%d>",
                  ar->short_src, ar->currentline, ar->short_src,
                  ar->linedefined);
}

/* The message handler of functions that the engine calls. It appends to a
 * string, once, a traceback of the user's frames from the error down to the
 * entry from the engine. */
static int add_traceback(lua_State *L) {
  char text[1600];
  const int room = (int)sizeof text - 200;
  lua_Debug ar;
  int n = 0;
  const st__state *h = st__state_of(L);
  if (lua_type(L, 1) != LUA_TSTRING ||
      strstr(lua_tostring(L, 1), "\nstack traceback:")) {
    return 1;
  }
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Slf", &ar);                                /* [+1] */
    const lua_CFunction fn = lua_tocfunction(L, -1);
    const bool is_entry = fn == run_protected || fn == run_task;
    lua_pop(L, 1);                                             /* [-1] */
    if (is_entry) break;
    if (!st__is_user_frame(h, &ar)) continue;
    if (n > room) {
      n += snprintf(text + n, sizeof text - (size_t)n, "\n\t...");
      break;
    }
    n += write_frame(L, &ar, text + n, sizeof text - (size_t)n);
  }
  if (!n) return 1;
  lua_pushfstring(L, "%s\nstack traceback:%s", lua_tostring(L, 1), text);
  return 1;                                                    /* [+1] */
}

/* Stores the error at the top of the stack for st__raise. [-1] */
static st_status store_error(st__state *h, lua_State *L) {
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1)
                                                    : "an error object";
  const st_status status = st_fail(ST_HOST, "%s", text);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->error_ref); /* [-1] */
  h->has_error = true;
  return status;
}

/* Pushes the userdata of those arguments of the run that Lua passed in the
 * frame. [+known] */
static void push_known(run *r, lua_State *L, const st__frame *f) {
  if (!f || f->op != r->op || f->L != L) return;
  for (int i = 0; i < r->nargs; i++) {
    const int at = f->source[i];
    if (!at || r->args[i].tag != ST_TAG_TENSOR ||
        st__to_tensor(f->h, L, at) != r->args[i].u.tensor) {
      continue;
    }
    lua_pushvalue(L, at); /* [+1] */
    r->known |= (uint64_t)1 << i;
  }
}

/* Calls the function of the run arg. */
static st_status run_fn(void *arg) {
  run *r = arg;
  st__state *h = r->lua_fn->h;
  lua_State *L = h->running;
  const st__frame *f = h->frame;
  const bool has_entered = st__pass_enter_call(h, L, f); /* [+0|1] */
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->runners->handler_ref); /* [+1] */
  const int handler = lua_gettop(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->runners->runner_ref);  /* [+1] */
  lua_pushlightuserdata(L, r);                       /* [+1] */
  push_known(r, L, f);                               /* [+known] */
  h->frame = NULL;
  const int status = st__pcall_c(h, L, lua_gettop(L) - handler - 1, 0,
                                 handler);           /* [-known-2, +0|1] */
  h->frame = f;
  lua_remove(L, handler);                            /* [-1] */
  if (has_entered) st__pass_leave_call(h, L, handler - 1); /* [-1] */
  if (status == 0) return ST_OK;
  for (int i = 0; i < r->nowned; i++) st_value_clear(&r->rets[i]);
  return store_error(h, L);                          /* [-1] */
}

st_status st__run_lua_fn(const st__lua_fn *s, const st_call *call,
                         st_keyset keys, const st_value *args,
                         st_value *rets) {
  st__state *h = s->h;
  if (st_is_capturing()) {
    return st_fail(ST_BAD_STATE, "its kernel is a Lua function, which cannot "
                   "be fused");
  }
  if (st__current_state() != h) {
    return st_fail(ST_BAD_STATE, "its kernel is a function of a Lua state "
                   "that is not running on this thread");
  }
  const st_op *op = call->op;
  const st_schema *schema = call->schema;
  run r = {s, op, keys, st_schema_nargs(schema), st_schema_nrets(schema),
           st_schema_arg(schema, 0), st_schema_ret(schema, 0), args, rets, 0,
           0};
  if (!lua_checkstack(h->running, r.nargs + ST_MAX_ARGS + LUA_MINSTACK)) {
    return st_fail(ST_NO_MEMORY, "the Lua stack is full");
  }
  return st_run_scripted_kernel(call, args, rets, s->where, run_fn, &r);
}

static st_status run_task_now(void *arg) {
  st__state *h = st__current_state();
  lua_State *L = h->running;
  const st__frame *f = h->frame;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->runners->handler_ref); /* [+1] */
  const int handler = lua_gettop(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->runners->task_ref);    /* [+1] */
  lua_pushlightuserdata(L, arg);                     /* [+1] */
  h->frame = NULL;
  const int status = st__pcall_c(h, L, 1, 0, handler); /* [-2, +0|1] */
  h->frame = f;
  lua_remove(L, handler);                            /* [-1] */
  return status == 0 ? ST_OK : store_error(h, L);    /* [-0|1] */
}

st_status st__run_task(st__state *h, void (*fn)(lua_State *L, void *arg),
                       void *arg) {
  task t = {fn, arg};
  if (!lua_checkstack(h->running, LUA_MINSTACK)) {
    return st_fail(ST_NO_MEMORY, "the Lua stack is full");
  }
  return st_run_script(run_task_now, &t);
}

static st_status run_kernel(const st_call *call, const st_value *args,
                            st_value *rets) {
  const kernel_ref *k = call->ctx;
  return st__run_lua_fn(&k->lua_fn, call, call->keys, args, rets);
}

/* A fallback gets the keys below the one that it is registered for. */
static st_status run_fallback(const st_call *call, const st_value *args,
                              st_value *rets) {
  const kernel_ref *k = call->ctx;
  st_keyset below = 0;
  const char *key = st_keyset_highest(call->keys);
  if (st_keyset_after(key, &below) != ST_OK) below = 0; /* no keys */
  return st__run_lua_fn(&k->lua_fn, call, call->keys & below, args, rets);
}

/* -- Making kernels ------------------------------------------------------- */

void st__new_kernel(st__state *h, lua_State *L, int idx, st__convention c,
                    st_kernel *out) {
  char where[LUA_IDSIZE + 16];
  st__where(h, L, where, sizeof where);
  const size_t n = strlen(where) + 1;
  kernel_ref *k = st__lua_ref_new(h, L, idx, sizeof *k + n);
  k->lua_fn = (st__lua_fn){h, k->ref_block.ref, c, k->where};
  memcpy(k->where, where, n);
  *out = (st_kernel){
    .fn = c == ST_TAKES_OPERATOR ? run_fallback : run_kernel,
    .ctx = k, .free_ctx = st__lua_ref_free, .debug = k->where};
}

void st__drop_kernel(st__state *h, lua_State *L, st_kernel *k) {
  if (k->ctx) st__lua_ref_free(k->ctx);
  st__lua_ref_sweep(h, L);
}

/* -- Opening -------------------------------------------------------------- */

void st__open_kernel(st__state *h, lua_State *L) {
  h->runners = st__new_part(h, L, sizeof *h->runners, NULL);
  lua_pushcfunction(L, run_protected);               /* [+1] */
  h->runners->runner_ref = luaL_ref(L, LUA_REGISTRYINDEX);    /* [-1] */
  lua_pushcfunction(L, run_task);                    /* [+1] */
  h->runners->task_ref = luaL_ref(L, LUA_REGISTRYINDEX);      /* [-1] */
  lua_pushlightuserdata(L, h);                       /* [+1] */
  lua_pushcclosure(L, add_traceback, 1);             /* [-1, +1] */
  h->runners->handler_ref = luaL_ref(L, LUA_REGISTRYINDEX);   /* [-1] */
}
