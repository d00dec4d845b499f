/* The operators of Lua on tensors, a + b or -a: each is a metamethod that calls
 * an operator of the engine. The others, a < b or a == b, are in
 * strided/tensor/comparison.lua.
 */

#include "tensor/tensor.h"

/* Lua passes the operand of __unm and __bnot twice. Upvalue 2: the function of
 * one argument. */
static int tensor_unary(lua_State *L) {
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(2)); /* [+1] */
  lua_insert(L, 1);
  st__call_c(L, 1, 1);                   /* [-2, +1] */
  return 1;
}

static const struct { const char *event, *name; bool is_unary; }
operators[] = {
  {"__add", "aten::add", false}, {"__sub", "aten::sub", false},
  {"__mul", "aten::mul", false}, {"__div", "aten::div", false},
  {"__mod", "aten::remainder", false}, {"__pow", "aten::pow", false},
  {"__unm", "aten::neg", true},
  /* Used by Lua 5.3 and later: */
  {"__idiv", "aten::floor_divide", false},
  {"__band", "aten::bitwise_and", false}, {"__bor", "aten::bitwise_or", false},
  {"__bxor", "aten::bitwise_xor", false},
  {"__shl", "aten::bitwise_left_shift", false},
  {"__shr", "aten::bitwise_right_shift", false},
  {"__bnot", "aten::bitwise_not", true}
};

void st__open_tensor_operators(st__state *h, lua_State *L) {
  st__push_meta(h, L, ST_UD_TENSOR);            /* [+1] */
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    lua_pushlightuserdata(L, h);                /* [+1] */
    if (st__push_callable(h, L, operators[i].name, false)) { /* [+0|1] */
      if (operators[i].is_unary) {
        lua_pushcclosure(L, tensor_unary, 2);   /* [-2, +1] */
      } else {
        lua_remove(L, -2);                      /* [-1] */
      }
      lua_setfield(L, -2, operators[i].event);  /* [-1] */
    } else {
      lua_pop(L, 1);                            /* [-1] */
    }
  }
  lua_pop(L, 1);                                /* [-1] */
}
