/* unique, by whichever operator finds the distinct elements, and its forms in
 * the Array API standard: unique_all, unique_counts, unique_inverse,
 * unique_values.
 */

#include "op/row/composite.h"

/* With dim the distinct slices along it. */
ST_BOXED(st__box_unique) {
  ST_ARGS(VALUE(self), VALUE(sorted), VALUE(inverse), VALUE(counts), VALUE(dim),
          VALUE(base));
  int at;
  if (!st__is_none(&dim)) {
    ST_TRY(st__wrap_dim(dim.u.i, self.u.tensor->ndim, &at));
  }
  if (st__is_none(&dim) || self.u.tensor->ndim == 0) {
    const st_value all[] = {self, sorted, inverse, counts, base};
    return st__invoke(ST_OP__unique2, 5, all, rets);
  }
  const st_value all[] = {self, dim, sorted, inverse, counts, base};
  return st__invoke(ST_OP_unique_dim, 6, all, rets);
}

/* The same for complex numbers, which are in order of their real parts, then of
 * their imaginary ones: rows of two numbers. The standard has every dtype;
 * unique, as PyTorch's, no complex one. */
static void find_unique_complex(st_op_scope *c, const st_tensor *self,
                                const st_value *wanted, st_tensor *out[3]) {
  const st_tensor *line = st__apply1(c, ST_OP_resolve_conj,
                                     st__apply_flatten(c, self));
  st__apply_multi(c, ST_OP_unique_dim,
                  ST_VALUES(st__apply1(c, ST_OP_view_as_real, line), 0,
                            st__of_bool(true), wanted[0], wanted[1], wanted[2]),
                  3, out);
  out[0] = st__apply1(c, ST_OP_view_as_complex,
                      st__apply1(c, ST_OP_contiguous, out[0]));
  if (!wanted[0].u.i) return;
  out[1] =
    ST_APPLY(c, ST_OP_reshape, out[1], st__of_ints(self->sizes, self->ndim));
}

/* The distinct elements, and what was asked for of the others. */
static void find_unique(st_op_scope *c, const st_tensor *self, bool inverse,
                        bool counts, int64_t base, st_tensor *out[3]) {
  const st_value wanted[] = {st__of_bool(inverse), st__of_bool(counts),
                             st__of_int(base)};
  if (st__is_complex(self->dtype)) {
    find_unique_complex(c, self, wanted, out);
    return;
  }
  st__apply_multi(
    c, ST_OP__unique2,
    ST_VALUES(self, st__of_bool(true), wanted[0], wanted[1], wanted[2]), 3,
    out);
}

/* The first position of each distinct element in the flattened tensor. */
static st_tensor *first_positions(st_op_scope *c, const st_tensor *values,
                                  const st_tensor *inverse, int64_t base) {
  if (!st__scope_ok(c)) return NULL;
  const int64_t n = inverse->numel;
  st_tensor *first = ST_APPLY(
    c, ST_OP_scatter_reduce_two,
    ST_APPLY(c, ST_OP_new_full, inverse, st__of_ints(values->sizes, 1), n), 0,
    st__apply_flatten(c, inverse),
    ST_APPLY(c, ST_OP_arange_start, 0, n, st__none(), st__none(),
             inverse->device),
    st__of_text("amin"), st__of_bool(true), base);
  return base == 0 ? first : ST_APPLY(c, ST_OP_add_Scalar, first, base);
}

ST_BOXED(st__box_unique_values) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.n = 0};
  st_tensor *out[3];
  find_unique(&c, self, false, false, 0, out);
  return st__scope_return(&c, out[0], rets);
}

ST_BOXED(st__box_unique_counts) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.n = 0};
  st_tensor *out[3];
  find_unique(&c, self, false, true, 0, out);
  return st__scope_end(&c, 2, (st_tensor *[]){out[0], out[2]}, rets);
}

ST_BOXED(st__box_unique_inverse) {
  ST_ARGS(TENSOR(self));
  st_op_scope c = {.n = 0};
  st_tensor *out[3];
  find_unique(&c, self, true, false, st__next_int(&args), out);
  return st__scope_end(&c, 2, out, rets);
}

ST_BOXED(st__box_unique_all) {
  ST_ARGS(TENSOR(self), INT(base));
  st_op_scope c = {.n = 0};
  st_tensor *out[3];
  find_unique(&c, self, true, true, base, out);
  st_tensor *first = first_positions(&c, out[0], out[1], base);
  return st__scope_end(&c, 4, (st_tensor *[]){out[0], first, out[1], out[2]},
                       rets);
}
