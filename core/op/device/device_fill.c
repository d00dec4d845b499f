/* fill_ and zero_ for devices with a backend.
 */

#include "op/device/device.h"

#include "iter/copy.h"
#include "op/create/copy_clone_to.h"

static st_status fill_by_copy(st_tensor *t, st_scalar v) {
  st_tensor *number = NULL;
  ST_TRY(st__tensor_from_scalar(v, t->dtype, false, &number));
  const st_status status = st__copy(t, number);
  st__tensor_release(&number);
  return status;
}

static st_status fill_bytes(const st_backend *b, const st_tensor *t,
                            st_scalar v) {
  _Alignas(16) char element[16];
  const size_t size = st__itemsize(t->dtype);
  const st_place to = {t->device, t->storage->data, (size_t)t->offset * size};
  st__scalar_store(v, t->dtype, element);
  return b->fill(b->ctx, &to, element, size, t->numel);
}

static st_status device_fill_(st_tensor *self, st_scalar v) {
  const st_backend *b = st__backend_of(self->device);
  if (st__lacks_memory(self)) return st__refuse_memoryless(self);
  ST_TRY(st__check_scalar_fits(v, self->dtype));
  if (self->numel == 0) return ST_OK;
  return b->fill && self->flags & ST_FLAG_DENSE && !st__is_lazy(self)
         ? fill_bytes(b, self, v) : fill_by_copy(self, v);
}
ST_TYPED_INPLACE(st__box_device_fill_, device_fill_, (TENSOR, SCALAR))

static st_status device_zero_(st_tensor *self) {
  return device_fill_(self, st__scalar_int(0));
}
ST_TYPED_INPLACE(st__box_device_zero_, device_zero_, (TENSOR))
