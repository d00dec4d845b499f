/* What keeps the Lua functions alive that gradients may need: Note [Anchors].
 */

#include <stdlib.h>

#include "bind.h"

/* -- Values --------------------------------------------------------------- */

static void push_slot(lua_State *L, int ref) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);             /* [+1] */
}

double st__remember(st__host *h, lua_State *L, int idx) {
  const double number = ++h->anchors.last;
  lua_pushvalue(L, idx);                              /* [+1] */
  push_slot(L, h->anchors.values_ref);                /* [+1] */
  lua_pushnumber(L, number);                          /* [+1] */
  lua_pushvalue(L, -3);                               /* [+1] */
  lua_rawset(L, -3);                                  /* [-2] */
  lua_pop(L, 2);                                      /* [-2] */
  return number;
}

void st__push_remembered(st__host *h, lua_State *L, double number) {
  push_slot(L, h->anchors.values_ref);                /* [+1] */
  lua_pushnumber(L, number);                          /* [+1] */
  lua_rawget(L, -2);                                  /* [-1, +1] */
  lua_remove(L, -2);                                  /* [-1] */
}

void *st__anchor_new(st__host *h, lua_State *L, int idx, size_t size) {
  const double number = st__remember(h, L, idx);
  st__anchor *a = calloc(1, size);
  if (!a) {
    st__error(h, L, ST_NO_MEMORY, "out of memory");
    return NULL;
  }
  *a = (st__anchor){h, number};
  atomic_fetch_add(&h->refs, 1);
  return a;
}

void st__anchor_free(void *block) {
  st__anchor *a = block;
  st__host *h = a->h;
  free(a);
  st__host_release(h);
}

st_status st__check_anchor(const st__anchor *a, const char *what) {
  if (st__current_host() == a->h) return ST_OK;
  return st_fail(ST_BAD_STATE, "%s is a function of a Lua state that is not "
                 "running on this thread", what);
}

/* -- Environments --------------------------------------------------------- */

enum { FEW = 16 }; /* environments that are worth a copy */

/* Is the one at idx b part of that at idx a? */
static bool has(lua_State *L, int a, int b) {
  if (lua_rawequal(L, a, b)) return true;
  lua_pushvalue(L, b);                                /* [+1] */
  lua_rawget(L, a);                                   /* [-1, +1] */
  const bool found = lua_toboolean(L, -1);
  lua_pop(L, 1);                                      /* [-1] */
  return found;
}

/* Puts the environment at idx, and its parts if they are few, into the one at
 * the top. */
static void put(lua_State *L, int idx) {
  const int top = lua_gettop(L);
  int n = 0;
  lua_pushvalue(L, idx);                              /* [+1] */
  lua_pushboolean(L, 1);                              /* [+1] */
  lua_rawset(L, top);                                 /* [-2] */
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) { /* [+2, -1] */
    if (!lua_istable(L, -2)) continue;
    if (++n > FEW) {
      lua_pop(L, 2);                                  /* [-2] */
      break;
    }
    lua_pushvalue(L, -2);                             /* [+1] */
    lua_pushboolean(L, 1);                            /* [+1] */
    lua_rawset(L, top);                               /* [-2] */
  }
}

/* What a loop records from the same few tensors has their environment again:
 * one that has the other stands for both. */
void st__join(lua_State *L) {
  const int b = lua_gettop(L), a = b - 1;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (has(L, b, a)) {
    lua_remove(L, a);                                 /* [-1] */
  } else if (has(L, a, b)) {
    lua_pop(L, 1);                                    /* [-1] */
  } else {
    lua_createtable(L, 0, 4);                         /* [+1] */
    put(L, a);
    put(L, b);
    lua_replace(L, a);                                /* [-1] */
    lua_pop(L, 1);                                    /* [-1] */
  }
}

/* That of the anchored userdata at idx, unless somebody has put something else
 * in its place. [+1] */
