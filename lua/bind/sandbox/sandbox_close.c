/* Turns a sandbox on.
 *
 * Note [Closing whole or not at all]
 * Closing loads modules, moves tables and replaces upvalues, and each step may
 * fail: for want of memory or of stack, by an interrupt, or because a module
 * that the host allows does not load. So all classes are taken before the first
 * step, internals among them, which the library itself may use until the
 * closing function has returned. If it fails, the Lua state is broken for good:
 * operator calls, bodies and `require` of the library fail, what is taken stays
 * so, the modules leave package.loaded, and their tables and those of the
 * binding lose their fields and get a metatable that raises. That needs no
 * memory: the metatable is made before anything is taken.
 *
 * STRIDED_SANDBOX closes the sandbox while strided.core is opened, before
 * anybody has its table. The library is loaded there, and the file that
 * required strided.core first gets a table without functions in its place.
 */

#include <ctype.h>
#include <string.h>
#include <sys/random.h>

#include "sandbox/sandbox.h"

enum { SLOTS = 40 };

static char refusing_key, loaded_key, given_key;

/* -- Refusing ------------------------------------------------------------- */

/* A metamethod of tables whose fields are gone. */
static int refuse(lua_State *L) {
  st__state *h = st__state_of(L);
  const bool has_name = lua_type(L, 2) == LUA_TSTRING;
  st__check_broken(h, L, has_name ? lua_tostring(L, 2) : "strided");
  st__refuse_taken(h, L, "strided.core", ID_INTERNALS);
  return 0;
}

/* Keeps the value at the top in the registry. [-1] */
static void keep(lua_State *L, void *key) {
  lua_pushlightuserdata(L, key);                 /* [+1] */
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);              /* [-2] */
}

static void push_kept(lua_State *L, void *key) {
  lua_pushlightuserdata(L, key);                 /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);              /* [-1, +1] */
}

void st__keep_core(st__state *h, lua_State *L) {
  lua_pushvalue(L, -1);                          /* [+1] */
  keep(L, &h->is_broken);                        /* [-1] */
}

void st__push_closed_core(lua_State *L) {
  lua_newtable(L);                               /* [+1] */
  lua_pushboolean(L, 1);                         /* [+1] */
  lua_setfield(L, -2, "closed");                 /* [-1] */
  push_kept(L, &refusing_key);                   /* [+1] */
  lua_setmetatable(L, -2);                       /* [-1] */
}

/* -- Breaking ------------------------------------------------------------- */

/* Takes the fields from the value at the top, if it is a table. Allocates
 * nothing. [-1] */
static void empty(lua_State *L) {
  if (lua_istable(L, -1)) {
    for (lua_pushnil(L); lua_next(L, -2);) {     /* [+2] */
      lua_pop(L, 1);                             /* [-1] */
      lua_pushvalue(L, -1);                      /* [+1] */
      lua_pushnil(L);                            /* [+1] */
      lua_rawset(L, -4);                         /* [-2] */
    }
    push_kept(L, &refusing_key);                 /* [+1] */
    lua_setmetatable(L, -2);                     /* [-1] */
  }
  lua_pop(L, 1);                                 /* [-1] */
}

/* The same for each table in the table at the top, then for that. [-1] */
static void empty_all(lua_State *L) {
  for (lua_pushnil(L); lua_next(L, -2);) {       /* [+2] */
    empty(L);                                    /* [-1] */
  }
  empty(L);                                      /* [-1] */
}

/* strided, strided.nn, but not stridedness */
static bool is_ours(lua_State *L, int idx) {
  enum { N = sizeof "strided" - 1 };
  if (lua_type(L, idx) != LUA_TSTRING) return false;
  const char *name = lua_tostring(L, idx);
  return strncmp(name, "strided", N) == 0 && !isalnum((unsigned char)name[N]);
}

/* Allocates nothing, runs nothing. */
static void break_state(st__state *h, lua_State *L) {
  h->is_broken = true;
  h->sandbox->is_closed = false;
  push_kept(L, &h->is_broken);                   /* [+1] */
  empty_all(L);                                  /* [-1] */
  push_kept(L, &loaded_key);                     /* [+1] */
  for (lua_pushnil(L); lua_next(L, -2);) {       /* [+2] */
    if (!is_ours(L, -2)) {
      lua_pop(L, 1);                             /* [-1] */
      continue;
    }
    empty(L);                                    /* [-1] */
    lua_pushvalue(L, -1);                        /* [+1] */
    lua_pushnil(L);                              /* [+1] */
    lua_rawset(L, -4);                           /* [-2] */
  }
  lua_pop(L, 1);                                 /* [-1] */
}

/* -- What scripts require ------------------------------------------------- */

static int return_module(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));         /* [+1] */
  return 1;
}

/* A searcher before all others, at which `require` comes first; its second
 * upvalue has the public modules by their names. */
static int search(lua_State *L) {
  st__state *h = st__state_of(L);
  const st__sandbox *s = h->sandbox;
  if (!is_ours(L, 1) || !s->taken || s->is_closing) return 0;
  const char *name = lua_tostring(L, 1);
  st__check_broken(h, L, name);
  lua_pushvalue(L, 1);                           /* [+1] */
  lua_rawget(L, lua_upvalueindex(2));            /* [-1, +1] */
  if (lua_isnil(L, -1)) st__refuse_taken(h, L, name, ID_INTERNALS);
  lua_pushcclosure(L, return_module, 1);         /* [-1, +1] */
  return 1;
}

