/* The live bytes of all kinds of memory, read without a lock.
 */
#ifndef ST_BASE_LIVE_MEMORY_H
#define ST_BASE_LIVE_MEMORY_H

#include <stdint.h>

/* What this thread knows: exact for its own allocations, and off by up to a
 * megabyte for each other thread (Note [Memory statistics]). */
int64_t st__memory_live(void);

#endif
