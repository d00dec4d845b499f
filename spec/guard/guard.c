/* The allocator of the library for guard pages: every block of the engine is on
 * pages of its own, next to pages that nobody can read or write. A kernel that
 * touches a byte beside a tensor ends the process, also one that no compiler
 * has instrumented: machine code, assembly, another library.
 *
 * STRIDED_GUARD says on which side the block touches a page: "end" (the
 * default), so that its last byte is the last one before the page, or "start",
 * so that its first byte is the first one behind it. The bytes on the other
 * side, up to the next page, hold a pattern, and are compared when the block
 * is freed. With STRIDED_GUARD_FREED=0 the pages of freed blocks stay readable
 * until they are used again, at once: two system calls less per block.
 *
 * base/memory.c is compiled with these names for posix_memalign and free. A
 * block can start at any address that its size divides: 3 bytes start
 * anywhere, 16 bytes at a multiple of 16.
 */

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int guard_memalign(void **out, size_t align, size_t n);
void guard_free(void *p);

#if defined(__x86_64__)
enum { PAGE = 4096 };
#else
enum { PAGE = 65536 }; /* or a part of that */
#endif

enum {
  FEW = 16,        /* pages of blocks whose pages are used again */
  KEPT = 512,      /* freed blocks of a size that stay unreadable */
  MOST = 20000,    /* live blocks; Linux allows a process 65530 mappings, and
                      a block takes two */
  FILL = 0xa5      /* in fresh blocks, and beside them */
};

/* Addresses are not used twice, except those of small blocks. */
static const size_t ARENA = (size_t)1 << 44, RECORDS = (size_t)1 << 32;

/* What is known about the block that begins on a page. */
typedef struct record {
  bool is_live;    /* a block begins here and is not freed */
  uint64_t bytes;
  uint64_t next;   /* freed blocks of a size: the page of the next one */
} record;

typedef struct queue { uint64_t first, last; int n; } queue;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *arena;
static uint64_t used = 1;      /* pages */
static int live;               /* blocks */
static record *records;        /* by page */
static queue freed[FEW + 1];   /* by pages, the oldest first */
static bool at_start;
static bool hides_freed = true;
static struct sigaction earlier;

/* -- Reports -------------------------------------------------------------- */

static void write_text(const char *text) {
  const ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
}

static void show_stack(void) {
  void *frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
}

static uint64_t page_of(const void *p) {
  return (uint64_t)((const char *)p - arena) / PAGE;
}

static char *block_at(uint64_t page) {
  char *p = arena + page * PAGE;
  const uint64_t over = records[page].bytes % PAGE;
  return at_start || over == 0 ? p : p + PAGE - over;
}

/* The last block that begins at or before the page, if one does. */
static uint64_t block_before(uint64_t page) {
  while (page > 0 && !records[page].is_live) page--;
  return page;
}

static void on_fault(int signal, siginfo_t *info, void *context) {
  (void)context;
  char text[200];
  const char *at = info->si_addr;
  if (arena && at >= arena && at < arena + ARENA) {
    const uint64_t page = block_before(page_of(at));
    const uint64_t next = page_of(at) + 1;
    if (at_start && next < used && records[next].is_live) {
      snprintf(text, sizeof text, "guard: an access %lld bytes before a block "
               "of %llu bytes\n", (long long)(block_at(next) - at),
               (unsigned long long)records[next].bytes);
    } else {
      snprintf(text, sizeof text, "guard: an access at byte %lld of a block of "
               "%llu bytes\n", (long long)(at - block_at(page)),
               (unsigned long long)records[page].bytes);
    }
    write_text(text);
    show_stack();
  }
  sigaction(signal, &earlier, NULL); /* the instruction runs once more */
}

static void give_up(const char *why, uint64_t bytes) {
  char text[200];
  snprintf(text, sizeof text, "guard: %s a block of %llu bytes\n", why,
           (unsigned long long)bytes);
  write_text(text);
  show_stack();
  abort();
}

