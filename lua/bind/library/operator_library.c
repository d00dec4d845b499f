/* Libraries in Lua: operators, kernels and fallbacks that are registered and
 * removed together. The engine has the rules; this file has the Lua methods.
 */

#include <stdio.h>
#include <string.h>

#include "library/library.h"
#include "state/guard.h"

typedef struct library {
  st_library *lib;  /* NULL once closed */
  bool has_env;     /* it holds derivatives: custom_derivative.c */
  bool is_boxed;    /* of a script: Note [Operators of scripts] */
  char ns[];
} library;

static library *check_library(lua_State *L) {
  st__state *h = st__state_of(L);
  library *l = st__checkudata(h, L, 1, ST_UD_LIBRARY, "self");
  if (!l->lib || !st_library_is_open(l->lib)) {
    st__error(h, L, ST_BAD_STATE, "library '%s' is closed", l->ns);
  }
  return l;
}

bool st__is_open_library(st__state *h, lua_State *L, int idx) {
  const library *l = st__testudata(h, L, idx, ST_UD_LIBRARY);
  return l && l->lib && st_library_is_open(l->lib);
}

/* Raises unless a script's library may define the operator of a schema. */
static void check_new(lua_State *L, const library *l, const char *schema) {
  if (!l->is_boxed) return;
  st__check_own_operator(st__state_of(L), L, l->ns, schema, true);
}

/* The same for kernels and derivatives of the operator of a name. */
static void check_own(lua_State *L, const library *l, const char *name) {
  if (!l->is_boxed) return;
  st__check_own_operator(st__state_of(L), L, l->ns, name, false);
}

static void note_own(lua_State *L, const library *l, const char *schema,
                     st_status status) {
  if (l->is_boxed && status == ST_OK) st__own_operator(L, 1, l->ns, schema);
}

/* Ends a registration: raises a failure, or else notifies the listeners. */
static void end_registration(lua_State *L, st_status status) {
  st__state *h = st__state_of(L);
  if (status != ST_OK) st__raise(h, L, status);
  st__lua_ref_sweep(h, L);
  st__deliver(h, L);
}

/* -- Opening and closing -------------------------------------------------- */

static st_library_kind check_kind(lua_State *L, int idx) {
  static const char *const names[] = {"DEF", "FRAGMENT", "IMPL", NULL};
  st__state *h = st__state_of(L);
  if (lua_isnoneornil(L, idx)) return ST_LIBRARY_DEF;
  const char *name = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx)
                                                     : "";
  for (int k = 0; names[k]; k++) {
    if (strcmp(name, names[k]) == 0) return (st_library_kind)k;
  }
  st__error(h, L, ST_BAD_VALUE, "library: the kind must be 'DEF', 'FRAGMENT' "
            "or 'IMPL'");
  return ST_LIBRARY_DEF;
}

/* open_library(ns, kind, key, defers): returns a library. With defers nothing
 * takes effect before transact commits. */
static int open_library(lua_State *L) {
  char where[LUA_IDSIZE + 16];
  size_t n;
  st__state *h = st__state_of(L);
  if (lua_type(L, 1) != LUA_TSTRING) {
    return st__error(h, L, ST_BAD_TYPE, "library: the namespace must be a "
                     "name, got %s", st__type_name(h, L, 1));
  }
  const char *ns = lua_tolstring(L, 1, &n);
  st__check_namespace(h, L, ns);
  const st_library_kind kind = check_kind(L, 2);
  const char *key = st__opt_string(h, L, 3, "key");
  const int flags = (h->is_strict ? 0 : ST_REPLACE) |
                    (lua_toboolean(L, 4) ? ST_DEFER : 0);
  library *l = st__newudata(h, L, ST_UD_LIBRARY, sizeof *l + n + 1);
  memcpy(l->ns, ns, n + 1);                              /* [+1] */
  l->is_boxed = st__is_boxed(h);
  end_registration(L, st_library_open(ns, kind, key, flags,
                            st__where(h, L, where, sizeof where), &l->lib));
  return 1;
}

/* Returns false if it was closed already. */
static bool close_library(lua_State *L) {
  st__state *h = st__state_of(L);
  library *l = st__testudata(h, L, 1, ST_UD_LIBRARY);
  if (!l || !l->lib) return false;
  st_library_close(&l->lib);
  st__lua_ref_sweep(h, L);
  return true;
}

/* May run in any allocation, so the listeners are not called here but at the
 * end of the next registration. */
static int library_gc(lua_State *L) {
  close_library(L);
  return 0;
}

/* lib:close() */
static int library_close(lua_State *L) {
  if (close_library(L)) st__deliver(st__state_of(L), L);
  return 0;
}

/* transact(lib, body): runs body(lib), then commits all its registrations;
 * none takes effect if it raises */
