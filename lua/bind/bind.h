/* The binding's internal header. Only the binding includes lua.h; of the
 * engine it uses strided.h alone.
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
#ifndef ST_LUA_BIND_H
#define ST_LUA_BIND_H

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "compat.h"
#include "strided.h"

/* X(kind, name in tostring and messages, function that fills the metatable);
 * NULL: luaopen fills it. ORDER UD: state.c. */
#define ST_UD_MAP(X)  \
  X(TENSOR, "Tensor", NULL)                     \
  X(SCALAR, "scalar", st__meta_scalar)          \
  X(GENERATOR, "Generator", st__meta_generator) \
  X(OPERATOR, "operator", NULL)                 \
  X(LIBRARY, "library", st__meta_library)       \
  X(LISTENER, "listener", st__meta_listener)    \
  X(PLAN, "plan", st__meta_plan)                \
  X(KEYSET, "keyset", st__meta_keyset)          \
  X(SENTINEL, "sentinel", NULL)                 \
  X(VALUES, "values", st__meta_values)          \
  X(TEXT, "text", st__meta_text)                \
  X(EVENTS, "events", st__meta_events)          \
  X(PROFILE, "profile", st__meta_profile)       \
  X(SCHEMA, "schema", st__meta_schema)          \
  X(CAPSULE, "capsule", st__meta_capsule)       \
  X(SOURCE, "source", st__meta_source)          \
  X(MEMBER, "member", st__meta_member)          \
  X(SAVE, "save", st__meta_save)                \
  X(NODE, "node", st__meta_node)                \
  X(HOOK, "hook", st__meta_hook)                \
  X(CONTEXT, "context", NULL)                   \
  X(SYM_SCALAR, "symbolic number", st__meta_sym_scalar) \
  X(FUSED, "fused function", st__meta_fused) \
  X(SANDBOX, "sandbox", st__meta_sandbox)       \
  X(MESSAGE, "message", st__meta_message)       \
  X(WORKERS, "workers", st__meta_workers)

