/* An arena allocator: all its memory is freed at once. It holds a schema, and
 * the parser's temporary data.
 */
#ifndef ST_DISPATCH_SCHEMA_ARENA_H
#define ST_DISPATCH_SCHEMA_ARENA_H

#include "base/memory.h"

typedef struct st_arena_chunk st_arena_chunk;

typedef struct st_arena {
  st_mem_kind kind;
  st_arena_chunk *chunks;  /* newest first */
} st_arena;

/* Allocates n zeroed bytes, aligned for any object; a new chunk has at least
 * `chunk` bytes. NULL with the message set if out of memory. */
void *st__arena_alloc(st_arena *a, size_t n, size_t chunk);
/* A NUL-terminated copy of n bytes. */
char *st__arena_text(st_arena *a, const char *s, size_t n);
/* The bytes of all its chunks. */
size_t st__arena_size(const st_arena *a);
void st__arena_free(st_arena *a);

#endif
