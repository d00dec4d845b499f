/* Members of zip archives: reads stored or deflated members from a source,
 * deflates tensors and strings into a file.
 */

#include <string.h>
#include <zlib.h>

#include "io/io.h"

enum {
  BLOCK = 32768,         /* size of the input buffer */
  OUT_BLOCK = 8192,      /* size of the output buffer, on the stack */
  MAX_CHUNK = ST_POLL_BYTES, /* zlib counts in 32 bits */
  RAW = -15,             /* zlib windowBits: largest, no header */
  MAX_READ = 1 << 20     /* bytes of one string */
};

typedef struct member {
  st__source *source;    /* NULL once closed */
  size_t at, left;       /* the unread compressed bytes */
  uLong crc;             /* of the bytes read so far */
  bool is_deflated, has_ended;
  z_stream z;
  Bytef in[BLOCK];
} member;

/* -- Lifetime ------------------------------------------------------------- */

static int member_gc(lua_State *L) {
  member *m = st__testudata(st__state_of(L), L, 1, ST_UD_MEMBER);
  if (!m || !m->source) return 0;
  if (m->is_deflated) inflateEnd(&m->z);
  st__source_release(m->source);
  m->source = NULL;
  return 0;
}

/* open_member(source, offset, n, deflated): returns the member in the n bytes
 * at offset */
static int open_member(lua_State *L) {
  st__state *h = st__state_of(L);
  lua_settop(L, 4);
  const int64_t at = st__check_int(h, L, 2, "offset");
  const int64_t n = st__check_int(h, L, 3, "n");
  member *m = st__newudata(h, L, ST_UD_MEMBER, sizeof *m); /* [+1] */
  st__source *s = st__check_source(h, L, 1);
  const size_t size = st__source_size(s);
  if (at < 0 || n < 0 || (size_t)at > size || (size_t)n > size - (size_t)at) {
    return st__error(h, L, ST_BAD_INDEX, "open_member: outside the source");
  }
  m->at = (size_t)at;
  m->left = (size_t)n;
  m->crc = crc32(0, NULL, 0);
  if (lua_toboolean(L, 4) && inflateInit2(&m->z, RAW) != Z_OK) {
    return st__error(h, L, ST_NO_MEMORY, "out of memory");
  }
  m->is_deflated = lua_toboolean(L, 4);
  m->source = st__source_retain(s);
  return 1;
}

static member *check_member(lua_State *L) {
  st__state *h = st__state_of(L);
  member *m = st__checkudata(h, L, 1, ST_UD_MEMBER, "self");
  if (!m->source) st__error(h, L, ST_BAD_STATE, "the member is closed");
  return m;
}

/* -- Reading -------------------------------------------------------------- */

/* Refills the input buffer if it is empty. */
static const char *refill(lua_State *L, member *m) {
  if (m->z.avail_in > 0) return NULL;
  const size_t n = m->left < BLOCK ? m->left : BLOCK;
  const char *why = st__poll_reason(L);
  if (why) return why;
  if (!m->source) return "the member is closed"; /* by a hook */
  why = st__source_read(L, m->source, m->at, m->in, n);
  if (why) return why;
  m->z.next_in = m->in;
  m->z.avail_in = (uInt)n;
  m->at += n;
  m->left -= n;
  return NULL;
}

/* Inflates up to n bytes; got receives their number, less than n at the end of
 * the member. */
static const char *inflate_some(lua_State *L, member *m, Bytef *out, size_t n,
                                size_t *got) {
  *got = 0;
  while (*got < n && !m->has_ended) {
    const char *why = refill(L, m);
    if (why) return why;
    const uInt room = (uInt)(n - *got < MAX_CHUNK ? n - *got : MAX_CHUNK);
    m->z.next_out = out + *got;
    m->z.avail_out = room;
    const int code = inflate(&m->z, Z_NO_FLUSH);
    const size_t made = room - m->z.avail_out;
    *got += made;
    if (code == Z_STREAM_END) m->has_ended = true;
    else if (code == Z_MEM_ERROR) return "out of memory";
    else if (code == Z_BUF_ERROR && m->left == 0) return "it is truncated";
    else if (code != Z_OK) return "its compressed data are damaged";
  }
  return NULL;
}

static const char *add_to_crc(lua_State *L, uLong *crc, const void *p,
                              size_t n) {
  const Bytef *bytes = p;
  const char *why = NULL;
  while (n > 0 && !why) {
    const uInt part = (uInt)(n < MAX_CHUNK ? n : MAX_CHUNK);
    *crc = crc32(*crc, bytes, part);
    bytes += part;
    n -= part;
    if (n > 0) why = st__poll_reason(L);
  }
  return why;
}

/* Reads the next n bytes, which are stored. */
static const char *read_stored(lua_State *L, member *m, void *out, size_t n) {
  st__source *s = st__source_retain(m->source); /* a hook may close m */
  const char *why = st__source_read(L, s, m->at, out, n);
  st__source_release(s);
  m->at += n;
  m->left -= n;
  return why;
}

/* Reads the next n bytes and updates the CRC. */
static const char *read_bytes(lua_State *L, member *m, void *out, size_t n) {
  const char *why;
  size_t got = n;
  if (m->is_deflated) {
    why = inflate_some(L, m, out, n, &got);
  } else if (n > m->left) {
    return "it is truncated";
  } else {
    why = read_stored(L, m, out, n);
  }
  if (why) return why;
  return got < n ? "it is truncated" : add_to_crc(L, &m->crc, out, n);
}

