/* Indexing along one dimension: index_select, gather, scatter and the other
 * index_* operators.
 */

#include <inttypes.h>

#include "iter/strided_copy.h"
#include "op/create/factory.h"
#include "op/create/copy_clone_to.h"
#include "op/index/index.h"

/* -- Shared checks -------------------------------------------------------- */

/* A 0-dimensional tensor counts as one-dimensional of size 1. */
static int rank_of(const st_tensor *t) { return t->ndim ? t->ndim : 1; }

static int64_t size_of(const st_tensor *t, int d) {
  return t->ndim ? t->sizes[d] : 1;
}

static st_status check_vector(const st_tensor *index) {
  if (index->ndim <= 1) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "index must be a vector, its shape is %s",
                  ST_SHAPE_TEXT(index));
}

st_status st__start_with_self(const st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  if (self == r->out[0]) return ST_OK;
  return st__copy(r->out[0], self);
}

/* The argument dim, which must be a dimension of t. */
static st_status get_dim(const st_run *r, const st_tensor *t, int *dim) {
  return st__wrap_dim(r->args[1].u.i, t->ndim, dim);
}

/* -- index_select --------------------------------------------------------- */

/* Reads the dimension and the index of a slice operator; *own is owned. */
static st_status read_slices(const st_run *r, int *dim, st_tensor **own) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_tensor *index = st__arg_tensor(r, 2);
  ST_TRY(get_dim(r, self, dim));
  ST_TRY(check_vector(index));
  return st__as_indices(index, self, true, own);
}

static st_status index_select_meta(st_run *r, const st_tensor *index,
                                   int dim) {
  const st_tensor *self = st__arg_tensor(r, 0);
  int64_t sizes[ST_MAX_DIMS];
  if (self->ndim == 0 && index->numel != 1) {
    return st__fail(ST_BAD_SHAPE, "self is 0-dimensional, so index must have "
                    "one element, not %" PRId64, index->numel);
  }
  ST_TRY(st__check_indices(index, dim, size_of(self, dim), st__arg_base(r)));
  memcpy(sizes, self->sizes, self->ndim * sizeof *sizes);
  if (self->ndim) sizes[dim] = index->numel;
  ST_TRY(st__set_output(r, 0, self->ndim, sizes, NULL, self->dtype));
  ST_TRY(st__forbid_alias(r, 0, self));
  return st__forbid_alias(r, 0, index);
}

st_status st__index_select_meta(st_run *r) {
  st_tensor *index = NULL;
  int dim;
  ST_TRY(read_slices(r, &dim, &index));
  const st_status status = index_select_meta(r, index, dim);
  st__tensor_release(&index);
  return status;
}

st_status st__slices_open(const st_run *r, const st_tensor *t,
                          st_index_operands *p) {
  const int64_t base = st__arg_base(r);
  st_tensor *index = NULL;
  int dim;
  ST_TRY(read_slices(r, &dim, &index));
  const st_status status = t->ndim
    ? st__index_operands_slices(t, dim, index, base, p)
    : st__index_operands_flat(t, index, base, p);
  st__tensor_release(&index);
  return status;
}

/* Slices that follow one another in order, each of them `times` times, as
 * repeat_interleave asks for. */
typedef struct slice_range { int64_t first, count, times; } slice_range;

static bool is_range(const st_tensor *index, int64_t base, int64_t size,
                     slice_range *x) {
  const int64_t n = index->numel, step = index->ndim ? index->strides[0] : 1;
  const int64_t *at = (const int64_t *)(const void *)st__data(index);
  x->first = at[0] - base;
  for (x->times = 1; x->times < n && at[x->times * step] == at[0];) x->times++;
  x->count = n / x->times;
  if (n % x->times != 0 || x->first < 0 || x->count > size - x->first) {
    return false;
  }
  for (int64_t i = 0; i < x->count; i++) {
    for (int64_t k = 0; k < x->times; k++, at += step) {
      if (*at != x->first + base + i) return false;
    }
  }
  return true;
}