static void push_env(lua_State *L, int idx) {
  st__get_env(L, idx);                                /* [+1] */
  if (lua_istable(L, -1)) return;
  lua_pop(L, 1);                                      /* [-1] */
  lua_newtable(L);                                    /* [+1] */
}

/* False: it was one of the box's already. [-1] */
static bool attach(st__host *h, lua_State *L, int idx) {
  st__box *box = lua_touserdata(L, idx);
  if (box->is_anchored) {
    push_env(L, idx);                                 /* [+1] */
    lua_insert(L, -2);
    if (has(L, lua_gettop(L) - 1, lua_gettop(L))) {
      lua_pop(L, 2);                                  /* [-2] */
      return false;
    }
    st__join(L);                                      /* [-1] */
  }
  st__set_env(L, idx);                                /* [-1] */
  h->anchors.count += !box->is_anchored;
  box->is_anchored = true;
  return true;
}

void st__attach(st__host *h, lua_State *L, int idx) {
  attach(h, L, idx);                                  /* [-1] */
}

/* -- Noted boxes ---------------------------------------------------------- */

/* A slot is given back by finalisers, which cannot make room. */
static bool make_room(st__anchors *a) {
  if (a->nfree > 0 || a->nslots < a->room) return true;
  const int room = a->room ? 2 * a->room : 256;
  int *slots = realloc(a->free_slots, (size_t)room * sizeof *slots);
  if (!slots) return false;
  a->free_slots = slots;
  a->room = room;
  return true;
}

void st__note_box(st__host *h, lua_State *L, int idx) {
  st__anchors *a = &h->anchors;
  st__box *box = lua_touserdata(L, idx);
  if (box->slot) return;
  if (!make_room(a)) st__error(h, L, ST_NO_MEMORY, "out of memory");
  lua_pushvalue(L, idx);                              /* [+1] */
  push_slot(L, a->boxes_ref);                         /* [+1] */
  lua_insert(L, -2);
  const int slot = a->nfree ? a->free_slots[--a->nfree] : ++a->nslots;
  box->slot = slot;
  lua_rawseti(L, -2, slot);                           /* [-1] */
  lua_pop(L, 1);                                      /* [-1] */
}

void st__forget_box(st__host *h, st__box *box) {
  st__anchors *a = &h->anchors;
  if (box->slot) a->free_slots[a->nfree++] = box->slot;
  a->count -= box->is_anchored;
  box->slot = 0;
  box->is_anchored = false;
}

static void each(st__host *h, lua_State *L, bool wants_nodes,
                 void (*fn)(lua_State *L, st__box *box, void *ctx),
                 void *ctx) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  push_slot(L, h->anchors.boxes_ref);                 /* [+1] */
  const int list = lua_gettop(L);
  for (int slot = 1; slot <= h->anchors.nslots; slot++) {
    lua_rawgeti(L, list, slot);                       /* [+1] */
    st__box *box = lua_touserdata(L, -1);
    const bool is_asked = box && (wants_nodes
      ? st__box_test(h, L, -1, ST_BOX_NODE) != NULL : box->t != NULL);
    if (is_asked) fn(L, box, ctx);
    lua_settop(L, list);                              /* [-1] */
  }
  lua_settop(L, list - 1);                            /* [-1] */
}

void st__each_box(st__host *h, lua_State *L,
                  void (*fn)(lua_State *L, st__box *box, void *ctx),
                  void *ctx) {
  each(h, L, false, fn, ctx);
}

void st__each_node(st__host *h, lua_State *L,
                   void (*fn)(lua_State *L, st__box *box, void *ctx),
                   void *ctx) {
  each(h, L, true, fn, ctx);
}

/* -- Families ------------------------------------------------------------- */

/* The views of one tensor and itself: what is written into one of them is in
 * the history of all. */
typedef struct family {
  st__host *h;
  const st_tensor *root;
  int at;      /* the environment of one, or 0 */
} family;

static const st_tensor *root_of(const st_tensor *t) {
  const st_tensor *base = st_tensor_base(t);
  return base ? base : t;
}

