/* Conversion of nested tables to tensors and back, and raw bytes for files.
 *
 * A table is traversed twice, with raw access, so that no metamethod runs: the
 * first pass infers the shape and the kind of number, the second stores the
 * elements. They are stored in the widest dtype of the kind and converted to
 * the requested dtype by copy_'s rules.
 */

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

typedef struct inferred {
  st__state *h;
  lua_State *L;
  int ndim;                      /* depth of the first leaf; -1 before it */
  int64_t sizes[ST_MAX_DIMS];
  int index[ST_MAX_DIMS];        /* current element's indices, for messages */
  int64_t visits;                /* of tables and elements, in both passes */
  bool has_bool, has_int, has_uint, has_float, has_complex, has_negative;
  bool has_minus_zero;           /* Note [Negative zero] */
  bool has_options;              /* names in the outermost table are options */
} inferred;

/* -- First pass: shape and kind ------------------------------------------- */

/* Formats the indices of the current element: "[2][1]". */
static const char *index_text(const inferred *s, int depth, char *buf,
                              size_t size) {
  size_t at = 0;
  buf[0] = '\0';
  for (int d = 0; d < depth && at + 16 < size; d++) {
    at += (size_t)snprintf(buf + at, size - at, "[%d]", s->index[d]);
  }
  return buf;
}

#define ELEMENT(s, depth) index_text(s, depth, (char[200]){0}, 200)

static void note_kind(inferred *s, st_scalar_kind kind) {
  s->has_bool |= kind == ST_SCALAR_BOOL;
  s->has_int |= kind == ST_SCALAR_INT;
  s->has_uint |= kind == ST_SCALAR_UINT;
  s->has_float |= kind == ST_SCALAR_FLOAT;
  s->has_complex |= kind == ST_SCALAR_COMPLEX;
}

/* Raises the error for the value at the top, which is no element. */
static void refuse_leaf(const inferred *s, int depth) {
  if (st__testudata(s->h, s->L, -1, ST_UD_TENSOR)) {
    st__error(s->h, s->L, ST_BAD_TYPE, "tensor: element %s is a Tensor; write "
              "st.stack(list) to join tensors in a new dimension, st.cat(list) "
              "in one of theirs", ELEMENT(s, depth));
  }
  if (depth == 0) {
    st__error(s->h, s->L, ST_BAD_TYPE, "tensor: the value is a %s, not a "
              "number, a boolean or a table", st__type_name(s->h, s->L, -1));
  }
  st__error(s->h, s->L, ST_BAD_TYPE, "tensor: element %s is a %s, not a "
            "number, a boolean or a table", ELEMENT(s, depth),
            st__type_name(s->h, s->L, -1));
}

/* Infers from the value at the top, a leaf at this depth. */
static void infer_leaf(inferred *s, int depth) {
  st_scalar x;
  if (!st__to_scalar(s->h, s->L, -1, &x)) refuse_leaf(s, depth);
  if (s->ndim >= 0 && s->ndim != depth) {
    st__error(s->h, s->L, ST_BAD_SHAPE, "tensor: element %s is a number "
              "where others are tables", ELEMENT(s, depth));
  }
  s->ndim = depth;
  note_kind(s, x.kind);
  s->has_negative |= x.kind == ST_SCALAR_INT && x.u.i < 0;
  if (lua_type(s->L, -1) == LUA_TNUMBER && x.kind == ST_SCALAR_INT &&
      signbit(lua_tonumber(s->L, -1)) && x.u.i == 0) {
    s->has_minus_zero = true;
  }
}

/* Raises for keys of the table at the top other than its elements, except names
 * in the outermost table, which are the options. */
