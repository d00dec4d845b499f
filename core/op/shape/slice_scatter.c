/* Operators that return a new tensor with a view of it overwritten: the
 * gradients of views, which start from zeros, and the *_scatter operators,
 * which start from a copy of self.
 */

#include <string.h>

#include "op/row/composite.h"
#include "tensor/overlap.h"

/* -- Writing a view ------------------------------------------------------- */

static st_tensor *new_zeros(st_op_scope *c, const st_tensor *grad,
                            const st_value *sizes) {
  return ST_APPLY(c, ST_OP_new_zeros, grad, *sizes);
}

static st_tensor *clone_self(st_op_scope *c, const st_tensor *self) {
  return ST_APPLY(c, ST_OP_clone, self, ST_FORMAT_PRESERVE);
}

/* A copy of self with its strides; if self overlaps itself, with others. */
static st_tensor *clone_strides(st_op_scope *c, const st_tensor *self) {
  bool overlaps;
  c->status = st_tensor_overlaps_itself(self, &overlaps);
  if (!st__scope_ok(c) || overlaps || self->flags & ST_FLAG_DENSE) {
    return clone_self(c, self);
  }
  const st_tensor *copy = ST_APPLY(c, ST_OP_new_empty_strided, self,
                                   st__of_ints(self->sizes, self->ndim),
                                   st__of_ints(self->strides, self->ndim));
  return st__apply2(c, ST_OP_copy_, copy, self);
}

static st_status check_sizes(const st_tensor *target, const st_tensor *part,
                             const char *name) {
  if (st__same_sizes(target, part)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s has shape %s, but the view has shape %s",
                  name, ST_SHAPE_TEXT(part), ST_SHAPE_TEXT(target));
}

/* Returns whole after part, the argument `name`, is written to target, a view
 * of whole. */
static st_status write_view(st_op_scope *c, st_tensor *whole,
                            const st_tensor *target, const st_tensor *part,
                            const char *name, st_value *rets) {
  if (st__scope_ok(c)) c->status = check_sizes(target, part, name);
  st__apply2(c, ST_OP_copy_, target, part);
  return st__scope_return(c, whole, rets);
}

/* -- Gradients of views --------------------------------------------------- */

/* The view of whole that operator id makes with n more arguments. */
static st_tensor *view_of(st_op_scope *c, const st_tensor *whole, st_op_id id,
                          int n, const st_value *more) {
  st_value args[5] = {st__of_tensor(whole)};
  memcpy(args + 1, more, (size_t)n * sizeof *more);
  return st__apply(c, id, n + 1, args);
}

/* args: grad_output, input_sizes, those of the view. */
static st_status backward(st_op_id id, int n, const st_value *args,
                          st_value *rets) {
  const st_tensor *grad_output = args->u.tensor;
  st_op_scope c = {.n = 0};
  st_tensor *whole = new_zeros(&c, grad_output, &args[1]);
  return write_view(&c, whole, view_of(&c, whole, id, n, args + 2),
                    grad_output, "grad_output", rets);
}
ST_BOXED_AS(st__box_select_backward, backward, ST_OP_select_int, 2, args)
ST_BOXED_AS(st__box_slice_backward, backward, ST_OP_slice_Tensor, 4, args)
ST_BOXED_AS(st__box_diagonal_backward, backward, ST_OP_diagonal, 3, args)

/* -- Gradient of unfold --------------------------------------------------- */

/* n windows of `size` elements along dim, which start `step` elements apart. */
typedef struct windows {
  st_tensor *sum;
  const st_tensor *grad;
  int dim;
  int64_t size, step, n;
} windows;

/* Adds element k of all windows. These are different elements of the sum. */
static void add_column(st_op_scope *c, const windows *w, int64_t k) {
  const int64_t end = k + (w->n - 1) * w->step + 1;
  const st_tensor *to =
    ST_APPLY(c, ST_OP_slice_Tensor, w->sum, w->dim, k, end, w->step);
  ST_APPLY_INTO(c, ST_OP_add_Tensor, to,
                ST_APPLY(c, ST_OP_select_int, w->grad, -1, k), 1);
}

