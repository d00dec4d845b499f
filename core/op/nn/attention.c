/* scaled_dot_product_attention, composed of operators or by blocks.
 */

#include "op/nn/attention.h"

#include <math.h>

#include "op/nn/spatial.h"

/* What a mask means for the scores. */
typedef struct bias {
  st_tensor *added;         /* to the scores, or NULL */
  const st_tensor *masked;  /* queries that may attend to no key, or NULL */
} bias;

/* -- Masks ---------------------------------------------------------------- */

/* 0 where mask is true, else -infinity. */
static st_tensor *as_bias(st_op_scope *c, const st_tensor *mask,
                          const st_tensor *like) {
  if (!st__scope_ok(c)) return NULL;
  const st_value sizes = st__of_ints(mask->sizes, mask->ndim);
  const st_tensor *zeros = ST_APPLY(c, ST_OP_new_zeros, like, sizes);
  const st_tensor *hidden = st__apply1(c, ST_OP_logical_not, mask);
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, zeros, hidden,
                  st__of_float(-(double)INFINITY));
}

/* A query attends to keys up to its own index. */
static st_tensor *causal(st_op_scope *c, const st_attention *a) {
  const int64_t sizes[] = {a->query->sizes[a->query->ndim - 2],
                           a->key->sizes[a->key->ndim - 2]};
  const st_tensor *all = ST_APPLY(c, ST_OP_ones, st__of_ints(sizes, 2), ST_BOOL,
                                  st__none(), a->query->device);
  all = st__apply1(c, ST_OP_tril, all);
  return as_bias(c, all, a->query);
}

/* Softmax of a row of -infinity is undefined: such a row is computed with zeros
 * instead, and its result is set to 0. */
static bias bias_of(st_op_scope *c, const st_attention *a) {
  bias b = {NULL, NULL};
  if (!st__scope_ok(c)) return b;
  if (!a->mask) {
    if (a->is_causal) b.added = causal(c, a);
    return b;
  }
  b.added = a->mask->dtype == ST_BOOL ? as_bias(c, a->mask, a->query) : a->mask;
  const st_tensor *hidden = st__apply1(c, ST_OP_isneginf, b.added);
  b.masked = ST_APPLY(c, ST_OP_all_dim, hidden, -1, st__of_bool(true));
  b.added = ST_APPLY(c, ST_OP_masked_fill_Scalar, b.added, b.masked, 0);
  return b;
}

/* -- By operators --------------------------------------------------------- */

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
  return ST_APPLY(c, ST_OP_repeat_interleave_self_int, t,
                  query->sizes[q] / t->sizes[d], d);
}

void st__repeat_heads(st_op_scope *c, st_attention *a) {
  if (!a->shares_heads || !st__scope_ok(c)) return;
  a->key = share_heads(c, a->key, a->query);
  a->value = share_heads(c, a->value, a->query);
}

/* t with v for the masked queries. */
static st_tensor *fill(st_op_scope *c, const bias *b, st_tensor *t, double v) {
  if (!b->masked) return t;
  return ST_APPLY(c, ST_OP_masked_fill_Scalar, t, b->masked, v);
}

st_tensor *st__attention_weights(st_op_scope *c, const st_attention *a,
                                 st_tensor **lse) {
  const bias b = bias_of(c, a);
  const st_tensor *query =
    ST_APPLY(c, ST_OP_mul_Scalar, a->query, st__of_float(a->scale));
  st_tensor *w =
    st__times(c, query, ST_APPLY(c, ST_OP_transpose_int, a->key, -2, -1));
  if (b.added) w = st__plus(c, w, b.added);
  if (lse) {
    *lse = ST_APPLY(c, ST_OP_logsumexp, w, ST_INTS(-1), st__of_bool(true));
    *lse = ST_APPLY(c, ST_OP_squeeze_dim, fill(c, &b, *lse, INFINITY), -1);
  }
  w = ST_APPLY(c, ST_OP_softmax_int, w, -1);
  return fill(c, &b, w, 0);
}

static st_tensor *attend(st_op_scope *c, st_attention *a, st_tensor **lse) {
  st__repeat_heads(c, a);
  if (!st__scope_ok(c)) return NULL;
  st_tensor *w = st__attention_weights(c, a, lse);
  if (a->dropout > 0) {
    w = ST_APPLY(c, ST_OP_dropout, w, st__of_float(a->dropout),
                 st__of_bool(true));
  }
  return st__times(c, w, a->value);
}

/* -- Arguments ------------------------------------------------------------ */