static void check_keys(const inferred *s, int depth, int64_t n) {
  lua_State *L = s->L;
  const unsigned parts = st__table_parts(L, lua_gettop(L));
  if (parts & ST_PART_OTHER) {
    st__error(s->h, L, ST_BAD_TYPE, "tensor: a list must have no nil and "
              "no other keys, but element %s[%d] is nil",
              ELEMENT(s, depth), (int)n + 1);
  }
  if (parts & ST_PART_NAMES && (depth > 0 || !s->has_options)) {
    st__error(s->h, L, ST_BAD_TYPE, "tensor: the table %s has names as keys; "
              "options go into the outermost table or into a second argument",
              depth ? ELEMENT(s, depth) : "of elements");
  }
}

static void count_visit(inferred *s) {
  if (++s->visits % ST_POLL_ITEMS == 0) st__poll(s->h, s->L);
}

/* Infers from the value at the top, at this depth. [0] */
static void infer_value(inferred *s, int depth, bool is_first) {
  lua_State *L = s->L;
  count_visit(s);
  if (!lua_istable(L, -1)) {
    infer_leaf(s, depth);
    return;
  }
  const int64_t n = (int64_t)lua_objlen(L, -1);
  check_keys(s, depth, n);
  if (depth == ST_MAX_DIMS) {
    st__error(s->h, L, ST_BAD_SHAPE, "tensor: tables are nested deeper than "
              "%d (or contain themselves)", ST_MAX_DIMS);
  }
  if (s->ndim >= 0 && depth >= s->ndim) {
    st__error(s->h, L, ST_BAD_SHAPE, "tensor: element %s is a table where "
              "others are numbers", ELEMENT(s, depth));
  }
  if (is_first) s->sizes[depth] = n;
  if (s->sizes[depth] != n) {
    st__error(s->h, L, ST_BAD_SHAPE, "tensor: the table at %s has %" PRId64 " "
              "elements where others have %" PRId64, ELEMENT(s, depth), n,
              s->sizes[depth]);
  }
  for (int64_t i = 1; i <= n; i++) {
    s->index[depth] = (int)i;
    lua_rawgeti(L, -1, (int)i); /* [+1] */
    infer_value(s, depth + 1, is_first && i == 1);
    lua_pop(L, 1);              /* [-1] */
  }
  if (n == 0 && s->ndim < 0) s->ndim = depth + 1;
}

/* The dtype in which elements are stored before conversion to dtype. */
static st_dtype natural_dtype(const inferred *s, st_dtype dtype) {
  if (s->has_complex) return ST_COMPLEX128;
  if (s->has_float) return ST_FLOAT64;
  if (s->has_minus_zero && !st_dtype_is_integer(dtype)) return ST_FLOAT64;
  if (s->has_uint) { /* a negative integer wraps into an integer dtype */
    return s->has_negative && !st_dtype_is_integer(dtype) ? ST_FLOAT64
                                                      : ST_UINT64;
  }
  if (s->has_int) return ST_INT64;
  return s->has_bool ? ST_BOOL : ST_FLOAT64;
}

static st_dtype inferred_dtype(const inferred *s) {
  if (s->has_complex) {
    return st_default_dtype() == ST_FLOAT64 ? ST_COMPLEX128
         : st_default_dtype() == ST_FLOAT16 ? ST_COMPLEX32 : ST_COMPLEX64;
  }
  if (s->has_float || !(s->has_int || s->has_uint || s->has_bool)) {
    return st_default_dtype();
  }
  if (s->has_uint) return s->has_negative ? st_default_dtype() : ST_UINT64;
  return s->has_int ? ST_INT64 : ST_BOOL;
}

/* -- Second pass: elements ------------------------------------------------ */

static double real_part(lua_State *L, const st_scalar *x) {
  if (lua_type(L, -1) == LUA_TNUMBER) return lua_tonumber(L, -1);
  switch (x->kind) {
    case ST_SCALAR_FLOAT: return x->u.f;
    case ST_SCALAR_COMPLEX: return x->u.c[0];
    default: return st__whole_to_double(x);
  }
}

