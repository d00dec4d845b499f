/* What the files of the binding share. It is the only code that includes
 * lua.h, and it knows the engine by strided.h alone.
 *
 * Note [One binding state per Lua state]
 * A binding state holds what the binding needs of a Lua state: its metatables,
 * the call that is running, the error of a Lua kernel on its way out. Every C
 * function has it as its first upvalue. The engine may hold Lua kernels for
 * longer than the state lives, so a binding state is counted and lives in C
 * memory.
 *
 * Note [Userdata]
 * A C object in Lua is a userdata whose metatable is the one of its kind; the
 * kind is tested by the metatable's address. The userdata is made first, empty,
 * then the engine is called, then the result is put into the userdata: nothing
 * is lost when Lua runs out of memory.
 *
 * Note [Metatables on first use]
 * Results make the collector run often (Note [Pacing the collector]), and it
 * walks over all that a state has, called or not. So there are functions for
 * methods of tensors, and metatables for kinds of userdata, from their first
 * use on.
 *
 * Note [Stack comments]
 * A line that changes the Lua stack says so: [-popped, +pushed].
 */
#ifndef ST_LUA_BIND_H
#define ST_LUA_BIND_H

#include <pthread.h>
#include <stdatomic.h>

#include "compat.h"
#include "strided.h"

/* Name as tostring and messages show it, and what fills the metatable; NULL
 * where opening does. ORDER UD: state.c. */
#define ST_UD_MAP(X)  \
  X(TENSOR, "Tensor", NULL)                     \
  X(DTYPE, "dtype", NULL)                       \
  X(SCALAR, "scalar", st__meta_scalar)          \
  X(GENERATOR, "Generator", st__meta_generator) \
  X(OPERATOR, "operator", NULL)                 \
  X(LIBRARY, "library", st__meta_library)       \
  X(LISTENER, "listener", st__meta_listener)    \
  X(PLAN, "plan", st__meta_plan)                \
  X(KEYSET, "keyset", st__meta_keyset)          \
  X(SENTINEL, "mark", NULL)                     \
  X(VALUES, "values", st__meta_values)          \
  X(TEXT, "text", st__meta_text)                \
  X(EVENTS, "events", st__meta_events)          \
  X(SCHEMA, "schema", st__meta_schema)          \
  X(CAPSULE, "capsule", st__meta_capsule)       \
  X(SOURCE, "source", st__meta_source)          \
  X(MEMBER, "member", st__meta_member)          \
  X(SAVE, "aside", st__meta_save)               \
  X(NODE, "node", st__meta_node)                \
  X(HOOK, "hook", st__meta_hook)                \
  X(SYM_SCALAR, "symbolic number", st__meta_sym_scalar) \
  X(FUSED, "fused function", st__meta_fused)

typedef enum st_ud_kind {
#define ST_UD_ENUM(id, name, fill) ST_UD_##id,
  ST_UD_MAP(ST_UD_ENUM)
#undef ST_UD_ENUM
  ST_UD_COUNT
} st_ud_kind;

/* Operators that the binding itself calls. */
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

typedef enum st_sentinel { ST_SENTINEL_NONE, ST_SENTINEL_NEWAXIS,
                          ST_SENTINEL_ELLIPSIS }
  st_sentinel;

typedef struct st__lua_ref st__lua_ref;       /* Note [Registry references] */
typedef struct st__listener st__listener;     /* registration_listener.c */
typedef struct st__pending_warning st__pending_warning; /* warning.c */
typedef struct st__scope st__scope;           /* tensor_scope.c */
typedef struct st__frame st__frame;           /* Note [Call frames] */

typedef enum st__warnings {
  ST_WARNINGS_PRINTED, ST_WARNINGS_OFF, ST_WARNINGS_CALL
} st__warnings;

