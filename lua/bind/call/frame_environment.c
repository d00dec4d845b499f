/* Environments of the arguments of a call, for its results: Note [Keeping
 * gradient functions alive].
 */

#include "call/call.h"

bool st__env_collect_args(const st__frame *f) {
  bool has_one = false;
  if (!st__any_env(f->h)) return false;
  luaL_checkstack(f->L, LUA_MINSTACK, NULL);
  for (int i = 0; i < f->nargs; i++) {
    const uint8_t tag = f->args[i].tag;
    if (!f->source[i] || (tag != ST_TAG_TENSOR && tag != ST_TAG_TENSORS)) {
      continue;
    }
    has_one = st__env_collect(f->h, f->L, f->source[i], has_one); /* [+0|1] */
  }
  return has_one;
}

bool st__pass_enter_call(st__state *h, lua_State *L, const st__frame *f) {
  if (!f || f->L != L || !st__any_env(h)) return false;
  st__pass_open(h, L);                                /* [+3] */
  int n = 0;
  for (int i = 0; i < f->nargs; i++) {
    if (!f->source[i]) continue;
    lua_pushvalue(L, f->source[i]);                   /* [+1] */
    n++;
  }
  st__pass_collect(h, L, n);                          /* [-n-2] */
  return true;
}

void st__env_inherit(st__frame *f, int first) {
  st__state *h = f->h;
  lua_State *L = f->L;
  if (f->rets->is_alias && f->source[0]) st__track_source(h, L, f->source[0]);
  bool has_one = st__env_collect_args(f);             /* [+0|1] */
  has_one = st__env_take_returned(h, L, has_one);             /* [+0|1] */
  for (int r = 0; r < f->nrets; r++) {
    st__env_inherit_all(h, L, first + r, has_one, f->rets[r].is_write);
  }
  if (has_one) lua_pop(L, 1);                         /* [-1] */
}
