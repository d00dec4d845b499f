/* Symbolic tracing: a Lua function called with proxies and symbolic numbers
 * becomes a graph.
 *
 * A symbolic number is a userdata with its own arithmetic metamethods. An
 * operation with a tensor calls the operator; a comparison raises.
 */

#include <stdio.h>
#include <string.h>

#include "library/library.h"

struct st__tracer {
  uint64_t traces;     /* started so far */
  int compiler_ref;    /* compiles an expression to a function */
};

/* -- Symbolic numbers ----------------------------------------------------- */

static void push_sym_scalar(st__state *h, lua_State *L, int at,
                            st_scalar_kind kind) {
  st__sym_scalar *n = st__newudata(h, L, ST_UD_SYM_SCALAR,
                                   sizeof *n); /* [+1] */
  n->trace = h->trace;
  n->at = at;
  n->kind = kind;
}

/* Reads the symbolic number at idx; a Lua number becomes a constant of the
 * trace. */
static st_status to_sym_scalar(st__state *h, lua_State *L, int idx, int *at,
                               st_scalar_kind *kind) {
  st_scalar s;
  if (st__to_sym_scalar(h, L, idx, at, &s)) {
    *kind = s.kind;
    return ST_OK;
  }
  if (!h->tracing || !st__to_scalar(h, L, idx, &s) ||
      s.kind == ST_SCALAR_COMPLEX) {
    return st_fail(ST_BAD_TYPE, "no arithmetic with a symbolic number and %s",
                   st__type_name(h, L, idx));
  }
  *kind = s.kind;
  if (!st__is_minus_zero(L, idx)) {
    return st_tracing_number(h->tracing, 'c', 0, 0, s, at);
  }
  return st_tracing_number(h->tracing, 'z', 0, 0, st__minus_zero, at);
}

static st_scalar_kind kind_of(char sign, st_scalar_kind a,
                              st_scalar_kind b) {
  const bool stays = a != ST_SCALAR_FLOAT && b != ST_SCALAR_FLOAT &&
                     strchr("+-*n", sign) != NULL;
  return stays ? ST_SCALAR_INT : ST_SCALAR_FLOAT;
}

static int arithmetic_with(lua_State *L, char sign) {
  static const st_scalar none = {ST_SCALAR_INT, {.i = 0}};
  st__state *h = st__state_of(L);
  st_scalar_kind a = ST_SCALAR_INT, b = ST_SCALAR_INT;
  int x = 0, y = 0, at = 0;
  st_status status = to_sym_scalar(h, L, 1, &x, &a);
  if (status == ST_OK) status = to_sym_scalar(h, L, 2, &y, &b);
  if (status == ST_OK) {
    status = st_tracing_number(h->tracing, sign, x, y, none, &at);
  }
  if (status != ST_OK) return st__raise(h, L, status);
  push_sym_scalar(h, L, at, kind_of(sign, a, b));        /* [+1] */
  return 1;
}

static int number_arithmetic(lua_State *L) {
  if (st__call_arithmetic(st__state_of(L), L)) return 1;  /* [-2, +1] */
  return arithmetic_with(L, st__sign(L));
}

static int number_negate(lua_State *L) {
  lua_settop(L, 1);
  lua_pushvalue(L, 1);                                   /* [+1] */
  return arithmetic_with(L, 'n');
}

static int number_compare(lua_State *L) {
  return st__error(st__state_of(L), L, ST_BAD_STATE, "a symbolic number has "
                   "no value while a function is traced: it cannot be "
                   "compared");
}

static int number_tostring(lua_State *L) {
  const st__sym_scalar *n = st__checkudata(st__state_of(L), L, 1,
                                           ST_UD_SYM_SCALAR, "self");
  lua_pushfstring(L, "symbolic number %d", n->at + 1);   /* [+1] */
  return 1;
}

/* -- Expressions ---------------------------------------------------------- */

