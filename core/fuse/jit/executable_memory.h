/* Pages whose contents the processor may run.
 */
#ifndef ST_FUSE_JIT_EXECUTABLE_MEMORY_H
#define ST_FUSE_JIT_EXECUTABLE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* A copy of n bytes of code that can be called, but no longer be written;
 * NULL where the system gives none. *size: what st__exec_pages_free wants. */
void *st__exec_pages_new(const void *code, size_t n, size_t *size);
void st__exec_pages_free(void *pages, size_t size);

#endif
