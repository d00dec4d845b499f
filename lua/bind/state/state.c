/* Binding states: metatables, userdata and entering the engine.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "state/nesting.h"

/* ORDER UD */
static const char *const ud_name[] = {
#define ST_UD_NAME(id, name, fill) name,
  ST_UD_MAP(ST_UD_NAME)
#undef ST_UD_NAME
};

/* ORDER UD */
static st__opener *const ud_fill[] = {
#define ST_UD_FILL(id, name, fill) fill,
  ST_UD_MAP(ST_UD_FILL)
#undef ST_UD_FILL
};

/* -- Userdata ------------------------------------------------------------- */

/* Note [Metatables on first use]. A finalizer that runs meanwhile may create
 * the metatable first. */
static void make_meta(st__state *h, lua_State *L, st_ud_kind kind) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_newtable(L);                       /* [+1] */
  lua_pushstring(L, ud_name[kind]);      /* [+1] */
  lua_setfield(L, -2, "__name");         /* [-1] */
  lua_pushliteral(L, "protected");       /* [+1] */
  lua_setfield(L, -2, "__metatable");    /* [-1] */
  if (ud_fill[kind]) ud_fill[kind](h, L);
  if (h->meta[kind]) {
    lua_pop(L, 1);                       /* [-1] */
    return;
  }
  h->meta[kind] = lua_topointer(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->meta_ref[kind]); /* [-1] */
}

void st__push_meta(st__state *h, lua_State *L, st_ud_kind kind) {
  if (!h->meta[kind]) make_meta(h, L, kind);
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->meta_ref[kind]); /* [+1] */
}

static bool has_env(st_ud_kind kind) {
  return kind == ST_UD_TENSOR || kind == ST_UD_NODE ||
         kind == ST_UD_LIBRARY || kind == ST_UD_FUSED ||
         kind == ST_UD_CONTEXT;
}

void *st__newudata(st__state *h, lua_State *L, st_ud_kind kind, size_t n) {
  void *p = has_env(kind) ? st__new_with_env(L, n)
                          : lua_newuserdata(L, n); /* [+1] */
  memset(p, 0, n);
  st__push_meta(h, L, kind);       /* [+1] */
  lua_setmetatable(L, -2);         /* [-1] */
  return p;
}

void *st__testudata(st__state *h, lua_State *L, int idx, st_ud_kind kind) {
  void *p = lua_touserdata(L, idx);
  if (!p || !lua_getmetatable(L, idx)) return NULL; /* [+1] */
  const bool is_kind = lua_topointer(L, -1) == h->meta[kind];
  lua_pop(L, 1);                                    /* [-1] */
  return is_kind ? p : NULL;
}

static const char *scalar_name(const st_scalar *s) {
  return s->kind == ST_SCALAR_COMPLEX ? "complex"
       : s->kind == ST_SCALAR_INT ? "int64"
       : s->kind == ST_SCALAR_UINT ? "uint64" : "float";
}

/* Describes a number that is not an int64_t. */
static const char *number_name(double d) {
  if (isnan(d)) return "nan";
  if (isinf(d)) return "infinity";
  return fabs(d) < 0x1p63 ? "number with a fraction"
                          : "number beyond 64 bits";
}

const char *st__type_name(st__state *h, lua_State *L, int idx) {
  int64_t i;
  switch (lua_type(L, idx)) {
    case LUA_TUSERDATA:
      for (int k = 0; k < ST_UD_COUNT; k++) {
        const void *p = st__testudata(h, L, idx, (st_ud_kind)k);
        if (!p) continue;
        if (k == ST_UD_TENSOR && !((const st__tensor_ud *)p)->t) {
          return "freed Tensor";
        }
        return k == ST_UD_SCALAR ? scalar_name(p) : ud_name[k];
      }
      return "userdata";
    case LUA_TNUMBER:
      return st__to_int(h, L, idx, &i) ? "number"
                                       : number_name(lua_tonumber(L, idx));
    case LUA_TNONE: return "nothing";
    default: return luaL_typename(L, idx);
  }
}

void *st__checkudata(st__state *h, lua_State *L, int idx, st_ud_kind kind,
                     const char *arg) {
  void *p = st__testudata(h, L, idx, kind);
  if (!p) {
    const char *article = strchr("aeiou", *ud_name[kind]) ? "an" : "a";
    st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be %s %s, got %s",
                       arg, article, ud_name[kind], st__type_name(h, L, idx));
  }
  return p;
}

