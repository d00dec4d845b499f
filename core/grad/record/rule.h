/* Rules: the derivatives of operators, and the nodes that apply them.
 */
#ifndef ST_GRAD_RECORD_RULE_H
#define ST_GRAD_RECORD_RULE_H

#include "grad/formula/formula.h"

/* The derivative of one operator, shared by its nodes. */
typedef struct st_rule {
  st_refcount refs;
  const st_op *op;
  const st_schema *schema;  /* the operator's, never freed */
  char name[64];            /* of its nodes: "MulBackward0" */
  bool is_inplace;          /* writes its first argument */
  bool is_view;             /* returns views of its first argument */
  bool is_multi;            /* returns a list */
  bool is_linear_in_self;
  uint64_t targets;         /* union of those of the formulas, as the next */
  uint64_t args, results, arg_shapes, result_shapes;
  uint64_t needed;          /* arguments that must not be written */
  uint64_t common;          /* arguments that several formulas read */
  int nformulas;
  st_formula *formulas;
  st_derivative custom;     /* replaces formulas if backward is not NULL */
} st_rule;

/* The rule of an operator from n formulas. An in-place variant takes those of
 * the functional operator. n = 0: the results carry no gradient. is_builtin:
 * the formulas come from derivatives.def. */
st_status st__rule_new(const st_op *op, int n, const char *const *formulas,
                       bool is_builtin, st_rule **out);
/* The rule of an operator from a function. On success the rule owns d's
 * ctx. */
st_status st__rule_custom(const st_op *op, const st_derivative *d,
                          st_rule **out);
void st__rule_retain(st_rule *r);
void st__rule_release(void *rule);

/* The node of one recorded call. */
typedef struct st_rule_node {
  st_node node;
  st_rule *rule;            /* owned */
  uint64_t kept;            /* arguments of which something was saved */
  int *first;               /* first input of each target, then ninputs */
  st_saved *args, *arg_shapes, *results, *result_shapes; /* by rank */
} st_rule_node;

/* The number of bits of mask below `bit`. */
static inline int st__rank(uint64_t mask, int bit) {
  return __builtin_popcountll(mask & (((uint64_t)1 << bit) - 1));
}

/* The `run` function of rule nodes: the gradients of the wanted inputs. */
st_status st__rule_run(st_node *n, st_tensor *const *grads,
                       const bool *wanted, st_tensor **out);

/* Evaluates a formula for a node. grads: one per result; NULL, an undefined
 * gradient, counts as zeros. *out is owned. */
st_status st__formula_value(const st_formula *f, st_rule_node *rec,
                            st_tensor *const *grads, st_value *out);

#endif
