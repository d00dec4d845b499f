/* Sources: files, or bytes in memory, that tensors are read from or view.
 *
 * Note [Mapped files]
 * A file is mapped as a whole, by default privately: writes into a tensor over
 * it stay in this process, never reach the file, and do not fault. Tensors
 * share the mapping, which is unmapped with the last of them. If another
 * program truncates the file while it is mapped, its elements are lost, Note
 * [Truncated files]: replace files, as st.save does, instead of writing into
 * them.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/io.h"

struct st__source {
  atomic_int refs;      /* of the userdata and of tensors */
  int fd;               /* of a file that is not mapped; or -1 */
  st__mapping *mapping; /* NULL if there is none */
  size_t size;
  char *data;           /* the mapping or a copy */
};

/* -- Lifetime ------------------------------------------------------------- */

void st__source_release(st__source *s) {
  if (!s || atomic_fetch_sub(&s->refs, 1) > 1) return;
  if (s->fd >= 0) close(s->fd);
  if (s->mapping) {
    st__mapping_remove(s->mapping);
    munmap(s->data, s->size);
  } else {
    st_limits_free(s->data);
  }
  free(s);
}

st__source *st__source_retain(st__source *s) {
  atomic_fetch_add(&s->refs, 1);
  return s;
}

/* Pushes the userdata of a new source. [+1] */
static st__source *push_source(st__state *h, lua_State *L) {
  st__source **ud = st__newudata(h, L, ST_UD_SOURCE, sizeof *ud);   /* [+1] */
  st__source *s = calloc(1, sizeof *s);
  if (!s) {
    st__error(h, L, ST_NO_MEMORY, "out of memory");
    return NULL;
  }
  atomic_init(&s->refs, 1);
  s->fd = -1;
  *ud = s;
  return s;
}

static int source_gc(lua_State *L) {
  st__source **ud = st__testudata(st__state_of(L), L, 1, ST_UD_SOURCE);
  if (!ud) return 0;
  st__source_release(*ud);
  *ud = NULL;
  return 0;
}

st__source *st__check_source(st__state *h, lua_State *L, int idx) {
  st__source **ud = st__checkudata(h, L, idx, ST_UD_SOURCE, "source");
  if (!*ud) st__error(h, L, ST_BAD_STATE, "the source is closed");
  return *ud;
}

/* -- Reading -------------------------------------------------------------- */

static const char *read_some(const st__source *s, size_t offset, char *p,
                             size_t n) {
  if (s->fd < 0) {
    if (n) memcpy(p, s->data + offset, n);
    return NULL;
  }
  while (n > 0) {
    const ssize_t got = pread(s->fd, p, n, (off_t)offset);
    if (got == 0) return "the file is truncated";
    if (got < 0 && errno != EINTR) return strerror(errno);
    if (got < 0) continue;
    p += got;
    offset += (size_t)got;
    n -= (size_t)got;
  }
  return NULL;
}

const char *st__source_read(lua_State *L, const st__source *s, size_t offset,
                            void *out, size_t n) {
  char *p = out;
  const char *why = NULL;
  if (offset > s->size || n > s->size - offset) return "the file is truncated";
  for (size_t part; n > 0 && !why; n -= part, p += part, offset += part) {
    part = n < ST_POLL_BYTES ? n : ST_POLL_BYTES;
    why = read_some(s, offset, p, part);
    if (!why && n > part) why = st__poll_reason(L);
  }
  return why;
}

size_t st__source_size(const st__source *s) { return s->size; }

/* An offset or a count of bytes, which must not be negative. */
static size_t check_count(st__state *h, lua_State *L, int idx,
                          const char *arg) {
  const int64_t n = st__check_int(h, L, idx, arg);
  if (n < 0) st__error(h, L, ST_BAD_VALUE, "argument '%s' is negative", arg);
  return (size_t)n;
}

