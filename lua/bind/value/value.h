/* Part of bind.h: conversion of Lua values to the engine's and back.
 */
#ifndef ST_LUA_VALUE_VALUE_H
#define ST_LUA_VALUE_VALUE_H

/* -- scalar.c ------------------------------------------------------------- */

/* An integer scalar, and dtypes of integers. */
static inline st_scalar st__unsigned(uint64_t u) {
  return (st_scalar){u > INT64_MAX ? ST_SCALAR_UINT : ST_SCALAR_INT, {.u = u}};
}
static inline bool st__is_whole(const st_scalar *s) {
  return s->kind == ST_SCALAR_INT || s->kind == ST_SCALAR_UINT;
}
static inline double st__whole_to_double(const st_scalar *s) {
  return s->kind == ST_SCALAR_UINT ? (double)s->u.u : (double)s->u.i;
}
static inline bool st__is_unsigned(st_dtype d) {
  return d == ST_UINT8 || (d >= ST_UINT16 && d <= ST_UINT64);
}
static inline bool st__is_integral(st_dtype d) {
  return d <= ST_INT64 || st__is_unsigned(d);
}

/* Converts a number, boolean, int64_t or uint64_t cdata or scalar userdata;
 * false for any other value. */
bool st__to_scalar(st__state *h, lua_State *L, int idx, st_scalar *out);
/* The same for a number. */
static inline void st__number_to_scalar(lua_State *L, int idx, st_scalar *out) {
#if LUA_VERSION_NUM >= 503
  if (lua_isinteger(L, idx)) {
    *out = (st_scalar){ST_SCALAR_INT, {.i = lua_tointeger(L, idx)}};
    return;
  }
#endif
  const double d = lua_tonumber(L, idx);
  if (d >= -0x1p63 && d < 0x1p63 && d == (double)(int64_t)d) {
    *out = (st_scalar){ST_SCALAR_INT, {.i = (int64_t)d}};
  } else {
    *out = (st_scalar){ST_SCALAR_FLOAT, {.f = d}};
  }
}
/* Dtypes of floating and complex numbers. */
static inline bool st__has_fractions(st_dtype d) {
  return !st__is_integral(d) && d != ST_BOOL;
}
static const st_scalar st__minus_zero = {ST_SCALAR_FLOAT, {.f = -0.0}};
/* True for the number -0.0: Note [Negative zero]. */
static inline bool st__is_minus_zero(lua_State *L, int idx) {
  return lua_type(L, idx) == LUA_TNUMBER && lua_tonumber(L, idx) == 0 &&
         signbit(lua_tonumber(L, idx));
}
/* Converts an integral number that int64_t can represent; no boolean. */
bool st__to_int(st__state *h, lua_State *L, int idx, int64_t *out);
bool st__to_double(st__state *h, lua_State *L, int idx, double *out);
int64_t st__check_int(st__state *h, lua_State *L, int idx, const char *arg);
void st__push_int(st__state *h, lua_State *L, int64_t i);      /* [+1] */
void st__push_scalar(st__state *h, lua_State *L, st_scalar s); /* [+1] */
/* Pushes the integer, or decimal string, at idx as an exact integer. [+1] */

/* -- dtype_object.c -------------------------------------------------------- */

bool st__to_dtype(lua_State *L, int idx, st_dtype *out);
st_dtype st__check_dtype(st__state *h, lua_State *L, int idx,
                         const char *arg);
void st__push_dtype(st__state *h, lua_State *L, st_dtype d); /* [+1] */
bool st__to_format(lua_State *L, int idx, st_format *out);
bool st__to_device(lua_State *L, int idx, st_device *out);
bool st__is_sentinel(st__state *h, lua_State *L, int idx, st_sentinel which);

/* -- tensor_userdata.c ----------------------------------------------------- */

/* The tensor at idx, borrowed; NULL for a freed one and any other value. */
st_tensor *st__to_tensor(st__state *h, lua_State *L, int idx);
/* Its userdata, or NULL. */
st__tensor_ud *st__to_tensor_ud(st__state *h, lua_State *L, int idx);
st_tensor *st__check_tensor(st__state *h, lua_State *L, int idx,
                            const char *arg);
st__tensor_ud *st__new_tensor_ud(st__state *h, lua_State *L);     /* [+1] */
/* Pushes a new userdata that retains t. */
st__tensor_ud *st__push_tensor(st__state *h, lua_State *L,
                               st_tensor *t); /* [+1] */
/* Pushes what tostring makes of the tensor at idx. */
void st__push_tensor_text(st__state *h, lua_State *L, int idx);   /* [+1] */

/* -- tensor_operators.c ---------------------------------------------------- */

/* Sets the arithmetic metamethods in the metatable at the top. */
void st__set_operators(st__state *h, lua_State *L);               /* [0] */

/* -- shape.c --------------------------------------------------------------- */

/* Makes the list at the top a shape, which compares with other shapes. */
void st__make_sizes(st__state *h, lua_State *L);                  /* [0] */
/* Pushes a shape: the n elements of p, each times unit. */
void st__push_sizes(st__state *h, lua_State *L, const int64_t *p, int n,
                    int64_t unit);                                /* [+1] */
