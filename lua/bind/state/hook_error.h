/* Errors of debug hooks where other errors are caught: Note [Errors of
 * hooks]. */
#ifndef ST_LUA_STATE_HOOK_ERROR_H
#define ST_LUA_STATE_HOOK_ERROR_H

#include "state/state.h"

/* Raises the value at the top at the next instruction of Lua: Note [Errors of
 * hooks]. Needs no memory. [-1] */
void st__raise_later(lua_State *L);
/* After a protected call of functions of C, which failed with this status:
 * drops the error if it is for want of memory or stack, and raises another one
 * later. True if it was dropped. [-1] */
bool st__drop_lack(lua_State *L, int status);

/* Around a protected call whose errors are caught. End says if that of the
 * status, at the top, came from a hook; then it is raised later. [0|-1] */
typedef struct st__watch {
  lua_Hook fn;           /* of the host */
  int mask, count;
  bool is_inside;        /* the hook runs */
  struct st__watch *outer;
} st__watch;
void st__watch_begin(lua_State *L, st__watch *w);
bool st__watch_end(lua_State *L, st__watch *w, int status);

/* Makes the place of an error that is raised later. [0] */
void st__prepare_hook_errors(lua_State *L);

#endif
