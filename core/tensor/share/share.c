/* Tensors shared by tokens.
 *
 * Note [Tokens]
 * A token is a string that one state of the process passes to another. It is
 * the key of an entry in a table of the process; it contains no address. Its
 * 128 random bits cannot be guessed and distinguish the tokens that parent and
 * child make after a fork. Entries that exist at the fork are copied like all
 * memory: the child has them, with copies of the elements.
 *
 * Note [Shared storages]
 * Each side has its own header, so shapes may change freely, and reference
 * counts are atomic, so either side may release its header first. One side must
 * not move the elements while the other reads them: a storage that was ever
 * shared cannot grow. Users must synchronise writes themselves.
 */

#include "tensor/share/share.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/memory.h"

enum { BUCKETS = 256 }; /* entries are few: most tokens are used at once */

typedef struct entry {
  struct entry *next;
  st_tensor *tensor;
  int64_t times;   /* attachments left; 0: no limit */
  char token[ST__TOKEN_SIZE];
} entry;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static entry *buckets[BUCKETS]; /* under the mutex */

/* -- Forks ---------------------------------------------------------------- */

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

static void register_atfork(void) { pthread_atfork(lock, unlock, unlock); }

/* -- Tokens --------------------------------------------------------------- */

static st_status random_bytes(void *p, size_t n) {
  ssize_t got;
  do got = getrandom(p, n, 0); while (got < 0 && errno == EINTR);
  if (got == (ssize_t)n) return ST_OK;
  return st__fail(ST_BAD_STATE, "cannot get random bytes for a token: "
                  "%s", strerror(errno));
}

static st_status make_token(char token[ST__TOKEN_SIZE]) {
  unsigned long long nonce[2];
  ST_TRY(random_bytes(nonce, sizeof nonce));
  snprintf(token, ST__TOKEN_SIZE, "tensor-%d-%016llx%016llx", (int)getpid(),
           nonce[0], nonce[1]);
  return ST_OK;
}

/* The error for a token without an entry. */
static st_status fail_unknown(const char *token) {
  int pid;
  if (sscanf(token, "tensor-%d-", &pid) != 1) {
    return st__fail(ST_NOT_FOUND, "no tensor is shared by that name: it is "
                    "not a token");
  }
  if (pid != (int)getpid()) {
    return st__fail(ST_NOT_FOUND, "no tensor is shared by that token: it is "
                    "from process %d, this is %d", pid, (int)getpid());
  }
  return st__fail(ST_NOT_FOUND, "no tensor is shared by that token any more: "
                  "its uses are spent, or it was unshared");
}

/* -- Entries -------------------------------------------------------------- */

/* The head of the token's bucket. */
static entry **bucket(const char *token) {
  uint32_t hash = 2166136261u;
  for (; *token; token++) hash = (hash ^ (unsigned char)*token) * 16777619u;
  return &buckets[hash % BUCKETS];
}

/* The link to the token's entry, or to NULL. The caller holds the mutex. */
static entry **find(const char *token) {
  entry **link = bucket(token);
  while (*link && strcmp((*link)->token, token) != 0) link = &(*link)->next;
  return link;
}

/* The caller holds the mutex. */
static entry *unlink_entry(entry **link) {
  entry *e = *link;
  *link = e->next;
  return e;
}

/* The caller does not hold the mutex: nothing is allocated or freed under it,
 * so that it has no lock order with other mutexes. */
static void destroy(entry *e) {
  st__tensor_release(&e->tensor);
  st__free(ST_MEM_SHARED, e, sizeof *e);
}

/* A new header with t's geometry and storage. */
static st_status copy_header(const st_tensor *t, st_tensor **out) {
  return st__tensor_view(t, t->ndim, t->sizes, t->strides, t->offset, out);
}

/* -- Sharing -------------------------------------------------------------- */

static st_status check(const st_tensor *t, int64_t times) {
  if (times < 0) {
    return st__fail(ST_BAD_VALUE, "a tensor cannot be shared %" PRId64 " times",
                    times);
  }
  ST_TRY(st__check_layout(t));
  if (t->device != ST_DEVICE_CPU) {
    return st__fail(ST_BAD_STATE, "only tensors on the CPU can be shared, "
                    "this one is on '%s'",
                    st__device_name(t->device));
  }
  if (!t->storage->is_bound) return ST_OK;
  return st__fail(ST_BAD_STATE, "this tensor's memory is freed with the state "
                  "that created it: share a clone");
}

st_status st__share(const st_tensor *t, int64_t times,
                    char token[ST__TOKEN_SIZE]) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  ST_TRY(check(t, times));
  entry *e = st__alloc_zero(ST_MEM_SHARED, sizeof *e);
  if (!e) return ST_NO_MEMORY;
  e->times = times;
  st_status status = make_token(e->token);
  if (status == ST_OK) status = copy_header(t, &e->tensor);
  if (status != ST_OK) {
    destroy(e);
    return status;
  }
  memcpy(token, e->token, sizeof e->token);
  atomic_store_explicit(&t->storage->is_shared, true, memory_order_relaxed);
  pthread_once(&once, register_atfork);
  lock();
  entry **head = bucket(e->token);
  e->next = *head;
  *head = e;
  unlock();
  return ST_OK;
}

/* The token's tensor, retained, or NULL. */
static st_tensor *look_up(const char *token) {
  lock();
  entry *e = *find(token);
  st_tensor *t = e ? e->tensor : NULL;
  if (t) st__tensor_retain(t);
  unlock();
  return t;
}

/* Counts one use of the token; false if the entry was removed meanwhile. */
static bool use(const char *token) {
  entry *spent = NULL;
  lock();
  entry **link = find(token);
  const bool is_there = *link != NULL;
  if (is_there && (*link)->times > 0 && --(*link)->times == 0) {
    spent = unlink_entry(link);
  }
  unlock();
  if (spent) destroy(spent);
  return is_there;
}

st_status st_attach(const char *token, st_tensor **out) {
  st_tensor *made = NULL, *shared = look_up(token);
  if (!shared) return fail_unknown(token);
  const st_status status = copy_header(shared, &made);
  st__tensor_release(&shared);
  ST_TRY(status);
  if (!use(token)) {
    st__tensor_release(&made);
    return fail_unknown(token);
  }
  *out = made;
  return ST_OK;
}

bool st_unshare(const char *token) {
  entry *e = NULL;
  lock();
  entry **link = find(token);
  if (*link) e = unlink_entry(link);
  unlock();
  if (e) destroy(e);
  return e != NULL;
}
