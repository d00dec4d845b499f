/* Hosts: metatables, boxes and the way into the engine.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"

/* ORDER BOX */
static const char *const box_name[] = {
#define ST_BOX_NAME(id, name, fill) name,
  ST_BOX_MAP(ST_BOX_NAME)
#undef ST_BOX_NAME
};

/* ORDER BOX */
static st__opener *const box_fill[] = {
#define ST_BOX_FILL(id, name, fill) fill,
  ST_BOX_MAP(ST_BOX_FILL)
#undef ST_BOX_FILL
};

/* -- Boxes ---------------------------------------------------------------- */

/* Note [A small heap]. A finaliser may run meanwhile and make it itself. */
static void make_meta(st__host *h, lua_State *L, st_box_kind kind) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_newtable(L);                       /* [+1] */
  lua_pushstring(L, box_name[kind]);     /* [+1] */
  lua_setfield(L, -2, "__name");         /* [-1] */
  lua_pushliteral(L, "protected");       /* [+1] */
  lua_setfield(L, -2, "__metatable");    /* [-1] */
  if (box_fill[kind]) box_fill[kind](h, L);
  if (h->meta[kind]) {
    lua_pop(L, 1);                       /* [-1] */
    return;
  }
  h->meta[kind] = lua_topointer(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->meta_ref[kind]); /* [-1] */
}

void st__push_meta(st__host *h, lua_State *L, st_box_kind kind) {
  if (!h->meta[kind]) make_meta(h, L, kind);
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->meta_ref[kind]); /* [+1] */
}

static bool has_env(st_box_kind kind) {
  return kind == ST_BOX_TENSOR || kind == ST_BOX_NODE ||
         kind == ST_BOX_LIBRARY || kind == ST_BOX_FUSION;
}

void *st__box_new(st__host *h, lua_State *L, st_box_kind kind, size_t n) {
  void *p = has_env(kind) ? st__new_with_env(L, n)
                          : lua_newuserdata(L, n); /* [+1] */
  memset(p, 0, n);
  st__push_meta(h, L, kind);       /* [+1] */
  lua_setmetatable(L, -2);         /* [-1] */
  return p;
}

void *st__box_test(st__host *h, lua_State *L, int idx, st_box_kind kind) {
  void *p = lua_touserdata(L, idx);
  if (!p || !lua_getmetatable(L, idx)) return NULL; /* [+1] */
  const bool is_kind = lua_topointer(L, -1) == h->meta[kind];
  lua_pop(L, 1);                                    /* [-1] */
  return is_kind ? p : NULL;
}

static const char *scalar_name(const st_scalar *s) {
  return s->kind == ST_SCALAR_COMPLEX ? "complex"
       : s->kind == ST_SCALAR_INT ? "int64" : "float";
}

/* A number that is no int64_t. */
static const char *number_name(double d) {
  if (isnan(d)) return "nan";
  if (isinf(d)) return "infinity";
  return fabs(d) < 0x1p63 ? "number with a fraction"
                          : "number beyond 64 bits";
}

const char *st__type_name(st__host *h, lua_State *L, int idx) {
  int64_t i;
  switch (lua_type(L, idx)) {
    case LUA_TUSERDATA:
      for (int k = 0; k < ST_BOX_COUNT; k++) {
        const void *p = st__box_test(h, L, idx, (st_box_kind)k);
        if (!p) continue;
        if (k == ST_BOX_TENSOR && !((const st__box *)p)->t) {
          return "freed Tensor";
        }
        return k == ST_BOX_SCALAR ? scalar_name(p) : box_name[k];
      }
      return "userdata";
    case LUA_TNUMBER:
      return st__to_int(h, L, idx, &i) ? "integral number"
                                       : number_name(lua_tonumber(L, idx));
    case LUA_TNONE: return "nothing";
    default: return luaL_typename(L, idx);
  }
}

