/* Conversion of numbers between Lua and the engine. A Lua number is an integer
 * if it is integral and fits 64 bits, else a float: Note [Integral numbers]. A
 * scalar userdata represents what a Lua number cannot: st.complex(re, im),
 * st.float(x) (a float even if it is integral) and, where there are neither
 * integers nor int64_t cdata, st.int(x).
 *
 * Note [Integral numbers]
 * The value decides, in every Lua. Lua 5.1 and LuaJIT have one kind of number,
 * so 1.0 is 1 there; the subtypes of Lua 5.3 would make a script's dtypes
 * depend on the Lua that runs it, and on how a number was computed: 4 / 2 is a
 * float in Lua 5.3.
 *
 * Note [Negative zero]
 * -0.0 is an integer beside integers: before Lua 5.3 it is the value of -n for
 * n = 0, and t + -n must not change the dtype of t then. Where a floating or
 * complex number is computed its sign counts: 1 / -0.0 is -inf. So a call keeps
 * it as a float if a tensor among the arguments, or the dtype asked for, is
 * floating or complex (st__settle_zeros). Proxies have no dtype yet: there it
 * is a symbolic scalar, of which each run of the graph decides. It is a float,
 * too, for a float argument, in st.float(-0.0), and in an element of a floating
 * dtype.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"

enum { LUAJIT_TCDATA = 10 }; /* the type tag of cdata in LuaJIT */

static const int64_t EXACT = (int64_t)1 << 53;

static int absolute(lua_State *L, int idx) {
  return idx > 0 || idx <= LUA_REGISTRYINDEX ? idx : lua_gettop(L) + idx + 1;
}

/* -- Reading -------------------------------------------------------------- */

bool st__to_scalar(st__state *h, lua_State *L, int idx, st_scalar *out) {
  const st_scalar *ud;
  switch (lua_type(L, idx)) {
    case LUA_TNUMBER: st__number_to_scalar(L, idx, out); return true;
    case LUA_TBOOLEAN:
      *out = (st_scalar){ST_SCALAR_BOOL, {.i = lua_toboolean(L, idx)}};
      return true;
    case LUA_TUSERDATA:
      ud = st__testudata(h, L, idx, ST_UD_SCALAR);
      if (ud) *out = *ud;
      return ud != NULL;
    case LUAJIT_TCDATA:
      return st__cdata_to_int(h, L, absolute(L, idx), out);
    default: return false;
  }
}

bool st__to_int(st__state *h, lua_State *L, int idx, int64_t *out) {
  st_scalar s;
  if (!st__to_scalar(h, L, idx, &s) || s.kind != ST_SCALAR_INT) return false;
  *out = s.u.i;
  return true;
}

bool st__to_double(st__state *h, lua_State *L, int idx, double *out) {
  st_scalar s;
  if (lua_type(L, idx) == LUA_TNUMBER) {
    *out = lua_tonumber(L, idx); /* Note [Negative zero] */
    return true;
  }
  if (!st__to_scalar(h, L, idx, &s)) return false;
  if (s.kind == ST_SCALAR_FLOAT) *out = s.u.f;
  else if (st__is_whole(&s)) *out = st__whole_to_double(&s);
  return s.kind == ST_SCALAR_FLOAT || st__is_whole(&s);
}

int64_t st__check_int(st__state *h, lua_State *L, int idx, const char *arg) {
  int64_t i = 0;
  if (!st__to_int(h, L, idx, &i)) {
    st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be an integer, "
                       "got %s", arg, st__type_name(h, L, idx));
  }
  return i;
}

/* -- Pushing -------------------------------------------------------------- */

static void push_scalar_ud(st__state *h, lua_State *L, st_scalar s) {
  st_scalar *ud = st__newudata(h, L, ST_UD_SCALAR, sizeof *ud);   /* [+1] */
  *ud = s;
}

/* Pushes an integer that a double cannot represent, or that st.int makes, as
 * an exact integer. */
static void push_exact(st__state *h, lua_State *L, st_scalar s) {
#if LUA_VERSION_NUM >= 503
  if (s.kind == ST_SCALAR_INT) {
    lua_pushinteger(L, s.u.i);                           /* [+1] */
    return;
  }
#endif
  if (st__push_int_cdata(h, L, s)) return;               /* [+0|1] */
  push_scalar_ud(h, L, s);                               /* [+1] */
}

void st__push_int(st__state *h, lua_State *L, int64_t i) {
  if (i >= -EXACT && i <= EXACT) {
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, i);        /* [+1] */
#else
    lua_pushnumber(L, (double)i); /* [+1] */
#endif
  } else {
    push_exact(h, L, (st_scalar){ST_SCALAR_INT, {.i = i}}); /* [+1] */
  }
}

