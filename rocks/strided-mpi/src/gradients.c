/* The gradients that are not the gradients of other collectives: with zeros on
 * the ranks that are not the root, or of another shape than the result has
 * there.
 *
 * A result that is empty on a rank has an empty gradient there. Every rank runs
 * the derivative, so all of them must run the backward pass through it.
 */

#include <stdio.h>
#include <string.h>

#include "stmpi.h"

static st_op const *op_all_reduce, *op_all_gather, *op_divide, *op_expand,
                   *op_reduce_back;

static st_status find_operators(void) {
  if (op_divide) return ST_OK;
  op_all_reduce = st_op_find("mpi::all_reduce", "");
  op_all_gather = st_op_find("mpi::all_gather", "");
  op_divide = st_op_find("aten::div", "Scalar");
  op_expand = st_op_find("aten::expand", "");
  op_reduce_back = st_op_find("mpi::_reduce_back", "");
  return ST_OK;
}

static st_status parse_linear(const st_value *op, stmpi_reduction *out) {
  TRY(stmpi_reduction_parse(op, out));
  if (*out == STMPI_SUM || *out == STMPI_AVG) return ST_OK;
  return st_fail(ST_BAD_VALUE, "op '%s' has no derivative; sum and avg have "
                 "one", stmpi_reduction_name(*out));
}

/* _all_reduce_back(grad, op, comm): composite, so it is differentiable. */
static st_status all_reduce_back(const st_call *call, const st_value *args,
                                 st_value *rets) {
  stmpi_reduction r;
  (void)call;
  TRY(find_operators());
  TRY(parse_linear(&args[1], &r));
  return st_call_op(op_all_reduce, 3, args, rets);
}

/* _reduce_scatter_back(grad, op, comm): composite. */
static st_status reduce_scatter_back(const st_call *call, const st_value *args,
                                     st_value *rets) {
  const st_value gather[] = {args[0], args[2]};
  stmpi_reduction r;
  stmpi_comm *c;
  st_value all;
  (void)call;
  TRY(find_operators());
  TRY(parse_linear(&args[1], &r));
  TRY(stmpi_comm_get(args[2].u.i, &c));
  if (r == STMPI_SUM) return st_call_op(op_all_gather, 2, gather, rets);
  TRY(st_call_op(op_all_gather, 2, gather, &all));
  const st_value divide[] = {all, {.tag = ST_TAG_INT, .u.i = c->size}};
  const st_status status = st_call_op(op_divide, 2, divide, rets);
  st_value_clear(&all);
  return status;
}

static const st_value SUM = {.tag = ST_TAG_STRING, .len = 3,
                             .u.string = "sum"};

/* The gradient of every part of `size`, from that of the result, which it
 * takes. It is divided by the number of all parts for avg. */
static st_status expand_to_parts(st_value *grad, const st_value *size,
                                 stmpi_reduction r, const st_value *comm,
                                 st_value *rets) {
  st_value divided, expand[] = {*grad, *size};
  int64_t total = size->u.ints[0];
  st_status status = ST_OK;
  stmpi_comm *c;
  if (r == STMPI_AVG) {
    status = stmpi_comm_get(comm->u.i, &c);
    if (status == ST_OK && !stmpi_is_meta(grad->u.tensor)) {
      status = stmpi_check(MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T,
                                         MPI_SUM, c->comm), "MPI_Allreduce");
    }
    const st_value divide[] = {*grad, {.tag = ST_TAG_INT, .u.i = total}};
    if (status == ST_OK) status = st_call_op(op_divide, 2, divide, &divided);
    if (status == ST_OK) {
      st_value_clear(grad);
      *grad = expand[0] = divided;
    }
  }
  if (status == ST_OK) status = st_call_op(op_expand, 2, expand, rets);
  st_value_clear(grad);
  return status;
}

/* The shape of parts has a first dimension. */
static st_status check_parts(const st_value *size) {
  if (size->len > 0) return ST_OK;
  return st_fail(ST_BAD_SHAPE, "size is empty; its first element must be the "
                 "number of parts");
}

