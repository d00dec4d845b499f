/* The pacing of Lua's collector, which does not count the bytes of tensors.
 *
 * Note [Pacing the collector]
 * Lua counts a few bytes for a tensor of megabytes. So the bytes of new results
 * are counted as a debt, and a collection cycle completes by the time the debt
 * reaches a bound. The cost of a cycle depends on the Lua heap alone, and so
 * does the bound: a small heap is collected often, so that temporaries stay in
 * the processor's caches; a large one less often, but often enough to limit
 * memory to a multiple of the heap. Live tensors do not count: collecting less
 * often because of them would only evict the temporaries from the caches.
 *
 * Results of at most LARGE bytes are cheap to make where L2 holds the memory of
 * all of them, and dear where it does not. So with a small heap they wait for a
 * collection only until they fill half of a large L2. Of a larger result a
 * collection takes longer than what its misses cost, unless the heap is little
 * more than the library's own.
 *
 * The collector runs before an operator computes a result, so that the result
 * is where a temporary of the last call was: a script that drops each result
 * has one block of memory in its caches, as with reference counts.
 *
 * A small heap is collected at once. For a large one that would be a pause of
 * many milliseconds, so steps in proportion to the new debt begin before the
 * bound. A cycle that was in progress before the first step may end early and
 * miss objects that died since it began: a cycle that took few steps does not
 * count.
 *
 * Note [Stack space for finalizers]
 * Finalizers run on the stack of the thread that collects. A finalizer that
 * fails because the stack is full is not called again: Lua drops its object,
 * and the tensor's memory would leak. So the engine does not collect deep in
 * the stack; a collection that is due is postponed until fewer calls are
 * active, and the retry after an allocation failure is skipped. Lua itself does
 * collect there.
 */

#include "state/engine.h"
#include "state/hook_error.h"

#include <string.h>

enum {
  MIN_BOUND = 4 << 20, /* bytes: the smallest bound of large results */
  LARGE_L2 = 2 << 20,  /* bytes */
  MID_BOUND = 64 << 20, /* bound: 8 heaps up to here, then 3 heaps */
  FULL_GC_HEAP = 2 << 20, /* bytes of heap: collected in < 1 ms */
  STEPS = 32,         /* per cycle */
  WHOLE_CYCLE = 1 << 20, /* KB, more than a heap that is collected at once */
  CALLS = 4           /* nested calls that a finalizer may need */
};

struct st__pacing {
  int64_t small_bound;     /* bytes: of large results in the debt */
  int64_t stepped;         /* the debt at the last step */
  bool is_collecting;      /* this file runs the collector */
  bool collects_fully;     /* Note [A collection by one step] */
};

void st__open_pacing(st__state *h, lua_State *L) {
  const char *name;
  int64_t l2 = 0, value;
  for (int i = 0; (name = st_machine_choice(i, &value)); i++) {
    if (strcmp(name, "l2_bytes") == 0) l2 = value;
  }
  h->pacing = st__new_part(h, L, sizeof *h->pacing, NULL);
  h->pacing->small_bound = l2 < LARGE_L2 ? MIN_BOUND : l2 / 2;
}

