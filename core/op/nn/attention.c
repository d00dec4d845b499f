/* scaled_dot_product_attention, composed of operators.
 */

#include <math.h>

#include "op/registry/composite.h"

typedef struct attention {
  const st_tensor *query, *key, *value;
  st_tensor *bias;          /* added to the scores, or NULL */
  const st_tensor *masked;  /* queries that may attend to no key, or NULL */
  double scale, dropout;
} attention;

/* -- Masks ---------------------------------------------------------------- */

/* 0 where mask is true, else -infinity. */
static st_tensor *as_bias(st_op_scope *c, const st_tensor *mask,
                          const st_tensor *like) {
  if (!st__scope_ok(c)) return NULL;
  const st_value sizes = st__of_ints(mask->sizes, mask->ndim);
  const st_tensor *zeros = st__apply_with(c, ST_OP_new_zeros, like, sizes);
  const st_tensor *hidden = st__apply1(c, ST_OP_logical_not, mask);
  return st__apply(c, ST_OP_masked_fill_Scalar, 3,
                   (st_value[]){st__of_tensor(zeros), st__of_tensor(hidden),
                                st__of_float(-(double)INFINITY)});
}

/* A query attends to keys up to its own index. */
static st_tensor *causal(st_op_scope *c, const attention *a) {
  const int64_t sizes[] = {a->query->sizes[a->query->ndim - 2],
                           a->key->sizes[a->key->ndim - 2]};
  const st_tensor *all = st__apply(
    c, ST_OP_ones, 4,
    (st_value[]){st__of_ints(sizes, 2), st__of_int(ST_BOOL), st__none(),
                 st__of_int(a->query->device)});
  all = st__apply1(c, ST_OP_tril, all);
  return as_bias(c, all, a->query);
}

/* Softmax of a row of -infinity is undefined: such a row is computed with zeros
 * instead, and its result is set to 0. */
static void read_mask(st_op_scope *c, attention *a, st_tensor *mask) {
  a->bias = mask->dtype == ST_BOOL ? as_bias(c, mask, a->query) : mask;
  const st_tensor *hidden = st__apply1(c, ST_OP_isneginf, a->bias);
  a->masked = st__apply(c, ST_OP_all_dim, 3,
                        (st_value[]){st__of_tensor(hidden), st__of_int(-1),
                                     st__of_bool(true)});
  a->bias = st__apply(c, ST_OP_masked_fill_Scalar, 3,
                      (st_value[]){st__of_tensor(a->bias),
                                   st__of_tensor(a->masked), st__of_int(0)});
}

/* -- scaled_dot_product_attention ----------------------------------------- */

static st_status check(const attention *a, const st_tensor *mask,
                       bool is_causal) {
  static const char *const names[] = {"query", "key", "value"};
  const st_tensor *const inputs[] = {a->query, a->key, a->value};
  for (int i = 0; i < 3; i++) {
    const st_tensor *t = inputs[i];
    if (t->ndim < 2) {
      return st__fail(ST_BAD_SHAPE, "%s needs two dimensions, its shape is %s",
                      names[i], ST_SHAPE_TEXT(t));
    }
    if (!st__is_floating(t->dtype)) {
      return st__fail(ST_BAD_DTYPE, "%s must have a floating point dtype, not "
                      "%s", names[i], st__dtype_name(t->dtype));
    }
  }
  if (mask && mask->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "attn_mask must have a dimension, but it is "
                    "0-dim");
  }
  if (mask && is_causal) {
    return st__fail(ST_BAD_VALUE, "attn_mask and is_causal cannot be used "
                    "together");
  }
  return ST_OK;
}

/* Repeats each head of t so that t has as many heads as query. */
static const st_tensor *share_heads(st_op_scope *c, const st_tensor *t,
                                    const st_tensor *query) {
  const int d = t->ndim - 3, q = query->ndim - 3;
  if (!st__scope_ok(c)) return NULL;
  if (d < 0 || q < 0 || t->sizes[d] == 0 ||
      query->sizes[q] % t->sizes[d] != 0) {
    c->status = st__fail(ST_BAD_SHAPE, "the heads of query, of shape %s, must "
                         "be a multiple of the heads of key and value, "
                         "here of shape %s", ST_SHAPE_TEXT(query),
                         ST_SHAPE_TEXT(t));
    return NULL;
  }
  return st__apply(c, ST_OP_repeat_interleave_self_int, 3,
                   (st_value[]){st__of_tensor(t),
                                st__of_int(query->sizes[q] / t->sizes[d]),
                                st__of_int(d)});
}

static st_tensor *attend(st_op_scope *c, const attention *a) {
  const st_tensor *query = st__apply_with(c, ST_OP_mul_Scalar, a->query,
                                          st__of_float(a->scale));
  const st_value flip[] = {st__of_tensor(a->key), st__of_int(-2),
                           st__of_int(-1)};
  st_tensor *w = st__apply2(c, ST_OP_matmul, query,
                            st__apply(c, ST_OP_transpose_int, 3, flip));
  if (a->bias) w = st__apply2(c, ST_OP_add_Tensor, w, a->bias);
  w = st__apply_with(c, ST_OP_softmax_int, w, st__of_int(-1));
  if (a->masked) {
    w = st__apply(c, ST_OP_masked_fill_Scalar, 3,
                  (st_value[]){st__of_tensor(w), st__of_tensor(a->masked),
                               st__of_int(0)});
  }
  if (a->dropout > 0) {
    w = st__apply(c, ST_OP_dropout, 3,
                  (st_value[]){st__of_tensor(w), st__of_float(a->dropout),
                               st__of_bool(true)});
  }
  return st__apply2(c, ST_OP_matmul, w, a->value);
}

ST_BOXED(st__box_scaled_dot_product_attention) {
  attention a = {.query = st__next_tensor(&args)};
  a.key = st__next_tensor(&args);
  a.value = st__next_tensor(&args);
  st_tensor *attn_mask = st__next_tensor(&args);
  a.dropout = st__next_float(&args);
  const bool is_causal = st__next_bool(&args);
  const st_value *scale = st__next(&args);
  const bool enable_gqa = st__next_bool(&args);
  ST_TRY(check(&a, attn_mask, is_causal));
  const double size = (double)a.query->sizes[a.query->ndim - 1];
  a.scale = st__to_float(scale, 1 / sqrt(size));
  st_op_scope c = {.n = 0};
  if (enable_gqa) {
    a.key = share_heads(&c, a.key, a.query);
    a.value = share_heads(&c, a.value, a.query);
  }
  if (st__scope_ok(&c) && is_causal) a.bias = causal(&c, &a);
  if (attn_mask) read_mask(&c, &a, attn_mask);
  return st__scope_return(&c, attend(&c, &a), rets);
}