/* Stores the elements of the value at the top from *p on, and advances *p. */
static void store(inferred *s, int depth, st_dtype dtype, char **p) {
  lua_State *L = s->L;
  count_visit(s);
  if (depth < s->ndim) {
    if (!lua_istable(L, -1)) { /* a finalizer or a hook may have changed it */
      st__error(s->h, L, ST_BAD_STATE, "tensor: the table changed while it "
                "was read");
    }
    for (int64_t i = 1; i <= s->sizes[depth]; i++) {
      lua_rawgeti(L, -1, (int)i); /* [+1] */
      store(s, depth + 1, dtype, p);
      lua_pop(L, 1);              /* [-1] */
    }
    return;
  }
  st_scalar x = {ST_SCALAR_INT, {.i = 0}};
  st__to_scalar(s->h, L, -1, &x);
  const double c[2] = {real_part(L, &x),
                       x.kind == ST_SCALAR_COMPLEX ? x.u.c[1] : 0};
  const bool b = x.u.i != 0;
  switch (dtype) {
    case ST_BOOL: memcpy(*p, &b, 1); break;
    case ST_INT64: case ST_UINT64: memcpy(*p, &x.u, 8); break;
    case ST_FLOAT64: memcpy(*p, c, 8); break;
    default: memcpy(*p, c, 16);
  }
  *p += st_dtype_size(dtype);
}

/* -- Construction --------------------------------------------------------- */

static void convert(st__state *h, lua_State *L, st__tensor_ud *ud,
                    st_dtype dtype) {
  if (st_tensor_dtype(ud->t) == dtype) return;
  const st_value args[] = {st__tensor_arg(ud->t), st__int_arg(dtype)};
  st__call_into(h, L, ST_HANDLE_TO_DTYPE, 2, args, ud);
}

static void move(st__state *h, lua_State *L, st__tensor_ud *ud,
                 st_device device) {
  if (st_tensor_device(ud->t) == device) return;
  const st_value args[] = {st__tensor_arg(ud->t), st__int_arg(device)};
  st__call_into(h, L, ST_HANDLE_TO_DEVICE, 2, args, ud);
}

static void resolve(st__state *h, lua_State *L, st__tensor_ud *ud) {
  if (!st_tensor_is_lazy(ud->t)) return;
  const st_value args[] = {st__tensor_arg(ud->t), {.tag = ST_TAG_NONE}};
  st__call_into(h, L, ST_HANDLE_CLONE, 2, args, ud);
}

static st__tensor_ud *push_empty(st__state *h, lua_State *L, const inferred *s,
                                 st_dtype dtype, st_device device) {
  st__tensor_ud *ud = st__new_tensor_ud(h, L); /* [+1] */
  bool room = false;
  st_status status;
  do {
    status = st_tensor_empty(device, dtype, s->ndim, s->sizes, NULL, &ud->t);
  } while (status == ST_NO_MEMORY && st__gc_retry(h, L, &room));
  if (status != ST_OK) st__raise(h, L, status);
  st__gc_charge(h, ud, (int64_t)st_tensor_storage_nbytes(ud->t));
  return ud;
}

static st__tensor_ud *from_value(st__state *h, lua_State *L, int idx,
                                 st_dtype dtype, st_device device,
                                 bool has_options) {
  inferred s = {.h = h, .L = L, .ndim = -1, .has_options = has_options};
  luaL_checkstack(L, ST_MAX_DIMS + LUA_MINSTACK, NULL);
  lua_pushvalue(L, idx);             /* [+1] */
  infer_value(&s, 0, true);
  if (dtype == ST_DTYPE_NONE) dtype = inferred_dtype(&s);
  if (device == ST_DEVICE_META) {    /* no elements to store */
    lua_pop(L, 1);                   /* [-1] */
    return push_empty(h, L, &s, dtype, device); /* [+1] */
  }
  const st_dtype natural = natural_dtype(&s, dtype);
  st__tensor_ud *ud = push_empty(h, L, &s, natural, ST_DEVICE_CPU); /* [+1] */
  lua_insert(L, -2);
  char *p = st_tensor_data(ud->t);
  if (st_tensor_numel(ud->t) > 0) store(&s, 0, natural, &p);
  lua_pop(L, 1);                     /* [-1] */
  convert(h, L, ud, dtype);
  move(h, L, ud, device);
  return ud;
}