static int64_t bound_of(const st__state *h, int64_t heap) {
  const int64_t wanted = 8 * heap < MID_BOUND ? 8 * heap : MID_BOUND;
  const int64_t needed = 3 * heap;
  const int64_t bound = wanted > needed ? wanted : needed;
  const int64_t small = h->pacing->small_bound;
  const bool is_dear = h->large > h->debt / 2 && 8 * heap > small;
  const int64_t least = is_dear ? MIN_BOUND : small;
  return bound > least ? bound : least;
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

/* Calls lua_gc and raises the errors of finalizers. is_collecting prevents a
 * finalizer that creates tensors from starting a nested collection. */
static int run_gc(st__state *h, lua_State *L, int what, int data) {
  gc_call t = {what, data, 0};
  h->pacing->is_collecting = true;
  if (h->profile) st__profile_enter(h, "collector", "");
  const int status = st__protected(L, run_gc_call, &t); /* [+0|1] */
  if (h->profile) st__profile_leave(h);
  h->pacing->is_collecting = false;
  if (status != 0) lua_error(L);
  return t.result;
}

/* Bytes that finalizers have freed since the last call. */
static int64_t take_freed(st__state *h) {
  const int64_t bytes = h->freed * 1024;
  h->freed = 0;
  return bytes;
}

static void pay_debt(st__state *h) {
  h->debt = h->large = h->threshold = h->pacing->stepped = 0;
}

static void collect_all(st__state *h, lua_State *L) {
  pay_debt(h);
  run_gc(h, L, LUA_GCCOLLECT, 0);
}

/* Note [A collection by one step]
 * A full collection of Lua sweeps the heap twice, before the marks and after
 * them; a step that is large enough runs one cycle, with one sweep: 15 us
 * instead of 23 for the heap of `require "strided"`. But it ends a cycle that
 * Lua has begun, which misses what died since. So a step counts if it has freed
 * half of the debt; else, and until a full collection frees as much, full
 * collections run. */
static void collect(st__state *h, lua_State *L) {
  const int64_t enough = h->debt / 2;
  take_freed(h);
  if (!h->pacing->collects_fully) {
    pay_debt(h);
    if (run_gc(h, L, LUA_GCSTEP, WHOLE_CYCLE) == 1 &&
        take_freed(h) >= enough) {
      return;
    }
  }
  collect_all(h, L);
  h->pacing->collects_fully = take_freed(h) < enough;
}

/* Respect a collector that the user stopped. */
static bool is_stopped(lua_State *L) {
  return lua_gc(L, ST_GC_IS_RUNNING, 0) == 0;
}

/* Arguments: this function, the number of nested calls of it. */
static int nest_calls(lua_State *L) {
  const int n = (int)lua_tointeger(L, 2);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (n == 0) return 0;
  lua_pushvalue(L, 1);         /* [+1] */
  lua_pushvalue(L, 1);         /* [+1] */
  lua_pushinteger(L, n - 1);   /* [+1] */
  st__call_c(L, 2, 0);         /* [-3] */
  return 0;
}

static int begin_nest(lua_State *L) {
  luaL_checkstack(L, CALLS * LUA_MINSTACK, NULL);
  lua_pushcfunction(L, nest_calls); /* [+1] */
  lua_pushvalue(L, -1);        /* [+1] */
  lua_pushinteger(L, CALLS);   /* [+1] */
  st__call_c(L, 2, 0);         /* [-3] */
  return 0;
}

/* True if the stack has room for finalizers: Note [Stack space for
 * finalizers]. */
static bool has_room(lua_State *L) {
  const int status = st__protected(L, begin_nest, NULL); /* [+0|1] */
  if (status == 0) return true;
  st__drop_lack(L, status);                              /* [-1] */
  return false;
}

/* Runs the part of a cycle that is due between start and bound. */
static void step(st__state *h, lua_State *L, int64_t heap, int64_t start,
                 int64_t bound) {
  st__pacing *p = h->pacing;
  const int64_t span = bound - start;
  const int64_t from = p->stepped < start ? start : p->stepped;
  const int64_t part = h->debt < bound ? h->debt - from : span;
  p->stepped = h->debt;
  h->threshold = h->debt + span / STEPS;
  const int kb = (int)(heap / 1024 * part / span) + 1;
  if (run_gc(h, L, LUA_GCSTEP, kb) == 1 && p->stepped - start > span / 4) {
    h->debt -= h->debt < start ? h->debt : start;
    h->large = h->threshold = p->stepped = 0;
  } else if (h->debt > bound + span) {
    collect(h, L);
  }
}

void st__gc_pace(st__state *h, lua_State *L) {
  const int64_t heap = heap_of(L), bound = bound_of(h, heap);
  const int64_t start = heap < FULL_GC_HEAP ? bound : bound / 4 * 3;
  if (h->debt <= start) {
    h->threshold = start;
    h->pacing->stepped = 0;
  } else if (h->pacing->is_collecting || is_stopped(L) || !has_room(L)) {
    h->threshold = h->debt + MIN_BOUND;
  } else if (heap < FULL_GC_HEAP) {
    collect(h, L);
  } else {
    step(h, L, heap, start, bound);
  }
}

int64_t st__memory_of(const st_tensor *t) {
  return st_tensor_data(t) ? (int64_t)st_tensor_storage_nbytes(t) : 0;
}

void st__gc_credit(st__state *h, const st__tensor_ud *ud) {
  const st_tensor *t = ud->t;
  if (st_tensor_refcount(t) > 1 || st_tensor_storage_refcount(t) > 1) return;
  const int64_t charged = (int64_t)ud->charged * 1024;
  h->debt -= charged < h->debt ? charged : h->debt;
  if (h->large > h->debt) h->large = h->debt;
}

/* Runs protected: an error of a user's finalizer must not reach the engine. */
static int collect_for_retry(lua_State *L) {
  const bool was_stopped = is_stopped(L);
  collect_all(lua_touserdata(L, 1), L);
  if (was_stopped) lua_gc(L, LUA_GCSTOP, 0);
  return 0;
}

bool st__gc_retry(st__state *h, lua_State *L, bool *made) {
  st__watch w;
  if (!h->has_retry || h->pacing->is_collecting || *made) return false;
  if (!has_room(L)) return false;
  *made = true;
  st__watch_begin(L, &w);
  const int status = st__protected(L, collect_for_retry, h); /* [+0|1] */
  if (!st__watch_end(L, &w, status) && status != 0) lua_pop(L, 1); /* [-1] */
  return true;
}
