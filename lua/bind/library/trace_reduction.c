/* Custom reductions in Lua: each part (map, combine, final) is traced with the
 * arguments that it receives.
 */

#include <stdio.h>
#include <string.h>

#include "library/library.h"

/* -- Schemas of parts ----------------------------------------------------- */

/* The operator's schema, split into the arguments of its parts' schemas. */
typedef struct schema_parts {
  char name[128];
  char tensors[1024], numbers[1024]; /* arguments, each with ", " in front */
  int ntensors, nnumbers;
  bool is_full;
} schema_parts;

static void append(schema_parts *p, char *to, size_t size, const char *type,
                   const char *name) {
  const size_t n = strlen(to);
  const int more = snprintf(to + n, size - n, ", %s %s", type, name);
  if (more < 0 || (size_t)more >= size - n) p->is_full = true;
}

/* Parts do not receive dim and keepdim. */
static st_status read_schema(const char *text, const char *ns,
                             schema_parts *p) {
  st_schema *s = NULL;
  *p = (schema_parts){.ntensors = 0};
  const st_status status = st_schema_new(text, ns, &s);
  if (status != ST_OK) return status;
  p->is_full = strlen(st_schema_name(s)) >= sizeof p->name;
  snprintf(p->name, sizeof p->name, "%s", st_schema_name(s));
  for (int i = 0; i < st_schema_nargs(s); i++) {
    const st_arg *arg = st_schema_arg(s, i);
    if (!strcmp(arg->name, "dim") || !strcmp(arg->name, "keepdim")) continue;
    if (arg->type == ST_TYPE_TENSOR) {
      append(p, p->tensors, sizeof p->tensors, arg->text, arg->name);
      p->ntensors++;
    } else {
      append(p, p->numbers, sizeof p->numbers, arg->text, arg->name);
      p->nnumbers++;
    }
  }
  st_schema_release(&s);
  return p->is_full ? st_fail(ST_BAD_SCHEMA, "too many arguments") : ST_OK;
}

static const char *skip_comma(const char *s) { return *s ? s + 2 : s; }

/* Appends "a", or "a1", "a2", ... if n > 1. */
static void list_values(schema_parts *p, char *to, size_t size,
                        const char *name, int n) {
  char numbered[16];
  for (int i = 1; i <= n; i++) {
    snprintf(numbered, sizeof numbered, n > 1 ? "%s%d" : "%s", name, i);
    append(p, to, size, "Tensor", numbered);
  }
}

/* [+1] */
static void push_schema(lua_State *L, const schema_parts *p, const char *values,
                        const char *numbers) {
  const char *first = *values ? values : numbers;
  lua_pushfstring(L, "%s(%s%s) -> Tensor", p->name, skip_comma(first),
                  *values ? numbers : "");
}

static void push_map(lua_State *L, const schema_parts *p) {
  push_schema(L, p, p->tensors, p->numbers);
}

static void push_combine(lua_State *L, schema_parts *p, int n) {
  char values[256] = "";
  list_values(p, values, sizeof values, "a", n);
  list_values(p, values, sizeof values, "b", n);
  push_schema(L, p, values, "");
}

static void push_final(lua_State *L, schema_parts *p, int n) {
  char values[256] = "";
  list_values(p, values, sizeof values, "acc", n);
  append(p, values, sizeof values, "int", "n");
  push_schema(L, p, values, p->numbers);
}

/* -- Graphs --------------------------------------------------------------- */

typedef struct graphs { st_graph *map, *combine, *final; } graphs;

static int release_graphs(lua_State *L) {
  graphs *g = lua_touserdata(L, 1);
  st_graph_release(&g->map);
  st_graph_release(&g->combine);
  st_graph_release(&g->final);
  return 0;
}

/* A userdata whose finalizer releases the graphs. [+1] */
static graphs *new_graphs(lua_State *L) {
  graphs *g = lua_newuserdata(L, sizeof *g);             /* [+1] */
  *g = (graphs){NULL, NULL, NULL};
  lua_createtable(L, 0, 1);                              /* [+1] */
  lua_pushcfunction(L, release_graphs);                  /* [+1] */
  lua_setfield(L, -2, "__gc");                           /* [-1] */
  lua_setmetatable(L, -2);                               /* [-1] */
  return g;
}

/* A graph that returns its first n arguments. */
static st_status identity(const char *name, int n, int nnumbers,
                          st_graph **out) {
  const st_tracing_config c = {name, n, nnumbers, NULL, NULL};
  st_tensor *outs[ST_MAX_ARGS];
  st_tracing *t = NULL;
  const st_status status = st_tracing_begin(&c, &t);
  if (status != ST_OK) return status;
  for (int i = 0; i < n; i++) outs[i] = st_tracing_input(t, i);
  return st_tracing_end(&t, n, outs, out);
}

/* Traces the option `key` of the table at idx with the schema at the top; NULL
 * if it is not set. [-1] */
