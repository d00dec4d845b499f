/* frombuffer: tensors over memory that the engine did not allocate, an address
 * with an owner; or over a copy of the bytes of a string.
 *
 * Note [Strings are copied]
 * Lua strings are immutable and interned: equal strings are one object, and
 * tables find it by its hash. The engine has no read-only storages, so a tensor
 * over the bytes of a string could be written to. A string is therefore copied.
 */

#include <inttypes.h>
#include <string.h>

#include "value/value.h"

#define NAME "frombuffer"

/* -- Arguments ------------------------------------------------------------ */

int st__check_sizes(st__state *h, lua_State *L, int idx, const char *arg,
                    int64_t *out) {
  if (!lua_istable(L, idx)) {
    st__error(h, L, ST_BAD_TYPE, "argument '%s' must be a table, got %s",
              arg, st__type_name(h, L, idx));
  }
  const size_t n = lua_objlen(L, idx);
  if (n > ST_MAX_DIMS) {
    st__error(h, L, ST_BAD_SHAPE, "argument '%s' has more than %d entries",
              arg, ST_MAX_DIMS);
  }
  for (int i = 0; i < (int)n; i++) {
    lua_rawgeti(L, idx, i + 1);                /* [+1] */
    out[i] = st__check_int(h, L, -1, arg);
    lua_pop(L, 1);                             /* [-1] */
  }
  return (int)n;
}

void st__check_layout(st__state *h, lua_State *L, int idx, st__layout *out) {
  out->dtype = st__check_dtype(h, L, idx, "dtype");
  out->ndim = st__check_sizes(h, L, idx + 1, "shape", out->sizes);
  out->has_strides = !lua_isnoneornil(L, idx + 2);
  if (out->has_strides &&
      st__check_sizes(h, L, idx + 2, "strides", out->strides) != out->ndim) {
    st__error(h, L, ST_BAD_SHAPE, "arguments 'shape' and 'strides' differ in "
              "length");
  }
  /* A tensor on the meta device checks the layout without allocating. */
  st__tensor_ud *ud = st__new_tensor_ud(h, L); /* [+1] */
  const st_status status =
    st_tensor_empty(ST_DEVICE_META, out->dtype, out->ndim, out->sizes,
                    st__layout_strides(out), &ud->t);
  if (status != ST_OK) st__raise(h, L, status);
  out->nbytes = st_tensor_numel(ud->t) ? st_tensor_storage_nbytes(ud->t)
                                        : 0;
  st_tensor_release(&ud->t);
  lua_pop(L, 1);                               /* [-1] */
}

/* -- Bytes ---------------------------------------------------------------- */

/* Replaces bytes other than 0 and 1 by 1. Writes only where needed: the pages
 * may be mapped. */
void st__make_bools(st__state *h, lua_State *L, char *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (p[i] & ~1) p[i] = 1;
    if (i % ST_POLL_BYTES == ST_POLL_BYTES - 1) st__poll(h, L);
  }
}

void st__copy_bytes(st__state *h, lua_State *L, char *to, const char *from,
                    size_t n) {
  for (; n > ST_POLL_BYTES; n -= ST_POLL_BYTES) {
    memcpy(to, from, ST_POLL_BYTES);
    to += ST_POLL_BYTES;
    from += ST_POLL_BYTES;
    st__poll(h, L);
  }
  if (n) memcpy(to, from, n);
}

static void copy_text(st__state *h, lua_State *L, const char *p,
                      const st__layout *layout) {
  st__tensor_ud *ud = st__new_tensor_ud(h, L);  /* [+1] */
  bool room = false;
  st_status status;
  do {
    status = st_tensor_empty(ST_DEVICE_CPU, layout->dtype, layout->ndim,
                             layout->sizes, st__layout_strides(layout),
                             &ud->t);
  } while (status == ST_NO_MEMORY && st__gc_retry(h, L, &room));
  if (status != ST_OK) st__raise(h, L, status);
  if (layout->nbytes == 0) return;
  char *data = st_tensor_data(ud->t);
  st__copy_bytes(h, L, data, p, layout->nbytes);
  if (layout->dtype == ST_BOOL) st__make_bools(h, L, data, layout->nbytes);
  st__gc_charge(h, ud, (int64_t)layout->nbytes);
}

/* -- Addresses ------------------------------------------------------------ */

static void free_owner(void *owner, void *data, size_t nbytes) {
  (void)data; (void)nbytes;
  if (owner) st__lua_ref_free(owner);
}