static st_status move_range(const st_tensor *out, const st_tensor *self,
                            int dim, const slice_range *x) {
  const int64_t to = (int64_t)st__itemsize(out->dtype);
  const int64_t from = (int64_t)st__itemsize(self->dtype);
  st_move m;
  st__move_init(&m, st__data(out), out->dtype,
                st__data(self) + x->first * self->strides[dim] * from,
                self->dtype);
  for (int d = self->ndim - 1; d >= 0; d--) {
    const int64_t step = out->strides[d] * to, times = d == dim ? x->times : 1;
    st__move_dim(&m, times, step, 0);
    st__move_dim(&m, d == dim ? x->count : self->sizes[d], step * times,
                 self->strides[d] * from);
  }
  return st__move_run(&m);
}

/* Long slices that are repeated are faster one by one. */
static bool is_worth_a_move(const st_tensor *self, int dim,
                            const slice_range *x) {
  enum { LONG = 256 };
  return x->times == 1 ||
         self->strides[dim] * (int64_t)st__itemsize(self->dtype) < LONG;
}

/* True if the indices are a range, whose slices were then moved, or if that has
 * failed. */
static bool try_range(const st_run *r, st_status *status) {
  const st_tensor *self = st__arg_tensor(r, 0), *out = r->out[0];
  st_tensor *index = NULL;
  slice_range x;
  int dim;
  if (out->numel == 0 || self->ndim == ST_MAX_DIMS || !st__has_elements(out) ||
      st__lacks_memory(self)) {
    return false;
  }
  *status = read_slices(r, &dim, &index);
  if (*status != ST_OK) return true;
  const bool moves = is_range(index, st__arg_base(r), self->sizes[dim], &x) &&
                     is_worth_a_move(self, dim, &x);
  st__tensor_release(&index);
  if (moves) *status = move_range(out, self, dim, &x);
  return moves;
}

st_status st__index_select_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  st_index_operands p;
  st_status moved;
  if (self->ndim == 0) return st__copy(r->out[0], self);
  if (try_range(r, &moved)) return moved;
  ST_TRY(st__slices_open(r, self, &p));
  const st_status status = st__index_operands_get(&p, r->out[0]);
  st__index_operands_release(&p);
  return status;
}

/* -- gather --------------------------------------------------------------- */

/* BAD_SHAPE if index is larger than t in a dimension other than `dim` (-1: in
 * any dimension). */
static st_status check_inside(const st_tensor *index, const st_tensor *t,
                              int dim, const char *name) {
  bool fits = rank_of(index) == rank_of(t);
  for (int d = 0; fits && d < rank_of(t); d++) {
    fits = d == dim || size_of(index, d) <= size_of(t, d);
  }
  if (fits) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "index of shape %s does not fit within %s of "
                  "shape %s", ST_SHAPE_TEXT(index), name, ST_SHAPE_TEXT(t));
}

/* Checks self, dim and index, with the value of every index. An empty index
 * fits every shape. */
static st_status check_along(const st_run *r, int *dim) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_tensor *index = st__arg_tensor(r, 2);
  st_tensor *own = NULL;
  ST_TRY(get_dim(r, self, dim));
  if (index->numel == 0) return ST_OK;
  ST_TRY(st__as_indices(index, self, true, &own));
  st_status status = check_inside(own, self, *dim, "self");
  if (status == ST_OK) {
    status = st__check_indices(own, *dim, size_of(self, *dim),
                               st__arg_base(r));
  }
  st__tensor_release(&own);
  return status;
}

/* Opens the elements of t at index along dim. */
static st_status open_along(const st_tensor *t, int dim,
                            const st_tensor *index, int64_t base,
                            st_index_operands *p) {
  st_tensor *own = NULL;
  ST_TRY(st__as_indices(index, t, true, &own));
  const st_status status = st__index_operands_along(t, dim, own, base, p);
  st__tensor_release(&own);
  return status;
}

