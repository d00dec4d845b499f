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
#include "dispatch/schema.h"
#include "dispatch/value.h"

/* What a boxed kernel is told about the call it serves. */
struct st_call {
  const st_op *op;
  st_keyset keys;  /* of this call; redispatch with a part of it */
  void *ctx;       /* given at registration */
};

/* -- Registration --------------------------------------------------------- */

typedef struct st_kernel {
  st_kernel_fn fn;          /* NULL: fallthrough */
  void *ctx;
  void (*free_ctx)(void *); /* may be NULL; called once nothing can run the
                             * kernel, on whatever thread finds that out */
  const char *debug;        /* where it comes from; copied */
} st_kernel;

/* Registers the fallthroughs that every process starts with (SEMANTICS R12)
 * and reads STRIDED_TRACE. Idempotent; after a failure it may be repeated. */
st_status st__dispatch_init(void);

/* Each returns a handle whose release takes the registration back; out NULL
 * keeps it for good. A failed registration changes nothing. */
st_status st__def(const char *ns, const char *schema, const char *doc,
                  const char *debug, st_registration **out);
/* name: "ns::op.overload"; impl before def is fine. key may be an alias. */
st_status st__impl(const char *name, st_key key, const st_kernel *kernel,
                   st_registration **out);
st_status st__fallback(st_key key, const st_kernel *kernel,
                       st_registration **out);
void st__unregister(st_registration **r);

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
/* Fills the missing trailing arguments with the schema's defaults. */
st_status st__call_n(const st_op *op, int n, const st_value *args,
                     st_value *rets);

/* Checks values against the schema: count, kinds, ranges of enumerations,
 * so that no kernel reads a member of the union that was not written. */
st_status st__check_args(const st_op *op, int n, const st_value *args);

/* -- Thread state --------------------------------------------------------- */

typedef struct st_tls { st_keyset included, excluded; } st_tls;
st_tls st__tls(void);
void st__set_tls(st_tls tls);

/* -- Trace ---------------------------------------------------------------- */

typedef struct st_trace_event {
  const st_op *op;
  st_keyset keys;
  st_key key;         /* chosen */
  const char *kind;   /* "call", "redispatch" */
  const char *kernel; /* its debug string */
  int depth;
} st_trace_event;
/* fn sees every dispatch of this thread until set to NULL. The environment
 * variable STRIDED_TRACE=1 prints them on stderr. */
void st__set_trace(void (*fn)(void *ctx, const st_trace_event *e), void *ctx);

#endif
