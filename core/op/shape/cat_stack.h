/* The functions of section "Joins" of ops.def.
 */
#ifndef ST_OP_SHAPE_CAT_STACK_H
#define ST_OP_SHAPE_CAT_STACK_H

#include "op/registry/op.h"

/* -- For other families --------------------------------------------------- */

/* OK when list is 1 to ST_MAX_DIMS vectors; numbers too where least, the
 * dimensions they have at the least, is 0 (repeat_flip_roll.c). */
st_status st__check_vectors(const st_value *list, int least);

/* -- Side by side (cat_stack.c) -------------------------------------------- */

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

/* -- Again and again, and moved (repeat_flip_roll.c) ----------------------- */

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
