/* Calls into the engine and of Lua functions: requests, fibers, nested calls,
 * the pacing of the collector, references that the engine holds, warnings.
 */
#ifndef ST_LUA_STATE_ENGINE_H
#define ST_LUA_STATE_ENGINE_H

#include "state/error.h"

/* -- nesting.c ------------------------------------------------------------- */

/* True if one of our C functions, possibly holding borrowed tensors, is deeper
 * in the stack. This is so when a finalizer or a Lua kernel runs. */
bool st__is_nested(st__state *h, lua_State *L);
/* True if not; false as well where a deep stack hides it: Note [The search of a
 * deep stack]. */
bool st__is_outermost(st__state *h, lua_State *L);
/* Before any other use of a binding state. */
void st__open_nesting(st__state *h, lua_State *L);

/* -- engine.c -------------------------------------------------------------- */

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

/* The part of a name that messages show: without "aten::". */
static inline const char *st__short_name(const char *name) {
  return strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
}
/* Drops the environment of the results of a Lua kernel that no call has taken:
 * Note [Keeping gradient functions alive]. [0] */
void st__drop_returned(st__state *h, lua_State *L);
/* Executes the request; on NO_MEMORY runs a full collection and retries
 * once. */
st_status st__run(st__state *h, lua_State *L, const st__request *req);

/* For loops over Lua data and bytes, about every 100 microseconds or less
 * often: raises if the call should stop. Lua code may run meanwhile, without
 * access to the engine (Note [Hooks of long calls]). */
void st__poll(st__state *h, lua_State *L);
/* The same for code that has to clean up: INTERRUPTED is for st__raise. */
st_status st__poll_status(st__state *h, lua_State *L);
enum { ST_POLL_ITEMS = 4096, ST_POLL_BYTES = 1 << 22 }; /* between polls */

/* -- fiber.c --------------------------------------------------------------- */

#define ST_OTHER_FIBER "another fiber yielded inside a body, or inside a Lua " \
                       "function that strided called, and must finish it first"

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
/* During an engine call: calls the C function with registry reference ref in
 * protected mode, with the light userdata arg; a pending Lua error is kept.
 * Returns Lua's status; on failure the error is pushed. [+0|1] */
int st__nested_pcall(st__state *h, int ref, void *arg);
/* lua_getfield of a user's table, whose metatable may have a function. [+1] */
void st__get_field(st__state *h, lua_State *L, int idx, const char *name);

/* -- gc_pacing.c ----------------------------------------------------------- */

/* Chooses a bound by the caches. */
void st__open_pacing(st__state *h, lua_State *L);
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

/* -- warning.c ------------------------------------------------------------- */

/* False if the script has turned warnings off. */
bool st__warns(const st__state *h);
/* A warning of the binding, outside of calls into the engine. */
void st__warn_text(st__state *h, lua_State *L, const char *text);
/* Calls the warning function with the pending warnings of a call; st_message
 * stays that of a failed call. [0] */
void st__deliver_warnings(st__state *h);

/* -- profile_record.c ------------------------------------------------------ */

/* Reports to the running profiles that something begins which is not an
 * operator, and that it ends, in pairs. Its name is that of what and name
 * together. Call them if h->profile is set. */
void st__profile_enter(st__state *h, const char *what, const char *name);
void st__profile_leave(st__state *h);

#endif
