/* Dry runs: the iterators, copies and reductions that a call would run, found
 * by a call with fake tensors, which have no data.
 *
 * Note [Dry runs]
 * On the meta device a call takes the same path as on the CPU, except for the
 * loops. A dry run calls an operator with a fake tensor for each tensor
 * argument: on the meta device, with the same sizes, strides, dtype and sharing
 * of storages. Code that would run a loop and finds its operands on that device
 * reports the loop here. No element is read or written, modes and observers do
 * not see the call, and ordinary calls pay nothing for it.
 */
#ifndef ST_ITER_DRY_RUN_H
#define ST_ITER_DRY_RUN_H

#include "dispatch/dispatch.h"
#include "abi/strided_plan.h"

#endif
