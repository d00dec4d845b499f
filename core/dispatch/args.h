/* Readers of the arguments of a boxed kernel. Each returns the first of args in
 * its C type and moves args to the next one, so a kernel names its arguments
 * once, in the order of the schema:
 *
 *     const st_tensor *self = st__next_tensor(&args);
 *     const int64_t dim = st__next_int(&args);
 *     const int64_t start = st__next_int_or(&args, 0);
 *
 * The dispatcher has checked the types against the schema. A reader with _or is
 * for an optional argument and returns the second parameter for None.
 */
#ifndef ST_DISPATCH_ARGS_H
#define ST_DISPATCH_ARGS_H

#include "abi/lists.h"
#include "tensor/value.h"

/* The boxed value, to be passed on as it is. */
static inline const st_value *st__next(const st_value **args) {
  return (*args)++;
}
/* NULL for None. */
static inline st_tensor *st__next_tensor(const st_value **args) {
  return st__to_tensor(st__next(args));
}
/* Empty for None. */
static inline st_tensors st__next_tensors(const st_value **args) {
  const st_value *v = st__next(args);
  return (st_tensors){st__is_none(v) ? NULL : v->u.tensors, v->len};
}
static inline int64_t st__next_int(const st_value **args) {
  return st__next(args)->u.i;
}
static inline int64_t st__next_int_or(const st_value **args,
                                      int64_t otherwise) {
  return st__to_int(st__next(args), otherwise);
}
/* Empty for None. */
static inline st_ints st__next_ints(const st_value **args) {
  const st_value *v = st__next(args);
  return (st_ints){st__is_none(v) ? NULL : v->u.ints, v->len};
}
static inline double st__next_float(const st_value **args) {
  return st__to_float(st__next(args), 0);
}
static inline double st__next_float_or(const st_value **args,
                                       double otherwise) {
  return st__to_float(st__next(args), otherwise);
}
/* False for None. */
static inline bool st__next_bool(const st_value **args) {
  return st__to_bool(st__next(args), false);
}
static inline bool st__next_bool_or(const st_value **args, bool otherwise) {
  return st__to_bool(st__next(args), otherwise);
}
static inline st_scalar st__next_scalar(const st_value **args) {
  return st__scalar_of(st__next(args));
}
static inline st_dtype st__next_dtype_or(const st_value **args,
                                         st_dtype otherwise) {
  return (st_dtype)st__to_int(st__next(args), otherwise);
}

#endif
