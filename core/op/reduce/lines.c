/* Loops over lines along one dimension, for cumulative sums, softmax and
 * sorting.
 */

#include "op/reduce/lines.h"

#include "base/threads.h"
#include "iter/copy.h"
#include "op/reduce/line_tiles.h"
#include "op/reduce/reduction.h"

/* About BLOCK elements lie between two questions whether to stop, but a kernel
 * gets up to AT_LEAST adjoining lines, which it may process at once, if they
 * are not longer than LONG, and SHORT_RUN of longer ones. */
enum {
  BLOCK = 1 << 18, AT_LEAST = 64, LONG = 1 << 15, FEW = 16, MANY = 256,
  SHORT_RUN = 16
};

void st__lines_init(st_lines *l, int n, st_tensor *const *t, int dim) {
  const st_tensor *in = t[n - 1];
  l->n = n;
  l->dim = dim;
  l->length = in->ndim ? in->sizes[dim] : 1;
  for (int k = 0; k < n; k++) {
    l->t[k] = t[k];
    l->along[k] = in->ndim ? st__stride_of(t[k], dim) : 0;
  }
  st__loop_dims_init(&l->dims, n, l->strides);
  for (int i = in->ndim - 1; i >= 0; i--) {
    int64_t stride[ST_LINE_OPERANDS];
    if (i == dim) continue;
    for (int k = 0; k < n; k++) stride[k] = st__stride_of(t[k], i);
    st__loop_dims_add(&l->dims, in->sizes[i], stride);
  }
  l->count = l->dims.total;
  st__loop_dims_sort(&l->dims, n - 1, 1);
  st__loop_dims_merge(&l->dims);
  st__loop_dims_pad(&l->dims, 1);
}

/* Whether the lines lie closer together than their elements. Then some of them
 * share cache lines, and go to one thread. */
static bool lines_adjoin(const st_lines *l) {
  const int64_t across = st__loop_strides(&l->dims, 0)[l->n - 1];
  return l->dims.size[0] > 1 && l->length > 1 && across > 0 &&
         across < l->along[l->n - 1];
}

void st__lines_run(const st_lines *l, st_loop loop, const void *ctx,
                   int64_t begin, int64_t end) {
  const st_loop_dims *x = &l->dims;
  const int64_t least = !lines_adjoin(l) ? 1
                      : l->length <= LONG ? AT_LEAST : SHORT_RUN;
  const int64_t most = BLOCK / (l->length + 1) + least;
  for (int64_t at = begin, n1; at < end && !st__stops(); at += n1) {
    const int64_t left = x->size[0] - at % x->size[0];
    int64_t s[2 * ST_LINE_OPERANDS];
    char *data[ST_LINE_OPERANDS];
    n1 = left < end - at ? left : end - at;
    if (n1 > most) n1 = most;
    for (int k = 0; k < l->n; k++) {
      data[k] = l->t[k] ? st__data(l->t[k]) : NULL;
      s[k] = l->along[k];
      s[l->n + k] = st__loop_strides(x, 0)[k];
    }
    st__loop_dims_seek(x, at, data);
    loop(data, s, l->length, n1, ctx);
  }
}

typedef struct job {
  const st_lines *lines;
  st_loop loop;
  const void *ctx;
  int64_t unit; /* lines */
} job;

static void run_some(void *ctx, int64_t begin, int64_t end) {
  const job *j = ctx;
  const int64_t count = j->lines->count;
  end *= j->unit;
  st__lines_run(j->lines, j->loop, j->ctx, begin * j->unit,
                end < count ? end : count);
}

/* The least number of adjoining lines for one call of a kernel, which is faster
 * the more it gets, while all threads have some. */
static int64_t lines_per_call(const st_lines *l) {
  const int64_t threads = st__num_threads();
  int64_t n = FEW;
  while (n < MANY && l->count >= 4 * threads * n) n *= 2;
  return n;
}

st_status st__lines_run_all(const st_lines *l, st_loop loop, const void *ctx,
                            st_kernel_id kernel) {
  const int64_t unit = lines_adjoin(l) ? lines_per_call(l) : 1;
  const int64_t grain = st__kernel_grain(kernel) / (l->length + 1) / unit;
  job j = {l, loop, ctx, unit};
  return st__parallel_try(0, (l->count + unit - 1) / unit, grain + 1, run_some,
                          &j);
}

/* Whether lines adjoin, but in shorter runs than in a contiguous copy, as in a
 * tensor with a step in its last dimension. */
static bool has_short_runs(const st_lines *l) {
  const st_tensor *in = l->t[l->n - 1];
  int64_t run = 1; /* of a copy */
  for (int i = l->dim + 1; i < in->ndim; i++) run *= in->sizes[i];
  return lines_adjoin(l) && l->dims.size[0] < SHORT_RUN &&
         run >= 2 * l->dims.size[0];
}

/* Lines shorter than this are faster across, if they adjoin, than in tiles. A
 * scan across lines reads and writes each element once. */
static int64_t shortest_for_tiles(st_kernel_id kernel, st_dtype dtype) {
  const bool tiles = kernel == ST_K_softmax || kernel == ST_K_log_softmax;
  return tiles && dtype != ST_FLOAT64 ? 513 : INT64_MAX;
}

/* The impl of softmax, cumsum and their kin: f(Tensor self, Dim dim, ...). */
st_status st__lines_impl(st_run *r) {
  const st_value *args = r->args;
  st_tensor *self = st__next_tensor(&args), *in = NULL;
  const st_dtype dtype = r->out[0]->dtype;
  st_loop loop;
  st_lines lines;
  int dim;
  ST_TRY(st__wrap_dim(st__next_int(&args), self->ndim, &dim));
  if (self->numel == 0) return ST_OK;
  ST_TRY(st__find_kernel(r->row->kernel, dtype, &loop));
  if (self->dtype == dtype) {
    st__tensor_retain(self);
    in = self;
  } else {
    ST_TRY(st__clone(self, dtype, ST_FORMAT_PRESERVE, &in));
  }
  st__lines_init(&lines, 2, (st_tensor *[]){r->out[0], in}, dim);
  if (in == self && has_short_runs(&lines)) {
    st__tensor_release(&in);
    ST_TRY(st__clone(self, dtype, ST_FORMAT_CONTIGUOUS, &in));
    st__lines_init(&lines, 2, (st_tensor *[]){r->out[0], in}, dim);
  }
  const st_status status = st__line_tiles_run_all(
    &lines, 1, shortest_for_tiles(r->row->kernel, dtype), loop, NULL,
    r->row->kernel);
  st__tensor_release(&in);
  return status;
}
