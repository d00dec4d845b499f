/* The thread team over OpenMP.
 *
 * Note [Forked children]
 * A child of fork has libgomp's data but none of its threads, and hangs at
 * its first parallel region. The pool is therefore paused before a fork, and
 * a child stays at one thread unless it asks for more.
 *
 * Note [Shares and pieces]
 * Every member of a team has a share, a contiguous range, so that memory is
 * walked as the hardware likes it and the next operator finds in a core's
 * cache what the last one left there. A share is taken piece by piece, and
 * who is through with his own goes on with those of the others: a member that
 * is slow, or not there yet, leaves no more undone than the piece it is at.
 *
 * Note [Late members]
 * OpenMP ends a region when every member has arrived, even one with nothing
 * left to do. On a busy machine that may have to wait for a processor for some
 * milliseconds, a thousand times what a small job takes. So regions are
 * watched: after one that took longer than the caller alone would have,
 * callers work alone for a multiple of that loss, and call the team only for
 * what a job has left after several such losses. The multiple grows as long
 * as the team stays late and bounds what waiting can cost to a few
 * hundredths. All that decides who works, never what is computed.
 */

#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/status.h"

#if ST_OPENMP
#include <omp.h>

static void pause_team(void) { omp_pause_resource_all(omp_pause_soft); }
#else
/* The caller is the whole team and takes one piece after the other. */
static int omp_in_parallel(void) { return 0; }
static int omp_get_max_threads(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
static void pause_team(void) {}
#endif

enum {
  MAX_THREADS = 256,
  PIECES = 16, /* of a share, at most */
  ALIGN = 64,  /* units: pieces of many begin at a multiple, and with it at a
                  cache line of an aligned tensor */
};

/* -- How many ------------------------------------------------------------- */

static _Atomic int num_threads; /* 0: not decided yet */

static void before_fork(void) {
  if (!omp_in_parallel()) pause_team();
}

static void in_child(void) { num_threads = 1; }

static int decide(void) {
  const char *asked = getenv("STRIDED_NUM_THREADS");
  int n = asked ? atoi(asked) : 0;
  if (n < 1) n = omp_get_max_threads();
  return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n;
}

static void install(void) {
  int unset = 0;
  pthread_atfork(before_fork, NULL, in_child);
  atomic_compare_exchange_strong(&num_threads, &unset, decide());
}

int st__num_threads(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  return num_threads;
}

st_status st__set_num_threads(int n) {
  if (n < 1 || n > MAX_THREADS) {
    return st__fail(ST_BAD_VALUE, "the number of threads must be 1 to %d, "
                    "not %d", MAX_THREADS, n);
  }
  st__num_threads();
  num_threads = n;
  return ST_OK;
}

bool st__in_parallel(void) { return omp_in_parallel(); }

/* -- Shares --------------------------------------------------------------- */

static int64_t div_up(int64_t n, int64_t by) { return n / by + (n % by != 0); }

static int count_shares(int64_t n, int64_t grain, int threads) {
  const int64_t most = div_up(n, grain);
  return n <= grain ? 1 : most < threads ? (int)most : threads;
}

int st__num_pieces(int64_t n, int64_t grain) {
  if (n <= grain || st__in_parallel()) return 1;
  return count_shares(n, grain, st__num_threads());
}

bool st__chunk(int64_t n, int64_t grain, int threads, int k, int64_t *begin,
               int64_t *end) {
  if (threads < 1) threads = 1;
  const int shares = count_shares(n, grain < 1 ? 1 : grain, threads);
  const int64_t size = div_up(n, shares);
  if (k < 0 || k >= shares || n < 1 || k > (n - 1) / size) return false;
  *begin = k * size;
  *end = n - *begin > size ? *begin + size : n;
  return true;
}

/* -- Pieces --------------------------------------------------------------- */

typedef struct job {
  st_range_fn fn;
  void *ctx;
  int64_t begin, end;
  int64_t size;     /* of a share */
  int64_t piece;    /* of a piece, about */
  int shares;
  _Atomic int64_t cost; /* ns of a piece, of the member that was fastest */
  _Atomic int64_t done; /* pieces, by the team */
  _Atomic int64_t next[MAX_THREADS]; /* the piece of a share to be taken */
} job;

static void init_shares(job *j, int shares, int64_t grain) {
  j->shares = shares;
  j->size = div_up(j->end - j->begin, shares);
  int64_t pieces = j->size / grain;
  pieces = pieces < 1 ? 1 : pieces > PIECES ? PIECES : pieces;
  j->piece = div_up(j->size, pieces);
  atomic_init(&j->cost, INT64_MAX / (PIECES * MAX_THREADS));
  atomic_init(&j->done, 0);
  for (int s = 0; s < shares; s++) atomic_init(&j->next[s], 0);
}

/* Where piece p of share s begins. */
static int64_t cut(const job *j, int s, int64_t p) {
  const int64_t n = j->end - j->begin, first = s * j->size;
  int64_t at = first + j->size;
  if (p * j->piece < j->size) {
    at = first + p * j->piece;
    if (p > 0 && j->piece >= 16 * ALIGN) at -= at % ALIGN;
  }
  return j->begin + (at < n ? at : n);
}

/* The next piece of a share; false when it is all taken. */
static bool run_piece(job *j, int s) {
  const int64_t p = atomic_fetch_add_explicit(&j->next[s], 1,
                                              memory_order_relaxed);
  if (p * j->piece >= j->size) return false;
  const int64_t from = cut(j, s, p);
  const int64_t to = cut(j, s, p + 1);
  if (from < to) j->fn(j->ctx, from, to);
  return true;
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note_cost(job *j, int64_t cost) {
  int64_t least = j->cost;
  while (cost < least &&
         !atomic_compare_exchange_weak(&j->cost, &least, cost)) {}
}

/* From one's own share on until all are taken. A member that loses the
 * processor does so in one piece, which does not count. */
static void work(job *j, int own) {
  int64_t n = 0, start = now(), at = start, slowest = 0;
  for (int k = 0; k < j->shares; k++) {
    const int s = (own + k) % j->shares;
    for (; run_piece(j, s); n++) {
      const int64_t before = at;
      at = now();
      if (at - before > slowest) slowest = at - before;
    }
  }
  if (n > 1) note_cost(j, (at - start - slowest) / (n - 1));
  if (n == 1) note_cost(j, slowest);
  j->done += n;
}

static bool is_left(const job *j) {
  for (int s = 0; s < j->shares; s++) {
    if (j->next[s] * j->piece < j->size) return true;
  }
  return false;
}

/* -- The team ------------------------------------------------------------- */

enum {
  LATE = 200000,       /* ns: more than it takes to wake a sleeping team */
  LONG = 4,            /* losses that a job goes on alone */
  CALM = 1000000000,   /* ns: lateness is forgotten */
  MOST = CALM
};

static _Atomic int64_t alone_until; /* ns */
static _Atomic int64_t last_loss;   /* ns */
static _Atomic int multiple;        /* of last_loss: how long alone */

/* Did it take longer than the caller alone might have needed? */
static void judge(const job *j, int64_t start, int64_t end) {
  const int64_t lost = end - start - j->done * j->cost;
  if (lost < LATE) return;
  const bool again = start - alone_until < CALM;
  const int times = !again ? 8 : multiple < 64 ? 2 * multiple : 128;
  const int64_t rest = times * lost;
  multiple = times;
  last_loss = lost;
  alone_until = end + (rest < MOST ? rest : MOST);
}

static void run_team(job *j) {
  const int64_t start = now();
#if ST_OPENMP
  #pragma omp parallel num_threads(j->shares)
#endif
  work(j, omp_get_thread_num());
  judge(j, start, now());
}

/* Takes pieces while the team is out of favour; false when some are left. */
static bool run_alone(job *j) {
  const int64_t start = now(), enough = start + LONG * last_loss;
  const int64_t until = enough < alone_until ? enough : alone_until;
  if (start >= until) return false;
  for (int s = 0; s < j->shares; s++) {
    while (run_piece(j, s)) {
      if (now() >= until) return !is_left(j);
    }
  }
  return true;
}

void st__parallel_for(int64_t begin, int64_t end, int64_t grain,
                      st_range_fn fn, void *ctx) {
  if (begin >= end) return;
  if (grain < 1) grain = 1;
  const int shares = st__num_pieces(end - begin, grain);
  if (shares <= 1) {
    fn(ctx, begin, end);
    return;
  }
  job j; /* all of it would be much to clear */
  j.fn = fn;
  j.ctx = ctx;
  j.begin = begin;
  j.end = end;
  init_shares(&j, shares, grain);
  if (!run_alone(&j)) run_team(&j);
}
