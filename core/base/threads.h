/* The thread team: OpenMP, with a bound on the number of threads.
 *
 * Work for one caller is cut into contiguous pieces of at least `grain`
 * units. Nothing is given to threads when there is not more than one piece,
 * inside another parallel region, or in a forked child.
 */
#ifndef ST_BASE_THREADS_H
#define ST_BASE_THREADS_H

#include "base/types.h"

enum { ST_GRAIN = 32768 }; /* cheap elements worth a thread */

typedef void (*st_range_fn)(void *ctx, int64_t begin, int64_t end);

/* Calls fn over disjoint ranges that cover [begin, end). */
void st__parallel_for(int64_t begin, int64_t end, int64_t grain,
                      st_range_fn fn, void *ctx);

/* How many pieces st__parallel_for would use for n units. */
int st__num_pieces(int64_t n, int64_t grain);
/* Piece k of those that a team of `threads` would be given; false behind the
 * last. */
bool st__chunk(int64_t n, int64_t grain, int threads, int k, int64_t *begin,
               int64_t *end);

int st__num_threads(void);
st_status st__set_num_threads(int n); /* 1 .. 256 */
bool st__in_parallel(void);

#endif
