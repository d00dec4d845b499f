/* Warns where a number loses its fraction in a tensor of integers or booleans.
 *
 * Note [Numbers that are cut]
 * PyTorch writes 0.5 to a tensor of integers as 0, and so do these operators
 * and assignments. In Lua, where {1.0, 2.0} makes integers, such a tensor is
 * often meant to be floating. So a place of a script that does this is told
 * once. The operators are few and marked in their packets; others do not look.
 * Places are forgotten when there are many, for a script may make new ones
 * without end.
 */

#include <stdio.h>
#include <string.h>

#include "call/call.h"

enum { MAX_PLACES = 1000 };

static const char *const names[] = {
  "fill", "fill_", "full", "full_like", "new_full", "masked_fill",
  "masked_fill_", "index_fill", "index_fill_", "scatter", "scatter_",
  "select_scatter", "constant_pad_nd", "pad", "fill_diagonal_"
};

bool st__may_cut(const char *name) {
  if (strncmp(name, "aten::", 6) != 0) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name + 6, names[i]) == 0) return true;
  }
  return false;
}

/* NaN and infinities are cut to a bool only: to an integer they are errors. */
bool st__is_cut(double value, st_dtype d) {
  return !st__has_fractions(d) &&
         (isfinite(value) ? value != trunc(value) : d == ST_BOOL);
}

/* False if the running place has been told before. */
static bool note_place(st__state *h, lua_State *L) {
  static char key;
  char place[300];
  st__where(h, L, place, sizeof place);
  lua_pushlightuserdata(L, &key);                      /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);                    /* [-1, +1] */
  if (lua_istable(L, -1)) lua_rawgeti(L, -1, 1);       /* [+1] */
  else lua_pushnil(L);                                 /* [+1] */
  const int n = (int)lua_tonumber(L, -1);
  lua_pop(L, 1);                                       /* [-1] */
  if (n == 0 || n >= MAX_PLACES) {
    lua_pop(L, 1);                                     /* [-1] */
    lua_newtable(L);                                   /* [+1] */
    lua_pushlightuserdata(L, &key);                    /* [+1] */
    lua_pushvalue(L, -2);                              /* [+1] */
    lua_rawset(L, LUA_REGISTRYINDEX);                  /* [-2] */
  }
  lua_getfield(L, -1, place);                          /* [+1] */
  const bool is_new = lua_isnil(L, -1);
  lua_pop(L, 1);                                       /* [-1] */
  if (is_new) {
    lua_pushboolean(L, 1);                             /* [+1] */
    lua_setfield(L, -2, place);                        /* [-1] */
    lua_pushnumber(L, n >= MAX_PLACES ? 1 : n + 1);    /* [+1] */
    lua_rawseti(L, -2, 1);                             /* [-1] */
  }
  lua_pop(L, 1);                                       /* [-1] */
  return is_new;
}

void st__warn_cut(st__state *h, lua_State *L, const char *what, double value,
                  st_dtype d) {
  char text[400], place[300];
  if (!st__warns(h)) return;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (!note_place(h, L)) return;
  st__where(h, L, place, sizeof place);
  snprintf(text, sizeof text, "%.200s: %s: a tensor of dtype %s cannot hold "
           "%.14g: make it with {dtype = \"float32\"}", place, what,
           st_dtype_name(d), isnan(value) ? (double)NAN : value);
  st__warn_text(h, L, text);
}

/* The number at idx, if it has a fraction or is not finite. */
static bool read_number(lua_State *L, int idx, double *value) {
  if (lua_type(L, idx) != LUA_TNUMBER) return false;
  *value = lua_tonumber(L, idx);
  return st__is_cut(*value, ST_INT64) || !isfinite(*value);
}

/* Finds such a number among the keywords in the table at top. */
static bool find_keyword(lua_State *L, int top, double *value) {
  static const char *const keywords[] = {"value", "fill_value"};
  bool is_cut = false;
  for (int k = 0; !is_cut && k < 2; k++) {
    lua_pushstring(L, keywords[k]);                    /* [+1] */
    lua_rawget(L, top);                                /* [-1, +1] */
    is_cut = read_number(L, -1, value);
    lua_pop(L, 1);                                     /* [-1] */
  }
  return is_cut;
}

/* Sets d to the dtype that the keywords in the table at top give a result. */
static void read_dtype(st__state *h, lua_State *L, int top, st_dtype *d) {
  lua_pushliteral(L, "out");                           /* [+1] */
  lua_rawget(L, top);                                  /* [-1, +1] */
  const st_tensor *out = st__to_tensor(h, L, -1);
  if (out) *d = st_tensor_dtype(out);
  lua_pushliteral(L, "dtype");                         /* [+1] */
  lua_rawget(L, top);                                  /* [-1, +1] */
  st__to_dtype(L, -1, d);
  lua_pop(L, 2);                                       /* [-2] */
}

bool st__check_cut(st__state *h, lua_State *L, const st__packet *p,
                   int first, int top) {
  double value = 0;
  bool is_cut = false;
  for (int idx = first; idx <= top && !is_cut; idx++) {
    is_cut = read_number(L, idx, &value);
  }
  const bool has_names = top >= first && lua_istable(L, top);
  if (!is_cut && !has_names) return false;
  luaL_checkstack(L, 2, NULL);
  if (!is_cut && !find_keyword(L, top, &value)) return false;
  const st_tensor *self = st__to_tensor(h, L, first);
  st_dtype d = self ? st_tensor_dtype(self) : ST_FLOAT32;
  if (has_names) read_dtype(h, L, top, &d);
  if (!st__is_cut(value, d)) return false;
  st__warn_cut(h, L, st__short_name(p->name), value, d);
  return true;
}
