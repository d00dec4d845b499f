/* Operators that split a tensor into a list of views.
 */

#include <inttypes.h>

#include "base/interrupt.h"
#include "op/create/copy_clone_to.h"
#include "op/lazy/lazy.h"
#include "op/row/op.h"
#include "tensor/view.h"

/* The size of self along dim. BAD_DIM if there is no such dimension. */
static st_status size_along(const st_tensor *self, int64_t dim,
                            int64_t *size) {
  int d = 0;
  if (self->ndim == 0) {
    return st__fail(ST_BAD_DIM, "self must have at least 1 dimension");
  }
  ST_TRY(st__wrap_dim(dim, self->ndim, &d));
  *size = self->sizes[d];
  return ST_OK;
}

static st_status new_list(int64_t n, st_value *list) {
  if (n > INT32_MAX) {
    return st__fail(ST_BAD_VALUE, "too many parts: %" PRId64, n);
  }
  return st__value_new_tensors((int)n, list);
}

/* Asks whether to stop, once in a while. */
static st_status ask(int64_t i) {
  return i % 1024 == 1023 ? st__poll_interrupt() : ST_OK;
}

/* -- View operators ------------------------------------------------------- */

ST_BOXED(st__box_split) {
  ST_ARGS(TENSOR(self), INT(part), INT(dim));
  int64_t size = 0;
  ST_TRY(size_along(self, dim, &size));
  if (part < 0 || (part == 0 && size > 0)) {
    return st__fail(ST_BAD_VALUE, "split_size %" PRId64 " is invalid for a "
                    "dimension of size %" PRId64, part, size);
  }
  const int64_t n = size == 0 ? 1 : (size - 1) / part + 1;
  st_value list;
  ST_TRY(new_list(n, &list));
  for (int64_t i = 0; i < n; i++) {
    const int64_t start = i * part, left = size - start;
    st_status status = ask(i);
    if (status == ST_OK) {
      status = st__view_narrow(self, dim, start, left < part ? left : part,
                               &list.u.tensors[i]);
    }
    if (status != ST_OK) {
      st__value_clear(&list);
      return status;
    }
  }
  *rets = list;
  return ST_OK;
}

static st_status check_split_sizes(st_ints sizes, int64_t size) {
  int64_t left = size;
  for (uint32_t i = 0; i < sizes.n; i++) {
    if (sizes.p[i] < 0 || sizes.p[i] > left) {
      left = -1;
      break;
    }
    left -= sizes.p[i];
  }
  if (left == 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "split_sizes %s do not add up to the size %"
                  PRId64, st__shape_text((int)sizes.n, sizes.p, (char[160]){0},
                                         160), size);
}

ST_BOXED(st__box_split_with_sizes) {
  ST_ARGS(TENSOR(self), INTS(split_sizes), INT(dim));
  int64_t size = 0, start = 0;
  ST_TRY(size_along(self, dim, &size));
  ST_TRY(check_split_sizes(split_sizes, size));
  st_value list;
  ST_TRY(new_list(split_sizes.n, &list));
  for (uint32_t i = 0; i < list.len; i++) {
    const int64_t length = split_sizes.p[i];
    st_status status = ask(i);
    if (status == ST_OK) {
      status = st__view_narrow(self, dim, start, length, &list.u.tensors[i]);
    }
    if (status != ST_OK) {
      st__value_clear(&list);
      return status;
    }
    start += length;
  }
  *rets = list;
  return ST_OK;
}

ST_BOXED(st__box_unbind) {
  ST_ARGS(TENSOR(self), INT(dim));
  int64_t size = 0;
  ST_TRY(size_along(self, dim, &size));
  st_value list;
  ST_TRY(new_list(size, &list));
  for (int64_t i = 0; i < size; i++) {
    st_status status = ask(i);
    if (status == ST_OK) {
      status = st__view_select(self, dim, i, &list.u.tensors[i]);
    }
    if (status != ST_OK) {
      st__value_clear(&list);
      return status;
    }
  }
  *rets = list;
  return ST_OK;
}

