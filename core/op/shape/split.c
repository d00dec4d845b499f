/* Operators that split a tensor into a list of views.
 */

#include <inttypes.h>

#include "base/interrupt.h"
#include "op/create/copy.h"
#include "op/lazy/lazy.h"
#include "op/registry/op.h"
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
  const st_tensor *self = st__self_of(args);
  const int64_t part = args[1].u.i, dim = args[2].u.i;
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

static st_status check_split_sizes(const st_value *sizes, int64_t size) {
  int64_t left = size;
  for (uint32_t i = 0; i < sizes->len; i++) {
    if (sizes->u.ints[i] < 0 || sizes->u.ints[i] > left) {
      left = -1;
      break;
    }
    left -= sizes->u.ints[i];
  }
  if (left == 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "split_sizes %s do not add up to the size %"
                  PRId64, st__shape_text((int)sizes->len, sizes->u.ints,
                                         (char[160]){0}, 160), size);
}

ST_BOXED(st__box_split_with_sizes) {
  const st_tensor *self = st__self_of(args);
  int64_t size = 0, start = 0;
  ST_TRY(size_along(self, args[2].u.i, &size));
  ST_TRY(check_split_sizes(&args[1], size));
  st_value list;
  ST_TRY(new_list(args[1].len, &list));
  for (uint32_t i = 0; i < list.len; i++) {
    const int64_t length = args[1].u.ints[i];
    st_status status = ask(i);
    if (status == ST_OK) {
      status = st__view_narrow(self, args[2].u.i, start, length,
                               &list.u.tensors[i]);
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
  const st_tensor *self = st__self_of(args);
  int64_t size = 0;
  ST_TRY(size_along(self, args[1].u.i, &size));
  st_value list;
  ST_TRY(new_list(size, &list));
  for (int64_t i = 0; i < size; i++) {
    st_status status = ask(i);
    if (status == ST_OK) {
      status = st__view_select(self, args[1].u.i, i, &list.u.tensors[i]);
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

ST_BOXED(st__box_split_sizes) {
  return st__invoke(ST_OP_split_with_sizes, 3, args, rets);
}

/* The n chunks of a dimension of size 0, each of size 0. */
static st_status chunk_nothing(const st_value *args, int64_t n,
                               st_value *rets) {
  st_value sizes;
  if (n > INT32_MAX) {
    return st__fail(ST_BAD_VALUE, "too many parts: %" PRId64, n);
  }
  ST_TRY(st__value_new_ints((int)n, &sizes));
  const st_value split[] = {args[0], sizes, args[2]};
  const st_status status =
    st__invoke(ST_OP_split_with_sizes, 3, split, rets);
  st__value_clear(&sizes);
  return status;
}

ST_BOXED(st__box_chunk) {
  const int64_t n = args[1].u.i;
  int64_t size = 0;
  ST_TRY(size_along(st__self_of(args), args[2].u.i, &size));
  if (n <= 0) {
    return st__fail(ST_BAD_VALUE, "chunks must be positive, got %" PRId64, n);
  }
  if (size == 0) return chunk_nothing(args, n, rets);
  const st_value split[] = {args[0], st__of_int((size - 1) / n + 1), args[2]};
  return st__invoke(ST_OP_split_Tensor, 3, split, rets);
}

/* Calls slice for the indices [start, end). */
static st_status part(const st_value *args, int64_t start, int64_t end,
                      st_tensor **out) {
  const st_value slice[] = {args[0], args[2], st__of_int(start),
                            st__of_int(end)};
  return st__invoke1(ST_OP_slice_Tensor, 4, slice, out);
}

/* The end index of part i of n. ends lists the ends of all parts but the last,
 * or is the number of sections, of which the first size % n are one longer. */
static int64_t part_end(const st_value *ends, int64_t n, int64_t size,
                        int64_t i) {
  if (ends->tag == ST_TAG_INTS) return i < n - 1 ? ends->u.ints[i] : size;
  return (i + 1) * (size / n) + (i < size % n ? i + 1 : size % n);
}

static st_status parts(const st_value *args, int64_t n, int64_t size,
                       st_value *rets) {
  int64_t start = 0;
  st_value list;
  ST_TRY(new_list(n, &list));
  for (int64_t i = 0; i < n; i++) {
    const int64_t end = part_end(&args[1], n, size, i);
    st_status status = ask(i);
    if (status == ST_OK) status = part(args, start, end, &list.u.tensors[i]);
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
  const int64_t n = args[1].u.i;
  int64_t size = 0;
  ST_TRY(size_along(st__self_of(args), args[2].u.i, &size));
  if (n <= 0) {
    return st__fail(ST_BAD_VALUE, "sections must be positive, got %" PRId64,
                    n);
  }
  return parts(args, n, size, rets);
}

ST_BOXED(st__box_tensor_split_indices) {
  int64_t size = 0;
  ST_TRY(size_along(st__self_of(args), args[2].u.i, &size));
  return parts(args, (int64_t)args[1].len + 1, size, rets);
}

/* The elements of `at` on the CPU. tensor_split is a view operator, so the
 * fallbacks of lazy keys have not resolved its arguments. */
static st_status read_indices(const st_tensor *at, st_tensor **out) {
  st_tensor *plain = NULL;
  ST_TRY(st__resolve(at, &plain));
  const st_status status = st__to_cpu(plain, out);
  st__tensor_release(&plain);
  return status;
}

/* at is on the CPU and not lazy. */
static st_status split_at(const st_value *args, const st_tensor *at,
                          st_value *rets) {
  st_value ends;
  ST_TRY(st__value_new_ints((int)at->numel, &ends));
  int64_t *to = (int64_t *)(uintptr_t)ends.u.ints;
  const int64_t *from = (const int64_t *)(const void *)st__data(at);
  for (int64_t i = 0; i < at->numel; i++) {
    to[i] = from[at->ndim ? i * at->strides[0] : 0];
  }
  const st_value split[] = {args[0], at->ndim ? ends : st__of_int(to[0]),
                            args[2]};
  const st_status status =
    st__invoke(at->ndim ? ST_OP_tensor_split_indices
                        : ST_OP_tensor_split_sections, 3, split, rets);
  st__value_clear(&ends);
  return status;
}

/* The number of sections (0-dim) or the indices to split at (1-d) come from a
 * tensor. */
ST_BOXED(st__box_tensor_split_tensor) {
  const st_tensor *at = st__to_tensor(&args[1]);
  st_tensor *here = NULL;
  if (at->dtype != ST_INT64 || at->ndim > 1 || st__is_meta(at) ||
      at->numel > INT32_MAX) {
    return st__fail(ST_BAD_DTYPE, "tensor_indices_or_sections must be a 0-dim "
                    "tensor or a vector of int64 with data");
  }
  ST_TRY(read_indices(at, &here));
  const st_status status = split_at(args, here, rets);
  st__tensor_release(&here);
  return status;
}

/* -- hsplit, vsplit, dsplit ----------------------------------------------- */

static st_status need_dims(const st_value *args, int least) {
  if (st__self_of(args)->ndim >= least) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "self must have at least %d dimensions, its "
                  "shape is %s", least, ST_SHAPE_TEXT(st__self_of(args)));
}

static st_status equal_parts(const st_value *args, int dim, st_value *rets) {
  const int64_t n = args[1].u.i, size = st__self_of(args)->sizes[dim];
  if (n <= 0 || size % n) {
    return st__fail(ST_BAD_VALUE, "shape %s cannot be split into %" PRId64
                    " equal parts along dimension %d",
                    ST_SHAPE_TEXT(st__self_of(args)), n,
                    (int)st__display_index(dim));
  }
  const st_value split[] = {args[0], args[1], st__of_int(dim)};
  return st__invoke(ST_OP_tensor_split_sections, 3, split, rets);
}

static st_status parts_at(const st_value *args, int dim, st_value *rets) {
  const st_value split[] = {args[0], args[1], st__of_int(dim)};
  return st__invoke(ST_OP_tensor_split_indices, 3, split, rets);
}

ST_BOXED(st__box_hsplit_int) {
  ST_TRY(need_dims(args, 1));
  return equal_parts(args, st__self_of(args)->ndim > 1, rets);
}

ST_BOXED(st__box_hsplit_array) {
  ST_TRY(need_dims(args, 1));
  return parts_at(args, st__self_of(args)->ndim > 1, rets);
}

ST_BOXED(st__box_vsplit_int) {
  ST_TRY(need_dims(args, 2));
  return equal_parts(args, 0, rets);
}

ST_BOXED(st__box_vsplit_array) {
  ST_TRY(need_dims(args, 2));
  return parts_at(args, 0, rets);
}

ST_BOXED(st__box_dsplit_int) {
  ST_TRY(need_dims(args, 3));
  return equal_parts(args, 2, rets);
}

ST_BOXED(st__box_dsplit_array) {
  ST_TRY(need_dims(args, 3));
  return parts_at(args, 2, rets);
}