void st__push_scalar(st__state *h, lua_State *L, st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_BOOL: lua_pushboolean(L, s.u.i != 0); break; /* [+1] */
    case ST_SCALAR_INT: st__push_int(h, L, s.u.i); break;       /* [+1] */
    case ST_SCALAR_FLOAT: lua_pushnumber(L, s.u.f); break;      /* [+1] */
    case ST_SCALAR_COMPLEX: push_scalar_ud(h, L, s); break;     /* [+1] */
    case ST_SCALAR_UINT: push_exact(h, L, s); break;            /* [+1] */
  }
}

/* -- Constructors --------------------------------------------------------- */

/* complex(re [, im]); of tensors the operator. */
static int new_complex(lua_State *L) {
  st__state *h = st__state_of(L);
  st_scalar s = {ST_SCALAR_COMPLEX, {.c = {0, 0}}};
  if (st__to_tensor(h, L, 1) &&
      st__push_callable(h, L, "aten::complex", false)) { /* [+1] */
    lua_insert(L, 1);
    st__call_c(L, lua_gettop(L) - 1, 1); /* [-n, +1] */
    return 1;
  }
  if (!st__to_double(h, L, 1, &s.u.c[0]) ||
      (!lua_isnoneornil(L, 2) && !st__to_double(h, L, 2, &s.u.c[1]))) {
    const bool is_list = lua_istable(L, 1);
    return st__error(h, L, ST_BAD_TYPE, "complex: re and im must be numbers, "
                     "or both be tensors, got %s and %s%s",
                     st__type_name(h, L, 1), st__type_name(h, L, 2), is_list
                     ? "; write local re, im = unpack(list)" : "");
  }
  push_scalar_ud(h, L, s); /* [+1] */
  return 1;
}

static int new_float(lua_State *L) {
  st__state *h = st__state_of(L);
  st_scalar s = {ST_SCALAR_FLOAT, {.f = 0}};
  if (!st__to_double(h, L, 1, &s.u.f)) {
    return st__error(h, L, ST_BAD_TYPE, "float: argument 'x' must be a "
                     "number, got %s", st__type_name(h, L, 1));
  }
  push_scalar_ud(h, L, s); /* [+1] */
  return 1;
}

/* int(x): an exact integer, from a number or a decimal string */
static int new_int(lua_State *L) {
  st__state *h = st__state_of(L);
  st_scalar s = {ST_SCALAR_INT, {.i = 0}};
  if (lua_type(L, 1) == LUA_TSTRING) {
    size_t n;
    const char *text = lua_tolstring(L, 1, &n);
    char *end;
    errno = 0;
    if (strchr(text, '-')) s.u.i = strtoll(text, &end, 10);
    else s = st__unsigned(strtoull(text, &end, 10));
    if (end == text || end != text + n || errno) {
      return st__error(h, L, ST_BAD_VALUE, "int: '%.40s' is not a 64-bit "
                       "integer", text);
    }
  } else if (!st__to_scalar(h, L, 1, &s) || s.kind != ST_SCALAR_UINT) {
    s.u.i = st__check_int(h, L, 1, "x");
  }
  push_exact(h, L, s); /* [+1] */
  return 1;
}

/* -- Methods of userdata -------------------------------------------------- */

static int scalar_tostring(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_scalar *s = st__checkudata(h, L, 1, ST_UD_SCALAR, "self");
  char text[80];
  if (s->kind == ST_SCALAR_COMPLEX) {
    snprintf(text, sizeof text, "%.14g%+.14gi", s->u.c[0], s->u.c[1]);
  } else if (s->kind == ST_SCALAR_INT) {
    snprintf(text, sizeof text, "%" PRId64, s->u.i);
  } else if (s->kind == ST_SCALAR_UINT) {
    snprintf(text, sizeof text, "%" PRIu64, s->u.u);
  } else {
    snprintf(text, sizeof text, "%.14g", s->u.f);
  }
  lua_pushstring(L, text); /* [+1] */
  return 1;
}

static int scalar_index(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_scalar *s = st__checkudata(h, L, 1, ST_UD_SCALAR, "self");
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  const bool is_im = strcmp(key, "im") == 0;
  if (s->kind != ST_SCALAR_COMPLEX || (!is_im && strcmp(key, "re") != 0)) {
    return 0;
  }
  lua_pushnumber(L, s->u.c[is_im]); /* [+1] */
  return 1;
}

static int scalar_eq(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_scalar *a = st__testudata(h, L, 1, ST_UD_SCALAR);
  const st_scalar *b = st__testudata(h, L, 2, ST_UD_SCALAR);
  bool same = a && b && a->kind == b->kind;
  if (same && a->kind == ST_SCALAR_COMPLEX) {
    same = a->u.c[0] == b->u.c[0] && a->u.c[1] == b->u.c[1];
  } else if (same) {
    same = a->kind == ST_SCALAR_FLOAT ? a->u.f == b->u.f : a->u.i == b->u.i;
  }
  lua_pushboolean(L, same); /* [+1] */
  return 1;
}

/* -- Arithmetic of complex numbers ---------------------------------------- */

