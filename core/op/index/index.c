/* Indexing by lists of index tensors and masks, and by indices into the
 * flattened tensor.
 */

#include "op/index/index.h"

#include <inttypes.h>

#include "op/create/copy_clone_to.h"
#include "op/create/factory.h"
#include "op/row/composite.h"
#include "tensor/view.h"

/* -- index ---------------------------------------------------------------- */

static st_status check_out(const st_tensor *out, const st_tensor *self) {
  if (out->dtype != self->dtype) {
    return st__fail(ST_BAD_DTYPE, "out has dtype %s, self %s",
                    st__dtype_name(out->dtype),
                    st__dtype_name(self->dtype));
  }
  return st__check_internal_overlap(out);
}

/* st__clone_if_overlapping or clone_if_shares_storage. */
typedef st_status (*clone_fn)(const st_tensor *out, const st_tensor *t,
                              st_tensor **own);

/* out may still be resized within its storage, so every tensor of the same
 * storage counts as overlapping. */
static st_status clone_if_shares_storage(const st_tensor *out,
                                         const st_tensor *t, st_tensor **own) {
  return out->storage == t->storage
       ? st__clone(t, ST_DTYPE_NONE, ST_FORMAT_PRESERVE, own)
       : st__clone_if_overlapping(out, t, own);
}

/* Clones the index tensors that overlap t, which is written while they are
 * read. */
static st_status clone_overlapping_indices(const st_tensor *t, clone_fn clone,
                                           st_index_operands *p) {
  for (int64_t i = 0; i < p->ctx.n; i++) {
    st_tensor *own = NULL;
    ST_TRY(clone(t, p->index[i], &own));
    st__tensor_release(&p->index[i]);
    p->index[i] = own;
  }
  return ST_OK;
}

/* Opens the elements to read; clones what may overlap out. */
static st_status indices_for_read(const st_run *r, st_index_operands *p) {
  const st_value *args = r->args;
  st_tensor *self = st__next_tensor(&args), *out = r->given[0], *own = NULL;
  ST_ARGS(TENSORS(indices), INT(base));
  if (!out) return st__index_operands_list(self, indices, base, p);
  ST_TRY(check_out(out, self));
  ST_TRY(clone_if_shares_storage(out, self, &own));
  st_status status = st__index_operands_list(own, indices, base, p);
  st__tensor_release(&own);
  ST_TRY(status);
  status = clone_overlapping_indices(out, clone_if_shares_storage, p);
  if (status != ST_OK) st__index_operands_release(p);
  return status;
}

/* The iterator chooses the layout of the result. */
st_status st__index_meta(st_run *r) {
  _Static_assert(sizeof(st_index_ctx) <= sizeof r->note, "fits the note");
  const st_tensor *self = st__arg_tensor(r, 0);
  st_index_operands p;
  ST_TRY(indices_for_read(r, &p));
  st__run_iter(r, ST_ITER_SAME_DEVICE | ST_ITER_RESIZE_OUTPUTS, self->dtype);
  st__iter_input(&r->it, p.view);
  for (int64_t i = 0; i < p.ctx.n; i++) st__iter_input(&r->it, p.index[i]);
  const st_status status = st__run_iter_build(r);
  memcpy(r->note, &p.ctx, sizeof p.ctx);
  st__index_operands_release(&p);
  return status;
}

st_status st__index_impl(st_run *r) {
  st_loop loop;
  ST_TRY(st__find_kernel(ST_K_index_get, r->out[0]->dtype, &loop));
  if (r->it.numel > 0) {
    return st__iter_run(&r->it, loop, r->note,
                        st__kernel_grain(ST_K_index_get));
  }
  return ST_OK;
}

/* -- index_put ------------------------------------------------------------ */

st_status st__check_same_dtype(const st_tensor *self, const st_tensor *t,
                               const char *name) {
  if (self->dtype == t->dtype) return ST_OK;
  return st__fail(ST_BAD_DTYPE, "%s has dtype %s, self %s", name,
                  st__dtype_name(t->dtype),
                  st__dtype_name(self->dtype));
}

/* Drops the leading sizes of 1 that exceed the target's rank. */
static st_status trim(const st_tensor *values, int ndim, st_tensor **out) {
  int64_t sizes[ST_MAX_DIMS];
  int extra = values->ndim > ndim ? values->ndim - ndim : 0;
  for (int d = 0; d < extra; d++) {
    if (values->sizes[d] != 1) extra = 0;
  }
  for (int d = extra; d < values->ndim; d++) {
    sizes[d - extra] = values->sizes[d];
  }
  return st__view_view(values, values->ndim - extra, sizes, out);
}

