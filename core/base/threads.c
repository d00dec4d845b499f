/* The thread team, on OpenMP.
 *
 * Note [OpenMP after fork]
 * The child of a fork has libgomp's data but none of its threads, and would
 * hang at its first parallel region. libgomp keeps one team for each thread
 * that has run a region. The forking thread releases its own team before the
 * fork; the teams of other threads, busy or idle, do not matter in the child.
 * The child starts with one thread and may set a larger number, unless the
 * fork happened inside a parallel region: that team cannot be released, and
 * the child has one thread for the rest of its life.
 *
 * Note [External parallel regions]
 * OpenBLAS runs parallel regions that it protects with its own locks. If a
 * process forks while another thread is in one of them, these locks stay
 * taken in the child for ever; and at exit OpenBLAS frees buffers that other
 * threads may still use. So forks and exits wait until calls of such a library
 * have returned, and such calls wait until a fork or an exit has ended. A call
 * uses as many threads as the engine allows it: OpenMP's setting for this
 * thread is changed for the call and restored after it.
 *
 * Note [Probing for threads]
 * libgomp terminates the process if it cannot create a thread (RLIMIT_NPROC,
 * the control group's pids.max, no address space for a stack). So before a
 * thread starts a team that is larger than all of its earlier ones, it creates
 * idle threads as a test: twice the missing number, because threads that have
 * ended may still count for a moment. The team is limited to the size that
 * this test shows to be possible.
 *
 * Note [Work stealing]
 * Every member of a team has a share, a contiguous range, so that it accesses
 * memory sequentially and the next operator finds the elements in the cache of
 * the same core. A share is processed in pieces. A member that has finished its
 * own share takes pieces of the others' shares, so a member that is slow or has
 * not started yet delays the region by one piece at most.
 */

#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/backoff.h"
#include "os/cgroup.h"
#include "base/interrupt.h"
#include "base/call_limits.h"
#include "os/stack.h"
#include "os/tasks.h"
#include "base/status.h"

#if ST_OPENMP
#include <omp.h>

