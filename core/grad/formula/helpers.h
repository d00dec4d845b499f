/* The helpers of helpers.def, one file per family (reduce_helpers.c, ...).
 */
#ifndef ST_GRAD_FORMULA_HELPERS_H
#define ST_GRAD_FORMULA_HELPERS_H

#include "grad/formula/helper.h"
#include "op/registry/composite.h"

#define ST_HELPER(name, least, most, wants_geometry) \
  st_status st__help_##name(int n, const st_helper_arg *args, st_value *out);
#include "grad/formula/helpers.def"
#undef ST_HELPER

/* Sets the bits of the dimensions that a reduction over `dims` removes. dims:
 * an integer, a list, or for all dimensions none or an empty list. */
st_status st__reduced(const st_value *dims, int ndim, uint64_t *set);
/* Inserts the reduced dimensions `set` as size 1 into t, the result of such a
 * reduction of a tensor with ndim dimensions. Returns t itself if keepdim. */
st_tensor *st__restore(st_op_scope *c, const st_tensor *t, int ndim,
                       uint64_t set, bool keepdim);

#endif
