/* Composite operators written as formulas.
 *
 * Note [Operator scopes]
 * A step of a chain calls an operator and keeps the result until the chain
 * ends. Once a step has failed the following ones do nothing and give NULL,
 * and the end reports the failure; so a body reads like its formula, and
 * only has to look at a tensor's sizes with st__scope_ok.
 */
#ifndef ST_OP_REGISTRY_COMPOSITE_H
#define ST_OP_REGISTRY_COMPOSITE_H

#include "op/registry/op.h"

enum { ST_OP_SCOPE_MAX = 64 };

typedef struct st_op_scope {
  st_status status;
  int n;
  st_tensor *t[ST_OP_SCOPE_MAX]; /* owned */
} st_op_scope;

static inline bool st__scope_ok(const st_op_scope *c) {
  return c->status == ST_OK;
}

/* The result of operator id, borrowed from the chain. */
st_tensor *st__apply(st_op_scope *c, st_op_id id, int n, const st_value *args);
/* The same of an operator with nrets tensors as results. */
void st__apply_multi(st_op_scope *c, st_op_id id, int n, const st_value *args,
                     int nrets, st_tensor **out);
/* Common shapes of a step: op(a), op(a, b), op(a, v). */
st_tensor *st__apply1(st_op_scope *c, st_op_id id, const st_tensor *a);
st_tensor *st__apply2(st_op_scope *c, st_op_id id, const st_tensor *a,
                      const st_tensor *b);
st_tensor *st__apply_with(st_op_scope *c, st_op_id id, const st_tensor *a,
                          st_value v);
/* a becomes op(a, b); a is a result of this chain. */
void st__apply_into(st_op_scope *c, st_op_id id, const st_tensor *a,
                    const st_tensor *b);
/* a as dtype d: itself, or converted. */
st_tensor *st__apply_to(st_op_scope *c, const st_tensor *a, st_dtype d);
/* Positions [start, start + length) of dimension dim. */
st_tensor *st__apply_narrow(st_op_scope *c, const st_tensor *a, int64_t dim,
                            int64_t start, int64_t length);
/* a as one contiguous line. */
st_tensor *st__apply_flatten(st_op_scope *c, const st_tensor *a);

/* Ends round, of which *t is a result that *c keeps instead of all it has. */
void st__scope_replace(st_op_scope *c, st_op_scope *round, st_tensor **t);

/* Releases everything; the n results stay, if there was no failure. */
st_status st__scope_end(st_op_scope *c, int n, st_tensor *const *results,
                        st_value *rets);
/* The same with one result. */
st_status st__scope_return(st_op_scope *c, st_tensor *result, st_value *rets);

/* The in-place variant of functional operator id: its first argument becomes
 * the result of n arguments. BAD_SHAPE, BAD_DTYPE unless it fits. */
st_status st__compose_self(st_op_id id, int n, const st_value *args,
                           st_value *rets);
/* The out= variant of functional operator id: args are its n arguments and
 * then out. */
st_status st__compose_out(st_op_id id, int n, const st_value *args,
                          st_value *rets);
/* The same where out may have another dtype that the result casts to. */
st_status st__compose_cast(st_op_id id, int n, const st_value *args,
                           st_value *rets);

#endif
