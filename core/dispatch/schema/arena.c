/* An arena: a bump allocator over a list of chunks. */

#include "dispatch/schema/arena.h"

#include <stdalign.h>
#include <string.h>

struct st_arena_chunk {
  st_arena_chunk *next;
  size_t size, used; /* in bytes */
  alignas(max_align_t) char bytes[];
};

void *st__arena_alloc(st_arena *a, size_t n, size_t chunk) {
  const size_t align = alignof(max_align_t);
  st_arena_chunk *c = a->chunks;
  n = (n + align - 1) / align * align;
  if (!c || c->size - c->used < n) {
    const size_t size = n > chunk ? n : chunk;
    c = st__alloc_zero(a->kind, sizeof *c + size);
    if (!c) return NULL;
    c->size = size;
    c->next = a->chunks;
    a->chunks = c;
  }
  void *p = c->bytes + c->used;
  c->used += n;
  return p;
}

char *st__arena_text(st_arena *a, const char *s, size_t n) {
  char *p = st__arena_alloc(a, n + 1, 256);
  if (p) memcpy(p, s, n);
  return p;
}

size_t st__arena_size(const st_arena *a) {
  size_t size = 0;
  for (const st_arena_chunk *c = a->chunks; c; c = c->next) {
    size += sizeof *c + c->size;
  }
  return size;
}

void st__arena_free(st_arena *a) {
  for (st_arena_chunk *c = a->chunks, *next; c; c = next) {
    next = c->next;
    st__free(a->kind, c, sizeof *c + c->size);
  }
  a->chunks = NULL;
}