int st__concat(lua_State *L);      /* __concat of tensors and shapes */

/* -- table_parts.c --------------------------------------------------------- */

/* What the table at the absolute index idx holds: elements 1 .. #t; keys that
 * are strings; other keys, as the elements behind a nil. */
enum { ST_PART_LIST = 1, ST_PART_NAMES = 2, ST_PART_OTHER = 4 };
unsigned st__table_parts(lua_State *L, int idx);
/* The same; *names gets the number of keys that are strings, without the n of
 * table.pack. */
unsigned st__count_names(lua_State *L, int idx, int *names);
/* True if the value at idx is an integer from 1 to n. */
bool st__is_list_key(lua_State *L, int idx, int64_t n);

/* -- from_table.c ---------------------------------------------------------- */

/* Pushes a tensor made from the table or number at idx; ST_DTYPE_NONE infers
 * the dtype. [+1] */
st__tensor_ud *st__tensor_from(st__state *h, lua_State *L, int idx,
                               st_dtype dtype, st_device device);

/* The memory of the tensor at idx, *n bytes from its first element to the end
 * of its last; raises for a tensor on another device and for a lazy one. */
char *st__check_memory(st__state *h, lua_State *L, int idx, size_t *n);
/* Raises unless the running function is one that accesses elements. */
void st__check_access(st__state *h, lua_State *L);

/* -- subscript_parse.c ----------------------------------------------------- */

typedef enum st__item_kind {
  ST_ITEM_INDEX, ST_ITEM_RANGE, ST_ITEM_NEWAXIS, ST_ITEM_ELLIPSIS,
  ST_ITEM_TENSOR, ST_ITEM_BOOL
} st__item_kind;

/* One item of a subscript, with 0-based indices. */
typedef struct st__item {
  st__item_kind kind;
  int64_t a, b, step;   /* INDEX: a; RANGE: [a, b) by step; BOOL: a */
  bool is_exact;        /* a range of one index, which must be in range */
  st_tensor *tensor;    /* borrowed from a userdata on the Lua stack */
} st__item;

enum { ST_MAX_ITEMS = 2 * ST_MAX_DIMS };

/* Parses the subscript at idx (number, boolean, sentinel, tensor, table,
 * string); returns the number of items, or raises. [+number of tensors] */
int st__parse_subscript(st__state *h, lua_State *L, int idx, st__item *items);
/* Parses the table at the absolute index idx if it holds nothing but indices of
 * t, which are in range, and ranges, one per dimension at most; otherwise
 * returns 0, and st__parse_subscript has to. */
int st__parse_plain(lua_State *L, int idx, const st_tensor *t,
                    st__item *items);

/* -- cdata.c: Note [The types of cdata] ------------------------------------ */

/* Converts an int64_t or uint64_t of LuaJIT; idx must not be negative. */
bool st__cdata_to_int(st__state *h, lua_State *L, int idx, st_scalar *out);
/* Pushes an integer as an int64_t of LuaJIT, or from 2^63 on as a uint64_t;
 * false and nothing if there is none. [+0|1] */
bool st__push_int_cdata(st__state *h, lua_State *L, st_scalar s);

typedef struct st__address {
  void *p;
  bool has_size;  /* of an array or structure, which owns its memory */
  size_t size;    /* else SIZE_MAX */
} st__address;

/* The address in a light userdata or in a pointer, array or structure of
 * LuaJIT's FFI. Raises, with name in front, for any other cdata; returns false
 * for any other value. idx must not be negative. */
bool st__to_address(st__state *h, lua_State *L, int idx, const char *name,
                    st__address *out);

/* -- foreign_memory.c ------------------------------------------------------ */

/* The dtype, shape and strides of a tensor over foreign memory. */
typedef struct st__layout {
  st_dtype dtype;
  int ndim;
  bool has_strides;    /* false: contiguous */
  size_t nbytes;       /* from the first element to the end of the last */
  int64_t sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS];
} st__layout;

static inline const int64_t *st__layout_strides(const st__layout *l) {
  return l->has_strides ? l->strides : NULL;
}
/* Reads the table of integers at idx; returns their number, or raises. */
int st__check_sizes(st__state *h, lua_State *L, int idx, const char *arg,
                    int64_t *out);
/* Reads dtype, shape, and strides or nil, from idx on; raises. */
void st__check_layout(st__state *h, lua_State *L, int idx, st__layout *out);
/* Replaces every nonzero byte by 1. Both raise when the call should stop. */
void st__make_bools(st__state *h, lua_State *L, char *p, size_t n);
void st__copy_bytes(st__state *h, lua_State *L, char *to, const char *from,
                    size_t n);

/* -- symbolic_trace.c ------------------------------------------------------ */

/* If the value at idx is a symbolic scalar of the running trace, sets its
 * index and an example value of its kind. */
bool st__to_sym_scalar(st__state *h, lua_State *L, int idx, int *at,
                       st_scalar *example);
