/* The collectives: each has a function that prepares a job and one that starts
 * it, piece by piece. A tensor that is not contiguous goes through one copy.
 */

#include <string.h>

#include "stmpi.h"

/* -- Starting ------------------------------------------------------------- */

static char *at(st_tensor *t, int64_t element) {
  return (char *)st_tensor_data(t) +
         (size_t)element * st_dtype_size(st_tensor_dtype(t));
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static st_status start_all_reduce(stmpi_job *j) {
  for (int64_t i = 0, n; i < j->n; i += n) {
    n = least(j->n - i, stmpi_piece());
    const void *const from = j->in ? at(j->in, i) : MPI_IN_PLACE;
    STMPI_START(j, Allreduce, allreduce, from, at(j->out, i), (int)n, j->type,
                j->op, j->c->comm);
  }
  return ST_OK;
}

/* Row `row` of in, or out itself, is reduced to rank `root`. */
static st_status reduce_row(stmpi_job *j, int64_t row, int root) {
  const bool is_root = j->c->rank == root;
  for (int64_t i = 0, n; i < j->n; i += n) {
    n = least(j->n - i, stmpi_piece());
    const void *const from = j->in ? at(j->in, row * j->n + i) : MPI_IN_PLACE;
    STMPI_START(j, Reduce, reduce, from, is_root ? at(j->out, i) : NULL,
                (int)n, j->type, j->op, root, j->c->comm);
  }
  return ST_OK;
}

st_status stmpi_start_reduce(stmpi_job *j) {
  return reduce_row(j, 0, j->root);
}

static st_status start_reduce_scatter(stmpi_job *j) {
  if (j->n > stmpi_piece()) {
    for (int r = 0; r < j->c->size; r++) TRY(reduce_row(j, r, r));
    return ST_OK;
  }
  STMPI_START(j, Reduce_scatter_block, reduce_scatter_block,
              st_tensor_data(j->in), st_tensor_data(j->out), (int)j->n,
              j->type, j->op, j->c->comm);
  return ST_OK;
}

/* What only moves: `count` elements of `type` are a block. */
typedef st_status (*move_fn)(stmpi_job *j, int count, MPI_Datatype type);

static st_status moved(stmpi_job *j, move_fn fn) {
  MPI_Datatype type;
  int count;
  TRY(stmpi_many(j->n, j->type, &count, &type));
  const st_status status = fn(j, count, type);
  stmpi_many_release(j->type, &type);
  return status;
}

static void *data(st_tensor *t) { return t ? st_tensor_data(t) : NULL; }

static st_status broadcast_block(stmpi_job *j, int n, MPI_Datatype type) {
  STMPI_START(j, Bcast, bcast, data(j->out), n, type, j->root, j->c->comm);
  return ST_OK;
}
static st_status all_gather_block(stmpi_job *j, int n, MPI_Datatype type) {
  STMPI_START(j, Allgather, allgather, data(j->in), n, type, data(j->out), n,
              type, j->c->comm);
  return ST_OK;
}
static st_status gather_block(stmpi_job *j, int n, MPI_Datatype type) {
  STMPI_START(j, Gather, gather, data(j->in), n, type, data(j->out), n, type,
              j->root, j->c->comm);
  return ST_OK;
}
static st_status scatter_block(stmpi_job *j, int n, MPI_Datatype type) {
  STMPI_START(j, Scatter, scatter, data(j->in), n, type, data(j->out), n,
              type, j->root, j->c->comm);
  return ST_OK;
}
static st_status all_to_all_block(stmpi_job *j, int n, MPI_Datatype type) {
  STMPI_START(j, Alltoall, alltoall, data(j->in), n, type, data(j->out), n,
              type, j->c->comm);
  return ST_OK;
}

st_status stmpi_start_broadcast(stmpi_job *j) {
  return moved(j, broadcast_block);
}
static st_status start_all_gather(stmpi_job *j) {
  return moved(j, all_gather_block);
}
st_status stmpi_start_gather(stmpi_job *j) { return moved(j, gather_block); }
st_status stmpi_start_scatter(stmpi_job *j) { return moved(j, scatter_block); }
static st_status start_all_to_all(stmpi_job *j) {
  return moved(j, all_to_all_block);
}
static st_status start_barrier(stmpi_job *j) {
  STMPI_START(j, Barrier, barrier, j->c->comm);
  return ST_OK;
}

/* -- Preparing ------------------------------------------------------------ */

st_status stmpi_set_reduction(stmpi_job *j, const st_value *op) {
  TRY(stmpi_reduction_parse(op, &j->reduction));
  TRY(stmpi_operation(j->reduction, j->dtype, &j->op));
  j->detail = stmpi_reduction_name(j->reduction);
  j->divides = j->reduction == STMPI_AVG;
  return ST_OK;
}

st_status stmpi_set_root(stmpi_job *j, const st_value *root) {
  TRY(stmpi_check_rank(j->c, "root", root->u.i));
  j->root = (int)root->u.i;
  return ST_OK;
}

st_status stmpi_prepared(stmpi_job *j, st_status status) {
  if (status != ST_OK) stmpi_job_clear(j);
  return status;
}

st_tensor *stmpi_retained(st_tensor *t) {
  if (t) st_tensor_retain(t);
  return t;
}

st_status stmpi_set_written(stmpi_job *j, st_tensor *self, bool reads) {
  TRY(stmpi_check_written(self));
  if (st_tensor_is_contiguous(self, ST_FORMAT_CONTIGUOUS) || j->is_meta) {
    j->out = stmpi_retained(self);
    return ST_OK;
  }
  j->dest = stmpi_retained(self);
  if (reads) return stmpi_contiguous(self, &j->out);
  return stmpi_new(self, st_tensor_ndim(self), st_tensor_sizes(self), &j->out);
}

static bool has_sizes(const st_tensor *t, int ndim, const int64_t *sizes) {
  return st_tensor_ndim(t) == ndim &&
         memcmp(st_tensor_sizes(t), sizes, (size_t)ndim * sizeof *sizes) == 0;
}

/* The caller's tensor as out. */
static st_status set_given(stmpi_job *j, const st_tensor *self, int ndim,
                           const int64_t *sizes) {
  st_tensor *const t = j->given;
  char of[320];
  if (st_tensor_dtype(t) != j->dtype) {
    return st_fail(ST_BAD_DTYPE, "out is %s, but the result %s",
                   st_dtype_name(st_tensor_dtype(t)), st_dtype_name(j->dtype));
  }
  if (!has_sizes(t, ndim, sizes) ||
      st_tensor_device(t) != st_tensor_device(self)) {
    return st_fail(ST_BAD_SHAPE, "out is %s, which the result does not fit",
                   stmpi_describe(t, 0, of, sizeof of));
  }
  if (st_may_share_memory(t, self)) {
    return st_fail(ST_OVERLAP, "out and self share memory");
  }
  return stmpi_set_written(j, t, false);
}

/* A new tensor, or the caller's, as out. */
static st_status set_output(stmpi_job *j, const st_tensor *self, int ndim,
                            const int64_t *sizes) {
  if (j->given) return set_given(j, self, ndim, sizes);
  return stmpi_new(self, ndim, sizes, &j->out);
}

/* The same of self's sizes behind a first dimension of `rows`. */
static st_status set_output_rows(stmpi_job *j, const st_tensor *self,
                                 int64_t rows) {
  int64_t sizes[ST_MAX_DIMS + 1];
  const int ndim = st_tensor_ndim(self);
  sizes[0] = rows;
  memcpy(sizes + 1, st_tensor_sizes(self), (size_t)ndim * sizeof *sizes);
  return set_output(j, self, ndim + 1, sizes);
}

/* The same of the shape of a row of self. */
static st_status set_output_row(stmpi_job *j, const st_tensor *self) {
  return set_output(j, self, st_tensor_ndim(self) - 1,
                    st_tensor_sizes(self) + 1);
}

static st_status set_output_like(stmpi_job *j, const st_tensor *self) {
  return set_output(j, self, st_tensor_ndim(self), st_tensor_sizes(self));
}

/* What the operator returns, retained. */
static st_tensor *result_of(const stmpi_job *j) {
  return stmpi_retained(j->given ? j->given : j->out);
}

/* in and out of a reduction to a tensor of self's shape. A copy of self that is
 * needed anyway is reduced in place. */
static st_status set_reduced(stmpi_job *j, st_tensor *self) {
  const bool is_plain = st_tensor_is_contiguous(self, ST_FORMAT_CONTIGUOUS) ||
                        j->is_meta;
  if (!is_plain && !j->given) return stmpi_contiguous(self, &j->out);
  TRY(set_output_like(j, self));
  if (!is_plain) return stmpi_copy(j->out, self);
  j->in = stmpi_retained(self);
  return ST_OK;
}

st_status stmpi_new_rows(const st_tensor *self, int64_t rows,
                          st_tensor **out) {
  int64_t sizes[ST_MAX_DIMS + 1];
  const int ndim = st_tensor_ndim(self);
  sizes[0] = rows;
  memcpy(sizes + 1, st_tensor_sizes(self), (size_t)ndim * sizeof *sizes);
  return stmpi_new(self, ndim + 1, sizes, out);
}

st_status stmpi_set_rows(stmpi_job *j, const st_tensor *self) {
  char of[320];
  if (st_tensor_ndim(self) == 0 || st_tensor_sizes(self)[0] != j->c->size) {
    return st_fail(ST_BAD_SHAPE, "self is %s; its first dimension must be %d, "
                   "the number of ranks", stmpi_describe(self, 0, of,
                                                         sizeof of),
                   j->c->size);
  }
  j->n = st_tensor_numel(self) / j->c->size;
  return ST_OK;
}

/* -- Kernels -------------------------------------------------------------- */

static st_status all_reduce(const st_call *call, const st_value *args,
                            st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[2], &j));
  TRY(stmpi_set_reduction(&j, &args[1]));
  j.n = st_tensor_numel(self);
  TRY(stmpi_prepared(&j, set_reduced(&j, self)));
  return stmpi_job_end(&j, self, start_all_reduce, result_of(&j), rets);
}

