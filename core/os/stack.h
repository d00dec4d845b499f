/* Loops on threads with small stacks.
 *
 * Note [The stack of a loop]
 * Kernels keep blocks of elements on the stack, up to 320 KB in a reduction, so
 * that they cannot fail and their blocks stay in the cache. A thread with a
 * small stack has no room for that: there a loop runs on a second stack, which
 * the thread maps at its first such loop and keeps until it ends. The other
 * code of the engine needs less than 48 KB.
 */
#ifndef ST_OS_STACK_H
#define ST_OS_STACK_H

#include <stdbool.h>

/* Calls fn(arg), on a second stack if this one has not enough room for a loop
 * and its memory can be mapped. fn returns; it does not jump out. */
void st__on_large_stack(void (*fn)(void *arg), void *arg);

/* True if this thread's stack has room for a loop, or nobody knows its size, or
 * the second stack is in use. */
bool st__stack_is_large(void);

/* True in a loop on the second stack. Such a loop is not interrupted: Lua code,
 * which a check may run, needs the thread's own stack. */
bool st__on_second_stack(void);

#endif
