/* Products of matrices and vectors: mm, bmm, mv, dot, their add variants,
 * matmul, outer, linear.
 */

#include "op/create/copy_clone_to.h"
#include "op/linalg/gemm.h"
#include "op/row/assign_out.h"
#include "op/row/composite.h"
#include "tensor/view.h"

/* -- Checks --------------------------------------------------------------- */

static st_status check_rank(const st_tensor *t, const char *name, int ndim) {
  if (t->ndim == ndim) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "%s must have %d dimension%s, but its shape "
                  "is %s", name, ndim, ndim == 1 ? "" : "s",
                  ST_SHAPE_TEXT(t));
}

static st_status check_inner_sizes(const st_run *r, int first, int nb) {
  const st_schema *schema = r->call->schema;
  const st_tensor *a = st__arg_tensor(r, first);
  const st_tensor *b = st__arg_tensor(r, first + 1);
  const int inner = nb == 1 ? 0 : nb - 2;
  if (a->sizes[a->ndim - 1] == b->sizes[inner] &&
      (a->ndim < 3 || a->sizes[0] == b->sizes[0])) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "shapes %s of %s and %s of %s cannot be "
                  "multiplied", ST_SHAPE_TEXT(a), schema->args[first].name,
                  ST_SHAPE_TEXT(b), schema->args[first + 1].name);
}

/* Checks that the factors, arguments first and first + 1, have ranks na and
 * nb, the same dtype and the same inner size. */
static st_status check_factors(const st_run *r, int first, int na, int nb) {
  const st_schema *schema = r->call->schema;
  const st_tensor *a = st__arg_tensor(r, first);
  const st_tensor *b = st__arg_tensor(r, first + 1);
  const char *x = schema->args[first].name, *y = schema->args[first + 1].name;
  if (na == 1 && nb == 1 && a->ndim == 2) {
    return st__fail(ST_BAD_SHAPE, "%s must have 1 dimension, but its shape is "
                    "%s; mm and matmul multiply matrices", x, ST_SHAPE_TEXT(a));
  }
  ST_TRY(check_rank(a, x, na));
  ST_TRY(check_rank(b, y, nb));
  if (a->dtype != b->dtype) {
    return st__fail(ST_BAD_DTYPE, "%s is %s, but %s is %s: convert one of them",
                    x, st__dtype_name(a->dtype), y, st__dtype_name(b->dtype));
  }
  if (a->dtype == ST_BOOL) return st__no_kernel_for(ST_BOOL);
  return check_inner_sizes(r, first, nb);
}

/* Computes the sizes of a product of a (.., m, k) and b (.., k, n), or of
 * vectors; returns their number. */
static int product_sizes(const st_tensor *a, const st_tensor *b,
                         int64_t *sizes) {
  int n = 0;
  for (int i = 0; i < a->ndim - 1; i++) sizes[n++] = a->sizes[i];
  if (b->ndim > 1) sizes[n++] = b->sizes[b->ndim - 1];
  return n;
}

static st_status check_written(const st_tensor *out, const st_tensor *a,
                               const st_tensor *b) {
  if (a->device == out->device && b->device == out->device) return ST_OK;
  return st__fail(ST_BAD_VALUE, "the factors are on another device than the "
                  "result");
}

/* -- mm, bmm, mv, dot ----------------------------------------------------- */

/* The factors are read more than once. */
static st_status check_given(st_run *r, const st_tensor *a,
                             const st_tensor *b) {
  if (!r->given[0]) return ST_OK;
  ST_TRY(check_written(r->given[0], a, b));
  ST_TRY(st__forbid_alias(r, 0, a));
  return st__forbid_alias(r, 0, b);
}

static st_status product_meta(st_run *r, int na, int nb) {
  const st_tensor *a = st__arg_tensor(r, 0), *b = st__arg_tensor(r, 1);
  int64_t sizes[3];
  ST_TRY(check_factors(r, 0, na, nb));
  const int n = product_sizes(a, b, sizes);
  ST_TRY(st__set_output(r, 0, n, sizes, NULL, a->dtype));
  return check_given(r, a, b);
}

