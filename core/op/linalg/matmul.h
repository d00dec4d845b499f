/* Products of matrices and vectors: mm, bmm, mv, dot, their add variants,
 * matmul, outer, linear.
 */
#ifndef ST_OP_LINALG_MATMUL_H
#define ST_OP_LINALG_MATMUL_H

#include "op/registry/op.h"

st_status st__mm_meta(st_run *r);
st_status st__bmm_meta(st_run *r);
st_status st__mv_meta(st_run *r);
st_status st__dot_meta(st_run *r);
st_status st__product_impl(st_run *r);    /* of these four */
st_status st__addmm_meta(st_run *r);
st_status st__addmv_meta(st_run *r);
st_status st__baddbmm_meta(st_run *r);
st_status st__addproduct_impl(st_run *r); /* of these three */

st_status st__box_matmul(const st_call *call, const st_value *args,
                         st_value *rets);
st_status st__box_matmul_out(const st_call *call, const st_value *args,
                             st_value *rets);
st_status st__box_outer(const st_call *call, const st_value *args,
                        st_value *rets);
st_status st__box_linear(const st_call *call, const st_value *args,
                         st_value *rets);

#endif
