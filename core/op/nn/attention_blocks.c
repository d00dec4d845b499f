/* Attention by blocks of queries and keys, without the matrix of all scores.
 *
 * Note [Attention by blocks]
 * The scores of QUERIES queries and at most KEYS keys are computed at a time,
 * transposed: a row for each key. So neither keys nor values are packed, and
 * the steps of softmax run along vectors of queries. The block stays in the
 * cache: exponentials replace the scores, and a product with the values adds
 * them to the result, whose rows were scaled to the new maxima first. Blocks of
 * keys that all queries of a block come before are skipped.
 *
 * The gradient computes the weights again from the scores and the logarithm of
 * their sum. A unit of work is a head of keys, whose blocks of queries are
 * added one after the other. Sizes of blocks are fixed, so results depend on no
 * number of threads.
 */

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "iter/strided_copy.h"
#include "kernel/linalg/gemm.h"
#include "kernel/linalg/matmul.h"
#include "kernel/nn/attention.h"
#include "kernel/numbers.h"
#include "op/nn/attention.h"

enum { QUERIES = ST_ATTENTION_PAD, KEYS = 512, GRAIN = 1 << 17 };

/* -- Operands ------------------------------------------------------------- */

/* The matrices of (batch, head); strides in bytes. */
typedef struct matrices {
  char *data;
  int64_t batch, head, row, col;
} matrices;

/* A matrix, or its transpose; strides in bytes. */
typedef struct side {
  char *data;
  int64_t row, col;
} side;

typedef struct blocks {
  st_dtype dtype;
  int64_t size; /* bytes of an element */
  int64_t batch, heads, group, queries, keys, width, depth;
  /* group: heads of query per head of key; width: of query and key; depth: of
   * value */
  matrices q, k, v, mask, lse, out, grad, dq, dk, dv;
  bool is_causal, has_mask, mask_is_bool;
  double scale;
  st_loop product, times, weights, slopes, add_mask, dots;
  st_gemm_ctx gemm; /* what all calls share */
  int64_t units, shares, bytes; /* bytes: scratch of a share */
  char *scratch;
} blocks;

/* The scratch of a share. */
typedef struct room {
  char *x, *y; /* KEYS rows of QUERIES elements */
  char *max, *factor, *lse, *dot; /* QUERIES elements */
  double *sum;
} room;

/* A block: n queries from q on, of head `head` of query. */
typedef struct block {
  int64_t batch, head, q, n;
  int64_t keys; /* those that a query may attend to come before */
  room r;
} block;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static matrices matrices_of(const st_tensor *t) {
  const int64_t size = (int64_t)st__itemsize(t->dtype);
  const int d = t->ndim;
  matrices m = {st__data(t), 0, 0, t->strides[d - 2] * size, size};
  if (d > 2) m.head = t->strides[d - 3] * size;
  if (d > 3) m.batch = t->strides[d - 4] * size;
  return m;
}

/* The matrix of a head, from a row on. */
static side rows_of(const matrices *m, int64_t batch, int64_t head,
                    int64_t row) {
  return (side){m->data + batch * m->batch + head * m->head + row * m->row,
                m->row, m->col};
}

static side transposed(side s) { return (side){s.data, s.col, s.row}; }

static side in_room(const blocks *j, char *x) {
  return (side){x, QUERIES * j->size, j->size};
}

/* -- Products ------------------------------------------------------------- */

typedef struct extent {
  int64_t m, n, k;
  double alpha, beta;
} extent;

/* c = alpha a b + beta c; the rows of c are adjacent elements. */
static void multiply(const blocks *j, side c, side a, side b, extent e) {
  const int64_t st[6] = {c.col, a.col, b.col, c.row, a.row, b.row};
  char *data[3] = {c.data, a.data, b.data};
  const st_scalar alpha = {ST_SCALAR_FLOAT, {.f = e.alpha}};
  const st_scalar beta = {ST_SCALAR_FLOAT, {.f = e.beta}};
  st_gemm_ctx g = j->gemm;
  g.k = e.k;
  g.alpha = alpha;
  g.beta = beta;
  j->product(data, st, e.n, e.m, &g);
}

/* -- Scores --------------------------------------------------------------- */