st_status st__gather_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_tensor *index = st__arg_tensor(r, 2);
  int dim;
  ST_TRY(check_along(r, &dim));
  ST_TRY(st__set_output(r, 0, index->ndim, index->sizes, NULL, self->dtype));
  ST_TRY(st__forbid_alias(r, 0, self));
  return st__forbid_alias(r, 0, index);
}

st_status st__gather_impl(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_tensor *index = st__arg_tensor(r, 2);
  st_index_operands p;
  int dim;
  if (index->numel == 0) return ST_OK;
  ST_TRY(get_dim(r, self, &dim));
  ST_TRY(open_along(self, dim, index, st__arg_base(r), &p));
  const st_status status = st__index_operands_get(&p, r->out[0]);
  st__index_operands_release(&p);
  return status;
}

/* -- scatter -------------------------------------------------------------- */

/* The result must not alias index or src: it is written while they are read. */
st_status st__scatter_check(st_run *r, const st_tensor *src) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_tensor *index = st__arg_tensor(r, 2);
  int dim;
  ST_TRY(check_along(r, &dim));
  if (src && index->numel) {
    ST_TRY(st__check_same_dtype(self, src, "src"));
    ST_TRY(check_inside(index, src, -1, "src"));
  }
  ST_TRY(st__set_output(r, 0, self->ndim, self->sizes, NULL, self->dtype));
  ST_TRY(st__forbid_alias(r, 0, index));
  return st__forbid_alias(r, 0, src);
}

/* src narrowed to index's shape; a value is one element for all. */
static st_status source_of(const st_tensor *src, const st_tensor *index,
                           st_tensor **out) {
  int64_t strides[ST_MAX_DIMS] = {0};
  memcpy(strides, src->strides, src->ndim * sizeof *strides);
  return st__tensor_view(src, index->ndim, index->sizes, strides,
                         src->offset, out);
}

st_status st__scatter_open(const st_run *r, const st_tensor *t,
                           const st_tensor *src, st_index_operands *p,
                           st_tensor **values) {
  const st_tensor *index = st__arg_tensor(r, 2);
  int dim;
  ST_TRY(get_dim(r, t, &dim));
  ST_TRY(source_of(src, index, values));
  const st_status status = open_along(t, dim, index, st__arg_base(r), p);
  if (status != ST_OK) st__tensor_release(values);
  return status;
}

/* Everything that can fail precedes the copy of self. */
static st_status scatter_impl(st_run *r, const st_tensor *src) {
  st_tensor *values = NULL;
  st_index_operands p;
  if (st__arg_tensor(r, 2)->numel == 0) return st__start_with_self(r);
  ST_TRY(st__scatter_open(r, r->out[0], src, &p, &values));
  st_status status = st__start_with_self(r);
  if (status == ST_OK) {
    status = st__index_operands_put(&p, values, r->row->kernel);
  }
  st__index_operands_release(&p);
  st__tensor_release(&values);
  return status;
}

st_status st__scatter_src_meta(st_run *r) {
  return st__scatter_check(r, st__arg_tensor(r, 3));
}

st_status st__scatter_src_impl(st_run *r) {
  return scatter_impl(r, st__arg_tensor(r, 3));
}

st_status st__scatter_value_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_scalar value = st__scalar_of(&r->args[3]);
  ST_TRY(st__check_scalar_fits(value, self->dtype));
  return st__scatter_check(r, NULL);
}

st_status st__scatter_value_impl(st_run *r) {
  const st_scalar value = st__scalar_of(&r->args[3]);
  st_tensor *src = NULL;
  ST_TRY(st__tensor_from_scalar(value, r->out[0]->dtype, false, &src));
  const st_status status = scatter_impl(r, src);
  st__tensor_release(&src);
  return status;
}

/* -- index_add and index_copy --------------------------------------------- */

/* BAD_SHAPE unless source holds one slice of self per index. */
static st_status check_source(const st_tensor *self, const st_tensor *source,
                              int dim, int64_t n) {
  bool fits = rank_of(source) == rank_of(self) && size_of(source, dim) == n;
  for (int d = 0; fits && d < self->ndim; d++) {
    fits = d == dim || size_of(source, d) == self->sizes[d];
  }
  if (fits) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "source of shape %s does not hold %" PRId64 " "
                  "slices of self, of shape %s, along dimension %d",
                  ST_SHAPE_TEXT(source), n, ST_SHAPE_TEXT(self),
                  (int)st__display_index(dim));
}

