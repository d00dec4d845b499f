/* Values of LuaJIT's FFI: 64-bit integers, and addresses.
 *
 * Note [The types of cdata]
 * lua.h has no functions for cdata: lua_type returns 10, and lua_topointer the
 * address of the bytes, whatever they are. An integer taken for a pointer would
 * let a script read and write all memory, so the FFI is asked for the type of
 * each cdata. A host may have removed the FFI, or a script replaced it by
 * functions of its own, before strided is opened. Two things cannot be removed:
 * the lexer creates a cdata for the literal 0LL, and the metatable of all cdata
 * has __tostring, which prints an integer with LL or ULL behind it. A table is
 * trusted to be the FFI if its typeof returns what __tostring prints as a
 * pointer type: only the FFI makes such values, and who has one can make any
 * pointer. Without an FFI to trust, integers are read from their text, and no
 * cdata is an address.
 *
 * The literal makes LuaJIT open an FFI that was not open, and put it in
 * package.loaded, where a script of such a host would find it at its own first
 * literal. It is removed from there again, unless require would have found it,
 * and stays in the registry: LuaJIT crashes when it collects the FFI.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "value/value.h"

/* References to functions and types of LuaJIT's FFI. */
struct st__ffi {
  int tostring_ref;            /* of all cdata; LUA_NOREF: there are none */
  int typeof_ref, cast_ref, sizeof_ref, int64_ref, uint64_ref, pointer_ref;
  bool is_trusted;             /* the others are the FFI's */
};
#include "state/hook_error.h"

enum { TCDATA = 10 };  /* the type tag of cdata in LuaJIT */

/* -- Opening -------------------------------------------------------------- */

#if LUA_VERSION_NUM == 501

/* Replaces the value at the top by its field, without metamethods; by nil if
 * it is no table. [-1, +1] */
static void raw_field(lua_State *L, const char *name) {
  if (lua_istable(L, -1)) {
    lua_pushstring(L, name);                           /* [+1] */
    lua_rawget(L, -2);                                 /* [-1, +1] */
  } else {
    lua_pushnil(L);                                    /* [+1] */
  }
  lua_remove(L, -2);                                   /* [-1] */
}

/* Pushes package.loaded, which scripts cannot replace. [+1] */
static void push_loaded(lua_State *L) {
  lua_pushvalue(L, LUA_REGISTRYINDEX);                 /* [+1] */
  raw_field(L, "_LOADED");
}

static void push_loaded_ffi(lua_State *L) {
  push_loaded(L);                                      /* [+1] */
  raw_field(L, "ffi");
}

/* Pushes the function with which require opens the FFI; returns false and
 * pushes nothing if there is none. [+0|1] */
static bool push_opener(lua_State *L) {
  push_loaded(L);                                      /* [+1] */
  raw_field(L, "package");
  raw_field(L, "preload");
  raw_field(L, "ffi");
  if (lua_iscfunction(L, -1)) return true;
  lua_pop(L, 1);                                       /* [-1] */
  return false;
}

/* A reference to the field of the table at the top if it is a function. */
static int take_field(lua_State *L, const char *name) {
  lua_pushvalue(L, -1);                                /* [+1] */
  raw_field(L, name);
  if (lua_isfunction(L, -1)) return luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  lua_pop(L, 1);                                       /* [-1] */
  return LUA_NOREF;
}

/* What the function at a reference returns for the value at the top; false
 * and nothing if it raises or there is no function. [-1, +0|1] */
static bool ask(st__state *h, lua_State *L, int ref) {
  st__watch w;
  if (ref == LUA_NOREF) {
    lua_pop(L, 1);                                     /* [-1] */
    return false;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);              /* [+1] */
  lua_insert(L, -2);
  st__watch_begin(L, &w);
  const int status = st__pcall_c(h, L, 1, 1, 0);       /* [-2, +1] */
  if (!st__watch_end(L, &w, status) && status != 0) lua_pop(L, 1); /* [-1] */
  return status == 0;
}

/* True if the value at idx is printed as this text. */
static bool prints_as(st__state *h, lua_State *L, int idx, const char *text) {
  lua_pushvalue(L, idx);                               /* [+1] */
  if (!ask(h, L, h->ffi->tostring_ref)) return false;   /* [-1, +0|1] */
  const char *printed = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1)
                                                       : "";
  const bool is_same = strcmp(printed, text) == 0;
  lua_pop(L, 1);                                       /* [-1] */
  return is_same;
}

/* A reference to the FFI's type of this name; LUA_NOREF if typeof returns
 * anything else. */
static int take_type(st__state *h, lua_State *L, const char *name,
                     const char *printed) {
  lua_pushstring(L, name);                             /* [+1] */
  if (!ask(h, L, h->ffi->typeof_ref)) return LUA_NOREF; /* [-1, +0|1] */
  if (lua_type(L, -1) == TCDATA && prints_as(h, L, lua_gettop(L), printed)) {
    return luaL_ref(L, LUA_REGISTRYINDEX);             /* [-1] */
  }
  lua_pop(L, 1);                                       /* [-1] */
  return LUA_NOREF;
}

