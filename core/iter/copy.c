/* copy_, clone and contiguous: copies between layouts and dtypes (Y1 to Y6).
 */

#include "iter/copy.h"

#include <stdatomic.h>

#include "base/status.h"
#include "base/threads.h"
#include "iter/strided_copy.h"
#include "iter/subbyte_copy.h"
#include "iter/loop_report.h"
#include "tensor/view.h"

static void start(st_iter *it, uint32_t flags, const st_tensor *dst,
                  const st_tensor *src) {
  st__iter_init(it, flags | ST_ITER_BORROWED);
  st__iter_output(it, dst, ST_DTYPE_NONE);
  st__iter_input(it, src);
}

/* -- Lazy tensors --------------------------------------------------------- */

/* The operations that turn the bits of src into those of dst, in the dtype of
 * dst (Note [Lazy tensors]). */
typedef struct bit_changes {
  int n;
  st_kernel_id of[2];
} bit_changes;

static bit_changes changes_between(const st_tensor *dst, const st_tensor *src) {
  const st_dtype d = dst->dtype;
  bit_changes c = {.n = 0};
  if (st__is_complex(d) && st__is_conj(dst) != st__is_conj(src)) {
    c.of[c.n++] = ST_K_conj_physical;
  }
  if (d != ST_BOOL && st__is_neg(dst) != st__is_neg(src)) {
    c.of[c.n++] = ST_K_neg;
  }
  return c;
}

/* True if the negation must precede the conversion: negated integers wrap in
 * their own dtype, the negative of a real number has an imaginary part of 0,
 * not -0, and floats from 2^63 on become other uint64 than their negatives. */
static bool negates_first(const st_tensor *src, st_dtype to) {
  const st_dtype from = src->dtype;
  return st__is_neg(src) && from != to &&
         (st__is_integral(from) || to == ST_UINT64 ||
          (st__is_complex(to) && !st__is_complex(from)));
}

/* True if src must be resolved before it is converted: also where the dtype has
 * no conjugates or negatives, as bcomplex32. */
static bool resolves_first(const st_tensor *src, st_dtype to) {
  if (negates_first(src, to)) return true;
  if (src->dtype == to || !st__is_lazy(src)) return false;
  return (st__is_neg(src) && !st__kernel(ST_K_neg, to)) ||
         (st__is_conj(src) && st__is_complex(to) &&
          !st__kernel(ST_K_conj_physical, to));
}

static bool is_same_lazily(const st_tensor *a, const st_tensor *b) {
  return ((a->keys ^ b->keys) & ST_LAZY_BITS) == 0;
}

static st_status refuse_change(st_dtype d) {
  return st__fail(ST_BAD_DTYPE, "a lazy conjugate or negative of dtype %s "
                  "cannot be copied", st__dtype_name(d));
}

/* Applies a kernel to t in place. t must not overlap itself. */
static st_status apply_change(const st_tensor *t, st_kernel_id id) {
  st_iter it;
  const st_loop loop = st__kernel(id, t->dtype);
  if (!loop) return refuse_change(t->dtype);
  start(&it, 0, t, t);
  const st_status built = st__iter_build(&it);
  ST_ASSERT(built == ST_OK);
  it.kernel = (st_kernel_key){id, t->dtype};
  const st_status status = st__iter_run(&it, loop, NULL, st__kernel_grain(id));
  st__iter_release(&it);
  return status;
}

/* -- Running -------------------------------------------------------------- */

static void plan_move(const st_iter *it, st_move *m) {
  const st_iter_operand *dst = &it->op[0], *src = &it->op[1];
  st__move_init(m, dst->data, dst->target, src->data, src->target);
  for (int d = 0; d < it->ndim; d++) {
    st__move_dim(m, it->shape[d], dst->stride[d], src->stride[d]);
  }
}

static bool is_tiled(const st_iter *it) {
  st_move m;
  plan_move(it, &m);
  return st__move_is_tiled(&m);
}

/* A bit change is fused into the copy if that costs nothing; otherwise it runs
 * afterwards. */
static st_status run_copy(st_iter *it) {
  const st_dtype d = it->op[0].target;
  bit_changes left = changes_between(it->op[0].tensor, it->op[1].tensor);
  st_move m;
  if (left.n > 0 && it->op[1].target == d && !is_tiled(it)) {
    const st_kernel_id id = left.of[--left.n];
    if (!st__kernel(id, d)) return refuse_change(d);
    it->kernel = (st_kernel_key){id, d};
    ST_TRY(st__iter_run(it, st__kernel(id, d), NULL, st__kernel_grain(id)));
  } else {
    plan_move(it, &m);
    ST_TRY(st__move_run(&m));
  }
  while (left.n > 0) {
    ST_TRY(apply_change(it->op[0].tensor, left.of[--left.n]));
  }
  return ST_OK;
}

bool st__copy_is_tiled(const st_iter *it) {
  return it->noutputs == 1 && it->noperands == 2 && it->numel > 0 &&
         is_tiled(it);
}

