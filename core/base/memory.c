/* The allocator: size classes, block caches, statistics and a limit.
 *
 * Note [Block caches]
 * A freed block of up to 256 KB goes to the cache of the thread that frees it.
 * Larger blocks, and those that exceed that cache, go to a shared cache under
 * a mutex, because a garbage collection frees many at once. Both caches are
 * last in, first out: the block freed last is most likely in the CPU cache.
 * What exceeds the bound of the shared cache is returned to the system, first
 * the blocks of classes that were not used for long: a program that goes from
 * one size to the next must not keep the old ones only. A
 * build for a memory checker caches nothing (ST_BLOCK_CACHE is 0), so that the
 * checker sees every allocation.
 *
 * Note [Memory statistics]
 * A thread counts in its own cache, without atomic read-modify-write, and adds
 * its counts to the process totals when they reach a megabyte. A reader sums
 * the totals and all threads' counts. The limit is compared with the totals
 * plus the calling thread's counts: it is exact with one thread, and off by up
 * to a megabyte for each other thread.
 */

#include "base/memory.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/cgroup.h"
#include "base/call_limits.h"
#include "os/mapped_memory.h"
#include "base/size_class.h"
#include "base/status.h"

enum {
  ALIGNMENT = 64,
  SMALL_BYTES = 1024,          /* up to here each multiple is a class */
  SMALL_CLASSES = 80,          /* up to 256 KB */
  CLASSES = 272,               /* up to 2^41 bytes */
  THREAD_BLOCKS = 16384,       /* blocks per class in a thread's cache */
  THREAD_BYTES = ST_FIXED_thread_blocks,      /* bytes in a thread's cache */
  SHARED_MIN_BLOCK = 4 << 10,  /* bytes; smaller blocks are not shared, they
                                  are not worth a lock */
  SHARED_MIN_BYTES = ST_FIXED_shared_blocks /* the least bound, in bytes */
};

static const size_t MAX_BLOCK_BYTES = (size_t)1 << 40;

/* -- Counters ------------------------------------------------------------- */

typedef struct block {
  struct block *next;
  int class;  /* of evicted blocks */
} block;

