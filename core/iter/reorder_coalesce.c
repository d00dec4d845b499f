/* Reorders and coalesces the dimensions of an iterator (I8, I10).
 *
 * Note [Order of dimensions]
 * Tensor shapes list the slowest dimension first. Before the reordering,
 * dimension d of the iterator is dimension d of common_shape, and operand
 * strides have the same order. The reordering reverses it: from then on
 * dimension 0 is the fastest, and perm[d] is the original dimension.
 */

#include "iter/build.h"

#include <string.h>

/* -- Order ---------------------------------------------------------------- */

/* Returns 1 if dimension a must be slower than b, -1 if faster, 0 if no operand
 * decides. The first operand that decides wins. */
static int compare_dims(const st_iter *it, int a, int b) {
  for (int i = 0; i < it->noperands; i++) {
    const st_iter_operand *op = &it->op[i];
    if (!st__iter_is_fixed(op)) continue;
    const int64_t sa = op->stride[a], sb = op->stride[b];
    if (st__iter_has(it, ST_ITER_REDUCTION) && op->is_output &&
        (sa == 0) != (sb == 0)) {
      return sb == 0 ? 1 : -1;
    }
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (it->common_shape[a] > it->common_shape[b]) return 1;
  }
  return 0;
}

/* An insertion sort that continues past ambiguous pairs. "Ambiguous" is not
 * transitive, so the result depends on exactly this order of comparisons. */
static void sort_dims(st_iter *it) {
  int *perm = it->perm;
  for (int i = 1; i < it->nperm; i++) {
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      const int order = compare_dims(it, perm[j], perm[at]);
      if (order < 0) break;
      if (order == 0) continue;
      const int swap = perm[j];
      perm[j] = perm[at];
      perm[at] = swap;
      at = j;
    }
  }
}

void st__iter_reorder(st_iter *it) {
  const int n = it->ndim = it->nperm = it->common_ndim;
  for (int d = 0; d < n; d++) it->perm[d] = n - 1 - d;
  if (!st__iter_has(it, ST_ITER_LINEAR)) sort_dims(it);
  for (int d = 0; d < n; d++) it->shape[d] = it->common_shape[it->perm[d]];
  for (int i = 0; i < it->noperands; i++) {
    st_iter_operand *op = &it->op[i];
    int64_t old[ST_MAX_DIMS];
    if (!st__iter_is_fixed(op)) continue;
    memcpy(old, op->stride, (size_t)n * sizeof *old);
    for (int d = 0; d < n; d++) op->stride[d] = old[it->perm[d]];
  }
}

/* -- Coalescing ----------------------------------------------------------- */

static bool can_coalesce(const st_iter *it, int a, int b) {
  if (it->shape[a] == 1 || it->shape[b] == 1) return true;
  for (int i = 0; i < it->noperands; i++) {
    const int64_t *stride = it->op[i].stride;
    if (st__wrapping_mul(it->shape[a], stride[a]) != stride[b]) return false;
  }
  return true;
}

static void move_strides(st_iter *it, int to, int from) {
  for (int i = 0; i < it->noperands; i++) {
    it->op[i].stride[to] = it->op[i].stride[from];
  }
}

void st__iter_coalesce(st_iter *it) {
  if (it->ndim <= 1) return;
  int last = 0;
  for (int d = 1; d < it->ndim; d++) {
    if (can_coalesce(it, last, d)) {
      if (it->shape[last] == 1) move_strides(it, last, d);
      it->shape[last] = st__wrapping_mul(it->shape[last], it->shape[d]);
    } else {
      last++;
      if (last == d) continue;
      move_strides(it, last, d);
      it->shape[last] = it->shape[d];
    }
  }
  it->ndim = last + 1;
  it->coalesced = true;
}
