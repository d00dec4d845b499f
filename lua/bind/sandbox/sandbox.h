/* The room of the sandbox: Note [Sandboxes]. */
#ifndef ST_LUA_SANDBOX_SANDBOX_H
#define ST_LUA_SANDBOX_SANDBOX_H

#include "value/value.h"
#include "state/guard.h"

#define ST_SANDBOX_OPENERS(X) X(load_module) X(sandbox) X(sandbox_run)
ST_SANDBOX_OPENERS(ST_DECLARE_OPENER)

/* False for a second binding state of a Lua state in a sandbox. */
bool st__sandbox_may_open(st__state *h);
/* Turns the sandbox on if STRIDED_SANDBOX says so; returns its text if it is
 * malformed, else NULL. */
const char *st__sandbox_from_env(st__state *h, lua_State *L);
/* Pushes what takes the place of the core table in a sandbox that was closed
 * while it was opened. [+1] */
void st__push_closed_core(lua_State *L);
/* Takes everything away but the allowed classes, closes the Lua side by the
 * function at idx, or from the environment if idx is 0, and raises what failed.
 * From here on a failure leaves nothing of the library: Note [Closing whole or
 * not at all]. */
void st__close_sandbox(st__state *h, lua_State *L, int allowed, int idx);
/* Makes what a failure needs, before anything is taken. [0] */
void st__prepare_closing(st__state *h, lua_State *L);
/* Remembers the core table at the top. [0] */
void st__keep_core(st__state *h, lua_State *L);
/* Pushes the global require of when the library was loaded. [+1] */
void st__push_require(const st__state *h, lua_State *L);
/* Removes the marks of our modules from the table of loaded modules at the top,
 * but those of modules that `require` of the library is loading: Note [Modules
 * load whole or not at all]. Allocates nothing. [0] */
void st__remove_marks(const st__state *h, lua_State *L);
/* True if the hook of the time limit has found on L that the time was over. */
bool st__has_time_hook(lua_State *L);
/* Replaces functions of coroutines in the table of loaded modules at an index:
 * Note [Closing after a time limit]. [0] */
void st__guard_coroutines(lua_State *L, int loaded);

#endif
