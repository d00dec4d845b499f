/* Formulas of derivatives: one line of algebra per input.
 *
 *   self: grad * conj(other)
 *   self: index_select_backward(grad, shape(self), dim, index)
 *   input, weight: f(grad, ...)
 *
 * In front of the colon stand the arguments that the value is the gradient
 * of: several, when the operator behind it returns as many tensors. Names are
 * those of the schema; `result` (or result0, result1, ... and the names of the
 * results) stands for what the operator returned, `grad` (grad0, grad1, ...)
 * for the gradient of it, `grads` for those of a list. There are + - * / on
 * tensors and numbers, comparisons, `c ? a : b` for a plain boolean c, lists
 * [a, b], numbers, 'texts', true, false and none. A call is one of an operator
 * by its ATen name, `sum(grad, dim, keepdim=true)`, of one overload if it is
 * said (sum.dim_IntList), of another namespace as geo::hypot2; or of a helper
 * (grad/formula/helper.h). What only asks for a shape does not save elements.
 *
 * The engine does the rest for every formula: it adds up what was broadcast,
 * drops the imaginary part of the gradient of a real tensor and converts to
 * the input's dtype.
 */
#ifndef ST_GRAD_FORMULA_FORMULA_H
#define ST_GRAD_FORMULA_FORMULA_H

#include "dispatch/schema/arena.h"
#include "dispatch/dispatch.h"
#include "grad/formula/helper.h"

typedef enum st_expr_kind {
  ST_EXPR_VALUE,    /* a number, a text, none */
  ST_EXPR_NAME,     /* of a variable */
  ST_EXPR_LIST,
  ST_EXPR_UNARY, ST_EXPR_BINARY,
  ST_EXPR_CHOICE,   /* kids: condition, then, else */
  ST_EXPR_CALL,     /* of an operator */
  ST_EXPR_HELPER    /* of a helper */
} st_expr_kind;

enum { ST_EXPR_CHILDREN = 16, ST_EXPR_CANDIDATES = 16 };

/* What a name stands for. */
typedef enum st_var_kind {
  ST_VAR_ARG, ST_VAR_RESULT, ST_VAR_GRAD, ST_VAR_GRADS
} st_var_kind;

typedef struct st_expr st_expr;
struct st_expr {
  st_expr_kind kind;
  int op;               /* '+', '<', 'l' (<=), 'g' (>=), '=', '!' */
  st_var_kind var;
  int at;               /* of a variable; of a helper */
  uint64_t grads;       /* the gradients in it, but for a list of them */
  bool is_shape;        /* of a variable: its geometry will do */
  st_value value;
  int nchildren;
  st_expr *children[ST_EXPR_CHILDREN];
  const char *keywords[ST_EXPR_CHILDREN]; /* of arguments; NULL: positional */
  int ncandidates;
  const st_op *candidates[ST_EXPR_CANDIDATES]; /* overloads */
  _Atomic int last_match; /* the candidate that did the last time */
};

typedef struct st_formula {
  uint64_t targets;           /* bits of the arguments */
  uint64_t args, results;     /* whose elements it needs */
  uint64_t arg_shapes, result_shapes; /* whose geometry it needs */
  uint64_t grads;             /* of which results */
  bool takes_list;            /* all gradients, as a list */
  st_expr *term;
  st_arena arena;             /* owns it */
} st_formula;

/* BAD_SCHEMA with the position. is_own: it comes from derivatives.def. */
st_status st__formula_parse(const char *text, const st_schema *s,
                            bool is_own, st_formula *out);
void st__formula_free(st_formula *f);

#endif