static st_graph *trace(st__state *h, lua_State *L, int idx, const char *key,
                       const char *ns) {
  st_graph *g = NULL;
  const int schema = lua_gettop(L);
  st__get_field(h, L, idx, key);                         /* [+1] */
  if (!lua_isnil(L, -1)) {
    st__push_argument_names(h, L, lua_tostring(L, schema), ns); /* [+1] */
    st__compile_expression(L, h, schema + 1);            /* [-1] */
    st__check_callable(h, L, schema + 1, key);
    g = st__trace_body(h, L, lua_tostring(L, schema), ns, schema + 1);
  }
  lua_settop(L, schema - 1);
  return g;
}

static void trace_all(st__state *h, lua_State *L, int idx, schema_parts *p,
                      const char *ns, graphs *g) {
  st_status status = ST_OK;
  push_map(L, p);                                        /* [+1] */
  g->map = trace(h, L, idx, "map", ns);                  /* [-1] */
  if (!g->map && p->ntensors != 1) {
    st__error(h, L, ST_BAD_VALUE, "reduction: %s takes %d tensors, so it "
              "needs the option 'map'", p->name, p->ntensors);
  }
  if (!g->map) status = identity(p->name, 1, p->nnumbers, &g->map);
  if (status != ST_OK) st__raise(h, L, status);
  const int n = st_graph_noutputs(g->map);
  push_combine(L, p, n);                                 /* [+1] */
  g->combine = trace(h, L, idx, "combine", ns);          /* [-1] */
  if (!g->combine) {
    st__error(h, L, ST_BAD_VALUE, "reduction: %s needs the option "
              "'combine'", p->name);
  }
  push_final(L, p, n);                                   /* [+1] */
  g->final = trace(h, L, idx, "final", ns);              /* [-1] */
  if (!g->final) status = identity(p->name, n, p->nnumbers + 1, &g->final);
  if (status != ST_OK) st__raise(h, L, status);
}

/* -- Options -------------------------------------------------------------- */

static void check_names(st__state *h, lua_State *L, int idx) {
  static const char *const names[] = {"map", "combine", "init", "final",
                                      "doc", NULL};
  lua_pushnil(L);                                        /* [+1] */
  while (lua_next(L, idx)) {                             /* [-1, +2] */
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                      : "?";
    int k = 0;
    while (names[k] && strcmp(names[k], name) != 0) k++;
    if (!names[k]) {
      st__unknown_option(h, L, "reduction", name, names);
    }
    lua_pop(L, 1);                                       /* [-1] */
  }
}

static void read_number(st__state *h, lua_State *L, st_custom_reduction *f) {
  const int most = sizeof f->init / sizeof *f->init;
  if (f->ninit == most) {
    st__error(h, L, ST_BAD_VALUE, "reduction: init has more than %d numbers",
              most);
  }
  st_scalar *init = &f->init[f->ninit++];
  if (!st__to_scalar(h, L, lua_gettop(L), init)) {
    st__error(h, L, ST_BAD_TYPE, "reduction: init must be a number or a "
              "list of numbers, got %s", st__type_name(h, L, -1));
  }
  if (st__is_minus_zero(L, -1)) *init = st__minus_zero;
}

/* Reads init: a number, a list of numbers, or nil. */
static void read_init(st__state *h, lua_State *L, int idx,
                      st_custom_reduction *f) {
  st__get_field(h, L, idx, "init");                      /* [+1] */
  const int n = lua_istable(L, -1) ? (int)lua_objlen(L, -1) : 0;
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);                               /* [+1] */
    read_number(h, L, f);
    lua_pop(L, 1);                                       /* [-1] */
  }
  if (!lua_istable(L, -1) && !lua_isnil(L, -1)) read_number(h, L, f);
  lua_pop(L, 1);                                         /* [-1] */
}

void st__trace_reduction(st__state *h, lua_State *L, const char *ns, int idx,
                         st_custom_reduction *f) {
  schema_parts p;
  if (lua_type(L, idx) != LUA_TTABLE) {
    st__error(h, L, ST_BAD_TYPE, "reduction: the options must be a table, "
              "got %s", st__type_name(h, L, idx));
  }
  check_names(h, L, idx);
  read_init(h, L, idx, f);
  const st_status status = read_schema(f->schema, ns, &p);
  if (status != ST_OK) st__raise(h, L, status);
  st__get_field(h, L, idx, "doc");                       /* [+1] */
  f->doc = luaL_optstring(L, -1, "");
  graphs *g = new_graphs(L);                             /* [+1] */
  trace_all(h, L, idx, &p, ns, g);
  f->map = g->map;
  f->combine = g->combine;
  f->final = g->final;
}

void st__end_reduction(lua_State *L) {
  lua_pushcfunction(L, release_graphs);                  /* [+1] */
  lua_pushvalue(L, -2);                                  /* [+1] */
  st__call_c(L, 1, 0);                                   /* [-2] */
  lua_pop(L, 2);                                         /* [-2] */
}