/* See keepalive.c. */
typedef struct st__keepalive {
  int values_ref;      /* the Lua values by number, weak */
  double last;         /* number */
  int tracked_ref;     /* noted userdata by slot, weak */
  int *free_slots;     /* there is room for all */
  int nslots, nfree, room;
  int count;           /* userdata that are anchored */
  int pass_ref;        /* the environment of the running backward pass */
  int enter_ref;       /* what finds that of a call */
  int returned_ref;    /* and that of what a Lua kernel has returned */
  bool has_pass, has_returned;
  int depth;           /* of functions that gradients call */
  int context_ref;     /* the metatable of contexts: function_context.c */
} st__keepalive;

typedef struct st__state {
  atomic_int refs;
  lua_State *running;            /* of the innermost call into the engine */
  const void *meta[ST_UD_COUNT];    /* addresses of metatables, or NULL */
  int meta_ref[ST_UD_COUNT];        /* and where the registry has them */
  int dtype_ref[ST_DTYPE_COUNT + 1];
  int sizes_ref;                 /* the metatable of shapes */
  int error_ref;                 /* slot for the error of a Lua kernel */
  int is_int64_ref, new_int64_ref;  /* LuaJIT's int64_t; LUA_NOREF without */
  int deferred_ref;              /* tensors freed while the engine runs */
  int thread_ref;                /* Note [Borrowed arguments on the stack] */
  const lua_State *thread;       /* the same, if it is the main one */
  int runner_ref, handler_ref;   /* what calls Lua kernels: lua_kernel.c */
  int task_ref;                  /* and other Lua functions */
  int observer_ref;              /* what calls observers: dispatch_mode.c */
  int warner_ref, warning_ref;   /* what calls the function for warnings,
                                    and that: warning.c */
  st__warnings warnings;
  st__pending_warning *pending_warnings; /* Note [Warnings are deferred] */
  int objects_ref;               /* those of operators, weak */
  int operators_ref;             /* methods of operators */
  bool has_error, has_deferred, is_closed, has_retry;
  bool is_strict;                /* libraries may not replace each other */
  const st__frame *frame;        /* of the running call: Note [Identity of
                                    arguments] */
  void *fiber;                   /* that is inside; Note [Fibers] */
  void *(*fiber_self)(void);
  bool is_delivering;            /* to listeners */
  st__listener *listeners;
  int modes;                     /* in force */
  st_tracing *tracing;           /* the innermost, or NULL: symbolic_trace.c */
  uint64_t trace, traces;        /* its number, and how many there were */
  int compiler_ref;              /* what makes functions of expressions */
  st_recorder *recorder;         /* of fused_function.c, or NULL */
  int64_t debt, threshold, stepped; /* bytes: Note [Pacing the collector] */
  st__keepalive keepalive;       /* Note [Keeping gradient functions alive] */
  bool is_collecting;            /* because of them */
  st__scope *scope;              /* the innermost, or NULL: tensor_scope.c */
  st_print_options print;
  const st_op *op[ST_HANDLE_COUNT];
  char home[256];                /* "@" and the folder of our Lua files */
  _Atomic(st__lua_ref *) unrefs; /* values whose references can go */
  struct st__state *next_closed; /* Note [Closed binding states] */
} st__state;

/* A tensor in Lua. */
typedef struct st__tensor_ud {
  st_tensor *t;                /* NULL once freed */
  struct st__tensor_ud *prev, *next; /* of the same scope; NULL outside */
  int64_t charged;             /* bytes: Note [Pacing the collector] */
  int slot;                    /* among those that are noted; 0: none */
  bool has_keepalive;          /* Note [Keeping gradient functions alive] */
} st__tensor_ud;

/* -- state.c --------------------------------------------------------------- */

/* See Note [Borrowed arguments on the stack]. */
void st__track_thread(st__state *h, lua_State *L);

static inline st__state *st__state_of(lua_State *L) {
  st__state *h = lua_touserdata(L, lua_upvalueindex(1));
  if (h->thread != L) st__track_thread(h, L);
  return h;
}
/* The binding state whose call into the engine runs on this thread, or NULL. */
st__state *st__current_state(void);
void st__state_release(st__state *h);
/* Around is_closed, the dead and the queues of listeners, of any binding
 * state. */
