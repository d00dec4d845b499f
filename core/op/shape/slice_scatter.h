/* The *_scatter operators of select, slice, diagonal and as_strided, and the
 * gradients of select, slice, diagonal and unfold.
 */
#ifndef ST_OP_SHAPE_SLICE_SCATTER_H
#define ST_OP_SHAPE_SLICE_SCATTER_H

#include "op/registry/op.h"

ST_BOXED(st__box_select_backward);
ST_BOXED(st__box_slice_backward);
ST_BOXED(st__box_diagonal_backward);
ST_BOXED(st__box_unfold_backward);
ST_BOXED(st__box_select_scatter);
ST_BOXED(st__box_slice_scatter);
ST_BOXED(st__box_diagonal_scatter);
ST_BOXED(st__box_as_strided_scatter);

#endif
