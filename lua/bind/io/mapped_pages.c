/* Pages of mapped files: a pass over a tensor that is larger than memory has
 * them read before it needs them, and gives them back behind it.
 *
 * Note [Pages of mapped files]
 * The mappings of the process are in a list, so that the mapping of a tensor is
 * found by its address, whatever views lie between. Entries are reused and not
 * freed: a search needs no lock. A tensor keeps its mapping, so the entry that
 * is found does not change meanwhile.
 *
 * Releasing (MADV_DONTNEED) takes pages from this process; those of the file
 * stay in the system's cache as long as there is room, and an access maps them
 * again. A page of a private mapping that was written to is a copy which this
 * process alone has: it would be lost, so it is kept. /proc/self/pagemap tells
 * these pages from those of the file. Where it cannot be read, no page of a
 * private mapping is released, and the system takes them when memory runs
 * short. The system may map 2 MB of a file (a folio) for an access to one page
 * of it, released ones among them; so whole folios are released. A page that
 * another thread writes to for the first time while it is being released may
 * lose what is written.
 *
 * Note [Rows of mapped files]
 * An access to a page that is not in memory waits for the disk, and has the
 * system read as far ahead as a file is read in order (read_ahead_kb, 128 KB to
 * 8 MB). Where a file fits into memory, rows in any order have soon read all of
 * it that way. Of a larger file the rest is gone before it is used: 340 rows of
 * 256 bytes per second, where the reads of a batch that are begun together, of
 * its rows alone, gave 38,000 to 59,000 (64 rows of a file of 20 GB). A file is
 * larger if it has more than half of the memory, which is four times the limit
 * of the cache. Rows in order are left to the system.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/io.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; EINVAL before */
#endif

enum {
  ENTRIES = 512,       /* of the pagemap, read at once */
  MAX_RUNS = 1 << 16,  /* of a tensor; with more, it is one run */
  FOLIO = 1 << 21      /* bytes of a file that Linux may map at once */
};

/* -- The mappings --------------------------------------------------------- */

struct st__mapping {
  st__mapping *next;          /* constant */
  atomic_uintptr_t start;     /* 0: the entry is unused, 1: being filled in */
  atomic_size_t size;
  atomic_bool is_shared;
  atomic_bool is_lost;        /* Note [Truncated files] */
};

static _Atomic(st__mapping *) mappings;
static atomic_int lost_writes; /* mappings that are shared and lost */

/* An unused entry, or a new one; NULL without memory. */
static st__mapping *claim(void) {
  st__mapping *m = atomic_load(&mappings);
  for (; m; m = m->next) {
    uintptr_t unused = 0;
    if (atomic_compare_exchange_strong(&m->start, &unused, 1)) return m;
  }
  m = calloc(1, sizeof *m);
  if (!m) return NULL;
  atomic_init(&m->start, 1);
  m->next = atomic_load(&mappings);
  while (!atomic_compare_exchange_weak(&mappings, &m->next, m)) { }
  return m;
}

/* The mapping that has the byte at an address, or NULL. */
static st__mapping *find_mapping(uintptr_t p) {
  for (st__mapping *m = atomic_load(&mappings); m; m = m->next) {
    const uintptr_t start = atomic_load(&m->start);
    if (start <= 1 || p < start) continue;
    if (p - start < atomic_load(&m->size)) return m;
  }
  return NULL;
}

/* In a signal handler: replaces the pages from an address on by zeros; false if
 * no mapping has the address. */