/* member:read(n): returns the next n bytes as a string, or nil and the error */
static int member_read(lua_State *L) {
  st__state *h = st__state_of(L);
  member *m = check_member(L);
  const int64_t n = st__check_int(h, L, 2, "n");
  if (n < 0 || n > MAX_READ) {
    return st__error(h, L, ST_BAD_VALUE, "read: argument 'n' is out of range");
  }
  void *bytes = lua_newuserdata(L, (size_t)n);   /* [+1] */
  m = check_member(L);                           /* a finalizer may close it */
  const char *why = read_bytes(L, m, bytes, (size_t)n);
  if (why) return st__failed(L, why);
  lua_pushlstring(L, bytes, (size_t)n);          /* [+1] */
  return 1;
}

/* member:read_into(t): reads the next bytes into t; returns true, or nil and
 * the error */
static int member_read_into(lua_State *L) {
  size_t n;
  member *m = check_member(L);
  char *p = st__check_memory(st__state_of(L), L, 2, &n);
  const char *why = read_bytes(L, m, p, n);
  if (why) return st__failed(L, why);
  lua_pushboolean(L, true);                      /* [+1] */
  return 1;
}

/* member:finish(): returns the CRC of its bytes, once all are read; or nil and
 * the error */
static int member_finish(lua_State *L) {
  Bytef byte;
  size_t got = 0;
  member *m = check_member(L);
  if (m->is_deflated && !m->has_ended) {
    const char *why = inflate_some(L, m, &byte, 1, &got);
    if (why) return st__failed(L, why);
  }
  if (got > 0 || m->left > 0 || m->z.avail_in > 0) {
    return st__failed(L, "it is longer than its header says");
  }
  st__push_int(st__state_of(L), L, (int64_t)m->crc); /* [+1] */
  return 1;
}

/* -- Writing -------------------------------------------------------------- */

/* crc32(string | tensor ...): returns the CRC of all their bytes */
static int crc(lua_State *L) {
  st__state *h = st__state_of(L);
  uLong sum = crc32(0, NULL, 0);
  for (int i = 1; i <= lua_gettop(L); i++) {
    size_t n;
    const char *p = st__check_bytes(h, L, i, &n);
    const char *why = add_to_crc(L, &sum, p, n);
    if (why) return st__failed(L, why);
  }
  st__push_int(h, L, (int64_t)sum);              /* [+1] */
  return 1;
}

/* Deflates n bytes into the file at index 1. */
static const char *deflate_bytes(lua_State *L, z_stream *z, const char *p,
                                 size_t n, bool is_last) {
  Bytef out[OUT_BLOCK];
  int code;
  do {
    const uInt part = (uInt)(n < MAX_CHUNK ? n : MAX_CHUNK);
    const int flush = is_last && part == n ? Z_FINISH : Z_NO_FLUSH;
    z->next_in = (z_const Bytef *)(uintptr_t)p;
    z->avail_in = part;
    p = part ? p + part : p;
    n -= part;
    do {
      z->next_out = out;
      z->avail_out = OUT_BLOCK;
      code = deflate(z, flush);
      const char *why = st__save_write(L, 1, out, OUT_BLOCK - z->avail_out);
      if (!why) why = st__poll_reason(L);
      if (why) return why;
    } while (z->avail_out == 0);
  } while (n > 0);
  return is_last && code != Z_STREAM_END ? "deflate failed" : NULL;
}

/* deflate(file, string | tensor ...): deflates all their bytes as one stream;
 * returns true, or nil and the error */
static int deflate_all(lua_State *L) {
  st__state *h = st__state_of(L);
  const int top = lua_gettop(L);
  const char *why = NULL;
  size_t n;
  st__save_write(L, 1, NULL, 0);  /* raises unless it is a file */
  for (int i = 2; i <= top; i++) st__check_bytes(h, L, i, &n);
  z_stream z = {.zalloc = NULL};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return st__failed(L, "out of memory");
  }
  for (int i = 2; i <= top && !why; i++) {
    const char *p = st__check_bytes(h, L, i, &n);
    why = deflate_bytes(L, &z, p, n, i == top);
  }
  deflateEnd(&z);
  if (why) return st__failed(L, why);
  lua_pushboolean(L, true);                      /* [+1] */
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_member(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {
    {"finish", member_finish}, {"close", member_gc}, {NULL, NULL}
  };
  static const luaL_Reg access[] = {
    {"read", member_read}, {"read_into", member_read_into}, {NULL, NULL}
  };
  static const luaL_Reg metamethods[] = {{"__gc", member_gc}, {NULL, NULL}};
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                               /* [+1] */
  st__set_functions(h, L, methods);
  st__set_access_functions(h, L, access, false);
  lua_setfield(L, -2, "__index");                /* [-1] */
}

void st__open_zip_member(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"open_member", open_member}, {NULL, NULL}
  };
  static const luaL_Reg access[] = {
    {"crc32", crc}, {"deflate", deflate_all}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_MEMBER, fill_member);
  st__set_functions(h, L, functions);
  st__set_access_functions(h, L, access, false);
}
