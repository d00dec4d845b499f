/* Products of matrices in another dtype than theirs: mm.dtype, bmm.dtype,
 * addmm.dtype, baddbmm.dtype. The factors are converted first.
 */

#include "op/row/composite.h"

/* float16 and bfloat16 may be multiplied in float32, others in their own. */
static st_status check_dtype(const st_tensor *t, st_dtype d) {
  if (t->dtype == d) return ST_OK;
  if (st__is_reduced_float(t->dtype) && d == ST_FLOAT32) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "out_dtype must be the dtype of the matrices, "
                  "%s, or float32 for float16 and bfloat16, not %s",
                  st__dtype_name(t->dtype), st__dtype_name(d));
}

static st_status check_factors(const st_tensor *a, const st_tensor *b,
                               st_dtype d) {
  ST_TRY(check_dtype(a, d));
  if (a->dtype == b->dtype) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "the matrices must have one dtype, not %s and "
                  "%s", st__dtype_name(a->dtype), st__dtype_name(b->dtype));
}

static st_status product(st_op_id id, const st_value *args, st_value *rets) {
  ST_ARGS(TENSOR(a), TENSOR(b));
  const st_dtype d = (st_dtype)st__next_int(&args);
  st_op_scope c = {.status = check_factors(a, b, d)};
  a = st__apply_to(&c, a, d);
  b = st__apply_to(&c, b, d);
  return st__scope_return(&c, st__apply2(&c, id, a, b), rets);
}

ST_BOXED(st__box_mm_dtype) { return product(ST_OP_mm, args, rets); }

ST_BOXED(st__box_bmm_dtype) { return product(ST_OP_bmm, args, rets); }

static st_status add_product(st_op_id id, const st_value *args,
                             st_value *rets) {
  ST_ARGS(TENSOR(self), TENSOR(a), TENSOR(b));
  const st_dtype d = (st_dtype)st__next_int(&args);
  st_op_scope c = {.status = check_factors(a, b, d)};
  if (st__scope_ok(&c) && self->dtype != a->dtype && self->dtype != d) {
    c.status = st__fail(ST_BAD_DTYPE, "self must have the dtype of the "
                        "matrices, %s, or out_dtype, %s, not %s",
                        st__dtype_name(a->dtype), st__dtype_name(d),
                        st__dtype_name(self->dtype));
  }
  return st__scope_return(&c,
                          ST_APPLY(&c, id, st__apply_to(&c, self, d),
                                   st__apply_to(&c, a, d),
                                   st__apply_to(&c, b, d), args[0], args[1]),
                          rets);
}

ST_BOXED(st__box_addmm_dtype) { return add_product(ST_OP_addmm, args, rets); }

ST_BOXED_AS(st__box_baddbmm_dtype, add_product, ST_OP_baddbmm, args)
