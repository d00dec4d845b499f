/* Memory formats (T3 to T7, M1 to M7).
 */
#ifndef ST_TENSOR_MEMORY_FORMAT_H
#define ST_TENSOR_MEMORY_FORMAT_H

#include "tensor/tensor.h"

ST_API const char *st_format_name(st_format f);
ST_API bool st_format_parse(const char *s, st_format *out);

/* The flags that follow from a geometry: all up to ST_FLAG_DENSE. */
uint8_t st__compute_flags(int ndim, const int64_t *sizes,
                          const int64_t *strides);

/* The strides of a shape in a memory format. BAD_LAYOUT if the number of
 * dimensions does not fit the format, and for PRESERVE. */
st_status st__format_strides(int ndim, const int64_t *sizes, st_format f,
                             int64_t *strides);

bool st__is_contiguous_in(const st_tensor *t, st_format f);
/* The format that results of operators on t have. exact: a channels_last
 * format only if all strides of t are those of the format. */
st_format st__suggest_format(const st_tensor *t, bool exact);

/* The strides of the results of clone, empty_like and to with preserve_format:
 * t's own if it is dense, otherwise those of ATen's infer_dense_strides
 * (M5). */
void st__preserved_strides(const st_tensor *t, int64_t *strides);

#endif
