/* Whether functions of the binding that may hold borrowed tensors are active.
 */

#include <math.h>

#include "state/engine.h"
#include "state/guard.h"

struct st__search {
  int thread_ref;   /* Note [Borrowed arguments on the stack] */
  int saved;        /* Note [The search of a deep stack] */
};

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
  const int end = (int)(SEARCHED * sqrt(h->search->saved + 1));
  if (lua_getstack(L, end, &ar)) {
    if (h->search->saved < MOST_SAVED) h->search->saved++;
    return ST__NESTING_UNKNOWN;
  }
  h->search->saved = 0;
  return search(h, L, SEARCHED, end);
}

/* Is such a function active on the stored thread, if that is not L? */
static st__nesting find_elsewhere(st__state *h, lua_State *L) {
  if (!lua_checkstack(L, 2)) return ST__NESTING_UNKNOWN;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->search->thread_ref); /* [+1] */
  lua_rawgeti(L, -1, 1);                            /* [+1] */
  lua_State *noted = lua_tothread(L, -1);
  lua_pop(L, 2);                                    /* [-2] */
  const bool is_other = noted && noted != L && lua_status(noted) == 0;
  return is_other ? find_borrower(h, noted, 0) : ST__OUTERMOST;
}

void st__track_thread(st__state *h, lua_State *L) {
  if (find_elsewhere(h, L) != ST__OUTERMOST) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->search->thread_ref);  /* [+1] */
  const bool stays = lua_pushthread(L) || st__sandbox_host(h, L); /* [+1] */
  h->thread = stays ? L : NULL;
  lua_rawseti(L, -2, 1);                             /* [-1] */
  lua_pop(L, 1);                                     /* [-1] */
}

st__nesting st__nesting_of(st__state *h, lua_State *L) {
  const st__nesting here = find_borrower(h, L, 1);
  return here == ST__OUTERMOST ? find_elsewhere(h, L) : here;
}

void st__open_nesting(st__state *h, lua_State *L) {
  h->search = st__new_part(h, L, sizeof *h->search, NULL);
  h->search->thread_ref = st__new_weak_table(L);
}
