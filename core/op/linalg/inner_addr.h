/* Composite products: the operators of section "More products" of ops.def.
 */
#ifndef ST_OP_LINALG_INNER_ADDR_H
#define ST_OP_LINALG_INNER_ADDR_H

#include "op/registry/op.h"

ST_BOXED(st__box_inner);
ST_BOXED(st__box_inner_out);
ST_BOXED(st__box_linalg_vecdot);
ST_BOXED(st__box_linalg_vecdot_out);
ST_BOXED(st__box_addr);
ST_BOXED(st__box_addr_);
ST_BOXED(st__box_addr_out);
ST_BOXED(st__box_addbmm);
ST_BOXED(st__box_addbmm_);
ST_BOXED(st__box_addbmm_out);

#endif