static st_status all_reduce_(const st_call *call, const st_value *args,
                             st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[2], &j));
  TRY(stmpi_set_reduction(&j, &args[1]));
  j.n = st_tensor_numel(self);
  TRY(stmpi_prepared(&j, stmpi_set_written(&j, self, true)));
  return stmpi_job_end(&j, self, start_all_reduce, stmpi_retained(self), rets);
}

static st_status reduce(const st_call *call, const st_value *args,
                        st_value *rets) {
  st_tensor *const self = args[0].u.tensor, *result = NULL;
  const int64_t none = 0;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[3], &j));
  TRY(stmpi_set_root(&j, &args[1]));
  TRY(stmpi_set_reduction(&j, &args[2]));
  j.n = st_tensor_numel(self);
  if (j.c->rank == j.root) {
    TRY(stmpi_prepared(&j, set_reduced(&j, self)));
    result = stmpi_retained(j.out);
  } else {
    TRY(stmpi_contiguous(self, &j.in));
    TRY(stmpi_prepared(&j, stmpi_new(self, 1, &none, &result)));
  }
  return stmpi_job_end(&j, self, stmpi_start_reduce, result, rets);
}

static st_status broadcast(const st_call *call, const st_value *args,
                           st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[2], &j));
  TRY(stmpi_set_root(&j, &args[1]));
  j.n = st_tensor_numel(self);
  TRY(set_output_like(&j, self));
  if (j.c->rank == j.root && !j.is_meta) {
    TRY(stmpi_prepared(&j, stmpi_copy(j.out, self)));
  }
  return stmpi_job_end(&j, self, stmpi_start_broadcast, result_of(&j), rets);
}

