/* The operators that run the pooling kernels: windows are checked again, since
 * scripts may call these operators, too.
 */

#include <inttypes.h>

#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/pool/pool.h"
#include "op/create/factory.h"
#include "op/pool/pool.h"
#include "tensor/memory_format.h"

/* -- Tasks ---------------------------------------------------------------- */

typedef struct pool_run {
  st_pool_loops loops;
  st_task task;
  char *data[3];
} pool_run;

static void run_units(void *ctx, int64_t begin, int64_t end) {
  const pool_run *r = ctx;
  char *data[] = {r->data[0], r->data[1], r->data[2]};
  st_pool_loops units = r->loops;
  units.begin = begin;
  units.end = end;
  r->task(data, &units);
}

/* The byte strides of (image, channel, depth, height, width). */
static void set_strides(const st_tensor *t, int n, int64_t *st) {
  const int64_t size = (int64_t)st__itemsize(t->dtype);
  const int lead = t->ndim - n;
  for (int d = 0; d < ST_POOL_DIMS; d++) st[d] = 0;
  for (int d = 0; d < n; d++) {
    st[ST_POOL_DIMS - n + d] = t->strides[lead + d] * size;
  }
  st[ST_POOL_C] = t->strides[lead - 1] * size;
  if (lead == 2) st[ST_POOL_N] = t->strides[0] * size;
}

/* How many windows of a row use a buffer of ST_POOL_ROW columns. */
static int64_t windows_at_once(const st_pool_loops *p) {
  const int64_t extent = (p->kernel[2] - 1) * p->dilation[2] + 1;
  int64_t n = p->adaptive
            ? (ST_POOL_ROW - 2) * p->out[2] / p->in[2] - 1
            : (ST_POOL_ROW - extent) / p->stride[2] + 1;
  if (n > ST_POOL_BLOCK) n = ST_POOL_BLOCK;
  return n < 1 ? 1 : n;
}

static void set_windows(st_pool_loops *l, const st_pool *p) {
  const int n = p->w.n;
  l->adaptive = p->adaptive;
  for (int d = 0; d < 3; d++) {
    const int k = d - (3 - n);
    const bool has = k >= 0;
    l->in[d] = has ? p->w.in[k] : 1;
    l->out[d] = has ? p->w.out[k] : 1;
    l->kernel[d] = has ? p->w.kernel[k] : 1;
    l->stride[d] = has ? p->w.stride[k] : 1;
    l->padding[d] = has ? p->w.padding[k] : 0;
    l->dilation[d] = has ? p->w.dilation[k] : 1;
  }
  l->channels = p->self->sizes[p->self->ndim - n - 1];
}

/* True if the channels of image and result lie side by side. Offsets in an
 * image fit in 32 bits then. */
static bool has_inner_channels(const st_pool_loops *l, int64_t in_size,
                               int64_t out_size) {
  return l->channels > 1 && l->st[0][ST_POOL_C] == out_size &&
         l->st[1][ST_POOL_C] == in_size &&
         l->in[0] * l->in[1] <= INT32_MAX / l->in[2];
}

/* Runs kernel id; index is NULL or receives positions. */
static st_status run_pool(pool_run *r, const st_pool *p, st_kernel_id id,
                          st_tensor *out, st_tensor *index) {
  st_pool_loops *l = &r->loops;
  const st_tensor *self = p->self;
  const int64_t size = (int64_t)st__itemsize(self->dtype);
  if (out->numel == 0 || !st__is_cpu(self)) return ST_OK;
  set_windows(l, p);
  set_strides(out, p->w.n, l->st[0]);
  set_strides(self, p->w.n, l->st[1]);
  if (index) set_strides(index, p->w.n, l->st[2]);
  l->channels_inner = has_inner_channels(l, size, size);
  l->block = l->channels_inner ? ST_POOL_BLOCK : windows_at_once(l);
  r->data[0] = st__data(out);
  r->data[1] = st__data(self);
  r->data[2] = index ? st__data(index) : NULL;
  const int64_t blocks = (l->out[2] + l->block - 1) / l->block;
  const int64_t rows = st__pool_images(p) * l->out[0] * l->out[1] * blocks;
  const int64_t units = l->channels_inner ? rows / l->channels : rows;
  const int64_t work = (self->numel > out->numel ? self->numel : out->numel) /
                       units + 16;
  return st__parallel_try(0, units, st__kernel_grain(id) / work + 1, run_units,
                          r);
}

