/* Whether functions of the binding that may hold borrowed tensors are active.
 */

#include <limits.h>
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

/* True if such a function is active on L at one of the levels [level, end). */
static bool has_borrower(const st__state *h, lua_State *L, int level, int end) {
  lua_Debug ar;
  bool found = false;
  if (!lua_checkstack(L, 2)) return true;
  for (; !found && level < end && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "f", &ar); /* [+1] */
    found = may_borrow(h, L);
    lua_pop(L, 1);            /* [-1] */
  }
  return found;
}

/* The stored thread if it is another than L and waits for it, else NULL. */
static lua_State *noted_thread(const st__state *h, lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->search->thread_ref); /* [+1] */
  lua_rawgeti(L, -1, 1);                                    /* [+1] */
  lua_State *noted = lua_tothread(L, -1);
  lua_pop(L, 2);                                            /* [-2] */
  return noted && noted != L && lua_status(noted) == 0 ? noted : NULL;
}

/* True if such a function is active on the stored thread, which is not L. */
static bool borrower_elsewhere(const st__state *h, lua_State *L) {
  lua_State *noted = noted_thread(h, L);
  return noted && has_borrower(h, noted, 0, INT_MAX);
}

void st__track_thread(st__state *h, lua_State *L) {
  if (!lua_checkstack(L, 2) || borrower_elsewhere(h, L)) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->search->thread_ref);  /* [+1] */
  const bool stays = lua_pushthread(L) || st__sandbox_host(h, L); /* [+1] */
  h->thread = stays ? L : NULL;
  lua_rawseti(L, -2, 1);                             /* [-1] */
  lua_pop(L, 1);                                     /* [-1] */
}

bool st__is_nested(st__state *h, lua_State *L) {
  return has_borrower(h, L, 1, INT_MAX) ||
         (lua_checkstack(L, 2) && borrower_elsewhere(h, L));
}

/* Note [The search of a deep stack]
 * lua_getstack takes a time in proportion to the level, and so a search one in
 * proportion to the square of the depth: seconds for the 500,000 calls that Lua
 * 5.4 allows. t:free() pays that; a call that looks whether something waits for
 * its end does not. It looks at SEARCHED levels, and at the others only if they
 * are at most DEEPEST and if the calls before it that did not look have saved
 * the time for it. Else what waits goes on waiting. */
enum {
  SEARCHED = 256,
  DEEPEST = 4096,
  MOST_SAVED = DEEPEST / SEARCHED * (DEEPEST / SEARCHED) /* searches */
};

/* True if no such function is active on L at that level or below, as far as
 * that is known. */
static bool has_none(st__state *h, lua_State *L, int level) {
  lua_Debug ar;
  if (has_borrower(h, L, level, SEARCHED)) return false;
  if (!lua_getstack(L, SEARCHED, &ar)) return true;
  const int end = (int)(SEARCHED * sqrt(h->search->saved + 1));
  if (lua_getstack(L, end, &ar)) {
    if (h->search->saved < MOST_SAVED) h->search->saved++;
    return false;
  }
  h->search->saved = 0;
  return !has_borrower(h, L, SEARCHED, end);
}

bool st__is_outermost(st__state *h, lua_State *L) {
  if (!has_none(h, L, 1) || !lua_checkstack(L, 2)) return false;
  lua_State *noted = noted_thread(h, L);
  return !noted || has_none(h, noted, 0);
}

void st__open_nesting(st__state *h, lua_State *L) {
  h->search = st__new_part(h, L, sizeof *h->search, NULL);
  h->search->thread_ref = st__new_weak_table(L);
}
