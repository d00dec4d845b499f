/* Lua values that the engine holds: Note [Held values].
 */

#include <stdlib.h>

#include "bind.h"

void *st__hold(st__host *h, lua_State *L, int idx, size_t size) {
  lua_pushvalue(L, idx);                           /* [+1] */
  const int ref = luaL_ref(L, LUA_REGISTRYINDEX);  /* [-1] */
  st__held *held = calloc(1, size);
  if (!held) {
    luaL_unref(L, LUA_REGISTRYINDEX, ref);
    st__error(h, L, ST_NO_MEMORY, "out of memory");
    return NULL;
  }
  atomic_fetch_add(&h->refs, 1);
  held->h = h;
  held->ref = ref;
  return held;
}

void st__let_go(void *block) {
  st__held *held = block;
  st__host *h = held->h;
  st__lock_hosts();
  const bool is_closed = h->is_closed;
  if (!is_closed) {
    held->next = h->dead;
    h->dead = held;
  }
  st__unlock_hosts();
  if (!is_closed) return;
  free(held);
  st__host_release(h);
}

void st__bury(st__host *h, lua_State *L) {
  st__lock_hosts();
  st__held *held = h->dead;
  h->dead = NULL;
  st__unlock_hosts();
  while (held) {
    st__held *next = held->next;
    luaL_unref(L, LUA_REGISTRYINDEX, held->ref);
    free(held);
    st__host_release(h);
    held = next;
  }
}
