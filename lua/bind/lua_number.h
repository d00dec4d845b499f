/* What a Lua number is to the engine: Note [Integral numbers]. */
#ifndef ST_LUA_LUA_NUMBER_H
#define ST_LUA_LUA_NUMBER_H

#include "compat.h"
#include "strided.h"

/* Converts the number at idx: Note [Integral numbers]. */
static inline void st__number_to_scalar(lua_State *L, int idx, st_scalar *out) {
#if LUA_VERSION_NUM >= 503
  if (lua_isinteger(L, idx)) {
    *out = (st_scalar){ST_SCALAR_INT, {.i = lua_tointeger(L, idx)}};
    return;
  }
#endif
  const double d = lua_tonumber(L, idx);
  if (d >= -0x1p63 && d < 0x1p63 && d == (double)(int64_t)d) {
    *out = (st_scalar){ST_SCALAR_INT, {.i = (int64_t)d}};
  } else {
    *out = (st_scalar){ST_SCALAR_FLOAT, {.f = d}};
  }
}

#endif
