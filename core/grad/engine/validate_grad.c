/* Checks of the outputs of a pass; conversion of gradients to the shape, dtype
 * and device of their inputs.
 */

#include "grad/engine/validate_grad.h"

#include "grad/graph/history.h"
#include "op/row/composite.h"

static st_status replace(st_tensor **t, st_op_id id, const st_value *more,
                         int n) {
  st_value args[3] = {st__of_tensor(*t)};
  st_tensor *out;
  for (int i = 0; i < n; i++) args[i + 1] = more[i];
  ST_TRY(st__invoke1(id, n + 1, args, &out));
  st__tensor_release(t);
  *t = out;
  return ST_OK;
}

static bool is_expansion(const st_input_metadata *m, const st_tensor *t) {
  if (m->ndim > t->ndim) return false;
  for (int d = 1; d <= m->ndim; d++) {
    const int64_t have = t->sizes[t->ndim - d], want = m->sizes[m->ndim - d];
    if (have != want && want != 1) return false;
  }
  return true;
}

/* Sums over the dimensions that broadcasting added or expanded (A10). */
static st_status sum_to(const st_input_metadata *m, st_tensor **t) {
  int64_t dims[ST_MAX_DIMS];
  int n = 0;
  const int lead = (*t)->ndim - m->ndim;
  for (int d = 0; d < (*t)->ndim; d++) {
    if (d < lead || (m->sizes[d - lead] == 1 && (*t)->sizes[d] != 1)) {
      dims[n++] = d;
    }
  }
  if (n) {
    ST_TRY(replace(t, ST_OP_sum_dim_IntList, (st_value[]){
      st__of_ints(dims, n), st__of_bool(true)}, 2));
  }
  return lead == 0 ? ST_OK : replace(t, ST_OP_view, (st_value[]){
    st__of_ints(m->sizes, m->ndim)}, 1);
}

st_status st__validate_grad(const st_node *n, int i, st_tensor **t) {
  const st_input_metadata *m = &n->inputs[i];
  if (st__metadata_matches(m, *t)) return ST_OK;
  if (st__is_complex((st_dtype)(*t)->dtype) &&
      !st__is_complex(m->dtype)) {
    ST_TRY(replace(t, ST_OP_real, NULL, 0));
  }
  if (!st__has_sizes(*t, m->ndim, m->sizes)) {
    if (!is_expansion(m, *t)) {
      return st__fail(ST_BAD_SHAPE, "%s returned a gradient of shape %s for "
                      "input %d, whose shape is %s", n->name, ST_SHAPE_TEXT(*t),
                      i + 1, st__shape_text(m->ndim, m->sizes,
                                            (char[160]){0}, 160));
    }
    ST_TRY(sum_to(m, t));
  }
  if ((*t)->dtype != m->dtype) {
    ST_TRY(replace(t, ST_OP_to_dtype, (st_value[]){st__of_int(m->dtype)}, 1));
  }
  if ((*t)->device == m->device) return ST_OK;
  return replace(t, ST_OP_to_prim_Device,
                 (st_value[]){st__of_int(m->device)}, 1);
}

st_status st__check_root(const st_tensor *t, const st_tensor *grad, int i) {
  if (!st__requires_grad(t)) {
    return st__fail(ST_BAD_STATE, "output %d does not require a gradient: it "
                    "was not computed from a tensor that does, as after "
                    "requires_grad_()", i + 1);
  }
  if (!grad && t->numel != 1) {
    return st__fail(ST_BAD_SHAPE, "output %d has shape %s: its gradient must "
                    "be given unless it has one element, as its sum() has",
                    i + 1, ST_SHAPE_TEXT(t));
  }
  if (grad && !st__same_sizes(t, grad)) {
    return st__fail(ST_BAD_SHAPE, "the gradient of output %d has shape %s, "
                    "the output %s", i + 1, ST_SHAPE_TEXT(grad),
                    ST_SHAPE_TEXT(t));
  }
  if (!grad && st__is_complex(t->dtype)) {
    return st__fail(ST_BAD_DTYPE, "output %d is complex: its gradient must "
                    "be given", i + 1);
  }
  if (grad && st__is_complex(grad->dtype) !=
              st__is_complex(t->dtype)) {
    return st__fail(ST_BAD_DTYPE, "the gradient of output %d is %s, the "
                    "output %s", i + 1,
                    st__dtype_name(grad->dtype),
                    st__dtype_name(t->dtype));
  }
  return ST_OK;
}
