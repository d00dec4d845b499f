/* Loops over blocks of operands that are converted on the way. */

#include "iter/cast.h"

enum { BLOCK = 1024 }; /* elements: 4 to 16 KB */

typedef struct caster {
  const st_iter *it;
  const int64_t *strides;  /* the tensors' own */
  char *buffer[ST_ITER_MAX_OPERANDS]; /* NULL: the operand is seen as it is */
} caster;

/* Converts n0 x n1 elements between an operand's tensor and its buffer. */
static void convert(const caster *c, int i, char *at, int64_t n0,
                    int64_t n1) {
  const st_iter_operand *op = &c->it->op[i];
  const st_dtype own = (st_dtype)op->tensor->dtype;
  const int64_t size = (int64_t)st__itemsize(op->target);
  const int64_t s0 = c->strides[i], s1 = c->strides[c->it->noperands + i];
  if (op->is_output) {
    char *data[] = {at, c->buffer[i]};
    const int64_t strides[] = {s0, size, s1, n0 * size};
    st__copy_kernel(own, op->target)(data, strides, n0, n1, NULL);
  } else {
    char *data[] = {c->buffer[i], at};
    const int64_t strides[] = {size, s0, n0 * size, s1};
    st__copy_kernel(op->target, own)(data, strides, n0, n1, NULL);
  }
}

static void run_block(const caster *c, const st_iter_job *j, char *const *at,
                      int64_t n0, int64_t n1) {
  const int n = c->it->noperands;
  int64_t strides[2 * ST_ITER_MAX_OPERANDS];
  char *data[ST_ITER_MAX_OPERANDS];
  for (int i = 0; i < n; i++) {
    const int64_t size = (int64_t)st__itemsize(c->it->op[i].target);
    const bool casts = c->buffer[i] != NULL;
    data[i] = casts ? c->buffer[i] : at[i];
    strides[i] = casts ? size : c->strides[i];
    strides[n + i] = casts ? n0 * size : c->strides[n + i];
    if (casts && !c->it->op[i].is_output) convert(c, i, at[i], n0, n1);
  }
  j->loop(data, strides, n0, n1, j->ctx);
  for (int i = 0; i < c->it->noutputs && !j->only_reads; i++) {
    if (c->buffer[i]) convert(c, i, at[i], n0, n1);
  }
}

/* Blocks are pieces of one row, or several whole rows. */
void st__cast_loop(const st_iter_job *j, char **data, const int64_t *strides,
                   int64_t n0, int64_t n1) {
  const st_iter *it = j->it;
  _Alignas(64) char buffers[ST_CAST_MAX][BLOCK * 16];
  const int64_t b0 = n0 < BLOCK ? n0 : BLOCK, b1 = BLOCK / (b0 ? b0 : 1);
  const int n = it->noperands;
  caster c = {.it = it, .strides = strides};
  char *at[ST_ITER_MAX_OPERANDS];
  for (int i = 0, k = 0; i < n; i++) {
    if (it->op[i].casts) c.buffer[i] = buffers[k++];
  }
  for (int64_t r = 0; r < n1; r += b1) {
    const int64_t m1 = n1 - r < b1 ? n1 - r : b1;
    for (int64_t q = 0; q < n0; q += b0) {
      const int64_t m0 = n0 - q < b0 ? n0 - q : b0;
      for (int i = 0; i < n; i++) {
        at[i] = data[i] + q * strides[i] + r * strides[n + i];
      }
      run_block(&c, j, at, m0, m1);
    }
  }
}