/* _all_reduce_parts_back(grad, size, op, comm): composite. */
static st_status all_reduce_parts_back(const st_call *call,
                                       const st_value *args, st_value *rets) {
  const st_value reduce[] = {args[0], SUM, args[3]};
  stmpi_reduction r;
  st_value sum;
  (void)call;
  TRY(find_operators());
  TRY(check_parts(&args[1]));
  TRY(parse_linear(&args[2], &r));
  TRY(st_call_op(op_all_reduce, 3, reduce, &sum));
  return expand_to_parts(&sum, &args[1], r, &args[3], rets);
}

/* _reduce_parts_back(grad, size, root, op, comm): composite. */
static st_status reduce_parts_back(const st_call *call, const st_value *args,
                                   st_value *rets) {
  TRY(check_parts(&args[1]));
  const st_value of_part = {.tag = ST_TAG_INTS, .len = args[1].len - 1,
                            .u.ints = args[1].u.ints + 1};
  const st_value spread[] = {args[0], of_part, args[2], SUM, args[4]};
  stmpi_reduction r;
  st_value grad;
  (void)call;
  TRY(find_operators());
  TRY(parse_linear(&args[3], &r));
  TRY(st_call_op(op_reduce_back, 5, spread, &grad));
  return expand_to_parts(&grad, &args[1], r, &args[4], rets);
}

/* Fails unless root's gradient has the sizes `size`, behind a first dimension
 * of `rows` unless it is negative. */
static st_status check_grad(const st_tensor *grad, const st_value *size,
                            int rows) {
  const int front = rows >= 0;
  const int64_t *const sizes = st_tensor_sizes(grad);
  char of[320], rest[320];
  if (st_tensor_ndim(grad) == (int)size->len + front &&
      (!front || sizes[0] == rows) &&
      (size->len == 0 ||
       memcmp(sizes + front, size->u.ints, size->len * sizeof *sizes) == 0)) {
    return ST_OK;
  }
  int n = 0;
  rest[0] = 0;
  if (front) n = snprintf(rest, sizeof rest, "%d", rows);
  for (uint32_t i = 0; i < size->len && (size_t)n + 24 < sizeof rest; i++) {
    n += snprintf(rest + n, sizeof rest - (size_t)n, "%s%lld", n ? ", " : "",
                  (long long)size->u.ints[i]);
  }
  return st_fail(ST_BAD_SHAPE, "self is %s on root, but must have the shape "
                 "[%s]", stmpi_describe(grad, 0, of, sizeof of), rest);
}

/* _reduce_back(grad, size, root, op, comm): root's gradient, everywhere. */
static st_status reduce_back(const st_call *call, const st_value *args,
                             st_value *rets) {
  st_tensor *const grad = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, grad, &args[4], &j));
  TRY(stmpi_set_root(&j, &args[2]));
  TRY(parse_linear(&args[3], &j.reduction));
  if (j.c->rank == j.root) TRY(check_grad(grad, &args[1], -1));
  j.divides = j.reduction == STMPI_AVG;
  TRY(stmpi_new(grad, (int)args[1].len, args[1].u.ints, &j.out));
  j.n = st_tensor_numel(j.out);
  if (j.c->rank == j.root && !j.is_meta) {
    TRY(stmpi_prepared(&j, stmpi_copy(j.out, grad)));
  }
  return stmpi_job_end(&j, j.out, stmpi_start_broadcast,
                       stmpi_retained(j.out), rets);
}

