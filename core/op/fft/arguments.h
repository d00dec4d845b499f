/* The arguments of the operators of st.fft: lengths, dimensions, norms. A
 * failure is the scope's.
 */
#ifndef ST_OP_FFT_ARGUMENTS_H
#define ST_OP_FFT_ARGUMENTS_H

#include "op/row/composite.h"

/* The number by which _fft_c2c and others know norm. */
int64_t st__fft_read_norm(st_op_scope *c, const st_value *norm, bool forward);
/* False, and a failure, if no n numbers can be transformed. */
bool st__fft_is_length(st_op_scope *c, int64_t n);
/* t as floats, or as complex numbers. */
st_tensor *st__fft_promote(st_op_scope *c, const st_tensor *t,
                           bool is_complex);
/* dim from 0 on. */
int st__fft_wrap(st_op_scope *c, int64_t dim, const st_tensor *t);
/* t with n numbers along dim: the first ones, or zeros behind them. */
st_tensor *st__fft_resize(st_op_scope *c, st_tensor *t, int dim, int64_t n);

/* Dimensions, and the numbers that are transformed along each. */
typedef struct st_fft_axes {
  int n;
  int64_t dim[ST_MAX_DIMS], size[ST_MAX_DIMS];
} st_fft_axes;

/* The arguments of all operators over several dimensions. */
typedef struct st_fft_axes_args {
  const st_tensor *self;
  const st_value *s, *dim, *norm;
} st_fft_axes_args;

st_fft_axes_args st__fft_read_axes(const st_value *args);
/* The dimensions and sizes that s and dim name: all dimensions, or the last
 * ones if s is given alone. */
st_status st__fft_find_axes(const st_fft_axes_args *g, st_fft_axes *a);
st_tensor *st__fft_resize_axes(st_op_scope *c, st_tensor *t,
                               const st_fft_axes *a);

#endif
