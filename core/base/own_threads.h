/* How many threads the calls of one thread may use. Unlike the limits of
 * call_limits.h, it does not make other calls slower.
 */
#ifndef ST_BASE_OWN_THREADS_H
#define ST_BASE_OWN_THREADS_H

/* 0: no limit. */
void st__limit_own_threads(int n);

#endif