static st_status slices_meta(st_run *r, const st_tensor *index, int dim) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_tensor *source = st__arg_tensor(r, 3);
  ST_TRY(st__check_same_dtype(self, source, "source"));
  ST_TRY(check_source(self, source, dim, index->numel));
  ST_TRY(st__check_indices(index, dim, size_of(self, dim), st__arg_base(r)));
  ST_TRY(st__set_output(r, 0, self->ndim, self->sizes, NULL, self->dtype));
  ST_TRY(st__forbid_alias(r, 0, st__arg_tensor(r, 2)));
  return st__forbid_alias(r, 0, source);
}

st_status st__slices_check(st_run *r) {
  st_tensor *index = NULL;
  int dim;
  ST_TRY(read_slices(r, &dim, &index));
  const st_status status = slices_meta(r, index, dim);
  st__tensor_release(&index);
  return status;
}

static st_status slices_impl(st_run *r, st_scalar alpha) {
  st_index_operands p;
  ST_TRY(st__slices_open(r, r->out[0], &p));
  p.ctx.alpha = alpha;
  st_status status = st__start_with_self(r);
  if (status == ST_OK) {
    status = st__index_operands_put(&p, st__arg_tensor(r, 3), r->row->kernel);
  }
  st__index_operands_release(&p);
  return status;
}

st_status st__index_add_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  const st_scalar alpha = st__scalar_of(&r->args[4]);
  ST_TRY(st__check_scalar_fits(alpha, self->dtype));
  return st__slices_check(r);
}

st_status st__index_add_impl(st_run *r) {
  const st_scalar alpha = st__scalar_of(&r->args[4]);
  return slices_impl(r, alpha);
}

st_status st__index_copy_meta(st_run *r) { return st__slices_check(r); }

st_status st__index_copy_impl(st_run *r) {
  return slices_impl(r, st__scalar_int(1));
}

/* -- index_fill ----------------------------------------------------------- */

static st_status index_fill(st_tensor *self, int64_t dim,
                            const st_tensor *index, st_scalar value,
                            int64_t base) {
  st_tensor *filler = NULL;
  st_index_operands p;
  int at;
  ST_TRY(st__wrap_dim(dim, self->ndim, &at));
  ST_TRY(st__check_scalar_fits(value, self->dtype));
  ST_TRY(st__check_indices(index, at, size_of(self, at), base));
  if (!st__has_elements(self) || index->numel == 0) return ST_OK;
  ST_TRY(st__tensor_from_scalar(value, self->dtype, false, &filler));
  st_status status = self->ndim
    ? st__index_operands_slices(self, at, index, base, &p)
    : st__index_operands_flat(self, index, base, &p);
  if (status == ST_OK) {
    status = st__index_operands_put(&p, filler, ST_K_index_put);
    st__index_operands_release(&p);
  }
  st__tensor_release(&filler);
  return status;
}

ST_BOXED(st__box_index_fill__int_Scalar) {
  st_tensor *self = st__next_tensor(&args), *indices = NULL, *own = NULL;
  ST_ARGS(INT(dim), TENSOR(index), SCALAR(value), INT(base));
  ST_TRY(st__check_cpu_or_meta(self));
  ST_TRY(check_vector(index));
  ST_TRY(st__check_internal_overlap(self));
  ST_TRY(st__as_indices(index, self, false, &indices));
  st_status status = st__clone_if_overlapping(self, indices, &own);
  if (status == ST_OK) status = index_fill(self, dim, own, value, base);
  st__tensor_release(&own);
  st__tensor_release(&indices);
  ST_TRY(status);
  return st__return_tensor(self, rets);
}

ST_BOXED_AS(st__box_index_fill_int_Scalar, st__call_on_copy,
            ST_OP_index_fill__int_Scalar, 5, args)