/* Hides keys from the queries before them; x: m rows from key k on. */
static void hide_later(const blocks *j, const block *b, int64_t k, int64_t m) {
  for (int64_t i = k > b->q ? k : b->q + 1; i < k + m; i++) {
    const int64_t n = least(i - b->q, b->n);
    char *row = b->r.x + (i - k) * QUERIES * j->size;
    if (j->dtype == ST_FLOAT32) {
      for (int64_t l = 0; l < n; l++) ((float *)(void *)row)[l] = -INFINITY;
    } else {
      for (int64_t l = 0; l < n; l++) ((double *)(void *)row)[l] = -INFINITY;
    }
  }
}

/* x = the scores of m keys from k on. */
static void score(const blocks *j, const block *b, int64_t k, int64_t m) {
  const side q = rows_of(&j->q, b->batch, b->head, b->q);
  const side keys = rows_of(&j->k, b->batch, b->head / j->group, k);
  multiply(j, in_room(j, b->r.x), keys, transposed(q),
           (extent){m, b->n, j->width, j->scale, 0});
  if (j->has_mask) {
    const side mask = rows_of(&j->mask, b->batch, b->head, b->q);
    char *data[2] = {b->r.x, mask.data + k * mask.col};
    const int64_t st[4] = {j->size, mask.row, QUERIES * j->size, mask.col};
    j->add_mask(data, st, b->n, m, &j->mask_is_bool);
  }
  if (j->is_causal) hide_later(j, b, k, m);
}

/* -- Shares --------------------------------------------------------------- */

static int64_t blocks_of(const blocks *j) {
  return (j->queries + QUERIES - 1) / QUERIES;
}

static block block_at(const blocks *j, room r, int64_t row, int64_t i) {
  block b = {row / j->heads, row % j->heads, i * QUERIES, 0, j->keys, r};
  b.n = least(QUERIES, j->queries - b.q);
  if (j->is_causal) b.keys = least(j->keys, b.q + b.n);
  return b;
}

static room room_of(const blocks *j, int64_t share) {
  const int64_t line = QUERIES * j->size;
  char *at = j->scratch + share * j->bytes;
  room r = {.sum = (double *)(void *)at};
  at += QUERIES * (int64_t)sizeof(double);
  r.max = r.lse = at;
  r.factor = r.dot = at + line;
  r.x = at + 2 * line;
  r.y = r.x + least(j->keys, KEYS) * line;
  return r;
}

/* Runs fn in shares; it gets rooms for `buffers` blocks of scores. Columns that
 * no query uses are computed, too, so that they need values. */
static st_status run_shares(blocks *j, int buffers, int64_t grain,
                            st_range_fn fn) {
  const int64_t line = QUERIES * j->size;
  j->shares = st__num_shares(j->units, grain);
  j->bytes = QUERIES * (int64_t)sizeof(double) +
             (2 + buffers * least(j->keys, KEYS)) * line;
  const size_t all = (size_t)(j->shares * j->bytes);
  j->scratch = st__alloc(ST_MEM_SCRATCH, all);
  if (!j->scratch) return ST_NO_MEMORY;
  if (j->queries % QUERIES != 0) memset(j->scratch, 0, all);
  const st_status status = st__parallel_try(0, j->shares, 1, fn, j);
  st__free(ST_MEM_SCRATCH, j->scratch, all);
  return status;
}

/* -- Forward -------------------------------------------------------------- */

static void set(const blocks *j, char *to, int64_t i, double v) {
  if (j->dtype == ST_FLOAT32) ((float *)(void *)to)[i] = (float)v;
  else ((double *)(void *)to)[i] = v;
}

static double get(const blocks *j, const char *from, int64_t i) {
  return j->dtype == ST_FLOAT32 ? (double)((const float *)(const void *)from)[i]
                                : ((const double *)(const void *)from)[i];
}

/* Multiplies the rows of the result with the factors. */
static void scale_rows(const blocks *j, const block *b, side out) {
  const int64_t st[6] = {j->size, j->size, 0, out.row, out.row, j->size};
  char *data[3] = {out.data, out.data, b->r.factor};
  j->times(data, st, j->depth, b->n, NULL);
}

/* Divides by the sums. */
static void finish(const blocks *j, const block *b, side out) {
  const room *r = &b->r;
  char *lse = rows_of(&j->lse, b->batch, b->head, 0).data + b->q * j->size;
  for (int64_t l = 0; l < b->n; l++) {
    const double sum = r->sum[l];
    set(j, r->factor, l, sum == 0 ? 0 : 1 / sum);
  }
  st__map_numbers(ST_K_log, r->sum, b->n);
  for (int64_t l = 0; l < b->n; l++) { /* the logarithm of 0 is infinite */
    const double log_sum = r->sum[l];
    set(j, lse, l, log_sum == -(double)INFINITY
                     ? (double)INFINITY : get(j, r->max, l) + log_sum);
  }
  scale_rows(j, b, out);
}

