/* Loops over lines along one dimension, for cumulative sums, softmax and
 * sorting.
 */

#include "op/reduce/lines.h"

#include "base/threads.h"
#include "op/reduce/reduction.h"

enum { BLOCK = 1 << 18 }; /* elements between two questions whether to stop */

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static void swap_dims(st_lines *l, int i, int j) {
  int64_t t = l->sizes[i];
  l->sizes[i] = l->sizes[j];
  l->sizes[j] = t;
  for (int k = 0; k < l->n; k++) {
    t = l->strides[k][i];
    l->strides[k][i] = l->strides[k][j];
    l->strides[k][j] = t;
  }
}

static void sort_dims(st_lines *l) {
  const int64_t *by = l->strides[l->n - 1];
  for (int i = 1; i < l->ndim; i++) {
    for (int j = i; j > 0 && magnitude(by[j]) < magnitude(by[j - 1]); j--) {
      swap_dims(l, j, j - 1);
    }
  }
}

static bool can_merge(const st_lines *l, int a, int b) {
  for (int k = 0; k < l->n; k++) {
    if (l->strides[k][b] != l->strides[k][a] * l->sizes[a]) return false;
  }
  return true;
}

static void merge_dims(st_lines *l) {
  int n = 0;
  for (int i = 1; i < l->ndim; i++) {
    if (can_merge(l, n, i)) {
      l->sizes[n] *= l->sizes[i];
    } else {
      swap_dims(l, ++n, i);
    }
  }
  l->ndim = n + 1;
}

void st__lines_init(st_lines *l, int n, st_tensor *const *t, int dim) {
  const st_tensor *in = t[n - 1];
  l->n = n;
  l->dim = dim;
  l->ndim = 0;
  l->count = 1;
  l->length = in->ndim ? in->sizes[dim] : 1;
  for (int k = 0; k < n; k++) {
    l->t[k] = t[k];
    l->along[k] = in->ndim ? st__stride_of(t[k], dim) : 0;
  }
  for (int i = in->ndim - 1; i >= 0; i--) {
    if (i == dim || in->sizes[i] == 1) continue;
    for (int k = 0; k < n; k++) l->strides[k][l->ndim] = st__stride_of(t[k], i);
    l->count *= in->sizes[i];
    l->sizes[l->ndim++] = in->sizes[i];
  }
  if (l->ndim == 0) {
    for (int k = 0; k < n; k++) l->strides[k][0] = 0;
    l->sizes[l->ndim++] = 1;
  }
  sort_dims(l);
  merge_dims(l);
}

void st__lines_run(const st_lines *l, st_loop loop, const void *ctx,
                   int64_t begin, int64_t end) {
  const int64_t most = BLOCK / (l->length + 1) + 1;
  for (int64_t at = begin, n1; at < end && !st__stops(); at += n1) {
    const int64_t left = l->sizes[0] - at % l->sizes[0];
    int64_t s[2 * ST_LINE_OPERANDS];
    char *data[ST_LINE_OPERANDS];
    n1 = left < end - at ? left : end - at;
    if (n1 > most) n1 = most;
    for (int k = 0; k < l->n; k++) {
      int64_t rest = at;
      data[k] = l->t[k] ? st__data(l->t[k]) : NULL;
      s[k] = l->along[k];
      s[l->n + k] = l->strides[k][0];
      for (int i = 0; data[k] && i < l->ndim; i++) {
        data[k] += rest % l->sizes[i] * l->strides[k][i];
        rest /= l->sizes[i];
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
