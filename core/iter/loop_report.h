/* Loops that calls on the meta device would run: reports of them, to a dry run
 * (Note [Dry runs]) or to a capture.
 */
#ifndef ST_ITER_LOOP_REPORT_H
#define ST_ITER_LOOP_REPORT_H

#include "iter/iter.h"

/* What a dry run does with the loops that are reported. */
typedef struct st_dry_run st_dry_run;
struct st_dry_run {
  void (*iter)(st_dry_run *d, const st_iter *it, int64_t grain, bool tiled,
               bool buffered);
  void (*copy)(st_dry_run *d, const st_tensor *dst, const st_tensor *src);
  /* dims: a bit set */
  void (*reduce)(st_dry_run *d, const st_tensor *self, uint64_t dims);
};

/* Makes d the dry run of this thread; NULL ends it. Returns the previous
 * one. */
st_dry_run *st__set_dry_run(st_dry_run *d);
/* True if this thread is in a dry run or its loops are captured. */
bool st__is_dry_run(void);

/* Report a loop on the meta device; without effect outside a dry run or
 * capture. */
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

#endif
