/* Interrupts: whether a call that takes long should stop.
 *
 * Note [Interrupts of long calls]
 * A loop that may take long runs in blocks of about a millisecond. Between two
 * blocks the thread that made the call asks its checks whether to stop: those
 * of the process, which language bindings add, and that of the thread, which
 * the host sets. If one says so, the other blocks are skipped, the loop returns
 * INTERRUPTED, and the call fails with it. Members of a team stop at their next
 * piece. What was written stays written, and the versions of tensors that the
 * call writes count it as a write. Checks run at most once per
 * millisecond, so short calls never run them. A range function cannot fail: it
 * asks by st__stops and returns early, and a loop inside of another loop's
 * ranges returns OK. The thread that made the call asks also while it waits for
 * the members that still work.
 */
#ifndef ST_BASE_INTERRUPT_H
#define ST_BASE_INTERRUPT_H

#include "base/status.h"

/* Monotonic time in nanoseconds. */
int64_t st__now(void);

typedef bool (*st_interrupt_fn)(void *ctx);

/* Sets the check of this thread; NULL for none. */
ST_API void st_set_interrupt_check(st_interrupt_fn fn, void *ctx);
/* Adds a check of the process, unless it is there; BAD_STATE if there is no
 * room. It runs on the thread that made the call. */
ST_API st_status st_add_interrupt_check(bool (*fn)(void));

/* For loops: call it about every 100 microseconds or less often. */
__attribute__((warn_unused_result)) st_status st__poll_interrupt(void);
/* True if the last question of this thread was answered with yes. */
bool st__was_interrupted(void);

#endif
