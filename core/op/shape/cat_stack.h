/* The functions of section "Concatenation and repetition" of ops.def.
 */
#ifndef ST_OP_SHAPE_CAT_STACK_H
#define ST_OP_SHAPE_CAT_STACK_H

#include "op/registry/op.h"

/* -- For other families --------------------------------------------------- */

/* Checks that list has 1 to ST_MAX_DIMS tensors of at least `least` and at
 * most 1 dimensions (repeat_flip_roll.c). */
st_status st__check_vectors(const st_value *list, int least);

/* -- Concatenation (cat_stack.c) ------------------------------------------- */

st_status st__cat_meta(st_run *r);
st_status st__cat_impl(st_run *r);
ST_BOXED(st__box_concat);
ST_BOXED(st__box_stack);
ST_BOXED(st__box_stack_out);
ST_BOXED(st__box_hstack);
ST_BOXED(st__box_vstack);
ST_BOXED(st__box_dstack);
ST_BOXED(st__box_column_stack);
ST_BOXED(st__box_atleast_1d);
ST_BOXED(st__box_atleast_2d);
ST_BOXED(st__box_atleast_3d);

/* -- Repetition and reordering (repeat_flip_roll.c) ------------------------ */

ST_BOXED(st__box_repeat);
ST_BOXED(st__box_tile);
ST_BOXED(st__box_repeat_interleave_self_int);
ST_BOXED(st__box_repeat_interleave_self_Tensor);
ST_BOXED(st__box_flip);
ST_BOXED(st__box_fliplr);
ST_BOXED(st__box_flipud);
ST_BOXED(st__box_roll);
ST_BOXED(st__box_rot90);
ST_BOXED(st__box_meshgrid);
ST_BOXED(st__box_meshgrid_indexing);

#endif