/* -- The arena ------------------------------------------------------------ */

static void *reserve(size_t n, int access) {
  void *p = mmap(NULL, n, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

__attribute__((constructor)) static void open_arena(void) {
  const char *side = getenv("STRIDED_GUARD");
  const char *hide = getenv("STRIDED_GUARD_FREED");
  void *frame;
  at_start = side && strcmp(side, "start") == 0;
  hides_freed = !hide || strcmp(hide, "0") != 0;
  records = reserve(RECORDS * sizeof *records, PROT_READ | PROT_WRITE);
  arena = records ? reserve(ARENA, PROT_NONE) : NULL;
  if (!arena) {
    write_text("guard: there are no addresses left\n");
    abort();
  }
  pthread_atfork(lock, unlock, unlock);
  backtrace(&frame, 1); /* loads what it needs */
  const struct sigaction action = {.sa_sigaction = on_fault,
                                   .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, &earlier);
}

/* -- Blocks --------------------------------------------------------------- */

static uint64_t pages_of(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE; }

/* Readable pages, 0 if there are none left; the one behind them never is
 * readable, and neither is the one before them. */
static uint64_t take_pages(uint64_t n) {
  queue *q = n <= FEW ? &freed[n] : NULL;
  uint64_t page = used;
  if (q && q->n > (hides_freed ? KEPT : 0)) {
    page = q->first;
    q->first = records[page].next;
    q->n--;
    if (!hides_freed) return page;
  } else if (used + n + 1 > ARENA / PAGE) {
    return 0;
  } else {
    used += n + 1;
  }
  const int access = PROT_READ | PROT_WRITE;
  return mprotect(arena + page * PAGE, n * PAGE, access) == 0 ? page : 0;
}

static void give_pages(uint64_t page, uint64_t n) {
  if (n > FEW) return;
  queue *q = &freed[n];
  if (q->n++ == 0) q->first = page;
  else records[q->last].next = page;
  q->last = page;
}

/* A block that is one too many comes from the C library. */
static int unguarded(void **out, size_t align, size_t n) {
  *out = aligned_alloc(align, (n + align - 1) / align * align);
  return *out ? 0 : ENOMEM;
}

int guard_memalign(void **out, size_t align, size_t n) {
  const uint64_t count = pages_of(n);
  lock();
  const uint64_t page = live < MOST ? take_pages(count) : 0;
  char *first = arena + page * PAGE;
  if (page == 0) {
    unlock();
    return unguarded(out, align, n);
  }
  live++;
  records[page] = (record){.is_live = true, .bytes = n};
  unlock();
  if (count <= FEW) memset(first, FILL, count * PAGE);
  else if (!at_start) memset(first, FILL, PAGE);
  else memset(first + (count - 1) * PAGE, FILL, PAGE);
  *out = block_at(page);
  return 0;
}

static void check_fill(const char *p, const char *end, const char *why,
                       uint64_t bytes) {
  for (; p < end; p++) {
    if ((unsigned char)*p != FILL) give_up(why, bytes);
  }
}

void guard_free(void *p) {
  if (!p || (char *)p < arena || (char *)p >= arena + ARENA) {
    free(p);
    return;
  }
  const uint64_t page = page_of(p), bytes = records[page].bytes;
  const uint64_t n = pages_of(bytes);
  char *first = arena + page * PAGE;
  if (!records[page].is_live || p != block_at(page)) {
    give_up("an address is freed that is not the start of", bytes);
  }
  check_fill(first, p, "a write before", bytes);
  check_fill((char *)p + bytes, first + n * PAGE, "a write behind", bytes);
  if (n > FEW) {
    mmap(first, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
         MAP_NORESERVE | MAP_FIXED, -1, 0);
  } else if (hides_freed) {
    mprotect(first, n * PAGE, PROT_NONE);
  }
  lock();
  live--;
  records[page].is_live = false;
  give_pages(page, n);
  unlock();
}