st__tensor_ud *st__tensor_from(st__state *h, lua_State *L, int idx,
                               st_dtype dtype, st_device device) {
  return from_value(h, L, idx, dtype, device, false);
}

/* Sets requires_grad on the tensor at the top of the stack. */
static void require_grad(st__state *h, lua_State *L, st__tensor_ud *ud) {
  const st_status status = st_tensor_set_requires_grad(ud->t, true);
  if (status != ST_OK) st__raise(h, L, status);
  st__track_ud(h, L, lua_gettop(L));
}

typedef struct options {
  st_dtype dtype;
  st_device device;
  bool has_device, requires_grad;
} options;

/* Reads the option whose key and value are at the top. */
static void read_option(st__state *h, lua_State *L, options *o) {
  const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
  if (strcmp(key, "dtype") == 0) {
    o->dtype = st__check_dtype(h, L, -1, "dtype");
  } else if (strcmp(key, "requires_grad") == 0) {
    o->requires_grad = lua_toboolean(L, -1);
  } else if (strcmp(key, "device") != 0) {
    st__error(h, L, ST_BAD_VALUE, "tensor: has no argument '%.40s'; it takes "
              "dtype, device, requires_grad", key);
  } else if (!st__to_device(L, -1, &o->device)) {
    char got[96], devices[200];
    st__describe_value(h, L, -1, got, sizeof got);
    st__describe_devices(devices, sizeof devices);
    st__error(h, L, ST_BAD_TYPE, "tensor: argument 'device' must be a device, "
              "got %s%s", got, devices);
  } else {
    o->has_device = true;
  }
}

/* Reads the options from the table at idx, which may hold a list, too. */
static void read_options(st__state *h, lua_State *L, int idx, options *o) {
  const int64_t listed = idx == 1 ? (int64_t)lua_objlen(L, idx) : 0;
  lua_pushnil(L);                                     /* [+1] */
  while (lua_next(L, idx)) {                          /* [-1, +0|2] */
    if (!st__is_list_key(L, -2, listed)) read_option(h, L, o);
    lua_pop(L, 1);                                    /* [-1] */
  }
}

/* A copy without the history of t, for tensor(t). [+1] */
static st__tensor_ud *copy_of(st__state *h, lua_State *L, st_tensor *t,
                              const options *o) {
  const st_value args[] = {st__tensor_arg(t), {.tag = ST_TAG_NONE}};
  st_value ret;
  st__cannot_record(h, L, "it copies a tensor by tensor(t)");
  st__tensor_ud *ud = st__new_tensor_ud(h, L);        /* [+1] */
  const st_tls before = st_tls_get();
  st_tls_set(st_tls_grad(false));
  const st_status status = st__run(h, L, &(st__request){
    .op = h->op[ST_HANDLE_CLONE], .n = 2, .args = args, .rets = &ret});
  st_tls_set(before);
  if (status != ST_OK) st__raise(h, L, status);
  ud->t = ret.u.tensor;
  st__gc_charge(h, ud, st__memory_of(ud->t));
  if (o->dtype != ST_DTYPE_NONE) convert(h, L, ud, o->dtype);
  if (o->has_device) move(h, L, ud, o->device);
  st__check_lost(h, L, 1, "tensor");
  return ud;
}

/* tensor(value [, {dtype =, device =, requires_grad =}]); the options may also
 * be in the table of the value: tensor {1, 2, dtype = "int64"}. Of a tensor it
 * makes a copy. */
