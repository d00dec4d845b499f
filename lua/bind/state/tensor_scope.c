/* Scopes: tensors that are released when a function returns, before the
 * collector finalizes them.
 *
 * Note [Tensor scopes]
 * Userdata created while a scope is the innermost one are linked into its list.
 * Those that its function returns, also in tables, move to the enclosing scope;
 * the tensors of the others are released. A userdata that outlives its scope is
 * empty, and every use of it raises. The function is called from C, so it
 * cannot yield across the scope, and scopes end in the reverse order of their
 * beginning. A finalizer unlinks its userdata, so the list has only live ones.
 * A tensor that is released cannot be a borrowed argument of a call below the
 * scope: it did not exist when that call began.
 */

#include "bind.h"

enum { DEPTH = 32 }; /* most levels of tables in results */

struct st__scope {
  st__tensor_ud head; /* head of a circular list */
  st__scope *outer;
};

/* -- Lists ---------------------------------------------------------------- */

void st__scope_enter(st__scope *s, st__tensor_ud *ud) {
  ud->prev = &s->head;
  ud->next = s->head.next;
  ud->next->prev = ud;
  s->head.next = ud;
}

void st__scope_leave(st__tensor_ud *ud) {
  if (!ud->next) return;
  ud->prev->next = ud->next;
  ud->next->prev = ud->prev;
  ud->prev = ud->next = NULL;
}

static void release_all(st__state *h, st__scope *s) {
  for (st__tensor_ud *ud; (ud = s->head.next) != &s->head;) {
    st__scope_leave(ud);
    if (ud->t) st__gc_credit(h, ud);
    st_tensor_release(&ud->t);
  }
}

/* -- Escaping results ----------------------------------------------------- */

typedef struct escape {
  st__state *h;
  st__scope *to; /* NULL: no enclosing scope */
  int seen;      /* stack index: the set of visited tables */
} escape;

/* Adds the table at idx to the visited ones; returns false if it was there. */
static bool is_new(escape *k, lua_State *L, int idx) {
  luaL_checkstack(L, 8, "results");
  lua_pushvalue(L, idx);            /* [+1] */
  lua_rawget(L, k->seen);           /* [-1, +1] */
  const bool found = !lua_isnil(L, -1);
  lua_pop(L, 1);                    /* [-1] */
  if (found) return false;
  lua_pushvalue(L, idx);            /* [+1] */
  lua_pushboolean(L, 1);            /* [+1] */
  lua_rawset(L, k->seen);           /* [-2] */
  return true;
}

/* Keeps the value at idx and, for a table, its keys and values. */
static void keep(escape *k, lua_State *L, int idx, int depth) {
  st__tensor_ud *ud = st__testudata(k->h, L, idx, ST_UD_TENSOR);
  if (ud && ud->next) {
    st__scope_leave(ud);
    if (k->to) st__scope_enter(k->to, ud);
  }
  if (!lua_istable(L, idx) || depth == DEPTH || !is_new(k, L, idx)) return;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) { /* [+2, -1] */
    keep(k, L, lua_gettop(L), depth + 1);
    keep(k, L, lua_gettop(L) - 1, depth + 1);
  }
}

/* Arguments: the escape, the results. */
static int escape_results(lua_State *L) {
  escape *k = lua_touserdata(L, 1);
  const int n = lua_gettop(L);
  lua_newtable(L);                  /* [+1] */
  k->seen = n + 1;
  for (int i = 2; i <= n; i++) keep(k, L, i, 0);
  return 0;
}

/* Moves the n values at the top of the stack, and the values in their tables,
 * out of the innermost scope. If memory runs out, it returns an error status
 * with the message at the top. [+0|1] */
static int escape_top(st__state *h, lua_State *L, int n, st__scope *to) {
  escape k = {.h = h, .to = to};
  const int first = lua_gettop(L) - n + 1;
  if (!lua_checkstack(L, n + 2)) {
    lua_pushliteral(L, "too many results");       /* [+1] */
    return LUA_ERRRUN;
  }
  lua_pushcfunction(L, escape_results);           /* [+1] */
  lua_pushlightuserdata(L, &k);                   /* [+1] */
  for (int i = 0; i < n; i++) lua_pushvalue(L, first + i); /* [+1] */
  return st__pcall_c(h, L, n + 1, 0, 0);          /* [-(n + 2), +0|1] */
}

/* -- Functions ------------------------------------------------------------ */

/* scope(body, ...): returns what body(...) returns */
static int scope(lua_State *L) {
  st__state *h = st__state_of(L);
  if (!lua_isfunction(L, 1)) {
    return st__error(h, L, ST_BAD_TYPE, "scope: argument 'body' must be a "
                     "function, got %s", st__type_name(h, L, 1));
  }
  st__check_body(h, L, "scope");
  st__scope s = {.outer = h->scope};
  s.head.prev = s.head.next = &s.head;
  h->scope = &s;
  int status = st__run_body(h, L, lua_gettop(L) - 1, LUA_MULTRET);
  h->scope = s.outer;
  if (status == 0) status = escape_top(h, L, lua_gettop(L), s.outer);
  release_all(h, &s);
  return status == 0 ? lua_gettop(L) : lua_error(L);
}

/* keep(...): returns its arguments; the innermost scope does not release
 * them */
static int keep_out(lua_State *L) {
  st__state *h = st__state_of(L);
  if (!h->scope) return lua_gettop(L);
  if (escape_top(h, L, lua_gettop(L), h->scope->outer) != 0) lua_error(L);
  return lua_gettop(L);
}

void st__open_scope(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"keep", keep_out}, {NULL, NULL}
  };
  static const luaL_Reg runners[] = {{"scope", scope}, {NULL, NULL}};
  st__set_functions(h, L, functions);
  st__set_body_functions(h, L, runners);
}