static void attend_block(const blocks *j, const block *b) {
  const room *r = &b->r;
  const side out = rows_of(&j->out, b->batch, b->head, b->q);
  const int64_t line = QUERIES * j->size;
  for (int64_t l = 0; l < QUERIES; l++) {
    r->sum[l] = 0;
    set(j, r->max, l, -(double)INFINITY);
  }
  for (int64_t k = 0; k < b->keys && !st__stops(); k += KEYS) {
    const int64_t m = least(KEYS, b->keys - k);
    score(j, b, k, m);
    char *data[4] = {r->x, r->max, (char *)r->sum, r->factor};
    const int64_t st[8] = {j->size, j->size, sizeof(double), j->size, line};
    j->weights(data, st, b->n, m, NULL);
    if (k > 0) scale_rows(j, b, out);
    multiply(j, out, transposed(in_room(j, r->x)),
             rows_of(&j->v, b->batch, b->head / j->group, k),
             (extent){b->n, j->depth, m, 1, k > 0});
  }
  finish(j, b, out);
}

/* Shares take turns: the first blocks of a causal head are small. */
static void run_forward(void *ctx, int64_t begin, int64_t end) {
  const blocks *j = ctx;
  const int64_t each = blocks_of(j);
  for (int64_t s = begin; s < end; s++) {
    const room r = room_of(j, s);
    for (int64_t u = s; u < j->units && !st__stops(); u += j->shares) {
      const block b = block_at(j, r, u / each, u % each);
      attend_block(j, &b);
    }
  }
}

/* -- Backward ------------------------------------------------------------- */

/* The gradients that m keys from k on take part in. is_first: of this head of
 * keys. */
static void back_keys(const blocks *j, const block *b, int64_t k, int64_t m,
                      bool is_first) {
  const room *r = &b->r;
  const int64_t head = b->head / j->group, line = QUERIES * j->size;
  const side x = in_room(j, r->x), y = in_room(j, r->y);
  const side grad = rows_of(&j->grad, b->batch, b->head, b->q);
  score(j, b, k, m);
  multiply(j, y, rows_of(&j->v, b->batch, head, k),
           transposed(grad),
           (extent){m, b->n, j->depth, 1, 0});
  char *data[4] = {r->x, r->y, r->lse, r->dot};
  const int64_t st[8] = {j->size, j->size, j->size, j->size, line, line};
  j->slopes(data, st, b->n, m, NULL);
  multiply(j, rows_of(&j->dv, b->batch, head, k), x, grad,
           (extent){m, j->depth, b->n, 1, !is_first});
  multiply(j, rows_of(&j->dk, b->batch, head, k), y,
           rows_of(&j->q, b->batch, b->head, b->q),
           (extent){m, j->width, b->n, j->scale, !is_first});
  multiply(j, rows_of(&j->dq, b->batch, b->head, b->q), transposed(y),
           rows_of(&j->k, b->batch, head, k),
           (extent){b->n, j->width, m, j->scale, k > 0});
}

static void back_block(const blocks *j, const block *b, bool is_first) {
  const room *r = &b->r;
  const side grad = rows_of(&j->grad, b->batch, b->head, b->q);
  const side out = rows_of(&j->out, b->batch, b->head, b->q);
  const side lse = rows_of(&j->lse, b->batch, b->head, 0);
  memcpy(r->lse, lse.data + b->q * j->size, (size_t)(b->n * j->size));
  char *data[3] = {r->dot, grad.data, out.data};
  const int64_t st[6] = {j->size, j->size, j->size, j->size, grad.row, out.row};
  j->dots(data, st, j->depth, b->n, NULL);
  for (int64_t k = 0; k < b->keys && !st__stops(); k += KEYS) {
    back_keys(j, b, k, least(KEYS, b->keys - k), is_first);
  }
}

/* Zeros for the keys that no query attends to. */
static void clear_rows(const blocks *j, const matrices *m, const block *b,
                       int64_t width) {
  side rows = rows_of(m, b->batch, b->head / j->group, b->keys);
  for (int64_t k = b->keys; k < j->keys; k++, rows.data += rows.row) {
    memset(rows.data, 0, (size_t)(width * j->size));
  }
}

