/* _rnn_layer: the steps of a recurrent layer.
 */

#include "op/create/factory.h"
#include "op/linalg/gemm.h"
#include "op/rnn/rnn.h"

#include <string.h>

#include "base/threads.h"
#include "tensor/view.h"

/* Units of a thread; rows from which products with the transposed weight, which
 * all steps share, are faster if it is contiguous. */
enum { GRAIN = 4096, TRANSPOSED = 16 };

/* -- A step --------------------------------------------------------------- */

/* Row 0 of the matrices of a step. */
typedef struct step {
  const st_rnn *r;
  st_rnn_rows gates, product, saved, h, c, out;
  const char *bias;
} step;

static void copy_rows(const st_rnn *r, st_rnn_rows to, st_rnn_rows from,
                      int64_t n) {
  const size_t size = (size_t)r->hidden * st__itemsize(r->dtype);
  for (int64_t j = 0; j < n; j++) {
    memcpy(to.p + j * to.step, from.p + j * from.step, size);
  }
}

#define AT(rows, column) st__rnn_at(r, f->rows, column)
#define RUN(id, columns, ...)                                           \
  st__rnn_run(r, ST_K_##id, columns, n,                                 \
              sizeof (st_rnn_rows[]){__VA_ARGS__} / sizeof(st_rnn_rows), \
              (st_rnn_rows[]){__VA_ARGS__}, NULL)

static void gru(const step *f, int64_t n) {
  const st_rnn *r = f->r;
  const int64_t width = r->hidden;
  const st_rnn_rows new[] = {AT(saved, 2), AT(saved, 3), AT(gates, 2),
                             AT(product, 2), f->saved};
  const char *bias = f->bias;
  st__rnn_run(r, ST_K_gate_sum, 2 * width, n, 3,
              (st_rnn_rows[]){f->saved, f->gates, f->product}, bias);
  RUN(sigmoid, 2 * width, f->saved, f->saved);
  if (bias) bias += 2 * width * (int64_t)st__itemsize(r->dtype);
  st__rnn_run(r, ST_K_gru_new, width, n, 5, new, bias);
  RUN(tanh, width, new[0], new[0]);
  if (r->keep) copy_rows(r, AT(saved, 4), f->h, n);
  RUN(gru_hidden, width, f->h, f->out, new[0], AT(saved, 1));
}

static void lstm(const step *f, int64_t n) {
  const st_rnn *r = f->r;
  const int64_t width = r->hidden;
  const st_rnn_rows g = AT(saved, 2), o = AT(saved, 3), t = AT(saved, 4);
  st__rnn_run(r, ST_K_gate_sum, 4 * width, n, 3,
              (st_rnn_rows[]){f->saved, f->gates, f->product}, f->bias);
  RUN(sigmoid, 2 * width, f->saved, f->saved);
  RUN(tanh, width, g, g);
  RUN(sigmoid, width, o, o);
  if (r->keep) copy_rows(r, AT(saved, 5), f->c, n);
  if (r->keep) copy_rows(r, AT(saved, 6), f->h, n);
  RUN(lstm_cell, width, f->c, f->saved, AT(saved, 1), g);
  RUN(tanh, width, t, f->c);
  RUN(lstm_hidden, width, f->h, f->out, o, t);
}

static void elman(const step *f, int64_t n) {
  const st_rnn *r = f->r;
  st__rnn_run(r, ST_K_gate_sum, r->hidden, n, 3,
              (st_rnn_rows[]){f->saved, f->gates, f->product}, f->bias);
  if (r->mode == ST_RNN_TANH) RUN(tanh, r->hidden, f->saved, f->saved);
  else RUN(relu, r->hidden, f->saved, f->saved);
  if (r->keep) copy_rows(r, AT(saved, 1), f->h, n);
  copy_rows(r, f->h, f->saved, n);
  copy_rows(r, f->out, f->saved, n);
}

static st_rnn_rows from_row(st_rnn_rows rows, int64_t row) {
  if (rows.p) rows.p += row * rows.step;
  return rows;
}