void *st__box_check(st__host *h, lua_State *L, int idx, st_box_kind kind,
                    const char *arg) {
  void *p = st__box_test(h, L, idx, kind);
  if (!p) {
    st__error(h, L, ST_BAD_TYPE, "argument '%s' must be a %s, got %s", arg,
              box_name[kind], st__type_name(h, L, idx));
  }
  return p;
}

/* -- Functions ------------------------------------------------------------ */

void st__set_functions(st__host *h, lua_State *L, const luaL_Reg *fns) {
  for (; fns->name; fns++) {
    lua_pushlightuserdata(L, h);         /* [+1] */
    lua_pushcclosure(L, fns->func, 1);   /* [-1, +1] */
    lua_setfield(L, -2, fns->name);      /* [-1] */
  }
}

/* A boolean as second upvalue is their mark: see may_borrow. */
void st__set_runners(st__host *h, lua_State *L, const luaL_Reg *fns) {
  for (; fns->name; fns++) {
    lua_pushlightuserdata(L, h);         /* [+1] */
    lua_pushboolean(L, 1);               /* [+1] */
    lua_pushcclosure(L, fns->func, 2);   /* [-2, +1] */
    lua_setfield(L, -2, fns->name);      /* [-1] */
  }
}

/* -- Into the engine ------------------------------------------------------ */

static _Thread_local st__host *current;

st__host *st__current_host(void) { return current; }

/* Note [Who waits]
 * A finaliser may run in any allocation of a C function of ours, and free a
 * tensor that this one holds as a borrowed argument; so the stack is searched
 * for functions of ours. The finaliser may do it in a coroutine, whose stack
 * does not show who waits below, and Lua cannot tell. So the outermost thread
 * that one of ours waits on is noted, in a weak table: each that calls takes
 * the place, unless it runs on top of the one that has it. The main thread,
 * which nobody collects, is known by its address. */

/* Is the C function at the top ours, and no runner? */
static bool may_borrow(const st__host *h, lua_State *L) {
  if (!lua_iscfunction(L, -1) || !lua_getupvalue(L, -1, 1)) return false;
  const bool is_ours = lua_touserdata(L, -1) == (const void *)h; /* [+1] */
  lua_pop(L, 1);                                                 /* [-1] */
  if (!is_ours || !lua_getupvalue(L, -1, 2)) return is_ours;     /* [+1] */
  const bool is_runner = lua_isboolean(L, -1);
  lua_pop(L, 1);                                                 /* [-1] */
  return !is_runner;
}

/* Does one wait on L, at that level or below? */
static bool waits(const st__host *h, lua_State *L, int level) {
  lua_Debug ar;
  bool found = false;
  if (!lua_checkstack(L, 2)) return true;
  for (; !found && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "f", &ar); /* [+1] */
    found = may_borrow(h, L);
    lua_pop(L, 1);            /* [-1] */
  }
  return found;
}

/* The thread that is noted, if one waits there and it is another one. */
static bool waits_elsewhere(const st__host *h, lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->thread_ref); /* [+1] */
  lua_rawgeti(L, -1, 1);                            /* [+1] */
  lua_State *noted = lua_tothread(L, -1);
  lua_pop(L, 2);                                    /* [-2] */
  return noted && noted != L && lua_status(noted) == 0 && waits(h, noted, 0);
}

void st__note_thread(st__host *h, lua_State *L) {
  if (!lua_checkstack(L, 2) || waits_elsewhere(h, L)) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->thread_ref);  /* [+1] */
  h->thread = lua_pushthread(L) ? L : NULL;          /* [+1] */
  lua_rawseti(L, -2, 1);                             /* [-1] */
  lua_pop(L, 1);                                     /* [-1] */
}

bool st__is_nested(st__host *h, lua_State *L) {
  return waits(h, L, 1) || (lua_checkstack(L, 2) && waits_elsewhere(h, L));
}

/* See tensor_free (tensor_userdata.c). */
static void empty_graves(st__host *h, lua_State *L) {
  if (!h->has_graves || h->running || st__is_nested(h, L)) return;
  h->has_graves = false;
  lua_pushboolean(L, 0);                            /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->graves_ref); /* [-1] */
}

