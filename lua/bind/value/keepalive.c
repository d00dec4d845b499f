/* Environments that keep the Lua functions of gradients alive: Note [Keeping
 * gradient functions alive].
 */

#include <stdlib.h>

#include "value/value.h"
#include "state/hook_error.h"

struct st__keepalive {
  int values_ref;      /* Lua values by number, a weak table */
  double last;         /* the last number used in it */
  int tracked_ref;     /* tracked userdata by slot, a weak table */
  int *free_slots;     /* room for all slots */
  int nslots, nfree, room;
  int count;           /* userdata with an environment */
  int pass_ref;        /* environment of the running backward pass */
  int enter_ref;       /* function that finds a call's environment */
  bool has_pass;
};

bool st__any_env(const st__state *h) { return h->keepalive->count > 0; }

/* -- Weak numbers --------------------------------------------------------- */

static void push_slot(lua_State *L, int ref) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);             /* [+1] */
}

double st__weak_put(st__state *h, lua_State *L, int idx) {
  const double number = ++h->keepalive->last;
  lua_pushvalue(L, idx);                              /* [+1] */
  push_slot(L, h->keepalive->values_ref);              /* [+1] */
  lua_pushnumber(L, number);                          /* [+1] */
  lua_pushvalue(L, -3);                               /* [+1] */
  lua_rawset(L, -3);                                  /* [-2] */
  lua_pop(L, 2);                                      /* [-2] */
  return number;
}

void st__weak_push(st__state *h, lua_State *L, double number) {
  push_slot(L, h->keepalive->values_ref);              /* [+1] */
  lua_pushnumber(L, number);                          /* [+1] */
  lua_rawget(L, -2);                                  /* [-1, +1] */
  lua_remove(L, -2);                                  /* [-1] */
}

void *st__weak_ref_new(st__state *h, lua_State *L, int idx, size_t size) {
  const double number = st__weak_put(h, L, idx);
  st__weak_ref *a = st_limits_realloc(NULL, size);
  if (!a) {
    st__error(h, L, ST_NO_MEMORY, "%s", st_message());
    return NULL;
  }
  memset(a, 0, size);
  *a = (st__weak_ref){h, number};
  atomic_fetch_add(&h->refs, 1);
  return a;
}

void st__weak_ref_free(void *block) {
  st__weak_ref *a = block;
  st__state *h = a->h;
  st_limits_free(a);
  st__state_release(h);
}

st_status st__weak_ref_check(const st__weak_ref *a, const char *what) {
  if (st__current_state() == a->h) return ST_OK;
  return st_fail(ST_BAD_STATE, "%s is a function of a Lua state that is not "
                 "running on this thread", what);
}

/* -- Environments --------------------------------------------------------- */

enum { MAX_COPIED = 16 }; /* most nested environments to copy */

/* True if the environment at index b is, or is nested in, that at index a. */
static bool has_env(lua_State *L, int a, int b) {
  if (lua_rawequal(L, a, b)) return true;
  lua_pushvalue(L, b);                                /* [+1] */
  lua_rawget(L, a);                                   /* [-1, +1] */
  const bool found = lua_toboolean(L, -1);
  lua_pop(L, 1);                                      /* [-1] */
  return found;
}

/* Adds the environment at idx, and at most MAX_COPIED of those nested in it, to
 * the one at the top. */
static void add_parts(lua_State *L, int idx) {
  const int top = lua_gettop(L);
  int n = 0;
  lua_pushvalue(L, idx);                              /* [+1] */
  lua_pushboolean(L, 1);                              /* [+1] */
  lua_rawset(L, top);                                 /* [-2] */
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) { /* [+2, -1] */
    if (!lua_istable(L, -2)) continue;
    if (++n > MAX_COPIED) {
      lua_pop(L, 2);                                  /* [-2] */
      break;
    }
    lua_pushvalue(L, -2);                             /* [+1] */
    lua_pushboolean(L, 1);                            /* [+1] */
    lua_rawset(L, top);                               /* [-2] */
  }
}