static void step_range(void *ctx, int64_t begin, int64_t end) {
  step f = *(const step *)ctx;
  f.gates = from_row(f.gates, begin);
  f.product = from_row(f.product, begin);
  f.saved = from_row(f.saved, begin);
  f.h = from_row(f.h, begin);
  f.c = from_row(f.c, begin);
  f.out = from_row(f.out, begin);
  if (f.r->mode == ST_RNN_GRU) gru(&f, end - begin);
  else if (f.r->mode == ST_RNN_LSTM) lstm(&f, end - begin);
  else elman(&f, end - begin);
}

/* -- A layer -------------------------------------------------------------- */

typedef struct layer {
  const st_rnn *r;
  const st_tensor *gates, *weight, *bias; /* weight: transposed */
  st_tensor *product, *saved, *h, *c, *out;
  st_tensor *some_h, *some_product;       /* their first rows; owned */
} layer;

/* Views of the first n rows of the state and of the product. */
static st_status begin_rows(layer *l, int64_t n) {
  if (l->some_h && l->some_h->sizes[0] == n) return ST_OK;
  st__tensor_release(&l->some_h);
  st__tensor_release(&l->some_product);
  ST_TRY(st__view_narrow(l->h, 0, 0, n, &l->some_h));
  return st__view_narrow(l->product, 0, 0, n, &l->some_product);
}

static st_status run_step(layer *l, const st_rnn_walk *w) {
  const st_rnn *r = l->r;
  const int64_t n = r->sizes.p[w->at];
  if (n == 0) return ST_OK;
  ST_TRY(begin_rows(l, n));
  ST_TRY(st__gemm(l->some_h, l->weight, l->some_product, st__scalar_int(1),
                  st__scalar_int(0)));
  step f = {r, st__rnn_row(l->gates, w->offset), st__rnn_row(l->product, 0),
            st__rnn_row(l->saved, r->keep ? w->offset : 0),
            st__rnn_row(l->h, 0), st__rnn_row(l->c, 0),
            st__rnn_row(l->out, w->offset),
            l->bias ? st__data(l->bias) : NULL};
  const int64_t grain = GRAIN / (r->hidden + 1) + 1;
  return st__parallel_try(0, n, grain, step_range, &f);
}

static st_status run_layer(layer *l) {
  st_rnn_walk w = st__rnn_walk(l->r, l->r->reverse);
  st_status status = ST_OK;
  while (status == ST_OK && l->r->hidden > 0 && st__rnn_next(&w)) {
    status = run_step(l, &w);
  }
  st__tensor_release(&l->some_h);
  st__tensor_release(&l->some_product);
  return status;
}

ST_BOXED(st__box_rnn_layer) {
  st_rnn r;
  st_op_scope c = {.status = ST_OK};
  ST_TRY(st__rnn_read(&args, &r));
  r.keep = st__next_bool(&args);
  ST_TRY(st__check_cpu_or_meta(r.gates));
  const st_rnn_kind kind = st__rnn_kind(r.mode);
  const int64_t width = kind.gates * r.hidden;
  layer l = {.r = &r};
  l.gates = st__rnn_floats(&c, &r, r.gates);
  l.weight = st__apply1(&c, ST_OP_t, st__rnn_floats(&c, &r, r.weight));
  if (r.sizes.n > 1 && r.batch >= TRANSPOSED) {
    l.weight = st__apply1(&c, ST_OP_contiguous, l.weight);
  }
  l.bias = st__rnn_floats(&c, &r, r.bias);
  l.h = st__rnn_copy(&c, &r, r.hx);
  l.c = r.mode == ST_RNN_LSTM ? st__rnn_copy(&c, &r, r.cx)
                              : st__rnn_new(&c, &r, 0, 0);
  l.product = st__rnn_new(&c, &r, r.batch, width);
  l.saved = st__rnn_new(&c, &r, r.keep ? r.rows : r.batch,
                        kind.saved * r.hidden);
  l.out = st__rnn_new(&c, &r, r.rows, r.hidden);
  if (st__scope_ok(&c) && st__has_elements(l.out)) c.status = run_layer(&l);
  const st_dtype dtype = r.gates->dtype;
  st_tensor *results[] = {
    st__apply_to(&c, l.out, dtype), st__apply_to(&c, l.h, dtype),
    st__apply_to(&c, l.c, dtype), r.keep ? l.saved : st__rnn_new(&c, &r, 0, 0)};
  return st__scope_end(&c, 4, results, rets);
}
