/* Internal structs of the dispatcher: operators, registrations, tables.
 *
 * Note [Dispatch tables are caches]
 * A dispatch table is derived from the registrations. The first call that
 * finds none computes it under the mutex, and every registration that may
 * change it drops it. So registering and unregistering need no memory for
 * tables and cannot fail half way, operators that are never called have no
 * table, and a table does not depend on the order of registrations.
 *
 * Note [Compact dispatch tables]
 * A slot is one byte, an index into the table's list of distinct
 * registrations; the registration determines the provenance of the slot. With
 * the fallthrough masks (one for most operators, at most one per backend) a
 * table takes about 250 bytes.
 */
#ifndef ST_DISPATCH_ENTRY_H
#define ST_DISPATCH_ENTRY_H

#include "dispatch/slot.h"
#include "dispatch/thread.h"

/* -- Registrations -------------------------------------------------------- */

typedef enum st_registered {
  ST_REGISTERED_SCHEMA, ST_REGISTERED_KERNEL, ST_REGISTERED_FALLBACK,
  ST_REGISTERED_LISTENER,
  ST_REGISTERED_NOTHING /* fills slots without a kernel; its fn fails */
} st_registered;

/* Note [Newest registration wins]
 * Definitions, kernels and fallbacks are lists with the newest at the head.
 * The head of an operator's definitions is its schema. The active kernel of a
 * key is the newest one whose signature matches the schema. The active
 * fallback of a key is the newest one. Unregistering one makes the next older
 * one active, so the state depends only on the existing registrations and, for
 * those of the same kind and key, on their order. */
struct st_registration {
  st_retired retired;
  st_registered what;
  st_key key;              /* of a kernel or fallback; may be an alias */
  int flags;               /* ST_REPLACE */
  bool is_default;         /* a fallback of the lowest precedence */
  bool is_fallthrough;
  bool accepts_layouts;    /* st__accept_layouts */
  bool is_of_library;      /* a kernel of a library or a program, not of the
                              engine */
  bool is_linked;          /* stays set after unregistering */
  st_op *op;               /* NULL for a fallback */
  st_registration *next;   /* older ones */
  const char *signature;   /* interned; NULL: matches any schema */
  void *ctx;
  void (*free_ctx)(void *);
  const char *debug;       /* interned */
  uint64_t order;          /* sequence number of a definition or listener */
  union {
    struct {               /* a kernel or fallback */
      st_kernel_fn fn;     /* never NULL in a table */
      st_unboxed_fn unboxed;
      st_shortcut_of shortcut; /* Note [Shortcuts] */
    };
    struct {               /* a definition */
      st_schema *schema;   /* op owns it once linked */
      const char *doc;     /* interned */
      int tags;
    };
    st_listener listener;
  };
};
/* True if the kernel's signature matches the operator's schema. Under the
 * mutex. */
bool st__is_compatible(const st_registration *r);
/* The reason why a slot has this registration, as ATen's dumps name it. */
const char *st__provenance(const st_registration *r);

/* -- Tables --------------------------------------------------------------- */

typedef struct st_table {
  st_retired retired;
  size_t size;                 /* of the whole block */
  const st_schema *schema;
  const char *signature;       /* of the schema */
  const st_keyset *masks;      /* distinct sets of keys without fallthrough */
  uint8_t mask_of[ST_BACKEND_COUNT];  /* backend -> index into masks */
  uint8_t slot[ST_KEY_RUNTIME_COUNT]; /* key -> index into kernels */
  const st_registration *kernels[];
} st_table;

/* -- Operators ------------------------------------------------------------ */

/* An interned string, and the overloads of the operators with that name. */
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
  const char *overload;        /* "Tensor"; all texts here are interned */
  const char *full;            /* "aten::add.Tensor" */
  _Atomic(st_op *) next_overload, next;
  _Atomic(const char *) doc, signature;
  _Atomic int tags;
  _Atomic uint64_t order;      /* that of the active definition */
  /* Under the mutex: */
  st_schema *schemas;          /* all schemas it has ever had */
  st_registration *definitions, *kernels; /* newest first */
};

/* -- Internals of the registry -------------------------------------------- */

/* These need the mutex, unless they say otherwise. */

/* Permanent memory is bounded: Note [Lifetime of operators]. A schema becomes
 * permanent when it is linked, which cannot fail, so it is counted there and
 * the bound is checked when it is prepared. */
st_status st__check_permanent(void);
void st__count_permanent(size_t size);
/* The same for a debug text, which only serves messages: "" where permanent
 * memory has reached its bound. */
st_status st__intern_debug(const char *s, const char **out);
/* Finds or creates the operator with this name. */
st_status st__name_op(const char *s, size_t n, const char *overload,
                      st_op **out);
st_op *st__first_op(void);
/* The operator "ns::name.overload", defined or not; NULL for an unknown name.
 * Takes no lock. */
st_op *st__op_named(const char *full);
/* Returns the length of the name in "ns::op.overload"; *overload points to the
 * overload name, or to "". */
size_t st__split_name(const char *full, const char **overload);

/* The active fallback of each runtime key. */
extern const st_registration *st__fallbacks[ST_KEY_RUNTIME_COUNT];

/* True for the default kernel of ADInplaceOrView; st__run_tracked does what it
 * does after the call that it passes on. */
bool st__is_tracking(const st_registration *r);
st_status st__run_tracked(const st_call *call, const st_value *args,
                          st_value *rets);

/* The registration that serves a runtime key (R7), or the newest kernel of an
 * alias key. Never NULL. Under the mutex. */
const st_registration *st__select(const st_op *op, st_key key);
/* Returns op's table and computes it if necessary; NOT_FOUND if op is not
 * defined. Takes the mutex. */
st_status st__build_table(const st_op *op, const st_table **out);
/* Retires op's table, if there is one; those of all operators. Under the
 * mutex. */
void st__drop_table(st_op *op);
void st__drop_tables(void);
/* Sets *is_right to whether the table equals a newly computed one. Under the
 * mutex. */
st_status st__check_dispatch_table(const st_op *op, const st_table *t,
                                   bool *is_right);

/* -- Failures ------------------------------------------------------------- */

/* Kernels for slots without a kernel; they fail with an explanation. */
st_status st__run_missing(const st_call *call, const st_value *args,
                          st_value *rets);
st_status st__run_ambiguous(const st_call *call, const st_value *args,
                            st_value *rets);
st_status st__run_fallthrough(const st_call *call, const st_value *args,
                              st_value *rets);

/* -- Default fallbacks ---------------------------------------------------- */

/* Of the Autograd keys, for operators without a derivative. */
st_status st__run_underivable(const st_call *call, const st_value *args,
                              st_value *rets);
/* Of the key Lua: calls the thread's innermost mode. */
st_status st__run_mode(const st_call *call, const st_value *args,
                       st_value *rets);

/* Fails with NOT_FOUND: op is not defined. Under the mutex. */
st_status st__undefined(const st_op *op);
/* Prepends the operator's name to the message if status is a failure of an
 * outermost call that the message does not name yet. Returns status. */
st_status st__add_error_context(const st_op *op, st_status status);

#endif
