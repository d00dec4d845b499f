/* Operators, registrations and tables from the inside.
 *
 * Note [Dispatch tables are caches]
 * What is registered is the truth; a table is computed from it under the
 * mutex by the first call that finds none, and dropped by every registration
 * that may change it. So registering and deregistering need no memory for
 * tables and cannot fail half way, operators that are never called have no
 * table, and the order of registrations cannot matter.
 *
 * Note [Compact dispatch tables]
 * A slot is one byte, the number of a registration in the table's list of
 * distinct ones; the provenance of a slot follows from its registration. With
 * the masks of fallthroughs (one for most operators, at most one per backend)
 * a table takes about 250 bytes.
 */
#ifndef ST_DISPATCH_ENTRY_H
#define ST_DISPATCH_ENTRY_H

#include "dispatch/slot.h"
#include "dispatch/thread.h"

/* -- Registrations -------------------------------------------------------- */

typedef enum st_registered {
  ST_REGISTERED_SCHEMA, ST_REGISTERED_KERNEL, ST_REGISTERED_FALLBACK,
  ST_REGISTERED_LISTENER,
  ST_REGISTERED_NOTHING /* what fills the slots that have no kernel */
} st_registered;

/* Note [Newest registration wins]
 * Definitions, kernels and fallbacks are lists with the newest at the head.
 * The head of an operator's definitions is its schema; of the kernels of a key
 * the newest counts, as long as it fits the schema; of the fallbacks of a key
 * the newest. Taking one back uncovers the one below, so what is in force
 * depends on what is registered and, among equals, on their order alone. */
struct st_registration {
  st_retired retired;
  st_registered what;
  st_key key;              /* of a kernel or fallback; may be an alias */
  int flags;               /* ST_REPLACE */
  bool is_default;         /* a fallback that anybody's goes before */
  bool is_fallthrough;
  bool is_linked;          /* or has been */
  st_op *op;               /* NULL for a fallback */
  st_registration *next;   /* older ones */
  st_kernel_fn fn;         /* never NULL for what a table holds */
  st_unboxed_fn unboxed;
  const char *signature;   /* interned; NULL: fits any schema */
  void *ctx;
  void (*free_ctx)(void *);
  const char *debug, *doc; /* interned */
  int tags;
  uint64_t order;          /* of definitions and listeners */
  st_schema *schema;       /* a definition's; the operator's once linked */
  st_listener listener;
};

/* Can the kernel run under the operator's schema? Under the mutex. */
bool st__is_compatible(const st_registration *r);
const char *st__provenance(const st_registration *r);

/* -- Tables --------------------------------------------------------------- */

typedef struct st_table {
  st_retired retired;
  size_t size;                 /* of the whole block */
  const st_schema *schema;
  const char *signature;       /* of the schema */
  const st_keyset *masks;      /* keys that do not fall through */
  uint8_t mask_of[ST_BACKEND_COUNT];
  uint8_t slot[ST_KEY_RUNTIME_COUNT];
  const st_registration *kernels[];
} st_table;

/* -- Operators ------------------------------------------------------------ */

/* An interned text; as the name of operators it leads to its overloads. */
typedef struct st_name st_name;
struct st_name {
  st_name *next;               /* in its bucket */
  uint32_t hash;
  uint32_t len;
  _Atomic(st_op *) overloads;
  char text[];
};

struct st_op {
  _Atomic(st_table *) table;   /* NULL until a call builds it */
  _Atomic(st_schema *) schema; /* NULL when not defined */
  const st_name *name;         /* "aten::add" */
  const char *overload;        /* "Tensor"; interned, as are all texts */
  const char *full;            /* "aten::add.Tensor" */
  _Atomic(st_op *) next_overload, next;
  _Atomic(const char *) doc, signature;
  _Atomic int tags;
  _Atomic uint64_t order;      /* of definitions */
  /* Under the mutex: */
  st_schema *schemas;          /* all there ever were */
  st_registration *definitions, *kernels; /* newest first */
};

/* -- The registry from the inside ----------------------------------------- */

/* Under the mutex, all of these. */
st_status st__intern(const char *s, const char **out); /* "" for NULL */
/* The operator of this name, made if there is none. */
st_status st__name_op(const char *s, size_t n, const char *overload,
                      st_op **out);
st_op *st__first_op(void);
/* The operator "ns::name.overload", defined or not; NULL for an unknown name.
 * No lock. */
st_op *st__op_named(const char *full);
/* Where the name ends and the overload begins in "ns::op.overload". */
size_t st__split_name(const char *full, const char **overload);

/* Global fallbacks by runtime key. */
extern const st_registration *st__fallbacks[ST_KEY_RUNTIME_COUNT];

/* The kernel for a slot (R7); for an alias key the newest one
 * registered to it. Never NULL. Under the mutex. */
const st_registration *st__select(const st_op *op, st_key key);
/* op's table, built if there is none; NOT_FOUND when op is not defined. */
st_status st__build_table(const st_op *op, const st_table **out);
/* Under the mutex. */
void st__drop_table(st_op *op);
/* Is the table what would be computed now? Under the mutex. */
st_status st__check_table(const st_op *op, const st_table *t,
                          bool *is_right);

/* -- Continuing ----------------------------------------------------------- */

/* The call below a key that is bit `functionality`, whose operators it does
 * not see, nor those of excluded. */
st_status st__call_below(const st_call *call, int functionality,
                         st_keyset excluded, const st_value *args,
                         st_value *rets);

/* -- Failures ------------------------------------------------------------- */

/* The kernels of slots without a kernel: each fails and says why. */
st_status st__run_missing(const st_call *call, const st_value *args,
                          st_value *rets);
st_status st__run_ambiguous(const st_call *call, const st_value *args,
                            st_value *rets);
st_status st__run_fallthrough(const st_call *call, const st_value *args,
                              st_value *rets);

/* -- Fallbacks that every process starts with ----------------------------- */

/* Of Autograd keys: an operator without a derivative. */
st_status st__run_underivable(const st_call *call, const st_value *args,
                              st_value *rets);
/* Of the key Lua: the thread's innermost mode. */
st_status st__run_mode(const st_call *call, const st_value *args,
                       st_value *rets);

/* NOT_FOUND: op is not defined. Under the mutex. */
st_status st__undefined(const st_op *op);
/* Puts the operator's name in front of the message, outside any call. */
st_status st__add_error_context(const st_op *op, st_status status);

#endif
