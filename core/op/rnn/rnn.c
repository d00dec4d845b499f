/* What the passes of a recurrent layer share: arguments, rows, steps.
 */

#include "op/rnn/rnn.h"

#include <inttypes.h>

/* -- Arguments ------------------------------------------------------------ */

st_status st__rnn_check_sizes(st_rnn *r, int64_t batch) {
  int64_t last = batch;
  r->rows = 0;
  if (r->sizes.n == 0) {
    return st__fail(ST_BAD_SHAPE, "a sequence needs one step or more");
  }
  for (uint32_t i = 0; i < r->sizes.n; i++) {
    const int64_t n = r->sizes.p[i];
    if (n < 0 || n > last || (i == 0 && n != batch)) {
      return st__fail(ST_BAD_VALUE, "batch_sizes must begin with the batch "
                      "size %lld of the hidden state and not increase; number "
                      "%u is %lld", (long long)batch, i + 1, (long long)n);
    }
    last = n;
    if (__builtin_add_overflow(r->rows, n, &r->rows)) {
      return st__fail(ST_BAD_SHAPE, "a sequence has more than 2^63 - 1 rows");
    }
  }
  return ST_OK;
}

static st_status check_matrix(const st_tensor *t, const char *name,
                              int64_t rows, int64_t columns, st_dtype dtype) {
  if (t->ndim != 2 || t->sizes[0] != rows || t->sizes[1] != columns) {
    return st__fail(ST_BAD_SHAPE, "%s must have shape [%lld, %lld], not %s",
                    name, (long long)rows, (long long)columns,
                    ST_SHAPE_TEXT(t));
  }
  if (t->dtype != dtype) {
    return st__fail(ST_BAD_DTYPE, "%s must have the dtype %s of gates, not %s",
                    name, st__dtype_name(dtype), st__dtype_name(t->dtype));
  }
  return ST_OK;
}

static st_status check(st_rnn *r) {
  const int64_t n = st__rnn_kind(r->mode).gates;
  const st_dtype dtype = r->gates->dtype;
  if (r->hx->ndim != 2) {
    return st__fail(ST_BAD_SHAPE, "hx must have two dimensions, its shape is "
                    "%s", ST_SHAPE_TEXT(r->hx));
  }
  r->batch = r->hx->sizes[0];
  r->hidden = r->hx->sizes[1];
  if (r->hidden > INT32_MAX) {
    return st__fail(ST_BAD_SHAPE, "hx, of shape %s, has more than 2^31 - 1 "
                    "units", ST_SHAPE_TEXT(r->hx));
  }
  ST_TRY(st__rnn_check_sizes(r, r->batch));
  ST_TRY(check_matrix(r->weight, "weight", n * r->hidden, r->hidden, dtype));
  ST_TRY(check_matrix(r->gates, "gates", r->rows, n * r->hidden, dtype));
  ST_TRY(check_matrix(r->hx, "hx", r->batch, r->hidden, dtype));
  if (r->mode == ST_RNN_LSTM) {
    if (!r->cx) return st__fail(ST_BAD_VALUE, "cx is required for lstm");
    ST_TRY(check_matrix(r->cx, "cx", r->batch, r->hidden, dtype));
  }
  if (r->bias && (r->bias->ndim != 1 || r->bias->sizes[0] != n * r->hidden ||
                  r->bias->dtype != dtype)) {
    return st__fail(ST_BAD_SHAPE, "bias must have %" PRId64 " elements of "
                    "dtype %s, it has shape %s and dtype %s",
                    n * r->hidden, st__dtype_name(dtype),
                    ST_SHAPE_TEXT(r->bias), st__dtype_name(r->bias->dtype));
  }
  return ST_OK;
}

st_status st__rnn_take(const st_value **args, st_rnn *r) {
  r->gates = st__next_tensor(args);
  r->hx = st__next_tensor(args);
  r->cx = st__next_tensor(args);
  r->weight = st__next_tensor(args);
  r->bias = st__next_tensor(args);
  const int64_t mode = st__next_int(args);
  r->sizes = st__next_ints(args);
  r->reverse = st__next_bool(args);
  if (mode < 0 || mode >= ST_RNN_MODES) {
    return st__fail(ST_BAD_VALUE, "mode must be 0, 1, 2 or 3, it is %lld",
                    (long long)mode);
  }
  r->mode = (st_rnn_mode)mode;
  return ST_OK;
}

