/* The room of values: conversion of Lua values to the engine's and back, and
 * what a tensor's userdata takes part in.
 *
 * Note [Keeping gradient functions alive]
 * A node of the graph may call a Lua function: a hook or a derivative. Such a
 * function often refers to tensors whose graph contains that node. If C held
 * the function by a strong reference, this cycle would pass through C, where no
 * collector can find it, and would leak. So C holds only a number, the key of
 * the function in a weak table. Strong references exist in Lua alone: in the
 * environments of the userdata whose graph may call the function. Every cycle
 * then consists of Lua objects, and Lua's collector finds it.
 *
 * An environment is a table; it is created once, is shared by the userdata that
 * need the same functions, and has other environments as keys. A userdata that
 * has one has has_keepalive set. An operator call passes the environments of
 * its arguments on to its results, to the tensors it writes in place, and to
 * the bases of those that are views (st__env_inherit). A backward pass has the
 * environment of its outputs, which every tensor with a history inherits that
 * Lua sees during the pass (st__push_in_pass). A hook may be registered after
 * tensors were computed from its tensor; the search for them covers the tracked
 * userdata, those that may have a history, which a weak list holds.
 *
 * To keep code without autograd fast, views of tensors without a history are
 * not tracked. If such a view outlives its base, or its base got a history
 * through another view, the view misses the environment. If a function was
 * collected, for that reason or because a finalizer runs a graph that was
 * collected with it, the pass fails with an error that says so.
 */
#ifndef ST_LUA_VALUE_VALUE_H
#define ST_LUA_VALUE_VALUE_H

#include <math.h>
#include <stdarg.h>

#include "state/engine.h"
#include "lua_number.h"

#define ST_VALUE_OPENERS(X) \
  X(cdata) X(keepalive) X(scope) X(dtype) X(shape) X(tensor) \
  X(tensor_text) X(tensor_methods) X(keyset) X(foreign)
ST_VALUE_OPENERS(ST_DECLARE_OPENER)

/* -- scalar.c ------------------------------------------------------------- */

/* An integer scalar. */
static inline st_scalar st__unsigned(uint64_t u) {
  return (st_scalar){u > INT64_MAX ? ST_SCALAR_UINT : ST_SCALAR_INT, {.u = u}};
}
static inline bool st__is_whole(const st_scalar *s) {
  return s->kind == ST_SCALAR_INT || s->kind == ST_SCALAR_UINT;
}
static inline double st__whole_to_double(const st_scalar *s) {
  return s->kind == ST_SCALAR_UINT ? (double)s->u.u : (double)s->u.i;
}

/* Converts a number, boolean, int64_t or uint64_t cdata or scalar userdata;
 * false for any other value. */
