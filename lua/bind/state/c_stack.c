/* The C stack of the thread: how much of it is left, and errors where that is
 * little.
 *
 * Note [Handlers that fail]
 * LuaJIT calls the message handler of an xpcall where the error is raised, and
 * again for an error of the handler, one above the other, until its own stack
 * is full. A handler that calls operators fills the C stack first. So where
 * little of that is left, an error takes all slots of Lua's stack before it is
 * raised; then no handler can run, and the xpcall returns.
 */

#include "state/error.h"

enum {
  BUDGET = 192 << 10,  /* bytes of all levels on a stack of unknown size */
  HANDLERS = 128 << 10, /* bytes for handlers, at most a quarter of a stack */
  SLOTS = 7900,        /* of Lua's stack, of the 8000 of a C function */
  FEWEST_SLOTS = 8
};

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

/* A fiber has a stack of its own, whose size nobody tells: it has a budget from
 * its outermost level on. */
size_t st__stack_left(const st__state *h) {
  const uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
  const stack_bounds *bounds = this_stack();
  if (bounds) return sp - bounds->low;
  const uintptr_t used = h->levels > 0 && h->first_level > sp
                         ? h->first_level - sp : 0;
  return used < BUDGET ? SIZE_MAX : 0;
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
  if (st__stack_left(h) >= (least < HANDLERS ? least : HANDLERS)) {
    return lua_error(L);
  }
  lua_pushcfunction(L, take_slots);                 /* [+1] */
  lua_insert(L, -2);
  lua_pushinteger(L, SLOTS);                        /* [+1] */
  lua_call(L, 2, 0);                                /* [-3] */
  return 0;
}