/* set_compiler(fn): fn(text, names) compiles an expression to a function */
static int set_compiler(lua_State *L) {
  st__tracer *tracer = st__state_of(L)->tracer;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  tracer->compiler_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
  return 0;
}

void st__compile_expression(lua_State *L, st__state *h, int idx) {
  if (lua_type(L, idx) != LUA_TSTRING) {
    lua_pop(L, 1);                                       /* [-1] */
    return;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->tracer->compiler_ref);    /* [+1] */
  lua_pushvalue(L, idx);                                 /* [+1] */
  lua_pushvalue(L, -3);                                  /* [+1] */
  st__call_out(h, L, "expression", 2, 1);                /* [-3, +1] */
  lua_replace(L, idx);                                   /* [-1] */
  lua_pop(L, 1);                                         /* [-1] */
}

typedef struct names {
  int n;
  char text[ST_MAX_ARGS][64];
} names;

static st_status read_names(const char *schema, const char *ns, names *out) {
  st_schema *s = NULL;
  const st_status status = st_schema_new(schema, ns, &s);
  if (status != ST_OK) return status;
  out->n = st_schema_nargs(s);
  for (int i = 0; i < out->n; i++) {
    snprintf(out->text[i], sizeof out->text[i], "%s",
             st_schema_arg(s, i)->name);
  }
  st_schema_release(&s);
  return ST_OK;
}

void st__push_argument_names(st__state *h, lua_State *L, const char *schema,
                             const char *ns) {
  names list;
  const st_status status = read_names(schema, ns, &list);
  if (status != ST_OK) st__raise(h, L, status);
  lua_createtable(L, list.n, 0);                         /* [+1] */
  for (int i = 0; i < list.n; i++) {
    lua_pushstring(L, list.text[i]);                     /* [+1] */
    lua_rawseti(L, -2, i + 1);                           /* [-1] */
  }
}

/* -- Tracing -------------------------------------------------------------- */

typedef struct trace_state {
  st__state *h;
  lua_State *L;
  st_tracing *t;
  int nargs, ninputs, nnumbers;
  st_type kinds[ST_MAX_ARGS];
  char name[128];
} trace_state;

static st_scalar_kind kind_of_type(st_type type) {
  return type == ST_TYPE_INT ? ST_SCALAR_INT
       : type == ST_TYPE_BOOL ? ST_SCALAR_BOOL : ST_SCALAR_FLOAT;
}

static void push_proxy(const trace_state *b, lua_State *L, int i) {
  st__tensor_ud *ud = st__new_tensor_ud(b->h, L);        /* [+1] */
  ud->t = st_tracing_input(b->t, i);
  st_tensor_retain(ud->t);
}

/* run_traced(state, fn): returns the results of fn for proxies */
static int run_traced(lua_State *L) {
  const trace_state *b = lua_touserdata(L, 1);
  int tensors = 0, numbers = 0;
  luaL_checkstack(L, b->nargs + LUA_MINSTACK, "arguments");
  for (int i = 0; i < b->nargs; i++) {
    if (b->kinds[i] == ST_TYPE_TENSOR) push_proxy(b, L, tensors++);
    else push_sym_scalar(b->h, L, numbers++, kind_of_type(b->kinds[i]));
  }                                                      /* [+nargs] */
  st__call_c(L, b->nargs, LUA_MULTRET);                  /* [-nargs-1, +n] */
  return lua_gettop(L) - 1;
}

static st_status read_schema(const char *text, const char *ns, trace_state *b) {
  st_schema *s = NULL;
  const st_status parsed = st_schema_new(text, ns, &s);
  if (parsed != ST_OK) return parsed;
  const st_status status = st_graph_arguments(s, &b->ninputs, &b->nnumbers);
  b->nargs = st_schema_nargs(s);
  for (int i = 0; i < b->nargs; i++) b->kinds[i] = st_schema_arg(s, i)->type;
  strncat(strcpy(b->name, ""), st_schema_name(s), sizeof b->name - 1);
  st_schema_release(&s);
  return status;
}