/* Is t of the family, or its gradient? */
static bool is_member(const family *f, const st_tensor *t) {
  const st_tensor *grad = st_tensor_grad(t);
  return root_of(t) == f->root || (grad && root_of(grad) == f->root);
}

static void attach_member(lua_State *L, st__box *box, void *ctx) {
  const family *f = ctx;
  if (!is_member(f, box->t)) return;
  lua_pushvalue(L, f->at);                            /* [+1] */
  attach(f->h, L, lua_gettop(L) - 1);                 /* [-1] */
}

/* The environment at the top for the family of t. [-1] */
static void attach_family(st__host *h, lua_State *L, const st_tensor *t) {
  family f = {h, root_of(t), lua_gettop(L)};
  st__each_box(h, L, attach_member, &f);
  lua_pop(L, 1);                                      /* [-1] */
}

static void copy_member(lua_State *L, st__box *box, void *ctx) {
  const family *f = ctx;
  if (!box->is_anchored || root_of(box->t) != f->root) return;
  push_env(L, lua_gettop(L));                         /* [+1] */
  attach(f->h, L, f->at);                             /* [-1] */
}

/* The box at idx was not noted, so it got its history through another view
 * of the same tensor. */
static void find_history(st__host *h, lua_State *L, int idx) {
  const st__box *box = lua_touserdata(L, idx);
  family f = {h, root_of(box->t), idx};
  st__note_box(h, L, idx);
  if (h->anchors.count > 0) st__each_box(h, L, copy_member, &f);
}

/* -- What is passed on ---------------------------------------------------- */

/* [+0|1] */
static bool gather_one(st__host *h, lua_State *L, int idx, bool has_one) {
  const st__box *box = st__box_test(h, L, idx, ST_BOX_TENSOR);
  if (!box || !box->t || !st_tensor_requires_grad(box->t)) return has_one;
  if (!box->slot) find_history(h, L, idx);
  if (!box->is_anchored) return has_one;
  push_env(L, idx);                                   /* [+1] */
  if (has_one) st__join(L);                           /* [-1] */
  return true;
}

/* For a list the environment moves on top of each element in turn. */
bool st__gather(st__host *h, lua_State *L, int idx, bool has_one) {
  if (!lua_istable(L, idx)) return gather_one(h, L, idx, has_one);
  const int n = (int)lua_objlen(L, idx);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);                           /* [+1] */
    if (has_one) lua_insert(L, -2);
    const int at = lua_gettop(L) - has_one;
    has_one = gather_one(h, L, at, has_one);          /* [+0|1] */
    lua_remove(L, at);                                /* [-1] */
  }
  return has_one;
}

void st__drop_handed(st__host *h, lua_State *L) {
  h->anchors.has_handed = false;
  lua_pushboolean(L, 0);                              /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->anchors.handed_ref); /* [-1] */
}

/* Takes what was handed on. [+0|1] */
static bool take_handed(st__host *h, lua_State *L, bool has_one) {
  if (!h->anchors.has_handed) return has_one;
  push_slot(L, h->anchors.handed_ref);                /* [+1] */
  st__drop_handed(h, L);
  if (has_one) st__join(L);                           /* [-1] */
  return true;
}

void st__hand_on(st__host *h, lua_State *L, int idx) {
  if (h->anchors.count == 0 || !st__gather(h, L, idx, false)) return;
  take_handed(h, L, true);                            /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->anchors.handed_ref); /* [-1] */
  h->anchors.has_handed = true;
}

bool st__gather_arguments(const st__frame *f) {
  bool has_one = false;
  if (f->h->anchors.count == 0) return false;
  luaL_checkstack(f->L, LUA_MINSTACK, NULL);
  for (int i = 0; i < f->nargs; i++) {
    const uint8_t tag = f->args[i].tag;
    if (!f->source[i] || (tag != ST_TAG_TENSOR && tag != ST_TAG_TENSORS)) {
      continue;
    }
    has_one = st__gather(f->h, f->L, f->source[i], has_one); /* [+0|1] */
  }
  return has_one;
}

