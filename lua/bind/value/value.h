/* Part of bind.h: values of Lua as those of the engine, and back.
 */
#ifndef ST_LUA_VALUE_VALUE_H
#define ST_LUA_VALUE_VALUE_H

/* -- scalar.c ------------------------------------------------------------- */

/* Numbers, booleans, int64_t cdata and scalar userdata; false for the rest. */
bool st__to_scalar(st__state *h, lua_State *L, int idx, st_scalar *out);
/* A number without a fraction that fits. */
bool st__to_int(st__state *h, lua_State *L, int idx, int64_t *out);
bool st__to_double(st__state *h, lua_State *L, int idx, double *out);
int64_t st__check_int(st__state *h, lua_State *L, int idx, const char *arg);
void st__push_int(st__state *h, lua_State *L, int64_t i);      /* [+1] */
void st__push_scalar(st__state *h, lua_State *L, st_scalar s); /* [+1] */
/* An exact integer from the integer or decimal string at idx. [+1] */
int st__new_int64(st__state *h, lua_State *L, int idx);
void st__open_scalar(st__state *h, lua_State *L);              /* [0] */

/* -- dtype_object.c -------------------------------------------------------- */

bool st__to_dtype(st__state *h, lua_State *L, int idx, st_dtype *out);
st_dtype st__check_dtype(st__state *h, lua_State *L, int idx,
                         const char *arg);
void st__push_dtype(st__state *h, lua_State *L, st_dtype d); /* [+1] */
bool st__to_format(lua_State *L, int idx, st_format *out);
bool st__to_device(lua_State *L, int idx, st_device *out);
bool st__is_sentinel(st__state *h, lua_State *L, int idx, st_sentinel mark);
void st__open_dtype(st__state *h, lua_State *L); /* [0], core at the top */

/* -- tensor_userdata.c ----------------------------------------------------- */

/* The tensor at idx, or NULL for anything else, freed ones included. */
st_tensor *st__to_tensor(st__state *h, lua_State *L, int idx);
st_tensor *st__check_tensor(st__state *h, lua_State *L, int idx,
                            const char *arg);
st__tensor_ud *st__new_tensor_ud(st__state *h, lua_State *L);     /* [+1] */
/* A userdata of its own for t. */
st__tensor_ud *st__push_tensor(st__state *h, lua_State *L,
                               st_tensor *t); /* [+1] */
void st__push_sizes(st__state *h, lua_State *L, const int64_t *p, int n,
                    int64_t unit);                                /* [+1] */
void st__open_tensor(st__state *h, lua_State *L); /* [0], core at the top */

/* -- from_table.c ---------------------------------------------------------- */

/* A tensor from the table or number at idx. dtype NONE infers it. [+1] */
st__tensor_ud *st__tensor_from(st__state *h, lua_State *L, int idx,
                               st_dtype dtype, st_device device);
void st__open_from_table(st__state *h, lua_State *L); /* [0], core at the top */

/* The bytes of the tensor at idx, from its first element to the end of its
 * last; raises where they are not here, or not its elements. */
char *st__check_memory(st__state *h, lua_State *L, int idx, size_t *n);

/* -- subscript_parse.c ----------------------------------------------------- */

typedef enum st__item_kind {
  ST_ITEM_POSITION, ST_ITEM_RANGE, ST_ITEM_NEWAXIS, ST_ITEM_ELLIPSIS,
  ST_ITEM_TENSOR, ST_ITEM_BOOL
} st__item_kind;

/* One part of a subscript; positions in C's convention. */
typedef struct st__item {
  st__item_kind kind;
  int64_t a, b, step;   /* POSITION: a; RANGE: [a, b) by step; BOOL: a */
  bool is_exact;        /* a range of one: out of range is an error */
  st_tensor *tensor;    /* a userdata on the Lua stack holds it */
} st__item;

enum { ST_MAX_ITEMS = 2 * ST_MAX_DIMS };

