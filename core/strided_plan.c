/* The functions of strided_plan.h: checks of their arguments, then calls of
 * iter/plan.h.
 */

#include "strided.h"

#include <inttypes.h>

#include "base/threads.h"
#include "iter/plan.h"
#include "op/create/copy_clone_to.h"

/* -- Plans ---------------------------------------------------------------- */

static st_status check_dtype(st_dtype dtype) {
  if (st__is_tensor_dtype(dtype)) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "there is no dtype number %d", (int)dtype);
}

_Static_assert((int)ST_PLAN_CHECK_OVERLAP == (int)ST_ITER_CHECK_OVERLAP &&
               (int)ST_PLAN_CPU_SCALARS == (int)ST_ITER_CPU_SCALARS &&
               (int)ST_PLAN_REDUCTION == (int)ST_ITER_REDUCTION &&
               (int)ST_PLAN_RESIZE_OUTPUTS == (int)ST_ITER_RESIZE_OUTPUTS &&
               (int)ST_PLAN_SAME_DTYPE == (int)ST_ITER_SAME_DTYPE &&
               (int)ST_PLAN_SAME_DEVICE == (int)ST_ITER_SAME_DEVICE &&
               (int)ST_PLAN_SAFE_CAST == (int)ST_ITER_SAFE_CAST &&
               (int)ST_PLAN_LINEAR == (int)ST_ITER_LINEAR &&
               (int)ST_PLAN_PROMOTE == (int)ST_ITER_PROMOTE &&
               (int)ST_PLAN_INT_TO_FLOAT == (int)ST_ITER_INT_TO_FLOAT &&
               (int)ST_PLAN_CAST_OUTPUTS == (int)ST_ITER_CAST_OUTPUTS,
               "public and internal flags are the same");

st_status st_plan_preset(const char *name, uint32_t *flags,
                         st_dtype *static_dtype) {
  if (st__plan_preset(name, flags, static_dtype)) return ST_OK;
  return st__fail(ST_BAD_VALUE, "there is no preset '%.40s'", name);
}

st_status st_plan_new(const st_plan_config *c, st_plan **out) {
  if (c->dtype != ST_DTYPE_NONE) ST_TRY(check_dtype(c->dtype));
  if (c->static_dtype != ST_DTYPE_NONE) {
    ST_TRY(check_dtype(c->static_dtype));
  }
  return st__plan_new(c, out);
}

static const st_iter *iter_of(const st_plan *p) { return st__plan_iter(p); }

static st_status check_operand(const st_plan *p, int i) {
  if (i >= 0 && i < iter_of(p)->noperands) return ST_OK;
  return st__fail(ST_BAD_INDEX, "there is no operand %" PRId64 ", only %d",
                  st__display_index(i), iter_of(p)->noperands);
}

const int64_t *st_plan_strides(const st_plan *p, int operand) {
  if (operand < 0 || operand >= iter_of(p)->noperands) return NULL;
  return iter_of(p)->op[operand].stride;
}

st_tensor *st_plan_output(const st_plan *p, int i) {
  if (i < 0 || i >= iter_of(p)->noutputs) return NULL;
  const st_iter_operand *op = &iter_of(p)->op[i];
  st_tensor *t = op->original ? op->original : op->tensor;
  st__tensor_retain(t);
  return t;
}

bool st_plan_step(const st_plan *p, int64_t begin, int64_t end, int64_t k,
                  int64_t size[2], int64_t *offsets) {
  return st__plan_step(p, begin, end, k, size, offsets);
}

st_status st_plan_operand_info(const st_plan *p, int i,
                               st_plan_operand *out) {
  ST_TRY(check_operand(p, i));
  st__plan_operand(p, i, out);
  return ST_OK;
}

st_place st_plan_place(const st_plan *p, int i) {
  const bool is_there = i >= 0 && i < st__plan_iter(p)->noperands;
  return is_there ? st__plan_place(p, i) : (st_place){ST_DEVICE_CPU, NULL, 0};
}

st_status st_plan_data(const st_plan *p, const int64_t size[2],
                       const int64_t *offsets, void **data) {
  return st__plan_data(p, size, offsets, data);
}

st_status st_plan_get(const st_plan *p, int i, int64_t offset,
                      st_scalar *out) {
  ST_TRY(check_operand(p, i));
  return st__plan_get(p, i, offset, out);
}

st_status st_plan_set(st_plan *p, int i, int64_t offset, st_scalar value) {
  st_plan_operand op;
  ST_TRY(st_plan_operand_info(p, i, &op));
  if (!op.is_output) {
    return st__fail(ST_BAD_VALUE, "operand %" PRId64 " is an input and cannot "
                    "be written", st__display_index(i));
  }
  ST_TRY(st__check_scalar_fits(value, op.dtype));
  return st__plan_set(p, i, offset, value);
}

st_status st_plan_remove_operand(st_plan *p, int i) {
  ST_TRY(check_operand(p, i));
  return st__plan_remove_operand(p, i);
}

st_status st_plan_replace_operand(st_plan *p, int i, st_tensor *t) {
  ST_TRY(check_operand(p, i));
  return st__plan_replace_operand(p, i, t);
}