st_status st__mm_meta(st_run *r) { return product_meta(r, 2, 2); }
st_status st__bmm_meta(st_run *r) { return product_meta(r, 3, 3); }
st_status st__mv_meta(st_run *r) { return product_meta(r, 2, 1); }
st_status st__dot_meta(st_run *r) { return product_meta(r, 1, 1); }

/* t as a matrix: a vector becomes one row (at = 0) or one column (at = 1). */
static st_status as_matrix(st_tensor *t, int at, st_tensor **out) {
  if (t->ndim == 0) {
    const int64_t one[] = {1, 1};
    return st__tensor_view(t, 2, one, one, t->offset, out);
  }
  if (t->ndim == 1) return st__view_unsqueeze(t, at, out);
  st__tensor_retain(t);
  *out = t;
  return ST_OK;
}

static st_status multiply(st_tensor *a, st_tensor *b, st_tensor *c,
                          st_scalar alpha, st_scalar beta) {
  st_tensor *x = NULL, *y = NULL, *z = NULL;
  st_status status;
  if (a->ndim > 1 && b->ndim > 1) return st__gemm(a, b, c, alpha, beta);
  ST_TRY_FAIL(as_matrix(a, 0, &x));
  ST_TRY_FAIL(as_matrix(b, 1, &y));
  ST_TRY_FAIL(as_matrix(c, 1, &z));
  status = st__gemm(x, y, z, alpha, beta);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  st__tensor_release(&z);
  return status;
}

st_status st__product_impl(st_run *r) {
  return multiply(st__arg_tensor(r, 0), st__arg_tensor(r, 1), r->out[0],
                  st__scalar_int(1), st__scalar_int(0));
}

/* -- _int_mm -------------------------------------------------------------- */

st_status st__int_mm_meta(st_run *r) {
  const st_tensor *a = st__arg_tensor(r, 0), *b = st__arg_tensor(r, 1);
  int64_t sizes[2];
  ST_TRY(check_rank(a, "self", 2));
  ST_TRY(check_rank(b, "mat2", 2));
  if (a->dtype != ST_INT8 && a->dtype != ST_UINT8) {
    return st__fail(ST_BAD_DTYPE, "self must be int8 or uint8, not %s",
                    st__dtype_name(a->dtype));
  }
  if (b->dtype != ST_INT8) {
    return st__fail(ST_BAD_DTYPE, "mat2 must be int8, not %s",
                    st__dtype_name(b->dtype));
  }
  ST_TRY(check_inner_sizes(r, 0, 2));
  const int n = product_sizes(a, b, sizes);
  ST_TRY(st__set_output(r, 0, n, sizes, NULL, ST_INT32));
  return check_given(r, a, b);
}

st_status st__int_mm_impl(st_run *r) {
  const st_tensor *a = st__arg_tensor(r, 0), *b = st__arg_tensor(r, 1);
  if (a->sizes[1] == 0) return st__fill(r->out[0], st__scalar_int(0));
  return st__gemm_whole(a, b, r->out[0]);
}

/* -- addmm, addmv, baddbmm ------------------------------------------------ */

/* BAD_DTYPE if s, beta or alpha, is complex and the result is not, BAD_VALUE
 * if its dtype cannot hold s. As in ATen, a fraction is truncated if the
 * result is integral. */
static st_status check_scalar(const char *name, st_scalar s, st_dtype dtype) {
  if (s.kind == ST_SCALAR_COMPLEX && !st__is_complex(dtype)) {
    return st__fail(ST_BAD_DTYPE, "%s is complex, but the result is %s", name,
                    st__dtype_name(dtype));
  }
  return st__check_scalar_named(name, s, dtype);
}

