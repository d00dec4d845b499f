/* The thread team over OpenMP.
 *
 * Note [OpenMP after fork]
 * A child of fork has libgomp's data but none of its threads, and would hang
 * at its first parallel region. libgomp keeps a team for each thread that had
 * one, and the thread that forks dismisses its own first; the teams of others,
 * at work or asleep, are nothing to the child. It begins with one thread and
 * may ask for more, unless the fork took place inside a region: that team
 * cannot be dismissed, and the child keeps one thread for good.
 *
 * Note [External parallel regions]
 * OpenBLAS runs regions that it guards with flags of its own: in the child of
 * a process that forks while another thread multiplies matrices they stay
 * taken for ever, and at exit it frees buffers that others may be using. So
 * forks and exits wait while a library of the kind is at work, and it does not
 * begin while they last. It gets as many threads as the engine has, through
 * OpenMP's number for this thread, which is put back.
 *
 * Note [Probing for threads]
 * libgomp ends the process when it cannot make a thread (RLIMIT_NPROC, the
 * control group's pids.max, no address space for a stack). So before a thread
 * calls a larger team than it ever had, it makes that many idle threads, and
 * as many again because those that have ended may count for a moment longer.
 * The team is as large as that shows to be possible.
 *
 * Note [Work stealing]
 * Every member of a team has a share, a contiguous range, so that memory is
 * walked as the hardware likes it and the next operator finds in a core's
 * cache what the last one left there. A share is taken piece by piece, and
 * who is through with his own goes on with those of the others: a member that
 * is slow, or not there yet, leaves no more undone than the piece it is at.
 *
 * Note [Backing off from a slow team]
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
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cgroup.h"
#include "base/status.h"

#if ST_OPENMP
#include <omp.h>

static bool dismiss_team(void) {
  return omp_pause_resource_all(omp_pause_soft) == 0;
}
#else
/* The caller is the whole team and takes one piece after the other. */
static int omp_in_parallel(void) { return 0; }
static int omp_get_max_threads(void) { return 1; }
static int omp_get_num_procs(void) { return 1; }
static int omp_get_thread_limit(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
static void omp_set_num_threads(int n) { (void)n; }
static bool dismiss_team(void) { return true; }
#endif

enum {
  MAX_THREADS = 256,
  PIECES = 16, /* of a share, at most */
  ALIGN = 64,  /* units: pieces of many begin at a multiple, and with it at a
                  cache line of an aligned tensor */
};

static _Atomic int num_threads; /* that are wanted; 0: not decided yet */
static _Atomic int wish = 1;    /* grows with each decision */

/* What a thread has found out, and what it is at. */
static _Thread_local struct {
  int had;         /* members of a team, itself counted: the most so far */
  int refused_at;  /* the wish that was too much */
  int generation;
  int externals;   /* its threads, now */
  bool is_alone;   /* at the work of a team */
} known;

/* -- Forks and exits ------------------------------------------------------ */

/* A stream of readers must not keep a writer waiting. */
#if defined(PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP)
#define RWLOCK_INIT PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#else
#define RWLOCK_INIT PTHREAD_RWLOCK_INITIALIZER
#endif

/* forks and exits are writers */
static pthread_rwlock_t external_lock = RWLOCK_INIT;
static _Thread_local bool is_dismissed;    /* the team, for a fork */
static bool is_lone;                       /* for good */
static _Atomic int generation;             /* forks since the first process */
static atomic_bool is_ending;
static pthread_t ender;

/* In a handler of a signal that has met the library at work there is nothing
 * to wait for. */
static void block_external(void) {
  if (known.externals == 0) pthread_rwlock_wrlock(&external_lock);
}

static void unblock_external(void) {
  if (known.externals == 0) pthread_rwlock_unlock(&external_lock);
}

/* The lock remembers a writer that the child does not have. */
static void reset_external(void) {
  external_lock = (pthread_rwlock_t)RWLOCK_INIT;
}

static void before_fork(void) { is_dismissed = dismiss_team(); }

static void in_child(void) {
  generation++;
  is_lone |= !is_dismissed;
  num_threads = 1;
  wish++;
}

/* The threads that lend wait for the end of the process; the one that brings
 * it about may still have something to compute. */
static void at_exit(void) {
  block_external();
  ender = pthread_self();
  is_ending = true;
}

static bool is_exiting_thread(void) {
  return is_ending && pthread_equal(ender, pthread_self());
}

/* -- How many ------------------------------------------------------------- */

/* STRIDED_NUM_THREADS, or 0. */
static int read_wish(void) {
  const char *text = getenv("STRIDED_NUM_THREADS");
  if (!text || !*text) return 0;
  char *end;
  const long n = strtol(text, &end, 10);
  if (!end[strspn(end, " \t")] && n >= 1 && n <= MAX_THREADS) return (int)n;
  fprintf(stderr, "strided: STRIDED_NUM_THREADS=%s: must be 1 to %d\n", text,
          MAX_THREADS);
  return 0;
}

/* OMP_NUM_THREADS is a list of numbers; OpenMP ignores what is not. */
static bool has_omp_wish(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  return text && strpbrk(text, "123456789") &&
         !text[strspn(text, "0123456789, \t")];
}

static int smaller(int a, int b) { return a < b ? a : b; }

static int decide(void) {
  int n = read_wish();
  if (n == 0) {
    n = omp_get_max_threads();
    if (!has_omp_wish()) {
      const int quota = st__cgroup_cpus("");
      n = smaller(n, omp_get_num_procs());
      if (quota > 0) n = smaller(n, quota);
    }
  }
  n = smaller(n, smaller(omp_get_thread_limit(), MAX_THREADS));
  return n < 1 ? 1 : n;
}

static void install(void) {
  int unset = 0;
  pthread_atfork(before_fork, NULL, in_child);
  atomic_compare_exchange_strong(&num_threads, &unset, decide());
}

/* -- How many there can be ------------------------------------------------ */

#if ST_OPENMP
static void *pass(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* How many of n threads can be there at once. They hear no signals, which
 * belong to the threads of the host. */
static int probe(int n) {
  pthread_t threads[2 * MAX_THREADS];
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  sigset_t all, before;
  int made = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_mutex_lock(&gate);
  while (made < n && !pthread_create(&threads[made], NULL, pass, &gate)) {
    made++;
  }
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return made;
}
#else
static int probe(int n) { return n; }
#endif

/* How many of n members this thread's team can have. */
static int attainable(int n) {
  if (known.generation != generation || known.had == 0) {
    known.had = 1;
    known.generation = generation;
  }
  if (n <= known.had) return n;
  if (known.refused_at == wish) return known.had;
  const int missing = n - known.had;
  known.had += probe(2 * missing) / 2;
  if (known.had < n) known.refused_at = wish;
  return known.had;
}

int st__num_threads(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  const int n = num_threads;
  return known.refused_at == wish ? smaller(n, known.had) : n;
}

st_status st__set_num_threads(int n) {
  if (n < 1 || n > MAX_THREADS) {
    return st__fail(ST_BAD_VALUE, "the number of threads must be 1 to %d, "
                    "not %d", MAX_THREADS, n);
  }
  if (n > 1 && is_lone) {
    return st__fail(ST_BAD_STATE, "this process was forked inside a parallel "
                    "region and has one thread");
  }
  st__num_threads();
  num_threads = n;
  wish++;
  return ST_OK;
}

bool st__in_parallel(void) { return omp_in_parallel(); }

/* The library is loaded by now and has set up what it does at forks and at the
 * end. Ours comes last, and so is the first to run. */
static void register_atfork_atexit(void) {
  pthread_atfork(block_external, unblock_external, reset_external);
  atexit(at_exit);
}

int st__external_parallel_begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_atfork_atexit);
  const int before = omp_get_max_threads(), n = st__num_threads();
  if (!is_exiting_thread()) pthread_rwlock_rdlock(&external_lock);
  known.externals++;
  if (!omp_in_parallel()) omp_set_num_threads(attainable(n));
  return before;
}

