/* Memory formats (T3 to T7, M1 to M7).
 */
#ifndef ST_TENSOR_FORMAT_H
#define ST_TENSOR_FORMAT_H

#include "tensor/tensor.h"

const char *st__format_name(st_format f);
bool st__format_parse(const char *s, st_format *out);

/* All flags of a geometry, ST_FLAG_WRAPPED excepted. */
uint8_t st__compute_flags(int ndim, const int64_t *sizes,
                          const int64_t *strides);

/* Strides that lay sizes out in a format; BAD_LAYOUT when the rank does not
 * fit the format. PRESERVE is not a layout and fails. */
st_status st__format_strides(int ndim, const int64_t *sizes, st_format f,
                             int64_t *strides);

bool st__is_contiguous_in(const st_tensor *t, st_format f);
st_format st__suggest_format(const st_tensor *t, bool exact);

/* The strides that clone, empty_like and to give with preserve_format:
 * t's own when it is dense, else those of infer_dense_strides (M5). */
void st__preserved_strides(const st_tensor *t, int64_t *strides);

#endif