static st_status check_addend(const st_tensor *self, int n,
                              const int64_t *sizes) {
  int64_t both[ST_MAX_DIMS];
  int nboth = 0;
  const size_t bytes = (size_t)n * sizeof *sizes;
  if (self->ndim > n ||
      st__broadcast_shape(self->ndim, self->sizes, n, sizes, both,
                          &nboth) != ST_OK || memcmp(both, sizes, bytes) != 0) {
    return st__fail(ST_BAD_SHAPE, "self of shape %s does not expand to the "
                    "product's shape %s", ST_SHAPE_TEXT(self),
                    st__shape_text(n, sizes, (char[160]){0}, 160));
  }
  return ST_OK;
}

static st_status addproduct_meta(st_run *r, int na, int nb) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(self), TENSOR(a), TENSOR(b), SCALAR(beta), SCALAR(alpha));
  int64_t sizes[3];
  ST_TRY(check_factors(r, 1, na, nb));
  int n = product_sizes(a, b, sizes);
  ST_TRY(check_addend(self, n, sizes));
  /* As in ATen: an empty product does not expand self. */
  if (nb == 1 && a->numel == 0 && !st__scalar_is_zero(beta)) {
    n = self->ndim;
    memcpy(sizes, self->sizes, (size_t)n * sizeof *sizes);
  }
  if (self->dtype != a->dtype) {
    return st__fail(ST_BAD_DTYPE, "self is %s, but the product is %s",
                    st__dtype_name(self->dtype),
                    st__dtype_name(a->dtype));
  }
  ST_TRY(check_scalar("beta", beta, a->dtype));
  ST_TRY(check_scalar("alpha", alpha, a->dtype));
  ST_TRY(st__set_output(r, 0, n, sizes, NULL, a->dtype));
  return r->given[0] ? check_written(r->given[0], a, b) : ST_OK;
}

st_status st__addmm_meta(st_run *r) { return addproduct_meta(r, 2, 2); }
st_status st__addmv_meta(st_run *r) { return addproduct_meta(r, 2, 1); }
st_status st__baddbmm_meta(st_run *r) { return addproduct_meta(r, 3, 3); }

/* sum = beta self + the product, a new tensor. */
static st_status add_product(st_run *r, st_tensor *sum) {
  const st_value *args = r->args;
  ST_ARGS(TENSOR(self), MUTABLE(a), MUTABLE(b), BOXED(beta));
  const st_scalar alpha = st__next_scalar(&args), by = st__scalar_of(beta);
  if (a->ndim == 2 && b->ndim == 2) {
    return st__gemm_add(a, b, self, sum, alpha, by);
  }
  ST_TRY(st__copy(sum, self));
  if (a->numel > 0 || b->ndim > 1 || st__scalar_is_zero(by)) {
    return multiply(a, b, sum, alpha, by);
  }
  const st_value scale[] = {st__of_tensor(sum), *beta};
  st_value ret;
  ST_TRY(st__call(st__op_variant(ST_OP_mul_Scalar, ST_INPLACE), scale, &ret));
  st__value_clear(&ret);
  return ST_OK;
}

st_status st__addproduct_impl(st_run *r) {
  st_tensor *out = r->out[0], *sum = NULL;
  if (out != r->given[0]) return add_product(r, out);
  ST_TRY(st__tensor_empty(ST_DEVICE_CPU, out->dtype, out->ndim,
                          out->sizes, ST_FORMAT_CONTIGUOUS, &sum));
  st_status status = add_product(r, sum);
  if (status == ST_OK) status = st__copy_unchecked(out, sum);
  st__tensor_release(&sum);
  return status;
}

/* -- Calls of operators --------------------------------------------------- */

static st_status with_ints(st_op_id id, const st_tensor *t,
                           const int64_t *ints, int n, st_tensor **out) {
  return st__invoke1(id, ST_VALUES(t, st__of_ints(ints, n)), out);
}