void st__external_parallel_end(int before) {
  if (!omp_in_parallel()) omp_set_num_threads(before);
  known.externals--;
  if (!is_exiting_thread()) pthread_rwlock_unlock(&external_lock);
}

/* -- Shares --------------------------------------------------------------- */

static int64_t div_up(int64_t n, int64_t by) { return n / by + (n % by != 0); }

static int count_shares(int64_t n, int64_t grain, int threads) {
  const int64_t most = div_up(n, grain);
  return n <= grain ? 1 : most < threads ? (int)most : threads;
}

int st__num_pieces(int64_t n, int64_t grain) {
  if (n <= grain || st__in_parallel() || known.is_alone) return 1;
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

static bool has_work_left(const job *j) {
  for (int s = 0; s < j->shares; s++) {
    if (j->next[s] * j->piece < j->size) return true;
  }
  return false;
}

/* -- The team ------------------------------------------------------------- */

enum {
  LATE_NS = 200000,    /* ns: more than it takes to wake a sleeping team */
  BACKOFF_FACTOR = 4,  /* losses that a job goes on alone */
  BACKOFF_RESET_NS = 1000000000, /* ns: lateness is forgotten */
  BACKOFF_MAX_NS = BACKOFF_RESET_NS
};

static _Atomic int64_t alone_until; /* ns */
static _Atomic int64_t last_loss;   /* ns */
static _Atomic int multiple;        /* of last_loss: how long alone */

/* Did it take longer than the caller alone might have needed? */
static void update_backoff(const job *j, int64_t start, int64_t end) {
  const int64_t lost = end - start - j->done * j->cost;
  if (lost < LATE_NS) return;
  const bool again = start - alone_until < BACKOFF_RESET_NS;
  const int times = !again ? 8 : multiple < 64 ? 2 * multiple : 128;
  const int64_t rest = times * lost;
  multiple = times;
  last_loss = lost;
  alone_until = end + (rest < BACKOFF_MAX_NS ? rest : BACKOFF_MAX_NS);
}

/* Nobody would ever arrive at the end of the region. */
static void refuse_to_return(void) {
  fputs("strided: a child that was forked inside a parallel region must exit "
        "there\n", stderr);
  abort();
}

static void run_member(job *j, int forks) {
  work(j, omp_get_thread_num());
  if (generation != forks) refuse_to_return();
}

static void run_team(job *j) {
  const int64_t start = now();
  const int members = attainable(j->shares), forks = generation;
  if (members == 1) {
    work(j, 0);
    return;
  }
#if ST_OPENMP
  #pragma omp parallel num_threads(members)
#endif
  run_member(j, forks);
  update_backoff(j, start, now());
}

static void run_until(job *j, int64_t until) {
  for (int s = 0; s < j->shares; s++) {
    while (run_piece(j, s)) {
      if (now() >= until) return;
    }
  }
}

/* Takes pieces while the team is out of favour; false when some are left. Work
 * within them is not the team's either. */
static bool run_alone(job *j) {
  const int64_t start = now(), enough = start + BACKOFF_FACTOR * last_loss;
  const int64_t until = enough < alone_until ? enough : alone_until;
  if (start >= until) return false;
  known.is_alone = true;
  run_until(j, until);
  known.is_alone = false;
  return !has_work_left(j);
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