static st_status broadcast_(const st_call *call, const st_value *args,
                            st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[2], &j));
  TRY(stmpi_set_root(&j, &args[1]));
  j.n = st_tensor_numel(self);
  const bool is_root = j.c->rank == j.root;
  TRY(stmpi_prepared(&j, stmpi_set_written(&j, self, is_root)));
  if (is_root) st_tensor_release(&j.dest); /* it has the elements */
  return stmpi_job_end(&j, self, stmpi_start_broadcast, stmpi_retained(self),
                       rets);
}

static st_status all_gather(const st_call *call, const st_value *args,
                            st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[1], &j));
  j.n = st_tensor_numel(self);
  TRY(stmpi_contiguous(self, &j.in));
  TRY(stmpi_prepared(&j, set_output_rows(&j, self, j.c->size)));
  return stmpi_job_end(&j, self, start_all_gather, result_of(&j), rets);
}

static st_status gather(const st_call *call, const st_value *args,
                        st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[2], &j));
  TRY(stmpi_set_root(&j, &args[1]));
  j.n = st_tensor_numel(self);
  TRY(stmpi_contiguous(self, &j.in));
  const int rows = j.c->rank == j.root ? j.c->size : 0;
  TRY(stmpi_prepared(&j, set_output_rows(&j, self, rows)));
  return stmpi_job_end(&j, self, stmpi_start_gather, result_of(&j), rets);
}