/* The subscript at idx (number, boolean, sentinel, tensor, table, string) as
 * items; returns how many, or raises. [+number of tensors] */
int st__parse_subscript(st__state *h, lua_State *L, int idx, st__item *items);

/* -- foreign_memory.c ------------------------------------------------------ */

/* What elements are, and how they lie in memory. */
typedef struct st__layout {
  st_dtype dtype;
  int ndim;
  bool has_strides;    /* without, they are contiguous */
  size_t nbytes;       /* from the first to the end of the last */
  int64_t sizes[ST_MAX_DIMS], strides[ST_MAX_DIMS];
} st__layout;

static inline const int64_t *st__layout_strides(const st__layout *l) {
  return l->has_strides ? l->strides : NULL;
}
/* A light userdata, or a pointer of LuaJIT's: its address. */
bool st__to_address(lua_State *L, int idx, void **out);
/* The table of integers at idx; returns how many. */
int st__check_sizes(st__state *h, lua_State *L, int idx, const char *arg,
                    int64_t *out);
/* dtype, shape and strides or nil at idx and behind. */
void st__check_layout(st__state *h, lua_State *L, int idx, st__layout *out);
/* Any byte but 0 becomes 1. */
void st__make_bools(char *p, size_t n);

/* -- symbolic_trace.c ------------------------------------------------------ */

/* The number of the running trace that the userdata at idx is: its index, and
 * an example. */
bool st__to_sym_scalar(st__state *h, lua_State *L, int idx, int *at,
                       st_scalar *example);
/* A function in place of the expression at idx, if it is a string; names: a
 * list of its arguments' at the top. Raises. [-1] */
void st__compile(lua_State *L, st__state *h, int idx);
/* The names of a schema's arguments as a list; raises. [+1] */
void st__push_argument_names(st__state *h, lua_State *L, const char *schema,
                             const char *ns);
/* Traces the function at fn as the body of an operator with this schema: a
 * graph of the caller's; raises. */
st_graph *st__trace_body(st__state *h, lua_State *L, const char *schema,
                         const char *ns, int fn);

/* -- trace_reduction.c ----------------------------------------------------- */

/* Traces the parts of a reduction, which are in the table at idx: all of *f
 * but its place is filled in, from its schema on; raises. [+2] */
void st__trace_reduction(st__state *h, lua_State *L, const char *ns, int idx,
                         st_custom_reduction *f);
/* Lets go of what that has left at the top. [-2] */
void st__end_reduction(lua_State *L);

/* -- fused_function.c ------------------------------------------------------ */

/* Is t a fake tensor of the function that is being recorded? */
static inline bool st__is_fake(const st__state *h, const st_tensor *t) {
  return h->recorder && st_recorder_is_fake(h->recorder, t);
}
/* Somebody is about to look at an element of t: raises if it is a fake
 * tensor. */
void st__check_not_fake(st__state *h, lua_State *L, const st_tensor *t);
/* What is done now would be missed when recorded calls run: the function that
 * is being recorded will be called instead. */
static inline void st__cannot_record(const st__state *h, const char *why) {
  if (h->recorder) st_recorder_refuse(h->recorder, why);
}

/* -- mapped_file.c, atomic_save.c ------------------------------------------ */

/* A file or bytes, counted; any thread may let go of it. */
typedef struct st__source st__source;

st__source *st__check_source(st__state *h, lua_State *L, int idx);
st__source *st__source_retain(st__source *s);
void st__source_release(st__source *s); /* NULL is fine */
size_t st__source_size(const st__source *s);
/* Why they could not be read; NULL when they were. */
const char *st__source_read(const st__source *s, size_t offset, void *out,
                            size_t n);
/* Appends to the file at idx; the same. */
const char *st__save_write(lua_State *L, int idx, const void *p, size_t n);
/* The bytes of the string or of the tensor's memory at idx. */
const char *st__check_bytes(st__state *h, lua_State *L, int idx, size_t *n);
/* nil and why not. [+2] */
int st__failed(lua_State *L, const char *why);

#endif
