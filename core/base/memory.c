/* Counted allocation: size classes, a cache per thread, one for all threads.
 *
 * Note [Size classes]
 * The size of a block follows from the bytes asked for alone: up to 1 KB the
 * next multiple of 64, beyond that eight steps per doubling, so at most an
 * eighth is wasted. What is given back says how many bytes it was asked for,
 * so a block needs no header, and any block of a class serves any request of
 * that class.
 *
 * Note [Caches]
 * Blocks up to 256 KB go back to the thread that frees them, larger ones and
 * those that it has no room for into one cache under a mutex: a collection
 * frees many at once. Both hand out the block that was freed last, which is
 * the one that the processor still has. What exceeds the bounds goes back to
 * the C library. A build for a checker of memory caches nothing
 * (ST_BLOCK_CACHE is 0): it must see every block come and go.
 *
 * Note [Counting]
 * A thread counts in its own cache, without atomic read-modify-write, and adds
 * to the process's figures when it has gathered a megabyte. A reader sums up.
 */

#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/status.h"

enum {
  ALIGNMENT = 64,
  SMALL_CLASSES = 80,          /* up to 256 KB */
  CLASSES = 272,               /* up to 2^41 bytes */
  THREAD_BLOCKS = 1024,        /* of a class */
  THREAD_BYTES = 4 << 20,      /* of all classes */
  SHARED_FROM = 4 << 10,       /* bytes: smaller ones are not worth a lock */
  KEPT_ALWAYS = 64 << 20,      /* of shared blocks; more where more is used */
  HUGE_PAGE = 2 << 20,
  GATHERED = 1 << 20           /* bytes a thread counts by itself */
};

/* -- Size classes --------------------------------------------------------- */

/* Units of 64 bytes: 1 to 16 are their own class, then (8 + q) << shift. */
static int class_of(size_t n, size_t *size) {
  const size_t units = n ? (n + 63) / 64 : 1;
  if (units <= 16) {
    *size = units * 64;
    return (int)units - 1;
  }
  const int shift = 60 - __builtin_clzll(units - 1);
  const size_t q = (units - 1) >> shift; /* 8 to 15 */
  *size = ((q + 1) << shift) * 64;
  return 16 + (shift - 1) * 8 + (int)(q - 8);
}

/* -- Figures -------------------------------------------------------------- */

typedef struct figures { _Atomic int64_t count, bytes; } figures;

typedef struct block { struct block *next; } block;

