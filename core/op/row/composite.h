/* Operator scopes, in which composite operators call other operators.
 *
 * Note [Operator scopes]
 * A scope owns the results of the operators called in it until the scope
 * ends. After a failed call, further calls do nothing and return NULL, and
 * the end of the scope reports the failure. So a composite operator, or
 * another kernel that calls operators, reads like its formula: it checks
 * st__scope_ok only before it reads a field of a result.
 *
 * Note [Snapshots of elements]
 * In each of these calls a function of a script may run, which changes elements
 * of any tensor that an earlier call had; and it may return memory that another
 * tensor has, too. So a kernel that calls operators does not check elements and
 * use them as addresses, lengths or sizes after another call, nor while it
 * writes to the result of one. It reads them from a snapshot, or it writes to a
 * tensor of its own: no operator, hence no script, has seen these.
 *
 * Note [Zero second derivatives]
 * The gradient of a mean does not depend on the image, nor that of a bias on
 * the weight. Yet ATen's backward operators take the image and the weight as
 * arguments, so there such a gradient can be differentiated again, and the
 * result is 0. _attached gives the same behaviour: it returns a view of its
 * argument whose gradient is a function, a constant one, of another tensor.
 * Without `zero` the second derivative is none instead of zeros.
 */
#ifndef ST_OP_ROW_COMPOSITE_H
#define ST_OP_ROW_COMPOSITE_H

#include "op/row/typed.h"

enum { ST_OP_SCOPE_MAX = 96 };

typedef struct st_op_scope {
  st_status status;
  int n;
  st_tensor *t[ST_OP_SCOPE_MAX]; /* owned */
} st_op_scope;

static inline bool st__scope_ok(const st_op_scope *c) {
  return c->status == ST_OK;
}

/* True if the gradient of a result computed from tensors with these keys is
 * recorded. */
static inline bool st__is_recorded(st_keyset keys) {
  return (keys & ST_AUTOGRAD_BITS) && st__tls().grad;
}

/* For loops that may take long: st__scope_ok; asks whether to stop first
 * (Note [Interrupts of long calls]). */
bool st__scope_goes_on(st_op_scope *c);
/* The same for a loop of short steps: asks once in 4096 of them. */
static inline bool st__scope_goes_on_at(st_op_scope *c, int64_t step) {
  return step % 4096 == 4095 ? st__scope_goes_on(c) : st__scope_ok(c);
}

/* Calls operator id with its first arguments, of any types (ST_VALUES); the
 * others have their defaults. The result is borrowed from the scope. */
#define ST_APPLY(c, id, ...) st__apply(c, id, ST_VALUES(__VA_ARGS__))
/* The same with n boxed arguments. */
st_tensor *st__apply(st_op_scope *c, st_op_id id, int n, const st_value *args);
/* The same for an operator that returns nrets tensors. */
void st__apply_multi(st_op_scope *c, st_op_id id, int n, const st_value *args,
                     int nrets, st_tensor **out);
/* The same with one tensor, and with two. */
st_tensor *st__apply1(st_op_scope *c, st_op_id id, const st_tensor *a);
st_tensor *st__apply2(st_op_scope *c, st_op_id id, const st_tensor *a,
                      const st_tensor *b);
/* The algebra of formulas: the adjoint of a; the product of matrices; a + b,
 * a - b, a b and a / b by elements; x a and a + x for a number x; a = 0. */