static st_status with_dim(st_op_id id, const st_tensor *t, int64_t dim,
                          st_tensor **out) {
  return st__invoke1(id, ST_VALUES(t, dim), out);
}

static st_status with_tensor(st_op_id id, const st_tensor *a,
                             const st_tensor *b, st_tensor **out) {
  return st__invoke1(id, ST_VALUES(a, b), out);
}

/* -- matmul --------------------------------------------------------------- */

/* A vector times a matrix: the vector becomes a one-row matrix. */
static st_status vector_matrix(const st_tensor *a, const st_tensor *b,
                               st_tensor **out) {
  st_tensor *row = NULL, *product = NULL;
  st_status status;
  ST_TRY_FAIL(with_dim(ST_OP_unsqueeze, a, 0, &row));
  ST_TRY_FAIL(with_tensor(ST_OP_mm, row, b, &product));
  status = with_dim(ST_OP_squeeze_dim, product, 0, out);
fail:
  st__tensor_release(&row);
  st__tensor_release(&product);
  return status;
}

/* A batch of matrices times one matrix or vector: the batch is folded into the
 * rows. */
static st_status fold_batch(const st_tensor *a, const st_tensor *b,
                            st_tensor **out) {
  st_tensor *tall = NULL, *product = NULL;
  int64_t sizes[ST_MAX_DIMS];
  const int64_t k = a->sizes[a->ndim - 1];
  int64_t rows = 1;
  st_status status;
  for (int i = 0; i < a->ndim - 1; i++) rows *= a->sizes[i];
  ST_TRY_FAIL(with_ints(ST_OP_reshape, a, (int64_t[]){rows, k}, 2, &tall));
  ST_TRY_FAIL(with_tensor(b->ndim == 1 ? ST_OP_mv : ST_OP_mm, tall, b,
                          &product));
  status = with_ints(ST_OP__unsafe_view, product, sizes,
                     product_sizes(a, b, sizes), out);
fail:
  st__tensor_release(&tall);
  st__tensor_release(&product);
  return status;
}

/* t expanded to the batch and flattened to three dimensions. */
static st_status as_batch(const st_tensor *t, int nbatch,
                          const int64_t *batch, st_tensor **out) {
  st_tensor *expanded = NULL;
  int64_t sizes[ST_MAX_DIMS + 2], flat[3] = {1};
  const int64_t *matrix = t->sizes + t->ndim - 2;
  for (int i = 0; i < nbatch; i++) flat[0] *= sizes[i] = batch[i];
  flat[1] = sizes[nbatch] = matrix[0];
  flat[2] = sizes[nbatch + 1] = matrix[1];
  ST_TRY(with_ints(ST_OP_expand, t, sizes, nbatch + 2, &expanded));
  const st_status status = with_ints(ST_OP_reshape, expanded, flat, 3, out);
  st__tensor_release(&expanded);
  return status;
}

/* Both have at least two dimensions; the batch dimensions are broadcast. */
static st_status multiply_batches(const st_tensor *a, const st_tensor *b,
                                  st_tensor **out) {
  st_tensor *x = NULL, *y = NULL, *product = NULL;
  int64_t sizes[ST_MAX_DIMS + 2];
  int n = 0;
  st_status status;
  ST_TRY(st__broadcast_shape(a->ndim - 2, a->sizes, b->ndim - 2, b->sizes,
                             sizes, &n));
  ST_TRY_FAIL(as_batch(a, n, sizes, &x));
  ST_TRY_FAIL(as_batch(b, n, sizes, &y));
  ST_TRY_FAIL(with_tensor(ST_OP_bmm, x, y, &product));
  sizes[n] = a->sizes[a->ndim - 2];
  sizes[n + 1] = b->sizes[b->ndim - 1];
  status = with_ints(ST_OP__unsafe_view, product, sizes, n + 2, out);
fail:
  st__tensor_release(&x);
  st__tensor_release(&y);
  st__tensor_release(&product);
  return status;
}

