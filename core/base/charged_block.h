/* Blocks that are charged to the limits of a thread until they are freed.
 *
 * Note [Charged blocks]
 * A block of the registry, of the graph or of a value has no room for the
 * limits that it is charged to, and may be freed later, by another thread and
 * outside of all limits: schedules of fused functions, operators, programs,
 * their machine code. So a table has the owner of each such block. Only blocks
 * that are allocated under limits are in it, and a process without limits does
 * not look.
 */
#ifndef ST_BASE_CHARGED_BLOCK_H
#define ST_BASE_CHARGED_BLOCK_H

#include "base/call_limits.h"

/* Charges a new block of n bytes to this thread's limits, if it has any; false,
 * with the message set, if they do not allow it. */
bool st__block_add(const void *p, size_t n);
/* Takes the charge back before the block is freed. */
void st__block_remove(const void *p);

/* realloc of a block of malloc that is charged; NULL, with the message set. */
void *st__block_resize(void *p, size_t n);

static inline bool st__charge_block(const void *p, size_t n) {
  return !st__may_have_limits() || st__block_add(p, n);
}

static inline void st__credit_block(const void *p) {
  if (st__may_have_limits()) st__block_remove(p);
}

#endif