static st_status perform(const st__job *job) {
  switch (job->way) {
    case ST_WAY_REDISPATCH:
      return st_redispatch_declared(job->op, job->declared, job->keys,
                                    job->args, job->rets);
    case ST_WAY_KEY:
      return st_call_for_key_declared(job->op, job->declared, job->key,
                                      job->args, job->rets);
    case ST_WAY_EXPLAIN:
      return st_explain(job->op, job->n, job->args, job->text);
    case ST_WAY_PLANS:
      return st_plan_call(job->op, job->n, job->args, job->plans, job->room,
                          job->count);
    default:
      return st_call_declared(job->op, job->declared, job->n, job->args,
                              job->rets);
  }
}

st__entry st__enter(st__host *h, lua_State *L) {
  const st__entry e = {current, h->running, h->fiber, st_count_from(1)};
  current = h;
  h->running = L;
  h->fiber = h->fiber_self();
  return e;
}

void st__leave(st__host *h, const st__entry *e) {
  if (h->notices) st__tell_notices(h);
  st_count_from(e->first);
  h->running = e->running;
  h->fiber = e->fiber;
  current = e->outer;
}

st_status st__begin(st__host *h, lua_State *L, const char *name,
                    st__entry *e) {
  if (!st__has_turn(h)) {
    return st_fail(ST_BAD_STATE, "%s: " ST_OTHER_FIBER, name);
  }
  *e = st__enter(h, L);
  return ST_OK;
}

st_status st__end(st__host *h, lua_State *L, const st__entry *e,
                  st_status status) {
  st__leave(h, e);
  if (!e->running &&
      atomic_load_explicit(&h->dead, memory_order_relaxed)) {
    st__bury(h, L); /* kernels that were taken back while they ran */
  }
  empty_graves(h, L);
  return status;
}

static const char *name_of(const st__job *job) {
  const char *name = st_op_name(job->op);
  return strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
}

static st_status enter(st__host *h, lua_State *L, const st__job *job) {
  if (!st__has_turn(h)) {
    return st_fail(ST_BAD_STATE, "%s: " ST_OTHER_FIBER, name_of(job));
  }
  const st__entry e = st__enter(h, L);
  const st_status status = perform(job);
  st__leave(h, &e);
  const lua_State *running = e.running;
  /* Inside a Lua kernel the engine leaves the name to the outer operator, but
   * this failure becomes a Lua error of its own. */
  if (running && status != ST_OK && status != ST_HOST) {
    st_fail(status, "%s: %s", name_of(job), st_message());
  }
  if (!running && atomic_load_explicit(&h->dead, memory_order_relaxed)) {
    st__bury(h, L); /* kernels that were taken back while they ran */
  }
  return status;
}

static st_status enter_again(st__host *h, lua_State *L, const st__job *job,
                             const char *schema, st_status status) {
  bool made = false;
  if (status != ST_NO_MEMORY || !st__make_room(h, L, &made)) return status;
  return st_op_schema(job->op) == schema ? enter(h, L, job) : status;
}

st_status st__run(st__host *h, lua_State *L, const st__job *job) {
  const char *schema = st_op_schema(job->op);
  if (h->anchors.has_handed && !h->running) st__drop_handed(h, L);
  st_status status = enter(h, L, job);
  status = enter_again(h, L, job, schema, status);
  empty_graves(h, L);
  return status;
}

/* -- Life of a host ------------------------------------------------------- */

/* One for all of them: what it guards takes no longer than a glance. A child
 * of fork finds it open, whoever held it; the lists are whole at any moment. */
static pthread_mutex_t hosts = PTHREAD_MUTEX_INITIALIZER;