/* Adds all elements of window i. */
static void add_window(st_op_scope *c, const windows *w, int64_t i) {
  const st_tensor *one = st__apply_narrow(c, w->grad, w->dim, i, 1);
  const st_tensor *last = ST_APPLY(c, ST_OP_transpose_int, one, w->dim, -1);
  const st_tensor *to = st__apply_narrow(c, w->sum, w->dim, i * w->step,
                                         w->size);
  ST_APPLY_INTO(c, ST_OP_add_Tensor, to,
                ST_APPLY(c, ST_OP_select_int, last, -1, 0), 1);
}

/* Adds by windows or by elements of a window, whichever takes fewer calls. In
 * both orders the windows that share an element are added in ascending order,
 * so the sums are the same. */
static st_status add_windows(const windows *w) {
  const bool by_window = w->n < w->size;
  const int64_t rounds = by_window ? w->n : w->size;
  for (int64_t i = 0; i < rounds; i++) {
    st_op_scope c = {.n = 0};
    if (by_window) add_window(&c, w, i);
    else add_column(&c, w, w->size - 1 - i);
    ST_TRY(st__scope_end(&c, 0, NULL, NULL));
  }
  return ST_OK;
}

ST_BOXED(st__box_unfold_backward) {
  ST_ARGS(TENSOR(grad_in), BOXED(input_sizes), INT(dim), INT(size), INT(step));
  st_op_scope c = {.n = 0};
  windows w = {.sum = new_zeros(&c, grad_in, input_sizes), .grad = grad_in,
               .size = size, .step = step};
  const st_tensor *target = ST_APPLY(&c, ST_OP_unfold, w.sum, dim, size, step);
  if (!st__scope_ok(&c) || step >= size || w.sum->ndim == 0) {
    return write_view(&c, w.sum, target, grad_in, "grad_in", rets);
  }
  c.status = check_sizes(target, grad_in, "grad_in");
  if (st__scope_ok(&c)) c.status = st__wrap_dim(dim, w.sum->ndim, &w.dim);
  if (st__scope_ok(&c)) {
    w.n = grad_in->sizes[w.dim];
    c.status = add_windows(&w);
  }
  return st__scope_return(&c, w.sum, rets);
}

/* -- Scatter -------------------------------------------------------------- */

/* args: self, src, those of the view. */
static st_status scatter(st_op_id id, int n, const st_value *args,
                         st_value *rets) {
  st_op_scope c = {.n = 0};
  st_tensor *whole = clone_strides(&c, args->u.tensor);
  return write_view(&c, whole, view_of(&c, whole, id, n, args + 2),
                    args[1].u.tensor, "src", rets);
}
ST_BOXED_AS(st__box_select_scatter, scatter, ST_OP_select_int, 2, args)
ST_BOXED_AS(st__box_slice_scatter, scatter, ST_OP_slice_Tensor, 4, args)
ST_BOXED_AS(st__box_diagonal_scatter, scatter, ST_OP_diagonal, 3, args)

/* A copy of self's whole storage, viewed with self's sizes, strides and offset.
 */
static st_tensor *copy_storage(st_op_scope *c, const st_tensor *self) {
  const int64_t unit = (int64_t)st__itemsize(self->dtype);
  const int64_t all = (int64_t)self->storage->nbytes / unit;
  const st_tensor *copy = st__apply1(
    c, ST_OP_clone,
    ST_APPLY(c, ST_OP_as_strided, self, st__of_ints(&all, 1), ST_INTS(1), 0));
  return ST_APPLY(c, ST_OP_as_strided, copy,
                  st__of_ints(self->sizes, self->ndim),
                  st__of_ints(self->strides, self->ndim), self->offset);
}

/* A self that overlaps itself, such as an expanded gradient, is cloned. */
ST_BOXED(st__box_as_strided_scatter) {
  const st_tensor *self = args->u.tensor;
  st_op_scope c = {.n = 0};
  bool overlaps;
  ST_TRY(st_tensor_overlaps_itself(self, &overlaps));
  st_tensor *whole = overlaps ? clone_self(&c, self) : copy_storage(&c, self);
  return write_view(&c, whole,
                    view_of(&c, whole, ST_OP_as_strided, 3, args + 2),
                    args[1].u.tensor, "src", rets);
}
