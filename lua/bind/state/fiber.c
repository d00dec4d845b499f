/* Fibers: coroutines with their own C stacks.
 *
 * Note [Fibers]
 * Lua's coroutines share one C stack. Thread state that a body of
 * st.dispatch_mode or st.no_grad changes, and data that a call of a Lua
 * function has on the stack, are therefore undone in reverse order. Tarantool's
 * fibers switch C stacks at any point of Lua code and would undo them in any
 * order. So while a fiber has yielded inside such a body or call, those of
 * other fibers fail.
 */

#include <dlfcn.h>

#include "state/engine.h"
#include "state/guard.h"

static void *no_fiber(void) { return NULL; }

static void *(*find_fiber(lua_State *L))(void) {
  union { void *object; void *(*function)(void); } self = {NULL};
  lua_getglobal(L, "_TARANTOOL");              /* [+1] */
  if (!lua_isnil(L, -1)) self.object = dlsym(RTLD_DEFAULT, "fiber_self");
  lua_pop(L, 1);                               /* [-1] */
  return self.object ? self.function : no_fiber;
}

static char asking;
void *const st__asking_fiber = &asking;

const char *st__other_fiber(const st__state *h) {
  return h->is_broken ? ST_BROKEN
         : h->fiber == st__asking_fiber ? ST_IN_HOOK : ST_OTHER_FIBER;
}

bool st__owns_fiber(const st__state *h) {
  return !h->is_broken && (!h->fiber || h->fiber == h->fiber_self());
}

void st__check_fiber(st__state *h, lua_State *L, const char *name) {
  if (st__owns_fiber(h)) return;
  st__error(h, L, ST_BAD_STATE, "%s: %s", name, st__other_fiber(h));
}

void st__open_fiber(st__state *h, lua_State *L) {
  h->fiber_self = find_fiber(L);
}
