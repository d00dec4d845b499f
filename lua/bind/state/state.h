/* The binding state of a Lua state, and the userdata and functions of the
 * binding. Only the binding includes lua.h; of the engine it uses strided.h
 * alone.
 *
 * Note [One binding state per Lua state]
 * A binding state holds the binding's data for one Lua state: the metatables,
 * the running call, the pending error of a Lua kernel. Every C function has it
 * as its first upvalue. The engine may hold Lua kernels after the Lua state is
 * closed, so a binding state is reference-counted and allocated outside Lua.
 *
 * Note [Userdata]
 * A C object in Lua is a userdata with the metatable of its kind; the address
 * of the metatable identifies the kind, and of a tensor its first word, which
 * is faster to read (st__to_tensor). An empty userdata is created before
 * the engine is called, and the result is stored in it afterwards, so that
 * nothing leaks when Lua runs out of memory.
 *
 * Note [Metatables on first use]
 * Results make the collector run often (Note [Pacing the collector]), and
 * each cycle traverses every object of the Lua state, used or not. So the
 * functions of tensor methods and the metatables are created on first use. All
 * 600 methods would take 170 KB and make a cycle of a small state take more
 * than twice as long. The table that getmetatable(t) returns is therefore
 * empty; its field __index is a new table of all methods.
 *
 * Note [Stack comments]
 * A line that changes the height of the Lua stack ends in a comment
 * [-popped, +pushed].
 */
#ifndef ST_LUA_STATE_STATE_H
#define ST_LUA_STATE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "compat.h"
#include "strided.h"

/* X(kind, name in tostring and messages). The file that makes userdata of a
 * kind registers a function that fills its metatable (st__fill_meta), unless
 * it fills that when it is opened. */
#define ST_UD_MAP(X)  \
  X(TENSOR, "Tensor") X(SCALAR, "scalar") X(GENERATOR, "Generator")       \
  X(OPERATOR, "operator") X(LIBRARY, "library") X(LISTENER, "listener")   \
  X(PLAN, "plan") X(KEYSET, "keyset") X(SENTINEL, "sentinel")             \
  X(VALUES, "values") X(TEXT, "text") X(EVENTS, "events")                 \
  X(PROFILE, "profile") X(SCHEMA, "schema") X(CAPSULE, "capsule")         \
  X(SOURCE, "source") X(MEMBER, "member") X(SAVE, "save") X(NODE, "node") \
  X(HOOK, "hook") X(CONTEXT, "context")                                   \
  X(SYM_SCALAR, "symbolic number") X(FUSED, "fused function")             \
  X(SANDBOX, "sandbox") X(MESSAGE, "message") X(WORKERS, "workers")

typedef enum st_ud_kind {
#define ST_UD_ENUM(id, name) ST_UD_##id,
  ST_UD_MAP(ST_UD_ENUM)
#undef ST_UD_ENUM
  ST_UD_COUNT
} st_ud_kind;

/* Operators that the binding calls: X(id, name, overload). */
#define ST_HANDLE_MAP(X) \
  X(SELECT, "aten::select", "int")         \
  X(SLICE, "aten::slice", "Tensor")        \
  X(UNSQUEEZE, "aten::unsqueeze", "")      \
  X(ALIAS, "aten::alias", "")              \
  X(INDEX, "aten::index", "Tensor")        \
  X(INDEX_PUT, "aten::index_put_", "")     \
  X(FILL, "aten::fill_", "Scalar")         \
  X(COPY, "aten::copy_", "")               \
  X(CLONE, "aten::clone", "")              \
  X(TO_DTYPE, "aten::to", "dtype")         \
  X(TO_DEVICE, "aten::to", "prim_Device")

typedef enum st_handle {
#define ST_HANDLE_ENUM(id, name, overload) ST_HANDLE_##id,
  ST_HANDLE_MAP(ST_HANDLE_ENUM)
#undef ST_HANDLE_ENUM
  ST_HANDLE_COUNT
} st_handle;

/* ORDER SENTINEL: value/dtype_object.c */
typedef enum st_sentinel { ST_SENTINEL_NONE, ST_SENTINEL_NEWAXIS,
                          ST_SENTINEL_ELLIPSIS }
  st_sentinel;

/* What one file keeps for a Lua state, and no other file sees: allocated by
 * st__new_part, freed with the binding state. */