/* open_source(path [, writable]): returns a source, or nil and the error */
static int open_source(lua_State *L) {
  struct stat info;
  const char *path = luaL_checkstring(L, 1);
  const int mode = lua_toboolean(L, 2) ? O_RDWR : O_RDONLY;
  st__source *s = push_source(st__state_of(L), L); /* [+1] */
  /* Opening a FIFO without a writer must not block. */
  s->fd = open(path, mode | O_CLOEXEC | O_NONBLOCK);
  if (s->fd < 0 || fstat(s->fd, &info) != 0) {
    return st__failed(L, strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) return st__failed(L, strerror(EISDIR));
  if (!S_ISREG(info.st_mode)) return st__failed(L, "it is not a regular file");
  s->size = (size_t)info.st_size;
  return 1;
}

/* open_bytes(text): returns a source over a copy of text */
static int open_bytes(lua_State *L) {
  size_t n;
  st__state *h = st__state_of(L);
  const char *text = luaL_checklstring(L, 1, &n);
  st__source *s = push_source(h, L);              /* [+1] */
  s->data = st_limits_realloc(NULL, n);
  if (!s->data) return st__error(h, L, ST_NO_MEMORY, "%s", st_message());
  memcpy(s->data, text, n);
  s->size = n;
  return 1;
}

/* source:size(): returns the number of bytes */
static int source_size(lua_State *L) {
  st__state *h = st__state_of(L);
  st__push_int(h, L, (int64_t)st__check_source(h, L, 1)->size); /* [+1] */
  return 1;
}

/* st__source_read of a source that a finalizer or a hook may close. */
static const char *read_kept(lua_State *L, st__source *s, size_t offset,
                             void *out, size_t n) {
  st__source_retain(s);
  const char *why = st__source_read(L, s, offset, out, n);
  st__source_release(s);
  return why;
}

/* source:read(offset, n): returns a string, or nil and the error */
static int source_read(lua_State *L) {
  st__state *h = st__state_of(L);
  st__source *s = st__check_source(h, L, 1);
  const size_t offset = check_count(h, L, 2, "offset");
  const size_t n = check_count(h, L, 3, "n");
  if (offset > s->size || n > s->size - offset) {
    return st__failed(L, "the file is truncated");
  }
  void *bytes = lua_newuserdata(L, n);            /* [+1] */
  s = st__check_source(h, L, 1); /* a finalizer may have closed it */
  const char *why = read_kept(L, s, offset, bytes, n);
  if (why) return st__failed(L, why);
  lua_pushlstring(L, bytes, n);                   /* [+1] */
  return 1;
}

/* source:read_into(t, offset): fills all bytes of t; returns true, or nil and
 * the error */
static int source_read_into(lua_State *L) {
  st__state *h = st__state_of(L);
  size_t n;
  st__source *s = st__check_source(h, L, 1);
  char *p = st__check_memory(h, L, 2, &n);
  const size_t offset = check_count(h, L, 3, "offset");
  const char *why = read_kept(L, s, offset, p, n);
  if (why) return st__failed(L, why);
  lua_pushboolean(L, true);                       /* [+1] */
  return 1;
}

/* -- Mapping and viewing -------------------------------------------------- */

/* source:map([shared]): maps the file into memory; returns true, or nil and the
 * error. A source of bytes needs no mapping. */
static int source_map(lua_State *L) {
  st__source *s = st__check_source(st__state_of(L), L, 1);
  if (s->fd >= 0 && s->size > 0) {
    const int kind = lua_toboolean(L, 2) ? MAP_SHARED
                                         : MAP_PRIVATE | MAP_NORESERVE;
    void *data = mmap(NULL, s->size, PROT_READ | PROT_WRITE, kind, s->fd, 0);
    if (data == MAP_FAILED) return st__failed(L, strerror(errno));
    s->mapping = st__mapping_add(data, s->size, lua_toboolean(L, 2));
    if (!s->mapping) {
      munmap(data, s->size);
      return st__failed(L, strerror(ENOMEM));
    }
    s->data = data;
    close(s->fd);
    s->fd = -1;
  }
  lua_pushboolean(L, true);                       /* [+1] */
  return 1;
}

static void free_view(void *source, void *data, size_t nbytes) {
  (void)data; (void)nbytes;
  st__source_release(source);
}

/* source:view(offset, dtype, shape, strides): returns a tensor over its bytes;
 * nil if they are not aligned for the dtype */
static int source_view(lua_State *L) {
  st__state *h = st__state_of(L);
  st__layout layout;
  lua_settop(L, 5);
  const size_t offset = check_count(h, L, 2, "offset");
  st__check_layout(h, L, 3, &layout);
  st__tensor_ud *ud = st__new_tensor_ud(h, L);    /* [+1] */
  st__source *s = st__check_source(h, L, 1);
  if (offset > s->size || layout.nbytes > s->size - offset ||
      (!s->data && layout.nbytes > 0)) {
    return st__error(h, L, ST_BAD_INDEX, "view: outside the source");
  }
  char *p = layout.nbytes ? s->data + offset : NULL;
  const size_t unit = st_dtype_size(layout.dtype);
  if ((uintptr_t)p % (unit < 8 ? unit : 8) != 0) return 0;
  const st_status status =
    st_tensor_wrap(p, layout.nbytes, layout.dtype, layout.ndim,
                   layout.sizes, st__layout_strides(&layout), 0, free_view,
                   st__source_retain(s), &ud->t);
  if (status == ST_OK) return 1;
  st__source_release(s);
  return st__raise(h, L, status);
}

/* -- Opening -------------------------------------------------------------- */

static void fill_source(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {
    {"size", source_size}, {"map", source_map}, {"view", source_view},
    {"close", source_gc}, {NULL, NULL}
  };
  static const luaL_Reg access[] = {
    {"read", source_read}, {"read_into", source_read_into}, {NULL, NULL}
  };
  static const luaL_Reg metamethods[] = {{"__gc", source_gc}, {NULL, NULL}};
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                                /* [+1] */
  st__set_functions(h, L, methods);
  st__set_access_functions(h, L, access, false);
  lua_setfield(L, -2, "__index");                 /* [-1] */
}

void st__open_source(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"open_source", open_source}, {"open_bytes", open_bytes}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_SOURCE, fill_source);
  st__set_functions(h, L, functions);
  lua_pushstring(L, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "<" : ">");
  lua_setfield(L, -2, "byte_order");              /* [+1, -1] */
}
