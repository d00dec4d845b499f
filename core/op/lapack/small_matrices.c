/* Batches of small matrices: their operands, and the calls of kernels.
 */

#include "op/lapack/small_matrices.h"

#include "base/threads.h"

bool st__is_small(const st_tensor *t) {
  return (t->dtype == ST_FLOAT32 || t->dtype == ST_FLOAT64) &&
         st__rows(t) <= ST_SMALL && st__cols(t) <= ST_SMALL && t->numel > 0;
}

st_small_call st__small_call(st_kernel_id kernel, const st_tensor *A,
                             int64_t k) {
  const double m = (double)st__rows(A), n = (double)st__cols(A);
  return (st_small_call){
    .kernel = kernel, .dtype = A->dtype, .count = st__batch_count(A),
    .cost = m * n * (n + (double)k),
    .s = {.m = (int)st__rows(A), .n = (int)st__cols(A), .k = (int)k}};
}

/* -- Operands ------------------------------------------------------------- */

/* The bytes from a matrix to the next one, if that is one number. */
static bool find_step(const st_tensor *t, int64_t *step) {
  int64_t end = 0;
  bool is_first = true;
  *step = 0;
  for (int d = t->ndim - 3; d >= 0; d--) {
    if (t->sizes[d] == 1) continue;
    if (is_first) *step = t->strides[d] * (int64_t)st__itemsize(t->dtype);
    else if (t->strides[d] != end) return false;
    end = t->strides[d] * t->sizes[d];
    is_first = false;
  }
  return true;
}

static void set_matrices(st_small_call *c, int i, const st_tensor *t,
                         bool is_transposed) {
  const int64_t size = (int64_t)st__itemsize(t->dtype);
  const int64_t row = t->strides[t->ndim - 2] * size;
  const int64_t col = t->strides[t->ndim - 1] * size;
  c->data[i] = st__data(t);
  c->s.row[i] = is_transposed ? col : row;
  c->s.col[i] = is_transposed ? row : col;
}

st_status st__small_input(st_small_call *c, int i, const st_tensor *t,
                          bool is_transposed) {
  if (!find_step(t, &c->next[i])) {
    ST_TRY(st__clone(t, t->dtype, ST_FORMAT_CONTIGUOUS, &c->own[i]));
    t = c->own[i];
    find_step(t, &c->next[i]);
  }
  set_matrices(c, i, t, is_transposed);
  return ST_OK;
}

void st__small_output(st_small_call *c, int i, const st_tensor *t,
                      bool is_transposed) {
  find_step(t, &c->next[i]);
  set_matrices(c, i, t, is_transposed);
}

void st__small_values(st_small_call *c, int i, const st_tensor *t,
                      int trailing) {
  c->data[i] = st__data(t);
  c->next[i] = (int64_t)st__itemsize(t->dtype);
  for (int d = t->ndim - trailing; d < t->ndim; d++) c->next[i] *= t->sizes[d];
}

/* -- Calls ---------------------------------------------------------------- */

static void run_range(void *ctx, int64_t begin, int64_t end) {
  const st_small_call *c = ctx;
  const st_loop loop = st__kernel(c->kernel, c->dtype);
  const int64_t block = (int64_t)(ST_PERIOD / (c->cost + 8)) + 64;
  while (begin < end) {
    const int64_t n = end - begin < block ? end - begin : block;
    char *data[ST_SMALL_OPERANDS];
    for (int i = 0; i < ST_SMALL_OPERANDS; i++) {
      data[i] = c->data[i] ? c->data[i] + begin * c->next[i] : NULL;
    }
    loop(data, c->next, n, 1, &c->s);
    begin += n;
    if (begin < end && st__stops()) return;
  }
}

st_status st__small_run(st_small_call *c) {
  const int64_t grain = (int64_t)(ST_GRAIN / (c->cost + 8)) + 1;
  return st__parallel_try(0, c->count, grain, run_range, c);
}

void st__small_end(st_small_call *c) {
  for (int i = 0; i < ST_SMALL_OPERANDS; i++) st__tensor_release(&c->own[i]);
}