typedef struct st__contexts st__contexts;       /* grad/function_context.c */
typedef struct st__dtypes st__dtypes;           /* value/dtype_object.c */
typedef struct st__ffi st__ffi;                 /* value/cdata.c */
typedef struct st__function_lists st__function_lists; /* error_location.c */
typedef struct st__keepalive st__keepalive;     /* value/keepalive.c */
typedef struct st__listeners st__listeners;     /* registration_listener.c */
typedef struct st__loading st__loading;         /* sandbox/load_module.c */
typedef struct st__observers st__observers;     /* call/dispatch_mode.c */
typedef struct st__operators st__operators;     /* call/packet.c */
typedef struct st__pacing st__pacing;           /* gc_pacing.c */
typedef struct st__printing st__printing;       /* value/tensor_text.c */
typedef struct st__resolutions st__resolutions; /* call/resolution_cache.c */
typedef struct st__runners st__runners;         /* call/lua_kernel.c */
typedef struct st__scopes st__scopes;           /* value/tensor_scope.c */
typedef struct st__search st__search;           /* nesting.c */
typedef struct st__shapes st__shapes;           /* value/shape.c */
typedef struct st__shortcuts st__shortcuts;     /* call/call_operator.c */
typedef struct st__tracer st__tracer;           /* library/symbolic_trace.c */
typedef struct st__warnings st__warnings;       /* warning.c */

typedef struct st__frame st__frame;             /* Note [Call frames] */
typedef struct st__lua_ref st__lua_ref;         /* Note [Registry references] */
typedef struct st__part st__part;               /* retain.c */
typedef struct st__pending_warning st__pending_warning; /* warning.c */
typedef struct st__profile st__profile;         /* Note [Profiles] */
typedef struct st__sandbox st__sandbox;         /* Note [Sandboxes] */
typedef struct st__scope st__scope;             /* tensor_scope.c */
typedef struct st__state st__state;

/* A function that opens a file of the binding, st__open_..., which adds its
 * functions to the core table at the top, or that fills a metatable there. Each
 * room lists its openers in their order. [0] */
typedef void st__opener(st__state *h, lua_State *L);
#define ST_DECLARE_OPENER(name) st__opener st__open_##name;

struct st__state {
  /* What a call reads: one or two lines of the cache. */
  const lua_State *thread;       /* that of the last call, if it is the main
                                    thread or that of a run: nesting.c */
  lua_State *running;            /* of the innermost call into the engine */
  void *fiber;                   /* inside a body or call: Note [Fibers] */
  st_recorder *recorder;         /* of fused_function.c, or NULL */
  st_tracing *tracing;           /* innermost, or NULL: symbolic_trace.c */
  st__scope *scope;              /* innermost, or NULL: tensor_scope.c */
  int64_t debt, threshold;       /* bytes: Note [Pacing the collector] */
  int64_t large;                 /* bytes of large results in the debt */
  bool has_shortcuts;            /* Note [Cached resolutions] */
  bool has_returned, has_deferred, has_error;
  int lists_ref;                 /* metatable of lists of tensors */
  const void *meta[ST_UD_COUNT]; /* addresses of metatables, or NULL */
  int meta_ref[ST_UD_COUNT];     /* their registry references */

  /* Of the call that runs. */
  const st__frame *frame;        /* Note [Identity of arguments] */
  void *(*fiber_self)(void);
  int levels;                    /* Note [Nested calls] */
  uintptr_t first_level;         /* the outermost one's place on the stack */
  int error_ref;                 /* pending error of a Lua kernel */
  int refusal_ref;               /* Note [Errors that may be caught] */
  int deferred_ref;              /* tensors freed while the engine runs */
  int returned_ref;              /* environment of the results of Lua kernels */
  uint64_t trace;                /* the number of `tracing` */
  st__pending_warning *pending_warnings; /* Note [Warnings are deferred] */
  st__profile *profile;          /* innermost that is running, or NULL */
  int64_t freed;                 /* KB of the tensors that were collected */

  /* Settings. */
  bool has_retry;                /* after an allocation failed */
  bool is_broken;                /* Note [Closing whole or not at all] */
  bool is_strict;                /* libraries may not replace registrations */
  st__sandbox *sandbox;          /* of the Lua state */
  const st_op *op[ST_HANDLE_COUNT];
  char home[256];                /* "@" and the folder of our Lua files */

  /* Its life. */
  atomic_int refs;
  bool is_closed;
  st__state *next_closed;        /* Note [Closed binding states] */
  _Atomic(st__lua_ref *) unrefs; /* references to drop: st__lua_ref_sweep */

  /* Registered by rooms above: functions that fill metatables (Note [Metatables
   * on first use]); by grad/backward.c what pushes "grad_fn=<MulBackward0>" or
   * "requires_grad=true" for the tensor at index 1, and t.name = the value at
   * index 3, false if no settable property has that name. */
  st__opener *fill[ST_UD_COUNT];
  void (*push_gradient_text)(lua_State *L);
  bool (*set_property)(st__state *h, lua_State *L, const char *name);

