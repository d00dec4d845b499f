/* The dispatcher: registration of operators and kernels, look-up, and calls.
 *
 * Note [Lifetime of operators]
 * An operator entry is created when its name is first used and is never freed,
 * so a handle stays valid for the life of the process; schemas and kernels can
 * be registered and unregistered. The entry keeps a schema that was
 * unregistered, because callers read schemas without a lock, and reuses it
 * when the same text is defined again. Names, documentation and debug texts
 * are interned and never freed. So memory grows with the number of distinct
 * texts, not with the number of registrations, and it is bounded: a
 * registration that needs more than 64 MB of it (about 100,000 names) fails.
 */
#ifndef ST_DISPATCH_DISPATCH_H
#define ST_DISPATCH_DISPATCH_H

#include "dispatch/keyset.h"
#include "dispatch/schema/schema.h"
#include "tensor/layout.h"
#include "tensor/value.h"
#include "abi/strided_dispatch.h"
#include "abi/strided_layout.h"

/* -- Registration --------------------------------------------------------- */

typedef struct st_definition {
  const char *ns, *schema, *doc, *debug;
  int tags;
} st_definition;

typedef struct st_listener {
  void (*fn)(void *ctx, const st_op *op, bool is_defined);
  void *ctx;
} st_listener;

/* Registers the default fallbacks (R12) and reads the environment. Idempotent;
 * after a failure it may be repeated. */
st_status st__dispatch_init(void);
/* Installs the registry's fork handlers. Prepare handlers run in reverse order
 * of registration, so a mutex that is locked before the registry's must
 * install its handlers after this call. */
void st__thread_set_up(void);

/* Note [Prepare, then link]
 * A registration is made in two steps. Preparing allocates all its memory and
 * does the checks that need no other registration; a prepared registration is
 * not visible. Linking checks it against existing registrations and fails for
 * no other reason, so one atomic step can link several registrations and
 * remove older ones. flags: ST_REPLACE.
 *
 * A prepared registration does not own the kernel's ctx until it is linked. */
st_status st__prepare_definition(const st_definition *d, int flags,
                                 st_registration **out);
/* name: "ns::op.overload", which need not be defined yet. key may be an alias
 * key. */
st_status st__prepare_kernel(const char *name, st_key key,
                             const st_kernel *kernel, int flags,
                             st_registration **out);
/* is_default: other fallbacks of the key take precedence. */
st_status st__prepare_fallback(st_key key, const st_kernel *kernel, int flags,
                               bool is_default, st_registration **out);
st_status st__prepare_listener(const st_listener *l, st_registration **out);
/* Links all of regs and unregisters all of drop, or does nothing. */
st_status st__link(st_registration *const *regs, int n,
                   st_registration *const *drop, int ndrop);
/* Links a prepared registration, which *out gets unless it is NULL, or discards
 * it. */
st_status st__link_one(st_registration *r, st_registration **out);
/* The two halves of st__link, for callers that must record the link before
 * listeners run, which may register more. st__notify must follow each
 * st__link_silent that succeeds. */
st_status st__link_silent(st_registration *const *regs, int n,
                          st_registration *const *drop, int ndrop);
void st__notify(st_registration *const *regs, int n,
                st_registration *const *drop, int ndrop);
/* Free a prepared registration: st__discard leaves ctx to the caller,
 * st__discard_owned calls free_ctx. */
void st__discard(st_registration **reg);
void st__discard_owned(st_registration **reg);
const st_op *st__registration_op(const st_registration *r);

/* What a kernel does for common arguments: Note [Shortcuts]. True with *status
 * ST_OK, NO_MEMORY or INTERRUPTED; false, with nothing done, if the kernel must
 * be called. A st_shortcut_fn. */
#define ST_SHORTCUT(name)                                            \
  bool name(__attribute__((unused)) const st_call *call,            \
            const st_value *args, st_value *rets, st_status *status)

typedef struct st_shortcut_of {
  st_shortcut_fn fn;         /* NULL: the kernel has none */
  const st_op *const *calls; /* the operators that the kernel calls, up to NULL;
                                NULL: none. Static */
} st_shortcut_of;

/* That of a kernel that redispatches calls without tensors to the CPU, unless
 * an argument names another device, which the CPU's kernel must test. */
ST_SHORTCUT(st__shortcut_to_cpu);

/* That of a kernel that passes its arguments on to the one operator that it
 * calls. */
ST_SHORTCUT(st__shortcut_to_callee);

/* Prepare and link one registration. If out is NULL, it is permanent. */
st_status st__def(const st_definition *d, int flags, st_registration **out);
/* A permanent definition by a static schema, with its signature and other
 * static texts. */
st_status st__def_static(st_schema *schema, const char *signature,
                         const char *doc, const char *debug, int tags,
                         const st_op **out);
st_status st__impl(const char *name, st_key key, const st_kernel *kernel,
                   st_registration **out);
/* A permanent kernel of an operator that is known already, with its shortcut
 * or NULL. */
st_status st__impl_op(const st_op *op, st_key key, const st_kernel *kernel,
                      const st_shortcut_of *shortcut);
