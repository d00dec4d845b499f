/* Calls of Lua functions by C functions of the binding.
 *
 * Note [Nested calls]
 * A Lua function that a C function calls may call that C function again. Each
 * such level takes some KB of the C stack, which all coroutines of a thread
 * share, and LuaJIT does not limit the levels: a function that never stops
 * calling itself would end the process. So no other file calls lua_call or
 * lua_pcall. The functions here count the levels of a binding state and check
 * how much of the thread's stack is left; a call that goes too deep is an
 * error, which Lua can catch.
 *
 * An error leaves C functions without returning to them, so the count changes
 * around protected calls only.
 *
 * Note [Handlers that fail]
 * LuaJIT calls the message handler of an xpcall where the error is raised, and
 * again for an error of the handler, one above the other, until its own stack
 * is full. A handler that calls operators fills the C stack first. So where
 * little of that is left, an error takes all slots of Lua's stack before it is
 * raised; then no handler can run, and the xpcall returns.
 */

#include "bind.h"

enum {
  MAX_LEVELS = 200,    /* as many as operators nest */
  RESERVE = 36 << 10,  /* bytes of stack that a level needs, with the operator
                          that its function calls */
  BUDGET = 192 << 10,  /* bytes of all levels on a stack of unknown size */
  HANDLERS = 128 << 10, /* bytes for handlers, at most a quarter of a stack */
  SLOTS = 7900,        /* of Lua's stack, of the 8000 of a C function */
  FEWEST_SLOTS = 8
};

/* -- The stack ------------------------------------------------------------ */

/* The stack of a thread; high is 0 if it is not known. */
typedef struct stack_bounds {
  bool is_read;
  uintptr_t low, high;
} stack_bounds;

static void read_bounds(stack_bounds *b) {
  pthread_attr_t attr;
  void *low;
  size_t size, guard = 0;
  b->is_read = true;
  if (pthread_getattr_np(pthread_self(), &attr) != 0) return;
  if (pthread_attr_getstack(&attr, &low, &size) == 0) {
    pthread_attr_getguardsize(&attr, &guard);
    b->low = (uintptr_t)low + guard;
    b->high = (uintptr_t)low + size;
  }
  pthread_attr_destroy(&attr);
}

/* The stack of this thread; NULL if this is another one, of a fiber. */
static const stack_bounds *this_stack(void) {
  static _Thread_local stack_bounds bounds;
  const uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
  if (!bounds.is_read) read_bounds(&bounds);
  return sp >= bounds.low && sp < bounds.high ? &bounds : NULL;
}

/* Bytes of the C stack that are left. A fiber has a stack of its own, whose
 * size nobody tells: it has a budget from its outermost level on. */
static size_t stack_left(const st__state *h) {
  const uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
  const stack_bounds *bounds = this_stack();
  if (bounds) return sp - bounds->low;
  const uintptr_t used = h->levels > 0 && h->first_level > sp
                         ? h->first_level - sp : 0;
  return used < BUDGET ? SIZE_MAX : 0;
}

/* -- Depth ---------------------------------------------------------------- */

static void check_levels(st__state *h, lua_State *L, const char *name,
                         int most) {
  if (h->levels > most) {
    st__error(h, L, ST_BAD_STATE, "%s: too deep: functions call each other "
              "through strided more than %d times", name, MAX_LEVELS);
  }
  const size_t left = stack_left(h);
  if (left < RESERVE) {
    st__error(h, L, ST_BAD_STATE, "%s: too deep: %zu KB of the stack of this "
              "thread are left, and a function that strided calls needs %d",
              name, left >> 10, RESERVE >> 10);
  }
}

void st__check_depth(st__state *h, lua_State *L, const char *name) {
  check_levels(h, L, name, MAX_LEVELS - 1);
}

void st__check_body(st__state *h, lua_State *L, const char *name) {
  st__check_fiber(h, L, name);
  st__check_depth(h, L, name);
}

/* -- Errors: Note [Handlers that fail] ------------------------------------ */

static int check_slots(lua_State *L) {
  luaL_checkstack(L, (int)lua_tointeger(L, 1), NULL);
  return 0;
}

