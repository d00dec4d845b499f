/* The room of files, mapped memory, and memory of others.
 */
#ifndef ST_LUA_IO_IO_H
#define ST_LUA_IO_IO_H

#include "tensor/tensor.h"

#define ST_IO_OPENERS(X) \
  X(dlpack) X(arrow) X(source) X(mapped_pages) X(save) \
  X(zip_member) X(csv_read) X(csv_write) X(share)
ST_IO_OPENERS(ST_DECLARE_OPENER)

/* -- failure.c ------------------------------------------------------------- */

/* Pushes nil and the reason; returns 2. Raises for st__interrupted. [+2] */
int st__failed(lua_State *L, const char *why);
/* st__poll_status as a reason: NULL or st__interrupted. st__source_read and
 * st__save_write poll. */
const char *st__poll_reason(lua_State *L);
extern const char st__interrupted[];

/* -- mapped_fault.c -------------------------------------------------------- */

/* Installs the handler, once: Note [Truncated files]. It calls replace, the
 * same function in all calls, which puts zeros in place of the rest of the
 * mapping that has the address, or returns false if none has. */
void st__catch_faults(bool (*replace)(uintptr_t p));

/* -- mapped_pages.c, mapped_file.c, atomic_save.c -------------------------- */

/* A mapped file, in the list that finds the mapping of a tensor. */
typedef struct st__mapping st__mapping;

st__mapping *st__mapping_add(const void *p, size_t n, bool is_shared);
void st__mapping_remove(st__mapping *m); /* before it is unmapped */

/* A file or bytes in memory, reference-counted; any thread may release it. */
typedef struct st__source st__source;

st__source *st__check_source(st__state *h, lua_State *L, int idx);
st__source *st__source_retain(st__source *s);
void st__source_release(st__source *s); /* NULL is a no-op */
size_t st__source_size(const st__source *s);
/* Reads n bytes at offset; returns NULL, or the reason of a failure. */
const char *st__source_read(lua_State *L, const st__source *s, size_t offset,
                            void *out, size_t n);
/* Appends n bytes to the atomic save at idx; returns as st__source_read. */
const char *st__save_write(lua_State *L, int idx, const void *p, size_t n);
/* The bytes of the string, or of the tensor's memory, at idx. */
const char *st__check_bytes(st__state *h, lua_State *L, int idx, size_t *n);
#endif
