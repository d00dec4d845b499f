/* Operators that return a new tensor with a view of it overwritten: the
 * gradients of views, which start from zeros, and the *_scatter operators,
 * which start from a copy of self.
 */

#include "op/registry/composite.h"
#include "tensor/overlap.h"

/* -- Writing a view ------------------------------------------------------- */

static st_tensor *new_zeros(st_op_scope *c, const st_value *grad,
                            const st_value *sizes) {
  return st__apply(c, ST_OP_new_zeros, 2, (st_value[]){*grad, *sizes});
}

static st_tensor *clone_self(st_op_scope *c, const st_value *self) {
  return st__apply(c, ST_OP_clone, 2,
                   (st_value[]){*self, st__of_int(ST_FORMAT_PRESERVE)});
}

static st_status check_sizes(const st_tensor *target, const st_value *part,
                             const char *name) {
  const st_tensor *t = part->u.tensor;
  if (st__same_sizes(target, t)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s has shape %s, but the view has shape %s",
                  name, ST_SHAPE_TEXT(t), ST_SHAPE_TEXT(target));
}

/* A view of a tensor, and the value to write to it. */
typedef struct part {
  st_op_id view;
  int n;
  st_value args[5]; /* of the view operator; write_view sets the first */
  const st_value *value;
  const char *name; /* of the argument `value`, for messages */
} part;

static st_status write_view(st_op_scope *c, st_tensor *whole, part *p,
                            st_value *rets) {
  p->args[0] = st__of_tensor(whole);
  const st_tensor *target = st__apply(c, p->view, p->n, p->args);
  if (st__scope_ok(c)) c->status = check_sizes(target, p->value, p->name);
  st__apply_with(c, ST_OP_copy_, target, *p->value);
  return st__scope_return(c, whole, rets);
}

/* -- Gradients of views --------------------------------------------------- */

/* args: grad_output, input_sizes, dim, index */
ST_BOXED(st__box_select_backward) {
  st_op_scope c = {.n = 0};
  part p = {ST_OP_select_int, 3, {{0}, args[2], args[3]}, &args[0],
            "grad_output"};
  return write_view(&c, new_zeros(&c, &args[0], &args[1]), &p, rets);
}

/* args: grad_output, input_sizes, dim, start, end, step */
ST_BOXED(st__box_slice_backward) {
  st_op_scope c = {.n = 0};
  part p = {ST_OP_slice_Tensor, 5,
            {{0}, args[2], args[3], args[4], args[5]}, &args[0],
            "grad_output"};
  return write_view(&c, new_zeros(&c, &args[0], &args[1]), &p, rets);
}

/* args: grad_output, input_sizes, offset, dim1, dim2 */
ST_BOXED(st__box_diagonal_backward) {
  st_op_scope c = {.n = 0};
  part p = {ST_OP_diagonal, 4, {{0}, args[2], args[3], args[4]}, &args[0],
            "grad_output"};
  return write_view(&c, new_zeros(&c, &args[0], &args[1]), &p, rets);
}

/* -- Gradient of unfold --------------------------------------------------- */

/* n windows of `size` elements along dim, which start `step` elements apart. */
typedef struct windows {
  st_tensor *sum;
  const st_tensor *grad;
  int dim;
  int64_t size, step, n;
} windows;

static void add_into(st_op_scope *c, const st_tensor *to, const st_tensor *t) {
  const st_value args[] = {st__of_tensor(to), st__of_tensor(t),
                           st__of_int(1)};
  st_value same;
  if (!st__scope_ok(c)) return;
  c->status = st__call(st__op_variant(ST_OP_add_Tensor, ST_INPLACE), args,
                       &same);
  if (st__scope_ok(c)) st__value_clear(&same);
}

/* Adds element k of all windows. These are different elements of the sum. */
static void add_column(st_op_scope *c, const windows *w, int64_t k) {
  const int64_t end = k + (w->n - 1) * w->step + 1;
  const st_value column[] = {st__of_tensor(w->grad), st__of_int(-1),
                             st__of_int(k)};
  const st_value targets[] = {st__of_tensor(w->sum), st__of_int(w->dim),
                             st__of_int(k), st__of_int(end),
                             st__of_int(w->step)};
  const st_tensor *to = st__apply(c, ST_OP_slice_Tensor, 5, targets);
  add_into(c, to, st__apply(c, ST_OP_select_int, 3, column));
}

