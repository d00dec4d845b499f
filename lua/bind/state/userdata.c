/* Userdata of the binding, their kinds and metatables (Note [Userdata]), and
 * checks of arguments.
 */

#include <math.h>
#include <string.h>

#include "state/error.h"
#include "lua_number.h"

static const char *const ud_name[] = {
#define ST_UD_NAME(id, name) name,
  ST_UD_MAP(ST_UD_NAME)
#undef ST_UD_NAME
};

/* Note [Metatables on first use]. A finalizer that runs meanwhile may create
 * the metatable first. */
static void make_meta(st__state *h, lua_State *L, st_ud_kind kind) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_newtable(L);                       /* [+1] */
  lua_pushstring(L, ud_name[kind]);      /* [+1] */
  lua_setfield(L, -2, "__name");         /* [-1] */
  lua_pushliteral(L, "protected");       /* [+1] */
  lua_setfield(L, -2, "__metatable");    /* [-1] */
  if (h->fill[kind]) h->fill[kind](h, L);
  if (h->meta[kind]) {
    lua_pop(L, 1);                       /* [-1] */
    return;
  }
  h->meta[kind] = lua_topointer(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->meta_ref[kind]); /* [-1] */
}

void st__push_meta(st__state *h, lua_State *L, st_ud_kind kind) {
  if (!h->meta[kind]) make_meta(h, L, kind);
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->meta_ref[kind]); /* [+1] */
}

static bool has_env(st_ud_kind kind) {
  return kind == ST_UD_TENSOR || kind == ST_UD_NODE ||
         kind == ST_UD_LIBRARY || kind == ST_UD_FUSED ||
         kind == ST_UD_CONTEXT;
}

void *st__newudata(st__state *h, lua_State *L, st_ud_kind kind, size_t n) {
  void *p = has_env(kind) ? st__new_with_env(L, n)
                          : lua_newuserdata(L, n); /* [+1] */
  memset(p, 0, n);
  st__push_meta(h, L, kind);       /* [+1] */
  lua_setmetatable(L, -2);         /* [-1] */
  return p;
}

void *st__testudata(st__state *h, lua_State *L, int idx, st_ud_kind kind) {
  void *p = lua_touserdata(L, idx);
  if (!p || !lua_getmetatable(L, idx)) return NULL; /* [+1] */
  const bool is_kind = lua_topointer(L, -1) == h->meta[kind];
  lua_pop(L, 1);                                    /* [-1] */
  return is_kind ? p : NULL;
}

static const char *scalar_name(const st_scalar *s) {
  return s->kind == ST_SCALAR_COMPLEX ? "complex"
       : s->kind == ST_SCALAR_INT ? "int64"
       : s->kind == ST_SCALAR_UINT ? "uint64" : "float";
}

static const char *number_name(lua_State *L, int idx) {
  st_scalar s;
  const double d = lua_tonumber(L, idx);
  st__number_to_scalar(L, idx, &s);
  if (s.kind == ST_SCALAR_INT) return "number";
  if (isnan(d)) return "nan";
  if (isinf(d)) return "infinity";
  return fabs(d) < 0x1p63 ? "number with a fraction"
                          : "number beyond 64 bits";
}

const char *st__type_name(st__state *h, lua_State *L, int idx) {
  switch (lua_type(L, idx)) {
    case LUA_TUSERDATA:
      for (int k = 0; k < ST_UD_COUNT; k++) {
        const void *p = st__testudata(h, L, idx, (st_ud_kind)k);
        if (!p) continue;
        if (k == ST_UD_TENSOR && !((const st__tensor_ud *)p)->t) {
          return "freed Tensor";
        }
        return k == ST_UD_SCALAR ? scalar_name(p) : ud_name[k];
      }
      return "userdata";
    case LUA_TNUMBER: return number_name(L, idx);
    case LUA_TNONE: return "nothing";
    default: return luaL_typename(L, idx);
  }
}

void *st__checkudata(st__state *h, lua_State *L, int idx, st_ud_kind kind,
                     const char *arg) {
  void *p = st__testudata(h, L, idx, kind);
  if (!p) {
    const char *article = strchr("aeiou", *ud_name[kind]) ? "an" : "a";
    st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be %s %s, got %s",
                       arg, article, ud_name[kind], st__type_name(h, L, idx));
  }
  return p;
}

/* -- Checks of arguments -------------------------------------------------- */

void st__check_table(st__state *h, lua_State *L, int idx, const char *arg) {
  if (lua_istable(L, idx)) return;
  st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be a table, got %s",
                     arg, st__type_name(h, L, idx));
}

const char *st__check_string(st__state *h, lua_State *L, int idx,
                             const char *arg) {
  if (lua_type(L, idx) != LUA_TSTRING) {
    st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be a string, got "
                       "%s", arg, st__type_name(h, L, idx));
  }
  return lua_tostring(L, idx);
}

const char *st__opt_string(st__state *h, lua_State *L, int idx,
                           const char *arg) {
  return lua_isnoneornil(L, idx) ? NULL : st__check_string(h, L, idx, arg);
}

bool st__is_callable(st__state *h, lua_State *L, int idx) {
  if (lua_isfunction(L, idx)) return true;
  const st__tensor_ud *ud = st__testudata(h, L, idx, ST_UD_TENSOR);
  if (ud && ud->t) return false; /* its __call raises */
  if (!luaL_getmetafield(L, idx, "__call")) return false; /* [+0|1] */
  const bool is_function = lua_isfunction(L, -1);
  lua_pop(L, 1);                                          /* [-1] */
  return is_function;
}

void st__check_callable(st__state *h, lua_State *L, int idx,
                        const char *arg) {
  if (st__is_callable(h, L, idx)) return;
  st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be a function, got "
                     "%s%s", arg, st__type_name(h, L, idx),
                     strcmp(arg, "body") == 0 ? "; write function() ... end "
                     "around the statements" : "");
}