static int new_tensor(lua_State *L) {
  st__state *h = st__state_of(L);
  options o = {ST_DTYPE_NONE, ST_DEVICE_CPU, false, false};
  lua_settop(L, 2);
  const bool has_options =
    lua_isnil(L, 2) && lua_istable(L, 1) &&
    (st__table_parts(L, 1) & ST_PART_NAMES);
  if (has_options) {
    read_options(h, L, 1, &o);
  } else if (lua_istable(L, 2)) {
    read_options(h, L, 2, &o);
  } else if (!lua_isnil(L, 2)) {
    return st__error(h, L, ST_BAD_TYPE, "tensor: options must be a table, "
                     "got %s; write %s", st__type_name(h, L, 2),
                     lua_type(L, 2) == LUA_TSTRING
                     ? "st.tensor(value, {dtype = name})"
                     : "st.tensor {1, 2, 3} for elements");
  }
  st_tensor *t = st__to_tensor(h, L, 1);
  st__tensor_ud *ud = t ? copy_of(h, L, t, &o)
    : from_value(h, L, 1, o.dtype, o.device, has_options); /* [+1] */
  if (o.requires_grad) require_grad(h, L, ud);
  return 1;
}

/* -- Back to tables ------------------------------------------------------- */

/* A finalizer that runs while tables are created may change the tensor, so
 * the shape is copied first and each element is read with a bounds check. */
typedef struct list_writer {
  st__state *h;
  int64_t visits;      /* of lists and elements */
  const st_tensor *t;  /* borrowed from a userdata on the stack */
  int ndim;
  int64_t sizes[ST_MAX_DIMS], at[ST_MAX_DIMS];
} list_writer;

/* Pushes the nested table of dimensions d and above. [+1] */
static void push_nested(list_writer *l, lua_State *L, int d) {
  if (++l->visits % ST_POLL_ITEMS == 0) st__poll(l->h, L);
  if (d == l->ndim) {
    st_scalar s;
    const st_status status = st_tensor_get(l->t, l->ndim, l->at, &s);
    if (status != ST_OK) st__raise(l->h, L, status);
    st__push_scalar(l->h, L, s);                     /* [+1] */
    return;
  }
  const int64_t n = l->sizes[d];
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0); /* [+1] */
  for (int64_t i = 0; i < n; i++) {
    l->at[d] = i;
    push_nested(l, L, d + 1);                        /* [+1] */
    lua_rawseti(L, -2, (int)i + 1);                  /* [-1] */
  }
}

/* totable(): nested tables of numbers, booleans or complex scalars; for a
 * 0-dim tensor the element itself */
static int tensor_totable(lua_State *L) {
  st__state *h = st__state_of(L);
  st_tensor *t = st__check_tensor(h, L, 1, "self");
  st__access_elements(h, L, NULL);
  if (st_tensor_device(t) == ST_DEVICE_META) {
    return st__error(h, L, ST_BAD_STATE, "totable: a tensor on the meta "
                     "device has no data");
  }
  luaL_checkstack(L, ST_MAX_DIMS + LUA_MINSTACK, NULL);
  st__tensor_ud *ud = st__push_tensor(h, L, t);      /* [+1] */
  move(h, L, ud, ST_DEVICE_CPU);
  resolve(h, L, ud);
  t = ud->t;
  list_writer l = {.h = h, .t = t, .ndim = st_tensor_ndim(t)};
  for (int d = 0; d < l.ndim; d++) l.sizes[d] = st_tensor_sizes(t)[d];
  push_nested(&l, L, 0);                             /* [+1] */
  return 1;
}

/* -- Bytes ---------------------------------------------------------------- */

/* Bytes from the first element of t to the end of its last. */
static int64_t extent(const st_tensor *t) {
  const int64_t *sizes = st_tensor_sizes(t), *strides = st_tensor_strides(t);
  int64_t last = 0;
  if (st_tensor_numel(t) == 0) return 0;
  for (int i = 0; i < st_tensor_ndim(t); i++) {
    last += (sizes[i] - 1) * strides[i];
  }
  const st_dtype_facts *f = st_dtype_facts_of(st_tensor_dtype(t));
  return f->bits ? ((last + 1) * f->bits + 7) / 8 : (last + 1) * f->size;
}

