/* When a thread runs parallel loops alone, although it has a team (Note
 * [Backing off from a slow team]). Times are those of st__now, in ns.
 */
#ifndef ST_OS_BACKOFF_H
#define ST_OS_BACKOFF_H

#include "abi/types.h"

/* A loop that starts now runs alone until then; a time in the past: not. */
int64_t st__alone_until(int64_t now);
/* The calling thread has run a loop alone. */
void st__ran_alone(int64_t start, int64_t end);

/* The calling thread's team has run a loop, whose last member began at
 * `arrival`. lost: the time that it took in excess of what the caller alone
 * would have needed. */
typedef struct st_region { int64_t start, arrival, end, lost; } st_region;

void st__region_ended(const st_region *r);

/* The processor that the calling thread runs on, or -1. */
int st__processor(void);
/* Moves the calling thread to another processor if it runs on this one and may
 * run on others. */
void st__leave_processor(int processor);

#endif
