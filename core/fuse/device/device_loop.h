/* Loops on devices: expressions that a backend compiles, kept, and run.
 *
 * Note [Loops on devices]
 * An elementwise operator on a device with a backend is checked, promoted and
 * laid out as on the CPU; only its last step differs: the backend gets the
 * iterator, as a plan, and the kernel's expression, which it compiles once per
 * kernel and dtypes. The values of scalar arguments are no part of it. What has
 * no expression, or one that the backend refuses, runs on the CPU (Note [The
 * CPU fallback]). A program of fused operators is compiled as a whole.
 */
#ifndef ST_FUSE_DEVICE_DEVICE_LOOP_H
#define ST_FUSE_DEVICE_DEVICE_LOOP_H

#include "fuse/program.h"

/* Sets st__device_loop (op/device/device.h). */
void st__device_loops_set_up(void);

/* Runs p over an iterator on a device, which has been built for it. NO_KERNEL,
 * without a message, if the device cannot. */
__attribute__((warn_unused_result))
st_status st__program_run_on_device(st_program *p, const st_iter *it);
/* Releases the code that devices have made of a program. */
void st__device_codes_free(st_device_code *codes);

#endif
