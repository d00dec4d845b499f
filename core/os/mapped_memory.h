/* Memory that the kernel maps for the engine alone: large blocks (Note [Mapped
 * blocks]) and the objects of st_init (Note [Memory for start-up]).
 */
#ifndef ST_OS_MAPPED_MEMORY_H
#define ST_OS_MAPPED_MEMORY_H

#include "os/machine.h"
#include "abi/types.h"

enum { ST_MAPPED_MIN = ST_FIXED_huge_page }; /* bytes */

/* A new block of `size` bytes, all zero, which starts on a huge page if there
 * is address space; NULL without memory. */
void *st__map_block(size_t size);
void st__unmap_block(void *p, size_t size);

/* Has the kernel provide the pages of n bytes at p in one call, instead of one
 * by one as they are used. */
void st__populate(void *p, size_t n);

/* Between these two calls st__startup_alloc returns memory, 16-byte aligned,
 * which belongs to the process for ever and must not be freed. NULL when it is
 * used up, before the first call and after the second. */
void st__open_startup_memory(void);
void st__close_startup_memory(void);
void *st__startup_alloc(size_t n);
bool st__is_startup_memory(const void *p);

#endif
