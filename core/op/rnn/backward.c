/* _rnn_layer_backward: the steps of _rnn_layer, the last one first.
 */

#include "op/create/factory.h"
#include "op/linalg/gemm.h"
#include "op/rnn/rnn.h"

#include "base/threads.h"
#include "tensor/view.h"

enum { GRAIN = 4096 }; /* units of a thread */

/* The matrices, of which hidden is gates except for GRU; dout: the gradient of
 * the output. */
typedef struct layer {
  const st_rnn *r;
  const st_tensor *weight, *dout, *saved;
  st_tensor *dh, *dc, *gates, *hidden;
} layer;

typedef struct step {
  const layer *l;
  int64_t offset;
} step;

static void step_range(void *ctx, int64_t begin, int64_t end) {
  const step *f = ctx;
  const layer *l = f->l;
  const st_rnn *r = l->r;
  const int64_t at = f->offset + begin, n = end - begin;
  const st_rnn_rows dh = st__rnn_row(l->dh, begin);
  const st_rnn_rows dout = st__rnn_row(l->dout, at);
  const st_rnn_rows gates = st__rnn_row(l->gates, at);
  const st_rnn_rows saved = st__rnn_row(l->saved, at);
  if (r->mode == ST_RNN_GRU) {
    const st_rnn_rows ops[] = {dh, dout, gates, st__rnn_row(l->hidden, at),
                               saved};
    st__rnn_run(r, ST_K_gru_backward, r->hidden, n, 5, ops, NULL);
  } else if (r->mode == ST_RNN_LSTM) {
    const st_rnn_rows ops[] = {dh, st__rnn_row(l->dc, begin), dout, gates,
                               saved};
    st__rnn_run(r, ST_K_lstm_backward, r->hidden, n, 5, ops, NULL);
  } else {
    const st_rnn_rows ops[] = {dh, dout, gates, saved};
    st__rnn_run(r, ST_K_rnn_backward, r->hidden, n, 4, ops,
                r->mode == ST_RNN_RELU ? r : NULL);
  }
}

/* dh = the gradient through the gates; with GRU it is added to that beside
 * them. */
static st_status through_gates(const layer *l, int64_t offset, int64_t n) {
  st_tensor *dh = NULL, *hidden = NULL;
  st_status status;
  ST_TRY_FAIL(st__view_narrow(l->dh, 0, 0, n, &dh));
  ST_TRY_FAIL(st__view_narrow(l->hidden, 0, offset, n, &hidden));
  status = st__gemm(hidden, l->weight, dh, st__scalar_int(1),
                    st__scalar_int(l->r->mode == ST_RNN_GRU));
fail:
  st__tensor_release(&dh);
  st__tensor_release(&hidden);
  return status;
}

static st_status run_layer(const layer *l) {
  const st_rnn *r = l->r;
  st_rnn_walk w = st__rnn_walk(r, !r->reverse);
  const int64_t grain = GRAIN / (r->hidden + 1) + 1;
  while (r->hidden > 0 && st__rnn_next(&w)) {
    const int64_t n = r->sizes.p[w.at];
    step f = {l, w.offset};
    if (n == 0) continue;
    ST_TRY(st__parallel_try(0, n, grain, step_range, &f));
    ST_TRY(through_gates(l, w.offset, n));
  }
  return ST_OK;
}

/* The product of the gates of all steps and of the h before. */
static st_tensor *weight_gradient(st_op_scope *c, const layer *l) {
  const st_rnn *r = l->r;
  const st_tensor *h = st__apply_narrow(
    c, l->saved, 1, (st__rnn_kind(r->mode).saved - 1) * r->hidden, r->hidden);
  return st__apply2(c, ST_OP_mm, st__apply1(c, ST_OP_t, l->hidden), h);
}

static st_status check(const st_rnn *r, const st_tensor *const grads[3],
                       const st_tensor *saved) {
  const int64_t rows[] = {r->rows, r->batch, r->batch};
  static const char *const names[] = {"grad_output", "grad_hy", "grad_cy"};
  const int64_t width = st__rnn_kind(r->mode).saved * r->hidden;
  for (int i = 0; i < (r->mode == ST_RNN_LSTM ? 3 : 2); i++) {
    const st_tensor *t = grads[i];
    if (t->ndim == 2 && t->sizes[0] == rows[i] && t->sizes[1] == r->hidden) {
      continue;
    }
    return st__fail(ST_BAD_SHAPE, "%s must have shape [%lld, %lld], not %s",
                    names[i], (long long)rows[i], (long long)r->hidden,
                    ST_SHAPE_TEXT(t));
  }
  if (saved->ndim != 2 || saved->sizes[0] != r->rows ||
      saved->sizes[1] != width || saved->dtype != r->dtype) {
    return st__fail(ST_BAD_SHAPE, "saved must be what _rnn_layer returns if "
                    "keep is true, of shape [%lld, %lld], not %s",
                    (long long)r->rows, (long long)width,
                    ST_SHAPE_TEXT(saved));
  }
  return ST_OK;
}

ST_BOXED(st__box_rnn_layer_backward) {
  const st_tensor *grads[3], *saved;
  st_rnn r;
  st_op_scope c = {.status = ST_OK};
  for (int i = 0; i < 3; i++) grads[i] = st__next_tensor(&args);
  ST_TRY(st__rnn_read(&args, &r));
  saved = st__next_tensor(&args);
  ST_TRY(st__check_cpu_or_meta(r.gates));
  ST_TRY(check(&r, grads, saved));
  for (int i = 0; i < 3; i++) st__rnn_follow(&r, grads[i]);
  st__rnn_follow(&r, saved);
  const bool lstm = r.mode == ST_RNN_LSTM;
  const int64_t width = st__rnn_kind(r.mode).gates * r.hidden;
  layer l = {.r = &r};
  l.saved = st__rnn_floats(&c, &r, saved);
  l.weight = st__rnn_floats(&c, &r, r.weight);
  l.dout = st__rnn_floats(&c, &r, grads[0]);
  l.dh = st__rnn_copy(&c, &r, grads[1]);
  if (lstm) l.dc = st__rnn_copy(&c, &r, grads[2]);
  l.gates = l.hidden = st__rnn_new(&c, &r, r.rows, width);
  if (r.mode == ST_RNN_GRU) {
    l.hidden = st__rnn_new(&c, &r, r.rows, width);
  }
  if (st__scope_ok(&c) && st__has_elements(l.gates)) c.status = run_layer(&l);
  const st_tensor *weight = weight_gradient(&c, &l), *bias = NULL;
  if (r.bias) {
    bias = ST_APPLY(&c, ST_OP_sum_dim_IntList, l.hidden, ST_INTS(0));
  }
  const st_dtype d = r.gates->dtype;
  const st_tensor *none = st__rnn_new(&c, &r, 0, 0);
  st_tensor *results[] = {
    st__apply_to(&c, l.gates, d), st__apply_to(&c, l.dh, d),
    st__apply_to(&c, lstm ? l.dc : none, d), st__apply_to(&c, weight, d),
    st__apply_to(&c, bias ? bias : none, d)};
  return st__scope_end(&c, 5, results, rets);
}
