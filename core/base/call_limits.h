/* Limits of the calls of a thread: memory, threads and time.
 *
 * Note [Limits of calls]
 * A host that runs code which it does not trust enters an st_limits around it.
 * Objects that are created meanwhile on that thread are charged to these
 * limits, and remember them, because they may be released later and on another
 * thread: storages by their elements, view headers and generators by their
 * size, other blocks as Note [Charged blocks] says. Scratch memory is charged
 * for as long as it is allocated; it is freed by the call that allocates it. A
 * process that creates no limits reads one flag.
 *
 * Note [Charged blocks]
 * A block of the registry, of the graph or of a value has no room for the
 * limits that it is charged to, and may be freed later, by another thread and
 * outside of all limits: schedules of fused functions, operators, programs,
 * their machine code. So a table has the owner of each such block. Only blocks
 * that are allocated under limits are in it, and a process without limits does
 * not look.
 */
#ifndef ST_BASE_CALL_LIMITS_H
#define ST_BASE_CALL_LIMITS_H

#include <stdatomic.h>

#include "abi/types.h"
#include "abi/strided_memory.h"

typedef struct st_limits st_limits;

/* True once the process has created limits. */
extern atomic_bool st__has_limits;

static inline bool st__may_have_limits(void) {
  return __builtin_expect(atomic_load_explicit(&st__has_limits,
                                               memory_order_relaxed), 0);
}

/* BAD_STATE once the time of this thread's limits is over. */
st_status st__limits_test_time(void);
static inline st_status st__limits_check(void) {
  return st__may_have_limits() ? st__limits_test_time() : ST_OK;
}

/* At most n threads; fewer if this thread's limits say so. */
int st__limits_threads(int n);

/* Charges n bytes to this thread's limits and sets *owner to them, or to NULL
 * if there are none. NO_MEMORY if they do not allow it. */
st_status st__limits_add(size_t n, st_limits **owner);
static inline st_status st__limits_charge(size_t n, st_limits **owner) {
  *owner = NULL;
  return st__may_have_limits() ? st__limits_add(n, owner) : ST_OK;
}
/* Takes the charge back; owner may be NULL. */
void st__limits_subtract(st_limits *owner, size_t n);
static inline void st__limits_credit(st_limits *owner, size_t n) {
  if (owner) st__limits_subtract(owner, n);
}
/* The same for memory that this thread frees before it leaves its limits. */
bool st__limits_charge_scratch(size_t n);
void st__limits_credit_scratch(size_t n);

/* -- Charged blocks ------------------------------------------------------- */

/* Charges a new block of n bytes to this thread's limits, if it has any; false,
 * with the message set, if they do not allow it. */
bool st__block_add(const void *p, size_t n);
/* Takes the charge back before the block is freed. */
void st__block_remove(const void *p);

static inline bool st__charge_block(const void *p, size_t n) {
  return !st__may_have_limits() || st__block_add(p, n);
}

static inline void st__credit_block(const void *p) {
  if (st__may_have_limits()) st__block_remove(p);
}

#endif
