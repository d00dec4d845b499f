/* What binding states are made of and who holds them: references, parts, the
 * lock of all, the one that runs on a thread.
 */

#include <stddef.h>
#include <stdlib.h>

#include "state/state.h"

_Thread_local st__state *st__current;

/* -- Parts ---------------------------------------------------------------- */

struct st__part {
  st__part *next;
  void (*clear)(void *part);
  max_align_t data[];
};

void *st__new_part(st__state *h, lua_State *L, size_t size,
                   void (*clear)(void *part)) {
  st__part *part = calloc(1, offsetof(st__part, data) + size);
  if (!part) luaL_error(L, "strided: out of memory");
  *part = (st__part){h->parts, clear};
  h->parts = part;
  return part->data;
}

int st__new_slot(lua_State *L) {
  lua_pushboolean(L, 0);                            /* [+1] */
  return luaL_ref(L, LUA_REGISTRYINDEX);            /* [-1] */
}

int st__new_weak_table(lua_State *L) {
  lua_newtable(L);                                  /* [+1] */
  lua_createtable(L, 0, 1);                         /* [+1] */
  lua_pushliteral(L, "v");                          /* [+1] */
  lua_setfield(L, -2, "__mode");                    /* [-1] */
  lua_setmetatable(L, -2);                          /* [-1] */
  return luaL_ref(L, LUA_REGISTRYINDEX);            /* [-1] */
}

/* -- References ----------------------------------------------------------- */

/* One lock for all states, held for a few instructions. The lists are
 * consistent at any moment, so the child of a fork reinitializes it
 * unlocked. */
static pthread_mutex_t states = PTHREAD_MUTEX_INITIALIZER;

static void reset_lock(void) {
  states = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void st__prepare_lock(void) { pthread_atfork(NULL, NULL, reset_lock); }
void st__lock_states(void) { pthread_mutex_lock(&states); }
void st__unlock_states(void) { pthread_mutex_unlock(&states); }

void st__state_release(st__state *h) {
  if (atomic_fetch_sub(&h->refs, 1) > 1) return;
  for (st__part *part = h->parts, *next; part; part = next) {
    next = part->next;
    if (part->clear) part->clear(part->data);
    free(part);
  }
  free(h);
}
