/* Parts of an iterator: narrows, halves, or splits it until all offsets fit 32
 * bits (I15), and replaces operands (I11).
 *
 * Note [Splitting a reduction]
 * Both halves of a reduced dimension write the same outputs. The first half
 * must not finalize them (final_output is false), and the second continues from
 * their values (accumulate is true).
 */

#include "base/memory.h"
#include "iter/build.h"

/* -- Copies --------------------------------------------------------------- */

static int64_t *rebased(const int64_t *p, const int64_t *from, int64_t *to) {
  return to + (p - from);
}

static void copy_operand(const st_iter_operand *from, st_iter_operand *to) {
  *to = *from;
  if (st__is_inline_scalar(from)) to->data = (char *)to->scalar;
}

/* A copy owns its operands, whether or not the original does. */
static void retain_operand(st_iter_operand *op) {
  op->owns_tensor = op->tensor != NULL;
  op->owns_original = op->original != NULL;
  if (op->tensor) st__tensor_retain(op->tensor);
  if (op->original) st__tensor_retain(op->original);
}

st_status st__iter_copy(const st_iter *from, st_iter *to) {
  *to = *from;
  if (from->heap) {
    to->heap = st__alloc(ST_MEM_SCRATCH, from->heap_size);
    if (!to->heap) {
      to->noperands = 0;
      return ST_NO_MEMORY;
    }
    memcpy(to->heap, from->heap, from->heap_size);
  }
  const int64_t *old = from->heap ? from->heap : from->slots;
  int64_t *slots = to->heap ? to->heap : to->slots;
  to->shape = rebased(from->shape, old, slots);
  to->common_shape = rebased(from->common_shape, old, slots);
  to->view_offset = rebased(from->view_offset, old, slots);
  for (int i = 0; i < to->noperands; i++) {
    copy_operand(&from->op[i], &to->op[i]);
    to->op[i].stride = rebased(from->op[i].stride, old, slots);
    retain_operand(&to->op[i]);
  }
  return ST_OK;
}

/* -- Properties ----------------------------------------------------------- */

static bool is_dim_reduced(const st_iter *it, int dim) {
  for (int i = 0; i < it->noutputs; i++) {
    if (it->op[i].stride[dim] == 0 && it->shape[dim] > 1) return true;
  }
  return false;
}

int64_t st__iter_num_output_elements(const st_iter *it) {
  int64_t n = 1;
  for (int d = 0; d < it->ndim; d++) {
    if (it->op[0].stride[d] != 0 || it->shape[d] == 0) n *= it->shape[d];
  }
  return n;
}

int st__iter_num_reduce_dims(const st_iter *it) {
  int n = 0;
  for (int d = 0; d < it->ndim; d++) n += it->op[0].stride[d] == 0;
  return n;
}

bool st__iter_can_use_32bit(const st_iter *it) {
  if (it->numel > INT32_MAX) return false;
  for (int i = 0; i < it->noperands; i++) {
    int64_t last = 1;
    for (int d = 0; d < it->ndim; d++) {
      int64_t span;
      if (!st__mul_sizes(it->shape[d] - 1, it->op[i].stride[d], &span) ||
          !st__add_sizes(last, span, &last)) {
        return false;
      }
    }
    if (last > INT32_MAX) return false;
  }
  return true;
}

/* The distance in bytes between the first and the last element of dimension
 * d. */
static uint64_t extent(const st_iter *it, int d) {
  uint64_t most = 0;
  for (int i = 0; i < it->noperands; i++) {
    const int64_t stride = it->op[i].stride[d];
    const uint64_t size = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
    uint64_t span;
    if (!st__mul_bytes((uint64_t)it->shape[d] - 1, size, &span)) {
      span = UINT64_MAX;
    }
    if (span > most) most = span;
  }
  return most;
}

int st__iter_dim_to_split(const st_iter *it) {
  int best = -1;
  uint64_t most = 0;
  for (int d = it->ndim - 1; d >= 0; d--) {
    if (it->shape[d] < 2) continue;
    const uint64_t span = extent(it, d);
    if (best >= 0 && span <= most) continue;
    most = span;
    best = d;
  }
  return best;
}

/* -- Narrowing and splitting ---------------------------------------------- */

void st__iter_narrow(st_iter *it, int dim, int64_t start, int64_t size) {
  ST_ASSERT(dim >= 0 && dim < it->ndim && size >= 1);
  it->shape[dim] = size;
  it->view_offset[dim] += start;
  it->numel = 1;
  for (int d = 0; d < it->ndim; d++) it->numel *= it->shape[d];
  for (int i = 0; i < it->noperands; i++) {
    st_iter_operand *op = &it->op[i];
    if (op->data) op->data += start * op->stride[dim];
  }
  if (size == 1 && !st__iter_has(it, ST_ITER_REDUCTION)) {
    st__iter_coalesce(it);
  }
}

st_status st__iter_split(st_iter *it, int dim, st_iter *first) {
  ST_ASSERT(dim >= 0 && dim < it->ndim && it->shape[dim] >= 2);
  const bool is_shared = is_dim_reduced(it, dim);
  const int64_t half = it->shape[dim] / 2, rest = it->shape[dim] - half;
  ST_TRY(st__iter_copy(it, first));
  st__iter_narrow(first, dim, 0, half);
  st__iter_narrow(it, dim, half, rest);
  if (is_shared) {
    first->final_output = false;
    it->accumulate = true;
  }
  return ST_OK;
}

/* -- Other operands ------------------------------------------------------- */

void st__iter_remove_operand(st_iter *it, int i) {
  ST_ASSERT(i >= 0 && i < it->noperands);
  st_iter_operand *op = &it->op[i];
  if (op->owns_tensor) st__tensor_release(&op->tensor);
  if (op->owns_original) st__tensor_release(&op->original);
  it->ncasts -= op->casts;
  it->noutputs -= op->is_output;
  it->noperands--;
  for (int k = i; k < it->noperands; k++) {
    copy_operand(&it->op[k + 1], &it->op[k]);
  }
}

void st__iter_replace_data(st_iter *it, int i, char *data) {
  it->op[i].data = data;
}