void st__lock_states(void);
void st__unlock_states(void);

/* An empty (zeroed) userdata of n bytes. [+1] */
void *st__newudata(st__state *h, lua_State *L, st_ud_kind kind, size_t n);
/* The userdata at idx if it is of that kind, else NULL. */
void *st__testudata(st__state *h, lua_State *L, int idx, st_ud_kind kind);
/* The same or an error that names argument arg. */
void *st__checkudata(st__state *h, lua_State *L, int idx, st_ud_kind kind,
                     const char *arg);
/* What the value at idx is, for messages: "Tensor", "string", ... */
const char *st__type_name(st__state *h, lua_State *L, int idx);

/* Puts closures over the binding state into the table at the top. */
void st__set_functions(st__state *h, lua_State *L, const luaL_Reg *fns);
/* The same for functions that call a body and hold nothing borrowed while it
 * runs. */
void st__set_body_functions(st__state *h, lua_State *L, const luaL_Reg *fns);
/* The metatable of a kind. [+1] */
void st__push_meta(st__state *h, lua_State *L, st_ud_kind kind);

/* Does a C function of ours that may hold borrowed tensors wait below the
 * running one? So it is when a finaliser or a Lua kernel runs. */
bool st__is_nested(st__state *h, lua_State *L);

/* Between the two the engine works for L: it counts from one, and warnings
 * are L's. */
typedef struct st__entry {
  st__state *outer;
  lua_State *running;
  void *fiber;
  int first;
} st__entry;
st__entry st__enter(st__state *h, lua_State *L);
void st__leave(st__state *h, const st__entry *e);

typedef enum st__request_kind { ST_REQUEST_CALL, ST_REQUEST_REDISPATCH,
                               ST_REQUEST_KEY,
                       ST_REQUEST_EXPLAIN, ST_REQUEST_PLANS } st__request_kind;

/* What the engine is to do with an operator. */
typedef struct st__request {
  st__request_kind kind;
  const st_op *op;
  const char *declared; /* the schema's text; NULL where nobody redefines */
  int n;
  const st_value *args;
  st_value *rets;
  st_keyset keys;   /* REDISPATCH */
  const char *key;  /* KEY */
  char **text;      /* EXPLAIN: the result */
  st_plan **plans;  /* PLANS: the results, of which there is room for so many */
  int room, *count;
} st__request;

/* The same around anything else; name is for messages. After a success end
 * must follow, which returns status. */
st_status st__begin(st__state *h, lua_State *L, const char *name,
                    st__entry *e);
st_status st__end(st__state *h, lua_State *L, const st__entry *e,
                  st_status status);

/* Asks the engine for this state; on NO_MEMORY once more after a full
 * collection. */
st_status st__run(st__state *h, lua_State *L, const st__request *req);

/* -- fiber.c -------------------------------------------------------------- */

#define ST_OTHER_FIBER "another fiber yielded inside of a body, or of a Lua " \
                       "function that strided called, and has to end it first"

/* Is no other fiber inside? */
bool st__owns_fiber(const st__state *h);
/* Raises if one is. */
void st__check_fiber(st__state *h, lua_State *L, const char *name);
/* lua_pcall for a body: this fiber is inside. */
int st__run_body(st__state *h, lua_State *L, int nargs, int nrets);
void st__open_fiber(st__state *h, lua_State *L); /* [0] */

/* -- gc_pacing.c ----------------------------------------------------------- */

void st__gc_pace(st__state *h, lua_State *L);
/* Counts n new bytes, the userdata's or with NULL several ones', and lets the
 * collector catch up. */
static inline void st__gc_charge(st__state *h, lua_State *L, st__tensor_ud *ud,
                                 int64_t n) {
  if (ud) ud->charged += n;
  h->debt += n;
  if (h->debt > h->threshold) st__gc_pace(h, L);
}
/* The userdata is about to be emptied ahead of the collector. */
void st__gc_credit(st__state *h, const st__tensor_ud *ud);
/* A full collection after NO_MEMORY, once. True: try once more. */
bool st__gc_retry(st__state *h, lua_State *L, bool *made);