/* Adds all elements of window i. */
static void add_window(st_op_scope *c, const windows *w, int64_t i) {
  const st_tensor *one = st__apply_narrow(c, w->grad, w->dim, i, 1);
  const st_value swap[] = {st__of_tensor(one), st__of_int(w->dim),
                           st__of_int(-1)};
  const st_value last[] = {
    st__of_tensor(st__apply(c, ST_OP_transpose_int, 3, swap)), st__of_int(-1),
    st__of_int(0)};
  const st_tensor *to = st__apply_narrow(c, w->sum, w->dim, i * w->step,
                                         w->size);
  add_into(c, to, st__apply(c, ST_OP_select_int, 3, last));
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

/* args: grad_in, input_sizes, dim, size, step */
ST_BOXED(st__box_unfold_backward) {
  const st_tensor *grad = args[0].u.tensor;
  st_op_scope c = {.n = 0};
  windows w = {.sum = new_zeros(&c, &args[0], &args[1]), .grad = grad,
               .size = args[3].u.i, .step = args[4].u.i};
  part p = {ST_OP_unfold, 4, {{0}, args[2], args[3], args[4]}, &args[0],
            "grad_in"};
  if (!st__scope_ok(&c) || w.step >= w.size || w.sum->ndim == 0) {
    return write_view(&c, w.sum, &p, rets);
  }
  p.args[0] = st__of_tensor(w.sum);
  const st_tensor *targets = st__apply(&c, ST_OP_unfold, 4, p.args);
  if (st__scope_ok(&c)) c.status = check_sizes(targets, p.value, p.name);
  if (st__scope_ok(&c)) {
    c.status = st__wrap_dim(args[2].u.i, w.sum->ndim, &w.dim);
  }
  if (st__scope_ok(&c)) {
    w.n = grad->sizes[w.dim];
    c.status = add_windows(&w);
  }
  return st__scope_return(&c, w.sum, rets);
}

/* -- Scatter -------------------------------------------------------------- */

/* args: self, src, dim, index */
ST_BOXED(st__box_select_scatter) {
  st_op_scope c = {.n = 0};
  part p = {ST_OP_select_int, 3, {{0}, args[2], args[3]}, &args[1], "src"};
  return write_view(&c, clone_self(&c, &args[0]), &p, rets);
}

/* args: self, src, dim, start, end, step */
ST_BOXED(st__box_slice_scatter) {
  st_op_scope c = {.n = 0};
  part p = {ST_OP_slice_Tensor, 5,
            {{0}, args[2], args[3], args[4], args[5]}, &args[1], "src"};
  return write_view(&c, clone_self(&c, &args[0]), &p, rets);
}

/* args: self, src, offset, dim1, dim2 */
ST_BOXED(st__box_diagonal_scatter) {
  st_op_scope c = {.n = 0};
  part p = {ST_OP_diagonal, 4, {{0}, args[2], args[3], args[4]}, &args[1],
            "src"};
  return write_view(&c, clone_self(&c, &args[0]), &p, rets);
}

/* A copy of self's whole storage, viewed with self's sizes, strides and offset.
 */
static st_tensor *copy_storage(st_op_scope *c, const st_tensor *self) {
  const int64_t unit = (int64_t)st__itemsize(self->dtype);
  const int64_t all = (int64_t)self->storage->nbytes / unit, one = 1;
  const st_value line[] = {st__of_tensor(self), st__of_ints(&all, 1),
                           st__of_ints(&one, 1), st__of_int(0)};
  const st_tensor *copy = st__apply1(c, ST_OP_clone,
                                     st__apply(c, ST_OP_as_strided, 4, line));
  const st_value shape[] = {st__of_tensor(copy),
                            st__of_ints(self->sizes, self->ndim),
                            st__of_ints(self->strides, self->ndim),
                            st__of_int(self->offset)};
  return st__apply(c, ST_OP_as_strided, 4, shape);
}

/* args: self, src, size, stride, storage_offset. A self that overlaps itself,
 * such as an expanded gradient, is cloned. */
ST_BOXED(st__box_as_strided_scatter) {
  const st_tensor *self = args[0].u.tensor;
  st_op_scope c = {.n = 0};
  part p = {ST_OP_as_strided, 4, {{0}, args[2], args[3], args[4]}, &args[1],
            "src"};
  bool overlaps;
  ST_TRY(st__overlaps_itself(self, &overlaps));
  return write_view(&c, overlaps ? clone_self(&c, &args[0])
                                 : copy_storage(&c, self), &p, rets);
}