static st_status check_values(const st_index_operands *p,
                              const st_tensor *values) {
  const int skip = p->view->ndim - values->ndim;
  bool fits = skip >= 0;
  for (int d = 0; fits && d < values->ndim; d++) {
    fits = values->sizes[d] == 1 ||
           values->sizes[d] == p->view->sizes[d + skip];
  }
  if (fits) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "values of shape %s do not broadcast to the "
                  "indexed shape %s", ST_SHAPE_TEXT(values),
                  ST_SHAPE_TEXT(p->view));
}

static bool is_one_mask(st_tensors indices) {
  int masks = 0;
  for (uint32_t i = 0; i < indices.n; i++) {
    const st_tensor *t = indices.p[i];
    if (t && t->dtype != ST_BOOL && t->dtype != ST_UINT8) return false;
    masks += t != NULL;
  }
  return masks == 1;
}

/* The arguments of index_put_. */
typedef struct put_args {
  st_tensor *self, *values;
  st_tensors indices;
  bool accumulate;
  int64_t base;
} put_args;

/* The values in self's dtype; owned. As in masked_fill, a mask takes one value
 * of any dtype. */
static st_status convert_values(const put_args *a, st_tensor **out) {
  st_tensor *self = a->self, *values = a->values;
  const st_dtype d = self->dtype;
  if (values->dtype != self->dtype && values->numel == 1 &&
      values->device == self->device && is_one_mask(a->indices) &&
      !a->accumulate) {
    if (st__has_elements(values)) {
      ST_TRY(st__check_scalar_fits(
        st__scalar_load(values->dtype, st__data(values)), d));
    }
    return st__clone(values, d, ST_FORMAT_PRESERVE, out);
  }
  ST_TRY(st__check_same_dtype(self, values, "values"));
  st__tensor_retain(values);
  *out = values;
  return ST_OK;
}

/* a->values have self's dtype. */
static st_status put_values(const put_args *a) {
  st_tensor *self = a->self, *trimmed = NULL, *own = NULL;
  st_index_operands p;
  ST_TRY(st__check_internal_overlap(self));
  ST_TRY(st__index_operands_list(self, a->indices, a->base, &p));
  st_status status = clone_overlapping_indices(self, st__clone_if_overlapping,
                                               &p);
  if (status == ST_OK) status = trim(a->values, p.view->ndim, &trimmed);
  if (status == ST_OK) status = check_values(&p, trimmed);
  if (status == ST_OK) status = st__clone_if_overlapping(self, trimmed, &own);
  if (status == ST_OK && st__has_elements(self)) {
    status = st__index_operands_put(&p, own, a->accumulate ? ST_K_index_add
                                                           : ST_K_index_put);
  }
  st__tensor_release(&own);
  st__tensor_release(&trimmed);
  st__index_operands_release(&p);
  return status;
}

ST_BOXED(st__box_index_put_) {
  put_args a;
  ST_ARGS_TO(a, TENSOR(self), TENSORS(indices), TENSOR(values),
             BOOL(accumulate), INT(base));
  ST_TRY(st__check_cpu_or_meta(a.self));
  ST_TRY(convert_values(&a, &a.values));
  const st_status status = put_values(&a);
  st__tensor_release(&a.values);
  ST_TRY(status);
  return st__return_tensor(a.self, rets);
}

st_status st__call_on_copy(st_op_id id, int n, const st_value *args,
                           st_value *ret) {
  st_value inplace[8], copy, same;
  ST_ASSERT(n <= 8);
  ST_TRY(st__invoke(ST_OP_clone, ST_VALUES(*args, ST_FORMAT_PRESERVE), &copy));
  memcpy(inplace, args, (size_t)n * sizeof *args);
  *inplace = copy;
  const st_status status = st__invoke(id, n, inplace, &same);
  st__value_clear(status == ST_OK ? &same : &copy);
  if (status == ST_OK) *ret = copy;
  return status;
}

ST_BOXED_AS(st__box_index_put, st__call_on_copy, ST_OP_index_put_, 5, args)

/* -- take and put --------------------------------------------------------- */

st_status st__take_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  st_tensor *index = NULL;
  ST_TRY(st__as_indices(st__arg_tensor(r, 1), self, false, &index));
  st_status status = st__check_indices(index, 0, self->numel, st__arg_base(r));
  if (status == ST_OK) {
    status = st__set_output(r, 0, index->ndim, index->sizes, NULL, self->dtype);
  }
  if (status == ST_OK) status = st__forbid_alias(r, 0, self);
  if (status == ST_OK) status = st__forbid_alias(r, 0, index);
  st__tensor_release(&index);
  return status;
}

enum { FEW = 1 << 16 };

