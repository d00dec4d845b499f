/* Finds the tensors that were computed from a given one, for hooks that are
 * registered after them.
 */

#include <stdlib.h>

#include "grad/grad.h"

/* A visited node; reaches: a path leads from it to the target. */
typedef struct visited {
  const st_node *node; /* NULL: free */
  bool reaches;
} visited;

/* An entry of the depth-first stack; input: the next input to visit. */
typedef struct step {
  const st_node *node;
  int input;
} step;

typedef struct walk {
  st__state *h;
  const st_node *target;
  uint64_t least;      /* lower sequence: cannot reach target */
  visited *table;      /* by address; its size is a power of two */
  size_t size, n;
  step *steps;
  size_t depth, room;
  bool has_failed;     /* an allocation failed */
} walk;

/* -- Visited nodes -------------------------------------------------------- */

static visited *find(const walk *w, const st_node *n) {
  size_t i = ((uintptr_t)n >> 4) * 0x9E3779B97F4A7C15u >> 16;
  for (;; i++) {
    visited *m = &w->table[i & (w->size - 1)];
    if (!m->node || m->node == n) return m;
  }
}

static bool grow(walk *w) {
  const walk old = *w;
  w->size = old.size ? 2 * old.size : 64;
  w->table = calloc(w->size, sizeof *w->table);
  if (!w->table) {
    *w = old;
    return false;
  }
  for (size_t i = 0; i < old.size; i++) {
    if (old.table[i].node) *find(w, old.table[i].node) = old.table[i];
  }
  free(old.table);
  return true;
}

/* The entry of n, added if new; NULL if an allocation fails. */
static visited *visit_node(walk *w, const st_node *n, bool *is_new) {
  if (2 * w->n >= w->size && !grow(w)) return NULL;
  visited *m = find(w, n);
  *is_new = !m->node;
  if (*is_new) {
    *m = (visited){n, n == w->target};
    w->n++;
  }
  return m;
}

/* -- Walking -------------------------------------------------------------- */

static bool descend(walk *w, const st_node *n) {
  if (w->depth == w->room) {
    const size_t room = w->room ? 2 * w->room : 64;
    step *steps = realloc(w->steps, room * sizeof *steps);
    if (!steps) return false;
    w->steps = steps;
    w->room = room;
  }
  w->steps[w->depth++] = (step){n, 0};
  return true;
}

/* Marks the nodes of the stack as reaching the target; the nodes above a marked
 * one are marked already. */
static void mark(walk *w) {
  for (size_t i = w->depth; i-- > 0;) {
    visited *m = find(w, w->steps[i].node);
    if (m->reaches) return;
    m->reaches = true;
  }
}

static bool visit(walk *w, const st_node *n) {
  bool is_new;
  const visited *m = visit_node(w, n, &is_new);
  if (!m) return false;
  if (m->reaches) mark(w);
  if (!is_new || m->reaches || st_node_sequence(n) <= w->least) return true;
  return descend(w, n);
}

/* True if n reaches the target. Iterative, as the graph may be deep. */
static bool reaches_target(walk *w, const st_node *n) {
  int nr;
  w->has_failed = w->has_failed || !visit(w, n);
  while (w->depth > 0 && !w->has_failed) {
    step *s = &w->steps[w->depth - 1];
    if (s->input == st_node_ninputs(s->node)) {
      w->depth--;
      continue;
    }
    const st_node *next = st_node_next(s->node, s->input++, &nr);
    if (next && !visit(w, next)) w->has_failed = true;
  }
  return !w->has_failed && find(w, n)->reaches;
}

/* -- Userdata ------------------------------------------------------------- */

static st_status find_node(st__state *h, lua_State *L, st_tensor *t,
                           st_node **out) {
  st__entry e;
  int nr;
  *out = NULL;
  const st_status status = st__begin(h, L, "register_hook", &e);
  if (status != ST_OK) return status;
  return st__end(h, L, &e, st_tensor_grad_fn(t, out, &nr));
}

/* A view whose elements were written gets its new node now, so that no node is
 * added or removed during the search. A failure here is raised when the node
 * is used. */
static void refresh(lua_State *L, st__tensor_ud *ud, void *ctx) {
  const walk *w = ctx;
  st_node *n;
  if (!st_tensor_requires_grad(ud->t) || !st_tensor_base(ud->t)) return;
  if (find_node(w->h, L, ud->t, &n) == ST_OK) st_node_release(&n);
}

static void add_env_if(lua_State *L, st__tensor_ud *ud, void *ctx) {
  walk *w = ctx;
  st_node *n;
  const int at = lua_gettop(L);
  if (w->has_failed) return;
  if (find_node(w->h, L, ud->t, &n) != ST_OK) return;
  const bool is_later = n ? reaches_target(w, n)
                          : st_node_leaf(w->target) == ud->t;
  st_node_release(&n);
  if (!is_later) return;
  lua_pushvalue(L, 2);                                /* [+1] */
  st__env_add(w->h, L, at);                           /* [-1] */
}

static void add_node_env_if(lua_State *L, st__tensor_ud *ud, void *ctx) {
  walk *w = ctx;
  const st_node *n = ((const st__node_ud *)ud)->n;
  const int at = lua_gettop(L);
  if (w->has_failed || !n || !reaches_target(w, n)) return;
  lua_pushvalue(L, 2);                                /* [+1] */
  st__env_add(w->h, L, at);                           /* [-1] */
}

/* Arguments: the walk, the environment. */
static int add_env_all(lua_State *L) {
  walk *w = lua_touserdata(L, 1);
  st__each_tensor_ud(w->h, L, refresh, w);
  st__each_tensor_ud(w->h, L, add_env_if, w);
  st__each_node_ud(w->h, L, add_node_env_if, w);
  return 0;
}

st_status st__node_of(st__state *h, lua_State *L, st_tensor *t,
                      st_node **out) {
  const st_status status = find_node(h, L, t, out);
  return status == ST_OK && !*out ? st_tensor_accumulator(t, out) : status;
}

void st__env_add_downstream(st__state *h, lua_State *L, const st_node *target) {
  walk w = {.h = h, .target = target};
  if (!st_node_leaf(target)) w.least = st_node_sequence(target);
  lua_pushcfunction(L, add_env_all);                  /* [+1] */
  lua_insert(L, -2);
  lua_pushlightuserdata(L, &w);                       /* [+1] */
  lua_insert(L, -2);
  const int failed = st__pcall_c(h, L, 2, 0, 0);      /* [-3, +0|1] */
  free(w.table);
  free(w.steps);
  if (failed) lua_error(L);
  if (w.has_failed) st__error(h, L, ST_NO_MEMORY, "out of memory");
}