/* -- Functions ------------------------------------------------------------ */

/* Remembers the list for st__function_name. */
static void keep_list(st__state *h, lua_State *L, const luaL_Reg *fns) {
  if (h->nlists == ST_FUNCTION_LISTS) {
    luaL_error(L, "strided: more than %d lists of functions",
               ST_FUNCTION_LISTS);
  }
  h->lists[h->nlists++] = fns;
}

/* Note [Functions that access elements]
 * A function that reads or writes elements itself, as totable does, may meet
 * pages of a mapped file that is truncated: they are zeros then, and the
 * function must not say that it is done (Note [Truncated files]). So such
 * functions are registered in a way of their own, which asks when they return,
 * and st__check_memory, which gives the address of elements, serves no other
 * function. Operator calls ask in st__call_operator. */
static int call_access(lua_State *L) {
  const luaL_Reg *fn = lua_touserdata(L, lua_upvalueindex(2));
  const int n = fn->func(L);                     /* [+n] */
  if (atomic_load_explicit(&st__has_lost_pages, memory_order_relaxed)) {
    const bool has_name = lua_toboolean(L, lua_upvalueindex(3));
    st__raise_lost(st__state_of(L), L, 1, has_name ? fn->name : "");
  }
  return n;
}

static int call_guarded_access(lua_State *L) {
  st__check_guarded(st__state_of(L), L,
                    lua_touserdata(L, lua_upvalueindex(2)));
  return call_access(L);
}

void st__check_access(st__state *h, lua_State *L) {
  if (lua_type(L, lua_upvalueindex(4)) != LUA_TBOOLEAN) {
    st__error(h, L, ST_BAD_STATE, "strided: a function that accesses elements "
              "is registered as one that does not");
  }
}

/* The entry of the function at the top if it is one of these, or NULL. */
static const luaL_Reg *access_function(lua_State *L) {
  const lua_CFunction f = lua_tocfunction(L, -1);
  if (f != call_access && f != call_guarded_access) return NULL;
  lua_getupvalue(L, -1, 2);                      /* [+1] */
  const luaL_Reg *fn = lua_touserdata(L, -1);
  lua_pop(L, 1);                                 /* [-1] */
  return fn;
}

const char *st__function_name(const st__state *h, lua_State *L) {
  const luaL_Reg *guarded = st__guarded_function(L);
  const lua_CFunction fn = lua_tocfunction(L, -1);
  if (!guarded) guarded = access_function(L);
  if (guarded) return guarded->name;
  for (int i = 0; fn && i < h->nlists; i++) {
    for (const luaL_Reg *r = h->lists[i]; r->name; r++) {
      if (r->func == fn && strncmp(r->name, "__", 2) != 0) return r->name;
    }
  }
  return NULL;
}

void st__set_functions(st__state *h, lua_State *L, const luaL_Reg *fns) {
  keep_list(h, L, fns);
  for (; fns->name; fns++) {
    if (!st__push_guarded(h, L, fns)) {    /* [+0|1] */
      lua_pushlightuserdata(L, h);         /* [+1] */
      lua_pushcclosure(L, fns->func, 1);   /* [-1, +1] */
    }
    lua_setfield(L, -2, fns->name);      /* [-1] */
  }
}

void st__set_access_functions(st__state *h, lua_State *L, const luaL_Reg *fns,
                              bool has_names) {
  keep_list(h, L, fns);
  for (; fns->name; fns++) {
    lua_pushlightuserdata(L, h);         /* [+1] */
    lua_pushlightuserdata(L, (void *)(uintptr_t)fns); /* [+1] */
    lua_pushboolean(L, has_names);       /* [+1] */
    lua_pushboolean(L, 1); /* [+1]: what st__check_access asks for */
    lua_pushcclosure(L, st__is_guarded(fns) ? call_guarded_access : call_access,
                     4);                 /* [-4, +1] */
    lua_setfield(L, -2, fns->name);      /* [-1] */
  }
}

/* A boolean as second upvalue marks functions that run a body: see
 * may_borrow. */
void st__set_body_functions(st__state *h, lua_State *L, const luaL_Reg *fns) {
  keep_list(h, L, fns);
  for (; fns->name; fns++) {
    lua_pushlightuserdata(L, h);         /* [+1] */
    lua_pushboolean(L, 1);               /* [+1] */
    lua_pushcclosure(L, fns->func, 2);   /* [-2, +1] */
    lua_setfield(L, -2, fns->name);      /* [-1] */
  }
}

