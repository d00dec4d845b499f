/* The pace of Lua's collector, which does not see the bytes of tensors.
 *
 * Note [Pacing the collector]
 * Lua sees a few bytes where a tensor has millions. So the bytes of fresh
 * results are a debt, and a cycle of the collector is through by the time it
 * reaches a bound. What a cycle costs depends on the Lua heap alone, and so
 * does the bound: a small heap is walked often, so that temporaries stay in
 * the caches of the processor, a large one more seldom, but often enough for
 * memory not to grow beyond a multiple of the heap. Tensors that are alive do
 * not count: to collect more seldom because of them would only let the others
 * go cold.
 *
 * A small heap is collected at once. In a large one that would be a pause of
 * many milliseconds; there steps in proportion to the new debt begin ahead of
 * the bound. A cycle that somebody else had begun may end early and miss what
 * died meanwhile: one that took few steps does not count.
 *
 * Note [Room for finalisers]
 * Finalisers run on the stack of whoever collects. One that finds it full
 * fails and is not called again: Lua gives its object up, and what a tensor
 * has would stay for good. So deep down the engine does not collect; what is
 * due waits until there are fewer calls on the stack, or is not there when
 * memory runs out. Lua itself does collect there.
 */

#include "bind.h"

enum {
  LEAST = 4 << 20,    /* bytes: the bound of a small heap */
  MIDDLE = 64 << 20,  /* up to here it is eight heaps, beyond three */
  AT_ONCE = 2 << 20,  /* bytes of heap that take less than a millisecond */
  STEPS = 32,         /* of a cycle */
  CALLS = 4           /* of a finaliser, one inside of the other */
};

static int64_t bound_of(int64_t heap) {
  const int64_t wanted = 8 * heap < MIDDLE ? 8 * heap : MIDDLE;
  const int64_t needed = 3 * heap;
  const int64_t bound = wanted > needed ? wanted : needed;
  return bound > LEAST ? bound : LEAST;
}

static int64_t heap_of(lua_State *L) {
  return (int64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024;
}

typedef struct turn { int what, data, result; } turn;

static int take_turn(lua_State *L) {
  turn *t = lua_touserdata(L, 1);
  t->result = lua_gc(L, t->what, t->data);
  return 0;
}

/* lua_gc, and what a finaliser raises. One that makes tensors shall not begin
 * a collection inside of this one, and the next one inside of that. */
static int run_gc(st__host *h, lua_State *L, int what, int data) {
  turn t = {what, data, 0};
  h->is_collecting = true;
  const int status = st__protected(L, take_turn, &t); /* [+0|1] */
  h->is_collecting = false;
  if (status != 0) lua_error(L);
  return t.result;
}

static void collect(st__host *h, lua_State *L) {
  h->debt = h->due = h->paid = 0;
  run_gc(h, L, LUA_GCCOLLECT, 0);
}

/* Who has stopped the collector has his reasons. */
static bool is_stopped(lua_State *L) {
  return lua_gc(L, ST_GC_IS_RUNNING, 0) == 0;
}

/* Arguments: this function, how many calls of it go inside of each other. */
static int nest(lua_State *L) {
  const int n = (int)lua_tointeger(L, 2);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (n == 0) return 0;
  lua_pushvalue(L, 1);         /* [+1] */
  lua_pushvalue(L, 1);         /* [+1] */
  lua_pushinteger(L, n - 1);   /* [+1] */
  lua_call(L, 2, 0);           /* [-3] */
  return 0;
}

static int begin_nest(lua_State *L) {
  luaL_checkstack(L, CALLS * LUA_MINSTACK, NULL);
  lua_pushcfunction(L, nest);  /* [+1] */
  lua_pushvalue(L, -1);        /* [+1] */
  lua_pushinteger(L, CALLS);   /* [+1] */
  lua_call(L, 2, 0);           /* [-3] */
  return 0;
}

/* Note [Room for finalisers] */
static bool has_room(lua_State *L) {
  if (st__protected(L, begin_nest, NULL) == 0) return true; /* [+0|1] */
  lua_pop(L, 1);                                            /* [-1] */
  return false;
}

/* Does its share of a cycle between start and bound. */
static void step(st__host *h, lua_State *L, int64_t heap, int64_t start,
                 int64_t bound) {
  const int64_t span = bound - start;
  const int64_t from = h->paid < start ? start : h->paid;
  const int64_t part = h->debt < bound ? h->debt - from : span;
  h->paid = h->debt;
  h->due = h->debt + span / STEPS;
  const int kb = (int)(heap / 1024 * part / span) + 1;
  if (run_gc(h, L, LUA_GCSTEP, kb) == 1 && h->paid - start > span / 4) {
    h->debt -= h->debt < start ? h->debt : start;
    h->due = h->paid = 0;
  } else if (h->debt > bound + span) {
    collect(h, L);
  }
}

void st__pace(st__host *h, lua_State *L) {
  const int64_t heap = heap_of(L), bound = bound_of(heap);
  const int64_t start = heap < AT_ONCE ? bound : bound / 4 * 3;
  if (h->debt <= start) {
    h->due = start;
    h->paid = 0;
  } else if (h->is_collecting || is_stopped(L) || !has_room(L)) {
    h->due = h->debt + LEAST;
  } else if (heap < AT_ONCE) {
    collect(h, L);
  } else {
    step(h, L, heap, start, bound);
  }
}

void st__credit(st__host *h, const st__box *box) {
  const st_tensor *t = box->t;
  if (st_tensor_refcount(t) > 1 || st_tensor_storage_refcount(t) > 1) return;
  h->debt -= box->charged < h->debt ? box->charged : h->debt;
}

/* A finaliser of the user's may raise: not through the engine's callers. */
static int collect_all(lua_State *L) {
  const bool was_stopped = is_stopped(L);
  collect(lua_touserdata(L, 1), L);
  if (was_stopped) lua_gc(L, LUA_GCSTOP, 0);
  return 0;
}

bool st__make_room(st__host *h, lua_State *L, bool *made) {
  if (!h->has_retry || h->is_collecting || *made || !has_room(L)) return false;
  *made = true;
  if (st__protected(L, collect_all, h) != 0) lua_pop(L, 1); /* [-0|1] */
  return true;
}