  st__part *parts;
  st__contexts *contexts;
  st__dtypes *dtypes;
  st__ffi *ffi;
  st__function_lists *functions;
  st__keepalive *keepalive;
  st__listeners *listeners;
  st__loading *loading;
  st__observers *observers;
  st__operators *operators;
  st__pacing *pacing;
  st__resolutions *resolutions;
  st__runners *runners;
  st__printing *printing;
  st__scopes *scopes;
  st__search *search;
  st__shapes *shapes;
  st__shortcuts *shortcuts;
  st__tracer *tracer;
  st__warnings *warnings;
};

/* The userdata of a tensor. It is small, because the collector marks as many
 * bytes of other objects as it frees. */
typedef struct st__tensor_ud {
  const void *kind;            /* identifies it: st__to_tensor */
  st_tensor *t;                /* owned; NULL once freed */
  int slot;                    /* in the list of tracked userdata, or 0 */
  unsigned scoped;             /* in the list of scoped userdata, or 0 */
  uint32_t charged;            /* KB: Note [Pacing the collector] */
  bool has_keepalive;          /* Note [Keeping gradient functions alive] */
} st__tensor_ud;

#define ST_STATE_OPENERS(X) \
  X(refusal) X(fiber) X(warning)
ST_STATE_OPENERS(ST_DECLARE_OPENER)

/* -- retain.c -------------------------------------------------------------- */

void st__state_release(st__state *h);
/* A zeroed part of h; when h is freed, clear(part) is called, unless clear is
 * NULL, and the part is freed. Raises if there is no memory. */
void *st__new_part(st__state *h, lua_State *L, size_t size,
                   void (*clear)(void *part));
/* The registry reference of a new slot, which holds false. [0] */
int st__new_slot(lua_State *L);
/* That of a new table with weak values. [0] */
int st__new_weak_table(lua_State *L);
/* One mutex guards is_closed, unrefs and the queues of listeners of all
 * binding states. */
void st__prepare_lock(void); /* once, for forks */
void st__lock_states(void);
void st__unlock_states(void);
/* The binding state whose call into the engine runs on this thread, or NULL:
 * st__enter and st__leave set it. */
extern _Thread_local st__state *st__current;
static inline st__state *st__current_state(void) { return st__current; }

/* -- state.c --------------------------------------------------------------- */

/* Creates a binding state; its sentinel stays in the registry. [0] */
st__state *st__state_new(lua_State *L);

/* -- nesting.c ------------------------------------------------------------- */

/* Records L as the thread to search for borrowed arguments: Note [Borrowed
 * arguments on the stack]. */
void st__track_thread(st__state *h, lua_State *L);

static inline st__state *st__on_thread(st__state *h, lua_State *L) {
  if (h->thread != L) st__track_thread(h, L);
  return h;
}
static inline st__state *st__state_of(lua_State *L) {
  return st__on_thread(lua_touserdata(L, lua_upvalueindex(1)), L);
}
/* -- userdata.c ------------------------------------------------------------ */

/* Registers the function that fills the metatable of a kind. */
static inline void st__fill_meta(st__state *h, st_ud_kind kind,
                                 st__opener *fill) {
  h->fill[kind] = fill;
}
/* Pushes the metatable of a kind; creates it on first use. [+1] */
void st__push_meta(st__state *h, lua_State *L, st_ud_kind kind);
/* Pushes a zeroed userdata of n bytes. [+1] */
void *st__newudata(st__state *h, lua_State *L, st_ud_kind kind, size_t n);
/* The userdata at idx if it is of that kind, else NULL. */
void *st__testudata(st__state *h, lua_State *L, int idx, st_ud_kind kind);
/* As st__testudata, but raises an error that names argument arg. */
void *st__checkudata(st__state *h, lua_State *L, int idx, st_ud_kind kind,
                     const char *arg);
/* Type of the value at idx, for messages: "Tensor", "string", ... */
const char *st__type_name(st__state *h, lua_State *L, int idx);

/* -- functions.c ----------------------------------------------------------- */

/* As luaL_setfuncs: sets fns, with the binding state as upvalue, in the table
 * at the top. Remembers the names for st__argument_error. */
void st__set_functions(st__state *h, lua_State *L, const luaL_Reg *fns);
/* The same for functions that call a body and hold no borrowed tensor while
 * the body runs. */
void st__set_body_functions(st__state *h, lua_State *L, const luaL_Reg *fns);
/* The same for functions that access elements outside of operator calls: Note
 * [Functions that access elements]. Errors begin with the name of the function
 * if has_names is true, and not if Lua code calls it for another one. */
void st__set_access_functions(st__state *h, lua_State *L, const luaL_Reg *fns,
                              bool has_names);
/* Raises unless the running function is one of these. */
void st__check_access(st__state *h, lua_State *L);
/* Raises the error of `name`, which may be "", for lost pages of which no call
 * has said so, and for tensors at stack index `first` and above whose file is
 * no longer written. */
void st__raise_lost(st__state *h, lua_State *L, int first, const char *name);

#endif