/* Replaces an expression in a string at idx by a compiled function; the list
 * of its arguments' names is at the top. Leaves a function as it is. Raises.
 * [-1] */
void st__compile_expression(lua_State *L, st__state *h, int idx);
/* Pushes a list of the names of a schema's arguments; raises. [+1] */
void st__push_argument_names(st__state *h, lua_State *L, const char *schema,
                             const char *ns);
/* Traces the function at fn as the body of an operator with this schema.
 * Returns a graph, which the caller owns; raises. */
st_graph *st__trace_body(st__state *h, lua_State *L, const char *schema,
                         const char *ns, int fn);

/* -- trace_reduction.c ----------------------------------------------------- */

/* Traces the functions of a reduction, given in the table at idx. The caller
 * sets f->schema and f->debug; this sets the rest of *f, which borrows from
 * two values that it pushes. Raises. [+2] */
void st__trace_reduction(st__state *h, lua_State *L, const char *ns, int idx,
                         st_custom_reduction *f);
/* Releases and pops these two values. [-2] */
void st__end_reduction(lua_State *L);

/* -- fused_function.c ------------------------------------------------------ */

/* True if t is a fake tensor of the running recorder. */
static inline bool st__is_fake(const st__state *h, const st_tensor *t) {
  return h->recorder && st_recorder_is_fake(h->recorder, t);
}
/* Ends the running recording and raises: the function is then called directly.
 * why: "it registers a hook"; name: that of the function which does so, or NULL
 * for the running one of the binding. */
int st__end_recording(st__state *h, lua_State *L, const char *why,
                      const char *name);
/* The same if a recording is running. A function that has an effect, or a
 * result, which a run of the recorded calls would omit calls this before. */
static inline void st__cannot_record(st__state *h, lua_State *L,
                                     const char *why) {
  if (h->recorder) st__end_recording(h, L, why, NULL);
}
/* The same for functions that read or write elements, which a fake tensor does
 * not have, and which may differ when the recording runs. */
static inline void st__access_elements(st__state *h, lua_State *L,
                                       const char *name) {
  if (h->recorder) {
    st__end_recording(h, L, "it reads the elements of a tensor", name);
  }
}

/* True if a view of t is part of the graph: elements of t are tensors then,
 * since a number of Lua has no gradient. Kernels below Autograd record nothing;
 * what st.fuse records may require gradients in the call that follows. */
static inline bool st__records_element(const st__state *h, const st_tensor *t) {
  if (!st_tensor_requires_grad(t)) return false;
  if (h->recorder) return true;
  const st_tls now = st_tls_get();
  return now.grad && now.excluded != st_tls_below_autograd().excluded;
}

/* -- mapped_fault.c -------------------------------------------------------- */

/* Installs the handler, once: Note [Truncated files]. */
void st__catch_faults(void);
/* Pages of a mapping were replaced, and no call has said so, or what is written
 * to them is lost. */
extern atomic_bool st__has_lost_pages;
/* Raises the error of `name`, which may be "", for pages of which no call has
 * said so, and for tensors at stack index `first` and above whose file is no
 * longer written. */
void st__raise_lost(st__state *h, lua_State *L, int first, const char *name);
/* The text that a failing call adds to its message where pages were lost and no
 * call has said so, which it then has; otherwise NULL. */
const char *st__lost_reason(void);

/* The same, for calls that access elements; returns 0. */
static inline int st__check_lost(st__state *h, lua_State *L, int first,
                                 const char *name) {
  if (atomic_load_explicit(&st__has_lost_pages, memory_order_relaxed)) {
    st__raise_lost(h, L, first, name);
  }
  return 0;
}

/* -- mapped_pages.c, mapped_file.c, atomic_save.c -------------------------- */

/* A mapped file, in the list that finds the mapping of a tensor. */
typedef struct st__mapping st__mapping;

st__mapping *st__mapping_add(const void *p, size_t n, bool is_shared);
void st__mapping_remove(st__mapping *m); /* before it is unmapped */
/* In a signal handler: replaces the pages from an address on by zeros; false if
 * no mapping has the address. */
bool st__mapping_replace(uintptr_t p);
/* True if the elements of t are in a mapping that wrote to its file, until
 * pages of it were replaced. */
bool st__has_lost_file(const st_tensor *t);
/* True if there is such a mapping. */
bool st__has_lost_writes(void);

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
/* Pushes nil and the reason; returns 2. Raises for st__interrupted. [+2] */
int st__failed(lua_State *L, const char *why);
/* st__poll_status as a reason: NULL or st__interrupted. The two functions above
 * that read and write poll. */
const char *st__poll_reason(lua_State *L);
extern const char st__interrupted[];

/* -- dispatch_keyset.c ----------------------------------------------------- */

void st__push_keyset(st__state *h, lua_State *L, st_keyset ks); /* [+1] */
/* The key set at idx, or that of the key whose name is at idx; raises for
 * anything else. */
st_keyset st__check_keyset(st__state *h, lua_State *L, int idx);

#endif