/* A loop that records from the same few tensors merges the same environments
 * again: if one contains the other, it is the result. */
void st__env_merge(lua_State *L) {
  const int b = lua_gettop(L), a = b - 1;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (has_env(L, b, a)) {
    lua_remove(L, a);                                 /* [-1] */
  } else if (has_env(L, a, b)) {
    lua_pop(L, 1);                                    /* [-1] */
  } else {
    lua_createtable(L, 0, 4);                         /* [+1] */
    add_parts(L, a);
    add_parts(L, b);
    lua_replace(L, a);                                /* [-1] */
    lua_pop(L, 1);                                    /* [-1] */
  }
}

/* The environment of the userdata at idx; a new table if a script has replaced
 * it by another type. [+1] */
static void push_env(lua_State *L, int idx) {
  st__get_env(L, idx);                                /* [+1] */
  if (lua_istable(L, -1)) return;
  lua_pop(L, 1);                                      /* [-1] */
  lua_newtable(L);                                    /* [+1] */
}

/* Adds the environment at the top to the userdata at idx; returns false if it
 * was there already. [-1] */
static bool attach(st__state *h, lua_State *L, int idx) {
  st__tensor_ud *ud = lua_touserdata(L, idx);
  if (ud->has_keepalive) {
    push_env(L, idx);                                 /* [+1] */
    lua_insert(L, -2);
    if (has_env(L, lua_gettop(L) - 1, lua_gettop(L))) {
      lua_pop(L, 2);                                  /* [-2] */
      return false;
    }
    st__env_merge(L);                                 /* [-1] */
  }
  st__set_env(L, idx);                                /* [-1] */
  h->keepalive->count += !ud->has_keepalive;
  ud->has_keepalive = true;
  return true;
}

void st__env_add(st__state *h, lua_State *L, int idx) {
  attach(h, L, idx);                                  /* [-1] */
}

/* -- Tracked userdata ----------------------------------------------------- */

/* Grows the free list before a slot is taken: finalizers return slots and
 * cannot allocate. */
static bool make_room(st__keepalive *a) {
  if (a->nfree > 0 || a->nslots < a->room) return true;
  const int room = a->room ? 2 * a->room : 256;
  int *slots = realloc(a->free_slots, (size_t)room * sizeof *slots);
  if (!slots) return false;
  a->free_slots = slots;
  a->room = room;
  return true;
}

void st__track_ud(st__state *h, lua_State *L, int idx) {
  st__keepalive *a = h->keepalive;
  st__tensor_ud *ud = lua_touserdata(L, idx);
  if (ud->slot) return;
  if (!make_room(a)) st__error(h, L, ST_NO_MEMORY, "out of memory");
  lua_pushvalue(L, idx);                              /* [+1] */
  push_slot(L, a->tracked_ref);                       /* [+1] */
  lua_insert(L, -2);
  const int slot = a->nfree ? a->free_slots[--a->nfree] : ++a->nslots;
  ud->slot = slot;
  lua_rawseti(L, -2, slot);                           /* [-1] */
  lua_pop(L, 1);                                      /* [-1] */
}

void st__untrack_ud(st__state *h, st__tensor_ud *ud) {
  st__keepalive *a = h->keepalive;
  if (ud->slot) a->free_slots[a->nfree++] = ud->slot;
  a->count -= ud->has_keepalive;
  ud->slot = 0;
  ud->has_keepalive = false;
}

