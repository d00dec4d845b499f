/* Shapes: lists of sizes or strides with a metatable of their own, which
 * compares them. Lua 5.1 and LuaJIT call __eq only for two tables that both
 * have it, so a plain list never equals a shape there; Size makes a shape from
 * a list. And `..`, which appends tensors and shapes to text.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "value/value.h"

struct st__shapes { int meta_ref; };

/* -- Lists ---------------------------------------------------------------- */

/* Pushes the list at the absolute index idx as text: "{1, 64, 5, 4}". [+1] */
static void push_sizes_text(lua_State *L, int idx) {
  luaL_Buffer b;
  const int n = (int)lua_objlen(L, idx);
  luaL_buffinit(L, &b);
  luaL_addchar(&b, '{');
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addstring(&b, ", ");
    lua_rawgeti(L, idx, i); /* [+1] */
    luaL_addvalue(&b);     /* [-1] */
  }
  luaL_addchar(&b, '}');
  luaL_pushresult(&b);     /* [+1] */
}

static int sizes_tostring(lua_State *L) {
  if (!lua_istable(L, 1)) return 0;
  push_sizes_text(L, 1);   /* [+1] */
  return 1;
}

static bool is_sizes(st__state *h, lua_State *L, int idx) {
  if (!lua_istable(L, idx)) return false;
  if (!lua_getmetatable(L, idx)) return false; /* [+0|1] */
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->shapes->meta_ref); /* [+1] */
  const bool is = lua_rawequal(L, -2, -1);
  lua_pop(L, 2);           /* [-2] */
  return is;
}

/* t.shape:numel() */
static int sizes_numel(lua_State *L) {
  st__state *h = st__state_of(L);
  int64_t size, n = 1;
  luaL_checktype(L, 1, LUA_TTABLE);
  for (int i = 1; i <= (int)lua_objlen(L, 1); i++) {
    lua_rawgeti(L, 1, i);      /* [+1] */
    if (!st__to_int(h, L, -1, &size)) size = 0;
    if (__builtin_mul_overflow(n, size, &n)) {
      return st__error(h, L, ST_BAD_SHAPE, "numel: the shape is too large");
    }
    lua_pop(L, 1);             /* [-1] */
  }
  st__push_int(h, L, n);       /* [+1] */
  return 1;
}

/* __index of what is not in the list: sizes from the end; nil behind the end,
 * where ipairs stops. */
static int sizes_index(lua_State *L) {
  st__state *h = st__state_of(L);
  if (lua_type(L, 2) == LUA_TSTRING &&
      strcmp(lua_tostring(L, 2), "numel") == 0) {
    lua_pushlightuserdata(L, h);            /* [+1] */
    lua_pushcclosure(L, sizes_numel, 1);    /* [-1, +1] */
    return 1;
  }
  if (!lua_istable(L, 1) || lua_type(L, 2) != LUA_TNUMBER) return 0;
  const lua_Number i = lua_tonumber(L, 2), n = (lua_Number)lua_objlen(L, 1);
  if (i == 0 || i < -n) {
    return st__error(h, L, ST_BAD_DIM, "dimension %g is out of range: a shape "
                     "of %d sizes counts from 1", (double)i, (int)n);
  }
  if (i > 0) return 0;
  lua_pushnumber(L, n + 1 + i);  /* [+1] */
  lua_rawget(L, 1);              /* [-1, +1] */
  return 1;
}

/* t:shape() */
static int sizes_call(lua_State *L) {
  return st__error(st__state_of(L), L, ST_BAD_TYPE, "a shape cannot be called; "
                   "write t.shape, or t:size(dim)");
}

/* True if the values at the top and below it are the same size. */
static bool same_size(st__state *h, lua_State *L) {
  int64_t a, b;
  if (!st__to_int(h, L, -2, &a) || !st__to_int(h, L, -1, &b)) return false;
  return a == b;
}

/* __eq of shapes; from Lua 5.3 on also of a shape and a list */
static int sizes_eq(lua_State *L) {
  st__state *h = st__state_of(L);
  lua_settop(L, 2);
  if (!lua_istable(L, 1) || !lua_istable(L, 2)) return 0;
  const int n = (int)lua_objlen(L, 1);
  bool same = n == (int)lua_objlen(L, 2);
  for (int i = 1; same && i <= n; i++) {
    lua_rawgeti(L, 1, i);      /* [+1] */
    lua_rawgeti(L, 2, i);      /* [+1] */
    same = same_size(h, L);
    lua_pop(L, 2);             /* [-2] */
  }
  lua_pushboolean(L, same);    /* [+1] */
  return 1;
}

void st__make_sizes(st__state *h, lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->shapes->meta_ref); /* [+1] */
  lua_setmetatable(L, -2);     /* [-1] */
}

/* Size(list), Size(n, ...): a shape, which compares with others */
static int new_sizes(lua_State *L) {
  st__state *h = st__state_of(L);
  const bool is_list = lua_istable(L, 1);
  const int n = is_list ? (int)lua_objlen(L, 1) : lua_gettop(L);
  if (is_list && st__table_parts(L, 1) > ST_PART_LIST) {
    return st__error(h, L, ST_BAD_TYPE, "Size: the sizes must be a list of "
                     "integers, but the table has other keys");
  }
  lua_createtable(L, n, 0);    /* [+1] */
  for (int i = 1; i <= n; i++) {
    int64_t size;
    if (is_list) lua_rawgeti(L, 1, i); /* [+1] */
    else lua_pushvalue(L, i);          /* [+1] */
    if (!st__to_int(h, L, -1, &size)) {
      return st__error(h, L, ST_BAD_TYPE, "Size: size %d must be an integer, "
                       "got %s", i, st__type_name(h, L, -1));
    }
    lua_pop(L, 1);             /* [-1] */
    st__push_int(h, L, size);  /* [+1] */
    lua_rawseti(L, -2, i);     /* [-1] */
  }
  st__make_sizes(h, L);
  return 1;
}