st_status st__rnn_read(const st_value **args, st_rnn *r) {
  ST_TRY(st__rnn_take(args, r));
  if (!st__is_floating(r->gates->dtype)) {
    return st__no_kernel_for(r->gates->dtype);
  }
  r->dtype = r->gates->dtype == ST_FLOAT64 ? ST_FLOAT64 : ST_FLOAT32;
  r->like = r->gates;
  st__rnn_follow(r, r->hx);
  st__rnn_follow(r, r->cx);
  st__rnn_follow(r, r->weight);
  st__rnn_follow(r, r->bias);
  return check(r);
}

/* -- Calls ---------------------------------------------------------------- */

static bool has_gradient(const st_tensor *t) {
  return t && (t->keys & ST_AUTOGRAD_BITS);
}

void st__rnn_apply(st_op_scope *c, const st_rnn *r,
                   const st_tensor *projection, st_tensor **out) {
  const bool keep = st__tls().grad &&
    (has_gradient(r->gates) || has_gradient(r->hx) || has_gradient(r->cx) ||
     has_gradient(r->weight) || has_gradient(r->bias));
  const bool fused = !projection && st__is_floating(r->gates->dtype);
  st_tensor *all[4];
  const st_value args[] = {
    st__of_tensor(r->gates), st__of_tensor(r->hx), st__of_tensor(r->cx),
    st__of_tensor(r->weight), st__of_tensor(r->bias), st__of_int(r->mode),
    st__of_ints(r->sizes.p, (int)r->sizes.n), st__of_bool(r->reverse),
    fused ? st__of_bool(keep) : st__of_tensor(projection)};
  st__apply_multi(c, fused ? ST_OP__rnn_layer : ST_OP__rnn_layer_steps, 9,
                  args, fused ? 4 : 3, all);
  for (int i = 0; i < 3; i++) out[i] = all[i];
}

/* -- Tensors -------------------------------------------------------------- */

st_tensor *st__rnn_floats(st_op_scope *c, const st_rnn *r,
                          const st_tensor *t) {
  if (!t) return NULL;
  return st__apply1(c, ST_OP_contiguous, st__apply_to(c, t, r->dtype));
}

st_tensor *st__rnn_new(st_op_scope *c, const st_rnn *r, int64_t rows,
                       int64_t columns) {
  return ST_APPLY(c, ST_OP_new_empty, r->like, ST_INTS(rows, columns),
                  r->dtype);
}

st_tensor *st__rnn_copy(st_op_scope *c, const st_rnn *r, const st_tensor *t) {
  return st__apply2(c, ST_OP_copy_,
                    st__rnn_new(c, r, t->sizes[0], t->sizes[1]), t);
}

st_rnn_rows st__rnn_row(const st_tensor *t, int64_t row) {
  if (!t) return (st_rnn_rows){NULL, 0};
  const int64_t step = t->sizes[1] * (int64_t)st__itemsize(t->dtype);
  return (st_rnn_rows){(char *)st__data(t) + row * step, step};
}

st_rnn_rows st__rnn_at(const st_rnn *r, st_rnn_rows first, int64_t column) {
  first.p += column * r->hidden * (int64_t)st__itemsize(r->dtype);
  return first;
}

void st__rnn_run(const st_rnn *r, st_kernel_id id, int64_t columns, int64_t n,
                 int nops, const st_rnn_rows *ops, const void *ctx) {
  char *data[5];
  int64_t s[10];
  for (int i = 0; i < nops; i++) {
    data[i] = ops[i].p;
    s[i] = (int64_t)st__itemsize(r->dtype);
    s[nops + i] = ops[i].step;
  }
  st__kernel(id, r->dtype)(data, s, columns, n, ctx);
}

/* -- Steps ---------------------------------------------------------------- */

st_rnn_walk st__rnn_walk(const st_rnn *r, bool from_end) {
  return (st_rnn_walk){r, from_end, from_end ? (int64_t)r->sizes.n : -1,
                       from_end ? r->rows : 0};
}

bool st__rnn_next(st_rnn_walk *w) {
  const st_ints sizes = w->r->sizes;
  if (!w->from_end && w->at >= 0) w->offset += sizes.p[w->at];
  w->at += w->from_end ? -1 : 1;
  if (w->at < 0 || w->at >= sizes.n) return false;
  if (w->from_end) w->offset -= sizes.p[w->at];
  return true;
}
