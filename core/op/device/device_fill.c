/* fill_ and zero_ for devices with a backend, and copies for those without.
 */

#include "op/device/device.h"

#include "iter/copy.h"
#include "op/create/copy_clone_to.h"

/* Elements of one address get one value, so t may overlap itself. */
static st_status fill_by_copy(st_tensor *t, st_scalar v) {
  st_tensor *number = NULL;
  ST_TRY(st__tensor_from_scalar(v, t->dtype, false, &number));
  const st_status status = st__copy_on_device(t, number, st__copy_unchecked);
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

/* -- Devices without a backend -------------------------------------------- */

/* Redispatched to this device, since a call may reach the kernel of another. */
static st_status copy_by_kernel(st_tensor *dst, const st_tensor *src) {
  const st_op *op = st__op(ST_OP_copy_);
  const bool is_of_dst = st__is_privateuse(dst) &&
                         !st__backend_of(dst->device);
  const st_device device = is_of_dst ? dst->device : src->device;
  const st_keyset lazy = (dst->keys | src->keys) & ST_LAZY_BITS;
  const st_value args[] = {st__of_tensor(dst), st__of_tensor(src),
                           st__of_bool(false)};
  st_value same;
  if (!st__kernel_facts(op, st__device_key(device)).is_of_library) {
    return st__fail(ST_NO_KERNEL, "device '%s' cannot copy elements: it has no "
                    "kernel of copy_ and no backend", st__device_name(device));
  }
  ST_TRY(st__redispatch(op, st__device_keys(device) | lazy, args, &same));
  st__value_clear(&same);
  return ST_OK;
}

void st__device_copies_set_up(void) { st__copy_by_kernel = copy_by_kernel; }
