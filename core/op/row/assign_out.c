/* Writing a result to the out= of an operator that is not structured:
 * composites, factories and matmul. Structured operators write to out
 * themselves: structured.c.
 */

#include "op/row/assign_out.h"

#include "tensor/overlap.h"

static st_status check_device(const st_tensor *out, const st_tensor *value) {
  return out->device == value->device ? ST_OK
       : st__fail(ST_BAD_VALUE, "out and the result are on different devices");
}

static st_status check_out(const st_tensor *out, const st_tensor *value) {
  if (out->dtype != value->dtype) {
    return st__fail(ST_BAD_DTYPE, "out has dtype %s, but the result is %s",
                    st__dtype_name(out->dtype),
                    st__dtype_name(value->dtype));
  }
  return check_device(out, value);
}

/* An extension device copies with its own kernel. */
static st_status copy_on_device(st_tensor *out, const st_tensor *value) {
  st_value ret;
  ST_TRY(st__invoke(ST_OP_copy_, ST_VALUES(out, value), &ret));
  st__value_clear(&ret);
  return ST_OK;
}

/* A copy on a device may fail: then out has its old shape again. */
static st_status resize_on_device(st_tensor *out, const st_tensor *value) {
  st_tensor *was = NULL;
  ST_TRY(st__tensor_view(out, out->ndim, out->sizes, out->strides, out->offset,
                         &was));
  st_status status = st__tensor_resize_out(out, value->ndim, value->sizes,
                                           ST_FORMAT_CONTIGUOUS);
  if (status == ST_OK) status = copy_on_device(out, value);
  if (status != ST_OK) st__tensor_swap(out, was);
  st__tensor_release(&was);
  return status;
}

static st_status assign(st_tensor *out, const st_tensor *value) {
  if (value->storage == out->storage && st__has_elements(out) &&
      st__overlap(out, value) == ST_OVERLAP_SOME) {
    st_tensor *copy;
    ST_TRY(st__clone(value, value->dtype, ST_FORMAT_PRESERVE, &copy));
    const st_status status = assign(out, copy);
    st__tensor_release(&copy);
    return status;
  }
  if (st__same_sizes(out, value)) {
    ST_TRY(st__check_internal_overlap(out));
  } else if (out->device > ST_DEVICE_META) {
    return resize_on_device(out, value);
  } else {
    ST_TRY(st__tensor_resize_out(out, value->ndim, value->sizes,
                                 ST_FORMAT_CONTIGUOUS));
  }
  if (out->device > ST_DEVICE_META) return copy_on_device(out, value);
  return st__copy_unchecked(out, value);
}

st_status st__prepare_out(st_tensor *out, const st_tensor *value) {
  ST_TRY(check_out(out, value));
  return st__same_sizes(out, value)
    ? st__check_internal_overlap(out)
    : st__tensor_reserve(out, value->ndim, value->sizes,
                         ST_FORMAT_CONTIGUOUS);
}

st_status st__assign_out(st_tensor *out, const st_tensor *value) {
  ST_TRY(check_out(out, value));
  return assign(out, value);
}

st_status st__cast_out(st_tensor *out, const st_tensor *value) {
  ST_TRY(st__check_castable(value->dtype, out));
  ST_TRY(check_device(out, value));
  return assign(out, value);
}