static void each(st__state *h, lua_State *L, bool nodes_only,
                 void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                 void *ctx) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  push_slot(L, h->keepalive->tracked_ref);             /* [+1] */
  const int list = lua_gettop(L);
  for (int slot = 1; slot <= h->keepalive->nslots; slot++) {
    lua_rawgeti(L, list, slot);                       /* [+1] */
    st__tensor_ud *ud = lua_touserdata(L, -1);
    const bool is_match = ud && (nodes_only
      ? st__testudata(h, L, -1, ST_UD_NODE) != NULL : ud->t != NULL);
    if (is_match) fn(L, ud, ctx);
    lua_settop(L, list);                              /* [-1] */
  }
  lua_settop(L, list - 1);                            /* [-1] */
}

void st__each_tensor_ud(st__state *h, lua_State *L,
                        void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                        void *ctx) {
  each(h, L, false, fn, ctx);
}

void st__each_node_ud(st__state *h, lua_State *L,
                      void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                      void *ctx) {
  each(h, L, true, fn, ctx);
}

/* -- View families -------------------------------------------------------- */

/* A tensor and its views: writing into one of them changes the history of
 * all. */
typedef struct view_family {
  st__state *h;
  const st_tensor *root;
  int at;      /* index of an environment or a userdata */
} view_family;

static const st_tensor *root_of(const st_tensor *t) {
  const st_tensor *base = st_tensor_base(t);
  return base ? base : t;
}

/* True if t or its gradient belongs to the family. */
static bool is_member(const view_family *f, const st_tensor *t) {
  const st_tensor *grad = st_tensor_grad(t);
  return root_of(t) == f->root || (grad && root_of(grad) == f->root);
}

static void attach_member(lua_State *L, st__tensor_ud *ud, void *ctx) {
  const view_family *f = ctx;
  if (!is_member(f, ud->t)) return;
  lua_pushvalue(L, f->at);                            /* [+1] */
  attach(f->h, L, lua_gettop(L) - 1);                 /* [-1] */
}

/* Adds the environment at the top to the family of t. [-1] */
static void attach_family(st__state *h, lua_State *L, const st_tensor *t) {
  view_family f = {h, root_of(t), lua_gettop(L)};
  st__each_tensor_ud(h, L, attach_member, &f);
  lua_pop(L, 1);                                      /* [-1] */
}

static void copy_member(lua_State *L, st__tensor_ud *ud, void *ctx) {
  const view_family *f = ctx;
  if (!ud->has_keepalive || root_of(ud->t) != f->root) return;
  push_env(L, lua_gettop(L));                         /* [+1] */
  attach(f->h, L, f->at);                             /* [-1] */
}

/* The userdata at idx was untracked, so its history came through another view
 * of the same tensor: tracks it and copies their environments. */
static void find_history(st__state *h, lua_State *L, int idx) {
  const st__tensor_ud *ud = lua_touserdata(L, idx);
  view_family f = {h, root_of(ud->t), idx};
  st__track_ud(h, L, idx);
  if (h->keepalive->count > 0) st__each_tensor_ud(h, L, copy_member, &f);
}

/* -- Collecting ----------------------------------------------------------- */

/* Merges the environment of the tensor at idx, if it has one, with that at the
 * top. [+0|1] */
static bool collect_one(st__state *h, lua_State *L, int idx, bool has_one) {
  const st__tensor_ud *ud = st__testudata(h, L, idx, ST_UD_TENSOR);
  if (!ud || !ud->t || !st_tensor_requires_grad(ud->t)) return has_one;
  if (!ud->slot) find_history(h, L, idx);
  if (!ud->has_keepalive) return has_one;
  push_env(L, idx);                                   /* [+1] */
  if (has_one) st__env_merge(L);                      /* [-1] */
  return true;
}

/* For a list the merged environment stays above the current element. */
bool st__env_collect(st__state *h, lua_State *L, int idx, bool has_one) {
  if (!lua_istable(L, idx)) return collect_one(h, L, idx, has_one);
  const int n = (int)lua_objlen(L, idx);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);                           /* [+1] */
    if (has_one) lua_insert(L, -2);
    const int at = lua_gettop(L) - has_one;
    has_one = collect_one(h, L, at, has_one);         /* [+0|1] */
    lua_remove(L, at);                                /* [-1] */
  }
  return has_one;
}

