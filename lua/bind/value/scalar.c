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

#include "value/value.h"

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

void st__push_scalar_ud(st__state *h, lua_State *L, st_scalar s) {
  st_scalar *ud = st__newudata(h, L, ST_UD_SCALAR, sizeof *ud);   /* [+1] */
  *ud = s;
}

void st__push_exact(st__state *h, lua_State *L, st_scalar s) {
#if LUA_VERSION_NUM >= 503
  if (s.kind == ST_SCALAR_INT) {
    lua_pushinteger(L, s.u.i);                           /* [+1] */
    return;
  }
#endif
  if (st__push_int_cdata(h, L, s)) return;               /* [+0|1] */
  st__push_scalar_ud(h, L, s);                               /* [+1] */
}

void st__push_int(st__state *h, lua_State *L, int64_t i) {
  if (i >= -EXACT && i <= EXACT) {
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, i);        /* [+1] */
#else
    lua_pushnumber(L, (double)i); /* [+1] */
#endif
  } else {
    st__push_exact(h, L, (st_scalar){ST_SCALAR_INT, {.i = i}}); /* [+1] */
  }
}

void st__push_scalar(st__state *h, lua_State *L, st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_BOOL: lua_pushboolean(L, s.u.i != 0); break; /* [+1] */
    case ST_SCALAR_INT: st__push_int(h, L, s.u.i); break;       /* [+1] */
    case ST_SCALAR_FLOAT: lua_pushnumber(L, s.u.f); break;      /* [+1] */
    case ST_SCALAR_COMPLEX: st__push_scalar_ud(h, L, s); break;     /* [+1] */
    case ST_SCALAR_UINT: st__push_exact(h, L, s); break;            /* [+1] */
  }
}