/* True if the rows of all matrices of the batch are equally far apart, so that
 * folding copies nothing. */
static bool folds(const st_tensor *a) {
  int64_t rows = a->sizes[a->ndim - 2];
  for (int d = a->ndim - 3; d >= 0; d--) {
    const bool fits = a->strides[d] == rows * a->strides[a->ndim - 2];
    if (a->sizes[d] != 1 && !fits) return false;
    rows *= a->sizes[d];
  }
  return true;
}

/* True if a product with b copies it first, or reads it more slowly than a copy
 * of a takes; of a batch, once for each. */
static bool is_copied(const st_tensor *b) {
  return st__is_reduced_float(b->dtype) || st__is_integral(b->dtype) ||
         b->strides[1] != 1 || b->strides[0] < b->sizes[1];
}

/* A batch of large matrices that does not fold is multiplied as it is, unless
 * b, or its gradient, would need a matrix for each matrix of the batch. A batch
 * of rows always folds: the order of a product with a vector is another one,
 * and strides must not choose it. */
static bool is_folded(const st_tensor *a, const st_tensor *b) {
  enum { LARGE = 1 << 18 }; /* multiplications per matrix, or a copy is cheap */
  if (b->ndim == 1 || st__is_recorded(b->keys) || folds(a)) return true;
  if (is_copied(b) || a->sizes[a->ndim - 2] == 1) return true;
  return (double)a->sizes[a->ndim - 2] * (double)b->numel < LARGE;
}

/* At least one has three dimensions. A vector a becomes a one-row matrix. */
static st_status multiply_any(const st_tensor *a, const st_tensor *b,
                              st_tensor **out) {
  st_tensor *row = NULL, *product = NULL;
  st_status status;
  if (b->ndim <= 2 && is_folded(a, b)) return fold_batch(a, b, out);
  if (a->ndim > 1) return multiply_batches(a, b, out);
  ST_TRY_FAIL(with_dim(ST_OP_unsqueeze, a, 0, &row));
  ST_TRY_FAIL(multiply_batches(row, b, &product));
  status = with_dim(ST_OP_squeeze_dim, product, -2, out);
fail:
  st__tensor_release(&row);
  st__tensor_release(&product);
  return status;
}

static st_status check_matmul(const st_tensor *a, const st_tensor *b) {
  if (a->ndim == 0 || b->ndim == 0) {
    return st__fail(ST_BAD_SHAPE, "both factors must have at least one "
                    "dimension, their shapes are %s and %s", ST_SHAPE_TEXT(a),
                    ST_SHAPE_TEXT(b));
  }
  if (a->sizes[a->ndim - 1] != b->sizes[b->ndim == 1 ? 0 : b->ndim - 2]) {
    return st__fail(ST_BAD_SHAPE, "shapes %s and %s cannot be multiplied",
                    ST_SHAPE_TEXT(a), ST_SHAPE_TEXT(b));
  }
  return ST_OK;
}

/* The operator that computes the product without reshaping, or ST_OP_COUNT. */
static st_op_id plain_product(const st_tensor *a, const st_tensor *b) {
  if (a->ndim == 2 && b->ndim <= 2) return b->ndim == 2 ? ST_OP_mm : ST_OP_mv;
  if (a->ndim == 1 && b->ndim == 1) return ST_OP_dot;
  return ST_OP_COUNT;
}

static st_status matmul(const st_tensor *a, const st_tensor *b,
                        st_tensor **out) {
  ST_TRY(check_matmul(a, b));
  const st_op_id plain = plain_product(a, b);
  if (plain != ST_OP_COUNT) return with_tensor(plain, a, b, out);
  return a->ndim == 1 && b->ndim == 2 ? vector_matrix(a, b, out)
                                      : multiply_any(a, b, out);
}

ST_TYPED(st__box_matmul, matmul, (TENSOR, TENSOR))