/* -- Composite operators -------------------------------------------------- */

ST_BOXED_AS(st__box_split_sizes, st__invoke, ST_OP_split_with_sizes, 3, args)

/* The n chunks of a dimension of size 0, each of size 0. */
static st_status chunk_nothing(const st_tensor *self, int64_t n, int64_t dim,
                               st_value *rets) {
  st_value sizes;
  if (n > INT32_MAX) {
    return st__fail(ST_BAD_VALUE, "too many parts: %" PRId64, n);
  }
  ST_TRY(st__value_new_ints((int)n, &sizes));
  const st_status status =
    st__invoke(ST_OP_split_with_sizes, ST_VALUES(self, sizes, dim), rets);
  st__value_clear(&sizes);
  return status;
}

ST_BOXED(st__box_chunk) {
  ST_ARGS(TENSOR(self), INT(chunks), INT(dim));
  int64_t size = 0;
  ST_TRY(size_along(self, dim, &size));
  if (chunks <= 0) {
    return st__fail(ST_BAD_VALUE, "chunks must be positive, got %" PRId64,
                    chunks);
  }
  if (size == 0) return chunk_nothing(self, chunks, dim, rets);
  return st__invoke(ST_OP_split_Tensor,
                    ST_VALUES(self, (size - 1) / chunks + 1, dim), rets);
}

/* Calls slice for the indices [start, end). */
static st_status part(const st_tensor *self, int64_t dim, int64_t start,
                      int64_t end, st_tensor **out) {
  return st__invoke1(ST_OP_slice_Tensor, ST_VALUES(self, dim, start, end), out);
}

/* The end index of part i of n. ends lists the ends of all parts but the last,
 * or is the number of sections, of which the first size % n are one longer. */
static int64_t part_end(const st_value *ends, int64_t n, int64_t size,
                        int64_t i) {
  if (ends->tag == ST_TAG_INTS) return i < n - 1 ? ends->u.ints[i] : size;
  return (i + 1) * (size / n) + (i < size % n ? i + 1 : size % n);
}

static st_status parts(const st_tensor *self, const st_value *ends, int64_t n,
                       int64_t dim, int64_t size, st_value *rets) {
  int64_t start = 0;
  st_value list;
  ST_TRY(new_list(n, &list));
  for (int64_t i = 0; i < n; i++) {
    const int64_t end = part_end(ends, n, size, i);
    st_status status = ask(i);
    if (status == ST_OK) {
      status = part(self, dim, start, end, &list.u.tensors[i]);
    }
    if (status != ST_OK) {
      st__value_clear(&list);
      return status;
    }
    start = end;
  }
  *rets = list;
  return ST_OK;
}

ST_BOXED(st__box_tensor_split_sections) {
  ST_ARGS(TENSOR(self), BOXED(sections));
  const int64_t n = sections->u.i, dim = st__next_int(&args);
  int64_t size = 0;
  ST_TRY(size_along(self, dim, &size));
  if (n <= 0) {
    return st__fail(ST_BAD_VALUE, "sections must be positive, got %" PRId64,
                    n);
  }
  return parts(self, sections, n, dim, size, rets);
}

ST_BOXED(st__box_tensor_split_indices) {
  ST_ARGS(TENSOR(self), BOXED(indices), INT(dim));
  int64_t size = 0;
  ST_TRY(size_along(self, dim, &size));
  return parts(self, indices, (int64_t)indices->len + 1, dim, size, rets);
}

/* The elements of `at` on the CPU. tensor_split is a view operator, so the
 * fallbacks of lazy keys have not resolved its arguments. */