/* -- Entering the engine -------------------------------------------------- */

static _Thread_local st__state *current;

st__state *st__current_state(void) { return current; }

/* Note [Borrowed arguments on the stack]
 * Any allocation in a C function of the binding may run a finalizer, which may
 * free a tensor that the function holds as a borrowed argument. So tensor_free
 * searches the stack for functions of the binding. A finalizer may run in a
 * coroutine, whose stack does not show the functions that wait for it, and Lua
 * has no call that finds them. So a weak table stores the outermost thread that
 * has a waiting function: each thread that calls one stores itself, unless the
 * stored one is below it. The main thread, which is never collected, and that
 * of a sandbox's run are identified by their addresses. */

/* True if the function at the top is a C function of the binding that does not
 * run a body. */
static bool may_borrow(const st__state *h, lua_State *L) {
  if (!lua_iscfunction(L, -1) || !lua_getupvalue(L, -1, 1)) return false;
  const bool is_ours = lua_touserdata(L, -1) == (const void *)h; /* [+1] */
  lua_pop(L, 1);                                                 /* [-1] */
  if (!is_ours || !lua_getupvalue(L, -1, 2)) return is_ours;     /* [+1] */
  const bool is_runner = lua_isboolean(L, -1);
  lua_pop(L, 1);                                                 /* [-1] */
  return !is_runner;
}

/* Note [The search of a deep stack]
 * lua_getstack takes a time in proportion to the level, and so a search one in
 * proportion to the square of the depth: seconds for the 500,000 calls that Lua
 * 5.4 allows. So a search looks at SEARCHED levels, and at the others only if
 * they are at most DEEPEST and if the searches before it that did not look at
 * them have saved the time for it. Otherwise the answer is "unknown", and what
 * is to be released waits for a later call. */
enum {
  SEARCHED = 256,
  DEEPEST = 4096,
  MOST_SAVED = DEEPEST / SEARCHED * (DEEPEST / SEARCHED) /* searches */
};

/* Is such a function active on L at one of the levels [level, end)? */
static st__nesting search(const st__state *h, lua_State *L, int level,
                          int end) {
  lua_Debug ar;
  bool found = false;
  for (; !found && lua_getstack(L, level, &ar); level++) {
    if (level == end) return ST__NESTING_UNKNOWN;
    lua_getinfo(L, "f", &ar); /* [+1] */
    found = may_borrow(h, L);
    lua_pop(L, 1);            /* [-1] */
  }
  return found ? ST__NESTED : ST__OUTERMOST;
}

/* Is such a function active on L at that level or below? */
static st__nesting find_borrower(st__state *h, lua_State *L, int level) {
  lua_Debug ar;
  if (!lua_checkstack(L, 2)) return ST__NESTING_UNKNOWN;
  const st__nesting near = search(h, L, level, SEARCHED);
  if (near != ST__NESTING_UNKNOWN) return near;
  const int end = (int)(SEARCHED * sqrt(h->saved_searches + 1));
  if (lua_getstack(L, end, &ar)) {
    if (h->saved_searches < MOST_SAVED) h->saved_searches++;
    return ST__NESTING_UNKNOWN;
  }
  h->saved_searches = 0;
  return search(h, L, SEARCHED, end);
}

/* Is such a function active on the stored thread, if that is not L? */
static st__nesting find_elsewhere(st__state *h, lua_State *L) {
  if (!lua_checkstack(L, 2)) return ST__NESTING_UNKNOWN;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->thread_ref); /* [+1] */
  lua_rawgeti(L, -1, 1);                            /* [+1] */
  lua_State *noted = lua_tothread(L, -1);
  lua_pop(L, 2);                                    /* [-2] */
  const bool is_other = noted && noted != L && lua_status(noted) == 0;
  return is_other ? find_borrower(h, noted, 0) : ST__OUTERMOST;
}

void st__track_thread(st__state *h, lua_State *L) {
  if (find_elsewhere(h, L) != ST__OUTERMOST) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->thread_ref);  /* [+1] */
  const bool stays = lua_pushthread(L) || st__sandbox_host(h, L); /* [+1] */
  h->thread = stays ? L : NULL;
  lua_rawseti(L, -2, 1);                             /* [-1] */
  lua_pop(L, 1);                                     /* [-1] */
}

