/* Dtypes, memory formats, devices and sentinels as Lua values. A dtype, a
 * format and a device are strings, their names, so that == compares them with
 * a name that the script writes.
 */

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

/* Also int128, which promotion gives and no tensor has. */
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

/* Of an element, or of the numbers in it. */
static int bits_of(const st_dtype_facts *f) {
  return f->bits ? f->bits : f->size * 8 / f->lanes;
}

void st__push_itemsize(lua_State *L, st_dtype d) {
  const st_dtype_facts *f = st_dtype_facts_of(d);
  if (f->bits) lua_pushnumber(L, f->bits / 8.0);         /* [+1] */
  else lua_pushinteger(L, (lua_Integer)f->size);         /* [+1] */
}

/* An integer dtype's smallest and largest number. */
static void push_integer_limits(st__state *h, lua_State *L, st_dtype d) {
  const bool is_signed = !st_dtype_is_unsigned(d);
  const int bits = bits_of(st_dtype_facts_of(d)) - is_signed;
  const uint64_t max = UINT64_MAX >> (64 - bits);
  st__push_int(h, L, is_signed ? -(int64_t)max - 1 : 0); /* [+1] */
  lua_setfield(L, -2, "min");                   /* [-1] */
  st__push_scalar(h, L, st__unsigned(max));     /* [+1] */
  lua_setfield(L, -2, "max");                   /* [-1] */
}

static void set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);                     /* [+1] */
  lua_setfield(L, -2, name);                    /* [-1] */
}

static void set_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);                    /* [+1] */
  lua_setfield(L, -2, name);                    /* [-1] */
}

static void set_flag(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);                    /* [+1] */
  lua_setfield(L, -2, name);                    /* [-1] */
}

/* Nothing for NULL. */
static void set_text(lua_State *L, const char *name, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);                     /* [+1] */
  lua_setfield(L, -2, name);                    /* [-1] */
}

/* What is known of a complex dtype's parts, or of d itself. */
static const st_dtype_facts *part_of(st_dtype d) {
  const st_dtype_facts *f = st_dtype_facts_of(d);
  return st_dtype_is_complex(d) ? st_dtype_facts_of((st_dtype)f->counterpart)
                                : f;
}

/* dtype_info(dtype): a table that describes the dtype */
static int dtype_info(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_dtype d = st__check_dtype(h, L, 1, "dtype");
  const st_dtype_facts *part = part_of(d);
  lua_createtable(L, 0, 11);                    /* [+1] */
  st__push_dtype(h, L, d);                      /* [+1] */
  lua_setfield(L, -2, "dtype");                 /* [-1] */
  st__push_itemsize(L, d);                      /* [+1] */
  lua_setfield(L, -2, "itemsize");              /* [-1] */
  set_integer(L, "bits", bits_of(part));
  set_flag(L, "is_integer", st_dtype_is_integer(d));
  set_flag(L, "is_floating_point", st_dtype_is_floating(d));
  set_flag(L, "is_complex", st_dtype_is_complex(d));
  set_flag(L, "is_signed", d != ST_BOOL && !st_dtype_is_unsigned(d));
  if (part->max > 0) {
    set_number(L, "min", part->min);
    set_number(L, "max", part->max);
    set_number(L, "eps", part->eps);
    set_number(L, "tiny", part->tiny);
  } else if (st_dtype_is_integer(d) && st_dtype_is_of_tensors(d)) {
    push_integer_limits(h, L, d);
  }
  return 1;
}

static const char *kind_of(st_dtype d) {
  return st_dtype_is_complex(d) ? "complex"
       : st_dtype_is_floating(d) ? "float"
       : st_dtype_is_unsigned(d) ? "unsigned"
       : st_dtype_is_integer(d) ? "signed" : d == ST_BOOL ? "bool" : "packed";
}

/* dtypes(): a table for each dtype, in a list. part: the dtype of the parts of
 * complex numbers, whose size is the unit of swapping bytes. */
static int dtypes(lua_State *L) {
  lua_createtable(L, ST_DTYPE_ALL, 0);          /* [+1] */
  for (int i = 0; i < ST_DTYPE_ALL; i++) {
    const st_dtype d = (st_dtype)i;
    const st_dtype_facts *f = st_dtype_facts_of(d), *part = part_of(d);
    lua_createtable(L, 0, 14);                  /* [+1] */
    set_text(L, "name", f->name);
    set_text(L, "kind", kind_of(d));
    set_text(L, "part", part->name);
    set_text(L, "alias", f->alias);
    set_text(L, "npy", f->npy);
    set_text(L, "safetensors", f->safetensors);
    set_text(L, "pt", f->pt);
    set_integer(L, "size", f->size);
    set_integer(L, "unit", part->size);
    set_integer(L, "lanes", f->lanes);
    set_flag(L, "is_subbyte", st_dtype_is_subbyte(d));
    set_number(L, "max", part->max);
    set_number(L, "eps", part->eps);
    set_flag(L, "is_of_tensors", st_dtype_is_of_tensors(d));
    lua_rawseti(L, -2, i + 1);                  /* [-1] */
  }
  return 1;
}

/* dtype_names(): the names of dtypes that scripts see, in a list */
static int dtype_names(lua_State *L) {
  int n = 0;
  lua_createtable(L, ST_DTYPE_ALL, 0);          /* [+1] */
  for (int d = 0; d < ST_DTYPE_ALL; d++) {
    if (st_dtype_facts_of((st_dtype)d)->kind == ST_KIND_PROMOTED_INT) continue;
    lua_pushstring(L, st_dtype_name((st_dtype)d)); /* [+1] */
    lua_rawseti(L, -2, ++n);                    /* [-1] */
  }
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
  {"dtype_info", dtype_info}, {"dtypes", dtypes},
  {"dtype_names", dtype_names},
  {"get_default_dtype", get_default_dtype},
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