bool st__to_scalar(st__state *h, lua_State *L, int idx, st_scalar *out);
/* Dtypes of floating and complex numbers. */
static inline bool st__has_fractions(st_dtype d) {
  return !st_dtype_is_integer(d) && d != ST_BOOL;
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
/* Pushes a userdata; an integer that a double cannot represent, or that st.int
 * makes, as an exact integer. */
void st__push_scalar_ud(st__state *h, lua_State *L, st_scalar s); /* [+1] */
void st__push_exact(st__state *h, lua_State *L, st_scalar s);    /* [+1] */

/* -- sym_scalar.c ---------------------------------------------------------- */

/* The userdata of a symbolic number. */
typedef struct st__sym_scalar {
  uint64_t trace;      /* the trace it belongs to */
  int at;
  st_scalar_kind kind;
} st__sym_scalar;

/* If the value at idx is a symbolic scalar of the running trace, sets its
 * index and an example value of its kind. */
bool st__to_sym_scalar(st__state *h, lua_State *L, int idx, int *at,
                       st_scalar *example);
/* -- describe_value.c ------------------------------------------------------ */

/* A text that is cut off at the end of its buffer. */
typedef struct st__text { char *at; size_t left; } st__text;
__attribute__((format(printf, 2, 0)))
void st__add_text(st__text *t, const char *format, va_list args);
/* Add the names of the dtypes, as st__describe_dtypes, and of the devices. */
void st__add_dtypes(st__text *t, const char *given);
void st__add_devices(st__text *t);
/* Writes what the value at idx is: "string 'a'", "number 2.5", "table". */
void st__describe_value(st__state *h, lua_State *L, int idx, char *buf,
                        size_t size);
/* Writes the names of the dtypes, and the most similar to `given`, if that is
 * not NULL; begins with "; did" or a new line. */
void st__describe_dtypes(const char *given, char *buf, size_t size);
/* Writes the names of the devices; begins with a new line. */
void st__describe_devices(char *buf, size_t size);

/* -- tensor_methods.c ------------------------------------------------------ */

/* Raises the error of an assignment to a property, and says what to write. */
int st__refuse_property(st__state *h, lua_State *L, const char *name);

/* -- dtype_object.c -------------------------------------------------------- */

bool st__to_dtype(lua_State *L, int idx, st_dtype *out);
st_dtype st__check_dtype(st__state *h, lua_State *L, int idx,
                         const char *arg);
void st__push_dtype(st__state *h, lua_State *L, st_dtype d); /* [+1] */
/* The bytes of an element, a fraction for fewer than eight bits. [+1] */
void st__push_itemsize(lua_State *L, st_dtype d);
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

/* -- tensor_text.c --------------------------------------------------------- */

/* Pushes what tostring makes of the tensor at idx. */
void st__push_tensor_text(st__state *h, lua_State *L, int idx);   /* [+1] */

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

/* -- dispatch_keyset.c ----------------------------------------------------- */

void st__push_keyset(st__state *h, lua_State *L, st_keyset ks); /* [+1] */
/* The key set at idx, or that of the key whose name is at idx; raises for
 * anything else. */
st_keyset st__check_keyset(st__state *h, lua_State *L, int idx);


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

/* -- recording.c ----------------------------------------------------------- */

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

/* st__raise_lost, for calls that access elements; returns 0. */
static inline int st__check_lost(st__state *h, lua_State *L, int first,
                                 const char *name) {
  if (atomic_load_explicit(&st__has_lost_pages, memory_order_relaxed)) {
    st__raise_lost(h, L, first, name);
  }
  return 0;
}

/* -- tensor_scope.c -------------------------------------------------------- */

/* Raises if there is no memory. */
void st__scope_enter(st__state *h, lua_State *L, st__scope *s,
                     st__tensor_ud *ud);
void st__scope_leave(st__state *h, st__tensor_ud *ud); /* no-op outside one */

/* -- keepalive.c ----------------------------------------------------------- */

/* A weak reference to a table: its number in the weak table of values. */
typedef struct st__weak_ref {
  st__state *h;   /* retained */
  double number;
} st__weak_ref;

/* Allocates a zeroed block of size bytes that begins with an st__weak_ref to
 * the table at idx. Raises if memory runs out. */
void *st__weak_ref_new(st__state *h, lua_State *L, int idx, size_t size);
/* Frees such a block; may run on any thread. */
void st__weak_ref_free(void *block);
/* st__weak_put assigns a number to the value at idx; st__weak_push pushes the
 * value of a number, nil if it was collected. */
double st__weak_put(st__state *h, lua_State *L, int idx);
void st__weak_push(st__state *h, lua_State *L, double number);      /* [+1] */
/* ST_BAD_STATE if the reference's Lua state does not run on this thread. */
st_status st__weak_ref_check(const st__weak_ref *a, const char *what);

/* Merges the two environments at the top. [-2, +1] */
void st__env_merge(lua_State *L);
/* Adds the environment at the top to the userdata at idx. [-1] */
void st__env_add(st__state *h, lua_State *L, int idx);
/* Pushes the environment of the tensors with a history at idx, a tensor or a
 * list. has_one: the environment at the top is merged with it. Returns true if
 * there is one. [+0|1] */
bool st__env_collect(st__state *h, lua_State *L, int idx, bool has_one);
/* True if any userdata has an environment. */
bool st__any_env(const st__state *h);
/* Takes the environment that st__env_return stored, merged with the one at the
 * top if has_one. [+0|1] */
bool st__env_take_returned(st__state *h, lua_State *L, bool has_one);
/* Stores the environment of the value at idx, which a Lua function returned to
 * the engine, for the results of the running call. [0] */
void st__env_return(st__state *h, lua_State *L, int idx);
/* st__pass_enter makes the environment at the top, if has_one, that of the pass
 * and pushes the outer one. st__pass_leave restores the outer one and leaves
 * the pass's, which may have grown, in its slot (nil or false: none); returns
 * true if there is one. */
void st__pass_enter(st__state *h, lua_State *L, bool has_one); /* [-0|1, +1] */
bool st__pass_leave(st__state *h, lua_State *L);              /* [-1, +1] */
/* For a Lua function that runs for a call: pushes the outer environment, a
 * function and its first argument; after the arguments of the call were pushed,
 * nargs of them, st__pass_collect makes their environments that of the pass.
 * st__pass_leave_call restores the outer one, at index slot. */
void st__pass_open(st__state *h, lua_State *L);                    /* [+3] */
void st__pass_collect(st__state *h, lua_State *L, int nargs); /* [-nargs-2] */
void st__pass_leave_call(st__state *h, lua_State *L, int slot);    /* [-1] */
/* Adds the environment of the value at idx, which a function of a backward pass
 * returned, to that of the pass. [0] */
void st__pass_add(st__state *h, lua_State *L, int idx);
/* Pushes the tracked userdata of t; false if there is none. [+0|1] */
bool st__push_existing(st__state *h, lua_State *L, const st_tensor *t);
/* A new userdata of t, for a Lua function that the engine calls; it inherits
 * the environment of the pass. [+1] */
st__tensor_ud *st__push_in_pass(st__state *h, lua_State *L, st_tensor *t);
/* The same for a tensor that the pass may use afterwards: st_lend. */
st__tensor_ud *st__push_lent(st__state *h, lua_State *L, st_tensor *t);
/* Tracks the userdata at idx: it may have a history. [0] */
void st__track_ud(st__state *h, lua_State *L, int idx);
/* Untracks a userdata that is being finalized. */
void st__untrack_ud(st__state *h, st__tensor_ud *ud);
/* Calls fn for each live tracked userdata, of a node or of a tensor that is not
 * freed, with the userdata at the top of the stack. */
void st__each_node_ud(st__state *h, lua_State *L,
                      void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                      void *ctx);
void st__each_tensor_ud(st__state *h, lua_State *L,
                        void (*fn)(lua_State *L, st__tensor_ud *ud, void *ctx),
                        void *ctx);
/* The value at idx inherits the environment at the top; is_written: it was
 * written in place. [0] */
void st__env_inherit_top(st__state *h, lua_State *L, int idx, bool is_written);
/* The value at idx, or those in a list, inherits the environment at the top, if
 * has_one; a result that may have a history is tracked. */
void st__env_inherit_all(st__state *h, lua_State *L, int idx, bool has_one,
                         bool is_written);
/* Tracks the source of a view, if the value at idx is a tensor. */
void st__track_source(st__state *h, lua_State *L, int idx);
/* The value at idx inherits the environments of the userdata at source. */
void st__env_inherit_from(st__state *h, lua_State *L, int idx, int source,
                          bool is_written);

#endif