char *st__check_memory(st__state *h, lua_State *L, int idx, size_t *n) {
  const st_tensor *t = st__check_tensor(h, L, idx, idx == 1 ? "self" : "t");
  st__check_access(h, L);
  st__access_elements(h, L, NULL);
  const st_device device = st_tensor_device(t);
  char *data = st_tensor_data(t);
  *n = (size_t)extent(t);
  if (device > ST_DEVICE_META) {
    st__error(h, L, ST_BAD_STATE, "a tensor on device '%s' has no CPU memory: "
              "move it to the CPU first", st_device_name(device));
  }
  if (st_tensor_layout(t) != ST_LAYOUT_STRIDED) {
    st__error(h, L, ST_BAD_LAYOUT, "a tensor of layout '%s' has no strides and "
              "no memory of elements", st_layout_name(st_tensor_layout(t)));
  }
  if (st_tensor_is_lazy(t)) {
    st__error(h, L, ST_BAD_STATE, "the bytes of a lazy conjugate or negative, "
              "or of a zero tensor, are not its elements: clone it first");
  }
  if (!data && *n > 0) {
    st__error(h, L, ST_BAD_STATE, "a tensor on the meta device has no data");
  }
  return data;
}

/* Address of the n bytes at the offset in argument 2; raises if they are out
 * of bounds. */
static char *check_bytes(st__state *h, lua_State *L, int64_t n) {
  size_t all;
  char *data = st__check_memory(h, L, 1, &all);
  const int64_t offset = st__check_int(h, L, 2, "offset");
  const int64_t size = (int64_t)all;
  if (offset < 0 || n < 0 || offset > size || n > size - offset) {
    st__error(h, L, ST_BAD_INDEX, "%" PRId64 " bytes at %" PRId64 " are "
              "outside the %" PRId64 " bytes of the tensor", n, offset, size);
  }
  return data ? data + offset : NULL;
}

/* set_bytes(t, offset, bytes): writes bytes at offset, which is 0-based, from
 * the first element */
static int set_bytes(lua_State *L) {
  size_t n;
  st__state *h = st__state_of(L);
  const char *bytes = luaL_checklstring(L, 3, &n);
  st__copy_bytes(h, L, check_bytes(h, L, (int64_t)n), bytes, n);
  return 0;
}

/* Pushes the n bytes at the offset in argument 2 as a string. A userdata gets
 * a copy first, since a finalizer that runs while Lua allocates the string
 * could resize the tensor. [+2] */
static void push_bytes(st__state *h, lua_State *L, int64_t n) {
  check_bytes(h, L, n);
  char *copy = lua_newuserdata(L, (size_t)n); /* [+1] */
  const char *p = check_bytes(h, L, n);
  if (n) memcpy(copy, p, (size_t)n);
  lua_pushlstring(L, copy, (size_t)n);        /* [+1] */
}

/* get_bytes(t, offset, n): a string */
static int get_bytes(lua_State *L) {
  st__state *h = st__state_of(L);
  push_bytes(h, L, st__check_int(h, L, 3, "n")); /* [+2] */
  return 1;
}

typedef struct span { const char *p; size_t n; } span;

static int push_span(lua_State *L) {
  const span *s = lua_touserdata(L, 1);
  lua_pushlstring(L, s->p, s->n);                 /* [+1] */
  return 1;
}

/* Pushes all bytes of the contiguous tensor in argument 1 as a string. No
 * finalizer may run while Lua copies them, so the collector is stopped and
 * takes its step afterwards. If it is stopped already, or Lua cannot report
 * that, it is left unchanged, and the bytes are copied twice. [+n] */