void st__enter_pass(st__host *h, lua_State *L, bool has_one) {
  push_slot(L, h->anchors.pass_ref);                  /* [+1] */
  if (has_one) lua_insert(L, -2);
  else lua_pushboolean(L, 0);                         /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->anchors.pass_ref); /* [-1] */
  h->anchors.has_pass = has_one;
}

bool st__leave_pass(st__host *h, lua_State *L) {
  const bool had_one = h->anchors.has_pass;
  push_slot(L, h->anchors.pass_ref);                  /* [+1] */
  lua_insert(L, -2);
  h->anchors.has_pass = lua_toboolean(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->anchors.pass_ref); /* [-1] */
  return had_one;
}

/* Arguments: the host, those of a call. */
static int enter_protected(lua_State *L) {
  st__host *h = lua_touserdata(L, 1);
  const int n = lua_gettop(L);
  bool has_one = false;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  for (int i = 2; i <= n; i++) has_one = st__gather(h, L, i, has_one);
  if (!has_one) return 0;
  lua_rawseti(L, LUA_REGISTRYINDEX, h->anchors.pass_ref); /* [-1] */
  h->anchors.has_pass = true;
  return 0;
}

/* In the middle of a call, so nothing may raise: what there is no memory for
 * will be missed if it is ever asked for. */
bool st__enter_call(st__host *h, lua_State *L, const st__frame *f) {
  if (h->anchors.count == 0 || !f || f->L != L) return false;
  push_slot(L, h->anchors.pass_ref);                  /* [+1] */
  push_slot(L, h->anchors.enter_ref);                 /* [+1] */
  lua_pushlightuserdata(L, h);                        /* [+1] */
  int n = 1;
  for (int i = 0; i < f->nargs; i++) {
    if (!f->source[i]) continue;
    lua_pushvalue(L, f->source[i]);                   /* [+1] */
    n++;
  }
  if (lua_pcall(L, n, 0, 0) != 0) lua_pop(L, 1);      /* [-n-1] */
  return true;
}

void st__leave_call(st__host *h, lua_State *L, int slot) {
  lua_pushvalue(L, slot);                             /* [+1] */
  h->anchors.has_pass = lua_toboolean(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->anchors.pass_ref); /* [-1] */
  lua_remove(L, slot);                                /* [-1] */
}

void st__add_to_pass(st__host *h, lua_State *L, int idx) {
  if (h->anchors.count == 0 || !st__gather(h, L, idx, false)) return;
  if (h->anchors.has_pass) {
    push_slot(L, h->anchors.pass_ref);                /* [+1] */
    st__join(L);                                      /* [-1] */
  }
  lua_rawseti(L, LUA_REGISTRYINDEX, h->anchors.pass_ref); /* [-1] */
  h->anchors.has_pass = true;
}

typedef struct search { const st_tensor *t; int at; } search;

static void match_box(lua_State *L, st__box *box, void *ctx) {
  const search *s = ctx;
  if (box->t != s->t) return;
  lua_pushvalue(L, -1);                               /* [+1] */
  lua_replace(L, s->at);                              /* [-1] */
}

bool st__push_known(st__host *h, lua_State *L, const st_tensor *t) {
  lua_pushnil(L);                                     /* [+1] */
  search s = {t, lua_gettop(L)};
  st__each_box(h, L, match_box, &s);
  if (!lua_isnil(L, s.at)) return true;
  lua_pop(L, 1);                                      /* [-1] */
  return false;
}

st__box *st__push_seen(st__host *h, lua_State *L, st_tensor *t) {
  st__box *box = st__push_kept(h, L, t);              /* [+1] */
  if (!st_tensor_requires_grad(t)) return box;
  st__note_box(h, L, lua_gettop(L));
  if (h->anchors.has_pass) {
    push_slot(L, h->anchors.pass_ref);                /* [+1] */
    attach(h, L, lua_gettop(L) - 1);                  /* [-1] */
  }
  return box;
}