static bool release_team(void) {
  return omp_pause_resource_all(omp_pause_soft) == 0;
}
#else
/* Without OpenMP the team consists of the caller alone. */
static int omp_in_parallel(void) { return 0; }
static int omp_get_max_threads(void) { return 1; }
static int omp_get_num_procs(void) { return 1; }
static int omp_get_thread_limit(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
static int omp_get_num_threads(void) { return 1; }
static void omp_set_num_threads(int n) { (void)n; }
static bool release_team(void) { return true; }
#endif

enum {
  MAX_THREADS = 256,
  PIECES = 16, /* per share, at most */
  ALIGN = 64,  /* units, a cache line or more: where large pieces begin */
  BLOCK = 32,  /* grains between two questions whether to stop: about 1 ms */
  YIELDS_NS = 100000, PAUSE_NS = 50000 /* of a wait for other members */
};

static _Atomic int num_threads; /* the setting; 0: not initialized */
static _Atomic int setting_version = 1; /* incremented when it changes */

static _Thread_local struct {
  int max_members;     /* of its teams so far, the thread itself included */
  int refused_version; /* setting_version that could not be reached */
  int generation;      /* in which max_members was measured */
  int externals;       /* nesting depth of external parallel regions */
  bool runs_alone;     /* runs the pieces of a job without a team */
  atomic_bool *stop;   /* of the loop that the thread runs, if it may stop */
  bool asks;           /* made the call: asks whether to stop */
} thread_state;

/* -- Forks and exits ------------------------------------------------------ */

/* Writers must not starve while new readers arrive. */
#if defined(PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP)
#define RWLOCK_INIT PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#else
#define RWLOCK_INIT PTHREAD_RWLOCK_INITIALIZER
#endif

/* External parallel regions are readers, forks and exits are writers. */
static pthread_rwlock_t external_lock = RWLOCK_INIT;
static _Thread_local bool team_released;
static bool forked_in_region;  /* this process is the child of that fork */
static _Atomic int generation; /* number of forks from the first process on */
static atomic_bool is_exiting;
static pthread_t exiting_thread;

/* A signal handler may fork or exit inside an external region of its own
 * thread: it must not wait for that region. */
static void block_external(void) {
  if (thread_state.externals == 0) pthread_rwlock_wrlock(&external_lock);
}

static void unblock_external(void) {
  if (thread_state.externals == 0) pthread_rwlock_unlock(&external_lock);
}

/* In the child the lock is held by a thread that does not exist there. */
static void reset_external(void) {
  external_lock = (pthread_rwlock_t)RWLOCK_INIT;
}

static void before_fork(void) { team_released = release_team(); }

static void in_child(void) {
  generation++;
  forked_in_region |= !team_released;
  num_threads = 1;
  setting_version++;
}

/* The lock stays taken, so that other threads wait in
 * st__external_parallel_begin until the process ends. The exiting thread does
 * not take it and may still compute, in later exit handlers. */
static void at_exit(void) {
  block_external();
  exiting_thread = pthread_self();
  is_exiting = true;
}

static bool is_exiting_thread(void) {
  return is_exiting && pthread_equal(exiting_thread, pthread_self());
}

/* -- Number of threads ---------------------------------------------------- */

/* The value of STRIDED_NUM_THREADS, or 0. */
static int read_env_threads(void) {
  const char *text = getenv("STRIDED_NUM_THREADS");
  if (!text || !*text) return 0;
  char *end;
  const long n = strtol(text, &end, 10);
  if (!end[strspn(end, " \t")] && n >= 1 && n <= MAX_THREADS) return (int)n;
  fprintf(stderr, "strided: STRIDED_NUM_THREADS=%s: must be 1 to %d\n", text,
          MAX_THREADS);
  return 0;
}

/* True if OMP_NUM_THREADS is a list of numbers; OpenMP ignores other values. */
static bool has_omp_setting(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  return text && strpbrk(text, "123456789") &&
         !text[strspn(text, "0123456789, \t")];
}

static int smaller(int a, int b) { return a < b ? a : b; }

static int default_threads(void) {
  int n = read_env_threads();
  if (n == 0) {
    n = omp_get_max_threads();
    if (!has_omp_setting()) {
      const int quota = st__cgroup_cpus("");
      n = smaller(n, omp_get_num_procs());
      if (quota > 0) n = smaller(n, quota);
    }
  }
  n = smaller(n, smaller(omp_get_thread_limit(), MAX_THREADS));
  return n < 1 ? 1 : n;
}

static void init_threads(void) {
  int unset = 0;
  pthread_atfork(before_fork, NULL, in_child);
  atomic_compare_exchange_strong(&num_threads, &unset, default_threads());
}

/* -- Probing -------------------------------------------------------------- */

#if ST_OPENMP
static void *wait_at_gate(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* Creates up to n threads that exist at the same time; returns how many could
 * be created. They block all signals, which the program's threads handle. */
static int probe(int n) {
  pthread_t threads[2 * MAX_THREADS];
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  sigset_t all, before;
  int made = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_mutex_lock(&gate);
  while (made < n &&
         !pthread_create(&threads[made], NULL, wait_at_gate, &gate)) {
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

/* The largest team of up to n members that this thread can have. */
static int grow_team(int n) {
  int max = thread_state.max_members;
  if (thread_state.generation != generation || max == 0) {
    thread_state.generation = generation;
    thread_state.max_members = max = 1;
  }
  if (n <= max) return n;
  if (thread_state.refused_version == setting_version) return max;
  max += probe(2 * (n - max)) / 2;
  thread_state.max_members = max;
  if (max < n) thread_state.refused_version = setting_version;
  return max;
}

int st__num_threads(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, init_threads);
  const int n = st__limits_threads(num_threads);
  return thread_state.refused_version == setting_version
         ? smaller(n, thread_state.max_members) : n;
}

st_status st_set_num_threads(int n) {
  if (n < 1 || n > MAX_THREADS) {
    return st__fail(ST_BAD_VALUE, "the number of threads must be 1 to %d, "
                    "not %d", MAX_THREADS, n);
  }
  if (n > 1 && forked_in_region) {
    return st__fail(ST_BAD_STATE, "this process was forked inside a parallel "
                    "region and has one thread");
  }
  st__num_threads();
  num_threads = n;
  setting_version++;
  return ST_OK;
}

bool st__in_parallel(void) { return omp_in_parallel(); }

/* Threads that have ended count for a moment. */
bool st__is_alone_in_process(void) {
  if (omp_in_parallel() || !release_team()) return false;
  for (int i = 0; i < 20 && st__count_tasks() != 1; i++) {
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
  }
  return st__count_tasks() == 1;
}

/* The library is loaded by now and has registered its fork and exit handlers.
 * Handlers run in reverse order of registration, so ours run first. */
static void register_atfork_atexit(void) {
  pthread_atfork(block_external, unblock_external, reset_external);
  atexit(at_exit);
}

int st__external_parallel_begin(int threads) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_atfork_atexit);
  const int before = omp_get_max_threads();
  const int n = smaller(threads, st__num_threads());
  if (!is_exiting_thread()) pthread_rwlock_rdlock(&external_lock);
  thread_state.externals++;
  if (!omp_in_parallel()) omp_set_num_threads(grow_team(n));
  return before;
}

void st__external_parallel_end(int before) {
  if (!omp_in_parallel()) omp_set_num_threads(before);
  thread_state.externals--;
  if (!is_exiting_thread()) pthread_rwlock_unlock(&external_lock);
}

/* -- Shares --------------------------------------------------------------- */

static int64_t div_up(int64_t n, int64_t by) { return n / by + (n % by != 0); }

static int count_shares(int64_t n, int64_t grain, int threads) {
  const int64_t most = div_up(n, grain);
  return n <= grain ? 1 : most < threads ? (int)most : threads;
}

int st__num_shares(int64_t n, int64_t grain) {
  if (n <= grain || st__in_parallel() || thread_state.runs_alone) return 1;
  return count_shares(n, grain, st__num_threads());
}

bool st_chunk(int64_t n, int64_t grain, int threads, int k,
              int64_t *begin, int64_t *end) {
  if (threads < 1) threads = 1;
  const int shares = count_shares(n, grain < 1 ? 1 : grain, threads);
  const int64_t size = div_up(n, shares);
  if (k < 0 || k >= shares || n < 1 || k > (n - 1) / size) return false;
  *begin = k * size;
  *end = n - *begin > size ? *begin + size : n;
  return true;
}

/* -- Stopping ------------------------------------------------------------- */

typedef struct stopping { atomic_bool *stop; bool asks; } stopping;

/* Until end_stopping, st__stops is about this flag; NULL: it is false. */
static stopping begin_stopping(atomic_bool *stop, bool asks) {
  const stopping outer = {thread_state.stop, thread_state.asks};
  thread_state.stop = stop;
  thread_state.asks = asks;
  return outer;
}

static void end_stopping(stopping outer) {
  thread_state.stop = outer.stop;
  thread_state.asks = outer.asks;
}

/* Only the thread that made the call asks: a check belongs to its thread. */
bool st__stops(void) {
  atomic_bool *stop = thread_state.stop;
  if (!stop) return false;
  if (thread_state.asks && st__poll_interrupt() != ST_OK) *stop = true;
  return *stop;
}

/* -- Pieces --------------------------------------------------------------- */

typedef struct job {
  st_range_fn fn;
  void *ctx;
  int64_t begin, end;
  int64_t size;     /* units of a share */
  int64_t piece;    /* units of a piece, before alignment */
  int shares;
  bool may_stop;
  atomic_bool is_stopped;
  _Atomic int64_t cost; /* ns per piece, of the fastest member */
  _Atomic int64_t done; /* number of pieces that the team has processed */
  _Atomic int finished; /* members, the caller not counted */
  _Atomic int64_t arrival; /* of the last member */
  int caller_cpu;
  int forks;               /* generation, when the region began */
  _Atomic int64_t next[MAX_THREADS]; /* next piece, for each share */
} job;

/* The number of units of BLOCK grains; 1 if a unit is a grain or more. */
static int64_t block_of(int64_t grain) {
  if (grain == 1) return 1;
  return grain < INT64_MAX / BLOCK ? BLOCK * grain : INT64_MAX;
}

static void init_shares(job *j, int shares, int64_t grain) {
  j->shares = shares;
  j->size = div_up(j->end - j->begin, shares);
  int64_t pieces = j->size / grain;
  pieces = pieces < 1 ? 1 : pieces > PIECES ? PIECES : pieces;
  j->piece = div_up(j->size, pieces);
  if (j->may_stop && j->piece > block_of(grain)) j->piece = block_of(grain);
  atomic_init(&j->is_stopped, false);
  atomic_init(&j->cost, INT64_MAX / (PIECES * MAX_THREADS));
  atomic_init(&j->done, 0);
  atomic_init(&j->finished, 0);
  atomic_init(&j->arrival, 0);
  for (int s = 0; s < shares; s++) atomic_init(&j->next[s], 0);
}

/* The first unit of piece p of share s. */
static int64_t cut(const job *j, int s, int64_t p) {
  const int64_t n = j->end - j->begin, first = s * j->size;
  int64_t at = first + j->size;
  if (p * j->piece < j->size) {
    at = first + p * j->piece;
    if (p > 0 && j->piece >= 16 * ALIGN) at -= at % ALIGN;
  }
  return j->begin + (at < n ? at : n);
}

/* Runs the next piece of a share; false if none is left or the job stops. */
static bool run_piece(job *j, int s) {
  if (atomic_load_explicit(&j->is_stopped, memory_order_relaxed)) return false;
  const int64_t p = atomic_fetch_add_explicit(&j->next[s], 1,
                                              memory_order_relaxed);
  if (p * j->piece >= j->size) return false;
  const int64_t from = cut(j, s, p);
  const int64_t to = cut(j, s, p + 1);
  if (from < to) j->fn(j->ctx, from, to);
  return true;
}

static void update_cost(job *j, int64_t cost) {
  int64_t old = j->cost;
  while (cost < old && !atomic_compare_exchange_weak(&j->cost, &old, cost)) {}
}

/* The other members do not exist in the child, so the region cannot end. */
static void abort_forked_child(void) {
  fputs("strided: a child that was forked inside a parallel region must exit "
        "there\n", stderr);
  abort();
}

/* The caller waits here because the end of a region does not ask whether to
 * stop, and spins. A member that was woken on the caller's processor runs when
 * the caller sleeps; otherwise at the scheduler's next tick, ms later. */
static void await_members(const job *j) {
  const int others = omp_get_num_threads() - 1;
  for (const int64_t start = st__now(); j->finished < others;) {
    if (generation != j->forks) abort_forked_child();
    if (j->may_stop && st__stops()) return;
    if (st__now() - start < YIELDS_NS) sched_yield();
    else nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
  }
}

/* Runs pieces, those of share `own` first; the caller has share 0. The cost is
 * without the slowest piece, in which the processor may have been lost. */
static void work(job *j, int own) {
  int64_t n = 0, start = st__now(), at = start, slowest = 0;
  const stopping outer = begin_stopping(j->may_stop ? &j->is_stopped : NULL,
                                        own == 0);
  j->arrival = start;
  for (int k = 0; k < j->shares; k++) {
    const int s = (own + k) % j->shares;
    for (; run_piece(j, s); n++) {
      const int64_t before = at;
      at = st__now();
      if (at - before > slowest) slowest = at - before;
      if (j->may_stop) st__stops();
    }
  }
  if (n > 0) update_cost(j, n > 1 ? (at - start - slowest) / (n - 1) : slowest);
  j->done += n;
  if (own > 0) j->finished++;
  else await_members(j);
  end_stopping(outer);
}

static bool has_work_left(const job *j) {
  for (int s = 0; s < j->shares; s++) {
    if (j->next[s] * j->piece < j->size) return true;
  }
  return false;
}

/* -- The team ------------------------------------------------------------- */

static void run_member(job *j) {
  const int own = omp_get_thread_num();
  if (own > 0) st__leave_processor(j->caller_cpu);
  work(j, own);
  if (generation != j->forks) abort_forked_child();
}

static void run_team(job *j) {
  const int64_t start = st__now();
  const int members = grow_team(j->shares);
  j->forks = generation;
  if (members == 1) {
    work(j, 0);
    return;
  }
  j->caller_cpu = st__processor();
#if ST_OPENMP
  #pragma omp parallel num_threads(members)
#endif
  run_member(j);
  st_region region = {start, j->arrival, st__now(), 0};
  region.lost = region.end - start - j->done * j->cost;
  st__region_ended(&region);
}

static void run_until(job *j, int64_t until) {
  for (int s = 0; s < j->shares; s++) {
    while (run_piece(j, s)) {
      if (j->may_stop) st__stops();
      if (st__now() >= until) return;
    }
  }
}

/* Runs pieces while the thread works alone; false if pieces are left. Nested
 * parallel loops do not use the team either. */
static bool run_alone(job *j) {
  const int64_t start = st__now(), until = st__alone_until(start);
  if (start >= until) return false;
  const stopping outer = begin_stopping(j->may_stop ? &j->is_stopped : NULL,
                                        true);
  thread_state.runs_alone = true;
  run_until(j, until);
  thread_state.runs_alone = false;
  st__ran_alone(start, st__now());
  end_stopping(outer);
  return j->is_stopped || !has_work_left(j);
}

/* Runs the pieces of a job that has its function and range. */
static st_status run_job(job *j, int shares, int64_t grain, bool may_stop) {
  j->may_stop = may_stop;
  init_shares(j, shares, grain);
  if (!run_alone(j)) run_team(j);
  return j->is_stopped ? ST_INTERRUPTED : ST_OK;
}

static st_status run_blocks(int64_t begin, int64_t end, int64_t block,
                            st_range_fn fn, void *ctx) {
  atomic_bool is_stopped = false;
  const stopping outer = begin_stopping(&is_stopped, true);
  while (end - begin > block) {
    fn(ctx, begin, begin + block);
    begin += block;
    if (st__stops()) break;
  }
  if (!is_stopped) fn(ctx, begin, end);
  end_stopping(outer);
  return is_stopped ? ST_INTERRUPTED : ST_OK;
}

typedef struct loop {
  st_range_fn fn;
  void *ctx;
  int64_t begin, end, grain;
  bool may_stop;
  st_status status;
} loop;

static st_status run_shares(const loop *l, int shares) {
  job j; /* not cleared: it is large */
  j.fn = l->fn;
  j.ctx = l->ctx;
  j.begin = l->begin;
  j.end = l->end;
  return run_job(&j, shares, l->grain, l->may_stop);
}

static void run_loop(void *arg) {
  loop *l = arg;
  const int shares = st__num_shares(l->end - l->begin, l->grain);
  if (shares > 1) {
    l->status = run_shares(l, shares);
  } else if (l->may_stop) {
    l->status = run_blocks(l->begin, l->end, block_of(l->grain), l->fn,
                           l->ctx);
  } else {
    l->fn(l->ctx, l->begin, l->end);
  }
}

static st_status run_on_stack(loop *l) {
  if (l->grain < 1) l->grain = 1;
  if (st__stack_is_large()) run_loop(l);
  else st__on_large_stack(run_loop, l);
  return l->status;
}

st_status st__parallel_try(int64_t begin, int64_t end, int64_t grain,
                           st_range_fn fn, void *ctx) {
  if (begin >= end) return ST_OK;
  if (st__in_parallel() || thread_state.stop) {
    fn(ctx, begin, end);
    return ST_OK;
  }
  return run_on_stack(&(loop){fn, ctx, begin, end, grain, true, ST_OK});
}

void st_parallel_for(int64_t begin, int64_t end, int64_t grain,
                     st_range_fn fn, void *ctx) {
  if (begin >= end) return;
  const st_status status =
    run_on_stack(&(loop){fn, ctx, begin, end, grain, false, ST_OK});
  ST_ASSERT(status == ST_OK);
}
