/* Factories: operators that create tensors from sizes and scalars.
 *
 * The other factories allocate through empty.memory_format and empty_strided,
 * so a device needs only kernels of these two, and of fill_ and copy_.
 */
#ifndef ST_OP_CREATE_FACTORY_H
#define ST_OP_CREATE_FACTORY_H

#include "op/row/typed.h"

/* -- For other families --------------------------------------------------- */

/* The values of the arguments dtype, layout, device and pin_memory. */
typedef struct st_options {
  st_dtype dtype;
  st_device device;
} st_options;

/* Reads the four arguments at options into *out, which holds the defaults.
 * BAD_DTYPE or BAD_VALUE for a dtype or device that does not exist, a layout
 * other than strided, or pinned memory. */
st_status st__read_options(const st_value *options, st_options *out);
/* Moves args past these four arguments and returns them: dispatch/args.h. */
static inline const st_value *st__next_options(const st_value **args) {
  const st_value *options = *args;
  *args += 4;
  return options;
}

/* A new uninitialized tensor on any device, made through the dispatcher. */
st_status st__new_empty(st_options o, int ndim, const int64_t *sizes,
                        st_format format, st_tensor **out);
/* The same with the sizes of t. With ST_FORMAT_PRESERVE it has t's layout. */
st_status st__new_empty_like(const st_tensor *t, st_options o,
                             st_format format, st_tensor **out);
/* Sets every element of t, a new dense tensor, to s. */
st_status st__fill_new(st_tensor *t, st_scalar s);
/* *out is *t on device: *t itself or a copy. Always consumes *t. */
st_status st__copy_to_device(st_tensor **t, st_device device, st_tensor **out);

/* OK for CPU and Meta tensors. NO_KERNEL for an extension device, which must
 * register its own kernel. BAD_STATE for a zero tensor that has no memory. */
st_status st__check_cpu_or_meta(const st_tensor *t);

/* The boxed kernel of ST_MAKE_OUT rows (factory_out.c). */
ST_BOXED(st__make_out);

#endif
