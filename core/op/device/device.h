/* What the engine does for the devices of extensions: fills, and operators that
 * run on the CPU. op/table/backend.c registers it.
 */
#ifndef ST_OP_DEVICE_DEVICE_H
#define ST_OP_DEVICE_DEVICE_H

#include "op/row/typed.h"

/* fill_.Scalar and zero_. */
ST_BOXED(st__box_device_fill_);
ST_BOXED(st__box_device_zero_);

/* See strided.h. */
ST_API ST_BOXED(st_cpu_fallback);

/* Sets st__copy_by_kernel (iter/copy.h). */
void st__device_copies_set_up(void);

/* Runs the loop of it->kernel over an iterator on a device; params may be NULL.
 * NO_KERNEL, without a message, if the device cannot. Set by fuse/. */
extern st_status (*st__device_loop)(const st_iter *it,
                                    const st_params *params);

#endif
