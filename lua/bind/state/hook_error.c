/* Errors of debug hooks where other errors are caught.
 *
 * Note [Errors of hooks]
 * An interrupt and a time limit are errors that a debug hook raises, and end
 * what runs. Some functions of the binding catch errors and go on: a failure of
 * a finalizer, of a listener or of the function that gets warnings is none of
 * the call that ran it. An error of a hook passes nevertheless: it is raised
 * again by a hook at the next instruction of Lua. It is known by its place: a
 * hook around the host's sees it, and a hook that a signal handler sets takes
 * the place of that one. Where only functions of C run, what they may raise is
 * known, and all else is of a hook.
 */

#include <limits.h>
#include <string.h>

#include "state/hook_error.h"

static char waiting_key;

static _Thread_local st__watch *watching; /* the innermost */
static _Thread_local st__watch before;    /* the hook that waits for its turn */

/* -- Raising later --------------------------------------------------------- */

static void raise_waiting(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (!lua_checkstack(L, 4)) return;
  lua_sethook(L, before.fn, before.mask, before.count);
  lua_pushlightuserdata(L, &waiting_key);        /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);              /* [-1, +1] */
  lua_pushlightuserdata(L, &waiting_key);        /* [+1] */
  lua_pushboolean(L, 0);                         /* [+1] */
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
  lua_error(L);
}

void st__raise_later(lua_State *L) {
  lua_pushlightuserdata(L, &waiting_key);        /* [+1] */
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
  const lua_Hook hook = lua_gethook(L);
  if (hook == raise_waiting) return;
  before = (st__watch){.fn = hook, .mask = lua_gethookmask(L),
                       .count = lua_gethookcount(L)};
  lua_sethook(L, raise_waiting, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

bool st__drop_lack(lua_State *L, int status) {
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  const bool is_lack = status == LUA_ERRMEM || status == LUA_ERRERR ||
                       strstr(text, "stack overflow");
  if (is_lack) lua_pop(L, 1);                    /* [-1] */
  else st__raise_later(L);                       /* [-1] */
  return is_lack;
}

/* -- Watching -------------------------------------------------------------- */

static void watch(lua_State *L, lua_Debug *ar) {
  st__watch *w = watching;
  if (!w || !w->fn) return;
  w->is_inside = true;
  w->fn(L, ar);
  w->is_inside = false;
}

void st__watch_begin(lua_State *L, st__watch *w) {
  *w = (st__watch){lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L),
                   false, watching};
  if (w->fn == watch && w->outer) w->fn = w->outer->fn;
  watching = w;
  if (w->fn) lua_sethook(L, watch, w->mask, w->count);
  else lua_sethook(L, watch, LUA_MASKCOUNT, INT_MAX);
}

bool st__watch_end(lua_State *L, st__watch *w, int status) {
  const bool is_other = lua_gethook(L) != watch; /* a signal has set one */
  watching = w->outer;
  if (!is_other) {
    lua_sethook(L, w->outer ? watch : w->fn, w->mask, w->count);
  }
  if (status == 0 || !(w->is_inside || is_other)) return false;
  st__raise_later(L);                            /* [-1] */
  return true;
}

/* -- Opening --------------------------------------------------------------- */

void st__prepare_hook_errors(lua_State *L) {
  lua_pushlightuserdata(L, &waiting_key);        /* [+1] */
  lua_pushboolean(L, 0);                         /* [+1] */
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
}
