/* Tags of operators (R15). Most of them follow from the row; the others are
 * listed here.
 */

#include <string.h>

#include "op/row/kernel_context.h"

static const struct { const char *name; int tags; } listed[] = {
  {"nonzero",                        ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"nonzero_numpy",                  ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"argwhere",                       ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"where",                          ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"bincount",                       ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"unique_consecutive",             ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"_unique2",                       ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"unique_dim",                     ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"masked_select",                  ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"index.Tensor",                   ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"repeat_interleave.self_Tensor",  ST_OPTAG_DYNAMIC_OUTPUT_SHAPE},
  {"item",                           ST_OPTAG_DATA_DEPENDENT_OUTPUT},
  {"_local_scalar_dense",            ST_OPTAG_DATA_DEPENDENT_OUTPUT},
  {"allclose",                       ST_OPTAG_DATA_DEPENDENT_OUTPUT},
  {"equal",                          ST_OPTAG_DATA_DEPENDENT_OUTPUT},
  {"as_strided_",                    ST_OPTAG_INPLACE_VIEW},
  {"t_",                             ST_OPTAG_INPLACE_VIEW},
  {"transpose_",                     ST_OPTAG_INPLACE_VIEW},
  {"swapaxes_",                      ST_OPTAG_INPLACE_VIEW},
  {"swapdims_",                      ST_OPTAG_INPLACE_VIEW},
  {"squeeze_",                       ST_OPTAG_INPLACE_VIEW},
  {"squeeze_.dim",                   ST_OPTAG_INPLACE_VIEW},
  {"squeeze_.dims",                  ST_OPTAG_INPLACE_VIEW},
  {"unsqueeze_",                     ST_OPTAG_INPLACE_VIEW},
  {"resize_",                        ST_OPTAG_INPLACE_VIEW},
  {"resize_as_",                     ST_OPTAG_INPLACE_VIEW},
  {"squeeze",                        ST_OPTAG_SHAPE_BY_ONES},
  {"squeeze.dim",                    ST_OPTAG_SHAPE_BY_ONES},
  {"squeeze.dims",                   ST_OPTAG_SHAPE_BY_ONES},
  {"squeeze_copy",                   ST_OPTAG_SHAPE_BY_ONES},
  {"squeeze_copy.dim",               ST_OPTAG_SHAPE_BY_ONES},
  {"squeeze_copy.dims",              ST_OPTAG_SHAPE_BY_ONES},
  {"atleast_1d",                     ST_OPTAG_SHAPE_BY_ONES},
  {"atleast_2d",                     ST_OPTAG_SHAPE_BY_ONES},
  {"atleast_3d",                     ST_OPTAG_SHAPE_BY_ONES},
};

int st__row_tags(const st_op_row *row, const char *schema) {
  int tags = row->kind == ST_KIND_POINTWISE ? ST_OPTAG_POINTWISE
           : row->kind == ST_KIND_VIEW_COPY ? ST_OPTAG_VIEW_COPY : 0;
  const size_t n = strcspn(schema, "(");
  if (strstr(schema, "Generator") || strncmp(schema, "rand", 4) == 0) {
    tags |= ST_OPTAG_NONDETERMINISTIC_SEEDED;
  }
  for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
    if (strlen(listed[i].name) == n &&
        strncmp(schema, listed[i].name, n) == 0) {
      tags |= listed[i].tags;
    }
  }
  return tags;
}
