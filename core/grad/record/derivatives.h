/* Registration of derivatives of operators.
 */
#ifndef ST_GRAD_RECORD_DERIVATIVES_H
#define ST_GRAD_RECORD_DERIVATIVES_H

#include <stdatomic.h>

#include "dispatch/dispatch.h"
#include "abi/strided_grad.h"

struct st_rule;

/* The ctx of an operator's Autograd kernel: its formulas, and the rule that is
 * made of them when the first call is recorded. */
typedef struct st_derived {
  const st_op *op;
  const char *const *formulas; /* of a built-in operator; ends with NULL */
  bool has_none;               /* its results carry no gradient */
  st_derivative late;          /* of an extension: the source of the rule */
  void (*retain)(void *ctx);   /* retains late.ctx for the rule */
  _Atomic(struct st_rule *) rule;
  const char *text;            /* of an extension: formula text for display */
  struct st_derived *next;     /* in the list of extensions */
} st_derived;

/* d's rule for op, borrowed; NULL if the results carry no gradient. */
st_status st__derived_rule(st_derived *d, const st_op *op,
                           struct st_rule **out);

/* Registers the rows of derivatives.def, once per process. */
st_status st__register_derivatives(void);
/* As st_library_derivative, for an operator that may be defined later, as in
 * a part of a library. The rule is made when the first call is recorded and
 * holds its own reference to d's ctx. */
st_status st__library_derivative_later(st_library *lib, const char *name,
                                       const st_derivative *d,
                                       void (*retain)(void *ctx));
/* False if the results of op carry no gradient, as its derivative says. */
bool st__op_passes_gradients(const st_op *op);

#endif
