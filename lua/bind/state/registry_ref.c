/* References to Lua values that the engine owns: Note [Registry references].
 */

#include <stdlib.h>

#include "state/engine.h"

void *st__lua_ref_new(st__state *h, lua_State *L, int idx, size_t size) {
  lua_pushvalue(L, idx);                           /* [+1] */
  const int ref = luaL_ref(L, LUA_REGISTRYINDEX);  /* [-1] */
  st__lua_ref *ref_block = st_limits_realloc(NULL, size);
  if (!ref_block) {
    luaL_unref(L, LUA_REGISTRYINDEX, ref);
    st__error(h, L, ST_NO_MEMORY, "%s", st_message());
    return NULL;
  }
  memset(ref_block, 0, size);
  atomic_fetch_add(&h->refs, 1);
  ref_block->h = h;
  ref_block->ref = ref;
  return ref_block;
}

void st__lua_ref_free(void *block) {
  st__lua_ref *ref_block = block;
  st__state *h = ref_block->h;
  st__lock_states();
  const bool is_closed = h->is_closed;
  if (!is_closed) {
    ref_block->next = h->unrefs;
    h->unrefs = ref_block;
  }
  st__unlock_states();
  if (!is_closed) return;
  st_limits_free(ref_block);
  st__state_release(h);
}

void st__lua_ref_sweep(st__state *h, lua_State *L) {
  st__lock_states();
  st__lua_ref *ref_block = h->unrefs;
  h->unrefs = NULL;
  st__unlock_states();
  while (ref_block) {
    st__lua_ref *next = ref_block->next;
    luaL_unref(L, LUA_REGISTRYINDEX, ref_block->ref);
    st_limits_free(ref_block);
    st__state_release(h);
    ref_block = next;
  }
}