/* Marks the kernels of op, which serve tensors of any layout: Note [Layouts of
 * extensions]. */
void st__accept_layouts(const st_op *op);
/* True if tensors of a registered layout have this key, or those of integers of
 * fewer than eight bits. */
bool st__is_layout_key(st_key key);

/* Registers a default fallback of a key; other fallbacks of the key take
 * precedence. st__dispatch_init registers those of the dispatcher; upper
 * layers register those that call operators. fn NULL: fallthrough.
 * Idempotent. */
st_status st__default_fallback(const char *key, st_kernel_fn fn,
                               const char *debug);

/* Sets two default kernels, for operators that register none of their own:
 * track for ADInplaceOrView, of operators that write an argument or return
 * views; refuse_out for the Autograd keys, of operators with out=. tracked is
 * what track does after the call that it passes on. Must be called before the
 * first table is computed. */
void st__set_autograd_kernels(st_kernel_fn track, st_kernel_fn tracked,
                              st_kernel_fn refuse_out);

/* -- Libraries ------------------------------------------------------------ */

/* kernel: NULL, or the operator's kernel for the library's key; without a key,
 * for CompositeImplicitAutograd. */
st_status st__library_define(st_library *lib, const st_definition *d,
                             const st_kernel *kernel);
st_status st__library_implement(st_library *lib, const char *name,
                                const char *key, const st_kernel *kernel);
/* The name of the key of all its kernels; "" if it has none. */
const char *st__library_key(const st_library *lib);
/* A staged library collects registrations; st__library_merge moves them all to
 * lib in one step, or none. The caller closes the staged library. */
st_status st__library_stage(const st_library *lib, st_library **out);
st_status st__library_merge(st_library *lib, st_library *staged);

/* -- Look-up -------------------------------------------------------------- */

/* st_op_find by "aten::add.Tensor". */
const st_op *st__op_find_full(const char *full);
const char *st__op_full_name(const st_op *op);     /* "aten::add.Tensor" */
const st_schema *st__op_schema(const st_op *op); /* NULL after undef */
int st__op_tags(const st_op *op);
/* The signature of its schema (Note [Signatures]). NULL after undef. */
const char *st__op_signature(const st_op *op);
/* The kernel's debug text and the provenance of a slot, for dumps (R7, R14).
 * The texts are valid for the life of the process. */
void st__op_slot(const st_op *op, st_key key, const char **debug,
                 const char **provenance);

/* -- Calls ---------------------------------------------------------------- */

/* args: one value per schema argument, borrowed; rets: one per result, owned
 * by the caller and written on success only. An error message starts with the
 * operator's name. */
st_status st__call(const st_op *op, const st_value *args, st_value *rets);
/* Calls the kernel of the highest key of keys. Neither the thread's keys nor
 * the fallthrough mask are applied (C5). */
st_status st__redispatch(const st_op *op, st_keyset keys,
                         const st_value *args, st_value *rets);

/* Who made a call: the engine or a host, a script, or a kernel that passes the
 * arguments of its own call on. */
typedef enum st_caller {
  ST_CALLER_ENGINE, ST_CALLER_SCRIPT, ST_CALLER_KERNEL
} st_caller;

/* Note [The schema of a call]
 * Arguments are checked against a schema before a call, and another thread may
 * redefine the operator in between. So callers outside the engine pass the
 * schema that they checked, and the call fails if the table belongs to another
 * one. The kernel gets that schema in its st_call. */

/* The boxed forms of both, for callers outside the engine, and a call of the
 * kernel of one key. s: the schema that args were checked against. */
st_status st__call_boxed(const st_op *op, const st_schema *s,
                         const st_value *args, st_value *rets);
/* The same for a script that made the call itself, or its binding, which
 * checks what it needs of the results. */
st_status st__call_scripted(const st_op *op, const st_schema *s,
                            const st_value *args, st_value *rets);
st_status st__redispatch_boxed(const st_op *op, const st_schema *s,
                               st_keyset keys, const st_value *args,
                               st_value *rets);
st_status st__call_for_key(st_caller caller, const st_op *op,
                           const st_schema *s, st_key key,
                           const st_value *args, st_value *rets);
/* The same with n unchecked arguments. declared: as in st__check_args. */
st_status st__call_checked(st_caller caller, const st_op *op,
                           const char *declared, int n, const st_value *args,
                           st_value *rets);
/* The same with all arguments, whose types are right. */
st_status st__call_converted(st_caller caller, const st_op *op,
                             const char *declared, const st_value *args,
                             st_value *rets);
/* st__call with the schema's defaults for the missing trailing arguments. */
st_status st__call_n(const st_op *op, int n, const st_value *args,
                     st_value *rets);
/* Checks values against the schema: count, types, ranges of enumerations, so
 * that kernels read only the union member that was written. Writes all
 * arguments, with defaults for missing ones, to all: room for ST_MAX_ARGS. */
st_status st__bind_args(const st_op *op, int n, const st_value *args,
                        st_value *all);
/* Checks all arguments and returns the schema in *out. declared: NULL, or the
 * text of the schema that the operator must have, by address (BAD_STATE). */