/* For equal shapes and equal lazy bits: no iterator is needed. */
static st_status move_elements(const st_tensor *dst, const st_tensor *src) {
  const int64_t to = (int64_t)st__itemsize(dst->dtype);
  const int64_t from = (int64_t)st__itemsize(src->dtype);
  st_move m;
  st__move_init(&m, st__data(dst), dst->dtype, st__data(src), src->dtype);
  for (int d = dst->ndim - 1; d >= 0; d--) {
    st__move_dim(&m, dst->sizes[d], dst->strides[d] * to,
                 src->strides[d] * from);
  }
  return st__move_run(&m);
}

static bool leaves_cpu(const st_tensor *dst, const st_tensor *src) {
  return st__is_privateuse(dst) || st__is_privateuse(src);
}

static st_status copy_unstrided(st_tensor *dst, const st_tensor *src) {
  ST_TRY(st__check_layout(dst));
  ST_TRY(st__check_layout(src));
  return leaves_cpu(dst, src) ? st__copy_on_device(dst, src, st__copy)
                              : st__copy_rows(dst, src);
}

/* Two operands of equal shape fit in the inline slots, so nothing is
 * allocated. */
st_status st__copy_unchecked(st_tensor *dst, const st_tensor *src) {
  st_iter it;
  if (!st__is_strided(dst) || !st__is_strided(src)) {
    return copy_unstrided(dst, src);
  }
  if (st__is_meta(dst)) st__dry_run_copy(dst, src);
  if (st__is_meta(dst) || st__is_meta(src) || src->numel == 0) return ST_OK;
  if (leaves_cpu(dst, src)) return st__copy_on_device(dst, src, st__copy);
  if (is_same_lazily(dst, src)) return move_elements(dst, src);
  start(&it, 0, dst, src);
  const st_status built = st__iter_build(&it);
  ST_ASSERT(built == ST_OK);
  const st_status status = run_copy(&it);
  st__iter_release(&it);
  return status;
}

/* Warns once per process, but where warnings are muted. A conversion to bool
 * uses both parts, so it does not warn. */
static void warn_complex_cast(st_dtype to, st_dtype from) {
  static atomic_flag has_warned = ATOMIC_FLAG_INIT;
  if (!st__is_complex(from) || st__is_complex(to) || to == ST_BOOL) return;
  if (st__is_muted() || !atomic_flag_test_and_set(&has_warned)) {
    st__warn("casting complex elements to a real dtype discards their "
             "imaginary parts (this warning is shown once)");
  }
}

/* -- copy_ ---------------------------------------------------------------- */

static bool same_view(const st_tensor *a, const st_tensor *b) {
  const size_t bytes = a->ndim * sizeof *a->strides;
  return a->storage == b->storage && a->offset == b->offset &&
         a->dtype == b->dtype && st__same_sizes(a, b) &&
         memcmp(a->strides, b->strides, bytes) == 0;
}

/* True if both are contiguous and overlap: memmove handles this case without a
 * temporary. */
static bool is_move(const st_tensor *dst, const st_tensor *src) {
  return dst->storage == src->storage && dst->dtype == src->dtype &&
         is_same_lazily(dst, src) && st__same_sizes(dst, src) &&
         st__is_contiguous(dst) && st__is_contiguous(src) &&
         !st__is_meta(dst) && st__overlap(dst, src) != ST_OVERLAP_NO;
}

static st_status resolve_and_copy(st_tensor *dst, const st_tensor *src) {
  st_tensor *plain = NULL;
  ST_TRY(st__clone(src, ST_DTYPE_NONE, ST_FORMAT_PRESERVE, &plain));
  const st_status status = st__copy(dst, plain);
  st__tensor_release(&plain);
  return status;
}

/* A row of one element cannot be repeated as a view, but its byte can. */
static st_status broadcast_subbyte(st_tensor *dst, const st_tensor *src) {
  const st_dtype dtype = st__is_subbyte(src->dtype) ? st__byte_dtype(src->dtype)
                                                    : (st_dtype)src->dtype;
  st_tensor *bytes = NULL, *view = NULL;
  st_status status = st__clone(src, dtype, ST_FORMAT_CONTIGUOUS, &bytes);
  if (status == ST_OK) {
    status = st__view_expand(bytes, dst->ndim, dst->sizes, &view);
  }
  if (status == ST_OK) status = st__copy(dst, view);
  st__tensor_release(&bytes);
  st__tensor_release(&view);
  return status;
}

static st_status copy_subbyte(st_tensor *dst, const st_tensor *src) {
  ST_TRY(st__check_internal_overlap(dst));
  if (!st__same_sizes(dst, src)) return broadcast_subbyte(dst, src);
  return st__overlap(dst, src) == ST_OVERLAP_NO ? st__copy_rows(dst, src)
                                                : resolve_and_copy(dst, src);
}

