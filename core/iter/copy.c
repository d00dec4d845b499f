/* copy_, clone and contiguous: moving elements between layouts and dtypes
 * (SEMANTICS 1.12).
 */

#include "iter/copy.h"

#include "base/threads.h"
#include "iter/transpose.h"

/* -- Running -------------------------------------------------------------- */

/* it has one output and one input, and neither has been promoted. */
static void run_copy(st_iter *it) {
  const st_dtype dst = it->op[0].target, src = it->op[1].target;
  st_loop loop = st__copy_kernel(dst, src);
  if (dst == src && st__transpose_prepare(it)) {
    loop = st__transpose_loop(st__itemsize(dst));
  }
  st__iter_run(it, loop, NULL, ST_GRAIN);
}

bool st__copy_is_tiled(const st_iter *it) {
  return it->noutputs == 1 && it->noperands == 2 &&
         it->op[0].target == it->op[1].target && st__transpose_dim(it) != 0;
}

static void start(st_iter *it, uint32_t flags, const st_tensor *dst,
                  const st_tensor *src) {
  st__iter_init(it, flags | ST_ITER_BORROWED);
  st__iter_output(it, dst, ST_DTYPE_NONE);
  st__iter_input(it, src);
}

/* Two operands of equal shape, no checks: the inline slots suffice, so that
 * nothing is allocated. */
void st__copy_unchecked(st_tensor *dst, const st_tensor *src) {
  st_iter it;
  if (st__is_meta(dst) || st__is_meta(src) || src->numel == 0) return;
  start(&it, 0, dst, src);
  const st_status built = st__iter_build(&it);
  ST_ASSERT(built == ST_OK);
  run_copy(&it);
  st__iter_release(&it);
}

/* -- copy_ ---------------------------------------------------------------- */

static bool same_view(const st_tensor *a, const st_tensor *b) {
  const size_t bytes = a->ndim * sizeof *a->strides;
  return a->storage == b->storage && a->offset == b->offset &&
         a->dtype == b->dtype && st__same_sizes(a, b) &&
         memcmp(a->strides, b->strides, bytes) == 0;
}

/* Two runs of bytes of which one is to become the other, wherever they lie:
 * the one overlap that a copy can walk round without a temporary. */
static bool is_move(const st_tensor *dst, const st_tensor *src) {
  return dst->storage == src->storage && dst->dtype == src->dtype &&
         st__is_contiguous(dst) && st__is_contiguous(src) &&
         st__same_sizes(dst, src) && !st__is_meta(dst) &&
         !st__is_elsewhere(dst) && st__overlap(dst, src) != ST_OVERLAP_NO;
}

/* A copy to the meta device moves nothing, but its shapes must fit. */
st_status st__copy(st_tensor *dst, const st_tensor *src) {
  st_iter it;
  if (same_view(dst, src)) return ST_OK;
  if (st__is_meta(src) && !st__is_meta(dst)) {
    return st__fail(ST_BAD_STATE, "src is on the meta device and has no "
                    "elements to copy");
  }
  if (is_move(dst, src)) {
    memmove(st__data(dst), st__data(src),
            (size_t)dst->numel * st__itemsize((st_dtype)dst->dtype));
    return ST_OK;
  }
  start(&it, ST_ITER_CHECK_OVERLAP, dst, src);
  const st_status status = st__iter_build(&it);
  if (status == ST_OK && it.numel > 0 && !it.is_meta) run_copy(&it);
  st__iter_release(&it);
  return status;
}

/* -- clone and contiguous ------------------------------------------------- */

static st_status new_like(const st_tensor *t, st_dtype dtype,
                          st_format format, st_tensor **out) {
  const st_device device = (st_device)t->device;
  if (format != ST_FORMAT_PRESERVE) {
    return st__tensor_empty(device, dtype, t->ndim, t->sizes, format, out);
  }
  int64_t strides[ST_MAX_DIMS];
  st__preserved_strides(t, strides);
  return st__tensor_empty_strided(device, dtype, t->ndim, t->sizes, strides,
                                  out);
}

st_status st__clone(const st_tensor *t, st_dtype dtype, st_format format,
                    st_tensor **out) {
  st_tensor *copy = NULL;
  if (dtype == ST_DTYPE_NONE) dtype = (st_dtype)t->dtype;
  ST_TRY(new_like(t, dtype, format, &copy));
  st__copy_unchecked(copy, t);
  *out = copy;
  return ST_OK;
}

st_status st__apart(const st_tensor *out, const st_tensor *t,
                    st_tensor **own) {
  if (st__overlap(out, t) != ST_OVERLAP_NO) {
    return st__clone(t, ST_DTYPE_NONE, ST_FORMAT_PRESERVE, own);
  }
  *own = (st_tensor *)(uintptr_t)t;
  st__tensor_retain(*own);
  return ST_OK;
}

st_status st__contiguous(const st_tensor *t, st_format format,
                         st_tensor **out) {
  if (format == ST_FORMAT_PRESERVE) {
    return st__fail(ST_BAD_VALUE, "preserve_format is not a layout that "
                    "contiguous could give");
  }
  if (!st__is_contiguous_in(t, format)) {
    return st__clone(t, ST_DTYPE_NONE, format, out);
  }
  *out = (st_tensor *)(uintptr_t)t;
  st__tensor_retain(*out);
  return ST_OK;
}