/* _gather_back(grad, size, root, comm): row `rank` of root's gradient. */
static st_status gather_back(const st_call *call, const st_value *args,
                             st_value *rets) {
  st_tensor *const grad = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, grad, &args[3], &j));
  TRY(stmpi_set_root(&j, &args[2]));
  if (j.c->rank == j.root) TRY(check_grad(grad, &args[1], j.c->size));
  TRY(stmpi_new(grad, (int)args[1].len, args[1].u.ints, &j.out));
  j.n = st_tensor_numel(j.out);
  if (j.c->rank == j.root) {
    TRY(stmpi_prepared(&j, stmpi_contiguous(grad, &j.in)));
  }
  return stmpi_job_end(&j, j.out, stmpi_start_scatter, stmpi_retained(j.out),
                       rets);
}

/* _broadcast_back(grad, root, comm): the sum on root, zeros elsewhere. */
static st_status broadcast_back(const st_call *call, const st_value *args,
                                st_value *rets) {
  st_tensor *const grad = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, grad, &args[2], &j));
  TRY(stmpi_set_root(&j, &args[1]));
  TRY(stmpi_set_reduction(&j, &SUM));
  j.n = st_tensor_numel(grad);
  TRY(stmpi_contiguous(grad, &j.in));
  TRY(stmpi_prepared(&j, stmpi_new(grad, st_tensor_ndim(grad),
                                   st_tensor_sizes(grad), &j.out)));
  if (j.c->rank != j.root && !j.is_meta) {
    TRY(stmpi_prepared(&j, stmpi_zero(j.out)));
  }
  return stmpi_job_end(&j, grad, stmpi_start_reduce, stmpi_retained(j.out),
                       rets);
}

/* _scatter_back(grad, root, comm): the gradients as rows on root, zeros
 * elsewhere. */
static st_status scatter_back(const st_call *call, const st_value *args,
                              st_value *rets) {
  st_tensor *const grad = args[0].u.tensor;
  stmpi_job j;
  TRY(stmpi_job_begin(call, grad, &args[2], &j));
  TRY(stmpi_set_root(&j, &args[1]));
  j.n = st_tensor_numel(grad);
  TRY(stmpi_contiguous(grad, &j.in));
  TRY(stmpi_prepared(&j, stmpi_new_rows(grad, j.c->size, &j.out)));
  if (j.c->rank != j.root && !j.is_meta) {
    TRY(stmpi_prepared(&j, stmpi_zero(j.out)));
  }
  return stmpi_job_end(&j, grad, stmpi_start_gather, stmpi_retained(j.out),
                       rets);
}

const stmpi_operator stmpi_gradients[] = {
  {"_reduce_back(Tensor self, int[] size, int root, str op, int comm) "
   "-> Tensor", "The derivative of reduce.", reduce_back, false, false,
   "self: mpi::reduce(grad, root, op, comm)"},
  {"_gather_back(Tensor self, int[] size, int root, int comm) -> Tensor",
   "The derivative of gather.", gather_back, false, false,
   "self: mpi::gather(grad, root, comm)"},
  {"_broadcast_back(Tensor self, int root, int comm) -> Tensor",
   "The derivative of broadcast.", broadcast_back, false, false,
   "self: mpi::broadcast(grad, root, comm)"},
  {"_scatter_back(Tensor self, int root, int comm) -> Tensor",
   "The derivative of scatter.", scatter_back, false, false,
   "self: mpi::scatter(grad, root, comm)"},
  {0},
};

/* Made of other operators. */
const stmpi_operator stmpi_composites[] = {
  {"_all_reduce_back(Tensor self, str op, int comm) -> Tensor",
   "The derivative of all_reduce.", all_reduce_back, false, false, NULL},
  {"_all_reduce_parts_back(Tensor self, int[] size, str op, int comm) "
   "-> Tensor", "The derivative of all_reduce_parts.", all_reduce_parts_back,
   false, false, NULL},
  {"_reduce_parts_back(Tensor self, int[] size, int root, str op, int comm) "
   "-> Tensor", "The derivative of reduce_parts.", reduce_parts_back, false,
   false, NULL},
  {"_reduce_scatter_back(Tensor self, str op, int comm) -> Tensor",
   "The derivative of reduce_scatter.", reduce_scatter_back, false, false,
   NULL},
  {0},
};
