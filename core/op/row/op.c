/* The operators of the rows, by id, and calls of them from C.
 */

#include "op/row/op.h"

static struct {
  const st_op_row *row;
  const st_op *op[3]; /* by st_variant */
} rows[ST_OP_COUNT];

void st__set_op(st_op_id id, st_variant variant, const st_op_row *row,
                const st_op *op) {
  rows[id].row = row;
  rows[id].op[variant] = op;
}

const st_op_row *st__op_row(st_op_id id) { return rows[id].row; }

const st_op *st__op(st_op_id id) { return rows[id].op[ST_FUNCTIONAL]; }

const st_op *st__op_variant(st_op_id id, st_variant variant) {
  return rows[id].op[variant];
}

st_kernel_id st__op_kernel(const st_op *op) {
  for (int id = 0; id < ST_OP_COUNT; id++) {
    for (int v = 0; v < 3; v++) {
      if (rows[id].op[v] == op) return rows[id].row->kernel;
    }
  }
  return ST_K_NONE;
}
