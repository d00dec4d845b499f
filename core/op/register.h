/* What the registrar hands to the boxed kernel of structured operators.
 */
#ifndef ST_OP_REGISTER_H
#define ST_OP_REGISTER_H

#include "op/op.h"

typedef struct st_structured_ctx {
  const st_op_row *row;
  st_variant variant;
  bool is_meta;
  int base;  /* which argument is `int base`, -1 without */
} st_structured_ctx;

#endif
