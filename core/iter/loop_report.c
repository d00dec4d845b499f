/* The dry run and the capture of a thread, which loops are reported to.
 */

#include "iter/loop_report.h"

static _Thread_local st_dry_run *dry_run;
static _Thread_local st_capture *capture;

bool st__is_dry_run(void) { return dry_run || capture; }

st_dry_run *st__set_dry_run(st_dry_run *d) {
  st_dry_run *const old = dry_run;
  dry_run = d;
  return old;
}

void st__dry_run_iter(const st_iter *it, int64_t grain, bool tiled,
                      bool buffered) {
  if (dry_run) dry_run->iter(dry_run, it, grain, tiled, buffered);
}

void st__dry_run_copy(const st_tensor *dst, const st_tensor *src) {
  if (capture) capture->copy(capture, dst, src);
  else if (!dry_run) st__miss_elements();
  if (dry_run) dry_run->copy(dry_run, dst, src);
}

void st__dry_run_reduce(const st_tensor *self, uint64_t dims,
                        const st_tensor *out, st_kernel_id kernel) {
  if (capture) capture->reduce(capture, out, self, kernel);
  if (dry_run) dry_run->reduce(dry_run, self, dims);
}

/* -- Captured loops ------------------------------------------------------- */

st_capture *st__set_capture(st_capture *c) {
  st_capture *const old = capture;
  capture = c;
  return old;
}

st_capture *st__captured(void) { return capture; }

void st__capture_elementwise(const st_iter *it, st_loop loop,
                             const st_params *params, int64_t grain) {
  if (capture) capture->map(capture, it, loop, params, grain);
}

void st__capture_fill(const st_tensor *dst, st_scalar value) {
  if (capture) capture->fill(capture, dst, value);
  else st__miss_elements();
}

void st__capture_divisor(const st_iter *it, int i) {
  if (capture) capture->divide(capture, it, i);
}

void st__capture_data_read(const st_tensor *t) {
  if (capture) capture->read(capture, t);
  else st__miss_elements();
}
