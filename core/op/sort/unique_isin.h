/* Operators on equal elements: unique, unique_consecutive, isin.
 */
#ifndef ST_OP_SORT_UNIQUE_ISIN_H
#define ST_OP_SORT_UNIQUE_ISIN_H

#include "op/registry/op.h"

ST_BOXED(st__box_isin);        /* either may be a scalar */
ST_BOXED(st__box_isin_Tensor_Tensor_out);
ST_BOXED(st__box_isin_Tensor_Scalar_out);
ST_BOXED(st__box_isin_Scalar_Tensor_out);
ST_BOXED(st__box_unique_consecutive);
ST_BOXED(st__box_unique2);
ST_BOXED(st__box_unique_dim);

#endif
