/* Recurrent cells, and networks of recurrent layers: gru, lstm, rnn_tanh,
 * rnn_relu.
 */

#include "op/rnn/rnn.h"

/* -- Arguments ------------------------------------------------------------ */

/* The weights of a layer in one direction; b_ih, b_hh, w_hr may be NULL. */
typedef struct weights {
  st_tensor *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
} weights;

static st_status check_weight(const st_tensor *t, const char *name,
                              const st_tensor *x) {
  if (t->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "%s must be a matrix, its shape is %s", name,
                    ST_SHAPE_TEXT(t));
  }
  if (t->dtype == x->dtype) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "the input is %s, but %s is %s: convert one of "
                  "them", st__dtype_name(x->dtype), name,
                  st__dtype_name(t->dtype));
}

/* x: rows of features. */
static st_status check_features(const st_tensor *x, const weights *w) {
  ST_TRY(check_weight(w->w_ih, "w_ih", x));
  ST_TRY(check_weight(w->w_hh, "w_hh", x));
  if (x->sizes[1] == w->w_ih->sizes[1]) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "the input has %lld features, but w_ih, of "
                  "shape %s, takes %lld", (long long)x->sizes[1],
                  ST_SHAPE_TEXT(w->w_ih), (long long)w->w_ih->sizes[1]);
}

/* -- One direction -------------------------------------------------------- */

/* r: state, mode, sizes and direction. out: output, hy, cy. */
static void direction(st_op_scope *c, st_rnn *r, const st_tensor *x,
                      const weights *w, st_tensor **out) {
  if (st__scope_ok(c)) c->status = check_features(x, w);
  const st_value args[] = {st__of_tensor(x), st__of_tensor(w->w_ih),
                           st__of_tensor(w->b_ih)};
  for (int i = 0; i < 3; i++) out[i] = NULL;
  r->gates = st__apply(c, ST_OP_linear, 3, args);
  r->weight = w->w_hh;
  r->bias = w->b_hh;
  if (st__scope_ok(c)) st__rnn_apply(c, r, w->w_hr, out);
}

/* -- Cells ---------------------------------------------------------------- */

static st_status check_cell(const st_tensor *input, const st_rnn *r) {
  const st_tensor *hx = r->hx;
  if (input->ndim != 2 || hx->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "input and hx must be matrices of shapes (N, "
                    "features) and (N, units), they have shapes %s and %s",
                    ST_SHAPE_TEXT(input), ST_SHAPE_TEXT(hx));
  }
  if (input->sizes[0] == hx->sizes[0]) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "the batch size of input, of shape %s, is not "
                  "that of hx, of shape %s", ST_SHAPE_TEXT(input),
                  ST_SHAPE_TEXT(hx));
}

static st_status run_cell(st_rnn *r, const st_tensor *input,
                          const st_value *args, int nstates,
                          st_value *rets) {
  weights w = {.w_hr = NULL};
  st_tensor *out[3];
  st_op_scope c = {.status = check_cell(input, r)};
  ST_ARGS_TO(w, TENSOR(w_ih), TENSOR(w_hh), TENSOR(b_ih), TENSOR(b_hh));
  if (!st__scope_ok(&c)) return c.status;
  r->sizes = (st_ints){&input->sizes[0], 1};
  direction(&c, r, input, &w, out);
  return st__scope_end(&c, nstates, out + 1, rets);
}

static st_status cell(st_rnn_mode mode, const st_value *args,
                      st_value *rets) {
  st_rnn r = {.mode = mode};
  ST_ARGS(TENSOR(input));
  r.hx = st__next_tensor(&args);
  return run_cell(&r, input, args, 1, rets);
}

ST_BOXED(st__box_gru_cell) { return cell(ST_RNN_GRU, args, rets); }
ST_BOXED(st__box_rnn_tanh_cell) { return cell(ST_RNN_TANH, args, rets); }
ST_BOXED(st__box_rnn_relu_cell) { return cell(ST_RNN_RELU, args, rets); }

