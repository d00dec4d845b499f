/* lp_pool: the norm of order norm_type of each window, by means of powers.
 */

#include "op/pool/pool.h"

static st_status lp_pool(const st_value *args, int n, st_op_id mean,
                         st_value *rets) {
  ST_ARGS(TENSOR(input), BOXED(norm_type), BOXED(kernel_size), BOXED(stride),
          BOXED(ceil_mode));
  int64_t kernel[ST_SPATIAL_MAX];
  ST_TRY(st__read_sizes((st_ints){kernel_size->u.ints, kernel_size->len},
                        "kernel_size", n, 1, kernel));
  st_op_scope c = {.n = 0};
  const st_tensor *t = ST_APPLY(&c, ST_OP_pow_Tensor_Scalar, input, *norm_type);
  t = ST_APPLY(&c, mean, t, *kernel_size, *stride, ST_INTS(0), *ceil_mode);
  /* A sum that rounding makes negative keeps its sign; 0 has no gradient. */
  const st_tensor *size = st__apply1(&c, ST_OP_relu,
                                     st__apply1(&c, ST_OP_abs, t));
  t = st__mul(&c, st__apply1(&c, ST_OP_sign, t), size);
  double count = 1;
  for (int d = 0; d < n; d++) count *= (double)kernel[d];
  t = ST_APPLY(&c, ST_OP_mul_Scalar, t, count);
  const double order = st__to_float(norm_type, 0);
  return st__scope_return(
    &c, ST_APPLY(&c, ST_OP_pow_Tensor_Scalar, t, st__of_float(1 / order)),
    rets);
}

ST_BOXED_AS(st__box_lp_pool1d, lp_pool, args, 1, ST_OP_avg_pool1d)
ST_BOXED_AS(st__box_lp_pool2d, lp_pool, args, 2, ST_OP_avg_pool2d)
ST_BOXED_AS(st__box_lp_pool3d, lp_pool, args, 3, ST_OP_avg_pool3d)