static int transact(lua_State *L) {
  st__state *h = st__state_of(L);
  library *l = check_library(L);
  lua_settop(L, 2);
  st__check_callable(h, L, 2, "body");
  st__check_body(h, L, "library");
  lua_pushvalue(L, 1);                                   /* [+1] */
  const int status = st__run_body(h, L, 1, 0);           /* [-2, +0|1] */
  if (status != 0) {
    if (l->lib) st_library_close(&l->lib);
    st__lua_ref_sweep(h, L);
    return lua_error(L);
  }
  check_library(L);
  const st_status committed = st_library_commit(l->lib);
  if (committed != ST_OK) {
    st_library_close(&l->lib);
    st__lua_ref_sweep(h, L);
    return st__raise(h, L, committed);
  }
  st__deliver(h, L);
  return 0;
}

/* -- Definitions ---------------------------------------------------------- */

/* Converts the list of tag names at the top to a bit set. */
static int check_tags(lua_State *L) {
  int tags = 0;
  st__state *h = st__state_of(L);
  const int n = lua_istable(L, -1) ? (int)lua_objlen(L, -1) : -1;
  if (n < 0) st__error(h, L, ST_BAD_TYPE, "def: tags must be a list of names");
  for (int k = 1; k <= n; k++) {
    int bit = 0;
    lua_rawgeti(L, -1, k);                               /* [+1] */
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1)
                                                      : "?";
    while (st_tag_name(bit) && strcmp(st_tag_name(bit), name) != 0) bit++;
    if (!st_tag_name(bit)) {
      st__error(h, L, ST_BAD_VALUE, "def: there is no tag '%.40s'", name);
    }
    tags |= 1 << bit;
    lua_pop(L, 1);                                       /* [-1] */
  }
  return tags;
}

typedef struct definition {
  const char *doc;
  int tags;
  int kernel;   /* stack index of its kernel, or 0 */
} definition;

/* Reads {doc =, tags =} at idx; the strings stay on the stack. [+2] */
static void read_options(lua_State *L, int idx, definition *d) {
  st__state *h = st__state_of(L);
  st__get_field(h, L, idx, "doc");                       /* [+1] */
  if (lua_type(L, -1) == LUA_TSTRING) {
    d->doc = lua_tostring(L, -1);
  } else if (!lua_isnil(L, -1)) {
    st__error(h, L, ST_BAD_TYPE, "def: doc must be a string, got %s",
              st__type_name(h, L, -1));
  }
  st__get_field(h, L, idx, "tags");                      /* [+1] */
  if (!lua_isnil(L, -1)) d->tags = check_tags(L);
}

/* lib:def(schema[, doc or options][, kernel]): returns lib */
static int library_def(lua_State *L) {
  char where[LUA_IDSIZE + 16];
  st_kernel kernel = {.fn = NULL};
  definition d = {"", 0, 0};
  st__state *h = st__state_of(L);
  library *l = check_library(L);
  const int top = lua_gettop(L);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return st__error(h, L, ST_BAD_TYPE, "def: the schema must be a string, "
                     "got %s", st__type_name(h, L, 2));
  }
  const char *schema = lua_tostring(L, 2);
  check_new(L, l, schema);
  for (int i = 3; i <= top; i++) {
    if (lua_type(L, i) == LUA_TSTRING) d.doc = lua_tostring(L, i);
    else if (st__is_callable(h, L, i)) d.kernel = i;
    else if (lua_istable(L, i)) read_options(L, i, &d);  /* [+2] */
    else if (!lua_isnil(L, i)) {
      return st__error(h, L, ST_BAD_TYPE, "def: argument %d must be a doc "
                       "string, a table of options or a kernel, got %s",
                       i - 1, st__type_name(h, L, i));
    }
  }
  if (d.kernel) {
    st__new_kernel(h, L, d.kernel, ST_TAKES_ARGS, &kernel);
  }
  const st_status status = d.kernel
    ? st_library_define_with(l->lib, schema, d.doc, d.tags, &kernel)
    : st_library_define(l->lib, schema, d.doc, d.tags,
                        st__where(h, L, where, sizeof where));
  if (status != ST_OK) st__drop_kernel(h, L, &kernel);
  note_own(L, l, schema, status);
  end_registration(L, status);
  lua_settop(L, 1);
  return 1;
}

/* -- Kernels -------------------------------------------------------------- */

/* True if the value at idx is callable or "fallthrough". */
static bool is_kernel(lua_State *L, int idx) {
  return st__is_callable(st__state_of(L), L, idx) ||
         (lua_type(L, idx) == LUA_TSTRING &&
          strcmp(lua_tostring(L, idx), "fallthrough") == 0);
}