static st_status read_states(const st_value **args, st_rnn *r) {
  const st_tensors hx = st__next_tensors(args);
  if (hx.n != 2) {
    return st__fail(ST_BAD_VALUE, "hx must be the list {h, c}, it has %lld "
                    "elements", (long long)hx.n);
  }
  r->hx = hx.p[0];
  r->cx = hx.p[1];
  return ST_OK;
}

ST_BOXED(st__box_lstm_cell) {
  st_rnn r = {.mode = ST_RNN_LSTM};
  ST_ARGS(TENSOR(input));
  ST_TRY(read_states(&args, &r));
  return run_cell(&r, input, args, 2, rets);
}

/* -- Networks ------------------------------------------------------------- */

typedef struct network {
  st_rnn_mode mode;
  const st_tensor *hx, *cx;
  st_tensors params;
  bool has_biases, train, bidirectional;
  int64_t layers;
  double dropout;
  st_ints sizes;
} network;

static int directions(const network *n) { return n->bidirectional ? 2 : 1; }

static bool is_projected(const network *n) {
  return n->cx && n->hx->ndim == 3 && n->cx->ndim == 3 &&
         n->hx->sizes[2] != n->cx->sizes[2];
}

static int64_t params_of_direction(const network *n) {
  return (n->has_biases ? 4 : 2) + is_projected(n);
}

static weights weights_of(const network *n, int64_t i) {
  st_tensor *const *p = n->params.p + i * params_of_direction(n);
  weights w = {p[0], p[1], NULL, NULL, NULL};
  p += 2;
  if (n->has_biases) {
    w.b_ih = *p++;
    w.b_hh = *p++;
  }
  if (is_projected(n)) w.w_hr = *p;
  return w;
}

static st_status check_state(const network *n, const st_tensor *t,
                             const char *name, int64_t batch) {
  const int64_t count = n->layers * directions(n);
  if (t->ndim == 3 && t->sizes[0] == count && t->sizes[1] == batch) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "%s must have shape (layers and directions, "
                  "batch, units), here (%lld, %lld, units), not %s", name,
                  (long long)count, (long long)batch, ST_SHAPE_TEXT(t));
}

static st_status check_network(const network *n, int64_t batch) {
  if (n->layers < 1 || n->layers > INT32_MAX / 2) {
    return st__fail(ST_BAD_VALUE, "num_layers must be positive, it is %lld",
                    (long long)n->layers);
  }
  ST_TRY(check_state(n, n->hx, n->cx ? "hx[1]" : "hx", batch));
  if (n->cx) ST_TRY(check_state(n, n->cx, "hx[2]", batch));
  const int64_t need = n->layers * directions(n) * params_of_direction(n);
  if ((int64_t)n->params.n == need) return ST_OK;
  return st__fail(ST_BAD_VALUE, "params must have %lld tensors, it has %lld",
                  (long long)need, (long long)n->params.n);
}

static st_tensor *state_of(st_op_scope *c, const st_tensor *t, int64_t i) {
  if (!t) return NULL;
  return ST_APPLY(c, ST_OP_select_int, t, 0, i);
}

/* Runs a layer on rows *x, owned, which its output replaces. hy and cy: owned
 * final states, one per direction. */
static st_status run_layer(const network *n, int64_t layer, st_tensor **x,
                           st_tensor **hy, st_tensor **cy) {
  st_tensor *out[2][3], *sides[2];
  st_value values[5];
  st_op_scope c = {.status = ST_OK};
  const int count = directions(n);
  for (int d = 0; d < count; d++) {
    const int64_t i = layer * count + d;
    const weights w = weights_of(n, i);
    st_rnn r = {.hx = state_of(&c, n->hx, i), .cx = state_of(&c, n->cx, i),
                .mode = n->mode, .sizes = n->sizes, .reverse = d == 1};
    direction(&c, &r, *x, &w, out[d]);
    sides[d] = out[d][0];
  }
  st_tensor *y = sides[0];
  if (count == 2) y = ST_APPLY(&c, ST_OP_cat, st__of_tensors(sides, 2), 1);
  if (n->train && n->dropout != 0 && layer < n->layers - 1) {
    y = ST_APPLY(&c, ST_OP_dropout, y, st__of_float(n->dropout),
                 st__of_bool(true));
  }
  st_tensor *results[] = {y, out[0][1], out[0][2], out[count - 1][1],
                          out[count - 1][2]};
  ST_TRY(st__scope_end(&c, 1 + 2 * count, results, values));
  st__tensor_release(x);
  *x = values[0].u.tensor;
  for (int d = 0; d < count; d++) {
    hy[d] = values[1 + 2 * d].u.tensor;
    cy[d] = values[2 + 2 * d].u.tensor;
  }
  return ST_OK;
}

