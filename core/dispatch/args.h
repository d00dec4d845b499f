/* Readers of the arguments of a boxed kernel, which names its arguments once,
 * in the order of the schema:
 *
 *     ST_ARGS(TENSOR(self), INT(dim), INT_OR(start, 0));
 *
 * declares `const st_tensor *self`, and so on, and moves args behind them. What
 * is read into something else has functions: each returns the first of args in
 * its C type and moves args to the next one. The dispatcher has checked the
 * types against the schema. A reader with _or is for an optional argument and
 * returns the second parameter for None.
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

/* ST_ARGS declares at most eight arguments, ST_ARGS_TO reads them into fields
 * of s. MUTABLE is a tensor that is written, or a variable; VALUE a copy of the
 * boxed value and BOXED where it is. */
#define ST_ARGS(...)          ST_EACH(ST_ARG, , (__VA_ARGS__))
#define ST_ARGS_TO(s, ...)    ST_EACH(ST_ARG_TO, s, (__VA_ARGS__))
#define ST_ARG(k, x, arg)     ST_ARG_##arg
#define ST_ARG_TO(k, s, arg)  (s).ST_FIELD_##arg
#define ST_ARG_TENSOR(name)   const st_tensor *ST_FIELD_TENSOR(name)
#define ST_ARG_MUTABLE(name)  st_tensor *ST_FIELD_TENSOR(name)
#define ST_ARG_TENSORS(name)  const st_tensors ST_FIELD_TENSORS(name)
#define ST_ARG_INT(name)      const int64_t ST_FIELD_INT(name)
#define ST_ARG_INT_OR(name, x) const int64_t ST_FIELD_INT_OR(name, x)
#define ST_ARG_INTS(name)     const st_ints ST_FIELD_INTS(name)
#define ST_ARG_FLOAT(name)    const double ST_FIELD_FLOAT(name)
#define ST_ARG_FLOAT_OR(name, x) const double ST_FIELD_FLOAT_OR(name, x)
#define ST_ARG_BOOL(name)     const bool ST_FIELD_BOOL(name)
#define ST_ARG_BOOL_OR(name, x) const bool ST_FIELD_BOOL_OR(name, x)
#define ST_ARG_SCALAR(name)   const st_scalar ST_FIELD_SCALAR(name)
#define ST_ARG_VALUE(name)    const st_value ST_FIELD_VALUE(name)
#define ST_ARG_BOXED(name)    const st_value *ST_FIELD_BOXED(name)
#define ST_ARG_SKIP()         (void)st__next(&args);
#define ST_FIELD_TENSOR(name) name = st__next_tensor(&args);
#define ST_FIELD_TENSORS(name) name = st__next_tensors(&args);
#define ST_FIELD_INT(name)    name = st__next_int(&args);
#define ST_FIELD_INT_OR(name, x) name = st__next_int_or(&args, x);
#define ST_FIELD_INTS(name)   name = st__next_ints(&args);
#define ST_FIELD_FLOAT(name)  name = st__next_float(&args);
#define ST_FIELD_FLOAT_OR(name, x) name = st__next_float_or(&args, x);
#define ST_FIELD_BOOL(name)   name = st__next_bool(&args);
#define ST_FIELD_BOOL_OR(name, x) name = st__next_bool_or(&args, x);
#define ST_FIELD_SCALAR(name) name = st__next_scalar(&args);
#define ST_FIELD_VALUE(name)  name = *st__next(&args);
#define ST_FIELD_BOXED(name)  name = st__next(&args);

#endif
