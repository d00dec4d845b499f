/* The helpers of helpers.def, one file per family (reduce_helpers.c, ...).
 */
#ifndef ST_GRAD_FORMULA_HELPERS_H
#define ST_GRAD_FORMULA_HELPERS_H

#include "grad/formula/helper.h"
#include "op/row/composite.h"

#define ST_HELPER(name, kinds) ST_HELPER_FN(st__help_##name);
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

/* ST_READ(TENSOR(grad), BOXED(dim)): as ST_ARGS. */
#define ST_READ(...) ST_EACH(ST_READ_ARG, , (__VA_ARGS__))
#define ST_READ_ARG(k, x, arg) ST_READ_##arg
#define ST_READ_TENSOR(name)   const st_tensor *name = st__read_tensor(&args);
#define ST_READ_MUTABLE(name)  st_tensor *name = st__read_tensor(&args);
#define ST_READ_BOXED(name)    const st_value *name = st__read_value(&args);
#define ST_READ_INT(name)      const int64_t name = st__read_int(&args);
#define ST_READ_BOOL(name)     const bool name = st__read_bool(&args);
#define ST_READ_GEOMETRY(name) \
  const st_saved_geometry *name = st__read_geometry(&args);

/* Sets the bits of the dimensions that a reduction over `dims` removes. dims:
 * an integer, a list, or for all dimensions none or an empty list. */
st_status st__reduced(const st_value *dims, int ndim, uint64_t *set);
/* Inserts the reduced dimensions `set` as size 1 into t, the result of such a
 * reduction of a tensor with ndim dimensions. Returns t itself if keepdim. */
st_tensor *st__restore(st_op_scope *c, const st_tensor *t, int ndim,
                       uint64_t set, bool keepdim);
/* The exponents of the powers of two that bring sizes near 1, NULL on devices
 * of extensions: Note [Quotients in all of the range]. */
st_tensor *st__near_one_exponents(st_op_scope *c, const st_tensor *sizes);
/* Whether an element is 0. */
st_status st__has_zeros(const st_tensor *t, bool *out);

#endif
