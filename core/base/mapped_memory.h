/* Memory that the kernel maps for the engine alone: large blocks (Note [Mapped
 * blocks]) and the objects of st_init (Note [Memory of the start]).
 */
#ifndef ST_BASE_MAPPED_MEMORY_H
#define ST_BASE_MAPPED_MEMORY_H

#include "base/types.h"

enum { ST_MAPPED_MIN = 2 << 20 }; /* bytes, a huge page */

/* A new block of `size` bytes, all zero, which starts on a huge page if there
 * is address space; NULL without memory. */
void *st__map_block(size_t size);
void st__unmap_block(void *p, size_t size);

/* Has the kernel provide the pages of n bytes at p in one call, instead of one
 * by one as they are used. */
void st__populate(void *p, size_t n);

/* Between these two calls st__start_object returns memory, 16-byte aligned,
 * which is never freed; NULL once it is used up, before and behind. */
void st__open_start(void);
void st__close_start(void);
void *st__start_object(size_t n);
bool st__is_of_start(const void *p);

#endif