/* -- Arguments ------------------------------------------------------------ */

/* The arguments size, stride, padding, dilation, ceil_mode and adaptive; for
 * adaptive bins, size is the size of the result. */
static st_status read_windows(const st_value **args, st_pool *p) {
  const st_tensor *self = st__next_tensor(args);
  const st_ints size = st__next_ints(args), stride = st__next_ints(args);
  const st_ints padding = st__next_ints(args), dilation = st__next_ints(args);
  p->ceil_mode = st__next_bool(args);
  const bool adaptive = st__next_bool(args);
  const int n = (int)size.n;
  if (n < 1 || n > ST_SPATIAL_MAX) {
    return st__fail(ST_BAD_VALUE, "size must have 1 to 3 entries, it has %d",
                    n);
  }
  if (adaptive) return st__pool_adaptive(self, size, n, p);
  ST_TRY(st__pool_read(self, n, p));
  return st__pool_window(size, stride, padding, dilation, p);
}

static st_status new_result(const st_pool *p, st_dtype dtype,
                            st_format format, st_tensor **out) {
  const st_tensor *self = p->self;
  const int lead = self->ndim - p->w.n;
  int64_t sizes[2 + ST_SPATIAL_MAX];
  for (int d = 0; d < lead; d++) sizes[d] = self->sizes[d];
  for (int d = 0; d < p->w.n; d++) sizes[lead + d] = p->w.out[d];
  return st__new_empty((st_options){dtype, self->device}, self->ndim, sizes,
                       format, out);
}

static st_status find_task(const st_tensor *self, st_kernel_id id,
                           pool_run *r) {
  ST_TRY(st__check_cpu_or_meta(self));
  return st__find_task(id, self->dtype, &r->task);
}

/* -- Operators ------------------------------------------------------------ */

ST_BOXED(st__box_max_pool_values) {
  pool_run r = {.task = NULL};
  st_pool p = {.self = NULL};
  st_tensor *out = NULL;
  ST_TRY(read_windows(&args, &p));
  ST_TRY(find_task(p.self, ST_K_max_pool, &r));
  ST_TRY(new_result(&p, p.self->dtype, st__pool_format(&p, false), &out));
  const st_status status = run_pool(&r, &p, ST_K_max_pool, out, NULL);
  if (status == ST_OK) rets[0] = st__of_tensor(out);
  else st__tensor_release(&out);
  return status;
}

ST_BOXED(st__box_max_pool_indices) {
  pool_run r = {.task = NULL};
  st_pool p = {.self = NULL};
  st_tensor *out = NULL, *index = NULL;
  st_status status;
  ST_TRY(read_windows(&args, &p));
  r.loops.base = st__next_int(&args);
  ST_TRY(find_task(p.self, ST_K_max_pool_indices, &r));
  const st_format format = st__pool_format(&p, false);
  ST_TRY_FAIL(new_result(&p, p.self->dtype, format, &out));
  ST_TRY_FAIL(new_result(&p, ST_INT64, format, &index));
  status = run_pool(&r, &p, ST_K_max_pool_indices, out, index);
fail:
  if (status == ST_OK) {
    rets[0] = st__of_tensor(out);
    rets[1] = st__of_tensor(index);
    return ST_OK;
  }
  st__tensor_release(&out);
  st__tensor_release(&index);
  return status;
}

ST_BOXED(st__box_avg_pool_means) {
  pool_run r = {.task = NULL};
  st_pool p = {.self = NULL};
  st_tensor *out = NULL;
  ST_TRY(read_windows(&args, &p));
  r.loops.with_padding = st__next_bool(&args);
  r.loops.divisor = st__next_int(&args);
  ST_TRY(find_task(p.self, ST_K_avg_pool, &r));
  for (int d = 0; d < p.w.n && !p.adaptive; d++) {
    if (p.w.dilation[d] != 1) {
      return st__fail(ST_BAD_VALUE, "means have a dilation of 1, not %" PRId64,
                      p.w.dilation[d]);
    }
  }
  ST_TRY(new_result(&p, p.self->dtype, st__pool_format(&p, true), &out));
  const st_status status = run_pool(&r, &p, ST_K_avg_pool, out, NULL);
  if (status == ST_OK) rets[0] = st__of_tensor(out);
  else st__tensor_release(&out);
  return status;
}
