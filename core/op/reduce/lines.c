/* Loops over lines along one dimension, for cumulative sums, softmax and
 * sorting.
 */

#include "op/reduce/lines.h"

#include "base/threads.h"
#include "op/reduce/reduction.h"

enum { BLOCK = 1 << 18 }; /* elements between two questions whether to stop */

void st__lines_init(st_lines *l, int n, st_tensor *const *t, int dim) {
  const st_tensor *in = t[n - 1];
  l->n = n;
  l->dim = dim;
  l->length = in->ndim ? in->sizes[dim] : 1;
  for (int k = 0; k < n; k++) {
    l->t[k] = t[k];
    l->along[k] = in->ndim ? st__stride_of(t[k], dim) : 0;
  }
  st__axes_init(&l->axes, n);
  for (int i = in->ndim - 1; i >= 0; i--) {
    int64_t stride[ST_LINE_OPERANDS];
    if (i == dim) continue;
    for (int k = 0; k < n; k++) stride[k] = st__stride_of(t[k], i);
    st__axes_add(&l->axes, in->sizes[i], stride);
  }
  l->count = l->axes.total;
  st__axes_sort(&l->axes, n - 1, 1);
  st__axes_merge(&l->axes);
  st__axes_pad(&l->axes, 1);
}

void st__lines_run(const st_lines *l, st_loop loop, const void *ctx,
                   int64_t begin, int64_t end) {
  const st_axes *x = &l->axes;
  const int64_t most = BLOCK / (l->length + 1) + 1;
  for (int64_t at = begin, n1; at < end && !st__stops(); at += n1) {
    const int64_t left = x->size[0] - at % x->size[0];
    int64_t s[2 * ST_LINE_OPERANDS];
    char *data[ST_LINE_OPERANDS];
    n1 = left < end - at ? left : end - at;
    if (n1 > most) n1 = most;
    for (int k = 0; k < l->n; k++) {
      int64_t rest = at;
      data[k] = l->t[k] ? st__data(l->t[k]) : NULL;
      s[k] = l->along[k];
      s[l->n + k] = x->stride[0][k];
      for (int i = 0; data[k] && i < x->n; i++) {
        data[k] += rest % x->size[i] * x->stride[i][k];
        rest /= x->size[i];
      }
    }
    loop(data, s, l->length, n1, ctx);
  }
}

typedef struct job {
  const st_lines *lines;
  st_loop loop;
  const void *ctx;
} job;

static void run_some(void *ctx, int64_t begin, int64_t end) {
  const job *j = ctx;
  st__lines_run(j->lines, j->loop, j->ctx, begin, end);
}

st_status st__lines_run_all(const st_lines *l, st_loop loop, const void *ctx,
                            st_kernel_id kernel) {
  const int64_t grain = st__kernel_grain(kernel) / (l->length + 1);
  job j = {l, loop, ctx};
  return st__parallel_try(0, l->count, grain + 1, run_some, &j);
}
