/* Whether a finalizer or a Lua kernel runs. */
#ifndef ST_LUA_NESTING_H
#define ST_LUA_NESTING_H

#include "bind.h"

/* Is one of our C functions, possibly holding borrowed tensors, deeper in the
 * stack? This is so when a finalizer or a Lua kernel runs. In a deep stack it
 * may be unknown: Note [The search of a deep stack]. */
typedef enum st__nesting {
  ST__OUTERMOST, ST__NESTED, ST__NESTING_UNKNOWN
} st__nesting;

st__nesting st__nesting_of(st__state *h, lua_State *L);

#endif
