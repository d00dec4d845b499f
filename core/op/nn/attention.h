/* scaled_dot_product_attention: its arguments, by operators, by blocks.
 */
#ifndef ST_OP_NN_ATTENTION_H
#define ST_OP_NN_ATTENTION_H

#include "op/row/composite.h"

typedef struct st_attention {
  const st_tensor *query, *key, *value;
  st_tensor *mask;  /* or NULL */
  bool is_causal;
  double scale, dropout;
  bool shares_heads; /* each head of key and value serves several of query */
} st_attention;

/* -- By operators (attention.c) ------------------------------------------- */

/* Reads query, key and value. */
void st__read_attention(const st_value **args, st_attention *a);
/* Reads attn_mask, is_causal, scale and enable_gqa; checks them all. */
st_status st__read_attention_mask(const st_value **args, st_attention *a);
/* Note [Attention of halves]
 * A score is a sum of products, which float16 cannot hold from 65504 on, and
 * whose rounding to a half type the exponential multiplies. So query, key,
 * value and a mask of a half dtype are computed with as float32, and only the
 * result is rounded.
 * Makes these float32, if they have one half dtype; returns the dtype of the
 * results. */
st_dtype st__widen_attention(st_op_scope *c, st_attention *a);
/* Makes the n results, some of which may be NULL, of dtype d. */
void st__narrow_attention(st_op_scope *c, st_dtype d, int n,
                          st_tensor *out[]);
/* Repeats the heads of key and value, if they are shared. */
void st__repeat_heads(st_op_scope *c, st_attention *a);
/* softmax(query key^T scale + mask), where a query that may attend to no key
 * has zeros; the logarithms of its denominators to *lse, unless lse is NULL:
 * infinity for such a query. The heads are repeated. */
st_tensor *st__attention_weights(st_op_scope *c, const st_attention *a,
                                 st_tensor **lse);

/* -- By blocks (attention_blocks.c) --------------------------------------- */

/* True if blocks compute it. */
bool st__has_attention_blocks(const st_attention *a);
/* out[0]: the result, out[1]: the logarithms of the denominators. */
void st__attention_forward(st_op_scope *c, const st_attention *a,
                           st_tensor *out[2]);

/* Results of the forward pass, and the gradient of the first. */
typedef struct st_attention_back {
  const st_tensor *grad, *out, *lse;
} st_attention_back;

/* The gradients of query, key and value. grad, out and lse have the dtype and
 * device of query and the sizes of the results. */
void st__attention_backward(st_op_scope *c, const st_attention *a,
                            const st_attention_back *back, st_tensor *out[3]);

#endif
