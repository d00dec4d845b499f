/* out= variants of operators that are not structured.
 */
#ifndef ST_OP_REGISTRY_OUT_VARIANTS_H
#define ST_OP_REGISTRY_OUT_VARIANTS_H

#include "op/registry/op.h"

/* Copies value to out. out keeps its strides if it has the shape of value,
 * and is resized otherwise. BAD_DTYPE or BAD_VALUE when dtypes or devices
 * differ. A failure leaves out unchanged. */
st_status st__assign_out(st_tensor *out, const st_tensor *value);
/* The same, but out may have any dtype that value can be cast to. */
st_status st__cast_out(st_tensor *out, const st_tensor *value);

/* -- Operators ------------------------------------------------------------ */

ST_BOXED(st__box_empty_out);
ST_BOXED(st__box_zeros_out);
ST_BOXED(st__box_ones_out);
ST_BOXED(st__box_full_out);
ST_BOXED(st__box_rand_out);
ST_BOXED(st__box_rand_generator_out);
ST_BOXED(st__box_randn_out);
ST_BOXED(st__box_randn_generator_out);
ST_BOXED(st__box_randint_out);
ST_BOXED(st__box_randint_generator_out);
ST_BOXED(st__box_randint_low_out);
ST_BOXED(st__box_randint_low_generator_out);
ST_BOXED(st__box_randperm_out);
ST_BOXED(st__box_randperm_generator_out);
ST_BOXED(st__box_eye_out);
ST_BOXED(st__box_eye_m_out);
ST_BOXED(st__box_arange_out);
ST_BOXED(st__box_arange_start_out);
ST_BOXED(st__box_range_out);
ST_BOXED(st__box_linspace_out);
ST_BOXED(st__box_logspace_out);
ST_BOXED(st__box_concat_out);
ST_BOXED(st__box_hstack_out);
ST_BOXED(st__box_vstack_out);
ST_BOXED(st__box_dstack_out);
ST_BOXED(st__box_column_stack_out);
ST_BOXED(st__box_outer_out);
ST_BOXED(st__box_take_along_dim_out);

#endif
