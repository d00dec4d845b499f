/* Scalar userdata in scripts: st.complex, st.float and st.int, the arithmetic
 * of complex numbers.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/call.h"

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
  st__push_scalar_ud(h, L, s); /* [+1] */
  return 1;
}

static int new_float(lua_State *L) {
  st__state *h = st__state_of(L);
  st_scalar s = {ST_SCALAR_FLOAT, {.f = 0}};
  if (!st__to_double(h, L, 1, &s.u.f)) {
    return st__error(h, L, ST_BAD_TYPE, "float: argument 'x' must be a "
                     "number, got %s", st__type_name(h, L, 1));
  }
  st__push_scalar_ud(h, L, s); /* [+1] */
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
  st__push_exact(h, L, s); /* [+1] */
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

/* A metamethod of scalar userdata. */
static int scalar_arithmetic(lua_State *L) {
  st__state *h = st__state_of(L);
  if (st__call_arithmetic(h, L)) return 1; /* [-2, +1] */
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
  combine(st__sign(L), x, y, r.u.c);
  st__push_scalar_ud(h, L, r); /* [+1] */
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
  st__push_scalar_ud(h, L, s); /* [+1] */
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

static void fill_scalar(st__state *h, lua_State *L) {
  st__set_functions(h, L, methods);
  st__set_arithmetic(h, L, "+-*/", scalar_arithmetic);
}

void st__open_scalar(st__state *h, lua_State *L) {
  st__fill_meta(h, ST_UD_SCALAR, fill_scalar);
  st__set_functions(h, L, functions);
}