/* Adds the searcher for the modules in the table at the top. */
static void add_searcher(st__state *h, lua_State *L) {
  const int given = lua_gettop(L);
  push_kept(L, &loaded_key);                     /* [+1] */
  lua_getfield(L, -1, "package");                /* [+1] */
  if (!lua_istable(L, -1)) {
    st__error(h, L, ST_BAD_STATE, "sandbox: this Lua state has no package");
  }
  lua_pushliteral(L, "searchers");               /* [+1] */
  lua_rawget(L, -2);                             /* [-1, +1] */
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);                               /* [-1] */
    lua_pushliteral(L, "loaders");               /* [+1] */
    lua_rawget(L, -2);                           /* [-1, +1] */
  }
  if (!lua_istable(L, -1)) {
    st__error(h, L, ST_BAD_STATE, "sandbox: package has no searchers");
  }
  for (int i = (int)lua_objlen(L, -1); i > 0; i--) {
    lua_rawgeti(L, -1, i);                       /* [+1] */
    lua_rawseti(L, -2, i + 1);                   /* [-1] */
  }
  lua_pushlightuserdata(L, h);                   /* [+1] */
  lua_pushvalue(L, given);                       /* [+1] */
  lua_pushcclosure(L, search, 2);                /* [-2, +1] */
  lua_rawseti(L, -2, 1);                         /* [-1] */
  lua_pop(L, 3);                                 /* [-3] */
}

static void make_refusing(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"__index", refuse}, {"__newindex", refuse}, {"__call", refuse},
    {NULL, NULL}
  };
  lua_newtable(L);                               /* [+1] */
  for (const luaL_Reg *fn = functions; fn->name; fn++) {
    lua_pushlightuserdata(L, h);                 /* [+1] */
    lua_pushcclosure(L, fn->func, 1);            /* [-1, +1] */
    lua_setfield(L, -2, fn->name);               /* [-1] */
  }
  lua_pushliteral(L, "protected");               /* [+1] */
  lua_setfield(L, -2, "__metatable");            /* [-1] */
  keep(L, &refusing_key);                        /* [-1] */
}

void st__prepare_closing(st__state *h, lua_State *L) {
  luaL_checkstack(L, SLOTS, NULL);
  make_refusing(h, L);
  lua_pushliteral(L, "_LOADED");                 /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);              /* [-1, +1] */
  keep(L, &loaded_key);                          /* [-1] */
  push_kept(L, &given_key);                      /* [+1] */
  if (lua_isnil(L, -1)) { /* the first time */
    lua_newtable(L);                             /* [+1] */
    add_searcher(h, L);
    keep(L, &given_key);                         /* [-1] */
  }
  lua_pop(L, 1);                                 /* [-1] */
}

/* -- Closing -------------------------------------------------------------- */

/* Pushes what the global require returns. [+1] */
static void load(st__state *h, lua_State *L, const char *name) {
  st__push_require(h, L);                        /* [+1] */
  lua_pushstring(L, name);                       /* [+1] */
  st__call_lua(h, L, "require", 1, 1);           /* [-2, +1] */
}

/* Loads the library, though the file that does so is being loaded: pushes the
 * function that closes. [+1] */
static void load_library(st__state *h, lua_State *L) {
  push_kept(L, &loaded_key);                     /* [+1] */
  st__remove_marks(h, L);
  push_kept(L, &h->is_broken);                   /* [+1] */
  lua_setfield(L, -2, "strided.core");           /* [-1] */
  lua_pop(L, 1);                                 /* [-1] */
  load(h, L, "strided");                         /* [+1] */
  lua_pop(L, 1);                                 /* [-1] */
  load(h, L, "strided.sandbox");                 /* [+1] */
  lua_getfield(L, -1, "close");                  /* [+1] */
  lua_remove(L, -2);                             /* [-1] */
}

/* Its argument is the function that closes, or nil. */
static int close_all(lua_State *L) {
  st__state *h = st__state_of(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (h->sandbox->is_timed) {
    push_kept(L, &loaded_key);                   /* [+1] */
    st__guard_coroutines(L, 2);
  }
  if (lua_isnil(L, 1)) load_library(h, L);       /* [+1] */
  else lua_pushvalue(L, 1);                      /* [+1] */
  push_kept(L, &given_key);                      /* [+1] */
  st__call_lua(h, L, "sandbox", 1, 0);           /* [-2] */
  return 0;
}

void st__close_sandbox(st__state *h, lua_State *L, int allowed, int idx) {
  st__sandbox *s = h->sandbox;
  st__check_depth(h, L, "sandbox");
  lua_pushlightuserdata(L, h);                   /* [+1] */
  lua_pushcclosure(L, close_all, 1);             /* [-1, +1] */
  if (idx) lua_pushvalue(L, idx);                /* [+1] */
  else lua_pushnil(L);
  if (getrandom(&s->key, sizeof s->key, 0) < 0) s->key = (uintptr_t)s;
  s->taken = EVERYTHING & ~allowed;
  s->is_closing = true;
  const int status = st__pcall_c(h, L, 1, 0, 0); /* [-2, +0|1] */
  s->is_closing = false;
  if (status == 0 && s->is_closed) return;
  break_state(h, L);
  if (status != 0) lua_error(L);
  st__check_broken(h, L, "sandbox");
}
