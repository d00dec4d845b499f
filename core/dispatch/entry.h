/* Operators, registrations and tables from the inside.
 *
 * Note [A table is a cache]
 * What is registered is the truth; a table is computed from it under the
 * mutex by the first call that finds none, and dropped by every registration
 * that may change it. So registering and deregistering need no memory for
 * tables and cannot fail half way, operators that are never called have no
 * table, and the order of registrations cannot matter.
 *
 * Note [Small tables]
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
  ST_REGISTERED_NOTHING /* what fills the slots that have no kernel */
} st_registered;

struct st_registration {
  st_retired retired;
  st_registered what;
  st_key key;              /* of a kernel or fallback; may be an alias */
  st_op *op;               /* NULL for a fallback */
  st_registration *next;   /* the operator's older kernels */
  st_kernel_fn fn;         /* never NULL for what a table holds */
  void *ctx;
  void (*free_ctx)(void *);
  const char *debug;       /* interned */
  bool is_fallthrough;
};

const char *st__provenance(const st_registration *r);

/* -- Tables --------------------------------------------------------------- */

typedef struct st_table {
  st_retired retired;
  size_t size;                 /* of the whole block */
  uint64_t tensor_args;        /* of the schema */
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
  _Atomic(const char *) doc;
  _Atomic uint64_t order;      /* of definitions */
  /* Under the mutex: */
  const char *debug;           /* of the definition */
  st_schema *schemas;          /* all there ever were */
  st_registration *kernels;    /* newest first */
};

/* Global fallbacks by runtime key, under the mutex. */
extern const st_registration *st__fallbacks[ST_KEY_RUNTIME_COUNT];

/* The kernel for a slot (SEMANTICS R7); for an alias key the newest one
 * registered to it. Never NULL. Under the mutex. */
const st_registration *st__select(const st_op *op, st_key key);
/* op's table, built if there is none; NOT_FOUND when op is not defined. */
st_status st__build_table(const st_op *op, const st_table **out);
/* Under the mutex. */
void st__drop_table(st_op *op);

/* -- Failures ------------------------------------------------------------- */

/* The kernels of slots without a kernel: each fails and says why. */
st_status st__run_missing(const st_call *call, const st_value *args,
                          st_value *rets);
st_status st__run_ambiguous(const st_call *call, const st_value *args,
                            st_value *rets);
st_status st__run_fallthrough(const st_call *call, const st_value *args,
                              st_value *rets);

/* NOT_FOUND: op is not defined. Under the mutex. */
st_status st__undefined(const st_op *op);
/* Puts the operator's name in front of the message, outside any call. */
st_status st__blame(const st_op *op, st_status status);

#endif
