/* _rnn_layer_steps: a recurrent layer composed of operators, step by step. It
 * has derivatives of any order, and takes complex numbers and projections.
 */

#include "op/rnn/rnn.h"

/* -- A cell --------------------------------------------------------------- */

typedef struct state { st_tensor *h, *c; } state;

static st_tensor *units(st_op_scope *c, const st_tensor *t, int64_t column,
                        int64_t n, int64_t width) {
  return st__apply_narrow(c, t, 1, column * width, n * width);
}

static st_tensor *linear(st_op_scope *c, const st_tensor *x,
                         const st_tensor *weight, const st_tensor *bias) {
  return ST_APPLY(c, ST_OP_linear, x, weight, bias);
}

static state gru(st_op_scope *c, const st_tensor *a, const st_tensor *b,
                 state s, int64_t width) {
  const st_tensor *both = st__apply1(
    c, ST_OP_sigmoid, st__plus(c, units(c, a, 0, 2, width),
                               units(c, b, 0, 2, width)));
  const st_tensor *r = units(c, both, 0, 1, width);
  const st_tensor *z = units(c, both, 1, 1, width);
  const st_tensor *n =
    st__apply1(c, ST_OP_tanh,
               st__plus(c, units(c, a, 2, 1, width),
                        st__mul(c, units(c, b, 2, 1, width), r)));
  return (state){st__plus(c, st__mul(c, st__minus(c, s.h, n), z), n), NULL};
}

static state lstm(st_op_scope *c, const st_tensor *a, const st_tensor *b,
                  state s, int64_t width) {
  const st_tensor *all = st__plus(c, a, b);
  const st_tensor *both = st__apply1(c, ST_OP_sigmoid,
                                     units(c, all, 0, 2, width));
  const st_tensor *g = st__apply1(c, ST_OP_tanh, units(c, all, 2, 1, width));
  const st_tensor *o = st__apply1(c, ST_OP_sigmoid,
                                  units(c, all, 3, 1, width));
  s.c = st__plus(c, st__mul(c, units(c, both, 1, 1, width), s.c),
                 st__mul(c, units(c, both, 0, 1, width), g));
  s.h = st__mul(c, o, st__apply1(c, ST_OP_tanh, s.c));
  return s;
}

static state cell(st_op_scope *c, const st_rnn *r, const st_tensor *gates,
                  const st_tensor *projection, state s) {
  const st_tensor *product = linear(c, s.h, r->weight, r->bias);
  if (r->mode == ST_RNN_GRU) s = gru(c, gates, product, s, r->hidden);
  else if (r->mode == ST_RNN_LSTM) s = lstm(c, gates, product, s, r->hidden);
  else {
    s.h = st__apply1(c, r->mode == ST_RNN_TANH ? ST_OP_tanh : ST_OP_relu,
                     st__plus(c, gates, product));
  }
  if (projection) s.h = linear(c, s.h, projection, NULL);
  return s;
}

/* -- Steps ---------------------------------------------------------------- */

static st_tensor *first_rows(st_op_scope *c, st_tensor *t, int64_t n) {
  return !t || t->sizes[0] == n ? t : st__apply_narrow(c, t, 0, 0, n);
}

/* The new rows, and those of the old state that the step leaves. */
static st_tensor *replace_rows(st_op_scope *c, st_tensor *some,
                               st_tensor *old, int64_t n) {
  if (!old || old->sizes[0] == n) return some;
  st_tensor *both[] = {some, st__apply_narrow(c, old, 0, n,
                                              old->sizes[0] - n)};
  return ST_APPLY(c, ST_OP_cat, st__of_tensors(both, 2), 0);
}

/* Replaces the owned state *s; *out: the new rows of h, owned. */
static st_status run_step(const st_rnn_walk *w, const st_tensor *projection,
                          state *s, st_tensor **out) {
  const st_rnn *r = w->r;
  const int64_t n = r->sizes.p[w->at];
  st_op_scope c = {.status = ST_OK};
  st_value values[3];
  const st_tensor *gates = st__apply_narrow(&c, r->gates, 0, w->offset, n);
  const state some = cell(&c, r, gates, projection,
                          (state){first_rows(&c, s->h, n),
                                  first_rows(&c, s->c, n)});
  st_tensor *results[] = {some.h, replace_rows(&c, some.h, s->h, n),
                          replace_rows(&c, some.c, s->c, n)};
  ST_TRY(st__scope_end(&c, s->c ? 3 : 2, results, values));
  st__tensor_release(&s->h);
  s->h = values[1].u.tensor;
  if (s->c) {
    st__tensor_release(&s->c);
    s->c = values[2].u.tensor;
  }
  *out = values[0].u.tensor;
  return ST_OK;
}

static st_status read(const st_value **args, st_rnn *r) {
  ST_TRY(st__rnn_take(args, r));
  const int gates = st__rnn_kind(r->mode).gates;
  if (r->hx->ndim != 2 || r->gates->ndim != 2 ||
      r->gates->sizes[1] % gates != 0) {
    return st__fail(ST_BAD_SHAPE, "hx and gates must be matrices, and the "
                    "latter must have %d columns per unit, they have shapes "
                    "%s and %s", gates, ST_SHAPE_TEXT(r->hx),
                    ST_SHAPE_TEXT(r->gates));
  }
  r->hidden = r->gates->sizes[1] / gates;
  if ((r->mode == ST_RNN_LSTM) != (r->cx != NULL) ||
      (r->cx && (r->cx->ndim != 2 || r->cx->sizes[0] != r->hx->sizes[0]))) {
    return st__fail(ST_BAD_VALUE, "cx must be a matrix with the rows of hx for "
                    "lstm, and none otherwise");
  }
  ST_TRY(st__rnn_check_sizes(r, r->hx->sizes[0]));
  if (r->gates->sizes[0] == r->rows) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "gates must have %lld rows, its shape is %s",
                  (long long)r->rows, ST_SHAPE_TEXT(r->gates));
}

ST_BOXED(st__box_rnn_layer_steps) {
  st_rnn r;
  state s;
  st_value outs;
  st_op_scope c = {.status = ST_OK};
  ST_TRY(read(&args, &r));
  ST_ARGS(TENSOR(projection));
  ST_TRY(st__value_new_tensors((int)r.sizes.n, &outs));
  st__tensor_retain(s.h = (st_tensor *)(uintptr_t)r.hx);
  if ((s.c = (st_tensor *)(uintptr_t)r.cx)) st__tensor_retain(s.c);
  st_rnn_walk w = st__rnn_walk(&r, r.reverse);
  while (st__scope_goes_on(&c) && st__rnn_next(&w)) {
    c.status = run_step(&w, projection, &s, &outs.u.tensors[w.at]);
  }
  st_tensor *results[] = {
    ST_APPLY(&c, ST_OP_cat, outs, 0), s.h,
    s.c ? s.c : ST_APPLY(&c, ST_OP_new_empty, r.hx, ST_INTS(0))};
  const st_status status = st__scope_end(&c, 3, results, rets);
  st__tensor_release(&s.h);
  st__tensor_release(&s.c);
  st__value_clear(&outs);
  return status;
}
