/* Devices: their names, and the memory of those that extensions bring.
 *
 * Note [Memory of extension devices]
 * Only the extension that registered a device can access its memory. A block is
 * a handle, which need not be an address of the process; the engine stores it
 * as the data of a storage and passes it back, with an offset in bytes. So the
 * data of a tensor (st__data) is only for the CPU. Kernels of the CPU check the
 * devices of their arguments, iterators of other devices do not run on the CPU,
 * and other code reads elements of a copy: st__copy and st__clone copy to, from
 * and within devices with a backend (Note [Copies between devices]); a scope
 * reads by st__scope_here.
 */
#ifndef ST_TENSOR_DEVICE_H
#define ST_TENSOR_DEVICE_H

#include "base/dispatch_key_priority.h"
#include "base/status.h"

/* "cpu", "meta" or the name of a registered device, such as "opencl:1";
 * "privateuse1" to "privateuse3" before registration. */
const char *st__device_name(st_device device);
/* Number 0 has two names: "opencl" and "opencl:0". */
ST_API bool st_device_parse(const char *name, st_device *out);
/* False for a number that is no device, also of a device that is not there. */
bool st__is_device(int64_t number);
/* BAD_VALUE unless st__is_device. */
st_status st__read_any_device(int64_t number, st_device *out);
static inline st_status st__read_device(int64_t number, st_device *out) {
  if (number != ST_DEVICE_CPU) return st__read_any_device(number, out);
  *out = ST_DEVICE_CPU;
  return ST_OK;
}
/* The k-th device that can be used: the CPU, Meta, and those of backends. False
 * past the last. */
ST_API bool st_device_nth(int k, st_device *out);

/* The key of kernels of a device, such as "PrivateUse1". */
const char *st__device_key(st_device device);

/* See strided.h. */
ST_API st_status st_device_register(st_device kind, const char *name,
                                    const st_allocator *allocator);
/* The same for a backend, which has passed st__backend_check. Its kernels are
 * registered by op/table/backend.c. */
st_status st__backend_check(st_device kind, const char *name,
                            const st_backend *backend);
st_status st__backend_add(st_device kind, const char *name,
                          const st_backend *backend);
/* The backend of a device; NULL for the CPU, Meta, and devices that are not
 * registered or only have an allocator. */
const st_backend *st__backend_of(st_device device);
/* True for a device that runs expressions. */
bool st__device_compiles(st_device device);

/* Memory of extension devices. */
st_status st__device_allocate(st_device device, size_t nbytes, void **block);
void st__device_free(st_device device, void *block, size_t nbytes);
/* Copies between places, one of which at least is on an extension device. */
st_status st__device_copy(const st_place *to, const st_place *from,
                          size_t nbytes);
/* BAD_STATE if elements cannot be moved within the device. */
st_status st__device_check_moves(st_device device);
/* Waits for the work of a device; on the CPU there is none. */
st_status st__device_synchronize(st_device device);
st_status st__device_properties(st_device device, st_device_properties *out);
/* Seeds the generators of all backends. */
void st__devices_seed(uint64_t seed);

#endif
