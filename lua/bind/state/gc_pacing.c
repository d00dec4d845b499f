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
 * Note [Stack space for finalisers]
 * Finalisers run on the stack of whoever collects. One that finds it full
 * fails and is not called again: Lua gives its object up, and what a tensor
 * has would stay for good. So deep down the engine does not collect; what is
 * due waits until there are fewer calls on the stack, or is not there when
 * memory runs out. Lua itself does collect there.
 */

#include "bind.h"

enum {
  MIN_BOUND = 4 << 20, /* bytes: the bound of a small heap */
  MID_BOUND = 64 << 20, /* up to here it is eight heaps, beyond three */
  FULL_GC_HEAP = 2 << 20, /* bytes of heap that take less than a millisecond */
  STEPS = 32,         /* of a cycle */
  CALLS = 4           /* of a finaliser, one inside of the other */
};

static int64_t bound_of(int64_t heap) {
  const int64_t wanted = 8 * heap < MID_BOUND ? 8 * heap : MID_BOUND;
  const int64_t needed = 3 * heap;
  const int64_t bound = wanted > needed ? wanted : needed;
  return bound > MIN_BOUND ? bound : MIN_BOUND;
}

static int64_t heap_of(lua_State *L) {
  return (int64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024;
}

typedef struct gc_call { int what, data, result; } gc_call;

static int run_gc_call(lua_State *L) {
  gc_call *t = lua_touserdata(L, 1);
  t->result = lua_gc(L, t->what, t->data);
  return 0;
}

/* lua_gc, and what a finaliser raises. One that makes tensors shall not begin
 * a collection inside of this one, and the next one inside of that. */
static int run_gc(st__state *h, lua_State *L, int what, int data) {
  gc_call t = {what, data, 0};
  h->is_collecting = true;
  const int status = st__protected(L, run_gc_call, &t); /* [+0|1] */
  h->is_collecting = false;
  if (status != 0) lua_error(L);
  return t.result;
}

static void collect(st__state *h, lua_State *L) {
  h->debt = h->threshold = h->stepped = 0;
  run_gc(h, L, LUA_GCCOLLECT, 0);
}

/* Who has stopped the collector has his reasons. */
static bool is_stopped(lua_State *L) {
  return lua_gc(L, ST_GC_IS_RUNNING, 0) == 0;
}

/* Arguments: this function, how many calls of it go inside of each other. */
static int nest_calls(lua_State *L) {
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
  lua_pushcfunction(L, nest_calls); /* [+1] */
  lua_pushvalue(L, -1);        /* [+1] */
  lua_pushinteger(L, CALLS);   /* [+1] */
  lua_call(L, 2, 0);           /* [-3] */
  return 0;
}

/* Note [Stack space for finalisers] */
static bool has_room(lua_State *L) {
  if (st__protected(L, begin_nest, NULL) == 0) return true; /* [+0|1] */
  lua_pop(L, 1);                                            /* [-1] */
  return false;
}

/* Does its share of a cycle between start and bound. */
static void step(st__state *h, lua_State *L, int64_t heap, int64_t start,
                 int64_t bound) {
  const int64_t span = bound - start;
  const int64_t from = h->stepped < start ? start : h->stepped;
  const int64_t part = h->debt < bound ? h->debt - from : span;
  h->stepped = h->debt;
  h->threshold = h->debt + span / STEPS;
  const int kb = (int)(heap / 1024 * part / span) + 1;
  if (run_gc(h, L, LUA_GCSTEP, kb) == 1 && h->stepped - start > span / 4) {
    h->debt -= h->debt < start ? h->debt : start;
    h->threshold = h->stepped = 0;
  } else if (h->debt > bound + span) {
    collect(h, L);
  }
}

void st__gc_pace(st__state *h, lua_State *L) {
  const int64_t heap = heap_of(L), bound = bound_of(heap);
  const int64_t start = heap < FULL_GC_HEAP ? bound : bound / 4 * 3;
  if (h->debt <= start) {
    h->threshold = start;
    h->stepped = 0;
  } else if (h->is_collecting || is_stopped(L) || !has_room(L)) {
    h->threshold = h->debt + MIN_BOUND;
  } else if (heap < FULL_GC_HEAP) {
    collect(h, L);
  } else {
    step(h, L, heap, start, bound);
  }
}

void st__gc_credit(st__state *h, const st__tensor_ud *ud) {
  const st_tensor *t = ud->t;
  if (st_tensor_refcount(t) > 1 || st_tensor_storage_refcount(t) > 1) return;
  h->debt -= ud->charged < h->debt ? ud->charged : h->debt;
}

/* A finaliser of the user's may raise: not through the engine's callers. */
static int collect_all(lua_State *L) {
  const bool was_stopped = is_stopped(L);
  collect(lua_touserdata(L, 1), L);
  if (was_stopped) lua_gc(L, LUA_GCSTOP, 0);
  return 0;
}

bool st__gc_retry(st__state *h, lua_State *L, bool *made) {
  if (!h->has_retry || h->is_collecting || *made || !has_room(L)) return false;
  *made = true;
  if (st__protected(L, collect_all, h) != 0) lua_pop(L, 1); /* [-0|1] */
  return true;
}