/* Runs all layers on rows *x, owned, which the output replaces. states: lists
 * of the final h and c. */
static st_status run_layers(const network *n, st_tensor **x,
                            const st_value *states) {
  for (int64_t i = 0; i < n->layers; i++) {
    const int64_t at = i * directions(n);
    ST_TRY(run_layer(n, i, x, states[0].u.tensors + at,
                     states[1].u.tensors + at));
  }
  return ST_OK;
}

/* The results from the rows of the output: of shape `sizes`, batch first or
 * not; and the final states. */
static st_status finish(const network *n, st_tensor *y, const st_value *states,
                        int ndim, bool batch_first, st_value *rets) {
  st_op_scope c = {.status = ST_OK};
  st_tensor *results[3] = {y, NULL, NULL};
  if (ndim == 3) {
    const int64_t sizes[] = {n->sizes.n, n->hx->sizes[1], y->sizes[1]};
    results[0] = ST_APPLY(&c, ST_OP_view, y, st__of_ints(sizes, 3));
  }
  if (batch_first) {
    results[0] = ST_APPLY(&c, ST_OP_transpose_int, results[0], 0, 1);
  }
  for (int i = 0; i < (n->cx ? 2 : 1); i++) {
    results[1 + i] = st__apply(&c, ST_OP_stack, 1, &states[i]);
  }
  return st__scope_end(&c, n->cx ? 3 : 2, results, rets);
}

/* x: rows of features, borrowed. */
static st_status run(const network *n, st_tensor *x, int ndim,
                     bool batch_first, st_value *rets) {
  const int count = (int)n->layers * directions(n);
  st_value states[2] = {st__none(), st__none()};
  st_status status;
  st__tensor_retain(x);
  ST_TRY_FAIL(st__value_new_tensors(count, &states[0]));
  ST_TRY_FAIL(st__value_new_tensors(count, &states[1]));
  ST_TRY_FAIL(run_layers(n, &x, states));
  status = finish(n, x, states, ndim, batch_first, rets);
fail:
  st__tensor_release(&x);
  st__value_clear(&states[0]);
  st__value_clear(&states[1]);
  return status;
}

/* Reads what follows the states. */
static void read_rest(const st_value **args, network *n) {
  n->params = st__next_tensors(args);
  n->has_biases = st__next_bool(args);
  n->layers = st__next_int(args);
  n->dropout = st__next_float(args);
  n->train = st__next_bool(args);
  n->bidirectional = st__next_bool(args);
}

static st_status read_network(const st_value **args, network *n) {
  st_rnn r = {.cx = NULL};
  if (n->mode == ST_RNN_LSTM) ST_TRY(read_states(args, &r));
  else r.hx = st__next_tensor(args);
  n->hx = r.hx;
  n->cx = r.cx;
  read_rest(args, n);
  return ST_OK;
}

/* -- Padded sequences ----------------------------------------------------- */