static void write_where(void *ctx, char *text, size_t size) {
  const trace_state *b = ctx;
  st__where(b->h, b->h->running, text, size);
}

/* Reads the n results at the top; returns false with the message set if one is
 * not a tensor. */
static bool read_results(st__state *h, lua_State *L, const trace_state *b,
                         int n, st_tensor **out) {
  const int first = lua_gettop(L) - n + 1;
  for (int i = 0; i < n && i < ST_MAX_ARGS; i++) {
    out[i] = st__to_tensor(h, L, first + i);
    if (out[i]) continue;
    st_fail(ST_BAD_TYPE, "%s: result %d of its body is %s, not a tensor",
            b->name, i + 1, st__type_name(h, L, first + i));
    return false;
  }
  return true;
}

/* The active trace of a binding state; saved and restored around a body. */
typedef struct live_trace { st_tracing *tracing; uint64_t trace; } live_trace;

static live_trace begin(st__state *h, trace_state *b) {
  const live_trace outer = {h->tracing, h->trace};
  h->tracing = b->t;
  h->trace = ++h->tracer->traces;
  return outer;
}

st_graph *st__trace_body(st__state *h, lua_State *L, const char *schema,
                         const char *ns, int fn) {
  trace_state b = {.h = h, .L = L};
  st_tensor *outs[ST_MAX_ARGS];
  st_graph *g = NULL;
  st__check_body(h, L, "trace");
  st_status status = read_schema(schema, ns, &b);
  const int base = lua_gettop(L);
  const st_tracing_config c = {b.name, b.ninputs, b.nnumbers, write_where, &b};
  lua_pushcfunction(L, run_traced);                      /* [+1] */
  lua_pushlightuserdata(L, &b);                          /* [+1] */
  lua_pushvalue(L, fn);                                  /* [+1] */
  if (status == ST_OK) status = st_tracing_begin(&c, &b.t);
  if (status != ST_OK) st__raise(h, L, status);
  const live_trace outer = begin(h, &b);
  const int failed = st__run_body(h, L, 2, LUA_MULTRET); /* [-3, +n|1] */
  h->tracing = outer.tracing;
  h->trace = outer.trace;
  const int n = lua_gettop(L) - base;
  if (failed || !read_results(h, L, &b, n, outs)) {
    st_tracing_end(&b.t, 0, NULL, NULL);
    if (failed) lua_error(L);
    st__raise(h, L, ST_BAD_TYPE);
  }
  status = st_tracing_end(&b.t, n, outs, &g);
  if (status != ST_OK) st__raise(h, L, status);
  lua_settop(L, base);
  return g;
}

/* -- Machine code --------------------------------------------------------- */

/* is_jit_enabled(): returns true if programs are compiled to machine code */
static int is_jit_enabled(lua_State *L) {
  lua_pushboolean(L, st_is_jit_enabled());                 /* [+1] */
  return 1;
}

/* set_jit_enabled(flag): returns the previous setting */
static int set_jit_enabled(lua_State *L) {
  luaL_checktype(L, 1, LUA_TBOOLEAN);
  lua_pushboolean(L, st_set_jit_enabled(lua_toboolean(L, 1))); /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_sym_scalar(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {
    {"__tostring", number_tostring}, {"__unm", number_negate},
    {"__lt", number_compare}, {"__le", number_compare},
    {"__eq", number_compare}, {NULL, NULL}
  };
  st__set_functions(h, L, methods);
  st__set_arithmetic(h, L, "+-*/%^", number_arithmetic);
}

void st__open_symbolic_trace(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"is_jit_enabled", is_jit_enabled}, {"set_jit_enabled", set_jit_enabled},
    {"set_compiler", set_compiler}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_SYM_SCALAR, fill_sym_scalar);
  h->tracer = st__new_part(h, L, sizeof *h->tracer, NULL);
  st__set_functions(h, L, functions);
}