st_tensor *st__adjoint(st_op_scope *c, const st_tensor *a);
st_tensor *st__times(st_op_scope *c, const st_tensor *a, const st_tensor *b);
st_tensor *st__plus(st_op_scope *c, const st_tensor *a, const st_tensor *b);
st_tensor *st__minus(st_op_scope *c, const st_tensor *a, const st_tensor *b);
st_tensor *st__mul(st_op_scope *c, const st_tensor *a, const st_tensor *b);
st_tensor *st__div(st_op_scope *c, const st_tensor *a, const st_tensor *b);
st_tensor *st__scaled(st_op_scope *c, const st_tensor *a, double x);
st_tensor *st__shifted(st_op_scope *c, const st_tensor *a, double x);
st_tensor *st__equals_0(st_op_scope *c, const st_tensor *a);
/* Calls the in-place variant, which writes the first argument. */
#define ST_APPLY_INTO(c, id, ...) st__apply_into(c, id, ST_VALUES(__VA_ARGS__))
void st__apply_into(st_op_scope *c, st_op_id id, int n, const st_value *args);
/* a itself if it has dtype d, otherwise a converted copy. */
st_tensor *st__apply_to(st_op_scope *c, const st_tensor *a, st_dtype d);
/* A view of the indices [start, start + length) of dimension dim. */
st_tensor *st__apply_narrow(st_op_scope *c, const st_tensor *a, int64_t dim,
                            int64_t start, int64_t length);
st_tensor *st__apply_reshape(st_op_scope *c, const st_tensor *t, int ndim,
                             const int64_t *sizes);
/* a as a contiguous tensor of one dimension. */
st_tensor *st__apply_flatten(st_op_scope *c, const st_tensor *a);
/* A view of t whose gradient depends on `to`: Note [Zero second
 * derivatives]. */
st_tensor *st__apply_attached(st_op_scope *c, const st_tensor *t,
                              const st_tensor *to);
/* The same, where the second derivative is none unless something else gives
 * one. */
st_tensor *st__apply_attached_none(st_op_scope *c, const st_tensor *t,
                                   const st_tensor *to);

/* The elements of t, which are integers and not on Meta, as a new contiguous
 * tensor of int64: Note [Snapshots of elements]. NULL after a failure. */
const int64_t *st__scope_snapshot(st_op_scope *c, const st_tensor *t);
/* For code that reads elements: t itself, or a contiguous copy on the CPU if it
 * is on an extension device. */
const st_tensor *st__scope_here(st_op_scope *c, const st_tensor *t);
/* The element of a bool tensor that has one; false on Meta, and after a
 * failure. */
bool st__scope_is_true(st_op_scope *c, const st_tensor *t);
/* A new contiguous tensor on the device of like, the CPU or Meta, made without
 * a call. */
st_tensor *st__scope_new(st_op_scope *c, const st_tensor *like, st_dtype dtype,
                         int ndim, const int64_t *sizes);
/* The same for a vector of n elements on the CPU. The caller fills it through
 * *data, which is NULL after a failure. */
st_tensor *st__new_cpu_vector(st_op_scope *c, st_dtype dtype, int64_t n,
                              void *data);

/* Ends the scope `round` and copies its status to c. On success *t, a result
 * of round, replaces everything that c owns. */
void st__scope_replace(st_op_scope *c, st_op_scope *round, st_tensor **t);
/* Ends scope round; t, if any, moves to scope c. Returns t, or NULL after a
 * failure. */
st_tensor *st__scope_keep(st_op_scope *c, st_op_scope *round, st_tensor *t);

/* Releases the tensors of the scope and returns its status. On success rets
 * owns the n results. */
st_status st__scope_end(st_op_scope *c, int n, st_tensor *const *results,
                        st_value *rets);
/* The same for one result. */
st_status st__scope_return(st_op_scope *c, st_tensor *result, st_value *rets);

/* The in-place variant of functional operator id: calls it with n arguments
 * and copies the result to the first one. BAD_SHAPE or BAD_DTYPE when the
 * shape or dtype of the result differs from that of the first argument. */
st_status st__compose_self(st_op_id id, int n, const st_value *args,
                           st_value *rets);
/* The out= variant of functional operator id: args are its n arguments,
 * followed by out. */
st_status st__compose_out(st_op_id id, int n, const st_value *args,
                          st_value *rets);
/* The same for an operator with nouts results, followed by as many outs. */
st_status st__compose_outs(st_op_id id, int n, int nouts, const st_value *args,
                           st_value *rets);
/* As st__compose_out, but out may have any dtype that the result can be cast
 * to. */
st_status st__compose_cast(st_op_id id, int n, const st_value *args,
                           st_value *rets);

#endif