/* A head of keys. The last block of queries comes first: it has most keys. */
static void back_head(const blocks *j, room r, int64_t row) {
  const int64_t last = blocks_of(j) - 1;
  for (int64_t h = 0; h < j->group; h++) {
    for (int64_t i = last; i >= 0 && !st__stops(); i--) {
      const block b = block_at(j, r, row * j->group + h, i);
      const bool is_first = h == 0 && i == last;
      back_block(j, &b, is_first);
      if (!is_first) continue;
      clear_rows(j, &j->dk, &b, j->width);
      clear_rows(j, &j->dv, &b, j->depth);
    }
  }
}

static void run_backward(void *ctx, int64_t begin, int64_t end) {
  const blocks *j = ctx;
  for (int64_t s = begin; s < end; s++) {
    const room r = room_of(j, s);
    for (int64_t u = s; u < j->units && !st__stops(); u += j->shares) {
      back_head(j, r, u);
    }
  }
}

/* -- Arguments ------------------------------------------------------------ */

/* The size of dimension d from the end, 1 if there is none. */
static int64_t size_of(const st_tensor *t, int d) {
  return d > t->ndim ? 1 : t->sizes[t->ndim - d];
}

static bool suits_mask(const st_attention *a) {
  const st_tensor *mask = a->mask;
  if (!mask) return true;
  const int64_t scores[] = {size_of(a->key, 2), size_of(a->query, 2),
                            size_of(a->query, 3), size_of(a->query, 4)};
  for (int d = 1; d <= mask->ndim; d++) {
    if (d > a->query->ndim) return false;
    if (size_of(mask, d) != 1 && size_of(mask, d) != scores[d - 1]) {
      return false;
    }
  }
  return st__is_plain(mask) &&
         (mask->dtype == ST_BOOL || mask->dtype == a->query->dtype);
}

bool st__has_attention_blocks(const st_attention *a) {
  const st_tensor *q = a->query, *k = a->key, *v = a->value;
  const st_dtype d = q->dtype;
  if ((d != ST_FLOAT32 && d != ST_FLOAT64) || k->dtype != d || v->dtype != d ||
      !st__is_plain(q) || !st__is_plain(k) || !st__is_plain(v) ||
      a->dropout > 0) {
    return false;
  }
  if (q->ndim > 4 || k->ndim != q->ndim || v->ndim != q->ndim ||
      q->numel == 0 || k->numel == 0 || v->numel == 0) {
    return false;
  }
  const int64_t heads = size_of(k, 3);
  const bool shares = a->shares_heads && q->ndim > 2 &&
                      size_of(q, 3) % heads == 0;
  return size_of(q, 1) == size_of(k, 1) && size_of(k, 2) == size_of(v, 2) &&
         (size_of(q, 3) == heads || shares) && size_of(v, 3) == heads &&
         size_of(q, 4) == size_of(k, 4) && size_of(q, 4) == size_of(v, 4) &&
         suits_mask(a);
}

/* t, or a copy whose rows are adjacent elements. */
static const st_tensor *with_rows(st_op_scope *c, const st_tensor *t) {
  if (!st__scope_ok(c) || t->strides[t->ndim - 1] == 1) return t;
  return ST_APPLY(c, ST_OP_contiguous, t, ST_FORMAT_CONTIGUOUS);
}

/* A tensor of the batch, heads and rows of t; of the same order of heads and
 * rows in memory, so that the transpose which gave t can be undone by a view.
 */
static st_tensor *new_like(st_op_scope *c, const st_tensor *t, int64_t width) {
  int64_t sizes[4];
  const int d = t->ndim;
  for (int i = 0; i < d; i++) sizes[i] = t->sizes[i];
  sizes[d - 1] = width;
  const bool turns = d > 2 && t->strides[d - 3] < t->strides[d - 2];
  if (turns) {
    sizes[d - 3] = t->sizes[d - 2];
    sizes[d - 2] = t->sizes[d - 3];
  }
  st_tensor *out = ST_APPLY(c, ST_OP_new_empty, t, st__of_ints(sizes, d));
  if (!turns) return out;
  return ST_APPLY(c, ST_OP_transpose_int, out, -3, -2);
}