st__nesting st__nesting_of(st__state *h, lua_State *L) {
  const st__nesting here = find_borrower(h, L, 1);
  return here == ST__OUTERMOST ? find_elsewhere(h, L) : here;
}

/* Releases the tensors that were freed while the engine ran: see tensor_free
 * (tensor_userdata.c). */
static void release_deferred(st__state *h, lua_State *L) {
  if (!h->has_deferred || h->running) return;
  if (st__nesting_of(h, L) != ST__OUTERMOST) return;
  h->has_deferred = false;
  lua_pushboolean(L, 0);                            /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->deferred_ref); /* [-1] */
}

static st_status run_request(const st__request *req) {
  switch (req->kind) {
    case ST_REQUEST_REDISPATCH:
      return st_redispatch_declared(req->op, req->declared, req->keys,
                                    req->args, req->rets);
    case ST_REQUEST_KEY:
      return st_script_call_for_key(req->op, req->declared, req->key,
                                    req->args, req->rets);
    case ST_REQUEST_EXPLAIN:
      return st_explain(req->op, req->n, req->args, req->text);
    case ST_REQUEST_PLANS:
      return st_plan_call(req->op, req->n, req->args, req->plans, req->room,
                          req->count);
    case ST_REQUEST_CONVERTED:
      return st_script_call_converted(req->op, req->declared, req->args,
                                      req->rets);
    default:
      return st_script_call_declared(req->op, req->declared, req->n,
                                     req->args, req->rets);
  }
}

st__entry st__enter(st__state *h, lua_State *L) {
  st_limits *limits = st__sandbox_limits(h);
  const st__entry e = {current, h->running, h->fiber,
                       limits ? st_limits_enter(limits) : NULL,
                       st_count_from(1)};
  current = h;
  h->running = L;
  h->fiber = h->fiber_self();
  return e;
}

void st__leave(st__state *h, const st__entry *e) {
  if (h->pending_warnings) st__deliver_warnings(h);
  st_count_from(e->first);
  if (st__sandbox_limits(h)) st_limits_enter(e->limits);
  h->running = e->running;
  h->fiber = e->fiber;
  current = e->outer;
}

st_status st__begin(st__state *h, lua_State *L, const char *name,
                    st__entry *e) {
  if (!st__owns_fiber(h)) {
    return st_fail(ST_BAD_STATE, "%s: %s", name, st__other_fiber(h));
  }
  *e = st__enter(h, L);
  return ST_OK;
}

st_status st__end(st__state *h, lua_State *L, const st__entry *e,
                  st_status status) {
  st__leave(h, e);
  if (!e->running &&
      atomic_load_explicit(&h->unrefs, memory_order_relaxed)) {
    st__lua_ref_sweep(h, L); /* kernels removed while they ran */
  }
  release_deferred(h, L);
  return status;
}

static const char *name_of(const st__request *req) {
  return st__short_name(st_op_name(req->op));
}

static st_status enter(st__state *h, lua_State *L, const st__request *req) {
  if (!st__owns_fiber(h)) {
    return st_fail(ST_BAD_STATE, "%s: %s", name_of(req), st__other_fiber(h));
  }
  const st__entry e = st__enter(h, L);
  const st_status status = run_request(req);
  st__leave(h, &e);
  const lua_State *running = e.running;
  /* Inside a Lua kernel the engine leaves the name to the outer operator, but
   * this failure becomes a Lua error here. */
  if (running && status != ST_OK && status != ST_HOST) {
    st_fail(status, "%s: %s", name_of(req), st_message());
  }
  if (!running && atomic_load_explicit(&h->unrefs, memory_order_relaxed)) {
    st__lua_ref_sweep(h, L); /* kernels removed while they ran */
  }
  return status;
}

static st_status retry(st__state *h, lua_State *L, const st__request *req,
                       const char *schema, st_status status) {
  bool made = false;
  if (status != ST_NO_MEMORY || !st__gc_retry(h, L, &made)) return status;
  return st_op_schema(req->op) == schema ? enter(h, L, req) : status;
}

st_status st__run(st__state *h, lua_State *L, const st__request *req) {
  const char *schema = st_op_schema(req->op);
  if (h->keepalive.has_returned && !h->running) st__env_drop_returned(h, L);
  st_status status = enter(h, L, req);
  status = retry(h, L, req, schema, status);
  release_deferred(h, L);
  return status;
}

/* -- Lifetime of a binding state ------------------------------------------ */