/* True if taking from self by its strides costs less than a copy of self. */
static bool is_few(const st_tensor *self, const st_tensor *index) {
  bool fits = index->numel <= FEW && index->numel <= self->numel / 4;
  for (int d = 0; d < self->ndim; d++) fits = fits && self->strides[d] >= 0;
  return fits && !st__is_contiguous(self);
}

/* The places of self's elements at flat indices, in elements from the first
 * one, as a tensor like index; owned. */
static st_status places_of(const st_tensor *self, const st_tensor *index,
                           int64_t base, st_tensor **out) {
  st_tensor *dense = NULL;
  ST_TRY(st__contiguous(index, ST_FORMAT_CONTIGUOUS, &dense));
  const st_status status = st__tensor_empty(
    ST_DEVICE_CPU, ST_INT64, index->ndim, index->sizes, ST_FORMAT_CONTIGUOUS,
    out);
  const int64_t *from = (const int64_t *)(const void *)st__data(dense);
  for (int64_t i = 0; status == ST_OK && i < index->numel; i++) {
    int64_t at = st__resolve_index(from[i], base, self->numel), place = 0;
    for (int d = self->ndim - 1; d >= 0; d--) {
      place += at % self->sizes[d] * self->strides[d];
      at /= self->sizes[d];
    }
    ((int64_t *)(void *)st__data(*out))[i] = place;
  }
  st__tensor_release(&dense);
  return status;
}

/* *line is owned: a contiguous self, or NULL. */
static st_status open_take(const st_run *r, st_tensor **line,
                           st_index_operands *p) {
  st_tensor *self = st__arg_tensor(r, 0), *places = NULL;
  const st_tensor *index = st__arg_tensor(r, 1);
  if (!is_few(self, index)) {
    ST_TRY(st__contiguous(self, ST_FORMAT_CONTIGUOUS, line));
    return st__index_operands_flat(*line, index, st__arg_base(r), p);
  }
  ST_TRY(places_of(self, index, st__arg_base(r), &places));
  const st_status status = st__index_operands_flat(self, places, 0, p);
  st__tensor_release(&places);
  return status;
}

st_status st__take_impl(st_run *r) {
  st_tensor *line = NULL;
  st_index_operands p;
  st_status status = open_take(r, &line, &p);
  if (status == ST_OK) {
    status = st__index_operands_get(&p, r->out[0]);
    st__index_operands_release(&p);
  }
  st__tensor_release(&line);
  return status;
}

/* A contiguous view of source, or of a copy, with index's shape; owned. */
static st_status shape_source(const st_tensor *source, const st_tensor *index,
                              st_tensor **out) {
  st_tensor *line = NULL;
  ST_TRY(st__contiguous(source, ST_FORMAT_CONTIGUOUS, &line));
  const st_status status = st__view_view(line, index->ndim, index->sizes,
                                         out);
  st__tensor_release(&line);
  return status;
}

static st_status put_line(st_tensor *line, const st_tensor *index,
                          const st_tensor *values, bool add, int64_t base) {
  st_tensor *own = NULL;
  st_index_operands p;
  ST_TRY(st__index_operands_flat(line, index, base, &p));
  st_status status = clone_overlapping_indices(line, st__clone_if_overlapping,
                                               &p);
  if (status == ST_OK) status = st__clone_if_overlapping(line, values, &own);
  if (status == ST_OK) {
    status = st__index_operands_put(&p, own,
                                    add ? ST_K_index_add : ST_K_index_put);
  }
  st__tensor_release(&own);
  st__index_operands_release(&p);
  return status;
}

/* Writes through a contiguous copy when self is not contiguous. */
static st_status put_flat(st_tensor *self, const st_tensor *index,
                          const st_tensor *source, bool add, int64_t base) {
  st_tensor *values = NULL, *line = NULL;
  st_status status;
  ST_TRY_FAIL(shape_source(source, index, &values));
  ST_TRY_FAIL(st__contiguous(self, ST_FORMAT_CONTIGUOUS, &line));
  status = put_line(line, index, values, add, base);
  if (status == ST_OK && line != self) {
    status = st__copy_unchecked(self, line);
  }
fail:
  st__tensor_release(&values);
  st__tensor_release(&line);
  return status;
}

static st_status put_(st_tensor *self, const st_tensor *index,
                      const st_tensor *source, bool accumulate, int64_t base,
                      st_value *rets) {
  st_tensor *own = NULL;
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(st__check_same_dtype(self, source, "source"));
  ST_TRY(st__check_internal_overlap(self));
  ST_TRY(st__as_indices(index, self, false, &own));
  st_status status = ST_OK;
  if (own->numel != source->numel) {
    status = st__fail(ST_BAD_SHAPE, "index has %" PRId64 " elements, source %"
                      PRId64, own->numel, source->numel);
  }
  if (status == ST_OK) status = st__check_indices(own, 0, self->numel, base);
  if (status == ST_OK && own->numel > 0 && st__has_elements(self)) {
    status = put_flat(self, own, source, accumulate, base);
  }
  st__tensor_release(&own);
  ST_TRY(status);
  return st__return_tensor(self, rets);
}
ST_TYPED_ARGS(st__box_put_, put_, (TENSOR, TENSOR, TENSOR, BOOL, INT))