st_status st__check_args(const st_op *op, const char *declared,
                         const st_value *args, const st_schema **out);

/* Typed calls: see strided.h. */
st_status st__typed_find(const char *name, const char *overload,
                         const char *signature, const st_op **op,
                         const char **kept);
st_status st__route_enter(const st_op *op, const char *signature,
                          st_keyset keys, st_route *r);
st_status st__route_reenter(const st_op *op, const char *signature,
                            st_keyset keys, st_route *r);
st_status st__route_run(st_route *r, const st_value *args, st_value *rets);
st_status st__route_leave(st_route *r, st_status status);

/* Redispatches to the keys below bit `functionality`. Meanwhile the keys
 * `excluded` are excluded in the thread's state. */
st_status st__call_below(const st_call *call, int functionality,
                         st_keyset excluded, const st_value *args,
                         st_value *rets);

/* -- Scripts -------------------------------------------------------------- */

/* Calls fn(arg), code that uses tensors between the calls it makes, as a
 * backward pass does: what a script gets meanwhile is lent until it returns. */
st_status st__run_pass(st_status (*fn)(void *arg), void *arg);
/* In a kernel of op: true if a script made the call, so that no other code of
 * the engine or of a host uses its results. */
bool st__serves_script(const st_op *op);
/* What the engine does in a call that a script is the kernel of, for tensors on
 * the meta device. st__call_engine_kernel does so without modes, observers and
 * scripts: while st__is_checking, these call st__run_engine_kernel. casts: with
 * autocast, if that is on, as for tensors on the CPU. *lacks_sizes: sizes of
 * rets are not known. */
st_status st__run_engine_kernel(const st_call *call, const st_value *args,
                                st_value *rets);
st_status st__call_engine_kernel(const st_call *call, const st_value *args,
                                 bool casts, st_value *rets,
                                 bool *lacks_sizes);
bool st__is_checking(void);
/* For a result with a size that depends on elements which are missing: true
 * while st__is_checking, where any size will do. */
bool st__may_lack_size(void);

/* -- Thread state --------------------------------------------------------- */

st_tls st__tls(void);
void st__set_tls(st_tls tls);

/* What decides which kernels this thread's calls run, and who sees them. */
typedef struct st_isolated {
  st_tls tls;
  st_mode *mode;
  bool has_observers;
} st_isolated;

/* Gives this thread the initial keys without modes and observers, until
 * st__end_isolation gets the result. */
st_isolated st__isolate(void);
void st__end_isolation(const st_isolated *before);

/* -- The registry --------------------------------------------------------- */

/* The registry's mutex: registration, retirement, computing of tables. */
void st__lock(void);
void st__unlock(void);
/* A number that increases when a registration is replaced or removed, and when
 * one is added that changes a dispatch table in use. */
static inline uint64_t st__registry_epoch(void) {
  extern _Atomic uint64_t st__epoch;
  return atomic_load_explicit(&st__epoch, memory_order_acquire);
}
/* The number of registrations that have been linked or unlinked so far. */
static inline uint64_t st__registry_changes(void) {
  extern _Atomic uint64_t st__changes;
  return atomic_load_explicit(&st__changes, memory_order_acquire);
}
/* Nothing that was replaced is freed between st__pause_reclaim(true) and
 * st__pause_reclaim(false). */
void st__pause_reclaim(bool pauses);
/* A permanent copy of s, the same for equal texts; "" for NULL. Under the
 * mutex. */
st_status st__intern(const char *s, const char **out);

/* -- Inspection ----------------------------------------------------------- */

/* The caller releases the text with st__text_free. See strided.h. */
st_status st__explain(const st_op *op, int n, const st_value *args,
                      char **out);

/* True if one kernel of the engine serves both CPU and Meta. */
bool st__runs_on_meta(const st_op *op);
/* Properties of the kernel in a slot of op. */
typedef struct st_kernel_facts {
  st_kernel_fn fn;
  void *ctx;        /* may be freed between calls: see st__pause_reclaim */
  bool is_implicit; /* a CompositeImplicitAutograd kernel: calls operators */
  bool is_owned;    /* has a free_ctx, so it can be unregistered */
  bool is_of_library; /* a library registered it, not the engine */
} st_kernel_facts;
st_kernel_facts st__kernel_facts(const st_op *op, const char *key);
/* st__call without the thread's modes, observers and traces. */
st_status st__call_unobserved(const st_op *op, const st_value *args,
                              st_value *rets);

/* -- Trace ---------------------------------------------------------------- */

typedef struct st_trace_event {
  const st_op *op;
  st_keyset keys;
  st_key key;         /* the key that was dispatched to */
  const char *kind;   /* "call", "redispatch", "callBoxed", ... */
  const char *kernel; /* debug string of the kernel */
  int depth;          /* nesting depth of the call, from 0 */
} st_trace_event;
/* Calls fn for every dispatch of this thread; NULL ends that. The environment
 * variable STRIDED_SHOW_DISPATCH_TRACE=1 prints dispatches on stderr. */
void st__set_trace(void (*fn)(void *ctx, const st_trace_event *e), void *ctx);

#endif
