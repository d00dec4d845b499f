/* Executable pages.
 */
#ifndef ST_FUSE_JIT_EXECUTABLE_MEMORY_H
#define ST_FUSE_JIT_EXECUTABLE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Copies n bytes of code to pages that are executable and not writable; NULL if
 * the system refuses them. The caller frees them with st__exec_pages_free, with
 * the size that is stored in *size. */
void *st__exec_pages_new(const void *code, size_t n, size_t *size);
void st__exec_pages_free(void *pages, size_t size);

#endif
