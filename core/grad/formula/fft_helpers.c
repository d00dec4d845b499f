/* Helpers for the derivatives of transforms between real and complex numbers.
 *
 * A half transform gives the first n / 2 + 1 of n numbers; its inverse takes
 * each of the others for the conjugate of one of these. So the inverse counts
 * those twice that have a mirror image.
 */

#include "grad/formula/helpers.h"

/* t, whose dimension dim has the first half of n numbers, times `by` where the
 * other half has a mirror image. */
static st_tensor *scale_mirrored(st_op_scope *c, const st_tensor *t,
                                 int64_t dim, int64_t n, double by) {
  if (!st__scope_ok(c) || n < 3) return (st_tensor *)(uintptr_t)t;
  int64_t sizes[ST_MAX_DIMS];
  int at = 0;
  c->status = st__wrap_dim(dim, t->ndim, &at);
  if (!st__scope_ok(c)) return NULL;
  for (int d = 0; d < t->ndim; d++) sizes[d] = d == at ? t->sizes[d] : 1;
  const st_tensor *weights =
    ST_APPLY(c, ST_OP_new_ones, t, st__of_ints(sizes, t->ndim),
             st__real_dtype((st_dtype)t->dtype));
  const st_tensor *mirrored = st__apply_narrow(c, weights, at, 1,
                                               (n - 1) / 2);
  if (st__scope_ok(c)) ST_APPLY(c, ST_OP_fill__Scalar, mirrored, by);
  return st__mul(c, t, weights);
}

/* The last dimension of a transform; none is out of every range. A script may
 * have changed the rank of what was saved, so users check it. */
static int64_t last_of(const st_value *dims) {
  return dims->len > 0 ? dims->u.ints[dims->len - 1] : INT64_MAX;
}

/* fft_r2c_back(self, grad, dim, normalization, onesided), for both: the real
 * part of the inverse transform of grad. If grad is a half, it is that of a
 * signal whose other half is the conjugate of the first, both divided by 2. */
ST_HELPER_FN(st__help_fft_r2c_back) {
  ST_READ(GEOMETRY(self), TENSOR(grad), BOXED(dim), BOXED(normalization));
  const bool onesided = st__to_bool(st__read_value(&args), true);
  st_op_scope c = {.status = ST_OK};
  if (!onesided) {
    const st_value back[] = {st__of_tensor(grad), *dim, *normalization,
                             st__of_bool(false)};
    const st_tensor *full = st__apply(&c, ST_OP__fft_c2c, 4, back);
    return st__scope_return(&c, st__apply1(&c, ST_OP_real, full), out);
  }
  const int64_t last = last_of(dim);
  int at;
  ST_TRY(st__wrap_dim(last, self->ndim, &at));
  const int64_t size = self->dims[at];
  const st_tensor *half = scale_mirrored(&c, grad, last, size, 0.5);
  const st_value back[] = {st__of_tensor(half), *dim, *normalization,
                           st__of_int(size)};
  return st__scope_return(&c, st__apply(&c, ST_OP__fft_c2r, 4, back), out);
}

/* fft_c2r_back(grad, dim, normalization) */
ST_HELPER_FN(st__help_fft_c2r_back) {
  ST_READ(TENSOR(grad), BOXED(dim), BOXED(normalization));
  st_op_scope c = {.status = ST_OK};
  const int64_t last = last_of(dim);
  int at;
  ST_TRY(st__wrap_dim(last, grad->ndim, &at));
  const st_tensor *sums =
    ST_APPLY(&c, ST_OP__fft_r2c, grad, *dim, *normalization, st__of_bool(true));
  return st__scope_return(&c, scale_mirrored(&c, sums, last, grad->sizes[at],
                                             2), out);
}