/* Takes the functions of the FFI at the top if it can be trusted. */
static void take_ffi(st__state *h, lua_State *L) {
  h->ffi->typeof_ref = take_field(L, "typeof");
  h->ffi->cast_ref = take_field(L, "cast");
  h->ffi->sizeof_ref = take_field(L, "sizeof");
  h->ffi->int64_ref = take_type(h, L, "int64_t", "ctype<int64_t>");
  h->ffi->uint64_ref = take_type(h, L, "uint64_t", "ctype<uint64_t>");
  h->ffi->pointer_ref = take_type(h, L, "const void *", "ctype<const void *>");
  h->ffi->is_trusted = h->ffi->cast_ref != LUA_NOREF &&
                      h->ffi->sizeof_ref != LUA_NOREF &&
                      h->ffi->int64_ref != LUA_NOREF &&
                      h->ffi->uint64_ref != LUA_NOREF &&
                      h->ffi->pointer_ref != LUA_NOREF;
}

/* Pushes the FFI that the literal opened, or that was open before: then the
 * value at index `before`. [+1] */
static void push_ffi(lua_State *L, int before) {
  push_loaded_ffi(L);                                  /* [+1] */
  if (lua_isnil(L, before) && push_opener(L)) {        /* [+0|1] */
    if (lua_istable(L, -2)) {
      lua_pop(L, 1);                                   /* [-1] */
      return;
    }
    lua_pushliteral(L, "ffi");                         /* [+1] */
    st__call_c(L, 1, 0);                               /* [-2] */
    lua_pop(L, 1);                                     /* [-1] */
    push_loaded_ffi(L);                                /* [+1] */
    return;
  }
  push_loaded(L);                                      /* [+1] */
  lua_pushliteral(L, "ffi");                           /* [+1] */
  lua_pushvalue(L, before);                            /* [+1] */
  lua_rawset(L, -3);                                   /* [-2] */
  lua_pop(L, 1);                                       /* [-1] */
}

/* Argument: the binding state. */
static int open_cdata(lua_State *L) {
  st__state *h = lua_touserdata(L, 1);
  push_loaded_ffi(L);                                  /* [+1] */
  const int before = lua_gettop(L);
  if (luaL_loadbuffer(L, "return 0LL", 10, "=strided") != 0) {
    return 0; /* no LuaJIT, or one without the FFI */
  }
  st__call_c(L, 0, 1);                                 /* [+1] */
  const int zero = lua_gettop(L);
  push_ffi(L, before);                                 /* [+1] */
  lua_pushvalue(L, -1);                                /* [+1] */
  luaL_ref(L, LUA_REGISTRYINDEX);                      /* [-1] */
  if (lua_type(L, zero) != TCDATA || !lua_getmetatable(L, zero)) return 0;
  h->ffi->tostring_ref = take_field(L, "__tostring");
  lua_pop(L, 1);                                       /* [-1] */
  if (prints_as(h, L, zero, "0LL")) take_ffi(h, L);
  else h->ffi->tostring_ref = LUA_NOREF;
  return 0;
}

#endif

void st__open_cdata(st__state *h, lua_State *L) {
  h->ffi = st__new_part(h, L, sizeof *h->ffi, NULL);
  *h->ffi = (st__ffi){LUA_NOREF, LUA_NOREF, LUA_NOREF, LUA_NOREF, LUA_NOREF,
                     LUA_NOREF, LUA_NOREF, false};
#if LUA_VERSION_NUM == 501
  if (st__protected(L, open_cdata, h) != 0) lua_error(L); /* [+0|1] */
#else
  (void)L;
#endif
}

/* -- Types ---------------------------------------------------------------- */

/* Calls a function with the value at idx. The types of cdata may have Lua
 * functions, and a host may have wrapped those of the FFI. [+1] */
static void push_answer(st__state *h, lua_State *L, int ref, int idx) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);              /* [+1] */
  lua_pushvalue(L, idx);                               /* [+1] */
  st__call_out(h, L, "cdata", 1, 1);                   /* [-2, +1] */
}

/* Pushes what the cdata at idx is printed as. [+1] */
static const char *push_text(st__state *h, lua_State *L, int idx) {
  push_answer(h, L, h->ffi->tostring_ref, idx);         /* [+1] */
  return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
}

/* Pushes the type of the cdata at idx, as in "ctype<int64_t>". [+1] */
static const char *push_type(st__state *h, lua_State *L, int idx) {
  push_answer(h, L, h->ffi->typeof_ref, idx);           /* [+1] */
  if (lua_type(L, -1) != TCDATA) return "";
  const char *text = push_text(h, L, lua_gettop(L));   /* [+1] */
  lua_remove(L, -2);                                   /* [-1] */
  return text;
}