ST_BOXED(st__box_matmul_out) {
  const st_value *all = args;
  ST_ARGS(TENSOR(self), TENSOR(other));
  st_tensor *out = st__next_tensor(&args), *product = NULL;
  ST_TRY(check_matmul(self, other));
  const st_op_id plain = plain_product(self, other);
  if (plain != ST_OP_COUNT) {
    return st__call(st__op_variant(plain, ST_OUT), all, rets);
  }
  ST_TRY(check_written(out, self, other));
  ST_TRY(matmul(self, other, &product));
  const st_status status = st__assign_out(out, product);
  st__tensor_release(&product);
  return status == ST_OK ? st__return_tensor(out, rets) : status;
}

/* -- outer, linear -------------------------------------------------------- */

ST_BOXED(st__box_outer) {
  ST_ARGS(TENSOR(self), TENSOR(vec2));
  st_tensor *column = NULL, *out = NULL;
  ST_TRY(check_rank(self, "self", 1));
  ST_TRY(check_rank(vec2, "vec2", 1));
  ST_TRY(with_dim(ST_OP_unsqueeze, self, 1, &column));
  const st_status status = with_tensor(ST_OP_mul_Tensor, column, vec2, &out);
  st__tensor_release(&column);
  if (status == ST_OK) rets[0] = st__of_tensor(out);
  return status;
}

/* True for the common case of linear, in which addmm adds the bias. */
static bool fits_addmm(const st_tensor *x, const st_tensor *weight,
                       const st_tensor *bias) {
  return bias && bias->ndim == 1 && x->ndim >= 2 && weight->ndim == 2 &&
         bias->sizes[0] == weight->sizes[0] && bias->dtype == x->dtype &&
         weight->dtype == x->dtype && x->numel > 0 &&
         x->sizes[x->ndim - 1] == weight->sizes[1];
}

static st_status addmm(const st_tensor *self, const st_tensor *a,
                       const st_tensor *b, st_tensor **out) {
  return st__invoke1(ST_OP_addmm, ST_VALUES(self, a, b, 1, 1), out);
}

/* addmm of the rows of input. */
static st_status addmm_rows(const st_tensor *input, const st_tensor *t,
                            const st_tensor *bias, st_tensor **out) {
  const int last = input->ndim - 1;
  int64_t sizes[ST_MAX_DIMS] = {-1, input->sizes[last]};
  st_tensor *rows = NULL, *sum = NULL;
  st_status status;
  if (last == 1) return addmm(bias, input, t, out);
  ST_TRY_FAIL(with_ints(ST_OP_reshape, input, sizes, 2, &rows));
  ST_TRY_FAIL(addmm(bias, rows, t, &sum));
  for (int d = 0; d < last; d++) sizes[d] = input->sizes[d];
  sizes[last] = bias->sizes[0];
  status = with_ints(ST_OP__unsafe_view, sum, sizes, last + 1, out);
fail:
  st__tensor_release(&rows);
  st__tensor_release(&sum);
  return status;
}

static st_status linear(const st_tensor *input, const st_value *weight,
                        const st_tensor *bias, st_value *rets) {
  st_tensor *t = NULL, *product = NULL, *out = NULL;
  st_status status;
  ST_TRY_FAIL(st__invoke1(ST_OP_t, 1, weight, &t));
  if (fits_addmm(input, weight->u.tensor, bias)) {
    ST_TRY_FAIL(addmm_rows(input, t, bias, &out));
  } else if (bias) {
    ST_TRY_FAIL(with_tensor(ST_OP_matmul, input, t, &product));
    ST_TRY_FAIL(with_tensor(ST_OP_add_Tensor, product, bias, &out));
  } else {
    ST_TRY_FAIL(with_tensor(ST_OP_matmul, input, t, &out));
  }
  rets[0] = st__of_tensor(out);
fail:
  st__tensor_release(&t);
  st__tensor_release(&product);
  return status;
}
ST_TYPED_ARGS(st__box_linear, linear, (TENSOR, VALUE, OPT_TENSOR))