ST_BOXED(st__box_put) { return st__call_on_copy(ST_OP_put_, 5, args, rets); }

/* -- take_along_dim ------------------------------------------------------- */

static st_status reshape_line(const st_tensor *t, st_tensor **out) {
  return st__invoke1(ST_OP_reshape, ST_VALUES(t, ST_INTS(-1)), out);
}

/* Broadcasts t with other in every dimension but dim. */
static st_status broadcast_but(const st_tensor *t, const st_tensor *other,
                               int dim, st_tensor **out) {
  int64_t own[ST_MAX_DIMS], others[ST_MAX_DIMS], sizes[ST_MAX_DIMS];
  int ndim;
  memcpy(own, t->sizes, t->ndim * sizeof *own);
  memcpy(others, other->sizes, other->ndim * sizeof *others);
  own[dim] = others[dim] = 1;
  ST_TRY(st__broadcast_shape(t->ndim, own, other->ndim, others, sizes,
                             &ndim));
  sizes[dim] = t->sizes[dim];
  return st__invoke1(ST_OP_expand, ST_VALUES(t, st__of_ints(sizes, ndim)), out);
}

/* The positions modulo size, counted from 0: those that are not negative count
 * from base, the others from the end. */
static st_tensor *wrapped(st_op_scope *c, const st_tensor *index, int64_t size,
                          int64_t base) {
  if (base != 0) {
    const st_tensor *rest = ST_APPLY(c, ST_OP_sub_Scalar, index, base);
    const st_tensor *from_start = ST_APPLY(c, ST_OP_ge_Scalar, index, 0);
    index = ST_APPLY(c, ST_OP_where_self, from_start, rest, index);
  }
  if (size == 0) return (st_tensor *)(uintptr_t)index;
  return ST_APPLY(c, ST_OP_remainder_Scalar, index, size);
}

static st_status gather(const st_tensor *self, const st_tensor *index,
                        int64_t dim, int64_t base, st_value *ret) {
  return st__invoke(ST_OP_gather,
                    ST_VALUES(self, dim, index, st__of_bool(false), base), ret);
}

static st_status check_ranks(const st_tensor *self, const st_tensor *index) {
  if (self->ndim == index->ndim && self->ndim > 0) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "self and indices must have the same number of "
                  "dimensions, at least 1; their shapes are %s and %s",
                  ST_SHAPE_TEXT(self), ST_SHAPE_TEXT(index));
}

static st_status take_along(const st_tensor *self, const st_tensor *index,
                            int64_t dim, int64_t base, st_value *rets) {
  st_tensor *a = NULL, *b = NULL;
  st_op_scope c = {.n = 0};
  st_status status;
  bool wraps;
  int at = 0;
  ST_TRY(check_ranks(self, index));
  ST_TRY(st__wrap_dim(dim, self->ndim, &at));
  ST_TRY(st__has_bad_index(index, self->sizes[at], base, &wraps));
  if (wraps || !st__has_elements(index)) {
    index = wrapped(&c, index, self->sizes[at], base);
    base = 0;
    ST_TRY_FAIL(c.status);
  }
  ST_TRY_FAIL(broadcast_but(self, index, at, &a));
  ST_TRY_FAIL(broadcast_but(index, self, at, &b));
  status = gather(a, b, at, base, rets);
fail:
  st__tensor_release(&a);
  st__tensor_release(&b);
  c.status = status;
  return st__scope_end(&c, 0, NULL, NULL);
}

ST_BOXED(st__box_take_along_dim) {
  ST_ARGS(TENSOR(self), TENSOR(indices), BOXED(dim), INT(base));
  st_tensor *a = NULL, *b = NULL;
  st_status status;
  if (indices->dtype != ST_INT64) {
    return st__fail(ST_BAD_DTYPE, "indices must have dtype int64, not %s",
                    st__dtype_name(indices->dtype));
  }
  if (!st__is_none(dim)) {
    return take_along(self, indices, dim->u.i, base, rets);
  }
  ST_TRY_FAIL(reshape_line(self, &a));
  ST_TRY_FAIL(reshape_line(indices, &b));
  status = gather(a, b, 0, base, rets);
fail:
  st__tensor_release(&a);
  st__tensor_release(&b);
  return status;
}
