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

#include <stdlib.h>

#include "value/value.h"

enum { DEPTH = 32 }; /* most levels of tables in results */

/* The head of a scope's list is a link without userdata. */
struct st__scope {
  unsigned head;
  st__scope *outer;
};

typedef struct scope_link {
  st__tensor_ud *ud;    /* NULL: the head of a list, or free */
  unsigned prev, next;
} scope_link;

/* The links of all scopes, in lists by index. */
struct st__scopes {
  scope_link *at;              /* owned; link 0 is unused */
  unsigned n, room, free;      /* in use or free; allocated; first free or 0 */
};

/* -- Lists ---------------------------------------------------------------- */

/* A link that is in no list; 0 without memory. */
static unsigned take_link(st__scopes *a) {
  const unsigned i = a->free;
  if (i) {
    a->free = a->at[i].next;
    return i;
  }
  if (a->n == a->room) {
    const unsigned room = a->room ? 2 * a->room : 256;
    scope_link *at = room > a->room ? realloc(a->at, room * sizeof *at)
                                        : NULL;
    if (!at) return 0;
    a->at = at;
    a->n += a->room == 0; /* link 0 */
    a->room = room;
  }
  return a->n++;
}

static void give_back(st__scopes *a, unsigned i) {
  a->at[i] = (scope_link){.next = a->free};
  a->free = i;
}

static void link_after(st__scopes *a, unsigned head, unsigned i) {
  const unsigned next = a->at[head].next;
  a->at[i].prev = head;
  a->at[i].next = next;
  a->at[next].prev = a->at[head].next = i;
}

void st__scope_enter(st__state *h, lua_State *L, st__scope *s,
                     st__tensor_ud *ud) {
  const unsigned i = take_link(h->scopes);
  if (!i) st__error(h, L, ST_NO_MEMORY, "out of memory");
  h->scopes->at[i].ud = ud;
  link_after(h->scopes, s->head, i);
  ud->scoped = i;
}

void st__scope_leave(st__state *h, st__tensor_ud *ud) {
  st__scopes *a = h->scopes;
  const unsigned i = ud->scoped;
  if (!i) return;
  a->at[a->at[i].prev].next = a->at[i].next;
  a->at[a->at[i].next].prev = a->at[i].prev;
  give_back(a, i);
  ud->scoped = 0;
}

static void release_all(st__state *h, st__scope *s) {
  const st__scopes *a = h->scopes;
  for (unsigned i; (i = a->at[s->head].next) != s->head;) {
    st__tensor_ud *ud = a->at[i].ud;
    st__scope_leave(h, ud);
    if (ud->t) st__gc_credit(h, ud);
    st_tensor_release(&ud->t);
  }
  give_back(h->scopes, s->head);
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
  if (ud && ud->scoped) {
    st__scope_leave(k->h, ud);
    if (k->to) st__scope_enter(k->h, L, k->to, ud);
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
  st__check_callable(h, L, 1, "body");
  st__check_body(h, L, "scope");
  st__scope s = {take_link(h->scopes), h->scope};
  if (!s.head) return st__error(h, L, ST_NO_MEMORY, "scope: out of memory");
  h->scopes->at[s.head] = (scope_link){NULL, s.head, s.head};
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

/* keep_from_all(...): the same of all scopes, for what an object keeps that is
 * older than the scopes */
static int keep_from_all(lua_State *L) {
  st__state *h = st__state_of(L);
  if (!h->scope) return lua_gettop(L);
  if (escape_top(h, L, lua_gettop(L), NULL) != 0) lua_error(L);
  return lua_gettop(L);
}

static void clear(void *part) { free(((st__scopes *)part)->at); }

void st__open_scope(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"keep", keep_out}, {"keep_from_all", keep_from_all}, {NULL, NULL}
  };
  static const luaL_Reg runners[] = {{"scope", scope}, {NULL, NULL}};
  h->scopes = st__new_part(h, L, sizeof *h->scopes, clear);
  st__set_functions(h, L, functions);
  st__set_body_functions(h, L, runners);
}
