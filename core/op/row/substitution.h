/* Calls with other tensors in the place of those that have a key: lazy tensors
 * are resolved, integers of fewer than eight bits get a byte each.
 */
#ifndef ST_OP_ROW_SUBSTITUTION_H
#define ST_OP_ROW_SUBSTITUTION_H

#include "op/row/op.h"

typedef struct st_substitution {
  st_keyset bit;      /* the tensors that have it are replaced */
  st_keyset keys;     /* of the call with the others */
  /* the other tensor, owned */
  st_status (*replace)(const st_tensor *t, st_tensor **out);
  const char *what;   /* such a tensor is: "a lazy conjugate" */
  bool is_immutable;  /* and cannot be written */
} st_substitution;

/* Calls the operator. What it writes of the others is copied to the tensors
 * that they stand for, which are also returned in their place. */
st_status st__call_substituted(const st_call *call, const st_substitution *s,
                               const st_value *args, st_value *rets);

/* copy_ by the dispatcher. */
st_status st__call_copy(const st_tensor *self, const st_tensor *src);

#endif
