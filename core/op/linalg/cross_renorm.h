/* cross, linalg_cross and renorm.
 */
#ifndef ST_OP_LINALG_CROSS_RENORM_H
#define ST_OP_LINALG_CROSS_RENORM_H

#include "op/registry/op.h"

ST_BOXED(st__box_linalg_cross);
ST_BOXED(st__box_linalg_cross_out);
ST_BOXED(st__box_cross);
ST_BOXED(st__box_cross_out);
ST_BOXED(st__box_renorm);
ST_BOXED(st__box_renorm_);
ST_BOXED(st__box_renorm_out);

#endif