static bool starts_with(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

/* True if the type at idx is a type itself. */
static bool is_type(st__state *h, lua_State *L, int idx) {
  const bool is = starts_with(push_text(h, L, idx), "ctype<"); /* [+1] */
  lua_pop(L, 1);                                       /* [-1] */
  return is;
}

/* -- Integers ------------------------------------------------------------- */

/* Reads "-5LL" or "5ULL". */
static bool read_integer(const char *text, st_scalar *out) {
  char *end;
  errno = 0;
  if (*text == '-') {
    *out = (st_scalar){ST_SCALAR_INT, {.i = strtoll(text, &end, 10)}};
  } else {
    *out = st__unsigned(strtoull(text, &end, 10));
  }
  return end != text && !errno &&
         (strcmp(end, "LL") == 0 || strcmp(end, "ULL") == 0);
}

/* A reference to an integer prints as one, too; only the FFI tells. */
static bool may_be_integer(st__state *h, lua_State *L, int idx) {
  if (!h->ffi->is_trusted) return true;
  const char *type = push_type(h, L, idx);             /* [+1] */
  const bool may_be = strcmp(type, "ctype<int64_t>") == 0 ||
                      strcmp(type, "ctype<uint64_t>") == 0;
  lua_pop(L, 1);                                       /* [-1] */
  return may_be;
}

bool st__cdata_to_int(st__state *h, lua_State *L, int idx, st_scalar *out) {
  if (h->ffi->tostring_ref == LUA_NOREF) return false;
  luaL_checkstack(L, 4, NULL);
  if (!may_be_integer(h, L, idx)) return false;
  const bool is = read_integer(push_text(h, L, idx), out); /* [+1] */
  lua_pop(L, 1);                                       /* [-1] */
  return is;
}

/* A type called without arguments makes a new cdata of zeros. */
bool st__push_int_cdata(st__state *h, lua_State *L, st_scalar s) {
  if (!h->ffi->is_trusted) return false;
  lua_rawgeti(L, LUA_REGISTRYINDEX, s.kind == ST_SCALAR_UINT
              ? h->ffi->uint64_ref : h->ffi->int64_ref); /* [+1] */
  st__call_c(L, 0, 1);                                 /* [-1, +1] */
  memcpy((void *)(uintptr_t)lua_topointer(L, -1), &s.u, sizeof s.u.u);
  return true;
}

/* -- Addresses ------------------------------------------------------------ */

/* True for "ctype<int *>", "ctype<int *const>", "ctype<void (*)()>". */
static bool is_pointer(const char *type) {
  const char *end = type + strlen(type) - 1;
  if (strstr(type, "(*")) return true;
  while (end > type && end[-1] != '*' && !strchr("<>()[]&", end[-1])) end--;
  return end > type && end[-1] == '*';
}

/* True for an array, structure or union, and for a reference to one. */
static bool is_aggregate(const char *type) {
  const size_t n = strlen(type);
  const char *name = type + strlen("ctype<");
  for (; starts_with(name, "const ") || starts_with(name, "volatile ");) {
    name = strchr(name, ' ') + 1;
  }
  return (n > 2 && strcmp(type + n - 2, "]>") == 0) ||
         starts_with(name, "struct ") || starts_with(name, "union ");
}

/* The address that the cdata at idx, which is one, has or is at. */
static void *address_of(st__state *h, lua_State *L, int idx) {
  void *p = NULL;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->ffi->cast_ref);    /* [+1] */
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->ffi->pointer_ref); /* [+1] */
  lua_pushvalue(L, idx);                                 /* [+1] */
  st__call_out(h, L, "cdata", 2, 1);                     /* [-3, +1] */
  if (lua_type(L, -1) == TCDATA) memcpy(&p, lua_topointer(L, -1), sizeof p);
  lua_pop(L, 1);                                         /* [-1] */
  return p;
}

static size_t size_of(st__state *h, lua_State *L, int idx) {
  push_answer(h, L, h->ffi->sizeof_ref, idx);           /* [+1] */
  const double n = lua_tonumber(L, -1);
  lua_pop(L, 1);                                       /* [-1] */
  return n > 0 ? (size_t)n : 0;
}

static void read_cdata(st__state *h, lua_State *L, int idx, const char *name,
                       st__address *out) {
  if (!h->ffi->is_trusted) {
    st__error(h, L, ST_BAD_TYPE, "%s: a cdata is an address only if strided "
              "can ask the FFI for its type, and this host hides the FFI",
              name);
  }
  luaL_checkstack(L, 8, NULL);
  const char *type = push_type(h, L, idx);             /* [+1] */
  out->has_size = !is_pointer(type);
  if (is_type(h, L, idx) || (out->has_size && !is_aggregate(type))) {
    st__error(h, L, ST_BAD_TYPE, "%s: a cdata of type %s is neither a pointer "
              "nor an array", name, type);
  }
  out->p = address_of(h, L, idx);
  if (out->has_size) out->size = size_of(h, L, idx);
  lua_pop(L, 1);                                       /* [-1] */
}

bool st__to_address(st__state *h, lua_State *L, int idx, const char *name,
                    st__address *out) {
  *out = (st__address){NULL, false, SIZE_MAX};
  if (lua_type(L, idx) == LUA_TLIGHTUSERDATA) {
    out->p = lua_touserdata(L, idx);
    return true;
  }
  if (lua_type(L, idx) != TCDATA) return false;
  read_cdata(h, L, idx, name, out);
  return true;
}
