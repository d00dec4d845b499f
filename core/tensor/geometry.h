/* Checks of the dtypes and geometries of headers.
 *
 * Note [Geometry that cannot overflow]
 * Every header would pass st__check_geometry: strides are not negative, and the
 * offset plus the sum of sizes times strides, in bytes, fits in 63 bits, even
 * if a size of 0 or 1 makes a stride irrelevant. So other code need not check
 * the product of a size and a stride for overflow.
 */
#ifndef ST_TENSOR_GEOMETRY_H
#define ST_TENSOR_GEOMETRY_H

#include "base/dtype.h"
#include "tensor/tensor.h"

st_status st__refuse_rank(int ndim);
static inline st_status st__check_rank(int ndim) {
  return ndim >= 0 && ndim <= ST_MAX_DIMS ? ST_OK : st__refuse_rank(ndim);
}
st_status st__refuse_tensor_dtype(st_dtype dtype);
static inline st_status st__check_tensor_dtype(st_dtype dtype) {
  return st__is_tensor_dtype(dtype) ? ST_OK : st__refuse_tensor_dtype(dtype);
}
/* That of strides of elements of a size in bytes: no product overflows. */
st_status st__check_strides(const st_geometry *g, int64_t itemsize);
/* Checks where elements of fewer than eight bits are: rows begin at bytes. */
st_status st__check_subbyte(st_device device, st_dtype dtype,
                            const st_geometry *g);
/* Checks a header over s, and counts its elements. */
st_status st__check_geometry(const st_storage *s, st_dtype dtype,
                             const st_geometry *g, int64_t *numel);

#endif