static void to_complex(const st_scalar *s, double out[2]) {
  out[1] = 0;
  if (s->kind == ST_SCALAR_COMPLEX) memcpy(out, s->u.c, sizeof s->u.c);
  else out[0] = s->kind == ST_SCALAR_FLOAT ? s->u.f : st__whole_to_double(s);
}

/* Smith's method: no intermediate overflow. */
static void divide(const double a[2], const double b[2], double out[2]) {
  const bool is_real = fabs(b[0]) >= fabs(b[1]);
  const double big = b[!is_real], small = b[is_real];
  const double r = small / big, d = big + small * r;
  if (is_real) {
    out[0] = (a[0] + a[1] * r) / d;
    out[1] = (a[1] - a[0] * r) / d;
  } else {
    out[0] = (a[0] * r + a[1]) / d;
    out[1] = (a[1] * r - a[0]) / d;
  }
}

static void combine(char sign, const double a[2], const double b[2],
                    double out[2]) {
  switch (sign) {
    case '+': out[0] = a[0] + b[0]; out[1] = a[1] + b[1]; break;
    case '-': out[0] = a[0] - b[0]; out[1] = a[1] - b[1]; break;
    case '*':
      out[0] = a[0] * b[0] - a[1] * b[1];
      out[1] = a[0] * b[1] + a[1] * b[0];
      break;
    default: divide(a, b, out);
  }
}

/* A metamethod of scalar userdata. If an operand is a tensor, it calls the
 * operator. Upvalues: binding state, sign, the operator's C function. */
static int scalar_arithmetic(lua_State *L) {
  st__state *h = st__state_of(L);
  const char sign = *lua_tostring(L, lua_upvalueindex(2));
  if (st__testudata(h, L, 1, ST_UD_TENSOR) ||
      st__testudata(h, L, 2, ST_UD_TENSOR)) {
    lua_pushvalue(L, lua_upvalueindex(3)); /* [+1] */
    lua_insert(L, 1);
    st__call_c(L, 2, 1);                   /* [-3, +1] */
    return 1;
  }
  st_scalar a, b, r = {ST_SCALAR_COMPLEX, {.c = {0, 0}}};
  double x[2], y[2];
  if (!st__to_scalar(h, L, 1, &a) || !st__to_scalar(h, L, 2, &b)) {
    return st__error(h, L, ST_BAD_TYPE, "no arithmetic with %s and %s",
                     st__type_name(h, L, 1), st__type_name(h, L, 2));
  }
  if (a.kind != ST_SCALAR_COMPLEX && b.kind != ST_SCALAR_COMPLEX) {
    return st__error(h, L, ST_BAD_TYPE, "values of st.float and st.int are "
                     "arguments for operators and have no arithmetic");
  }
  to_complex(&a, x);
  to_complex(&b, y);
  combine(sign, x, y, r.u.c);
  push_scalar_ud(h, L, r); /* [+1] */
  return 1;
}

static int scalar_negate(lua_State *L) {
  st__state *h = st__state_of(L);
  st_scalar s = *(st_scalar *)st__checkudata(h, L, 1, ST_UD_SCALAR, "self");
  switch (s.kind) {
    case ST_SCALAR_COMPLEX: s.u.c[0] = -s.u.c[0]; s.u.c[1] = -s.u.c[1]; break;
    case ST_SCALAR_FLOAT: s.u.f = -s.u.f; break;
    case ST_SCALAR_UINT:
      s = (st_scalar){ST_SCALAR_FLOAT, {.f = -(double)s.u.u}};
      break;
    default: s.u.i = (int64_t)(0 - (uint64_t)s.u.i);
  }
  push_scalar_ud(h, L, s); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static const luaL_Reg functions[] = {
  {"complex", new_complex}, {"float", new_float}, {"int", new_int},
  {NULL, NULL}
};

static const luaL_Reg methods[] = {
  {"__tostring", scalar_tostring}, {"__index", scalar_index},
  {"__eq", scalar_eq}, {"__unm", scalar_negate}, {NULL, NULL}
};

static const struct { const char *event, *sign, *name; } arithmetic[] = {
  {"__add", "+", "aten::add"}, {"__sub", "-", "aten::sub"},
  {"__mul", "*", "aten::mul"}, {"__div", "/", "aten::div"}
};

void st__meta_scalar(st__state *h, lua_State *L) {
  st__set_functions(h, L, methods);
  for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++) {
    lua_pushlightuserdata(L, h);                        /* [+1] */
    lua_pushstring(L, arithmetic[i].sign);              /* [+1] */
    if (!st__push_callable(h, L, arithmetic[i].name, false)) { /* [+1] */
      lua_pushnil(L);                                   /* [+1] */
    }
    lua_pushcclosure(L, scalar_arithmetic, 3);          /* [-3, +1] */
    lua_setfield(L, -2, arithmetic[i].event);           /* [-1] */
  }
}

void st__open_scalar(st__state *h, lua_State *L) {
  st__set_functions(h, L, functions);
}
