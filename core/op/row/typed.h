/* Boxed kernels from typed functions: a row's kernel gets boxed arguments
 * (dispatch/dispatch.h), and most are a function of C types, which C code calls
 * as it is. One line beside the function makes the boxed form:
 *
 *     ST_TYPED(st__box_select, st__view_select, (TENSOR, INT, INT))
 *
 * The types are those of abi/boxing.h and, below, the ones for arguments that
 * a function takes in another way than an extension's. There are at most eight.
 */
#ifndef ST_OP_ROW_TYPED_H
#define ST_OP_ROW_TYPED_H

#include "op/row/op.h"

#include "abi/boxing.h"

#define ST_IN_SIZES(v) (int)(v)->len, (v)->u.ints /* two parameters */
#define ST_IN_VALUE(v) (v)                        /* as it is */

/* The unboxed arguments, for a call. */
#define ST_UNBOXED(ARGS) ST_EACH(ST_UNBOXED_ARG, , ARGS)
#define ST_UNBOXED_ARG(k, x, T) ST_UNBOXED_##k ST_IN_##T(&args[k])
#define ST_UNBOXED_0
#define ST_UNBOXED_1 ,
#define ST_UNBOXED_2 ,
#define ST_UNBOXED_3 ,
#define ST_UNBOXED_4 ,
#define ST_UNBOXED_5 ,
#define ST_UNBOXED_6 ,
#define ST_UNBOXED_7 ,

/* function(arguments, st_tensor **out), which makes a tensor. */
#define ST_TYPED(boxed, function, ARGS)       \
  ST_BOXED(boxed) {                           \
    st_tensor *out = NULL;                    \
    ST_TRY(function(ST_UNBOXED(ARGS), &out)); \
    rets[0] = ST_OUT_TENSOR(out);             \
    return ST_OK;                             \
  }

/* function(arguments, st_value *rets), which makes the boxed results. */
#define ST_TYPED_ARGS(boxed, function, ARGS)    \
  ST_BOXED(boxed) {                             \
    return function(ST_UNBOXED(ARGS), rets);    \
  }

/* function(arguments), which changes or checks the first, the result. */
#define ST_TYPED_INPLACE(boxed, function, ARGS)       \
  ST_BOXED(boxed) {                                   \
    ST_TRY(function(ST_UNBOXED(ARGS)));               \
    return st__return_tensor(args[0].u.tensor, rets); \
  }

/* Note [Operators that a composite row calls]
 * A composite row calls operators through the dispatcher. Its shortcut (Note
 * [Shortcuts]) has found out that the arguments are plain and which kernels
 * those calls would reach: the functions themselves are called. So the function
 * of such a row is given what it calls, and there is one of it. */
typedef struct st_callees {
  /* strides: of the view, if they are known; otherwise NULL */
  st_status (*view)(const st_tensor *self, int n, const int64_t *sizes,
                    const int64_t *strides, st_tensor **out);
  st_status (*permute)(const st_tensor *self, int n, const int64_t *dims,
                       st_tensor **out);
  st_status (*slice)(const st_tensor *self, int64_t dim, int64_t start,
                     int64_t end, int64_t step, st_tensor **out);
  st_status (*clone)(const st_tensor *self, st_format format,
                     st_tensor **out);
  st_status (*to_copy)(const st_tensor *self, st_dtype dtype,
                       st_device device, st_format format, st_tensor **out);
} st_callees;

/* The operators, through the dispatcher. */
extern const st_callees st__operators;

/* function(const st_callees *, arguments, st_tensor **out): the boxed kernel of
 * a composite row. */
#define ST_TYPED_COMPOSITE(boxed, function, ARGS)             \
  ST_BOXED(boxed) {                                           \
    st_tensor *out = NULL;                                    \
    ST_TRY(function(&st__operators, ST_UNBOXED(ARGS), &out)); \
    rets[0] = ST_OUT_TENSOR(out);                             \
    return ST_OK;                                             \
  }

#endif