/* A thread's blocks and counts; the thread alone writes them. */
typedef struct cache cache;
struct cache {
  cache *next;              /* all that ever were */
  bool taken;               /* by a live thread */
  size_t bytes;             /* of blocks */
  figures own[ST_MEM_COUNT];
  int n[SMALL_CLASSES];
  block *blocks[SMALL_CLASSES];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static cache *caches;
static struct {
  int64_t count, bytes, peak;
} total[ST_MEM_COUNT];      /* under the mutex */
static struct {
  block *blocks[CLASSES];
  size_t bytes, most;       /* most: settled at the first use */
} shared;                   /* under the mutex */

static _Thread_local cache *mine;
static _Thread_local int64_t fail_in; /* allocations until one fails */

/* Single writer: a load and a store do. */
static void bump(_Atomic int64_t *x, int64_t by) {
  atomic_store_explicit(
    x, atomic_load_explicit(x, memory_order_relaxed) + by,
    memory_order_relaxed);
}

/* Under the mutex. */
static void gather(cache *c, int kind) {
  figures *f = &c->own[kind];
  const int64_t count = atomic_load(&f->count), bytes = atomic_load(&f->bytes);
  bump(&f->count, -count);
  bump(&f->bytes, -bytes);
  total[kind].count += count;
  total[kind].bytes += bytes;
  if (total[kind].bytes > total[kind].peak) {
    total[kind].peak = total[kind].bytes;
  }
}

static void count_in(cache *c, st_mem_kind kind, int64_t count,
                     int64_t bytes) {
  figures *f = &c->own[kind];
  bump(&f->count, count);
  bump(&f->bytes, bytes);
  const int64_t own = atomic_load_explicit(&f->bytes, memory_order_relaxed);
  if (own < GATHERED && own > -GATHERED) return;
  pthread_mutex_lock(&mutex);
  gather(c, (int)kind);
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
  c->bytes = 0;
}

/* A later destructor of the thread may take a cache again. */
static void leave(void *p) {
  cache *c = p;
  empty_cache(c);
  pthread_mutex_lock(&mutex);
  for (int k = 0; k < ST_MEM_COUNT; k++) gather(c, k);
  c->taken = false;
  pthread_mutex_unlock(&mutex);
  mine = NULL;
}

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

/* A quarter of what there is. */
static size_t settle_most(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  size_t bytes = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
  FILE *f = fopen("/sys/fs/cgroup/memory.max", "r");
  unsigned long long limit;
  if (f && fscanf(f, "%llu", &limit) == 1 && limit < bytes) {
    bytes = (size_t)limit;
  }
  if (f) fclose(f);
  return bytes / 4;
}

static void set_up(void) {
  has_exit_key = pthread_key_create(&exit_key, leave) == 0;
  shared.most = settle_most();
  pthread_atfork(lock, unlock, unlock);
}

static cache *take_cache(void) {
  pthread_once(&once, set_up);
  pthread_mutex_lock(&mutex);
  cache *c = caches;
  while (c && c->taken) c = c->next;
  if (!c && (c = calloc(1, sizeof *c))) {
    c->next = caches;
    caches = c;
  }
  if (c) c->taken = true;
  pthread_mutex_unlock(&mutex);
  if (c && has_exit_key) pthread_setspecific(exit_key, c);
  return mine = c;
}

static inline cache *my_cache(void) {
  cache *c = mine;
  return __builtin_expect(c != NULL, 1) ? c : take_cache();
}

/* -- Blocks --------------------------------------------------------------- */

static void *new_block(size_t size) {
  void *p = NULL;
  const size_t align = size >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
  if (posix_memalign(&p, align, size) != 0) return NULL;
  if (size >= HUGE_PAGE) {
    madvise(p, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
  }
  return p;
}

static void *take_shared(int k, size_t size) {
  pthread_mutex_lock(&mutex);
  block *b = shared.blocks[k];
  if (b) {
    shared.blocks[k] = b->next;
    shared.bytes -= size;
  }
  pthread_mutex_unlock(&mutex);
  return b;
}

static bool keep_shared(int k, size_t size, block *b) {
  pthread_mutex_lock(&mutex);
  const size_t used = (size_t)total[ST_MEM_DATA].peak / 2 + KEPT_ALWAYS;
  const size_t most = used < shared.most ? used : shared.most;
  const bool keeps = shared.bytes + size <= most;
  if (keeps) {
    b->next = shared.blocks[k];
    shared.blocks[k] = b;
    shared.bytes += size;
  }
  pthread_mutex_unlock(&mutex);
  return keeps;
}

static void *take_block(cache *c, int k, size_t size) {
  block *b = k < SMALL_CLASSES ? c->blocks[k] : NULL;
  if (!b) return size >= SHARED_FROM ? take_shared(k, size) : NULL;
  c->blocks[k] = b->next;
  c->n[k]--;
  c->bytes -= size;
  return b;
}

static bool keep_block(cache *c, int k, size_t size, block *b) {
  if (k >= SMALL_CLASSES || c->n[k] >= THREAD_BLOCKS ||
      c->bytes + size > THREAD_BYTES) {
    return size >= SHARED_FROM && keep_shared(k, size, b);
  }
  b->next = c->blocks[k];
  c->blocks[k] = b;
  c->n[k]++;
  c->bytes += size;
  return true;
}

void st__memory_trim(void) {
  block *list = NULL;
  if (mine) empty_cache(mine);
  pthread_mutex_lock(&mutex);
  for (int k = 0; k < CLASSES; k++) {
    while (shared.blocks[k]) {
      block *b = shared.blocks[k];
      shared.blocks[k] = b->next;
      b->next = list;
      list = b;
    }
  }
  shared.bytes = 0;
  pthread_mutex_unlock(&mutex);
  for (block *next; list; list = next) {
    next = list->next;
    free(list);
  }
}

int64_t st__memory_cached(void) {
  pthread_mutex_lock(&mutex);
  int64_t bytes = (int64_t)shared.bytes;
  pthread_mutex_unlock(&mutex);
  return bytes + (mine ? (int64_t)mine->bytes : 0);
}

/* -- Allocation ----------------------------------------------------------- */

/* What is kept for good needs neither classes nor a line of its own. */
static bool is_plain(st_mem_kind kind) { return kind == ST_MEM_REGISTRY; }

static void *find_block(cache *c, st_mem_kind kind, size_t n) {
  size_t size;
  if (n > (size_t)1 << 40) return NULL;
  if (is_plain(kind)) return malloc(n ? n : 1);
  const int k = class_of(n, &size);
  void *p = ST_BLOCK_CACHE ? take_block(c, k, size) : NULL;
  if (!p && (p = new_block(ST_BLOCK_CACHE ? size : n + !n)) == NULL) {
    st__memory_trim();
    p = new_block(ST_BLOCK_CACHE ? size : n + !n);
  }
  return p;
}

static void *fail(size_t n) {
  const long long live = (long long)st__memory_stats(ST_MEM_DATA).bytes;
  st__fail(ST_NO_MEMORY, "out of memory: %zu bytes asked for, %lld bytes of "
           "element data are live", n, live);
  return NULL;
}

void *st__alloc(st_mem_kind kind, size_t n) {
  if (fail_in > 0 && --fail_in == 0) {
    st__fail(ST_NO_MEMORY, "out of memory: %zu bytes asked for (a test)", n);
    return NULL;
  }
  cache *c = my_cache();
  void *p = c ? find_block(c, kind, n) : NULL;
  if (!p) return fail(n);
  count_in(c, kind, 1, (int64_t)n);
  return p;
}

void *st__alloc_zero(st_mem_kind kind, size_t n) {
  void *p = st__alloc(kind, n);
  if (p) memset(p, 0, n);
  return p;
}

void st__free(st_mem_kind kind, void *p, size_t n) {
  size_t size;
  if (!p) return;
  cache *c = my_cache(); /* NULL: not even that much memory is left */
  if (c) count_in(c, kind, -1, -(int64_t)n);
  if (!ST_BLOCK_CACHE || !c || is_plain(kind)) {
    free(p);
    return;
  }
  const int k = class_of(n, &size);
  if (!keep_block(c, k, size, p)) free(p);
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
    s.count += atomic_load_explicit(&c->own[kind].count,
                                    memory_order_relaxed);
    s.bytes += atomic_load_explicit(&c->own[kind].bytes,
                                    memory_order_relaxed);
  }
  if (s.bytes > total[kind].peak) total[kind].peak = s.peak = s.bytes;
  pthread_mutex_unlock(&mutex);
  return s;
}

int64_t st__memory_fail_at(int64_t k) {
  const int64_t left = fail_in;
  fail_in = k;
  return left;
}
