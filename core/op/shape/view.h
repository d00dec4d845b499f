/* Composite operators on shapes, for their shortcuts, too: Note [Operators that
 * a composite row calls].
 */
#ifndef ST_OP_SHAPE_VIEW_H
#define ST_OP_SHAPE_VIEW_H

#include "op/row/typed.h"

st_status st__op_narrow(const st_callees *ops, const st_tensor *self,
                        int64_t dim, int64_t start, int64_t length,
                        st_tensor **out);
st_status st__op_reshape(const st_callees *ops, const st_tensor *self, int n,
                         const int64_t *shape, st_tensor **out);
st_status st__op_flatten(const st_callees *ops, const st_tensor *self,
                         int64_t start_dim, int64_t end_dim, st_tensor **out);
st_status st__op_movedim(const st_callees *ops, const st_tensor *self,
                         int64_t source, int64_t destination,
                         st_tensor **out);

#endif