/* True if the copy needs neither checks nor broadcasting. */
static bool needs_no_iterator(const st_tensor *dst, const st_tensor *src) {
  return (dst->flags & ST_FLAG_DENSE) && !st__may_overlap(dst, src) &&
         dst->device == ST_DEVICE_CPU && src->device == ST_DEVICE_CPU &&
         is_same_lazily(dst, src) && st__same_sizes(dst, src);
}

/* Of a tensor that lacks memory: elements of fewer than eight bits have it. */
static st_status check_subbyte(const st_tensor *t) {
  return st__is_subbyte_tensor(t) ? ST_OK : st__refuse_memoryless(t);
}

/* A copy to the meta device moves no elements, but its shapes are checked. */
st_status st__copy(st_tensor *dst, const st_tensor *src) {
  st_iter it;
  if (st__lacks_memory(dst)) ST_TRY(check_subbyte(dst));
  if (st__lacks_memory(src)) ST_TRY(check_subbyte(src));
  if (same_view(dst, src) && is_same_lazily(dst, src)) return ST_OK;
  ST_TRY(st__check_conversion(src->dtype, dst->dtype));
  warn_complex_cast(dst->dtype, src->dtype);
  if (st__is_meta(src) && !st__is_meta(dst)) {
    return st__fail(ST_BAD_STATE, "src is on the meta device and has no "
                    "elements to copy");
  }
  if (leaves_cpu(dst, src) && !st__is_meta(dst)) {
    return st__copy_on_device(dst, src, st__copy);
  }
  if (resolves_first(src, dst->dtype)) {
    return resolve_and_copy(dst, src);
  }
  if (!st__is_strided(dst) || !st__is_strided(src)) {
    return copy_subbyte(dst, src);
  }
  if (is_move(dst, src)) {
    memmove(st__data(dst), st__data(src),
            (size_t)dst->numel * st__itemsize(dst->dtype));
    return ST_OK;
  }
  if (needs_no_iterator(dst, src)) return move_elements(dst, src);
  start(&it, ST_ITER_CHECK_OVERLAP, dst, src);
  st_status status = st__iter_build(&it);
  if (status == ST_OK && it.is_meta) st__dry_run_copy(dst, src);
  if (status == ST_OK && it.numel > 0 && !it.is_meta) status = run_copy(&it);
  st__iter_release(&it);
  return status;
}

/* -- clone and contiguous ------------------------------------------------- */

static st_status new_like(const st_tensor *t, st_dtype dtype,
                          st_format format, st_tensor **out) {
  const st_device device = t->device;
  if (format == ST_FORMAT_PRESERVE &&
      (!st__is_strided(t) || st__is_subbyte(dtype))) {
    format = ST_FORMAT_CONTIGUOUS;
  }
  if (format != ST_FORMAT_PRESERVE) {
    return st__tensor_empty(device, dtype, t->ndim, t->sizes, format, out);
  }
  int64_t strides[ST_MAX_DIMS];
  st__preserved_strides(t, strides);
  return st__tensor_empty_strided(device, dtype, t->ndim, t->sizes, strides,
                                  out);
}

static st_status zero(st_tensor *t) {
  st_tensor *number = NULL;
  if (!st__is_privateuse(t)) {
    memset(t->storage->data, 0, t->storage->nbytes);
    return ST_OK;
  }
  ST_TRY(st__tensor_from_scalar(st__scalar_int(0), t->dtype, false, &number));
  const st_status status = st__copy_on_device(t, number, st__copy);
  st__tensor_release(&number);
  return status;
}

st_status st__clone(const st_tensor *t, st_dtype dtype, st_format format,
                    st_tensor **out) {
  st_tensor *copy = NULL;
  st_status status = ST_OK;
  if (dtype == ST_DTYPE_NONE) dtype = t->dtype;
  ST_TRY(st__check_layout(t));
  ST_TRY(st__check_conversion(t->dtype, dtype));
  ST_TRY(new_like(t, dtype, format, &copy));
  warn_complex_cast(dtype, t->dtype);
  if (st__is_zero(t) && !st__is_meta(t)) {
    status = zero(copy);
  } else if (resolves_first(t, dtype)) {
    status = resolve_and_copy(copy, t);
  } else {
    status = st__copy_unchecked(copy, t);
  }
  if (status != ST_OK) st__tensor_release(&copy);
  else *out = copy;
  return status;
}

st_status st__clone_if_overlapping(const st_tensor *out, const st_tensor *t,
                                   st_tensor **own) {
  if (st__overlap(out, t) != ST_OVERLAP_NO) {
    return st__clone(t, ST_DTYPE_NONE, ST_FORMAT_PRESERVE, own);
  }
  return st__give(t, own);
}

st_status st__contiguous(const st_tensor *t, st_format format,
                         st_tensor **out) {
  if (format == ST_FORMAT_PRESERVE) {
    return st__fail(ST_BAD_VALUE, "contiguous does not support "
                    "preserve_format");
  }
  if (!st__is_contiguous_in(t, format)) {
    return st__clone(t, ST_DTYPE_NONE, format, out);
  }
  return st__give(t, out);
}