static st_status read_indices(const st_tensor *at, st_tensor **out) {
  st_tensor *plain = NULL;
  ST_TRY(st__resolve_lazy(at, &plain));
  const st_status status = st__to_cpu(plain, out);
  st__tensor_release(&plain);
  return status;
}

/* at is on the CPU and not lazy. */
static st_status split_at(const st_tensor *self, const st_tensor *at,
                          int64_t dim, st_value *rets) {
  st_value ends;
  ST_TRY(st__value_new_ints((int)at->numel, &ends));
  int64_t *to = (int64_t *)(uintptr_t)ends.u.ints;
  const int64_t *from = (const int64_t *)(const void *)st__data(at);
  for (int64_t i = 0; i < at->numel; i++) {
    to[i] = from[at->ndim ? i * at->strides[0] : 0];
  }
  const st_status status = st__invoke(
    at->ndim ? ST_OP_tensor_split_indices : ST_OP_tensor_split_sections,
    ST_VALUES(self, at->ndim ? ends : st__of_int(to[0]), dim), rets);
  st__value_clear(&ends);
  return status;
}

/* The number of sections (0-dim) or the indices to split at (1-d) come from a
 * tensor. */
ST_BOXED(st__box_tensor_split_tensor) {
  ST_ARGS(TENSOR(self), TENSOR(at), INT(dim));
  st_tensor *here = NULL;
  ST_TRY(st__check_strided(at));
  if (at->dtype != ST_INT64 || at->ndim > 1 || !st__has_elements(at) ||
      at->numel > INT32_MAX) {
    return st__fail(ST_BAD_DTYPE, "tensor_indices_or_sections must be a 0-dim "
                    "tensor or a vector of int64 with data");
  }
  ST_TRY(read_indices(at, &here));
  const st_status status = split_at(self, here, dim, rets);
  st__tensor_release(&here);
  return status;
}

/* -- hsplit, vsplit, dsplit ----------------------------------------------- */

/* dim is the dimension to split; for vectors, which only hsplit accepts, it is
 * the first one. */
static st_status check_dims(const st_tensor *self, int least, int *dim) {
  if (self->ndim < least) {
    return st__fail(ST_BAD_SHAPE, "self must have at least %d dimensions, its "
                    "shape is %s", least, ST_SHAPE_TEXT(self));
  }
  if (self->ndim == 1) *dim = 0;
  return ST_OK;
}

static st_status equal_parts(const st_value *args, int least, int dim,
                             st_value *rets) {
  ST_ARGS(TENSOR(self), INT(sections));
  ST_TRY(check_dims(self, least, &dim));
  if (sections <= 0 || self->sizes[dim] % sections) {
    return st__fail(ST_BAD_VALUE, "shape %s cannot be split into %" PRId64
                    " equal parts along dimension %d", ST_SHAPE_TEXT(self),
                    sections, (int)st__display_index(dim));
  }
  const st_value split[] = {st__of_tensor(self), st__of_int(sections),
                            st__of_int(dim)};
  return st__invoke(ST_OP_tensor_split_sections, 3, split, rets);
}

static st_status parts_at(const st_value *args, int least, int dim,
                          st_value *rets) {
  ST_ARGS(TENSOR(self), BOXED(indices));
  ST_TRY(check_dims(self, least, &dim));
  return st__invoke(ST_OP_tensor_split_indices, ST_VALUES(self, *indices, dim),
                    rets);
}

ST_BOXED(st__box_hsplit_int) { return equal_parts(args, 1, 1, rets); }
ST_BOXED(st__box_hsplit_array) { return parts_at(args, 1, 1, rets); }
ST_BOXED(st__box_vsplit_int) { return equal_parts(args, 2, 0, rets); }
ST_BOXED(st__box_vsplit_array) { return parts_at(args, 2, 0, rets); }
ST_BOXED(st__box_dsplit_int) { return equal_parts(args, 3, 2, rets); }
ST_BOXED(st__box_dsplit_array) { return parts_at(args, 3, 2, rets); }