/* Makes the kernel at idx; a fallthrough has only its location. */
static void make_kernel(lua_State *L, int idx, st__convention c,
                        char *where, size_t size, st_kernel *out) {
  st__state *h = st__state_of(L);
  if (lua_type(L, idx) != LUA_TSTRING) {
    st__new_kernel(h, L, idx, c, out);
    return;
  }
  *out = (st_kernel){.debug = st__where(h, L, where, size)};
}

static bool takes_keys(lua_State *L, int idx) {
  if (!lua_istable(L, idx)) return false;
  st__get_field(st__state_of(L), L, idx, "with_keys");   /* [+1] */
  const bool takes = lua_toboolean(L, -1);
  lua_pop(L, 1);                                         /* [-1] */
  return takes;
}

/* lib:impl(name[, key], fn[, {with_keys =}]): returns lib */
static int library_impl(lua_State *L) {
  char where[LUA_IDSIZE + 16];
  st_kernel kernel;
  st__state *h = st__state_of(L);
  library *l = check_library(L);
  const char *name = st__check_string(h, L, 2, "name");
  check_own(L, l, name);
  const bool has_key = !is_kernel(L, 3) || is_kernel(L, 4);
  const int at = has_key ? 4 : 3;
  const char *key = has_key ? st__opt_string(h, L, 3, "key") : NULL;
  if (!is_kernel(L, at)) {
    return st__error(h, L, ST_BAD_TYPE, "impl: the kernel of '%.80s' must be "
                     "a function or \"fallthrough\", got %s", name,
                     st__type_name(h, L, at));
  }
  const st__convention c = takes_keys(L, at + 1) ? ST_TAKES_KEYS
                                                 : ST_TAKES_ARGS;
  make_kernel(L, at, c, where, sizeof where, &kernel);
  const st_status status = st_library_implement(l->lib, name, key, &kernel);
  if (status != ST_OK) st__drop_kernel(h, L, &kernel);
  end_registration(L, status);
  lua_settop(L, 1);
  return 1;
}

/* lib:fallback(key, fn): returns lib; fn(op, keys, ...) runs for every
 * operator that has no kernel for the key */
static int library_fallback(lua_State *L) {
  char where[LUA_IDSIZE + 16];
  st_kernel kernel;
  st__state *h = st__state_of(L);
  library *l = check_library(L);
  const char *key = st__check_string(h, L, 2, "key");
  if (!is_kernel(L, 3)) {
    return st__error(h, L, ST_BAD_TYPE, "fallback: the kernel must be a "
                     "function or \"fallthrough\", got %s",
                     st__type_name(h, L, 3));
  }
  make_kernel(L, 3, ST_TAKES_OPERATOR, where, sizeof where, &kernel);
  const st_status status = st_library_fallback(l->lib, key, &kernel);
  if (status != ST_OK) st__drop_kernel(h, L, &kernel);
  end_registration(L, status);
  lua_settop(L, 1);
  return 1;
}

/* -- Derivatives ---------------------------------------------------------- */

/* Reads the list of formulas at idx; the strings stay on the stack. [+n+1] */
static const char **check_formulas(lua_State *L, int idx, int *n) {
  st__state *h = st__state_of(L);
  *n = (int)lua_objlen(L, idx);
  if (*n == 0 || *n > 2 * ST_MAX_ARGS) {
    st__error(h, L, ST_BAD_VALUE, "derivative: expected a list of formulas, "
              "one per argument, such as 'self: grad * other'");
  }
  luaL_checkstack(L, *n + LUA_MINSTACK, "formulas");
  const char **list = lua_newuserdata(L, (size_t)*n * sizeof *list); /* [+1] */
  for (int i = 0; i < *n; i++) {
    lua_rawgeti(L, idx, i + 1);                          /* [+1] */
    if (lua_type(L, -1) != LUA_TSTRING) {
      st__error(h, L, ST_BAD_TYPE, "derivative: formula %d must be a string, "
                "got %s", i + 1, st__type_name(h, L, -1));
    }
    list[i] = lua_tostring(L, -1);
  }
  return list;
}

/* lib:derivative(name, formulas | fn): returns lib; fn(ctx, grad ...) returns
 * a gradient, or nil, for each argument */
static int library_derivative(lua_State *L) {
  st__state *h = st__state_of(L);
  library *l = check_library(L);
  const char *name = st__check_string(h, L, 2, "name");
  st_status status;
  int n = 1;
  check_own(L, l, name);
  lua_settop(L, 3);
  if (st__is_callable(h, L, 3)) {
    status = st__derive(h, L, l->lib, name, 3, &l->has_env); /* [+2] */
  } else if (lua_type(L, 3) == LUA_TSTRING) {
    const char *formula = lua_tostring(L, 3);
    status = st_library_derive(l->lib, name, 1, &formula);
  } else if (lua_istable(L, 3)) {
    const char **list = check_formulas(L, 3, &n);        /* [+n+1] */
    status = st_library_derive(l->lib, name, n, list);
  } else {
    return st__error(h, L, ST_BAD_TYPE, "derivative: the derivative of "
                     "'%.80s' must be a function or a list of formulas, got "
                     "%s", name, st__type_name(h, L, 3));
  }
  end_registration(L, status);
  lua_settop(L, 1);
  return 1;
}

