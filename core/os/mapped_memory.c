/* Memory that the kernel maps for the engine alone.
 *
 * Note [Mapped blocks]
 * A block of 2 MB or more is a mapping of its own, aligned for huge pages. The
 * C library's heap would give it pages that were in use before, which stay
 * small. A new mapping is zero, so st.zeros need not write it. The gap that
 * alignment leaves between blocks matters: the operands of a map that are
 * exactly 256 MB apart take turns in the same banks of memory, and 67M elements
 * of a + b took 56 ms instead of 24.
 *
 * Note [Memory for start-up]
 * st_init makes some thousand small objects that live as long as the process.
 * Each page of the C library's heap that they use for the first time would be
 * a fault, which takes longer than what is done with the page. So they come
 * from one mapping, whose pages the kernel provides in a single call.
 */

#include "os/mapped_memory.h"

#include <sys/mman.h>
#include <unistd.h>

/* -- Blocks --------------------------------------------------------------- */

static char *map(size_t size) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static size_t round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/* The bytes of the mapping of a block. */
static size_t mapped_bytes(size_t size) {
  return round_up(size, (size_t)sysconf(_SC_PAGESIZE));
}

/* Maps a huge page more than needed and unmaps what is before and behind. */
static char *map_aligned(size_t size) {
  char *p = map(size + ST_MAPPED_MIN);
  if (!p) return NULL;
  char *at = (char *)round_up((uintptr_t)p, ST_MAPPED_MIN);
  if (at > p) munmap(p, (size_t)(at - p));
  munmap(at + size, (size_t)(p + ST_MAPPED_MIN - at));
  return at;
}

void *st__map_block(size_t size) {
  const size_t bytes = mapped_bytes(size);
  char *p = map_aligned(bytes);
  if (!p) p = map(bytes);
  if (p) madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

void st__unmap_block(void *p, size_t size) { munmap(p, mapped_bytes(size)); }

/* -- Memory for start-up -------------------------------------------------- */

enum { START_BYTES = 704 << 10 };

static struct {
  char *memory, *end;
  char *free;    /* the next object, or NULL: closed */
} startup;

void st__populate(void *p, size_t n) {
#ifdef MADV_POPULATE_WRITE
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const uintptr_t from = round_up((uintptr_t)p, page);
  const uintptr_t to = ((uintptr_t)p + n) / page * page;
  if (from < to) madvise((void *)from, to - from, MADV_POPULATE_WRITE);
#else
  (void)p, (void)n;
#endif
}

void st__open_startup_memory(void) {
  if (!ST_BLOCK_CACHE || !(startup.memory = map(START_BYTES))) return;
  startup.free = startup.memory;
  startup.end = startup.memory + START_BYTES;
  st__populate(startup.memory, START_BYTES);
}

/* Returns what is left. */
void st__close_startup_memory(void) {
  if (!startup.free) return;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *used = (char *)round_up((uintptr_t)startup.free, page);
  if (used < startup.end) munmap(used, (size_t)(startup.end - used));
  startup.end = used;
  startup.free = NULL;
}

void *st__startup_alloc(size_t n) {
  char *p = startup.free;
  const size_t size = round_up(n ? n : 1, 16);
  if (!p || size > (size_t)(startup.end - p)) return NULL;
  startup.free += size;
  return p;
}

bool st__is_startup_memory(const void *p) {
  return (uintptr_t)p - (uintptr_t)startup.memory <
         (uintptr_t)(startup.end - startup.memory);
}
