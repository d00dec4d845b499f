/* Shapes: element and byte counts, dimension wrapping, broadcasting, printing.
 */

#include "tensor/subbyte.h"

#include <inttypes.h>
#include <string.h>

/* -- Printing ------------------------------------------------------------- */

char *st__shape_text(int ndim, const int64_t *sizes, char *buf, size_t size) {
  static const char more[] = "...]";
  size_t n = 0;
  if (size < sizeof more + 1) return size ? (*buf = 0, buf) : buf;
  buf[n++] = '[';
  for (int d = 0; d < ndim; d++) {
    char item[24];
    const int len = snprintf(item, sizeof item, "%s%" PRId64,
                             d ? ", " : "", sizes[d]);
    if (n + (size_t)len + sizeof more > size) {
      memcpy(buf + n, more, sizeof more);
      return buf;
    }
    memcpy(buf + n, item, (size_t)len);
    n += (size_t)len;
  }
  memcpy(buf + n, "]", 2);
  return buf;
}

/* -- Counting ------------------------------------------------------------- */

/* The overflow test skips sizes of 0, so that the contiguous strides of an
 * empty tensor do not overflow either. */
st_status st__numel_of(int ndim, const int64_t *sizes, int64_t *out) {
  int64_t numel = 1;
  bool empty = false;
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] < 0) {
      return st__fail(ST_BAD_SHAPE, "negative size %" PRId64 " in shape %s",
                      sizes[d], st__shape_text(ndim, sizes, (char[160]){0},
                                               160));
    }
    if (sizes[d] == 0) {
      empty = true;
    } else if (!st__mul_sizes(numel, sizes[d], &numel)) {
      return st__fail(ST_BAD_SHAPE, "shape %s has more elements than 64 bits "
                      "can count", st__shape_text(ndim, sizes,
                                                  (char[160]){0}, 160));
    }
  }
  *out = empty ? 0 : numel;
  return ST_OK;
}

void st__contiguous_strides(int ndim, const int64_t *sizes,
                            int64_t *strides) {
  int64_t step = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    strides[d] = step;
    step *= sizes[d] > 1 ? sizes[d] : 1;
  }
}

/* Apart: it needs registers and a buffer, which others would save and make. */
static __attribute__((noinline))
st_status refuse_size(const st_geometry *g) {
  return st__fail(ST_BAD_SHAPE, "shape %s with strides %s does not fit in "
                  "the address space",
                  st__shape_text(g->ndim, g->sizes, (char[160]){0}, 160),
                  st__shape_text(g->ndim, g->strides, (char[160]){0}, 160));
}

st_status st__nbytes_of(const st_geometry *g, st_dtype dtype, size_t *out) {
  int64_t last = g->offset, n, bytes;
  bool overflow = g->offset < 0, empty = false;
  for (int d = 0; d < g->ndim; d++) {
    if (g->sizes[d] == 0) {
      empty = true;
      continue;
    }
    overflow |= g->strides[d] < 0;
    overflow |= !st__mul_sizes(g->sizes[d] - 1, g->strides[d], &n);
    overflow |= !st__add_sizes(last, n, &last);
  }
  if (empty) {
    *out = 0;
    return ST_OK;
  }
  overflow |= !st__add_sizes(last, 1, &n);
  overflow |= !st__mul_sizes(n, (int64_t)st__itemsize(dtype), &bytes);
  if (overflow) return refuse_size(g);
  *out = st__is_subbyte(dtype) ? st__bytes_of_elements(dtype, (uint64_t)n)
                               : (size_t)bytes;
  return ST_OK;
}

/* -- Dimensions ----------------------------------------------------------- */

st_status st__wrap_other_dim(int64_t dim, int ndim, int *out) {
  const int64_t n = ndim ? ndim : 1;
  if (dim < -n || dim >= n) {
    return st__fail(ST_BAD_DIM, "dimension %" PRId64 " is out of range for "
                    "%d dimensions (%" PRId64 " to %" PRId64 ", or %" PRId64
                    " to -1)", st__display_index(dim), ndim,
                    st__display_index(0), st__display_index(n - 1), -n);
  }
  *out = (int)(dim < 0 ? dim + n : dim);
  return ST_OK;
}

st_status st__wrap_dims(const int64_t *dims, int n, int ndim, uint64_t *set) {
  uint64_t bits = 0;
  if (!dims || n == 0) {
    *set = ndim >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << ndim) - 1;
    return ST_OK;
  }
  for (int i = 0; i < n; i++) {
    int d = 0;
    ST_TRY(st__wrap_dim(dims[i], ndim, &d));
    if (bits >> d & 1) {
      return st__fail(ST_BAD_DIM, "dimension %d appears more than once",
                      (int)st__display_index(d));
    }
    bits |= (uint64_t)1 << d;
  }
  *set = bits;
  return ST_OK;
}

/* -- Broadcasting --------------------------------------------------------- */

st_status st__broadcast_shape(int na, const int64_t *a, int nb,
                              const int64_t *b, int64_t *out, int *nout) {
  const int n = na > nb ? na : nb;
  /* From the right, so that out may be a or b. */
  for (int i = 1; i <= n; i++) {
    const int64_t x = i <= na ? a[na - i] : 1, y = i <= nb ? b[nb - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return st__fail(ST_BAD_SHAPE, "shapes %s and %s do not broadcast: sizes "
                      "%" PRId64 " and %" PRId64 " differ at dimension %d",
                      st__shape_text(na, a, (char[160]){0}, 160),
                      st__shape_text(nb, b, (char[160]){0}, 160), x, y,
                      (int)st__display_index(n - i));
    }
  }
  for (int i = 1; i <= n; i++) {
    const int64_t x = i <= na ? a[na - i] : 1, y = i <= nb ? b[nb - i] : 1;
    out[n - i] = x == 1 ? y : x;
  }
  *nout = n;
  return ST_OK;
}
