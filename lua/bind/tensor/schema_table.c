/* Parses schema strings into tables: st.schema "geo::f(Tensor x, Dim d=0) ->
 * Tensor".
 */

#include <string.h>

#include "tensor/tensor.h"

/* -- Fields -------------------------------------------------------------- */

/* set_*: set a field of the table at the top. */
static void set_text(lua_State *L, const char *field, const char *text) {
  lua_pushstring(L, text);         /* [+1] */
  lua_setfield(L, -2, field);      /* [-1] */
}

static void set_flag(lua_State *L, const char *field, bool flag) {
  lua_pushboolean(L, flag);        /* [+1] */
  lua_setfield(L, -2, field);      /* [-1] */
}

/* -- Arguments and results ----------------------------------------------- */

static const char *kind_name(st_type type) {
  switch (type) {
    case ST_TYPE_TENSOR: return "Tensor";
    case ST_TYPE_INT: return "int";
    case ST_TYPE_FLOAT: return "float";
    case ST_TYPE_BOOL: return "bool";
    case ST_TYPE_STRING: return "str";
    case ST_TYPE_COMPLEX: return "complex";
    case ST_TYPE_SCALAR: return "Scalar";
    case ST_TYPE_DTYPE: return "ScalarType";
    case ST_TYPE_LAYOUT: return "Layout";
    case ST_TYPE_FORMAT: return "MemoryFormat";
    case ST_TYPE_DEVICE: return "Device";
    case ST_TYPE_GENERATOR: return "Generator";
    case ST_TYPE_DIM: return "Dim";
    case ST_TYPE_INDEX: return "Index";
    case ST_TYPE_END: return "End";
    case ST_TYPE_OTHER: break;
  }
  return "other";
}

/* Pushes a table with the fields that arguments and results share. [+1] */
static void push_type(lua_State *L, const st_arg *a) {
  lua_createtable(L, 0, 12);       /* [+1] */
  set_text(L, "name", a->name);
  set_text(L, "type", a->text);
  set_text(L, "kind", kind_name(a->type));
  set_flag(L, "list", a->list);
  set_flag(L, "optional", a->optional);
  set_flag(L, "elem_optional", a->elem_optional);
  set_flag(L, "is_write", a->is_write);
  if (a->alias) set_text(L, "alias", a->alias);
  if (a->list_size == 0) return;
  lua_pushinteger(L, a->list_size); /* [+1] */
  lua_setfield(L, -2, "n");         /* [-1] */
}

/* [+1] */
static void push_argument(st__state *h, lua_State *L, const st_arg *a) {
  st_value value = a->default_value;
  push_type(L, a);                   /* [+1] */
  set_flag(L, "kwarg_only", a->kwarg_only);
  set_flag(L, "has_default", a->has_default);
  if (!a->has_default) return;
  st__push_value(h, L, a, &value);   /* [+1] */
  lua_setfield(L, -2, "default");    /* [-1] */
}

/* -- Schemas ------------------------------------------------------------- */

/* Pushes the schema as a table. [+1] */
static void push_schema(st__state *h, lua_State *L, const st_schema *s) {
  char signature[2048];
  lua_createtable(L, 0, 9);                       /* [+1] */
  set_text(L, "name", st_schema_name(s));
  set_text(L, "overload", st_schema_overload(s));
  set_text(L, "text", st_schema_text(s));
  set_text(L, "signature",
           st_schema_signature(s, signature, sizeof signature));
  set_flag(L, "is_mutable", st_schema_is_mutable(s));
  set_flag(L, "is_vararg", st_schema_is_vararg(s));
  set_flag(L, "is_varret", st_schema_is_varret(s));
  lua_createtable(L, st_schema_nargs(s), 0);      /* [+1] */
  for (int i = 0; i < st_schema_nargs(s); i++) {
    push_argument(h, L, st_schema_arg(s, i));     /* [+1] */
    lua_rawseti(L, -2, i + 1);                    /* [-1] */
  }
  lua_setfield(L, -2, "args");                    /* [-1] */
  lua_createtable(L, st_schema_nrets(s), 0);      /* [+1] */
  for (int i = 0; i < st_schema_nrets(s); i++) {
    push_type(L, st_schema_ret(s, i));            /* [+1] */
    lua_rawseti(L, -2, i + 1);                    /* [-1] */
  }
  lua_setfield(L, -2, "returns");                 /* [-1] */
}

/* schema(text [, ns]): a table. Defaults are Lua values, so a default
 * dimension is 1-based. */
static int parse_schema(lua_State *L) {
  st__state *h = st__state_of(L);
  size_t n, ns_size = 0;
  const char *text = st__check_string(h, L, 1, "text");
  const char *ns = st__opt_string(h, L, 2, "ns");
  lua_tolstring(L, 1, &n);
  if (ns) lua_tolstring(L, 2, &ns_size);
  if (ns && strlen(ns) != ns_size) {
    return st__error(h, L, ST_BAD_SCHEMA, "the namespace contains a zero "
                     "byte");
  }
  if (strlen(text) != n) {
    return st__error(h, L, ST_BAD_SCHEMA, "the schema contains a zero byte, "
                     "at position %d", (int)strlen(text) + 1);
  }
  st_schema **ud = st__newudata(h, L, ST_UD_SCHEMA, sizeof *ud);   /* [+1] */
  const st_status status = st_schema_new(text, ns, ud);
  if (status != ST_OK) {
    return st__argument_error(h, L, status, "%s", st_message());
  }
  push_schema(h, L, *ud);                                          /* [+1] */
  st_schema_release(ud);
  return 1;
}

static int release_schema(lua_State *L) {
  st_schema **ud = st__testudata(st__state_of(L), L, 1, ST_UD_SCHEMA);
  if (ud) st_schema_release(ud);
  return 0;
}

/* -- Opening ------------------------------------------------------------- */

static void fill_schema(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {
    {"__gc", release_schema}, {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
}

void st__open_schema(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"schema", parse_schema}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_SCHEMA, fill_schema);
  st__set_functions(h, L, functions);
}
