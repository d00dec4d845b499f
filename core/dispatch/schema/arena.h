/* Memory that is freed all at once: schemas, and what parsing one needs.
 */
#ifndef ST_DISPATCH_SCHEMA_ARENA_H
#define ST_DISPATCH_SCHEMA_ARENA_H

#include "base/memory.h"

typedef struct st_arena_chunk st_arena_chunk;

typedef struct st_arena {
  st_mem_kind kind;
  st_arena_chunk *chunks;  /* newest first */
} st_arena;

/* n zeroed bytes, aligned for any object. Chunks hold at least `chunk`
 * bytes. NULL with the message set when there is no memory. */
void *st__arena_alloc(st_arena *a, size_t n, size_t chunk);
/* A NUL-terminated copy of n bytes. */
char *st__arena_text(st_arena *a, const char *s, size_t n);
void st__arena_free(st_arena *a);

#endif