/* A thread's blocks and counters; no other thread writes them. */
typedef struct cache cache;
struct cache {
  cache *next;              /* in caches; a cache is never freed */
  bool in_use;              /* by a live thread */
  _Atomic int64_t bytes;    /* of the cached blocks */
  st_mem_counter own[ST_MEM_COUNT];
  bool is_zero;             /* the thread's last new block */
  bool wants_zero;          /* st__want_zero_blocks */
  int n[SMALL_CLASSES];
  block *blocks[SMALL_CLASSES];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static cache *caches;
static struct {
  int64_t count, bytes, peak;
} total[ST_MEM_COUNT];      /* under the mutex */
static int64_t peak;        /* of all kinds; under the mutex */
static struct {
  block *blocks[CLASSES];
  int64_t n[CLASSES];       /* of blocks */
  uint64_t used[CLASSES];   /* the time of the last use, in uses */
  uint64_t now;
  _Atomic int64_t bytes;
} shared;                   /* written under the mutex */

static _Atomic int64_t flushed_live;          /* live bytes of all kinds */
static _Atomic int64_t limit = INT64_MAX;     /* of live and cached bytes */
static _Atomic int64_t cache_limit;           /* set at the first use */

static _Thread_local cache *own_cache;
_Thread_local st_mem_counter *st__own_counters;
static _Thread_local int64_t fail_countdown; /* st_memory_fail_at; 0: off */

static int64_t get(_Atomic int64_t *x) {
  return atomic_load_explicit(x, memory_order_relaxed);
}

/* Each counter has a single writer, so a load and a store are enough. */
static void counter_add(_Atomic int64_t *x, int64_t by) {
  atomic_store_explicit(x, get(x) + by, memory_order_relaxed);
}

/* Moves a thread's counts of a kind to the totals. Under the mutex. */
static void flush_counters(cache *c, int kind) {
  st_mem_counter *f = &c->own[kind];
  const int64_t count = get(&f->count), bytes = get(&f->bytes);
  counter_add(&f->count, -count);
  counter_add(&f->bytes, -bytes);
  counter_add(&flushed_live, bytes);
  total[kind].count += count;
  total[kind].bytes += bytes;
  if (total[kind].bytes > total[kind].peak) {
    total[kind].peak = total[kind].bytes;
  }
}

static void count_in(cache *c, st_mem_kind kind, int64_t count,
                     int64_t bytes) {
  st_mem_counter *f = &c->own[kind];
  counter_add(&f->count, count);
  counter_add(&f->bytes, bytes);
  const int64_t own = get(&f->bytes);
  if (own < ST_MEM_FLUSH_BYTES && own > -ST_MEM_FLUSH_BYTES) return;
  pthread_mutex_lock(&mutex);
  for (int k = 0; k < ST_MEM_COUNT; k++) flush_counters(c, k);
  if (get(&flushed_live) > peak) peak = get(&flushed_live);
  pthread_mutex_unlock(&mutex);
}

/* -- Threads -------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static bool has_exit_key;

static void empty_cache(cache *c) {
  for (int k = 0; k < SMALL_CLASSES; k++) {
    for (block *b = c->blocks[k], *next; b; b = next) {
      next = b->next;
      free(b);
    }
    c->blocks[k] = NULL;
    c->n[k] = 0;
  }
  counter_add(&c->bytes, -get(&c->bytes));
}

/* Runs when a thread exits. A later destructor may call take_cache again. */
static void release_cache(void *p) {
  cache *c = p;
  empty_cache(c);
  pthread_mutex_lock(&mutex);
  for (int k = 0; k < ST_MEM_COUNT; k++) flush_counters(c, k);
  c->in_use = false;
  pthread_mutex_unlock(&mutex);
  own_cache = NULL;
  st__own_counters = NULL;
}

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

/* A quarter of the physical memory or of the control group's limit. */
static int64_t default_cache_limit(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  const int64_t there = pages > 0 && size > 0 ? (int64_t)pages * size : 0;
  const int64_t ours = st__cgroup_memory("");
  return (ours > 0 && ours < there ? ours : there) / 4;
}

static void init(void) {
  has_exit_key = pthread_key_create(&exit_key, release_cache) == 0;
  cache_limit = default_cache_limit();
  pthread_atfork(lock, unlock, unlock);
}

static cache *take_cache(void) {
  pthread_once(&once, init);
  pthread_mutex_lock(&mutex);
  cache *c = caches;
  while (c && c->in_use) c = c->next;
  if (!c && (c = calloc(1, sizeof *c))) {
    c->next = caches;
    caches = c;
  }
  if (c) c->in_use = true;
  pthread_mutex_unlock(&mutex);
  if (c && has_exit_key) pthread_setspecific(exit_key, c);
  st__own_counters = c ? c->own : NULL;
  return own_cache = c;
}

static inline cache *thread_cache(void) {
  cache *c = own_cache;
  return __builtin_expect(c != NULL, 1) ? c : take_cache();
}

/* -- Blocks --------------------------------------------------------------- */

static bool is_mapped(size_t size) {
  return ST_BLOCK_CACHE && size >= ST_MAPPED_MIN;
}

static void *new_block(size_t size) {
  void *p = NULL;
  if (is_mapped(size)) return st__map_block(size);
  return posix_memalign(&p, ALIGNMENT, size) == 0 ? p : NULL;
}

static void return_block(void *p, size_t size) {
  if (is_mapped(size)) st__unmap_block(p, size);
  else free(p);
}

static void *take_shared(int k, size_t size) {
  pthread_mutex_lock(&mutex);
  block *b = shared.blocks[k];
  if (b) {
    shared.blocks[k] = b->next;
    shared.n[k]--;
    shared.used[k] = ++shared.now;
    counter_add(&shared.bytes, -(int64_t)size);
  }
  pthread_mutex_unlock(&mutex);
  return b;
}

/* The class with blocks that was not used for longest. Under the mutex. */
static int oldest_class(void) {
  int oldest = -1;
  for (int k = 0; k < CLASSES; k++) {
    if (!shared.blocks[k]) continue;
    if (oldest < 0 || shared.used[k] < shared.used[oldest]) oldest = k;
  }
  return oldest;
}

/* Takes blocks of a class out until `bytes` are cached at most, and puts them
 * before the list. Under the mutex. */
static block *evict_from(int class, int64_t bytes, block *list) {
  const int64_t size = (int64_t)st__size_of_class(class);
  while (shared.blocks[class] && get(&shared.bytes) > bytes) {
    block *b = shared.blocks[class];
    shared.blocks[class] = b->next;
    shared.n[class]--;
    counter_add(&shared.bytes, -size);
    b->next = list;
    b->class = class;
    list = b;
  }
  return list;
}

/* Takes blocks of old classes out until `bytes` are cached at most; none if
 * those of class k alone are more. Under the mutex. */
static block *evict(int64_t bytes, int k) {
  block *list = NULL;
  if (shared.n[k] * (int64_t)st__size_of_class(k) > bytes) return NULL;
  while (get(&shared.bytes) > bytes) {
    list = evict_from(oldest_class(), bytes, list);
  }
  return list;
}

static bool keep_shared(int k, size_t size, block *b) {
  pthread_mutex_lock(&mutex);
  const int64_t used = total[ST_MEM_DATA].peak / 2 + SHARED_MIN_BYTES;
  const int64_t settled = get(&cache_limit);
  const int64_t left = (used < settled ? used : settled) - (int64_t)size;
  shared.used[k] = ++shared.now;
  block *evicted = left < 0 ? NULL : evict(left, k);
  const bool keeps = get(&shared.bytes) <= left;
  if (keeps) {
    b->next = shared.blocks[k];
    shared.blocks[k] = b;
    shared.n[k]++;
    counter_add(&shared.bytes, (int64_t)size);
  }
  pthread_mutex_unlock(&mutex);
  for (block *next; evicted; evicted = next) {
    next = evicted->next;
    return_block(evicted, st__size_of_class(evicted->class));
  }
  return keeps;
}

static void *take_block(cache *c, int k, size_t size) {
  block *b = k < SMALL_CLASSES ? c->blocks[k] : NULL;
  if (!b) return size >= SHARED_MIN_BLOCK ? take_shared(k, size) : NULL;
  c->blocks[k] = b->next;
  c->n[k]--;
  counter_add(&c->bytes, -(int64_t)size);
  return b;
}

static inline bool keep_block(cache *c, int k, size_t size, block *b) {
  const int64_t bytes = get(&c->bytes) + (int64_t)size;
  if (k >= SMALL_CLASSES || c->n[k] >= THREAD_BLOCKS ||
      bytes > THREAD_BYTES || bytes > get(&cache_limit)) {
    return size >= SHARED_MIN_BLOCK && keep_shared(k, size, b);
  }
  b->next = c->blocks[k];
  c->blocks[k] = b;
  c->n[k]++;
  counter_add(&c->bytes, (int64_t)size);
  return true;
}

static void trim(void) {
  block *lists[CLASSES];
  if (own_cache) empty_cache(own_cache);
  pthread_mutex_lock(&mutex);
  memcpy(lists, shared.blocks, sizeof lists);
  memset(shared.blocks, 0, sizeof shared.blocks);
  memset(shared.n, 0, sizeof shared.n);
  counter_add(&shared.bytes, -get(&shared.bytes));
  pthread_mutex_unlock(&mutex);
  for (int k = 0; k < CLASSES; k++) {
    for (block *b = lists[k], *next; b; b = next) {
      next = b->next;
      return_block(b, st__size_of_class(k));
    }
  }
}

/* -- Allocation ----------------------------------------------------------- */

/* Registry blocks live for the whole process: they use neither size classes
 * nor 64-byte alignment. */
static bool uses_malloc(st_mem_kind kind) { return kind == ST_MEM_REGISTRY; }

static int64_t cached_bytes(void) {
  pthread_mutex_lock(&mutex);
  int64_t bytes = get(&shared.bytes);
  for (cache *c = caches; c; c = c->next) bytes += get(&c->bytes);
  pthread_mutex_unlock(&mutex);
  return bytes;
}

/* Live bytes as this thread counts them: Note [Memory statistics]. c: its cache
 * or NULL. */
static int64_t live_bytes(cache *c) {
  int64_t bytes = get(&flushed_live);
  for (int k = 0; c && k < ST_MEM_COUNT; k++) bytes += get(&c->own[k].bytes);
  return bytes;
}

int64_t st_memory_live(void) { return live_bytes(thread_cache()); }

/* True if the limit allows n more live bytes; frees cached blocks if the limit
 * requires that. */
static bool is_allowed(cache *c, size_t n) {
  const int64_t most = get(&limit);
  if (most == INT64_MAX) return true;
  const int64_t live = live_bytes(c);
  if (live > most || (int64_t)n > most - live) return false;
  const int64_t cached = get(&shared.bytes) + get(&c->bytes);
  if (cached > most - live - (int64_t)n) trim();
  return true;
}

static void *find_block(cache *c, bool is_plain, size_t n) {
  size_t size;
  c->is_zero = false;
  if (n > MAX_BLOCK_BYTES || !is_allowed(c, n)) return NULL;
  if (is_plain) {
    void *p = st__startup_alloc(n);
    return p ? p : malloc(n ? n : 1);
  }
  const int k = st__class_of(n, &size);
  const bool is_new = c->wants_zero && size >= ST_FIXED_new_zeros;
  void *p = ST_BLOCK_CACHE && !is_new ? take_block(c, k, size) : NULL;
  c->is_zero = !p && is_mapped(size);
  return p ? p : new_block(ST_BLOCK_CACHE ? size : n);
}

static void *fail(cache *c, size_t n, int64_t cached) {
  char most[64] = "";
  const int64_t live = live_bytes(c);
  if (get(&limit) != INT64_MAX) {
    snprintf(most, sizeof most, ", the limit is %" PRId64, get(&limit));
  }
  st__fail(ST_NO_MEMORY, "out of memory: %zu bytes requested; %" PRId64 " are "
           "live, %" PRId64 " were cached%s", n, live, cached, most);
  return NULL;
}

/* The block of a small class that this thread freed last, if neither a limit
 * nor a countdown has to be looked at; NULL: the usual path has to find one. */
static inline void *take_small(size_t n) {
  cache *c = own_cache;
  if (!ST_BLOCK_CACHE || n - 1 >= SMALL_BYTES || !c || fail_countdown > 0 ||
      get(&limit) != INT64_MAX) {
    return NULL;
  }
  const size_t k = (n - 1) / ALIGNMENT;
  block *b = c->blocks[k];
  if (!b) return NULL;
  c->blocks[k] = b->next;
  c->n[k]--;
  counter_add(&c->bytes, -(int64_t)(k + 1) * ALIGNMENT);
  c->is_zero = false;
  return b;
}

static void *allocate(bool is_plain, size_t n) {
  if (fail_countdown > 0 && --fail_countdown == 0) {
    st__fail(ST_NO_MEMORY, "out of memory: %zu bytes requested (a test)", n);
    return NULL;
  }
  cache *c = thread_cache();
  void *p = c ? find_block(c, is_plain, n) : NULL;
  if (__builtin_expect(p != NULL, 1)) return p;
  const int64_t cached = cached_bytes();
  if (c && cached > 0) {
    trim();
    p = find_block(c, is_plain, n);
  }
  return p ? p : fail(c, n, cached);
}

/* A thread without a cache could not allocate even that, so it has no
 * allocations to count. */
void st__count_slow(st_mem_kind kind, int64_t count, int64_t bytes) {
  cache *c = thread_cache();
  if (c) count_in(c, kind, count, bytes);
}

void *st__alloc_block(size_t n) {
  void *p = take_small(n);
  return p ? p : allocate(false, n);
}

/* The inverse of take_small; false if the cache is full. */
static inline bool keep_small(void *p, size_t n) {
  cache *c = own_cache;
  if (!ST_BLOCK_CACHE || n - 1 >= SMALL_BYTES || !c) return false;
  const size_t k = (n - 1) / ALIGNMENT;
  return keep_block(c, (int)k, (k + 1) * ALIGNMENT, p);
}

void st__free_block(void *p, size_t n) {
  size_t size;
  if (keep_small(p, n)) return;
  cache *c = thread_cache();
  const int k = st__class_of(n, &size);
  if (ST_BLOCK_CACHE && c && keep_block(c, k, size, p)) return;
  return_block(p, size);
}

void st__want_zero_blocks(bool want) {
  cache *c = thread_cache();
  if (c) c->wants_zero = want;
}

bool st__last_block_is_zero(void) { return own_cache && own_cache->is_zero; }

static void free_block(st_mem_kind kind, void *p, size_t n) {
  if (!uses_malloc(kind)) st__free_block(p, n);
  else if (!st__is_startup_memory(p)) free(p);
}

/* Storages, headers of views and generators are charged where they are made,
 * for as long as they live; the other blocks are charged here. */
static bool is_charged(st_mem_kind kind) {
  enum { THERE = 1 << ST_MEM_TENSOR | 1 << ST_MEM_STORAGE | 1 << ST_MEM_DATA |
                 1 << ST_MEM_GENERATOR };
  return st__may_have_limits() && !(THERE >> kind & 1);
}

static void *find_memory(st_mem_kind kind, size_t n) {
  void *p = uses_malloc(kind) ? NULL : take_small(n);
  return p ? p : allocate(uses_malloc(kind), n);
}

static void *charge(st_mem_kind kind, size_t n) {
  const bool is_scratch = kind == ST_MEM_SCRATCH;
  if (is_scratch && !st__limits_charge_scratch(n)) return NULL;
  void *p = find_memory(kind, n);
  if (!p && is_scratch) st__limits_credit_scratch(n);
  if (!p || is_scratch || st__block_add(p, n)) return p;
  free_block(kind, p, n);
  return NULL;
}

static void credit(st_mem_kind kind, const void *p, size_t n) {
  if (kind == ST_MEM_SCRATCH) st__limits_credit_scratch(n);
  else st__block_remove(p);
}

void *st__alloc(st_mem_kind kind, size_t n) {
  void *p = is_charged(kind) ? charge(kind, n) : find_memory(kind, n);
  if (p) st__count(kind, 1, (int64_t)n);
  return p;
}

void *st__alloc_zero(st_mem_kind kind, size_t n) {
  void *p = st__alloc(kind, n);
  if (p) memset(p, 0, n);
  return p;
}

void st__free(st_mem_kind kind, void *p, size_t n) {
  if (!p) return;
  st__count(kind, -1, -(int64_t)n);
  if (is_charged(kind)) credit(kind, p, n);
  free_block(kind, p, n);
}

char *st__strndup(st_mem_kind kind, const char *s, size_t n) {
  char *p = st__alloc(kind, n + 1);
  if (!p) return NULL;
  memcpy(p, s, n);
  p[n] = 0;
  return p;
}

/* -- Reading -------------------------------------------------------------- */

st_mem_stats st__memory_stats(st_mem_kind kind) {
  static const char *const names[] = {
#define NAME(id, name) name,
    ST_MEM_MAP(NAME)
#undef NAME
  };
  pthread_mutex_lock(&mutex);
  st_mem_stats s = {names[kind], total[kind].count, total[kind].bytes,
                    total[kind].peak};
  for (cache *c = caches; c; c = c->next) {
    s.count += get(&c->own[kind].count);
    s.bytes += get(&c->own[kind].bytes);
  }
  if (s.bytes > total[kind].peak) total[kind].peak = s.peak = s.bytes;
  pthread_mutex_unlock(&mutex);
  return s;
}

/* Live bytes of all threads; updates the peak. Under the mutex. */
static int64_t total_live(void) {
  int64_t live = get(&flushed_live);
  for (cache *c = caches; c; c = c->next) {
    for (int k = 0; k < ST_MEM_COUNT; k++) live += get(&c->own[k].bytes);
  }
  if (live > peak) peak = live;
  return live;
}

st_memory_totals st_memory_sum(void) {
  thread_cache(); /* sets cache_limit at the first use */
  st_memory_totals t = {.cached = cached_bytes(), .limit = get(&limit),
                        .cache_limit = get(&cache_limit)};
  pthread_mutex_lock(&mutex);
  t.live = total_live();
  t.peak = peak;
  pthread_mutex_unlock(&mutex);
  return t;
}

void st_memory_reset_peak(void) {
  pthread_mutex_lock(&mutex);
  peak = 0;
  total_live();
  for (int k = 0; k < ST_MEM_COUNT; k++) {
    int64_t live = total[k].bytes;
    for (cache *c = caches; c; c = c->next) live += get(&c->own[k].bytes);
    total[k].peak = live;
  }
  pthread_mutex_unlock(&mutex);
}

/* -- Limits --------------------------------------------------------------- */

void st__memory_set_limit(int64_t bytes) { limit = bytes; }

void st__memory_set_cache_limit(int64_t bytes) {
  thread_cache(); /* the first use must not overwrite it later */
  cache_limit = bytes;
  if (cached_bytes() > bytes) trim();
}

int64_t st_memory_trim(void) {
  const int64_t before = cached_bytes();
  trim();
  malloc_trim(0);
  return before - cached_bytes();
}

int64_t st_memory_fail_at(int64_t k) {
  const int64_t left = fail_countdown;
  fail_countdown = k;
  return left;
}