static bool replace_rest(uintptr_t p) {
  st__mapping *m = find_mapping(p);
  if (!m) return false;
  p &= ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
  const size_t n = atomic_load(&m->start) + atomic_load(&m->size) - p;
  if (mmap((void *)p, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
           MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
    return false;
  }
  if (!atomic_exchange(&m->is_lost, true) && atomic_load(&m->is_shared)) {
    atomic_fetch_add(&lost_writes, 1);
  }
  return true;
}

st__mapping *st__mapping_add(const void *p, size_t n, bool is_shared) {
  st__mapping *m = claim();
  if (!m) return NULL;
  st__catch_faults(replace_rest);
  atomic_store(&m->size, n);
  atomic_store(&m->is_shared, is_shared);
  atomic_store(&m->is_lost, false);
  atomic_store(&m->start, (uintptr_t)p);
  return m;
}

void st__mapping_remove(st__mapping *m) {
  if (atomic_load(&m->is_lost) && atomic_load(&m->is_shared)) {
    atomic_fetch_sub(&lost_writes, 1);
  }
  atomic_store(&m->size, 0);
  atomic_store(&m->start, 0);
}

static bool has_lost_writes(void) { return atomic_load(&lost_writes) > 0; }

/* -- The runs of a tensor ------------------------------------------------- */

/* The dimensions of a tensor that are not in a run, the outermost last. */
typedef struct runs {
  int ndim;
  int64_t sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS]; /* in bytes */
  size_t nbytes;  /* of a run */
  uintptr_t page;
} runs;

/* A pass over the pages of a tensor. */
typedef struct pass {
  lua_State *L;
  uintptr_t start, end;  /* of the mapping */
  bool is_shared, is_lost;
  int pagemap;           /* a file, or -1 */
} pass;

/* Acts on pages; returns NULL, or the reason of a failure. */
typedef const char *action(const pass *p, uintptr_t from, uintptr_t to);

/* The bytes of n elements, one after the other. */
static int64_t bytes_of(const st_tensor *t, int64_t n) {
  const st_dtype_facts *f = st_dtype_facts_of(st_tensor_dtype(t));
  return f->bits ? (n * f->bits + 7) / 8 : n * f->size;
}

/* The dimensions from one on with more than one element of their own, by
 * stride. A row of elements of fewer than eight bits is no dimension. */
static void sort_dims(const st_tensor *t, int first, runs *r) {
  const int64_t *sizes = st_tensor_sizes(t), *strides = st_tensor_strides(t);
  const bool has_rows = st_dtype_is_subbyte(st_tensor_dtype(t));
  r->ndim = 0;
  for (int d = first; d < st_tensor_ndim(t) - has_rows; d++) {
    const int64_t stride = bytes_of(t, strides[d]);
    if (sizes[d] < 2 || stride == 0) continue;
    int at = r->ndim++;
    for (; at > 0 && r->strides[at - 1] > stride; at--) {
      r->strides[at] = r->strides[at - 1];
      r->sizes[at] = r->sizes[at - 1];
    }
    r->strides[at] = stride;
    r->sizes[at] = sizes[d];
  }
}

/* The runs of the dimensions of t from one on. Joins inner dimensions into one
 * run: those with gaps smaller than a page, and
 * more where there would be too many runs. */
static void plan_runs(const st_tensor *t, int first, runs *r) {
  int inner = 0;
  int64_t count = 1;
  r->page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const int last = st_tensor_ndim(t) - 1;
  const bool has_row = last >= first && st_dtype_is_subbyte(st_tensor_dtype(t));
  r->nbytes = (size_t)bytes_of(t, has_row ? st_tensor_sizes(t)[last] : 1);
  sort_dims(t, first, r);
  for (int d = 0; d < r->ndim; d++) count *= r->sizes[d];
  for (; inner < r->ndim; inner++) {
    const size_t stride = (size_t)r->strides[inner];
    if (stride >= r->nbytes + r->page && count <= MAX_RUNS) break;
    r->nbytes += stride * (size_t)(r->sizes[inner] - 1);
    count /= r->sizes[inner];
  }
  r->ndim -= inner;
  memmove(r->sizes, r->sizes + inner, (size_t)r->ndim * sizeof *r->sizes);
  memmove(r->strides, r->strides + inner, (size_t)r->ndim * sizeof *r->sizes);
}

/* Acts on the pages of each run; returns the first failure. */
static const char *visit_runs(const pass *p, const runs *r, uintptr_t at,
                              action *act) {
  int64_t index[ST_MAX_DIMS] = {0};
  for (;;) {
    const uintptr_t end = (at + r->nbytes + r->page - 1) & ~(r->page - 1);
    const char *why = act(p, at & ~(r->page - 1), end < p->end ? end : p->end);
    if (why) return why;
    int d = 0;
    for (; d < r->ndim; d++) {
      at += (uintptr_t)r->strides[d];
      if (++index[d] < r->sizes[d]) break;
      at -= (uintptr_t)(r->strides[d] * r->sizes[d]);
      index[d] = 0;
    }
    if (d == r->ndim) return NULL;
  }
}

