/* Parts of matrices in memory: see part.h. */

#include "op/lapack/part.h"

#include <string.h>

#include "base/threads.h"
#include "iter/strided_copy.h"
#include "op/lapack/chunks.h"
#include "op/linalg/gemm.h"
#include "tensor/memory_format.h"

/* -- Products ------------------------------------------------------------- */

/* A tensor and its storage that a product reads, and that nobody keeps. */
typedef struct operand {
  st_tensor t;
  st_storage storage;
} operand;

static st_tensor *as_tensor(operand *o, st_dtype dtype, const st_part *a) {
  st_tensor *const t = &o->t;
  memset(o, 0, sizeof *o);
  st__ref_init(&t->refs);
  st__ref_init(&o->storage.refs);
  o->storage.device = ST_DEVICE_CPU;
  o->storage.data = a->p;
  o->storage.nbytes = SIZE_MAX;
  t->dtype = (uint8_t)dtype;
  t->device = ST_DEVICE_CPU;
  t->ndim = 2;
  t->numel = a->m * a->n;
  t->keys = st__tensor_keys(ST_DEVICE_CPU);
  t->storage = &o->storage;
  t->sizes = t->dims;
  t->strides = t->dims + ST_INLINE_DIMS;
  t->sizes[0] = a->m;
  t->sizes[1] = a->n;
  t->strides[0] = a->row;
  t->strides[1] = a->col;
  t->flags = st__compute_flags(2, t->sizes, t->strides);
  return t;
}

bool st__part_multiply(const st_lapack_job *j, const st_part *c,
                       const st_part *a, const st_part *b, double by,
                       bool adds) {
  const st_scalar alpha = {ST_SCALAR_FLOAT, {.f = by}};
  operand x, y, z;
  if (c->m == 0 || c->n == 0 || a->n == 0) return !st__is_stopped(j);
  const st_status status = st__gemm(
    as_tensor(&x, j->dtype, a), as_tensor(&y, j->dtype, b),
    as_tensor(&z, j->dtype, c), alpha, st__scalar_int(adds));
  if (status != ST_OK) st__lapack_fail(j, status);
  return !st__is_stopped(j);
}

/* -- Copies --------------------------------------------------------------- */

void st__part_copy(const st_lapack_job *j, const st_part *to,
                   const st_part *from, bool conjugates) {
  const int64_t size = st__size(j);
  if (to->row == 1 && from->row == 1) {
    for (int64_t c = 0; c < to->n; c++) {
      memcpy(st__part_at(j, to, 0, c), st__part_at(j, from, 0, c),
             (size_t)(to->m * size));
    }
  } else if (to->row == 1 && from->col == 1) {
    st__kernel(ST_K_transpose, st__bits_of(size))(
      (char *[]){to->p, from->p},
      (int64_t[]){size, from->row * size, to->col * size, size}, to->m, to->n,
      NULL);
  } else if (to->col == 1 && to->row != 1) {
    const st_part t = st__turned(*to), f = st__turned(*from);
    st__part_copy(j, &t, &f, false);
  } else {
    for (int64_t c = 0; c < to->n; c++) {
      for (int64_t i = 0; i < to->m; i++) {
        memcpy(st__part_at(j, to, i, c), st__part_at(j, from, i, c),
               (size_t)size);
      }
    }
  }
  if (conjugates && st__is_complex(j->dtype)) st__part_conjugate(j, to);
}

void st__part_conjugate(const st_lapack_job *j, const st_part *a) {
  for (int64_t c = 0; c < a->n; c++) {
    char *const at = st__part_at(j, a, 0, c);
    for (int64_t i = 0; i < a->m; i++) {
      if (j->dtype == ST_COMPLEX64) {
        float *const x = (float *)(void *)at + 2 * i * a->row;
        x[1] = -x[1];
      } else {
        double *const x = (double *)(void *)at + 2 * i * a->row;
        x[1] = -x[1];
      }
    }
  }
}

void st__part_zero_above(const st_lapack_job *j, const st_part *a) {
  const int64_t size = st__size(j);
  for (int64_t i = 0; i < a->n; i++) {
    const bool is_column = a->row == 1;
    const int64_t rest = is_column ? i : a->n - i - 1;
    memset(is_column ? st__part_at(j, a, 0, i) : st__part_at(j, a, i, i + 1),
           0, (size_t)(rest * size));
  }
}

void st__part_set_identity(const st_lapack_job *j, const st_part *a) {
  const st_number one = st__number(j, 1);
  const size_t size = (size_t)st__size(j);
  for (int64_t c = 0; c < a->n; c++) {
    memset(st__part_at(j, a, 0, c), 0, (size_t)a->m * size);
    if (c < a->m) memcpy(st__part_at(j, a, c, c), &one, size);
  }
}
