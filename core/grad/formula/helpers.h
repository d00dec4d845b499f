/* The helpers of helpers.def, one file per family (reduce_helpers.c, ...).
 */
#ifndef ST_GRAD_FORMULA_HELPERS_H
#define ST_GRAD_FORMULA_HELPERS_H

#include "grad/formula/helper.h"
#include "op/row/composite.h"

#define ST_HELPER(name, kinds) \
  st_status st__help_##name(int n, const st_helper_arg *args, st_value *out);
#include "grad/formula/helpers.def"
#undef ST_HELPER

/* Readers of a helper's arguments, as dispatch/args.h has for kernels: each
 * returns the first of args and moves args to the next one. */
static inline const st_value *st__read_value(const st_helper_arg **args) {
  return &(*args)++->value;
}
/* NULL for none. */
static inline st_tensor *st__read_tensor(const st_helper_arg **args) {
  return st__to_tensor(st__read_value(args));
}
static inline int64_t st__read_int(const st_helper_arg **args) {
  return st__read_value(args)->u.i;
}
/* False for none. */
static inline bool st__read_bool(const st_helper_arg **args) {
  return st__to_bool(st__read_value(args), false);
}
/* Of a variable whose geometry alone is read. */
static inline const st_saved_geometry *st__read_geometry(
    const st_helper_arg **args) {
  return (*args)++->geometry;
}

/* Sets the bits of the dimensions that a reduction over `dims` removes. dims:
 * an integer, a list, or for all dimensions none or an empty list. */
st_status st__reduced(const st_value *dims, int ndim, uint64_t *set);
/* Inserts the reduced dimensions `set` as size 1 into t, the result of such a
 * reduction of a tensor with ndim dimensions. Returns t itself if keepdim. */
st_tensor *st__restore(st_op_scope *c, const st_tensor *t, int ndim,
                       uint64_t set, bool keepdim);
/* The exponents of the powers of two that bring sizes near 1, NULL on devices
 * of extensions; and a / b: Note [Quotients in all of the range]. */
st_tensor *st__near_one_exponents(st_op_scope *c, const st_tensor *sizes);
st_tensor *st__ratio(st_op_scope *c, const st_tensor *a, const st_tensor *b);
/* Whether an element is 0. */
st_status st__has_zeros(const st_tensor *t, bool *out);

#endif
