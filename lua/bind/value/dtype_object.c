/* Dtypes, memory formats, devices and sentinels as Lua values. There is one
 * object per dtype and Lua state, so that == works; its name is accepted where
 * a dtype is expected. Formats and devices are strings.
 */

#include <string.h>

#include "bind.h"

/* The string at idx; "", which is not a name, if it contains a NUL byte; NULL
 * if the value is not a string. */
static const char *to_name(lua_State *L, int idx) {
  size_t n;
  if (lua_type(L, idx) != LUA_TSTRING) return NULL;
  const char *name = lua_tolstring(L, idx, &n);
  return strlen(name) == n ? name : "";
}

/* -- Dtypes --------------------------------------------------------------- */

bool st__to_dtype(st__state *h, lua_State *L, int idx, st_dtype *out) {
  const char *name = to_name(L, idx);
  if (name) return st_dtype_parse(name, out);
  const st_dtype *d = st__testudata(h, L, idx, ST_UD_DTYPE);
  if (d) *out = *d;
  return d != NULL;
}

st_dtype st__check_dtype(st__state *h, lua_State *L, int idx,
                         const char *arg) {
  st_dtype d = ST_FLOAT32;
  if (st__to_dtype(h, L, idx, &d)) return d;
  if (lua_type(L, idx) == LUA_TSTRING) {
    st__error(h, L, ST_BAD_DTYPE, "argument '%s': there is no dtype '%.40s'",
              arg, lua_tostring(L, idx));
  }
  st__error(h, L, ST_BAD_TYPE, "argument '%s' must be a dtype, got %s", arg,
            st__type_name(h, L, idx));
  return d;
}

void st__push_dtype(st__state *h, lua_State *L, st_dtype d) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->dtype_ref[d]); /* [+1] */
}

static bool is_floating(st_dtype d) {
  return d == ST_FLOAT16 || d == ST_BFLOAT16 || d == ST_FLOAT32 ||
         d == ST_FLOAT64;
}

static bool is_complex(st_dtype d) {
  return d == ST_COMPLEX32 || d == ST_BCOMPLEX32 || d == ST_COMPLEX64 ||
         d == ST_COMPLEX128;
}

static int dtype_index(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_dtype d = *(st_dtype *)st__checkudata(h, L, 1, ST_UD_DTYPE, "self");
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(key, "name") == 0) {
    lua_pushstring(L, st_dtype_name(d));                        /* [+1] */
  } else if (strcmp(key, "itemsize") == 0) {
    lua_pushinteger(L, (lua_Integer)st_dtype_size(d));          /* [+1] */
  } else if (strcmp(key, "is_floating_point") == 0) {
    lua_pushboolean(L, is_floating(d));                         /* [+1] */
  } else if (strcmp(key, "is_complex") == 0) {
    lua_pushboolean(L, is_complex(d));                          /* [+1] */
  } else if (strcmp(key, "is_signed") == 0) {
    lua_pushboolean(L, d != ST_BOOL && d != ST_UINT8);          /* [+1] */
  } else {
    return 0;
  }
  return 1;
}

static int dtype_tostring(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_dtype *d = st__checkudata(h, L, 1, ST_UD_DTYPE, "self");
  lua_pushstring(L, st_dtype_name(*d)); /* [+1] */
  return 1;
}

/* st.int64(x): an exact integer, from a number or a decimal string */
static int dtype_call(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_dtype d = *(st_dtype *)st__checkudata(h, L, 1, ST_UD_DTYPE, "self");
  if (d == ST_INT64) return st__new_int64(h, L, 2); /* [+1] */
  return st__error(h, L, ST_BAD_TYPE, "%s is a dtype, not a function",
                   st_dtype_name(d));
}

static int get_default_dtype(lua_State *L) {
  st__push_dtype(st__state_of(L), L, st_default_dtype()); /* [+1] */
  return 1;
}

static int set_default_dtype(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_status status = st_set_default_dtype(
    st__check_dtype(h, L, 1, "dtype"));
  return status == ST_OK ? 0 : st__raise(h, L, status);
}

/* -- Formats and devices -------------------------------------------------- */

bool st__to_format(lua_State *L, int idx, st_format *out) {
  const char *name = to_name(L, idx);
  return name && st_format_parse(name, out);
}

bool st__to_device(lua_State *L, int idx, st_device *out) {
  const char *name = to_name(L, idx);
  return name && st_device_parse(name, out);
}

/* -- Sentinels ------------------------------------------------------------ */

/* ORDER SENTINEL: bind.h */
static const char *const sentinel_name[] = {"none", "newaxis", "ellipsis"};

bool st__is_sentinel(st__state *h, lua_State *L, int idx, st_sentinel which) {
  const st_sentinel *m = st__testudata(h, L, idx, ST_UD_SENTINEL);
  return m && *m == which;
}

static int sentinel_tostring(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_sentinel *m = st__checkudata(h, L, 1, ST_UD_SENTINEL, "self");
  lua_pushstring(L, sentinel_name[*m]); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static const luaL_Reg functions[] = {
  {"get_default_dtype", get_default_dtype},
  {"set_default_dtype", set_default_dtype}, {NULL, NULL}
};
static const luaL_Reg dtype_methods[] = {
  {"__index", dtype_index}, {"__tostring", dtype_tostring},
  {"__call", dtype_call}, {NULL, NULL}
};
static const luaL_Reg sentinel_methods[] = {
  {"__tostring", sentinel_tostring}, {NULL, NULL}
};

static void set_methods(st__state *h, lua_State *L, st_ud_kind kind,
                        const luaL_Reg *fns) {
  st__push_meta(h, L, kind); /* [+1] */
  st__set_functions(h, L, fns);
  lua_pop(L, 1);             /* [-1] */
}

void st__open_dtype(st__state *h, lua_State *L) {
  st__set_functions(h, L, functions);
  set_methods(h, L, ST_UD_DTYPE, dtype_methods);
  set_methods(h, L, ST_UD_SENTINEL, sentinel_methods);
  for (int d = 0; d < ST_DTYPE_ALL; d++) {
    st_dtype *ud = st__newudata(h, L, ST_UD_DTYPE, sizeof *ud);   /* [+1] */
    *ud = (st_dtype)d;
    lua_pushvalue(L, -1);                              /* [+1] */
    h->dtype_ref[d] = luaL_ref(L, LUA_REGISTRYINDEX);  /* [-1] */
    lua_setfield(L, -2, st_dtype_name((st_dtype)d));   /* [-1] */
  }
  for (int m = 0; m < 3; m++) {
    st_sentinel *ud = st__newudata(h, L, ST_UD_SENTINEL, sizeof *ud); /* [+1] */
    *ud = (st_sentinel)m;
    lua_setfield(L, -2, sentinel_name[m]);             /* [-1] */
  }
  for (int f = 0; f < ST_FORMAT_COUNT; f++) {
    lua_pushstring(L, st_format_name((st_format)f));   /* [+1] */
    lua_setfield(L, -2, st_format_name((st_format)f)); /* [-1] */
  }
}
