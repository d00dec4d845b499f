/* Which operator has which derivative.
 */
#ifndef ST_GRAD_RECORD_DERIVATIVES_H
#define ST_GRAD_RECORD_DERIVATIVES_H

#include <stdatomic.h>

#include "dispatch/dispatch.h"

struct st_rule;

/* What the kernel of an operator knows: its formulas, and the rule that is made
 * of them at the first call that is recorded. */
typedef struct st_derived {
  const st_op *op;
  const char *const *formulas; /* NULL at the end; of a built-in operator */
  bool has_none;               /* its results carry no gradient */
  st_derivative late;          /* of an extension's: what the rule is made of */
  void (*retain)(void *ctx);   /* of late */
  _Atomic(struct st_rule *) rule;
  const char *text;            /* of an extension's: what there is to say */
  struct st_derived *next;     /* of the extensions' */
} st_derived;

/* d's rule for op; NULL when it has none. */
st_status st__derived_rule(st_derived *d, const st_op *op,
                           struct st_rule **out);

/* Registers the rows of derivatives.def, once per process. */
st_status st__register_derivatives(void);
/* See strided_grad.h. */
st_status st__library_derive(st_library *lib, const char *name, int n,
                             const char *const *formulas);
st_status st__library_derivative(st_library *lib, const char *name,
                                 const st_derivative *d);
/* The same for an operator that need not be there yet, as in a part of a
 * library: the rule is made at the first call that is recorded, and has a
 * reference of its own to d's ctx. */
st_status st__library_derivative_later(st_library *lib, const char *name,
                                       const st_derivative *d,
                                       void (*retain)(void *ctx));
const char *st__op_derivative(const st_op *op);

#endif