/* -- Actions -------------------------------------------------------------- */

static const char *fetch(const pass *p, uintptr_t from, uintptr_t to) {
  (void)p;
  madvise((void *)from, to - from, MADV_WILLNEED);
  return NULL;
}

/* Reads pages into memory. EFAULT stands for an access that would end the
 * process. Kernels that cannot do it read them later. */
static const char *populate(const pass *p, uintptr_t from, uintptr_t to) {
  if (p->is_lost) return "the file was truncated";
  for (uintptr_t end; from < to; from = end) {
    end = to - from < ST_POLL_BYTES ? to : from + ST_POLL_BYTES;
    while (madvise((void *)from, end - from, MADV_POPULATE_READ) != 0) {
      if (errno == EFAULT) return "the file was truncated";
      if (errno != EINTR && errno != EAGAIN) return NULL;
      const char *why = st__poll_reason(p->L);
      if (why) return why;
    }
    const char *why = end < to ? st__poll_reason(p->L) : NULL;
    if (why) return why;
  }
  return NULL;
}

/* True for a page that is a copy of this process, in memory or swapped. */
static bool is_copy(uint64_t entry) {
  const bool is_present = entry >> 63 & 1, is_swapped = entry >> 62 & 1;
  const bool is_of_file = entry >> 61 & 1;
  return is_swapped || (is_present && !is_of_file);
}

/* Releases the pages of a private mapping that are not copies. */
static void discard_unwritten(const pass *p, uintptr_t from, uintptr_t to,
                              uintptr_t page) {
  uint64_t entries[ENTRIES];
  for (size_t n; from < to; from += n * page) {
    n = (to - from + page - 1) / page;
    if (n > ENTRIES) n = ENTRIES;
    const off_t offset = (off_t)(from / page * sizeof *entries);
    const ssize_t got = pread(p->pagemap, entries, n * sizeof *entries, offset);
    if (got != (ssize_t)(n * sizeof *entries)) return;
    for (size_t i = 0, end; i < n; i = end + 1) {
      for (end = i; end < n && !is_copy(entries[end]); end++) { }
      if (end > i) {
        madvise((void *)(from + i * page), (end - i) * page, MADV_DONTNEED);
      }
    }
  }
}

static const char *discard(const pass *p, uintptr_t from, uintptr_t to) {
  const uintptr_t ahead = (FOLIO - (to - p->start) % FOLIO) % FOLIO;
  from -= (from - p->start) % FOLIO;
  to = p->end - to < ahead ? p->end : to + ahead;
  if (p->is_shared) {
    madvise((void *)from, to - from, MADV_DONTNEED);
  } else if (p->pagemap >= 0) {
    discard_unwritten(p, from, to, (uintptr_t)sysconf(_SC_PAGESIZE));
  }
  return NULL;
}

/* -- Passes --------------------------------------------------------------- */

/* The mapping that has the elements of t, or NULL. */
static const st__mapping *mapping_of(const st_tensor *t) {
  const uintptr_t at = (uintptr_t)st_tensor_data(t);
  return at && st_tensor_numel(t) ? find_mapping(at) : NULL;
}

static bool has_lost_file(const st_tensor *t) {
  const st__mapping *m = mapping_of(t);
  return m && atomic_load(&m->is_lost) && atomic_load(&m->is_shared);
}

static pass begin(lua_State *L, const st__mapping *m) {
  const uintptr_t start = atomic_load(&m->start);
  return (pass){L, start, start + atomic_load(&m->size),
                atomic_load(&m->is_shared), atomic_load(&m->is_lost), -1};
}

/* Acts on the pages of the tensor in argument 1. Returns true; false if its
 * elements are not in a mapped file; or nil and the error. */