/* Wraps memory at p. The value at idx, unless nil, owns it and is kept alive
 * until the storage is freed. */
static void wrap_bytes(st__state *h, lua_State *L, char *p,
                       const st__layout *layout, int idx) {
  st__tensor_ud *ud = st__new_tensor_ud(h, L);  /* [+1] */
  st__lua_ref *owner = NULL;
  if (!lua_isnoneornil(L, idx)) {
    owner = st__lua_ref_new(h, L, idx, sizeof *owner);
  }
  const st_status status =
    st_tensor_wrap(p, layout->nbytes, layout->dtype, layout->ndim,
                   layout->sizes, st__layout_strides(layout), 0, free_owner,
                   owner, &ud->t);
  if (status == ST_OK) {
    if (owner) st_tensor_bind(ud->t);  /* freed with the state */
    return;
  }
  if (owner) st__lua_ref_free(owner);
  st__lua_ref_sweep(h, L);
  st__error(h, L, status, NAME ": %s", st_message());
}

/* -- Opening -------------------------------------------------------------- */

/* Argument 3, the size of the memory at the address in argument 1. */
static size_t check_size(st__state *h, lua_State *L, const st__address *a) {
  if (lua_isnil(L, 3)) return a->size;
  const int64_t n = st__check_int(h, L, 3, "nbytes");
  if (a->has_size && n > 0 && (uint64_t)n > a->size) {
    st__error(h, L, ST_BAD_INDEX, NAME ": nbytes is %" PRId64 " and the cdata "
              "has %zu", n, a->size);
  }
  return n < 0 ? 0 : (size_t)n;
}

/* An array or structure owns its memory: replaces the owner in argument 2 by a
 * list of it and the owner given. */
static void add_owner(lua_State *L) {
  lua_createtable(L, 2, 0);                                /* [+1] */
  lua_pushvalue(L, 1);                                     /* [+1] */
  lua_rawseti(L, -2, 1);                                   /* [-1] */
  lua_pushvalue(L, 2);                                     /* [+1] */
  lua_rawseti(L, -2, 2);                                   /* [-1] */
  lua_replace(L, 2);                                       /* [-1] */
}

/* cdata_size(source): the size of an array or structure of the FFI, nil for a
 * pointer; raises for any other cdata */
static int cdata_size(lua_State *L) {
  st__state *h = st__state_of(L);
  st__address a;
  if (!st__to_address(h, L, 1, NAME, &a) || !a.has_size) return 0;
  st__push_int(h, L, (int64_t)a.size);                     /* [+1] */
  return 1;
}

/* frombuffer(source, owner, nbytes, offset, dtype, shape, strides): copies a
 * string, ignoring nbytes; wraps the memory at an address, of nbytes bytes, or
 * as many as the layout needs if nbytes is nil */
static int frombuffer(lua_State *L) {
  st__state *h = st__state_of(L);
  st__layout layout;
  st__address a = {NULL, false, 0};
  lua_settop(L, 7);
  const int64_t offset = st__check_int(h, L, 4, "offset");
  st__check_layout(h, L, 5, &layout);
  size_t size = SIZE_MAX;
  const bool is_text = lua_type(L, 1) == LUA_TSTRING;
  const char *text = is_text ? lua_tolstring(L, 1, &size) : NULL;
  if (!is_text && !st__to_address(h, L, 1, NAME, &a)) {
    return st__error(h, L, ST_BAD_TYPE, NAME ": argument 'source' must be a "
                     "string or an address, got %s", st__type_name(h, L, 1));
  }
  if (!is_text) size = check_size(h, L, &a);
  if (offset < 0 || (uint64_t)offset > size ||
      layout.nbytes > size - (size_t)offset) {
    return st__error(h, L, ST_BAD_INDEX, NAME ": the elements need %zu bytes "
                     "from offset %" PRId64 ", the source has %" PRId64,
                     layout.nbytes, offset, size);
  }
  if (!is_text && !a.p && layout.nbytes > 0) {
    return st__error(h, L, ST_BAD_VALUE, NAME ": the address is NULL");
  }
  if (is_text) {
    copy_text(h, L, text + offset, &layout);               /* [+1] */
  } else {
    char *p = a.p ? (char *)a.p + offset : NULL;
    if (a.has_size) add_owner(L);
    wrap_bytes(h, L, p, &layout, 2);                       /* [+1] */
  }
  return 1;
}

void st__open_foreign(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"frombuffer", frombuffer}, {"cdata_size", cdata_size}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
}
