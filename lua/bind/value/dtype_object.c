/* Dtypes, memory formats, devices and sentinels as Lua values. A dtype, a
 * format and a device are strings, their names, so that == compares them with
 * a name that the script writes.
 */

#include <float.h>
#include <string.h>

#include "value/value.h"

struct st__dtypes { int name_ref[ST_DTYPE_ALL]; };

/* The string at idx; "", which is not a name, if it contains a NUL byte; NULL
 * if the value is not a string. */
static const char *to_name(lua_State *L, int idx) {
  size_t n;
  if (lua_type(L, idx) != LUA_TSTRING) return NULL;
  const char *name = lua_tolstring(L, idx, &n);
  return strlen(name) == n ? name : "";
}

/* -- Dtypes --------------------------------------------------------------- */

/* Also complex32, bcomplex32 and int128, which promotion gives and no tensor
 * has. */
bool st__to_dtype(lua_State *L, int idx, st_dtype *out) {
  const char *name = to_name(L, idx);
  if (!name) return false;
  if (st_dtype_parse(name, out)) return true;
  for (int d = 0; d < ST_DTYPE_ALL; d++) {
    if (strcmp(name, st_dtype_name((st_dtype)d)) == 0) {
      *out = (st_dtype)d;
      return true;
    }
  }
  return false;
}

st_dtype st__check_dtype(st__state *h, lua_State *L, int idx,
                         const char *arg) {
  st_dtype d = ST_FLOAT32;
  if (st__to_dtype(L, idx, &d)) return d;
  if (lua_type(L, idx) == LUA_TSTRING) {
    char names[400];
    const char *given = lua_tostring(L, idx);
    st__describe_dtypes(given, names, sizeof names);
    st__argument_error(h, L, ST_BAD_DTYPE, "argument '%s': there is no dtype "
                       "'%.40s'%s", arg, given, names);
  }
  st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be a dtype, got %s",
                     arg, st__type_name(h, L, idx));
  return d;
}

void st__push_dtype(st__state *h, lua_State *L, st_dtype d) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->dtypes->name_ref[d]); /* [+1] */
}

static bool is_floating(st_dtype d) {
  return d == ST_FLOAT16 || d == ST_BFLOAT16 || d == ST_FLOAT32 ||
         d == ST_FLOAT64;
}

static bool is_complex(st_dtype d) {
  return d == ST_COMPLEX32 || d == ST_BCOMPLEX32 || d == ST_COMPLEX64 ||
         d == ST_COMPLEX128;
}

/* An integer dtype's smallest and largest number. */
static void push_integer_limits(st__state *h, lua_State *L, st_dtype d) {
  const bool is_signed = !st__is_unsigned(d);
  const int bits = 8 * (int)st_dtype_size(d) - is_signed;
  const uint64_t max = UINT64_MAX >> (64 - bits);
  st__push_int(h, L, is_signed ? -(int64_t)max - 1 : 0); /* [+1] */
  lua_setfield(L, -2, "min");                   /* [-1] */
  st__push_scalar(h, L, st__unsigned(max));     /* [+1] */
  lua_setfield(L, -2, "max");                   /* [-1] */
}

/* The limits of a floating dtype, and of a complex one's parts. */
static void push_float_limits(lua_State *L, st_dtype d) {
  double max = FLT_MAX, eps = FLT_EPSILON, tiny = FLT_MIN;
  switch (d) {
    case ST_FLOAT64: case ST_COMPLEX128:
      max = DBL_MAX, eps = DBL_EPSILON, tiny = DBL_MIN;
      break;
    case ST_FLOAT16: case ST_COMPLEX32:
      max = 65504, eps = 0x1p-10, tiny = 0x1p-14;
      break;
    case ST_BFLOAT16: case ST_BCOMPLEX32:
      max = 0x1.FEp127, eps = 0x1p-7, tiny = 0x1p-126;
      break;
    default: break;
  }
  const struct { const char *name; double value; } limits[] = {
    {"min", -max}, {"max", max}, {"eps", eps}, {"tiny", tiny}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    lua_pushnumber(L, limits[i].value);         /* [+1] */
    lua_setfield(L, -2, limits[i].name);        /* [-1] */
  }
}

/* dtype_info(dtype): a table that describes the dtype */
static int dtype_info(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_dtype d = st__check_dtype(h, L, 1, "dtype");
  const bool has_parts = is_complex(d), is_float = is_floating(d);
  const struct { const char *name; bool value; } flags[] = {
    {"is_floating_point", is_float}, {"is_complex", has_parts},
    {"is_signed", d != ST_BOOL && !st__is_unsigned(d)}};
  lua_createtable(L, 0, 10);                    /* [+1] */
  st__push_dtype(h, L, d);                      /* [+1] */
  lua_setfield(L, -2, "dtype");                 /* [-1] */
  lua_pushinteger(L, (lua_Integer)st_dtype_size(d)); /* [+1] */
  lua_setfield(L, -2, "itemsize");              /* [-1] */
  lua_pushinteger(L, (lua_Integer)st_dtype_size(d) * 8 /
                     (has_parts ? 2 : 1));      /* [+1] */
  lua_setfield(L, -2, "bits");                  /* [-1] */
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    lua_pushboolean(L, flags[i].value);         /* [+1] */
    lua_setfield(L, -2, flags[i].name);         /* [-1] */
  }
  if (is_float || has_parts) push_float_limits(L, d);
  else if (st__is_integral(d)) push_integer_limits(h, L, d);
  return 1;
}

static int get_default_dtype(lua_State *L) {
  st__push_dtype(st__state_of(L), L, st_default_dtype()); /* [+1] */
  return 1;
}

static int set_default_dtype(lua_State *L) {
  st__state *h = st__state_of(L);
  st__cannot_record(h, L, "it changes a setting");
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

/* ORDER SENTINEL: state/state.h */
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
  {"dtype_info", dtype_info}, {"get_default_dtype", get_default_dtype},
  {"set_default_dtype", set_default_dtype}, {NULL, NULL}
};
static const luaL_Reg sentinel_methods[] = {
  {"__tostring", sentinel_tostring}, {NULL, NULL}
};

void st__open_dtype(st__state *h, lua_State *L) {
  h->dtypes = st__new_part(h, L, sizeof *h->dtypes, NULL);
  st__set_functions(h, L, functions);
  st__push_meta(h, L, ST_UD_SENTINEL);                 /* [+1] */
  st__set_functions(h, L, sentinel_methods);
  lua_pop(L, 1);                                       /* [-1] */
  for (int d = 0; d < ST_DTYPE_ALL; d++) {
    lua_pushstring(L, st_dtype_name((st_dtype)d));     /* [+1] */
    lua_pushvalue(L, -1);                              /* [+1] */
    h->dtypes->name_ref[d] = luaL_ref(L, LUA_REGISTRYINDEX);  /* [-1] */
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
