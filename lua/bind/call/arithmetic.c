/* Arithmetic metamethods of values beside tensors: with a tensor they call the
 * operator, without one the function of the value's kind.
 */

#include <string.h>

#include "call/call.h"

static const struct { const char *event, *sign, *name; } arithmetic[] = {
  {"__add", "+", "aten::add"}, {"__sub", "-", "aten::sub"},
  {"__mul", "*", "aten::mul"}, {"__div", "/", "aten::div"},
  {"__mod", "%", "aten::remainder"}, {"__pow", "^", "aten::pow"}
};

/* The upvalues of a metamethod behind the binding state. */
enum { SIGN = 2, OPERATOR };

void st__set_arithmetic(st__state *h, lua_State *L, const char *signs,
                        lua_CFunction fn) {
  for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++) {
    if (!strstr(signs, arithmetic[i].sign)) continue;
    lua_pushlightuserdata(L, h);                        /* [+1] */
    lua_pushstring(L, arithmetic[i].sign);              /* [+1] */
    if (!st__push_callable(h, L, arithmetic[i].name, false)) { /* [+0|1] */
      lua_pushnil(L);                                   /* [+1] */
    }
    lua_pushcclosure(L, fn, OPERATOR);                  /* [-3, +1] */
    lua_setfield(L, -2, arithmetic[i].event);           /* [-1] */
  }
}

char st__sign(lua_State *L) {
  return *lua_tostring(L, lua_upvalueindex(SIGN));
}

bool st__call_arithmetic(st__state *h, lua_State *L) {
  if (!st__testudata(h, L, 1, ST_UD_TENSOR) &&
      !st__testudata(h, L, 2, ST_UD_TENSOR)) {
    return false;
  }
  lua_pushvalue(L, lua_upvalueindex(OPERATOR));         /* [+1] */
  lua_insert(L, 1);
  st__call_c(L, 2, 1);                                  /* [-3, +1] */
  return true;
}
