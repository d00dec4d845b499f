/* The dispatcher: operators found by name, kernels found by key, calls.
 *
 * Note [Lifetime of operators]
 * An operator entry is never freed once it has been named, so a handle stays
 * valid for the life of the process; its schema and kernels come and go. A
 * schema that was taken back is kept by its entry, because callers read
 * schemas without a lock, and serves again when the same text is defined.
 * Names, documentation and debug texts are interned for good. So memory grows
 * with what was ever said, not with how often.
 */
#ifndef ST_DISPATCH_DISPATCH_H
#define ST_DISPATCH_DISPATCH_H

#include "dispatch/keyset.h"
#include "dispatch/schema/schema.h"
#include "dispatch/value.h"

/* -- Registration --------------------------------------------------------- */

typedef struct st_definition {
  const char *ns, *schema, *doc, *debug;
  int tags;
} st_definition;

typedef struct st_listener {
  void (*fn)(void *ctx, const st_op *op, bool is_defined);
  void *ctx;
} st_listener;

/* Registers what every process starts with (R12) and reads the
 * environment. Idempotent; after a failure it may be repeated. */
st_status st__dispatch_init(void);

/* Note [Prepare, then link]
 * A registration is made in two steps. A draft has all the memory it needs
 * and has passed the checks that concern it alone; nobody sees it. Linking
 * checks it against what is registered and cannot fail for another reason, so
 * several registrations can be linked, and older registrations dropped, in one
 * step that takes place or does not. flags: ST_REPLACE.
 *
 * A draft owns nothing of the caller's until it is linked. */
st_status st__prepare_definition(const st_definition *d, int flags,
                                 st_registration **out);
/* name: "ns::op.overload"; impl before def is fine. key may be an alias. */
st_status st__prepare_kernel(const char *name, st_key key,
                             const st_kernel *kernel, int flags,
                             st_registration **out);
st_status st__prepare_fallback(st_key key, const st_kernel *kernel, int flags,
                               st_registration **out);
st_status st__prepare_listener(const st_listener *l, st_registration **out);
/* All registrations are linked and all of drop are taken back, or nothing
 * is. */
st_status st__link(st_registration *const *regs, int n,
                   st_registration *const *drop, int ndrop);
/* Its two halves, for who must note what is linked before listeners hear of
 * it and register more; the second must follow a success of the first. */
st_status st__link_silent(st_registration *const *regs, int n,
                          st_registration *const *drop, int ndrop);
void st__notify(st_registration *const *regs, int n,
                st_registration *const *drop, int ndrop);
/* Frees a draft; free_ctx is not called, or it is. */
void st__discard(st_registration **reg);
void st__discard_owned(st_registration **reg);
const st_op *st__registration_op(const st_registration *r);
void st__unregister(st_registration **r);

/* A draft, linked. out NULL keeps it for good. */
st_status st__def(const st_definition *d, int flags, st_registration **out);
st_status st__impl(const char *name, st_key key, const st_kernel *kernel,
                   st_registration **out);

/* A fallback that every process starts with; anybody's goes before it. The
 * dispatcher's own are there (st__dispatch_init), those that are made of
 * operators come with these. fn NULL: fallthrough. Idempotent. */
st_status st__default_fallback(const char *key, st_kernel_fn fn,
                               const char *debug);

/* The kernels of ADInplaceOrView, of operators that write or return views,
 * and of the Autograd keys, of those with out=, that have none of their own.
 * Before the first table is computed. */
void st__set_autograd_kernels(st_kernel_fn track, st_kernel_fn refuse_out);

/* -- Libraries ------------------------------------------------------------ */

/* See strided.h. */
st_status st__library_open(const char *ns, st_library_kind kind,
                           const char *key, int flags, const char *debug,
                           st_library **out);
/* kernel: NULL, or one for the library's key. */
st_status st__library_define(st_library *lib, const st_definition *d,
                             const st_kernel *kernel);
st_status st__library_implement(st_library *lib, const char *name,
                                const char *key, const st_kernel *kernel);
st_status st__library_fallback(st_library *lib, const char *key,
                               const st_kernel *kernel);
st_status st__library_commit(st_library *lib);
bool st__library_is_open(const st_library *lib);
const char *st__library_namespace(const st_library *lib);
void st__library_close(st_library **lib);
/* A library that registers nothing by itself: what it is given goes into lib,
 * in one step or not at all, with st__library_merge. Close it afterwards. */
st_status st__library_stage(const st_library *lib, st_library **out);
st_status st__library_merge(st_library *lib, st_library *part);

/* -- Look-up -------------------------------------------------------------- */

/* "aten::add", "Tensor"; NULL when there is no such schema. No lock. */
const st_op *st__op_find(const char *name, const char *overload);
/* "aten::add.Tensor" */
const st_op *st__op_find_full(const char *full);
/* Visits every operator with a schema, in order of registration; fn returns
 * false to stop. */
void st__op_each(bool (*fn)(void *ctx, const st_op *op), void *ctx);
/* Overloads of a packet "aten::add", in order of definition: at most n of
 * them into ops; returns how many there are. */