/* -- Traced operators ----------------------------------------------------- */

/* lib:elementwise(schema, body[, doc]): returns lib; body, a function or an
 * expression in a string, is traced */
static int library_elementwise(lua_State *L) {
  char where[LUA_IDSIZE + 16];
  st__state *h = st__state_of(L);
  library *l = check_library(L);
  const char *schema = st__check_string(h, L, 2, "schema");
  const char *doc = st__opt_string(h, L, 4, "doc");
  check_new(L, l, schema);
  lua_settop(L, 4);
  st__push_argument_names(h, L, schema, l->ns);          /* [+1] */
  st__compile_expression(L, h, 3);                       /* [-1] */
  st__check_callable(h, L, 3, "body");
  st_graph *g = st__trace_body(h, L, schema, l->ns, 3);
  const st_status status = l->lib
    ? st_library_elementwise(l->lib, schema, &g, doc ? doc : "",
                             st__where(h, L, where, sizeof where))
    : st_fail(ST_BAD_STATE, "library '%s' is closed", l->ns);
  st_graph_release(&g);
  note_own(L, l, schema, status);
  end_registration(L, status);
  lua_settop(L, 1);
  return 1;
}

/* lib:reduction(schema, options): returns lib; a name without arguments
 * declares a reduction of one tensor with dim and keepdim */
static int library_reduction(lua_State *L) {
  char where[LUA_IDSIZE + 16];
  st_custom_reduction f = {.ninit = 0};
  st__state *h = st__state_of(L);
  library *l = check_library(L);
  f.schema = st__check_string(h, L, 2, "schema");
  check_new(L, l, f.schema);
  lua_settop(L, 3);
  if (!strchr(f.schema, '(')) {
    f.schema = lua_pushfstring(L, "%s(Tensor self, Dim[1]? dim=None, "
                               "bool keepdim=False) -> Tensor",
                               f.schema);                /* [+1] */
  }
  st__trace_reduction(h, L, l->ns, 3, &f);               /* [+2] */
  f.debug = st__where(h, L, where, sizeof where);
  const st_status status = l->lib
    ? st_library_reduction(l->lib, &f)
    : st_fail(ST_BAD_STATE, "library '%s' is closed", l->ns);
  note_own(L, l, f.schema, status);
  st__end_reduction(L);                                  /* [-2] */
  end_registration(L, status);
  lua_settop(L, 1);
  return 1;
}

/* -- Inspecting ----------------------------------------------------------- */

static int library_tostring(lua_State *L) {
  const library *l = st__checkudata(st__state_of(L), L, 1, ST_UD_LIBRARY,
                                    "self");
  const bool is_open = l->lib && st_library_is_open(l->lib);
  lua_pushfstring(L, "library '%s'%s", l->ns, is_open ? "" : " (closed)");
  return 1;                                              /* [+1] */
}

/* lib.ns, or a method; upvalue 2: the table of methods */
static int library_index(lua_State *L) {
  const library *l = st__checkudata(st__state_of(L), L, 1, ST_UD_LIBRARY,
                                    "self");
  lua_settop(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING && !strcmp(lua_tostring(L, 2), "ns")) {
    lua_pushstring(L, l->ns);                            /* [+1] */
    return 1;
  }
  lua_rawget(L, lua_upvalueindex(2));                    /* [-1, +1] */
  return 1;
}

/* strict_registration([on]): returns the previous setting. While it is on, a
 * library that is opened cannot replace existing registrations. */
static int strict_registration(lua_State *L) {
  st__state *h = st__state_of(L);
  const bool was_strict = h->is_strict;
  if (!lua_isnoneornil(L, 1)) h->is_strict = lua_toboolean(L, 1);
  lua_pushboolean(L, was_strict);                        /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_library(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__gc", library_gc}, {"__close", library_close},
    {"__tostring", library_tostring}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"def", library_def}, {"impl", library_impl},
    {"fallback", library_fallback}, {"derivative", library_derivative},
    {"elementwise", library_elementwise}, {"reduction", library_reduction},
    {"close", library_close}, {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
  lua_pushlightuserdata(L, h);               /* [+1] */
  lua_newtable(L);                           /* [+1] */
  st__set_functions(h, L, methods);
  lua_pushcclosure(L, library_index, 2);     /* [-2, +1] */
  lua_setfield(L, -2, "__index");            /* [-1] */
}

void st__open_library(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"open_library", open_library}, {"transact", transact},
    {"strict_registration", strict_registration}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_LIBRARY, fill_library);
  st__set_functions(h, L, functions);
}
