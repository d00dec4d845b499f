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
#include "iter/plan.h"

/* True if this thread is in a dry run or its loops are captured. */
bool st__is_dry_run(void);

/* Report a loop on the meta device; without effect outside a dry run or
 * capture. dims: a bit set. */
void st__dry_run_iter(const st_iter *it, int64_t grain, bool tiled,
                      bool buffered);
void st__dry_run_copy(const st_tensor *dst, const st_tensor *src);
void st__dry_run_reduce(const st_tensor *self, uint64_t dims,
                        const st_tensor *out, st_kernel_id kernel);

/* Note [Captured loops]
 * Calls on the meta device report which loop they would run on which operands.
 * A capture receives the loops themselves, with their scalar parameters and the
 * dtypes that operands are converted to, and can run them later, on other
 * memory and in blocks. Expressions are fused this way (fuse/ir/lower_graph.h).
 * So a fused expression computes with exactly the loops of its operators,
 * whatever selected them. */
typedef struct st_capture st_capture;
struct st_capture {
  /* an elementwise loop, that of it->kernel; params may be NULL. loop is NULL
   * if it needs a ctx of another kind, which cannot be kept */
  void (*map)(st_capture *c, const st_iter *it, st_loop loop,
              const st_params *params, int64_t grain);
  void (*copy)(st_capture *c, const st_tensor *dst, const st_tensor *src);
  void (*fill)(st_capture *c, const st_tensor *dst, st_scalar value);
  /* a reduction by this kernel */
  void (*reduce)(st_capture *c, const st_tensor *out, const st_tensor *self,
                 st_kernel_id kernel);
  /* input i of it must not contain zeros */
  void (*divide)(st_capture *c, const st_iter *it, int i);
  /* the call depends on elements of t */
  void (*read)(st_capture *c, const st_tensor *t);
};

/* Captures the calls of this thread; NULL ends the capture. Returns the
 * previous capture. Not allowed in a dry run. */
st_capture *st__set_capture(st_capture *c);
st_capture *st__captured(void);

/* Report to the capture on the meta device; without effect if there is none. */
void st__capture_elementwise(const st_iter *it, st_loop loop,
                             const st_params *params, int64_t grain);
void st__capture_fill(const st_tensor *dst, st_scalar value);
void st__capture_divisor(const st_iter *it, int i);
void st__capture_data_read(const st_tensor *t);

/* See st_plan_call in strided_plan.h. */
st_status st__dry_run_call(const st_op *op, int n, const st_value *args,
                           st_plan **plans, int room, int *count);

#endif