static st_status padded(st_rnn_mode mode, const st_value *args,
                        st_value *rets) {
  network n = {.mode = mode};
  ST_ARGS(MUTABLE(x));
  st_value sizes;
  st_op_scope c = {.status = ST_OK};
  ST_TRY(read_network(&args, &n));
  ST_ARGS(BOOL(batch_first));
  if (x->ndim != 3) {
    return st__fail(ST_BAD_SHAPE, "input must have three dimensions, its shape "
                    "is %s", ST_SHAPE_TEXT(x));
  }
  const int64_t steps = x->sizes[batch_first], batch = x->sizes[!batch_first];
  int64_t rows[] = {0, x->sizes[2]};
  ST_TRY(check_network(&n, batch));
  if (steps == 0 || steps > INT32_MAX ||
      __builtin_mul_overflow(steps, batch, &rows[0])) {
    return st__fail(ST_BAD_SHAPE, "the number of steps in input, of shape %s, "
                    "must be from 1 to 2^31 - 1", ST_SHAPE_TEXT(x));
  }
  if (batch_first) x = ST_APPLY(&c, ST_OP_transpose_int, x, 0, 1);
  x = ST_APPLY(&c, ST_OP_reshape, x, st__of_ints(rows, 2));
  if (st__scope_ok(&c)) c.status = st__value_new_ints((int)steps, &sizes);
  if (st__scope_ok(&c)) {
    int64_t *p = (int64_t *)(uintptr_t)sizes.u.ints;
    for (int64_t i = 0; i < steps; i++) p[i] = batch;
    n.sizes = (st_ints){p, (uint32_t)steps};
    c.status = run(&n, x, 3, batch_first, rets);
    st__value_clear(&sizes);
  }
  return st__scope_end(&c, 0, NULL, rets);
}

ST_BOXED(st__box_gru) { return padded(ST_RNN_GRU, args, rets); }
ST_BOXED(st__box_lstm) { return padded(ST_RNN_LSTM, args, rets); }
ST_BOXED(st__box_rnn_tanh) { return padded(ST_RNN_TANH, args, rets); }
ST_BOXED(st__box_rnn_relu) { return padded(ST_RNN_RELU, args, rets); }

/* -- Packed sequences ----------------------------------------------------- */

static st_status check_packed(const st_tensor *data, const st_tensor *sizes,
                              network *n, const int64_t *p) {
  st_rnn r = {.sizes = {p, (uint32_t)sizes->numel}};
  if (data->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "data must be a matrix with a row for each "
                    "step of a sequence, its shape is %s",
                    ST_SHAPE_TEXT(data));
  }
  ST_TRY(check_network(n, n->hx->ndim == 3 ? n->hx->sizes[1] : 0));
  ST_TRY(st__rnn_check_sizes(&r, n->hx->sizes[1]));
  n->sizes = r.sizes;
  if (r.rows == data->sizes[0]) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "the sum of batch_sizes is %lld, but data has "
                  "%lld rows", (long long)r.rows, (long long)data->sizes[0]);
}

static st_status packed(st_rnn_mode mode, const st_value *args,
                        st_value *rets) {
  network n = {.mode = mode};
  ST_ARGS(MUTABLE(data), TENSOR(sizes));
  st_op_scope c = {.status = ST_OK};
  ST_TRY(read_network(&args, &n));
  ST_TRY(st__check_strided(sizes));
  if (sizes->ndim != 1 || sizes->dtype != ST_INT64 ||
      !st__has_elements(sizes) || sizes->numel > INT32_MAX) {
    return st__fail(ST_BAD_VALUE, "batch_sizes must be an int64 vector on the "
                    "CPU, it has shape %s, dtype %s and device %s",
                    ST_SHAPE_TEXT(sizes), st__dtype_name(sizes->dtype),
                    st__device_name(sizes->device));
  }
  const int64_t *p = st__scope_snapshot(&c, sizes);
  if (st__scope_ok(&c)) c.status = check_packed(data, sizes, &n, p);
  if (st__scope_ok(&c)) c.status = run(&n, data, 2, false, rets);
  return st__scope_end(&c, 0, NULL, rets);
}

ST_BOXED(st__box_gru_data) { return packed(ST_RNN_GRU, args, rets); }
ST_BOXED(st__box_lstm_data) { return packed(ST_RNN_LSTM, args, rets); }
ST_BOXED(st__box_rnn_tanh_data) { return packed(ST_RNN_TANH, args, rets); }
ST_BOXED(st__box_rnn_relu_data) { return packed(ST_RNN_RELU, args, rets); }