void st__push_sizes(st__state *h, lua_State *L, const int64_t *p, int n,
                    int64_t unit) {
  lua_createtable(L, n, 0);            /* [+1] */
  for (int i = 0; i < n; i++) {
    st__push_int(h, L, p[i] * unit);   /* [+1] */
    lua_rawseti(L, -2, i + 1);         /* [-1] */
  }
  st__make_sizes(h, L);
}

/* -- Text ----------------------------------------------------------------- */

/* Note [Lua 5.4 and __concat]
 * Up to 5.4.5, Lua 5.4 uses its stack after a __concat metamethod at the
 * address where it was before, and a call may have moved it (luaV_concat). So
 * no such metamethod is safe there, in any library; ours raises an error, after
 * which Lua does not use that address.
 */
#if LUA_VERSION_NUM == 504
#define HAS_CONCAT (LUA_VERSION_RELEASE_NUM >= 50406)
#else
#define HAS_CONCAT 1
#endif

#if HAS_CONCAT

/* Significant digits of a number; Lua writes 14 of a double. */
static int digits(st_dtype d) {
  const double eps = st_dtype_facts_of(d)->eps;
  const int held = eps > 0 ? 1 + (int)floor(-log10(eps)) : 14;
  return held > 14 ? 14 : held;
}

/* Formats the number of a 0-dim tensor, as Lua writes it. */
static void format_number(st_dtype d, const st_scalar *s, char *text,
                          size_t size) {
  const int n = digits(d);
  switch (s->kind) {
    case ST_SCALAR_BOOL:
      snprintf(text, size, "%s", s->u.i ? "true" : "false");
      break;
    case ST_SCALAR_INT: snprintf(text, size, "%" PRId64, s->u.i); break;
    case ST_SCALAR_UINT: snprintf(text, size, "%" PRIu64, s->u.u); break;
    case ST_SCALAR_FLOAT: snprintf(text, size, "%.*g", n, s->u.f); break;
    default:
      snprintf(text, size, "%.*g%+.*gi", n, s->u.c[0], n, s->u.c[1]);
  }
}

/* Replaces the tensor at idx by its text: the number of a 0-dim tensor, others
 * as tostring writes them. */
static void replace_tensor(st__state *h, lua_State *L, int idx) {
  char number[80];
  st_scalar s;
  const st_tensor *t = st__check_tensor(h, L, idx, "self");
  st__access_elements(h, L, "..");
  if (st_tensor_ndim(t) > 0 || st_tensor_device(t) == ST_DEVICE_META) {
    st__push_tensor_text(h, L, idx);                      /* [+1] */
  } else {
    const st_status status = st_tensor_get(t, 0, NULL, &s);
    if (status != ST_OK) st__raise(h, L, status);
    format_number(st_tensor_dtype(t), &s, number, sizeof number);
    lua_pushstring(L, number);                            /* [+1] */
  }
  st__check_lost(h, L, idx, "..");
  lua_replace(L, idx);                                    /* [-1] */
}

static void replace_operand(st__state *h, lua_State *L, int idx) {
  const int type = lua_type(L, idx);
  if (type == LUA_TSTRING || type == LUA_TNUMBER) return;
  if (is_sizes(h, L, idx)) {
    push_sizes_text(L, idx);                              /* [+1] */
    lua_replace(L, idx);                                  /* [-1] */
  } else if (st__testudata(h, L, idx, ST_UD_TENSOR)) {
    replace_tensor(h, L, idx);
  } else {
    st__error(h, L, ST_BAD_TYPE, "..: cannot join a %s to a tensor or shape; "
              "write tostring(value)", st__type_name(h, L, idx));
  }
}

/* __concat of tensors and shapes */
int st__concat(lua_State *L) {
  st__state *h = st__state_of(L);
  lua_settop(L, 2);
  replace_operand(h, L, 1);
  replace_operand(h, L, 2);
  lua_concat(L, 2);
  return 1;
}

#else

int st__concat(lua_State *L) {
  return st__error(st__state_of(L), L, ST_BAD_STATE, "..: %s cannot join "
                   "tensors and shapes to text; write t:item() for a number, "
                   "tostring(t) for a text", LUA_RELEASE);
}

#endif

/* -- Opening -------------------------------------------------------------- */

static int is_shape(lua_State *L) {
  lua_pushboolean(L, is_sizes(st__state_of(L), L, 1)); /* [+1] */
  return 1;
}

void st__open_shape(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__index", sizes_index}, {"__call", sizes_call},
    {"__tostring", sizes_tostring}, {"__eq", sizes_eq},
    {"__concat", st__concat}, {NULL, NULL}
  };
  static const luaL_Reg functions[] = {
    {"Size", new_sizes}, {"is_shape", is_shape}, {NULL, NULL}
  };
  h->shapes = st__new_part(h, L, sizeof *h->shapes, NULL);
  st__set_functions(h, L, functions);
  lua_newtable(L);                               /* [+1] */
  st__set_functions(h, L, metamethods);
  lua_pushliteral(L, "shape");                   /* [+1] */
  lua_setfield(L, -2, "__metatable");            /* [-1] */
  h->shapes->meta_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
}