bool st__env_take_returned(st__state *h, lua_State *L, bool has_one) {
  if (!h->has_returned) return has_one;
  push_slot(L, h->returned_ref);            /* [+1] */
  st__drop_returned(h, L);
  if (has_one) st__env_merge(L);                      /* [-1] */
  return true;
}

void st__env_return(st__state *h, lua_State *L, int idx) {
  if (h->keepalive->count == 0 || !st__env_collect(h, L, idx, false)) return;
  st__env_take_returned(h, L, true);                          /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->returned_ref); /* [-1] */
  h->has_returned = true;
}

void st__pass_enter(st__state *h, lua_State *L, bool has_one) {
  push_slot(L, h->keepalive->pass_ref);                /* [+1] */
  if (has_one) lua_insert(L, -2);
  else lua_pushboolean(L, 0);                         /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->keepalive->pass_ref); /* [-1] */
  h->keepalive->has_pass = has_one;
}

bool st__pass_leave(st__state *h, lua_State *L) {
  const bool had_one = h->keepalive->has_pass;
  push_slot(L, h->keepalive->pass_ref);                /* [+1] */
  lua_insert(L, -2);
  h->keepalive->has_pass = lua_toboolean(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->keepalive->pass_ref); /* [-1] */
  return had_one;
}

/* Arguments: the binding state, the arguments of a call. */
static int enter_protected(lua_State *L) {
  st__state *h = lua_touserdata(L, 1);
  const int n = lua_gettop(L);
  bool has_one = false;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  for (int i = 2; i <= n; i++) has_one = st__env_collect(h, L, i, has_one);
  if (!has_one) return 0;
  lua_rawseti(L, LUA_REGISTRYINDEX, h->keepalive->pass_ref); /* [-1] */
  h->keepalive->has_pass = true;
  return 0;
}

void st__pass_open(st__state *h, lua_State *L) {
  push_slot(L, h->keepalive->pass_ref);               /* [+1] */
  push_slot(L, h->keepalive->enter_ref);              /* [+1] */
  lua_pushlightuserdata(L, h);                        /* [+1] */
}

/* This runs during a call, so it must not raise. If memory runs out, the
 * environment is missing and a later use of its function fails with an
 * error. */
void st__pass_collect(st__state *h, lua_State *L, int nargs) {
  const int status = st__pcall_c(h, L, nargs + 1, 0, 0); /* [-n-2, +0|1] */
  if (status != 0) st__drop_lack(L, status);          /* [-1] */
}

void st__pass_leave_call(st__state *h, lua_State *L, int slot) {
  lua_pushvalue(L, slot);                             /* [+1] */
  h->keepalive->has_pass = lua_toboolean(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->keepalive->pass_ref); /* [-1] */
  lua_remove(L, slot);                                /* [-1] */
}

void st__pass_add(st__state *h, lua_State *L, int idx) {
  if (h->keepalive->count == 0 || !st__env_collect(h, L, idx, false)) return;
  if (h->keepalive->has_pass) {
    push_slot(L, h->keepalive->pass_ref);              /* [+1] */
    st__env_merge(L);                                 /* [-1] */
  }
  lua_rawseti(L, LUA_REGISTRYINDEX, h->keepalive->pass_ref); /* [-1] */
  h->keepalive->has_pass = true;
}

typedef struct search { const st_tensor *t; int at; } search;

static void match_ud(lua_State *L, st__tensor_ud *ud, void *ctx) {
  const search *s = ctx;
  if (ud->t != s->t) return;
  lua_pushvalue(L, -1);                               /* [+1] */
  lua_replace(L, s->at);                              /* [-1] */
}

