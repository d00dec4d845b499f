/* Rules: what the derivative of an operator is, and the nodes that apply it.
 */
#ifndef ST_GRAD_RECORD_RULE_H
#define ST_GRAD_RECORD_RULE_H

#include "grad/formula/formula.h"

/* The derivative of one operator, shared by its nodes. */
typedef struct st_rule {
  st_refcount refs;
  const st_op *op;
  const st_schema *schema;  /* the operator's own, kept for good */
  char name[64];            /* of its nodes: "MulBackward0" */
  bool is_inplace;          /* writes its first argument */
  bool is_view;             /* returns views of its first argument */
  bool is_multi;            /* returns a list of them */
  bool is_linear_in_self;
  uint64_t targets;         /* of all formulas */
  uint64_t args, results, arg_shapes, result_shapes;
  uint64_t common;          /* arguments that several formulas need */
  int nformulas;
  st_formula *formulas;
  st_derivative custom;     /* instead of formulas; backward NULL: none */
} st_rule;

/* The rule of an operator from n formulas, those of a functional one if it
 * is the in-place variant; n = 0: its results carry no gradient. is_own: they
 * come from derivatives.def. */
st_status st__rule_new(const st_op *op, int n, const char *const *formulas,
                       bool is_own, st_rule **out);
/* From a function, which is the rule's on success. */
st_status st__rule_custom(const st_op *op, const st_derivative *d,
                          st_rule **out);
void st__rule_retain(st_rule *r);
void st__rule_release(void *rule);

/* The node of one call. */
typedef struct st_rule_node {
  st_node node;
  st_rule *rule;            /* owned */
  uint64_t kept;            /* arguments of which something was kept */
  int *first;               /* input of each target, and their number */
  st_saved *args, *arg_shapes, *results, *result_shapes; /* by rank */
} st_rule_node;

/* Its place among the bits of mask. */
static inline int st__rank(uint64_t mask, int bit) {
  return __builtin_popcountll(mask & (((uint64_t)1 << bit) - 1));
}

/* The gradients of rec's wanted inputs: what nodes of rules run. */
st_status st__rule_run(st_node *n, st_tensor *const *grads,
                       const bool *wanted, st_tensor **out);

/* A formula's value for a node. grads: one per result, NULL for one that has
 * none and counts as zeros. *out is owned. */
st_status st__formula_value(const st_formula *f, st_rule_node *rec,
                            st_tensor *const *grads, st_value *out);

#endif
