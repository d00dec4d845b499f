/* Counted allocation over the C library's aligned allocator. */

#include "base/memory.h"

#include <stdatomic.h>
#include <string.h>

#include "base/status.h"

enum { ALIGNMENT = 64 };

typedef struct counter { _Atomic int64_t count, bytes, peak; } counter;

static counter counters[ST_MEM_COUNT];
static _Thread_local int64_t fail_in; /* allocations until one fails */

static void count_in(st_mem_kind kind, int64_t n) {
  counter *c = &counters[kind];
  atomic_fetch_add_explicit(&c->count, 1, memory_order_relaxed);
  const int64_t now =
    atomic_fetch_add_explicit(&c->bytes, n, memory_order_relaxed) + n;
  int64_t peak = atomic_load_explicit(&c->peak, memory_order_relaxed);
  while (now > peak && !atomic_compare_exchange_weak_explicit(
           &c->peak, &peak, now, memory_order_relaxed,
           memory_order_relaxed)) {}
}

void *st__alloc(st_mem_kind kind, size_t n) {
  void *p = NULL;
  if (fail_in > 0 && --fail_in == 0) {
    st__fail(ST_NO_MEMORY, "out of memory: %zu bytes asked for (a test)", n);
    return NULL;
  }
  /* Small blocks that are not element data need no cache line of their own. */
  if (n <= PTRDIFF_MAX - ALIGNMENT) {
    if (kind != ST_MEM_DATA) {
      p = malloc(n ? n : 1);
    } else if (posix_memalign(&p, ALIGNMENT, n ? n : 1) != 0) {
      p = NULL;
    }
  }
  if (!p) {
    st__fail(ST_NO_MEMORY, "out of memory: %zu bytes asked for, "
             "%lld bytes of element data are live", n,
             (long long)counters[ST_MEM_DATA].bytes);
    return NULL;
  }
  count_in(kind, (int64_t)n);
  return p;
}

void *st__alloc_zero(st_mem_kind kind, size_t n) {
  void *p = st__alloc(kind, n);
  if (p) memset(p, 0, n);
  return p;
}

void st__free(st_mem_kind kind, void *p, size_t n) {
  if (!p) return;
  counter *c = &counters[kind];
  atomic_fetch_sub_explicit(&c->count, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&c->bytes, (int64_t)n, memory_order_relaxed);
  free(p);
}

char *st__strndup(st_mem_kind kind, const char *s, size_t n) {
  char *p = st__alloc(kind, n + 1);
  if (!p) return NULL;
  memcpy(p, s, n);
  p[n] = 0;
  return p;
}

st_mem_stats st__memory_stats(st_mem_kind kind) {
  static const char *const names[] = {
#define NAME(id, name) name,
    ST_MEM_MAP(NAME)
#undef NAME
  };
  const counter *c = &counters[kind];
  return (st_mem_stats){names[kind], c->count, c->bytes, c->peak};
}

int64_t st__memory_fail_at(int64_t k) {
  const int64_t left = fail_in;
  fail_in = k;
  return left;
}
