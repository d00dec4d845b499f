/* The gradients of scaled_dot_product_attention, and theirs.
 *
 * Note [Derivatives of attention]
 * Let A be the weights, softmax(s Q K^T + mask), G the gradient of the result
 * A V, and P(X) = A * (X - the sums of A * X along rows), which is symmetric.
 * Then
 *
 *   T = G V^T    U = P(T)    dQ = s U K    dK = s U^T Q    dV = A^T G
 *
 * If H, I, J are the gradients of dQ, dK, dV, then W = s (H K^T + Q I^T) is
 * that of U, X = P(W) that of T, and, with r the sums of A * W along rows and d
 * those of A * T,
 *
 *   Z = P(W * (T - d) - T r + G J^T)
 *
 * that of the scores. The gradients of G, Q, K, V are
 *
 *   X V + A J    s (Z K + U I)    s (Z^T Q + U^T H)    X^T G
 */

#include "op/nn/attention.h"
#include "op/nn/spatial.h"

/* -- Formulas ------------------------------------------------------------- */

static st_tensor *transposed(st_op_scope *c, const st_tensor *t) {
  return ST_APPLY(c, ST_OP_transpose_int, t, -2, -1);
}

/* a b^T, a^T b */
static st_tensor *times_turned(st_op_scope *c, const st_tensor *a,
                               const st_tensor *b) {
  return st__times(c, a, transposed(c, b));
}

static st_tensor *turned_times(st_op_scope *c, const st_tensor *a,
                               const st_tensor *b) {
  return st__times(c, transposed(c, a), b);
}

/* The sums of a * b along rows. */
static st_tensor *row_sums(st_op_scope *c, const st_tensor *a,
                           const st_tensor *b) {
  return ST_APPLY(c, ST_OP_sum_dim_IntList, st__mul(c, a, b), ST_INTS(-1),
                  st__of_bool(true));
}

/* P(x) */
static st_tensor *projected(st_op_scope *c, const st_tensor *weights,
                            const st_tensor *x) {
  return st__mul(c, weights, st__minus(c, x, row_sums(c, weights, x)));
}

/* The sum over the heads of query that share a head of `like`. */
static st_tensor *gathered(st_op_scope *c, const st_tensor *t,
                           const st_tensor *like) {
  int64_t sizes[ST_MAX_DIMS + 1];
  if (!st__scope_ok(c) || t->ndim < 3 || like->ndim < 3) return NULL;
  const int d = t->ndim - 3;
  const int64_t heads = like->sizes[like->ndim - 3], over = d + 1;
  if (t->sizes[d] == heads || heads == 0) return (st_tensor *)(uintptr_t)t;
  for (int i = 0; i < t->ndim; i++) sizes[i + (i > d)] = t->sizes[i];
  sizes[d] = heads;
  sizes[d + 1] = t->sizes[d] / heads;
  t = st__apply_reshape(c, t, t->ndim + 1, sizes);
  return ST_APPLY(c, ST_OP_sum_dim_IntList, t, st__of_ints(&over, 1));
}

/* -- The first derivative ------------------------------------------------- */

static st_status check_back(const st_attention *a,
                            const st_attention_back *b) {
  const st_tensor *q = a->query, *all[] = {b->grad, b->out, b->lse};
  static const char *const names[] = {"grad_out", "out", "logsumexp"};
  int64_t sizes[ST_MAX_DIMS];
  for (int i = 0; i < q->ndim; i++) sizes[i] = q->sizes[i];
  sizes[q->ndim - 1] = a->value->sizes[a->value->ndim - 1];
  for (int i = 0; i < 3; i++) {
    const int n = i == 2 ? q->ndim - 1 : q->ndim;
    bool fits = all[i]->ndim == n && all[i]->dtype == q->dtype;
    for (int d = 0; fits && d < n; d++) fits = all[i]->sizes[d] == sizes[d];
    if (!fits) {
      return st__fail(ST_BAD_SHAPE, "%s, a %s of shape %s, does not suit query "
                      "of shape %s and value of shape %s", names[i],
                      st__dtype_name(all[i]->dtype), ST_SHAPE_TEXT(all[i]),
                      ST_SHAPE_TEXT(q), ST_SHAPE_TEXT(a->value));
    }
  }
  return ST_OK;
}

static void back_by_operators(st_op_scope *c, const st_attention *given,
                              const st_tensor *grad, st_tensor *out[3]) {
  st_attention a = *given;
  st__repeat_heads(c, &a);
  if (!st__scope_ok(c)) return;
  const st_tensor *w = st__attention_weights(c, &a, NULL);
  const st_tensor *u = st__scaled(
    c, projected(c, w, times_turned(c, grad, a.value)), a.scale);
  out[0] = st__times(c, u, a.key);
  out[1] = turned_times(c, u, a.query);
  out[2] = turned_times(c, w, grad);
  if (!a.shares_heads) return;
  out[1] = gathered(c, out[1], given->key);
  out[2] = gathered(c, out[2], given->value);
}

