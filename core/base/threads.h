/* The thread team: OpenMP, with a bound on the number of threads.
 *
 * Work for one caller is cut into contiguous shares of about `grain` units or
 * more, at most one for each thread. Nothing is given to threads when there
 * is not more than one share, inside another parallel region, in a forked
 * child, or while the machine has no time for them (Note [Backing off from a
 * slow team]).
 */
#ifndef ST_BASE_THREADS_H
#define ST_BASE_THREADS_H

#include "base/types.h"

enum { ST_GRAIN = 32768 }; /* cheap elements worth a thread */

/* Calls fn over disjoint ranges that cover [begin, end), possibly at the same
 * time: pieces of the shares that st__chunk tells (Note [Work stealing]).
 */
void st__parallel_for(int64_t begin, int64_t end, int64_t grain,
                      st_range_fn fn, void *ctx);

/* How many shares there would be of n units, here and now. */
int st__num_pieces(int64_t n, int64_t grain);
/* Share k of those that a team of `threads` would be given; false behind the
 * last. */
bool st__chunk(int64_t n, int64_t grain, int threads, int k, int64_t *begin,
               int64_t *end);

/* As many as STRIDED_NUM_THREADS says, else OMP_NUM_THREADS, else one for each
 * processor that affinity and the control groups' quotas leave to the process;
 * fewer when they cannot be made (Note [Probing for threads]). */
int st__num_threads(void);
/* 1 .. 256; BAD_STATE for more than one in a child that was forked inside a
 * parallel region. */
st_status st__set_num_threads(int n);
bool st__in_parallel(void);

/* Around calls of a library that runs parallel regions of its own: these have
 * as many members as the engine's, and fork and exit wait for the end
 * (Note [External parallel regions]). In between nothing takes a lock
 * of the engine. The library is loaded before the first time. */
int st__external_parallel_begin(void);
void st__external_parallel_end(int before);

#endif
