/* Dry runs (Note [Dry runs]): plans of the loops that a call reports.
 */

#include "iter/dry_run.h"

#include "iter/build.h"
#include "iter/fake_tensors.h"
#include "iter/loop_report.h"
#include "iter/plan.h"

typedef struct dry_run {
  st_dry_run reports; /* first: of() */
  st_plan **plans;
  int room, count;
  st_status status; /* of the copies of iterators */
} dry_run;

static dry_run *of(st_dry_run *d) { return (dry_run *)d; }

/* -- Plans ---------------------------------------------------------------- */

static void add_plan(dry_run *w, const st_iter *it, st_plan_run run) {
  if (w->count < w->room && w->status == ST_OK) {
    w->status = st__plan_of(it, &run, &w->plans[w->count]);
  }
  if (w->status == ST_OK) w->count++;
}

static void add_iter(st_dry_run *d, const st_iter *it, int64_t grain,
                     bool tiled, bool buffered) {
  const st_plan_run run = {ST_PLAN_ELEMENTWISE, grain, tiled, buffered};
  add_plan(of(d), it, run);
}

static void add_copy(st_dry_run *d, const st_tensor *dst,
                     const st_tensor *src) {
  st_iter it;
  st__iter_init(&it, ST_ITER_BORROWED);
  st__iter_output(&it, dst, ST_DTYPE_NONE);
  st__iter_input(&it, src);
  const st_plan_run run = {.kind = ST_PLAN_COPY};
  if (st__iter_build(&it) == ST_OK) add_plan(of(d), &it, run);
  st__iter_release(&it);
}

/* The result gets dimensions of size 1 in place of the reduced ones, so that
 * its strides are 0 there. */
static void add_reduction(st_dry_run *d, const st_tensor *self,
                          uint64_t dims) {
  int64_t sizes[ST_MAX_DIMS];
  st_tensor *out = NULL;
  st_iter it;
  for (int i = 0; i < self->ndim; i++) {
    sizes[i] = dims >> i & 1 ? 1 : self->sizes[i];
  }
  if (st__tensor_empty(ST_DEVICE_META, self->dtype, self->ndim,
                       sizes, ST_FORMAT_CONTIGUOUS, &out) != ST_OK) {
    return;
  }
  st__iter_init(&it, ST_ITER_REDUCE);
  st__iter_output(&it, out, ST_DTYPE_NONE);
  st__iter_input(&it, self);
  const st_plan_run run = {.kind = ST_PLAN_FOLD};
  if (st__iter_build(&it) == ST_OK) add_plan(of(d), &it, run);
  st__iter_release(&it);
  st__tensor_release(&out);
}

/* -- Calls ---------------------------------------------------------------- */

static st_status call_with_fakes(const st_op *op, st_value *args) {
  const st_schema *s = st__op_schema(op);
  st_value rets[ST_MAX_ARGS];
  st_fake_tensors c;
  st_status status = st__fake_arguments(&c, s, args);
  if (status == ST_OK && c.n > 0) status = st__call_unobserved(op, args, rets);
  if (status == ST_OK && c.n > 0) {
    for (int i = 0; i < s->nrets; i++) st__value_clear(&rets[i]);
  }
  st__fake_tensors_release(&c);
  return status;
}

st_status st_plan_call(const st_op *op, int n, const st_value *args,
                       st_plan **plans, int room, int *count) {
  st_value all[ST_MAX_ARGS] = {{0}};
  dry_run w = {.reports = {add_iter, add_copy, add_reduction},
               .plans = plans, .room = room, .status = ST_OK};
  *count = 0;
  ST_TRY(st__bind_args(op, n, args, all));
  if (!st__runs_on_meta(op)) return ST_OK;
  const bool muted = st__mute(true);
  st_dry_run *const old = st__set_dry_run(&w.reports);
  st_status status = call_with_fakes(op, all);
  st__set_dry_run(old);
  st__mute(muted);
  /* a call that would read elements is reported up to that point */
  if (status == ST_BAD_STATE && w.count > 0) status = ST_OK;
  if (status == ST_OK) status = w.status;
  *count = w.count;
  for (int i = 0; i < w.count && i < room && status != ST_OK; i++) {
    st_plan_release(&plans[i]);
  }
  return status;
}