/* One lock for all states, held for a few instructions. The lists are
 * consistent at any moment, so the child of a fork reinitializes it
 * unlocked. */
static pthread_mutex_t states = PTHREAD_MUTEX_INITIALIZER;

static void reset_lock(void) {
  states = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void st__lock_states(void) { pthread_mutex_lock(&states); }
void st__unlock_states(void) { pthread_mutex_unlock(&states); }

void st__state_release(st__state *h) {
  if (atomic_fetch_sub(&h->refs, 1) > 1) return;
  st__free_listeners(h);
  st__sandbox_leave(h->sandbox);
  free(h->keepalive.free_slots);
  free(h->scope_links.at);
  free(h);
}

/* Note [Closed binding states]
 * While a Lua state closes, finalizers may create userdata of the binding;
 * these are finalized after the sentinel. So a closed binding state is kept
 * until its thread opens the next one or ends: then the Lua state is gone. */
static pthread_key_t closed_states;
static bool has_key;

static void release_closed(void *first) {
  for (st__state *h = first, *next; h; h = next) {
    next = h->next_closed;
    st__state_release(h);
  }
}

static void make_key(void) {
  has_key = pthread_key_create(&closed_states, release_closed) == 0;
  pthread_atfork(NULL, NULL, reset_lock);
}

static void release_deferred_states(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  if (!has_key) return;
  release_closed(pthread_getspecific(closed_states));
  pthread_setspecific(closed_states, NULL);
}

static void defer_release(st__state *h) {
  if (!has_key) return;
  h->next_closed = pthread_getspecific(closed_states);
  pthread_setspecific(closed_states, h);
}

/* The Lua state is closing; its kernels can no longer run. */
static int state_gc(lua_State *L) {
  st__state **ud = lua_touserdata(L, 1);
  st__state *h = ud ? *ud : NULL;
  if (!h) return 0;
  *ud = NULL;
  st__lock_states();
  h->is_closed = true;
  st__unlock_states();
  st__lua_ref_sweep(h, L);
  defer_release(h);
  return 0;
}

static void reserve_metatables(st__state *h, lua_State *L) {
  for (int k = 0; k < ST_UD_COUNT; k++) {
    lua_pushboolean(L, 0);                           /* [+1] */
    h->meta_ref[k] = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  }
}

int st__new_weak_table(lua_State *L) {
  lua_newtable(L);                                  /* [+1] */
  lua_createtable(L, 0, 1);                         /* [+1] */
  lua_pushliteral(L, "v");                          /* [+1] */
  lua_setfield(L, -2, "__mode");                    /* [-1] */
  lua_setmetatable(L, -2);                          /* [-1] */
  return luaL_ref(L, LUA_REGISTRYINDEX);            /* [-1] */
}

/* The sentinel is created before all other userdata, so it is finalized after
 * those that exist when the state begins to close. */
st__state *st__state_new(lua_State *L) {
  st__state **ud = lua_newuserdata(L, sizeof *ud);  /* [+1] */
  *ud = NULL;
  lua_newtable(L);                                  /* [+1] */
  lua_pushcfunction(L, state_gc);                   /* [+1] */
  lua_setfield(L, -2, "__gc");                      /* [-1] */
  lua_setmetatable(L, -2);                          /* [-1] */
  luaL_ref(L, LUA_REGISTRYINDEX);                   /* [-1] */
  release_deferred_states();
  st__state *h = calloc(1, sizeof *h);
  if (!h) luaL_error(L, "strided: out of memory");
  *ud = h;
  atomic_init(&h->refs, 1);
  if (!st__sandbox_join(h, L)) luaL_error(L, "strided: out of memory");
  h->has_retry = true;
  st__gc_init(h);
  h->print = (st_print_options){4, 1000, 3, 80, -1};
  h->has_shortcuts = st_has_shortcuts();
  reserve_metatables(h, L);
  lua_pushboolean(L, 0);                            /* [+1] */
  h->error_ref = luaL_ref(L, LUA_REGISTRYINDEX);    /* [-1] */
  lua_pushboolean(L, 0);                            /* [+1] */
  h->deferred_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  h->thread_ref = st__new_weak_table(L);
#define ST_FIND(id, name, overload) \
  h->op[ST_HANDLE_##id] = st_op_find(name, overload);
  ST_HANDLE_MAP(ST_FIND)
#undef ST_FIND
  return h;
}