static int act_on(lua_State *L, action *act) {
  st__state *h = st__state_of(L);
  st_tensor *t = st__check_tensor(h, L, 1, "t");
  st__cannot_record(h, L, "it reads where a tensor is in memory");
  const st__mapping *m = mapping_of(t);
  lua_pushboolean(L, m != NULL);                   /* [+1] */
  if (!m) return 1;
  pass p = begin(L, m);
  if (act == discard && !p.is_shared) {
    p.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  }
  runs r;
  plan_runs(t, 0, &r);
  st_tensor_retain(t); /* a hook may free it */
  const char *why = visit_runs(&p, &r, (uintptr_t)st_tensor_data(t), act);
  st_tensor_release(&t);
  if (p.pagemap >= 0) close(p.pagemap);
  return why ? st__failed(L, why) : 1;
}

/* mapping(value): returns the mode, "r" or "r+", and the size in bytes of the
 * mapped file that has the elements of a tensor; nil if there is none */
static int mapping(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_tensor *t = st__to_tensor(h, L, 1);
  st__cannot_record(h, L, "it reads where a tensor is in memory");
  const st__mapping *m = t ? mapping_of(t) : NULL;
  if (!m) return 0;
  lua_pushstring(L, atomic_load(&m->is_shared) ? "r+" : "r"); /* [+1] */
  st__push_int(h, L, (int64_t)atomic_load(&m->size)); /* [+1] */
  return 2;
}

/* fetch_pages(t): begins to read the pages of t */
static int fetch_pages(lua_State *L) { return act_on(L, fetch); }

/* populate_pages(t): reads the pages of t */
static int populate_pages(lua_State *L) { return act_on(L, populate); }

/* discard_pages(t): releases the pages of t */
static int discard_pages(lua_State *L) { return act_on(L, discard); }

/* True if each row follows the one before. */
static bool are_in_order(lua_State *L, int idx, int n) {
  lua_Number last = 0;
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);                        /* [+1] */
    const lua_Number row = lua_tonumber(L, -1);
    lua_pop(L, 1);                                 /* [-1] */
    if (i > 1 && row != last + 1) return false;
    last = row;
  }
  return n > 1;
}

static void fetch_row(const st_tensor *t, const pass *p, const runs *r,
                      lua_Number row) {
  const int64_t stride = st_tensor_strides(t)[0];
  if (!(row >= 1 && row <= (lua_Number)st_tensor_sizes(t)[0])) return;
  const int64_t offset = bytes_of(t, ((int64_t)row - 1) * stride);
  visit_runs(p, r, (uintptr_t)st_tensor_data(t) + (uintptr_t)offset, fetch);
}

/* fetch_rows(t, rows): begins to read rows of t, a number or a list: Note [Rows
 * of mapped files] */
static int fetch_rows(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_tensor *t = st__check_tensor(h, L, 1, "t");
  st__cannot_record(h, L, "it reads where a tensor is in memory");
  const st__mapping *m = st_tensor_ndim(t) ? mapping_of(t) : NULL;
  if (!m || (int64_t)atomic_load(&m->size) / 2 < st_memory_sum().cache_limit) {
    return 0;
  }
  runs r;
  const pass p = begin(L, m);
  plan_runs(t, 1, &r);
  if (!lua_istable(L, 2)) {
    fetch_row(t, &p, &r, luaL_checknumber(L, 2));
    return 0;
  }
  const int n = (int)lua_objlen(L, 2);
  if (are_in_order(L, 2, n)) return 0;
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, i);                          /* [+1] */
    fetch_row(t, &p, &r, lua_tonumber(L, -1));
    lua_pop(L, 1);                                 /* [-1] */
  }
  return 0;
}

void st__open_mapped_pages(st__state *h, lua_State *L) {
  static const st__lost_files files = {has_lost_writes, has_lost_file};
  static const luaL_Reg functions[] = {
    {"mapping", mapping}, {"fetch_pages", fetch_pages},
    {"populate_pages", populate_pages}, {"discard_pages", discard_pages},
    {"fetch_rows", fetch_rows}, {NULL, NULL}
  };
  st__watch_lost_files(&files);
  st__set_functions(h, L, functions);
}
