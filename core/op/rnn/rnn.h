/* Recurrent layers: GRU, LSTM and Elman's with tanh or relu.
 *
 * A layer in one direction is the operator _rnn_layer. Its inputs are gates,
 * the product of all time steps and the weights of the input, so that one call
 * of BLAS computes them; a step multiplies the state only. The rows of all
 * steps follow one another, batch_sizes[t] of step t: a padded sequence has
 * equal sizes, those of a packed one decrease.
 *
 * Note [What a recurrent layer keeps]
 * For the gradient a step keeps in each row of `saved`, in units of the hidden
 * size: GRU r, z, n, the product of h and the weights of n, the h before; LSTM
 * i, f, g, o, tanh of the new c, the c before, the h before; the others the new
 * h and the h before. The gradient of the weights is then one product of all
 * steps. Without a gradient the rows of one step serve all steps, and `saved`
 * is empty.
 */
#ifndef ST_OP_RNN_RNN_H
#define ST_OP_RNN_RNN_H

#include "op/row/composite.h"

typedef enum st_rnn_mode {
  ST_RNN_GRU, ST_RNN_LSTM, ST_RNN_TANH, ST_RNN_RELU, ST_RNN_MODES
} st_rnn_mode;

/* Gates of a unit, and what it keeps. */
typedef struct st_rnn_kind { int gates, saved; } st_rnn_kind;

static inline st_rnn_kind st__rnn_kind(st_rnn_mode mode) {
  return mode == ST_RNN_GRU ? (st_rnn_kind){3, 5}
       : mode == ST_RNN_LSTM ? (st_rnn_kind){4, 7} : (st_rnn_kind){1, 2};
}

/* The arguments of _rnn_layer. cx: of LSTM only; bias: or NULL. */
typedef struct st_rnn {
  const st_tensor *gates, *hx, *cx, *weight, *bias;
  st_rnn_mode mode;
  st_ints sizes;     /* of the batch at each step */
  bool reverse, keep;
  int64_t rows, batch, hidden;
  st_dtype dtype;    /* of the computation: float32 or float64 */
  const st_tensor *like;  /* of the device of the results */
} st_rnn;

/* Checks mode and sizes, and sets rows: of steps that begin with `batch`
 * rows. */
st_status st__rnn_check_sizes(st_rnn *r, int64_t batch);
/* Makes the results meta tensors if t is one, which may be NULL. */
static inline void st__rnn_follow(st_rnn *r, const st_tensor *t) {
  if (t) r->like = st__meta_or(t, r->like);
}
/* Reads the arguments up to reverse. BAD_VALUE for the mode. */
st_status st__rnn_take(const st_value **args, st_rnn *r);
/* The same, and checks them. */
st_status st__rnn_read(const st_value **args, st_rnn *r);
/* Calls _rnn_layer, or, with a projection (or NULL) and for complex numbers,
 * _rnn_layer_steps. out: output, hy, cy. */
void st__rnn_apply(st_op_scope *c, const st_rnn *r,
                   const st_tensor *projection, st_tensor **out);

/* t in the dtype of the computation, contiguous; NULL for NULL. */
st_tensor *st__rnn_floats(st_op_scope *c, const st_rnn *r, const st_tensor *t);
/* A new contiguous matrix in that dtype, or a copy. */
st_tensor *st__rnn_new(st_op_scope *c, const st_rnn *r, int64_t rows,
                       int64_t columns);
st_tensor *st__rnn_copy(st_op_scope *c, const st_rnn *r, const st_tensor *t);

/* Rows of matrices, in the dtype of r: the first one, and bytes between two. */
typedef struct st_rnn_rows { char *p; int64_t step; } st_rnn_rows;

/* Units [column, ...) of row 0 of a matrix of `width` units. */
st_rnn_rows st__rnn_at(const st_rnn *r, st_rnn_rows first, int64_t column);
/* Row `row` of matrix t; none if t is NULL. */
st_rnn_rows st__rnn_row(const st_tensor *t, int64_t row);
/* Runs a kernel on n rows of these operands. */
void st__rnn_run(const st_rnn *r, st_kernel_id id, int64_t columns, int64_t n,
                 int nops, const st_rnn_rows *ops, const void *ctx);

/* The steps in the order in which they run. */
typedef struct st_rnn_walk {
  const st_rnn *r;
  bool from_end;
  int64_t at, offset;  /* of the current step, and of its first row */
} st_rnn_walk;

st_rnn_walk st__rnn_walk(const st_rnn *r, bool from_end);
/* Moves to the first or the next step; false at the end. */
bool st__rnn_next(st_rnn_walk *w);

#endif