static void set_loops(blocks *j) {
  j->product = st__kernel(ST_K_gemm, j->dtype);
  j->gemm = (st_gemm_ctx){
    .block = st__machine.gemm_block,
    .transpose = st__kernel(ST_K_transpose, st__bits_of(j->size))};
  j->times = st__kernel(ST_K_mul, j->dtype);
  j->weights = st__kernel(ST_K_attention_weights, j->dtype);
  j->slopes = st__kernel(ST_K_attention_slopes, j->dtype);
  j->add_mask = st__kernel(ST_K_attention_mask, j->dtype);
  j->dots = st__kernel(ST_K_attention_dots, j->dtype);
}

/* The mask, whose strides are 0 where it is repeated. */
static void set_mask(blocks *j, const st_tensor *mask) {
  if (!mask) return;
  const int64_t size = (int64_t)st__itemsize(mask->dtype);
  int64_t strides[4] = {0};
  for (int d = 1; d <= mask->ndim; d++) {
    const int i = mask->ndim - d;
    if (mask->sizes[i] != 1) strides[d - 1] = mask->strides[i] * size;
  }
  j->has_mask = true;
  j->mask_is_bool = mask->dtype == ST_BOOL;
  j->mask = (matrices){st__data(mask), strides[3], strides[2], strides[1],
                       strides[0]};
}

static blocks blocks_for(st_op_scope *c, const st_attention *a) {
  const st_tensor *q = with_rows(c, a->query), *k = with_rows(c, a->key);
  const st_tensor *v = with_rows(c, a->value);
  blocks j = {.dtype = a->query->dtype, .is_causal = a->is_causal,
              .scale = a->scale};
  if (!st__scope_ok(c)) return j;
  j.size = (int64_t)st__itemsize(j.dtype);
  j.batch = size_of(q, 4);
  j.heads = size_of(q, 3);
  j.group = j.heads / size_of(k, 3);
  j.queries = size_of(q, 2);
  j.keys = size_of(k, 2);
  j.width = size_of(q, 1);
  j.depth = size_of(v, 1);
  j.q = matrices_of(q);
  j.k = matrices_of(k);
  j.v = matrices_of(v);
  set_mask(&j, a->mask);
  set_loops(&j);
  return j;
}

/* The matrices of lse: those of one row each. */
static matrices rows_of_lse(const blocks *j, const st_tensor *lse) {
  const int64_t head = j->queries * j->size;
  return (matrices){st__data(lse), j->heads * head, head, head, j->size};
}

/* How many units a share has at least. */
static int64_t grain_of(const blocks *j, int64_t unit) {
  return (int64_t)(GRAIN / ((double)unit * (double)(j->width + j->depth) *
                            (double)j->keys + 1)) + 1;
}

void st__attention_forward(st_op_scope *c, const st_attention *a,
                           st_tensor *out[2]) {
  blocks j = blocks_for(c, a);
  out[0] = new_like(c, a->query, size_of(a->value, 1));
  out[1] = ST_APPLY(c, ST_OP_new_empty, a->query,
                    st__of_ints(a->query->sizes, a->query->ndim - 1));
  if (!st__scope_ok(c)) return;
  j.out = matrices_of(out[0]);
  j.lse = rows_of_lse(&j, out[1]);
  j.units = j.batch * j.heads * blocks_of(&j);
  c->status = run_shares(&j, 1, grain_of(&j, QUERIES), run_forward);
}

void st__attention_backward(st_op_scope *c, const st_attention *a,
                            const st_attention_back *back, st_tensor *out[3]) {
  const st_tensor *inputs[] = {a->query, a->key, a->value};
  blocks j = blocks_for(c, a);
  const st_tensor *grad = with_rows(c, back->grad);
  const st_tensor *result = with_rows(c, back->out);
  const st_tensor *lse =
    ST_APPLY(c, ST_OP_contiguous, back->lse, ST_FORMAT_CONTIGUOUS);
  for (int i = 0; i < 3; i++) {
    out[i] = new_like(c, inputs[i], size_of(inputs[i], 1));
  }
  if (!st__scope_ok(c)) return;
  j.grad = matrices_of(grad);
  j.out = matrices_of(result);
  j.lse = rows_of_lse(&j, lse);
  j.dq = matrices_of(out[0]);
  j.dk = matrices_of(out[1]);
  j.dv = matrices_of(out[2]);
  j.units = j.batch * j.heads / j.group;
  c->status = run_shares(&j, 2, grain_of(&j, 2 * j.queries * j.group),
                         run_backward);
}
