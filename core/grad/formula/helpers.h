/* Helpers of formulas, family by family (help_*.c).
 */
#ifndef ST_GRAD_FORMULA_HELPERS_H
#define ST_GRAD_FORMULA_HELPERS_H

#include "grad/formula/helper.h"
#include "op/registry/composite.h"

#define ST_HELPER(name, least, most, wants_geometry) \
  st_status st__help_##name(int n, const st_helper_arg *args, st_value *out);
#include "grad/formula/helpers.def"
#undef ST_HELPER

/* The dimensions that a reduction over `dims` (none or an empty list: all; a
 * number: one) takes away. */
st_status st__reduced(const st_value *dims, int ndim, uint64_t *set);
/* t, the result of such a reduction of a tensor with these sizes, with the
 * dimensions back as ones. */
st_tensor *st__restore(st_op_scope *c, const st_tensor *t, int ndim,
                       uint64_t set, bool keepdim);

#endif