static st_status scatter(const st_call *call, const st_value *args,
                         st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[2], &j));
  TRY(stmpi_set_root(&j, &args[1]));
  TRY(stmpi_set_rows(&j, self));
  TRY(set_output_row(&j, self));
  if (j.c->rank == j.root) {
    TRY(stmpi_prepared(&j, stmpi_contiguous(self, &j.in)));
  }
  return stmpi_job_end(&j, self, stmpi_start_scatter, result_of(&j), rets);
}

static st_status reduce_scatter(const st_call *call, const st_value *args,
                                st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[2], &j));
  TRY(stmpi_set_reduction(&j, &args[1]));
  TRY(stmpi_set_rows(&j, self));
  TRY(set_output_row(&j, self));
  TRY(stmpi_prepared(&j, stmpi_contiguous(self, &j.in)));
  return stmpi_job_end(&j, self, start_reduce_scatter, result_of(&j), rets);
}

static st_status all_to_all(const st_call *call, const st_value *args,
                            st_value *rets) {
  st_tensor *const self = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, self, &args[1], &j));
  TRY(stmpi_set_rows(&j, self));
  TRY(set_output_like(&j, self));
  TRY(stmpi_prepared(&j, stmpi_contiguous(self, &j.in)));
  return stmpi_job_end(&j, self, start_all_to_all, result_of(&j), rets);
}

static st_status barrier(const st_call *call, const st_value *args,
                         st_value *rets) {
  stmpi_job j;
  TRY(stmpi_job_begin(call, NULL, &args[0], &j));
  return stmpi_job_end(&j, NULL, start_barrier, NULL, rets);
}

/* -- Rows ----------------------------------------------------------------- */

#define OF_ALL_REDUCE "self: mpi::_all_reduce_back(grad, op, comm)"
#define OF_REDUCE "self: mpi::_reduce_back(grad, shape(self), root, op, comm)"
#define OF_BROADCAST "self: mpi::_broadcast_back(grad, root, comm)"
#define OF_ALL_GATHER "self: mpi::reduce_scatter(grad, 'sum', comm)"
#define OF_GATHER "self: mpi::_gather_back(grad, shape(self), root, comm)"
#define OF_SCATTER "self: mpi::_scatter_back(grad, root, comm)"
#define OF_REDUCE_SCATTER "self: mpi::_reduce_scatter_back(grad, op, comm)"
#define OF_ALL_TO_ALL "self: mpi::all_to_all(grad, comm)"