/* (message, n): takes as many slots of Lua's stack as it can, n at once while
 * there are n, and raises the message. */
static int take_slots(lua_State *L) {
  for (lua_Integer n = lua_tointeger(L, 2); n >= FEWEST_SLOTS; n /= 2) {
    lua_settop(L, 1);
    lua_pushcfunction(L, check_slots);              /* [+1] */
    lua_pushinteger(L, n + LUA_MINSTACK);           /* [+1] */
    if (lua_pcall(L, 1, 0, 0) != 0) continue;       /* [-2] */
    luaL_checkstack(L, (int)n + LUA_MINSTACK, NULL);
    lua_settop(L, (int)n);
    lua_pushcfunction(L, take_slots);               /* [+1] */
    lua_pushvalue(L, 1);                            /* [+1] */
    lua_pushinteger(L, n);                          /* [+1] */
    lua_call(L, 2, 0);                              /* [-3] */
  }
  lua_settop(L, 1);
  return lua_error(L);
}

int st__throw(st__state *h, lua_State *L) {
  const stack_bounds *bounds = this_stack();
  const size_t least = bounds ? (bounds->high - bounds->low) / 4 : 0;
  if (stack_left(h) >= (least < HANDLERS ? least : HANDLERS)) {
    return lua_error(L);
  }
  lua_pushcfunction(L, take_slots);                 /* [+1] */
  lua_insert(L, -2);
  lua_pushinteger(L, SLOTS);                        /* [+1] */
  lua_call(L, 2, 0);                                /* [-3] */
  return 0;
}

/* -- Protected calls ------------------------------------------------------ */

int st__pcall_c(st__state *h, lua_State *L, int nargs, int nrets,
                int handler) {
  if (h->levels++ == 0) {
    h->first_level = (uintptr_t)__builtin_frame_address(0);
  }
  const int status =
    lua_pcall(L, nargs, nrets, handler);            /* [-nargs-1, +nrets|1] */
  h->levels--;
  return status;
}

int st__run_body(st__state *h, lua_State *L, int nargs, int nrets) {
  void *outer = h->fiber;
  h->fiber = h->fiber_self();
  const int status =
    st__pcall_c(h, L, nargs, nrets, 0);             /* [-nargs-1, +nrets|1] */
  h->fiber = outer;
  return status;
}

int st__run_handled(st__state *h, lua_State *L, int nargs, int handler) {
  return st__pcall_c(h, L, nargs, LUA_MULTRET, handler);
}

/* -- Calls that raise ----------------------------------------------------- */

void st__call_lua(st__state *h, lua_State *L, const char *name, int nargs,
                  int nrets) {
  check_levels(h, L, name, MAX_LEVELS);
  lua_call(L, nargs, nrets);                        /* [-nargs-1, +nrets] */
}

void st__call_c(lua_State *L, int nargs, int nrets) {
  lua_call(L, nargs, nrets);                        /* [-nargs-1, +nrets] */
}

#if LUA_VERSION_NUM >= 504
int st__resume(lua_State *co, lua_State *L, int nargs, int *nrets) {
  return lua_resume(co, L, nargs, nrets);
}
#endif

void st__call_out(st__state *h, lua_State *L, const char *name, int nargs,
                  int nrets) {
  st__check_depth(h, L, name);
  if (st__pcall_c(h, L, nargs, nrets, 0) != 0) lua_error(L);
}

/* Arguments: a table, a name. */
static int get_field(lua_State *L) {
  lua_gettable(L, 1);                               /* [-1, +1] */
  return 1;
}

void st__get_field(st__state *h, lua_State *L, int idx, const char *name) {
  if (!lua_getmetatable(L, idx)) {                  /* [+0|1] */
    lua_getfield(L, idx, name);                     /* [+1] */
    return;
  }
  lua_pop(L, 1);                                    /* [-1] */
  lua_pushvalue(L, idx);                            /* [+1] */
  lua_pushcfunction(L, get_field);                  /* [+1] */
  lua_insert(L, -2);
  lua_pushstring(L, name);                          /* [+1] */
  st__call_out(h, L, lua_tostring(L, -1), 2, 1);    /* [-3, +1] */
}
