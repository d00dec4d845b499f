/* Loop dimensions: Note [Loop dimensions]. */

#include "tensor/loop_dims.h"

/* stride NULL: 0. */
static void put(st_loop_dims *x, int at, int64_t size, const int64_t *stride) {
  int64_t *to = st__loop_strides(x, at);
  x->size[at] = size;
  for (int k = 0; k < x->nstrides; k++) to[k] = stride ? stride[k] : 0;
}

void st__loop_dims_add(st_loop_dims *x, int64_t size, const int64_t *stride) {
  x->total *= size;
  if (size != 1) put(x, x->n++, size, stride);
}

static void swap(int64_t *a, int64_t *b) {
  const int64_t t = *a;
  *a = *b;
  *b = t;
}

static void swap_dims(st_loop_dims *x, int i, int j) {
  int64_t *a = st__loop_strides(x, i), *b = st__loop_strides(x, j);
  swap(&x->size[i], &x->size[j]);
  for (int k = 0; k < x->nstrides; k++) swap(&a[k], &b[k]);
}

/* True if a dimension with strides a should be outside of one with strides
 * b. */
static bool is_slower(const int64_t *a, const int64_t *b, int n) {
  for (int k = 0; k < n; k++) {
    const int64_t s = st__magnitude(a[k]), t = st__magnitude(b[k]);
    if (s != t && s != 0 && t != 0) return s > t;
  }
  return a[0] == 0 && b[0] != 0;
}

void st__loop_dims_sort(st_loop_dims *x, int by, int n) {
  for (int i = 1; i < x->n; i++) {
    for (int j = i; j > 0; j--) {
      if (!is_slower(st__loop_strides(x, j - 1) + by,
                     st__loop_strides(x, j) + by, n)) {
        break;
      }
      swap_dims(x, j, j - 1);
    }
  }
}

static bool can_merge(const st_loop_dims *x, int i, int j) {
  const int64_t *a = st__loop_strides(x, i), *b = st__loop_strides(x, j);
  for (int k = 0; k < x->nstrides; k++) {
    if (b[k] != a[k] * x->size[i]) return false;
  }
  return true;
}

void st__loop_dims_merge(st_loop_dims *x) {
  int n = 0;
  for (int i = 1; i < x->n; i++) {
    if (can_merge(x, n, i)) x->size[n] *= x->size[i];
    else if (++n != i) put(x, n, x->size[i], st__loop_strides(x, i));
  }
  if (x->n > 0) x->n = n + 1;
}

void st__loop_dims_pad(st_loop_dims *x, int n) {
  while (x->n < n) put(x, x->n++, 1, NULL);
}

void st__loop_dims_longest_first(st_loop_dims *x) {
  int longest = 0;
  for (int i = 1; i < x->n; i++) {
    if (x->size[i] > x->size[longest]) longest = i;
  }
  if (longest > 0) swap_dims(x, 0, longest);
}

void st__loop_dims_seek(const st_loop_dims *x, int64_t index, char **data) {
  for (int d = 0; d < x->n; d++) {
    const int64_t at = index % x->size[d], *stride = st__loop_strides(x, d);
    index /= x->size[d];
    for (int i = 0; i < x->nstrides; i++) {
      if (data[i]) data[i] += at * stride[i];
    }
  }
}