/* The operator and its asynchronous variant. */
#define BOTH(name, args, fn, derivative, doc)                               \
  {#name "(" args ") -> Tensor", doc, fn, false, false, derivative},        \
  {#name "_async(" args ") -> (Tensor, int)", doc " With a request.", fn,   \
   true, false, derivative}
#define BOTH_IN_PLACE(name, args, fn, derivative, doc)                      \
  {#name "_(" args ") -> Tensor(a!)", doc, fn, false, false, derivative},   \
  {#name "_async_(" args ") -> (Tensor(a!), int)", doc " With a request.",  \
   fn, true, false, derivative}
/* The same to the caller's tensor, which is no keyword: those take longer. */
#define BOTH_OUT(name, args, fn, doc)                                       \
  {#name ".out(" args ", Tensor(a!) out) -> Tensor(a!)", doc, fn, false,    \
   true, NULL},                                                             \
  {#name "_async.out(" args ", Tensor(a!) out) -> (Tensor(a!), int)",       \
   doc " With a request.", fn, true, true, NULL}

const stmpi_operator stmpi_collectives[] = {
  BOTH(all_reduce, "Tensor self, str op=\"sum\", int comm=0", all_reduce,
       OF_ALL_REDUCE,
       "The reduction of all ranks' tensors, on every rank."),
  BOTH_IN_PLACE(all_reduce, "Tensor(a!) self, str op=\"sum\", int comm=0",
                all_reduce_, OF_ALL_REDUCE, "all_reduce in place."),
  BOTH(reduce, "Tensor self, int root=0, str op=\"sum\", int comm=0",
       reduce, OF_REDUCE, "The reduction on root; an empty tensor elsewhere."),
  BOTH(broadcast, "Tensor self, int root=0, int comm=0", broadcast,
       OF_BROADCAST, "The tensor of root."),
  BOTH_IN_PLACE(broadcast, "Tensor(a!) self, int root=0, int comm=0",
                broadcast_, OF_BROADCAST, "broadcast in place."),
  BOTH(all_gather, "Tensor self, int comm=0", all_gather, OF_ALL_GATHER,
       "The tensors of all ranks, as rows."),
  BOTH(gather, "Tensor self, int root=0, int comm=0", gather, OF_GATHER,
       "all_gather on root; no rows elsewhere."),
  BOTH(scatter, "Tensor self, int root=0, int comm=0", scatter, OF_SCATTER,
       "The row of root's tensor whose number is the rank."),
  BOTH(reduce_scatter, "Tensor self, str op=\"sum\", int comm=0",
       reduce_scatter, OF_REDUCE_SCATTER,
       "The row of the reduction whose number is the rank."),
  BOTH(all_to_all, "Tensor self, int comm=0", all_to_all, OF_ALL_TO_ALL,
       "Row s of the result is the rank's row of rank s."),
  BOTH_OUT(all_reduce, "Tensor self, str op, int comm", all_reduce,
           "all_reduce to a given tensor."),
  BOTH_OUT(all_gather, "Tensor self, int comm", all_gather,
           "all_gather to a given tensor."),
  BOTH_OUT(scatter, "Tensor self, int root, int comm", scatter,
           "scatter to a given tensor."),
  BOTH_OUT(reduce_scatter, "Tensor self, str op, int comm", reduce_scatter,
           "reduce_scatter to a given tensor."),
  BOTH_OUT(all_to_all, "Tensor self, int comm", all_to_all,
           "all_to_all to a given tensor."),
  {"barrier(int comm=0) -> ()", "Waits for all ranks.", barrier, false,
   false, NULL},
  {"barrier_async(int comm=0) -> int", "barrier, with a request.", barrier,
   true, false, NULL},
  {0},
};