static st_status check(const st_attention *a) {
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
  if (a->mask && a->mask->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "attn_mask must have a dimension, but it is "
                    "0-dim");
  }
  if (a->mask && a->is_causal) {
    return st__fail(ST_BAD_VALUE, "attn_mask and is_causal cannot be used "
                    "together");
  }
  return ST_OK;
}

void st__read_attention(const st_value **args, st_attention *a) {
  a->query = st__next_tensor(args);
  a->key = st__next_tensor(args);
  a->value = st__next_tensor(args);
}

st_status st__read_attention_mask(const st_value **args, st_attention *a) {
  a->mask = st__next_tensor(args);
  a->is_causal = st__next_bool(args);
  a->scale = st__next_float(args);
  a->shares_heads = st__next_bool(args);
  return check(a);
}

st_dtype st__widen_attention(st_op_scope *c, st_attention *a) {
  const st_dtype d = a->query->dtype;
  if (!st__is_reduced_float(d) || a->key->dtype != d || a->value->dtype != d) {
    return d;
  }
  a->query = st__apply_to(c, a->query, ST_FLOAT32);
  a->key = st__apply_to(c, a->key, ST_FLOAT32);
  a->value = st__apply_to(c, a->value, ST_FLOAT32);
  if (a->mask && st__is_reduced_float(a->mask->dtype)) {
    a->mask = st__apply_to(c, a->mask, ST_FLOAT32);
  }
  return d;
}

void st__narrow_attention(st_op_scope *c, st_dtype d, int n,
                          st_tensor *out[]) {
  for (int i = 0; i < n && st__scope_ok(c); i++) {
    if (out[i] && out[i]->dtype != d) out[i] = st__apply_to(c, out[i], d);
  }
}

/* -- The operators -------------------------------------------------------- */

ST_BOXED(st__box_scaled_dot_product_attention_forward) {
  st_attention a = {.dropout = 0};
  st_tensor *out[2] = {NULL};
  st__read_attention(&args, &a);
  ST_TRY(st__read_attention_mask(&args, &a));
  st_op_scope c = {.n = 0};
  const st_dtype d = st__widen_attention(&c, &a);
  if (st__scope_ok(&c) && st__has_attention_blocks(&a)) {
    st__attention_forward(&c, &a, out);
  } else {
    out[0] = attend(&c, &a, &out[1]);
  }
  st__narrow_attention(&c, d, 2, out);
  return st__scope_end(&c, 2, out, rets);
}

/* True if products of vectors take less time: a block has room for 32
 * queries. With 12 heads, 1024 keys and 64 columns on one core of an AMD EPYC
 * (AVX-512), 1, 4 and 8 queries take 114, 331 and 494 us by operators, 409, 423
 * and 482 by blocks. */
static bool has_few_queries(const st_attention *a) {
  enum { FEW = 5, SMALL = 1024 };
  const st_tensor *q = a->query, *k = a->key;
  return !a->shares_heads && q->sizes[q->ndim - 2] < FEW &&
         k->sizes[k->ndim - 2] > SMALL / k->sizes[k->ndim - 1];
}

/* The operator with a derivative, whose results are out and lse. */
static st_tensor *attend_by_blocks(st_op_scope *c, const st_attention *a) {
  st_tensor *out[2] = {NULL};
  st__apply_multi(c, ST_OP__scaled_dot_product_attention,
                  ST_VALUES(a->query, a->key, a->value, a->mask,
                            st__of_bool(a->is_causal), st__of_float(a->scale),
                            st__of_bool(a->shares_heads)),
                  2, out);
  return out[0];
}

/* That operator gives a mask no gradient. */
ST_BOXED(st__box_scaled_dot_product_attention) {
  st_attention a = {.dropout = 0};
  st__read_attention(&args, &a);
  ST_ARGS_TO(a, TENSOR(mask), FLOAT(dropout), BOOL(is_causal));
  ST_ARGS(BOXED(scale));
  a.shares_heads = st__next_bool(&args);
  ST_TRY(check(&a));
  const double size = (double)a.query->sizes[a.query->ndim - 1];
  a.scale = st__to_float(scale, 1 / sqrt(size));
  st_op_scope c = {.n = 0};
  const st_dtype d = st__widen_attention(&c, &a);
  const bool by_blocks = st__scope_ok(&c) && st__has_attention_blocks(&a) &&
                         !has_few_queries(&a) &&
                         !(a.mask && st__is_recorded(st__keys(a.mask)));
  st_tensor *out = by_blocks ? attend_by_blocks(&c, &a) : attend(&c, &a, NULL);
  st__narrow_attention(&c, d, 1, &out);
  return st__scope_return(&c, out, rets);
}
