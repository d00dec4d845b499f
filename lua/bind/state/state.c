/* Lifetime of binding states.
 */

#include <stdlib.h>

#include "state/engine.h"
#include "state/guard.h"

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
  st__prepare_lock();
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
  for (int k = 0; k < ST_UD_COUNT; k++) h->meta_ref[k] = st__new_slot(L);
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
  st__sandbox_join(h, L);
  h->has_retry = true;
  h->has_shortcuts = st_has_shortcuts();
  st__open_pacing(h, L);
  reserve_metatables(h, L);
  h->error_ref = st__new_slot(L);
  h->refusal_ref = st__new_slot(L);
  h->deferred_ref = st__new_slot(L);
  h->returned_ref = st__new_slot(L);
  st__open_nesting(h, L);
#define ST_FIND(id, name, overload) \
  h->op[ST_HANDLE_##id] = st_op_find(name, overload);
  ST_HANDLE_MAP(ST_FIND)
#undef ST_FIND
  return h;
}
