/* Parallel loops over an OpenMP thread team of limited size.
 *
 * A loop is split into contiguous shares of about `grain` units or more, at
 * most one per thread. It runs on the calling thread alone if there is one
 * share only, inside another parallel region, in a forked child, and while the
 * team is slow (Note [Backing off from a slow team], backoff.c).
 */
#ifndef ST_BASE_THREADS_H
#define ST_BASE_THREADS_H

#include "os/machine.h"
#include "abi/types.h"

enum { ST_GRAIN = ST_FIXED_grain }; /* least cheap elements per thread */

/* Calls fn for disjoint ranges that cover [begin, end), possibly in parallel.
 * The ranges are pieces of the threads' shares: Note [Work stealing]. */
ST_API void st_parallel_for(int64_t begin, int64_t end, int64_t grain,
                            st_range_fn fn, void *ctx);

/* The same for a loop that may take long: it asks between blocks whether to
 * stop (Note [Interrupts of long calls]). INTERRUPTED: some ranges were not
 * run. Inside of a range of another such loop it always returns OK. */
__attribute__((warn_unused_result))
st_status st__parallel_try(int64_t begin, int64_t end, int64_t grain,
                           st_range_fn fn, void *ctx);
/* For range functions whose units take long: true if the loop stops. The
 * function may then return early, and the loop returns INTERRUPTED. False
 * outside of st__parallel_try. */
bool st__stops(void);

/* For loops over one long line, which a range function may run as one unit:
 *
 *   for (int64_t i = 0; i < n && !st__stops_at(i);)
 *     for (const int64_t to = st__period_end(i, n); i < to; i++) ...
 *
 * Lines shorter than a period never ask. */
enum { ST_PERIOD = 1 << 16 }; /* elements between two questions */

static inline bool st__stops_at(int64_t i) {
  return i % ST_PERIOD == 0 && i > 0 && st__stops();
}

/* The same for loops over units of n elements each: counts `left` down, which
 * is ST_PERIOD at first, and asks when it is used up. */
static inline bool st__stops_after(int64_t *left, int64_t n) {
  *left -= n;
  if (*left > 0) return false;
  *left = ST_PERIOD;
  return st__stops();
}

static inline int64_t st__period_end(int64_t i, int64_t n) {
  const int64_t end = i - i % ST_PERIOD + ST_PERIOD;
  return end < n ? end : n;
}

/* The number of shares that a loop over n units would have if it started
 * now. */
int st__num_shares(int64_t n, int64_t grain);
/* Share k of n units for a team of `threads`; false if k is out of range. */
ST_API bool st_chunk(int64_t n, int64_t grain, int threads, int k,
                     int64_t *begin, int64_t *end);

/* The number of threads of a team: STRIDED_NUM_THREADS, else OMP_NUM_THREADS,
 * else the number of processors that the CPU affinity and the control groups'
 * quotas allow; fewer if they cannot be created (Note [Probing for
 * threads]). */
int st__num_threads(void);
/* n is 1 to 256 (BAD_VALUE). BAD_STATE for n > 1 in a child that was forked
 * inside a parallel region. */
ST_API st_status st_set_num_threads(int n);
bool st__in_parallel(void);

/* Bracket calls of a library that runs its own parallel regions, of at most
 * `threads` threads and no more than the engine's. Fork and exit wait until
 * the call has returned (Note [External parallel regions]). The calls must not
 * take a lock of the engine. The library must be loaded before the first one.
 * `before` is the result of st__external_parallel_begin. */
int st__external_parallel_begin(int threads);
void st__external_parallel_end(int before);

/* True if the process has no other thread, once the caller's team has ended,
 * which its next loop starts again. */
bool st__is_alone_in_process(void);

#endif