typedef enum st_ud_kind {
#define ST_UD_ENUM(id, name, fill) ST_UD_##id,
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

typedef struct st__lua_ref st__lua_ref;       /* Note [Registry references] */
typedef struct st__listener st__listener;     /* registration_listener.c */
typedef struct st__pending_warning st__pending_warning; /* warning.c */
typedef struct st__profile st__profile;       /* Note [Profiles] */
typedef struct st__scope st__scope;           /* tensor_scope.c */
typedef struct st__sandbox st__sandbox;       /* Note [Sandboxes] */

/* The links of the userdata in scopes, in lists by index: tensor_scope.c. */
typedef struct st__scope_link st__scope_link;
typedef struct st__scope_links {
  st__scope_link *at;          /* owned; link 0 is unused */
  unsigned n, room, free;      /* in use or free; allocated; first free or 0 */
} st__scope_links;
typedef struct st__frame st__frame;           /* Note [Call frames] */

typedef enum st__warnings {
  ST_WARNINGS_PRINTED, ST_WARNINGS_OFF, ST_WARNINGS_CALL
} st__warnings;

/* References to functions and types of LuaJIT's FFI: cdata.c. */
typedef struct st__ffi {
  int tostring_ref;            /* of all cdata; LUA_NOREF: there are none */
  int typeof_ref, cast_ref, sizeof_ref, int64_ref, uint64_ref, pointer_ref;
  bool is_trusted;             /* the others are the FFI's */
} st__ffi;

/* The state of keepalive.c. */
typedef struct st__keepalive {
  int values_ref;      /* Lua values by number, a weak table */
  double last;         /* the last number used in it */
  int tracked_ref;     /* tracked userdata by slot, a weak table */
  int *free_slots;     /* room for all slots */
  int nslots, nfree, room;
  int count;           /* userdata with an environment */
  int pass_ref;        /* environment of the running backward pass */
  int enter_ref;       /* function that finds a call's environment */
  int returned_ref;    /* environment of the results of Lua kernels */
  bool has_pass, has_returned;
  int context_ref;     /* metatable of contexts: function_context.c */
  int fields_ref;      /* key of the binding's fields in contexts */
} st__keepalive;

enum { ST_FUNCTION_LISTS = 128 };

typedef struct st__state {
  atomic_int refs;
  lua_State *running;            /* of the innermost call into the engine */
  const void *meta[ST_UD_COUNT];    /* addresses of metatables, or NULL */
  int meta_ref[ST_UD_COUNT];        /* their registry references */
  int dtype_ref[ST_DTYPE_ALL];
  int sizes_ref;                 /* metatable of shapes */
  int lists_ref;                 /* metatable of lists of tensors */
  int error_ref;                 /* pending error of a Lua kernel */
  int refusal_ref;               /* Note [Errors that may be caught] */
  int require_ref;               /* the global require */
  struct st__loading *loading;   /* innermost module, or NULL */
  st__ffi ffi;                   /* Note [The types of cdata] */
  int deferred_ref;              /* tensors freed while the engine runs */
  int thread_ref;                /* Note [Borrowed arguments on the stack] */
  const lua_State *thread;       /* the same, if it is the main thread */
  int runner_ref, handler_ref;   /* runs a Lua kernel; message handler */
  int task_ref;                  /* runs another function: lua_kernel.c */
  int observer_ref;              /* calls an observer: dispatch_mode.c */
  int warner_ref, warning_ref;   /* calls the warning function; that
                                    function: warning.c */
  st__warnings warnings;
  st__pending_warning *pending_warnings; /* Note [Warnings are deferred] */
  const luaL_Reg *lists[ST_FUNCTION_LISTS]; /* of the binding's functions */
  int nlists;
  int objects_ref;               /* operator objects, a weak table */
  bool has_shortcuts;            /* Note [Cached resolutions] */
  int names_ref;                 /* names of cached keywords, as keys */
  int operators_ref;             /* methods of operator objects */
  bool has_error, has_deferred, is_closed, has_retry;
  int saved_searches;            /* Note [The search of a deep stack] */
  bool is_broken;                /* Note [Closing whole or not at all] */
  bool is_strict;                /* libraries may not replace registrations */
  st__sandbox *sandbox;          /* of the Lua state */
  const st__frame *frame;        /* of the running call: Note [Identity of
                                    arguments] */
  void *fiber;                   /* inside a body or call: Note [Fibers] */
  void *(*fiber_self)(void);
  int levels;                    /* Note [Nested calls] */
  uintptr_t first_level;         /* the outermost one's place on the stack */
  bool is_delivering;            /* events to listeners */
  st__listener *listeners;
  st_tracing *tracing;           /* innermost, or NULL: symbolic_trace.c */
  uint64_t trace, traces;        /* its number; traces started so far */
  int compiler_ref;              /* compiles an expression to a function */
  st_recorder *recorder;         /* of fused_function.c, or NULL */
  int64_t debt, threshold, stepped; /* bytes: Note [Pacing the collector] */
  int64_t large, small_bound;    /* bytes of large results in debt, a bound */
  int64_t freed;                 /* KB of the tensors that were collected */
  bool collects_fully;           /* Note [A collection by one step] */
  st__keepalive keepalive;       /* Note [Keeping gradient functions alive] */
  bool is_collecting;            /* gc_pacing.c is running the collector */
  st__profile *profile;          /* innermost that is running, or NULL */
  st__scope *scope;              /* innermost, or NULL: tensor_scope.c */
  st__scope_links scope_links;
  st_print_options print;
  const st_op *op[ST_HANDLE_COUNT];
  st_shortcut shortcut[ST_HANDLE_COUNT]; /* of the same operators */
  char home[256];                /* "@" and the folder of our Lua files */
  _Atomic(st__lua_ref *) unrefs; /* references to drop: st__lua_ref_sweep */
  struct st__state *next_closed; /* Note [Closed binding states] */
} st__state;

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

/* -- state.c --------------------------------------------------------------- */

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
/* The binding state whose call into the engine runs on this thread, or NULL. */
st__state *st__current_state(void);
void st__state_release(st__state *h);
/* One mutex guards is_closed, unrefs and the queues of listeners of all
 * binding states. */
void st__lock_states(void);
void st__unlock_states(void);

/* Pushes a zeroed userdata of n bytes. [+1] */
void *st__newudata(st__state *h, lua_State *L, st_ud_kind kind, size_t n);
/* The userdata at idx if it is of that kind, else NULL. */
void *st__testudata(st__state *h, lua_State *L, int idx, st_ud_kind kind);
/* As st__testudata, but raises an error that names argument arg. */
void *st__checkudata(st__state *h, lua_State *L, int idx, st_ud_kind kind,
                     const char *arg);
/* Type of the value at idx, for messages: "Tensor", "string", ... */
const char *st__type_name(st__state *h, lua_State *L, int idx);

/* As luaL_setfuncs: sets fns, with the binding state as upvalue, in the table
 * at the top. Remembers the names for st__argument_error. */
void st__set_functions(st__state *h, lua_State *L, const luaL_Reg *fns);
/* The same for functions that access elements outside of operator calls: Note
 * [Functions that access elements]. Errors begin with the name of the function
 * if has_names is true, and not if Lua code calls it for another one. */
void st__set_access_functions(st__state *h, lua_State *L, const luaL_Reg *fns,
                              bool has_names);
/* The registry reference of a new table with weak values. [0] */
int st__new_weak_table(lua_State *L);
/* The name of the C function at the top, or NULL for a metamethod and for
 * others. */
const char *st__function_name(const st__state *h, lua_State *L);
/* The same for functions that call a body and hold no borrowed tensor while
 * the body runs. */
void st__set_body_functions(st__state *h, lua_State *L, const luaL_Reg *fns);
/* Pushes the metatable of a kind; creates it on first use. [+1] */
void st__push_meta(st__state *h, lua_State *L, st_ud_kind kind);

/* From st__enter to st__leave the engine runs for L: indices in messages count
 * from 1, and warnings go to L. */
typedef struct st__entry {
  st__state *outer;
  lua_State *running;
  void *fiber;
  st_limits *limits;
  int first;
} st__entry;
st__entry st__enter(st__state *h, lua_State *L);
void st__leave(st__state *h, const st__entry *e);

typedef enum st__request_kind { ST_REQUEST_CALL, ST_REQUEST_CONVERTED,
                                ST_REQUEST_REDISPATCH,
                               ST_REQUEST_KEY,
                       ST_REQUEST_EXPLAIN, ST_REQUEST_PLANS } st__request_kind;

/* A request to the engine to call or to describe an operator. */
typedef struct st__request {
  st__request_kind kind;
  const st_op *op;
  const char *declared; /* expected schema text; NULL: do not check */
  int n;
  const st_value *args;
  st_value *rets;
  st_keyset keys;   /* REDISPATCH */
  const char *key;  /* KEY */
  char **text;      /* EXPLAIN: the result */
  st_plan **plans;  /* PLANS: the results, at most room; *count: the number */
  int room, *count;
} st__request;

/* st__enter and st__leave for engine functions that no request covers. Begin
 * fails inside another fiber, with name in the message; if it succeeds, end
 * must follow. End returns status. */
st_status st__begin(st__state *h, lua_State *L, const char *name,
                    st__entry *e);
st_status st__end(st__state *h, lua_State *L, const st__entry *e,
                  st_status status);

/* Executes the request; on NO_MEMORY runs a full collection and retries
 * once. */
st_status st__run(st__state *h, lua_State *L, const st__request *req);

/* -- fiber.c -------------------------------------------------------------- */

#define ST_OTHER_FIBER "another fiber yielded inside a body, or inside a Lua " \
                       "function that strided called, and must finish it first"

#define ST_BROKEN "the sandbox of this Lua state could not be closed: it has " \
                  "nothing of strided any more"

#define ST_IN_HOOK "a hook that runs inside of a long call cannot use strided"

/* Stands for the fiber while a hook runs inside of a call: Note [Hooks of long
 * calls]. */
extern void *const st__asking_fiber;
/* Says why this fiber does not own h; no fiber owns a state that is broken. */
const char *st__other_fiber(const st__state *h);
/* True unless another fiber is inside a body or call: Note [Fibers]. */
bool st__owns_fiber(const st__state *h);
/* Raises otherwise; name starts the message. */
void st__check_fiber(st__state *h, lua_State *L, const char *name);

/* -- nested_call.c: Note [Nested calls] ------------------------------------ */

/* Raises if a Lua function must not be called because calls are inside each
 * other too deep. name starts the message. */
void st__check_depth(st__state *h, lua_State *L, const char *name);
/* The same for a body, and if another fiber is inside one: Note [Fibers]. */
void st__check_body(st__state *h, lua_State *L, const char *name);
/* lua_error, which handlers cannot repeat until the C stack is full. */
int st__throw(st__state *h, lua_State *L);
/* lua_pcall of a body, with this fiber recorded as the one inside. A function
 * calls st__check_body before, and before it changes any state. */
int st__run_body(st__state *h, lua_State *L, int nargs, int nrets);
/* lua_pcall of a Lua function with a message handler, for all its results. A
 * function calls st__check_depth before. */
int st__run_handled(st__state *h, lua_State *L, int nargs, int handler);
/* lua_pcall of one of our own C functions, which calls a Lua function by
 * st__call_lua: lua_call that raises if it would go too deep. */
int st__pcall_c(st__state *h, lua_State *L, int nargs, int nrets,
                int handler);
void st__call_lua(st__state *h, lua_State *L, const char *name, int nargs,
                  int nrets);
/* lua_call of a Lua function by a C function that Lua called. */
void st__call_out(st__state *h, lua_State *L, const char *name, int nargs,
                  int nrets);
/* lua_call of one of our own C functions; or of the body, by the C function
 * that st__run_body runs. */
void st__call_c(lua_State *L, int nargs, int nrets);
#if LUA_VERSION_NUM >= 504
/* lua_resume by a C function that Lua called. */
int st__resume(lua_State *co, lua_State *L, int nargs, int *nrets);
#endif
/* lua_getfield of a user's table, whose metatable may have a function. [+1] */
void st__get_field(st__state *h, lua_State *L, int idx, const char *name);

/* -- gc_pacing.c ----------------------------------------------------------- */

/* Chooses a bound by the caches. */
void st__gc_init(st__state *h);
/* Runs the collector as far as the debt requires. */
void st__gc_pace(st__state *h, lua_State *L);
/* Bytes of memory in t's storage: 0 on the meta device and for ZeroTensors. */
int64_t st__memory_of(const st_tensor *t);
static inline void st__gc_pace_if_due(st__state *h, lua_State *L) {
  if (h->debt > h->threshold) st__gc_pace(h, L);
}
/* Adds n new bytes to the debt. ud is the userdata that owns them; NULL when
 * several do. What foreign memory claims to be does not overflow the debt. */
static inline uint32_t st__more_kb(uint32_t kb, int64_t bytes) {
  const int64_t sum = kb + bytes / 1024;
  return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}
static inline void st__gc_charge(st__state *h, st__tensor_ud *ud, int64_t n) {
  enum { LARGE = 160 << 10 };
  const int64_t most = (int64_t)1 << 40;
  if (n > most) n = most;
  if (ud) ud->charged = st__more_kb(ud->charged, n);
  h->debt += n;
  if (n > LARGE) h->large += n;
}
/* Subtracts from the debt what a userdata that is about to be freed without
 * the collector was charged. */
void st__gc_credit(st__state *h, const st__tensor_ud *ud);
/* Runs a full collection after NO_MEMORY, unless *made, and sets *made. True
 * if it ran, so that the call should be retried. */
bool st__gc_retry(st__state *h, lua_State *L, bool *made);

/* -- registry_ref.c -------------------------------------------------------- */

/* Note [Registry references]
 * The engine may hold a Lua value, the function of a kernel or the owner of
 * foreign memory, for longer than Lua does, and may release it on any thread,
 * even after the state is closed. The value has a reference in the registry,
 * which only the thread of the Lua state may drop. So a release adds the block
 * to the list `unrefs` of the binding state, and that thread drops the
 * references in the list later (st__lua_ref_sweep). */
struct st__lua_ref {
  st__state *h;        /* retained */
  int ref;
  st__lua_ref *next;   /* in unrefs */
};

/* Allocates a zeroed block of size bytes whose first member is an st__lua_ref
 * to the value at idx; raises when out of memory. */
void *st__lua_ref_new(st__state *h, lua_State *L, int idx, size_t size);
/* Frees such a block, on any thread. */
void st__lua_ref_free(void *held);
/* Drops the references in unrefs; on the thread of the Lua state only. */
void st__lua_ref_sweep(st__state *h, lua_State *L);

/* -- error_location.c ------------------------------------------------------ */

/* True for a Lua function outside our own files. */
bool st__is_user_frame(const st__state *h, const lua_Debug *ar);
/* Writes "file:line" of the innermost user frame to buf, or "" if there is
 * none; returns buf. */
char *st__where(const st__state *h, lua_State *L, char *buf, size_t size);
/* Writes the name of the running function of the binding to buf, or ""; returns
 * buf. */
char *st__running_name(st__state *h, lua_State *L, char *buf, size_t size);

/* True if the error at the top, with which lua_pcall returned this status, is
 * an interrupt, the time limit of a sandbox or a lack of memory: what called
 * the function then goes no other way. */
bool st__stops_call(lua_State *L, int failure);

/* -- warning.c ------------------------------------------------------------- */

/* A warning of the binding, outside of calls into the engine. */
void st__warn_text(st__state *h, lua_State *L, const char *text);

/* Raises the failure that the engine reported, at the caller's line; does
 * not return. All errors of the binding are raised by this function. */
int st__raise(st__state *h, lua_State *L, st_status status);
/* The same for a bad argument of the running C function, with its name in front
 * of the text. */
__attribute__((format(printf, 4, 5)))
int st__argument_error(st__state *h, lua_State *L, st_status code,
                       const char *format, ...);
/* Raises the error for an option that the function `name` does not have; names
 * are its options, ended by NULL. */
void st__unknown_option(st__state *h, lua_State *L, const char *name,
                        const char *option, const char *const *names);
/* Raises unless the value at idx is a table; arg names it. */
void st__check_table(st__state *h, lua_State *L, int idx, const char *arg);
/* The string at idx; raises for anything else, numbers included. NULL for an
 * absent one of st__opt_string. */
const char *st__check_string(st__state *h, lua_State *L, int idx,
                             const char *arg);
const char *st__opt_string(st__state *h, lua_State *L, int idx,
                           const char *arg);
/* For loops over Lua data and bytes, about every 100 microseconds or less
 * often: raises if the call should stop. Lua code may run meanwhile, without
 * access to the engine (Note [Hooks of long calls]). */
void st__poll(st__state *h, lua_State *L);
/* The same for code that has to clean up: INTERRUPTED is for st__raise. */
st_status st__poll_status(st__state *h, lua_State *L);
enum { ST_POLL_ITEMS = 4096, ST_POLL_BYTES = 1 << 22 }; /* between polls */
/* The same for a failure that the binding detects. */
__attribute__((format(printf, 4, 5)))
int st__error(st__state *h, lua_State *L, st_status code, const char *format,
              ...);

/* -- refusal.c ------------------------------------------------------------- */

/* Notes the error at idx, a text that is about to be raised: Note [Errors that
 * may be caught]. */
void st__note_refusal(st__state *h, lua_State *L, int idx);

/* -- tensor_scope.c -------------------------------------------------------- */

/* Raises if there is no memory. */
void st__scope_enter(st__state *h, lua_State *L, st__scope *s,
                     st__tensor_ud *ud);
void st__scope_leave(st__state *h, st__tensor_ud *ud); /* no-op outside one */

/* -- sandbox.c ------------------------------------------------------------- */

/* Gives h the sandbox of its Lua state; false when out of memory. */
bool st__sandbox_join(st__state *h, lua_State *L);
void st__sandbox_leave(st__sandbox *s); /* NULL is allowed */
/* False for a second binding state of a Lua state in a sandbox. */
bool st__sandbox_may_open(st__state *h);
/* Turns the sandbox on if STRIDED_SANDBOX says so; returns its text if it is
 * malformed, else NULL. */
const char *st__sandbox_from_env(st__state *h, lua_State *L);
/* Raises if closing the sandbox has failed; name is what is refused. */
void st__check_broken(st__state *h, lua_State *L, const char *name);
/* Pushes what takes the place of the core table in a sandbox that was closed
 * while it was opened. [+1] */
void st__push_closed_core(lua_State *L);
/* The thread that has called box:run if L is the thread of the run, or NULL. */
lua_State *st__sandbox_host(const st__state *h, const lua_State *L);
/* The limits of calls, or NULL. */
st_limits *st__sandbox_limits(const st__state *h);
/* Pushes fn with the test of the sandbox if it is one of the functions that
 * sandboxes take away; false otherwise. [+0|1] */
bool st__push_guarded(st__state *h, lua_State *L, const luaL_Reg *fn);
/* What the function at the top guards, or NULL. */
const luaL_Reg *st__guarded_function(lua_State *L);
/* For other ways to register: whether a function is one of these, and the error
 * if the sandbox has taken it. */
bool st__is_guarded(const luaL_Reg *fn);
void st__check_guarded(st__state *h, lua_State *L, const luaL_Reg *fn);
/* Raises if the sandbox does not give the namespace to libraries. In one that
 * does, libraries do not replace registrations. */
void st__check_namespace(st__state *h, lua_State *L, const char *ns);
/* True for a library at idx that is open. */
bool st__is_open_library(st__state *h, lua_State *L, int idx);
/* True if libraries that are opened now are those of scripts. */
bool st__is_boxed(const st__state *h);
/* Raises unless the operator that a schema or name of a script's library is of
 * was defined by such a library; is_new: unless it does not exist either. */
void st__check_own_operator(st__state *h, lua_State *L, const char *ns,
                            const char *name, bool is_new);
/* Remembers that the library at idx has defined an operator. */
void st__own_operator(lua_State *L, int idx, const char *ns, const char *name);
/* A number that identifies p: its address, or in a sandbox another. */
int64_t st__hide_address(const st__state *h, const void *p);

/* -- registration_listener.c ----------------------------------------------- */

/* Calls the listeners of this state with the queued events; an error in a
 * listener becomes a warning. Call it at the end of every registration. */
void st__deliver(st__state *h, lua_State *L);
/* Frees all listeners, when the binding state is freed. */
void st__free_listeners(st__state *h);

/* -- profile_record.c ------------------------------------------------------ */

/* Reports to the running profiles that something begins which is not an
 * operator, and that it ends, in pairs. Its name is that of what and name
 * together. Call them if h->profile is set. */
void st__profile_enter(st__state *h, const char *what, const char *name);
void st__profile_leave(st__state *h);

/* -- Openers, warnings, nested calls --------------------------------------- */

typedef void st__opener(st__state *h, lua_State *L);

/* st__open_...: adds the functions of a file to the core table at the top, in
 * this order. [0] */
#define ST_OPENER_MAP(X) \
  X(load_module) X(refusal) X(fiber) X(cdata) X(operator) X(dtype) \
  X(scalar) X(shape) X(tensor) \
  X(from_table) X(subscript) X(kernel) X(library) X(listen) X(plan) \
  X(system) X(keyset) X(guard) X(mode) X(inspect) X(explain) \
  X(dispatch_trace) X(profile) X(schema) X(signal) X(terminal) X(warning) \
  X(child_process) \
  X(foreign) X(dlpack) X(arrow) X(source) X(mapped_pages) X(save) \
  X(zip_member) X(csv_read) X(csv_write) X(share) X(memory) X(scope) \
  X(keepalive) X(grad) X(hook) X(context) X(autograd_function) \
  X(symbolic_trace) X(fused_function) X(sandbox) X(sandbox_run) \
  X(worker_threads)
#define ST_OPENER(name) st__opener st__open_##name;
ST_OPENER_MAP(ST_OPENER)
#undef ST_OPENER

/* st__meta_...: fills the metatable at the top. [0] */
st__opener st__meta_scalar, st__meta_generator, st__meta_library,
  st__meta_listener, st__meta_plan, st__meta_keyset, st__meta_values,
  st__meta_text, st__meta_events, st__meta_profile, st__meta_schema,
  st__meta_capsule, st__meta_source, st__meta_member, st__meta_save,
  st__meta_node, st__meta_hook, st__meta_sym_scalar, st__meta_fused,
  st__meta_sandbox, st__meta_message, st__meta_workers;

/* Calls the warning function with the pending warnings of a call; st_message
 * stays that of a failed call. [0] */
void st__deliver_warnings(st__state *h);

/* During an engine call: calls the C function with registry reference ref in
 * protected mode, with the light userdata arg; a pending Lua error is kept.
 * Returns Lua's status; on failure the error is pushed. [+0|1] */
int st__nested_pcall(st__state *h, int ref, void *arg);

/* Creates a binding state; its sentinel stays in the registry. [0] */
st__state *st__state_new(lua_State *L);

#include "value/value.h"
#include "call/call.h"
#include "grad/grad.h"

#endif
