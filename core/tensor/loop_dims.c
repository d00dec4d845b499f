/* Loop dimensions: Note [Loop dimensions]. */

#include "tensor/loop_dims.h"

static void put(st_loop_dims *x, int at, int64_t size, const int64_t *stride) {
  x->size[at] = size;
  for (int k = 0; k < x->nstrides; k++) x->stride[at][k] = stride[k];
}

void st__loop_dims_add(st_loop_dims *x, int64_t size, const int64_t *stride) {
  x->total *= size;
  if (size != 1) put(x, x->n++, size, stride);
}

void st__loop_dims_swap(st_loop_dims *x, int i, int j) {
  const int64_t size = x->size[i];
  x->size[i] = x->size[j];
  x->size[j] = size;
  for (int k = 0; k < x->nstrides; k++) {
    const int64_t stride = x->stride[i][k];
    x->stride[i][k] = x->stride[j][k];
    x->stride[j][k] = stride;
  }
}

/* True if dimension i should be outside of dimension j. */
static bool is_slower(const st_loop_dims *x, int by, int n, int i, int j) {
  for (int k = by; k < by + n; k++) {
    const int64_t a = st__magnitude(x->stride[i][k]);
    const int64_t b = st__magnitude(x->stride[j][k]);
    if (a != b && a != 0 && b != 0) return a > b;
  }
  return x->stride[i][by] == 0 && x->stride[j][by] != 0;
}

void st__loop_dims_sort(st_loop_dims *x, int by, int n) {
  for (int i = 1; i < x->n; i++) {
    for (int j = i; j > 0 && is_slower(x, by, n, j - 1, j); j--) {
      st__loop_dims_swap(x, j, j - 1);
    }
  }
}

static bool can_merge(const st_loop_dims *x, int i, int j) {
  for (int k = 0; k < x->nstrides; k++) {
    if (x->stride[j][k] != x->stride[i][k] * x->size[i]) return false;
  }
  return true;
}

void st__loop_dims_merge(st_loop_dims *x) {
  int n = 0;
  for (int i = 1; i < x->n; i++) {
    if (can_merge(x, n, i)) x->size[n] *= x->size[i];
    else if (++n != i) put(x, n, x->size[i], x->stride[i]);
  }
  if (x->n > 0) x->n = n + 1;
}

void st__loop_dims_pad(st_loop_dims *x, int n) {
  static const int64_t none[ST_LOOP_STRIDES];
  while (x->n < n) put(x, x->n++, 1, none);
}

void st__loop_dims_longest_first(st_loop_dims *x) {
  int longest = 0;
  for (int i = 1; i < x->n; i++) {
    if (x->size[i] > x->size[longest]) longest = i;
  }
  if (longest > 0) st__loop_dims_swap(x, 0, longest);
}