bool st__push_existing(st__state *h, lua_State *L, const st_tensor *t) {
  lua_pushnil(L);                                     /* [+1] */
  search s = {t, lua_gettop(L)};
  st__each_tensor_ud(h, L, match_ud, &s);
  if (!lua_isnil(L, s.at)) return true;
  lua_pop(L, 1);                                      /* [-1] */
  return false;
}

st__tensor_ud *st__push_in_pass(st__state *h, lua_State *L, st_tensor *t) {
  st__tensor_ud *ud = st__push_tensor(h, L, t);       /* [+1] */
  if (!st_tensor_requires_grad(t)) return ud;
  st__track_ud(h, L, lua_gettop(L));
  if (h->keepalive->has_pass) {
    push_slot(L, h->keepalive->pass_ref);              /* [+1] */
    attach(h, L, lua_gettop(L) - 1);                  /* [-1] */
  }
  return ud;
}

st__tensor_ud *st__push_lent(st__state *h, lua_State *L, st_tensor *t) {
  st_lend(t);
  return st__push_in_pass(h, L, t);                   /* [+1] */
}

/* -- Inheriting ----------------------------------------------------------- */

/* Adds the environment at the top, if has_one, to the userdata at idx; returns
 * true if it is new to it. */
static bool inherit_one(st__state *h, lua_State *L, int idx, bool has_one) {
  const st__tensor_ud *ud = st__testudata(h, L, idx, ST_UD_TENSOR);
  if (!ud || !ud->t || !st_tensor_requires_grad(ud->t)) return false;
  st__track_ud(h, L, idx);
  if (!has_one) return false;
  lua_pushvalue(L, -1);                               /* [+1] */
  return attach(h, L, idx);                           /* [-1] */
}

void st__env_inherit_all(st__state *h, lua_State *L, int idx, bool has_one,
                         bool is_written) {
  if (!lua_istable(L, idx)) {
    const bool is_new = inherit_one(h, L, idx, has_one);
    if (!has_one || !is_written) return;
    const st_tensor *t = st__to_tensor(h, L, idx);
    /* The base may lack an environment that the view already has. */
    if (!t || !(is_new || st_tensor_base(t))) return;
    lua_pushvalue(L, -1);                             /* [+1] */
    attach_family(h, L, t);                           /* [-1] */
    return;
  }
  const int n = (int)lua_objlen(L, idx), env = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);                           /* [+1] */
    if (has_one) lua_pushvalue(L, env);               /* [+0|1] */
    inherit_one(h, L, env + 1, has_one);
    lua_settop(L, env);                               /* [-n] */
  }
}

void st__env_inherit_top(st__state *h, lua_State *L, int idx, bool is_written) {
  st__env_inherit_all(h, L, idx, true, is_written);
}

void st__track_source(st__state *h, lua_State *L, int idx) {
  if (st__testudata(h, L, idx, ST_UD_TENSOR)) st__track_ud(h, L, idx);
}

void st__env_inherit_from(st__state *h, lua_State *L, int idx, int source,
                          bool is_written) {
  st__track_source(h, L, source);
  bool has_one = st__any_env(h) && st__env_collect(h, L, source, false);
  has_one = st__env_take_returned(h, L, has_one);             /* [+0|1] */
  st__env_inherit_all(h, L, idx, has_one, is_written);
  if (has_one) lua_pop(L, 1);                         /* [-1] */
}

/* -- Opening -------------------------------------------------------------- */

static void clear(void *part) { free(((st__keepalive *)part)->free_slots); }

void st__open_keepalive(st__state *h, lua_State *L) {
  st__keepalive *a = st__new_part(h, L, sizeof *a, clear);
  h->keepalive = a;
  a->values_ref = st__new_weak_table(L);
  a->tracked_ref = st__new_weak_table(L);
  a->pass_ref = st__new_slot(L);
  lua_pushcfunction(L, enter_protected);              /* [+1] */
  a->enter_ref = luaL_ref(L, LUA_REGISTRYINDEX);      /* [-1] */
}