int st__op_overloads(const char *name, const st_op **ops, int n);

const char *st__op_name(const st_op *op);          /* "aten::add" */
const char *st__op_overload_name(const st_op *op); /* "Tensor" */
const char *st__op_full_name(const st_op *op);     /* "aten::add.Tensor" */
const st_schema *st__op_schema(const st_op *op); /* NULL after undef */
const char *st__op_doc(const st_op *op);
int st__op_tags(const st_op *op);
/* The C types of its schema: Note [Signatures]. NULL after undef. */
const char *st__op_signature(const st_op *op);
/* Kernel and provenance of a slot, for dumps (R7, R14). The texts stay valid
 * for the life of the process. */
void st__op_slot(const st_op *op, st_key key, const char **debug,
                 const char **provenance);

/* -- Calls ---------------------------------------------------------------- */

/* args: one value per schema argument; rets: one per result, written only on
 * success. The message of a failure starts with the operator's name. */
st_status st__call(const st_op *op, const st_value *args, st_value *rets);
/* Uses keys as they are: no thread state, no fallthrough mask (C5). */
st_status st__redispatch(const st_op *op, st_keyset keys,
                         const st_value *args, st_value *rets);

/* Note [The schema of a call]
 * Values are checked against a schema before a call, and another thread may
 * redefine the operator in between. So callers from outside say what schema
 * they checked, and the call fails if the table is for another one; a kernel
 * finds that schema in its st_call. */

/* The same two for callers from outside, and the kernel of one key. */
st_status st__call_boxed(const st_op *op, const st_schema *s,
                         const st_value *args, st_value *rets);
st_status st__redispatch_boxed(const st_op *op, const st_schema *s,
                               st_keyset keys, const st_value *args,
                               st_value *rets);
st_status st__call_for_key(const st_op *op, const st_schema *s, st_key key,
                           const st_value *args, st_value *rets);
/* st__call_boxed with n arguments that nobody has checked. */
st_status st__call_checked(const st_op *op, const char *declared, int n,
                           const st_value *args, st_value *rets);
/* st__call with the schema's defaults for the missing trailing arguments. */
st_status st__call_n(const st_op *op, int n, const st_value *args,
                     st_value *rets);
/* Checks values against the schema: count, kinds, ranges of enumerations,
 * so that no kernel reads a member of the union that was not written. Fills
 * in the defaults: all has room for ST_MAX_ARGS. */
st_status st__bind_args(const st_op *op, int n, const st_value *args,
                        st_value *all);
/* All arguments; declared: NULL, or the text that the schema must have. Gives
 * the schema. */
st_status st__check_args(const st_op *op, const char *declared,
                         const st_value *args, const st_schema **out);

/* Typed calls: strided.h. */
st_status st__typed_find(const char *name, const char *overload,
                         const char *signature, const st_op **op,
                         const char **kept);
st_status st__route_enter(const st_op *op, const char *signature,
                          st_keyset keys, st_route *r);
st_status st__route_reenter(const st_op *op, const char *signature,
                            st_keyset keys, st_route *r);
st_status st__route_run(st_route *r, const st_value *args, st_value *rets);
st_status st__route_leave(st_route *r, st_status status);

/* -- Thread state --------------------------------------------------------- */

st_tls st__tls(void);
void st__set_tls(st_tls tls);
void st__mode_push(st_mode *m);
void st__mode_pop(void);
void st__observe(st_observer *o);
void st__unobserve(st_observer *o);

/* -- Inspection ----------------------------------------------------------- */

/* Texts are the caller's: st__text_free. See strided.h. */
st_status st__dump(const char *name, char **out);
st_status st__dump_table(const char *name, char **out);
st_status st__dump_dangling(char **out);
st_status st__check_registry(void);
st_status st__explain(const st_op *op, int n, const st_value *args,
                      char **out);

/* Are op's kernels for CPU and Meta one and the same of the engine's? */
bool st__runs_on_meta(const st_op *op);
/* What the kernel in a slot of op is. */
typedef struct st_kernel_facts {
  st_kernel_fn fn;
  void *ctx;        /* may go while no call is under way: st__pause_reclaim */
  bool is_implicit; /* CompositeImplicitAutograd: made of operators */
  bool is_owned;    /* somebody's who can take it back */
} st_kernel_facts;
st_kernel_facts st__kernel_facts(const st_op *op, const char *key);
/* A call that no mode, observer or trace hears of. */
st_status st__call_unobserved(const st_op *op, const st_value *args,
                              st_value *rets);

/* -- Trace ---------------------------------------------------------------- */

typedef struct st_trace_event {
  const st_op *op;
  st_keyset keys;
  st_key key;         /* chosen */
  const char *kind;   /* "call", "redispatch", "callBoxed", ... */
  const char *kernel; /* its debug string */
  int depth;
} st_trace_event;
/* fn sees every dispatch of this thread until set to NULL. The environment
 * variable STRIDED_SHOW_DISPATCH_TRACE=1 prints them on stderr. */
void st__set_trace(void (*fn)(void *ctx, const st_trace_event *e), void *ctx);

#endif
