/* Formulas of derivatives: one expression per input.
 *
 *   self: grad * conj(other)
 *   self: index_select_backward(grad, shape(self), dim, index)
 *   input, weight: f(grad, ...)
 *
 * The arguments whose gradient the expression computes come before the colon.
 * There are several if the expression returns as many tensors. Variables are
 * the arguments of the schema; `result` (or result0, result1, ... and the names
 * of the results), what the operator returned; `grad` (grad0, grad1, ...), the
 * gradient of a result; `grads`, the gradients of a list of results. There are
 * + - * / on tensors and scalars, comparisons, `c ? a : b` with a c that is no
 * tensor (none is false, a string is true), lists [a, b], numbers, 'strings',
 * true, false and none. A call names an operator by its ATen name,
 * `sum(grad, dim, keepdim=true)`, one overload of it (sum.dim_IntList), an
 * operator of another namespace (geo::hypot2) or a helper
 * (grad/formula/helper.h). An argument whose geometry alone is read, as in
 * shape(self), is saved without its elements.
 *
 * Note [Arguments that may be written]
 * A slope computed from a result, as 1 - y^2 of y = tanh(x), loses all digits
 * where y is almost 1, which one computed from the argument keeps. But as in
 * PyTorch, an argument may be written in place after a call whose derivative
 * reads the result alone. So `unwritten(self)` is the argument as long as it
 * has not been written since, and then none: has(unwritten(self)) ? ... : ...
 * An in-place variant saves none.
 *
 * The engine completes the value of every formula: it sums over broadcast
 * dimensions, drops the imaginary part of the gradient of a real tensor and
 * converts to the input's dtype.
 */
#ifndef ST_GRAD_FORMULA_FORMULA_H
#define ST_GRAD_FORMULA_FORMULA_H

#include "dispatch/schema/arena.h"
#include "dispatch/dispatch.h"
#include "grad/formula/helper.h"

typedef enum st_expr_kind {
  ST_EXPR_VALUE,    /* a constant: a number, a string, none */
  ST_EXPR_NAME,     /* a variable */
  ST_EXPR_LIST,
  ST_EXPR_UNARY, ST_EXPR_BINARY,
  ST_EXPR_CHOICE,   /* children: condition, then, else */
  ST_EXPR_CALL,     /* of an operator */
  ST_EXPR_HELPER    /* call of a helper */
} st_expr_kind;

enum { ST_EXPR_CHILDREN = 16, ST_EXPR_CANDIDATES = 16 };

/* What a variable stands for. */
typedef enum st_var_kind {
  ST_VAR_ARG, ST_VAR_RESULT, ST_VAR_GRAD, ST_VAR_GRADS
} st_var_kind;

typedef struct st_expr st_expr;
struct st_expr {
  st_expr_kind kind;
  int op;               /* '+', '<', 'l' (<=), 'g' (>=), '=', '!' */
  st_var_kind var;
  int at;               /* index of the variable or of the helper */
  uint64_t grads;       /* bits of the gradients that it reads, not `grads` */
  bool is_shape;        /* only the variable's geometry is read */
  bool may_be_written;  /* unwritten(variable) */
  st_value value;
  int nchildren;
  st_expr *children[ST_EXPR_CHILDREN];
  const char *keywords[ST_EXPR_CHILDREN]; /* NULL: positional */
  int ncandidates;
  const st_op *candidates[ST_EXPR_CANDIDATES]; /* overloads */
  _Atomic int last_match; /* the candidate that matched last */
};

typedef struct st_formula {
  uint64_t targets;           /* bits of the arguments before the colon */
  uint64_t args, results;     /* bits: whose elements it reads */
  uint64_t needed;            /* those of args that must not be written */
  uint64_t arg_shapes, result_shapes; /* bits: whose geometry it reads */
  uint64_t grads;             /* bits of results: whose gradient it reads */
  bool takes_list;            /* it reads `grads` */
  st_expr *root;
  st_arena arena;             /* owns the expression */
} st_formula;

/* Parses a formula of an operator with schema s. BAD_SCHEMA names the place of
 * an error in the text. is_builtin: the text comes from derivatives.def and may
 * call every helper. */
st_status st__formula_parse(const char *text, const st_schema *s,
                            bool is_builtin, st_formula *out);
void st__formula_free(st_formula *f);

#endif
