/* The thread team over OpenMP.
 *
 * Note [Forked children]
 * A child of fork has libgomp's data but none of its threads, and hangs at
 * its first parallel region. The pool is therefore paused before a fork, and
 * a child stays at one thread unless it asks for more.
 */

#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/status.h"

#if ST_OPENMP
#include <omp.h>

static void pause_team(void) { omp_pause_resource_all(omp_pause_soft); }
#else
/* The caller is the whole team and takes one piece after the other. */
static int omp_in_parallel(void) { return 0; }
static int omp_get_max_threads(void) { return 1; }
static void pause_team(void) {}
#endif

enum { MAX_THREADS = 256 };

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

static int count_pieces(int64_t n, int64_t grain, int threads) {
  const int64_t most = n / grain + (n % grain != 0);
  return n <= grain ? 1 : most < threads ? (int)most : threads;
}

int st__num_pieces(int64_t n, int64_t grain) {
  if (n <= grain || st__in_parallel()) return 1;
  return count_pieces(n, grain, st__num_threads());
}

bool st__chunk(int64_t n, int64_t grain, int threads, int k, int64_t *begin,
               int64_t *end) {
  if (threads < 1) threads = 1;
  const int pieces = count_pieces(n, grain < 1 ? 1 : grain, threads);
  const int64_t size = n / pieces + (n % pieces != 0);
  if (k < 0 || k >= pieces || n < 1 || k > (n - 1) / size) return false;
  *begin = k * size;
  *end = n - *begin > size ? *begin + size : n;
  return true;
}

void st__parallel_for(int64_t begin, int64_t end, int64_t grain,
                      st_range_fn fn, void *ctx) {
  if (begin >= end) return;
  const int pieces = st__num_pieces(end - begin, grain < 1 ? 1 : grain);
  if (pieces <= 1) {
    fn(ctx, begin, end);
    return;
  }
  const int64_t size = (end - begin + pieces - 1) / pieces;
#if ST_OPENMP
  #pragma omp parallel for num_threads(pieces) schedule(dynamic, 1)
#endif
  for (int i = 0; i < pieces; i++) {
    const int64_t from = begin + i * size;
    const int64_t to = from + size < end ? from + size : end;
    if (from < to) fn(ctx, from, to);
  }
}