ST_BOXED(st__box_scaled_dot_product_attention_backward) {
  st_attention a = {.dropout = 0};
  st_tensor *out[3] = {NULL};
  st_attention_back b = {.grad = st__next_tensor(&args)};
  st__read_attention(&args, &a);
  ST_ARGS_TO(b, TENSOR(out), TENSOR(lse));
  ST_TRY(st__read_attention_mask(&args, &a));
  ST_TRY(check_back(&a, &b));
  st_op_scope c = {.n = 0};
  const st_dtype d = st__widen_attention(&c, &a);
  if (!st__scope_ok(&c)) return st__scope_end(&c, 3, out, rets);
  if (d != a.query->dtype) { /* lse is too coarse for blocks */
    back_by_operators(&c, &a, st__apply_to(&c, b.grad, ST_FLOAT32), out);
  } else if (st__has_attention_blocks(&a) && st__is_plain(b.grad) &&
             st__is_plain(b.out) && st__is_plain(b.lse)) {
    st__attention_backward(&c, &a, &b, out);
  } else {
    back_by_operators(&c, &a, b.grad, out);
  }
  st__narrow_attention(&c, d, 3, out);
  return st__scope_end(&c, 3, out, rets);
}

/* -- The second derivative ------------------------------------------------ */

/* The names are those of Note [Derivatives of attention]; a and the gradients i
 * and j have the heads of query. */
typedef struct second {
  const st_tensor *h, *i, *j, *g;
  st_attention a;
} second;

static void differentiate(st_op_scope *c, const second *s, st_tensor *out[4]) {
  const st_attention *a = &s->a;
  const st_tensor *weights = st__attention_weights(c, a, NULL);
  const st_tensor *t = times_turned(c, s->g, a->value);
  const st_tensor *u = projected(c, weights, t);
  const st_tensor *w = st__scaled(
    c, st__plus(c, times_turned(c, s->h, a->key),
                times_turned(c, a->query, s->i)), a->scale);
  const st_tensor *x = projected(c, weights, w);
  const st_tensor *d = row_sums(c, weights, t), *r = row_sums(c, weights, w);
  st_tensor *z =
    st__minus(c, st__mul(c, w, st__minus(c, t, d)), st__mul(c, t, r));
  z = st__plus(c, z, times_turned(c, s->g, s->j));
  z = projected(c, weights, z);
  out[0] = st__plus(c, st__times(c, x, a->value),
                    st__times(c, weights, s->j));
  out[1] = st__scaled(c, st__plus(c, st__times(c, z, a->key),
                                  st__times(c, u, s->i)), a->scale);
  out[2] = st__scaled(c, st__plus(c, turned_times(c, z, a->query),
                                  turned_times(c, u, s->h)), a->scale);
  out[3] = turned_times(c, x, s->g);
}

/* Makes the gradients float32: Note [Attention of halves]. */
static void widen(st_op_scope *c, second *s, st_attention *heads) {
  s->h = st__apply_to(c, s->h, ST_FLOAT32);
  s->g = st__apply_to(c, s->g, ST_FLOAT32);
  heads->query = s->a.query;
  heads->key = st__apply_to(c, heads->key, ST_FLOAT32);
  heads->value = st__apply_to(c, heads->value, ST_FLOAT32);
}

ST_BOXED(st__box_scaled_dot_product_attention_double_backward) {
  second s = {.h = st__next_tensor(&args)};
  st_tensor *out[4] = {NULL};
  ST_ARGS_TO(s, TENSOR(i), TENSOR(j), TENSOR(g));
  st__read_attention(&args, &s.a);
  ST_TRY(st__read_attention_mask(&args, &s.a));
  const st_attention given = s.a;
  st_attention second_heads = {.query = s.a.query, .key = s.i, .value = s.j,
                               .shares_heads = s.a.shares_heads};
  st_op_scope c = {.n = 0};
  const st_dtype d = st__widen_attention(&c, &s.a);
  if (st__scope_ok(&c) && d != s.a.query->dtype) widen(&c, &s, &second_heads);
  st__repeat_heads(&c, &s.a);
  st__repeat_heads(&c, &second_heads);
  s.i = second_heads.key;
  s.j = second_heads.value;
  if (st__scope_ok(&c)) differentiate(&c, &s, out);
  if (s.a.shares_heads) {
    out[2] = gathered(&c, out[2], given.key);
    out[3] = gathered(&c, out[3], given.value);
  }
  st__narrow_attention(&c, d, 4, out);
  return st__scope_end(&c, 4, out, rets);
}