static void push_all(st__state *h, lua_State *L) {
  span s;
  lua_pushinteger(L, 0);                          /* [+1] */
  lua_replace(L, 2);                              /* [-1] */
  lua_pushcfunction(L, push_span);                /* [+1] */
  lua_pushlightuserdata(L, &s);                   /* [+1] */
  if (lua_gc(L, ST_GC_IS_RUNNING, 0) != 1) {
    push_bytes(h, L, extent(st__check_tensor(h, L, 1, "self"))); /* [+2] */
    return;
  }
  s.p = st__check_memory(h, L, 1, &s.n);
  lua_gc(L, LUA_GCSTOP, 0);
  const int status = st__pcall_c(h, L, 1, 1, 0);  /* [-2, +1] */
  lua_gc(L, LUA_GCRESTART, 0);
  if (status != 0) lua_error(L);
  lua_gc(L, LUA_GCSTEP, (int)(s.n >> 10 < INT_MAX ? s.n >> 10 : INT_MAX));
}

/* tostring_bytes(): the bytes of the elements in row-major order */
static int tensor_bytes(lua_State *L) {
  st__state *h = st__state_of(L);
  st_tensor *t = st__check_tensor(h, L, 1, "self");
  lua_settop(L, 1);
  lua_pushinteger(L, 0);                          /* [+1] */
  check_bytes(h, L, 0);
  if (!st_tensor_is_contiguous(t, ST_FORMAT_CONTIGUOUS)) {
    st__tensor_ud *ud = st__new_tensor_ud(h, L);  /* [+1] */
    const st_value args[] = {st__tensor_arg(t),
                             st__int_arg(ST_FORMAT_CONTIGUOUS)};
    st__call_into(h, L, ST_HANDLE_CLONE, 2, args, ud);
    lua_replace(L, 1);                            /* [-1] */
  }
  push_all(h, L);                                 /* [+n] */
  return 1;
}

/* Swaps the byte order of n elements of unit bytes at p. */
static void swap(st__state *h, lua_State *L, char *p, size_t n, size_t unit) {
  for (; n > 0; n--, p += unit) {
    if (n % (ST_POLL_BYTES / 16) == 0) st__poll(h, L);
    for (size_t i = 0; i < unit / 2; i++) {
      const char c = p[i];
      p[i] = p[unit - 1 - i];
      p[unit - 1 - i] = c;
    }
  }
}

/* are_bools(t): true if all bytes of t are 0 or 1 */
static int are_bools(lua_State *L) {
  size_t n;
  st__state *h = st__state_of(L);
  const char *p = st__check_memory(h, L, 1, &n);
  char other = 0;
  for (size_t at = 0; at < n; at += ST_POLL_BYTES) {
    const size_t part = n - at < ST_POLL_BYTES ? n - at : ST_POLL_BYTES;
    for (size_t i = 0; i < part; i++) other |= p[at + i] & ~1;
    if (at > 0) st__poll(h, L);
  }
  lua_pushboolean(L, other == 0); /* [+1] */
  return 1;
}

/* mend(t, unit): normalizes bytes read from a file: swaps the byte order of
 * groups of `unit` bytes, and replaces nonzero bytes of bools by 1 */
static int normalize_bools(lua_State *L) {
  st__state *h = st__state_of(L);
  size_t n;
  char *p = st__check_memory(h, L, 1, &n);
  const int64_t unit = st__check_int(h, L, 2, "unit");
  if (unit > 1 && unit <= 8) swap(h, L, p, n / (size_t)unit, (size_t)unit);
  if (st_tensor_dtype(st__check_tensor(h, L, 1, "t")) == ST_BOOL) {
    st__make_bools(h, L, p, n);
  }
  return 0;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_from_table(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"tensor", new_tensor}, {NULL, NULL}};
  static const luaL_Reg access[] = {
    {"set_bytes", set_bytes}, {"get_bytes", get_bytes},
    {"mend", normalize_bools}, {"are_bools", are_bools}, {NULL, NULL}
  };
  static const luaL_Reg methods[] = {
    {"totable", tensor_totable}, {"tostring_bytes", tensor_bytes},
    {NULL, NULL}
  };
  st__set_functions(h, L, functions);
  st__set_access_functions(h, L, access, false);
  lua_getfield(L, -1, "methods"); /* [+1] */
  st__set_access_functions(h, L, methods, true);
  lua_pop(L, 1);                  /* [-1] */
}
