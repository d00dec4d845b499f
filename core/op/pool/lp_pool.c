/* lp_pool: the norm of order norm_type of each window, by means of powers.
 */

#include "op/pool/pool.h"

static st_status lp_pool(const st_value *args, int n, st_op_id mean,
                         st_value *rets) {
  const st_tensor *input = st__next_tensor(&args);
  const st_value *norm_type = st__next(&args);
  const st_value *kernel_size = st__next(&args), *stride = st__next(&args);
  const st_value *ceil_mode = st__next(&args);
  static const int64_t none[] = {0};
  int64_t kernel[ST_SPATIAL_MAX];
  ST_TRY(st__read_sizes((st_ints){kernel_size->u.ints, kernel_size->len},
                        "kernel_size", n, 1, kernel));
  st_op_scope c = {.n = 0};
  const st_tensor *t = st__apply_with(&c, ST_OP_pow_Tensor_Scalar, input,
                                      *norm_type);
  t = st__apply(&c, mean, 5,
                (st_value[]){st__of_tensor(t), *kernel_size, *stride,
                             st__of_ints(none, 1), *ceil_mode});
  /* A sum that rounding makes negative keeps its sign; 0 has no gradient. */
  const st_tensor *size = st__apply1(&c, ST_OP_relu,
                                     st__apply1(&c, ST_OP_abs, t));
  t = st__apply2(&c, ST_OP_mul_Tensor, st__apply1(&c, ST_OP_sign, t), size);
  double count = 1;
  for (int d = 0; d < n; d++) count *= (double)kernel[d];
  t = st__apply_with(&c, ST_OP_mul_Scalar, t, st__of_float(count));
  const double order = st__to_float(norm_type, 0);
  return st__scope_return(
    &c, st__apply_with(&c, ST_OP_pow_Tensor_Scalar, t,
                       st__of_float(1 / order)), rets);
}

ST_BOXED_AS(st__box_lp_pool1d, lp_pool, args, 1, ST_OP_avg_pool1d)
ST_BOXED_AS(st__box_lp_pool2d, lp_pool, args, 2, ST_OP_avg_pool2d)
ST_BOXED_AS(st__box_lp_pool3d, lp_pool, args, 3, ST_OP_avg_pool3d)