static void open_hosts(void) {
  hosts = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void st__lock_hosts(void) { pthread_mutex_lock(&hosts); }
void st__unlock_hosts(void) { pthread_mutex_unlock(&hosts); }

void st__host_release(st__host *h) {
  if (atomic_fetch_sub(&h->refs, 1) > 1) return;
  st__free_listeners(h);
  free(h->anchors.free_slots);
  free(h);
}

/* Note [Closed hosts]
 * While a state closes, finalisers may make boxes of ours; these are finalised
 * after the sentinel. So a closed host is kept until its thread opens the next
 * one or ends: by then the state is gone. */
static pthread_key_t closed_hosts;
static bool has_key;

static void release_closed(void *first) {
  for (st__host *h = first, *next; h; h = next) {
    next = h->next_closed;
    st__host_release(h);
  }
}

static void make_key(void) {
  has_key = pthread_key_create(&closed_hosts, release_closed) == 0;
  pthread_atfork(NULL, NULL, open_hosts);
}

static void forget_closed(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  if (!has_key) return;
  release_closed(pthread_getspecific(closed_hosts));
  pthread_setspecific(closed_hosts, NULL);
}

static void keep_closed(st__host *h) {
  if (!has_key) return;
  h->next_closed = pthread_getspecific(closed_hosts);
  pthread_setspecific(closed_hosts, h);
}

/* The state is closing: its kernels cannot run any more. */
static int host_gc(lua_State *L) {
  st__host **box = lua_touserdata(L, 1);
  st__host *h = box ? *box : NULL;
  if (!h) return 0;
  *box = NULL;
  st__lock_hosts();
  h->is_closed = true;
  st__unlock_hosts();
  st__bury(h, L);
  keep_closed(h);
  return 0;
}

static void reserve_metatables(st__host *h, lua_State *L) {
  for (int k = 0; k < ST_BOX_COUNT; k++) {
    lua_pushboolean(L, 0);                           /* [+1] */
    h->meta_ref[k] = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  }
}

/* The table of Note [Who waits]. */
static void note_threads(st__host *h, lua_State *L) {
  lua_createtable(L, 1, 0);                         /* [+1] */
  lua_createtable(L, 0, 1);                         /* [+1] */
  lua_pushliteral(L, "v");                          /* [+1] */
  lua_setfield(L, -2, "__mode");                    /* [-1] */
  lua_setmetatable(L, -2);                          /* [-1] */
  h->thread_ref = luaL_ref(L, LUA_REGISTRYINDEX);   /* [-1] */
}

/* The sentinel is the first box of all, so that it is finalised after those
 * that were there when the state began to close. */
st__host *st__host_new(lua_State *L) {
  st__host **box = lua_newuserdata(L, sizeof *box); /* [+1] */
  *box = NULL;
  lua_newtable(L);                                  /* [+1] */
  lua_pushcfunction(L, host_gc);                    /* [+1] */
  lua_setfield(L, -2, "__gc");                      /* [-1] */
  lua_setmetatable(L, -2);                          /* [-1] */
  luaL_ref(L, LUA_REGISTRYINDEX);                   /* [-1] */
  forget_closed();
  st__host *h = calloc(1, sizeof *h);
  if (!h) luaL_error(L, "strided: out of memory");
  *box = h;
  atomic_init(&h->refs, 1);
  h->has_retry = true;
  h->is_int64_ref = h->new_int64_ref = LUA_NOREF;
  h->print = (st_print_options){4, 1000, 3, 80, -1};
  reserve_metatables(h, L);
  lua_pushboolean(L, 0);                            /* [+1] */
  h->error_ref = luaL_ref(L, LUA_REGISTRYINDEX);    /* [-1] */
  lua_pushboolean(L, 0);                            /* [+1] */
  h->graves_ref = luaL_ref(L, LUA_REGISTRYINDEX);   /* [-1] */
  note_threads(h, L);
#define ST_FIND(id, name, overload) \
  h->op[ST_HANDLE_##id] = st_op_find(name, overload);
  ST_HANDLE_MAP(ST_FIND)
#undef ST_FIND
  return h;
}