/* -- What calls give ------------------------------------------------------ */

/* The box at idx; the environment is at the top, if there is one. */
static bool settle_box(st__host *h, lua_State *L, int idx, bool has_one) {
  const st__box *box = st__box_test(h, L, idx, ST_BOX_TENSOR);
  if (!box || !box->t || !st_tensor_requires_grad(box->t)) return false;
  st__note_box(h, L, idx);
  if (!has_one) return false;
  lua_pushvalue(L, -1);                               /* [+1] */
  return attach(h, L, idx);                           /* [-1] */
}

/* A value, or a list of them. */
static void settle(st__host *h, lua_State *L, int idx, bool has_one,
                   bool is_written) {
  if (!lua_istable(L, idx)) {
    const bool is_new = settle_box(h, L, idx, has_one);
    if (!has_one || !is_written) return;
    const st_tensor *t = st__to_tensor(h, L, idx);
    /* What a view has had may be news to its base. */
    if (!t || !(is_new || st_tensor_base(t))) return;
    lua_pushvalue(L, -1);                             /* [+1] */
    attach_family(h, L, t);                           /* [-1] */
    return;
  }
  const int n = (int)lua_objlen(L, idx), env = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);                           /* [+1] */
    if (has_one) lua_pushvalue(L, env);               /* [+0|1] */
    settle_box(h, L, env + 1, has_one);
    lua_settop(L, env);                               /* [-n] */
  }
}

void st__settle_with(st__host *h, lua_State *L, int idx, bool is_written) {
  settle(h, L, idx, true, is_written);
}

/* Of a view: what it is one of. */
static void note_source(st__host *h, lua_State *L, int idx) {
  if (st__box_test(h, L, idx, ST_BOX_TENSOR)) st__note_box(h, L, idx);
}

void st__settle(st__frame *f, int first) {
  st__host *h = f->h;
  lua_State *L = f->L;
  if (f->rets->is_alias && f->source[0]) note_source(h, L, f->source[0]);
  bool has_one = st__gather_arguments(f);             /* [+0|1] */
  has_one = take_handed(h, L, has_one);               /* [+0|1] */
  for (int r = 0; r < f->nrets; r++) {
    settle(h, L, first + r, has_one, f->rets[r].is_write);
  }
  if (has_one) lua_pop(L, 1);                         /* [-1] */
}

void st__settle_from(st__host *h, lua_State *L, int idx, int source,
                     bool is_written) {
  note_source(h, L, source);
  bool has_one = h->anchors.count > 0 && st__gather(h, L, source, false);
  has_one = take_handed(h, L, has_one);               /* [+0|1] */
  settle(h, L, idx, has_one, is_written);
  if (has_one) lua_pop(L, 1);                         /* [-1] */
}

/* -- Opening -------------------------------------------------------------- */

/* A table in the registry that does not keep its values. */
static int new_weak(lua_State *L) {
  lua_createtable(L, 0, 0);                           /* [+1] */
  lua_createtable(L, 0, 1);                           /* [+1] */
  lua_pushliteral(L, "v");                            /* [+1] */
  lua_setfield(L, -2, "__mode");                      /* [-1] */
  lua_setmetatable(L, -2);                            /* [-1] */
  return luaL_ref(L, LUA_REGISTRYINDEX);              /* [-1] */
}

static int new_slot(lua_State *L) {
  lua_pushboolean(L, 0);                              /* [+1] */
  return luaL_ref(L, LUA_REGISTRYINDEX);              /* [-1] */
}

void st__open_anchor(st__host *h, lua_State *L) {
  h->anchors.values_ref = new_weak(L);
  h->anchors.boxes_ref = new_weak(L);
  h->anchors.pass_ref = new_slot(L);
  h->anchors.handed_ref = new_slot(L);
  lua_pushcfunction(L, enter_protected);              /* [+1] */
  h->anchors.enter_ref = luaL_ref(L, LUA_REGISTRYINDEX); /* [-1] */
}
