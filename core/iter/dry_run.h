/* What a call would walk: the plans of the iterators, copies and reductions
 * it is made of, found by making it with tensors that have no data.
 *
 * Note [Dry runs]
 * On the meta device a call goes the same way as on the CPU, up to the loops.
 * A watched call is one on fake tensors of its tensors there: of the same
 * geometry and dtypes, sharing memory as the originals do. Whoever would run a
 * loop over something and finds it on that device says so here. Nothing is read
 * or written, no mode or observer hears of it, and nobody but a watched call
 * pays for it.
 */
#ifndef ST_ITER_DRY_RUN_H
#define ST_ITER_DRY_RUN_H

#include "dispatch/dispatch.h"
#include "iter/plan.h"

/* Is this thread in such a call, or are its loops captured? */
bool st__is_dry_run(void);

/* On the meta device, in such a call or not. dims: a bit set. */
void st__dry_run_iter(const st_iter *it, int64_t grain, bool tiled,
                      bool buffered);
void st__dry_run_copy(const st_tensor *dst, const st_tensor *src);
void st__dry_run_reduce(const st_tensor *self, uint64_t dims,
                        const st_tensor *out, st_kernel_id kernel);

/* Note [Captured loops]
 * Calls on the meta device say which loop they would run over what. Whoever
 * captures them has the loops themselves, with the numbers that go with them
 * and the dtypes that operands are seen in, and can run them later, over other
 * memory and in pieces: that is how expressions are fused
 * (fuse/ir/lower_graph.h). So a fused expression computes with the very loops
 * of the operators it is made of, whatever chose them. */
typedef struct st_capture st_capture;
struct st_capture {
  /* an elementwise loop; params may be NULL, what else it would be handed
   * cannot be kept: then loop is NULL */
  void (*map)(st_capture *c, const st_iter *it, st_loop loop,
              const st_params *params, int64_t grain);
  void (*copy)(st_capture *c, const st_tensor *dst, const st_tensor *src);
  void (*fill)(st_capture *c, const st_tensor *dst, st_scalar value);
  /* a reduction by this kernel */
  void (*fold)(st_capture *c, const st_tensor *out, const st_tensor *self,
               st_kernel_id kernel);
  /* input i of it must have no zeros */
  void (*divide)(st_capture *c, const st_iter *it, int i);
  /* the call depends on elements of t */
  void (*data_read)(st_capture *c, const st_tensor *t);
};

/* Calls of this thread are captured from now on, or not any more (NULL). What
 * was in force; not while calls are watched. */
st_capture *st__set_capture(st_capture *c);
st_capture *st__captured(void);

/* On the meta device, captured or not. */
void st__capture_elementwise(const st_iter *it, st_loop loop,
                             const st_params *params, int64_t grain);
void st__capture_fill(const st_tensor *dst, st_scalar value);
void st__capture_divisor(const st_iter *it, int i);
void st__capture_data_read(const st_tensor *t);

/* See strided.h. */
st_status st__dry_run_call(const st_op *op, int n, const st_value *args,
                           st_plan **plans, int room, int *count);

#endif