/* -- registry_ref.c -------------------------------------------------------- */

/* Note [Registry references]
 * The engine may hold a Lua value, the function of a kernel or the owner of
 * foreign memory, for longer than Lua does, and let go of it on any thread,
 * also when the state is closed. The value has a reference in the registry;
 * who lets go puts it among the dead of the binding state, and the thread of
 * the state drops the references of these when it comes by. */
struct st__lua_ref {
  st__state *h;        /* counted */
  int ref;
  st__lua_ref *next;   /* among the dead */
};

/* A block of size bytes that begins with a reference to the value at idx and
 * is zero behind it; raises when there is no memory. */
void *st__lua_ref_new(st__state *h, lua_State *L, int idx, size_t size);
/* Frees such a block, on any thread. */
void st__lua_ref_free(void *held);
/* Drops the references that can go. */
void st__lua_ref_sweep(st__state *h, lua_State *L);

/* -- error_location.c ------------------------------------------------------ */

/* Is it a frame of the user's: of Lua, and not of our own files? */
bool st__is_user_frame(const st__state *h, const lua_Debug *ar);
/* "file:line" of the innermost of them, "" without, into buf; returns it. */
char *st__where(const st__state *h, lua_State *L, char *buf, size_t size);

/* Raises the failure that the engine reported, at the caller's line; does
 * not return. The only function here that does. */
int st__raise(st__state *h, lua_State *L, st_status status);
/* The same for a failure found here. */
__attribute__((format(printf, 4, 5)))
int st__error(st__state *h, lua_State *L, st_status code, const char *format,
              ...);

/* -- tensor_scope.c -------------------------------------------------------- */

void st__scope_enter(st__scope *s, st__tensor_ud *ud);
void st__scope_leave(st__tensor_ud *ud); /* none: fine */
void st__open_scope(st__state *h, lua_State *L); /* [0], core at the top */

/* -- registration_listener.c ----------------------------------------------- */

/* Calls the listeners of this state with what changed; may raise what they
 * raise. Belongs at the end of whatever registers. */
void st__deliver(st__state *h, lua_State *L);
/* With the binding state. */
void st__free_listeners(st__state *h);
void st__open_listen(st__state *h, lua_State *L); /* [0], core at the top */

/* -- The rest ------------------------------------------------------------- */

/* Into the core table at the top. [0] */
typedef void st__opener(st__state *h, lua_State *L);
st__opener st__open_subscript, st__open_library, st__open_plan,
  st__open_system, st__open_guard, st__open_mode, st__open_inspect,
  st__open_explain, st__open_dispatch_trace, st__open_schema, st__open_signal,
  st__open_warning, st__open_foreign, st__open_dlpack, st__open_source,
  st__open_save, st__open_zip_member, st__open_share, st__open_memory,
  st__open_keepalive, st__open_grad, st__open_hook, st__open_context,
  st__open_autograd_function, st__open_symbolic_trace, st__open_fused_function;

/* Into the metatable at the top. [0] */
st__opener st__meta_scalar, st__meta_generator, st__meta_library,
  st__meta_listener, st__meta_plan, st__meta_keyset, st__meta_values,
  st__meta_text, st__meta_events, st__meta_schema, st__meta_capsule,
  st__meta_source, st__meta_member, st__meta_save, st__meta_node,
  st__meta_hook, st__meta_sym_scalar, st__meta_fused;

/* Calls the function for warnings with what a call has left; a failure keeps
 * its message. [0] */
void st__deliver_warnings(st__state *h);

/* In the middle of a call: runs the C function in slot ref of the registry on
 * arg; a failure under way stays what it is. Not 0: it raised. [+0|1] */
int st__nested_pcall(st__state *h, int ref, void *arg);

/* A new binding state; its sentinel stays in the registry. [0] */
st__state *st__state_new(lua_State *L);

#include "value/value.h"
#include "call/call.h"
#include "grad/grad.h"

#endif
