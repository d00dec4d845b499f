/* Geometry and elements of tensors of integers of fewer than eight bits.
 */

#include "tensor/subbyte.h"

#include <inttypes.h>

#include "tensor/memory_format.h"

#define TEXT(n, v) st__shape_text(n, v, (char[160]){0}, 160)

/* -- Geometry ------------------------------------------------------------- */

/* Strides that do not fit in 64 bits are the greatest number, which no storage
 * has room for. */
static int64_t times(int64_t a, int64_t b) {
  int64_t n;
  return st__mul_sizes(a, b, &n) ? n : INT64_MAX;
}

static int64_t whole_bytes(int64_t n, int64_t per) {
  return times(n / per + (n % per != 0), per);
}

static bool has_zero(int n, const int64_t *sizes) {
  for (int k = 0; k < n; k++) {
    if (sizes[k] == 0) return true;
  }
  return false;
}

/* A tensor without elements has no padding. */
void st__new_strides(st_dtype d, int ndim, const int64_t *sizes,
                     int64_t *strides) {
  const int64_t per = st__per_byte(d);
  if (per == 1 || has_zero(ndim, sizes)) {
    st__contiguous_strides(ndim, sizes, strides);
    return;
  }
  int64_t step = 1;
  for (int k = ndim - 1; k >= 0; k--) {
    strides[k] = step;
    step = times(step, sizes[k] > 1 ? sizes[k] : 1);
    if (k == ndim - 1) step = whole_bytes(step, per);
  }
}

static st_status refuse(st_dtype d, const st_geometry *g, const char *why) {
  const char *name = st__dtype_name(d);
  return st__fail(ST_BAD_LAYOUT, "a view of shape %s with strides %s at offset "
                  "%" PRId64 " would %s %d elements of %s: take it of t:to "
                  "\"%s\", then :contiguous():to \"%s\"",
                  TEXT(g->ndim, g->sizes), TEXT(g->ndim, g->strides),
                  g->offset, why, (int)st__per_byte(d), name,
                  st__dtype_name(st__byte_dtype(d)), name);
}

st_status st__check_subbyte_rows(st_dtype d, const st_geometry *g) {
  const int64_t per = st__per_byte(d);
  bool within = g->offset % per != 0;
  if (has_zero(g->ndim, g->sizes)) return ST_OK;
  for (int k = 0; k < g->ndim; k++) {
    within |= k < g->ndim - 1 && g->sizes[k] > 1 && g->strides[k] % per != 0;
  }
  const int last = g->ndim - 1;
  if (last >= 0 && g->sizes[last] > 1 && g->strides[last] != 1) {
    return refuse(d, g, "stride over bytes, which hold");
  }
  return within ? refuse(d, g, "begin inside a byte, which holds") : ST_OK;
}

/* Contiguous with padded rows. A tensor without padding is dense, too. */
uint8_t st__subbyte_flags(st_dtype d, const st_geometry *g) {
  const uint8_t kept = ST_FLAG_CONTIGUOUS | ST_FLAG_DENSE;
  int64_t expect[ST_MAX_DIMS];
  bool is_contiguous = true;
  st__new_strides(d, g->ndim, g->sizes, expect);
  for (int k = 0; k < g->ndim; k++) {
    is_contiguous &= g->sizes[k] == 1 || g->strides[k] == expect[k];
  }
  is_contiguous |= has_zero(g->ndim, g->sizes);
  return (uint8_t)((st__compute_flags(g->ndim, g->sizes, g->strides) & kept) |
                   (is_contiguous ? ST_FLAG_CONTIGUOUS : 0));
}

/* -- Elements ------------------------------------------------------------- */

static uint8_t *byte_at(const st_tensor *t, int64_t at) {
  return (uint8_t *)t->storage->data + at / st__per_byte((st_dtype)t->dtype);
}

/* The number of bits of the byte below the element. */
static int shift_of(st_dtype d, int64_t at) {
  return (int)(at % st__per_byte(d)) * st__dtype_facts[d].bits;
}

st_scalar st__subbyte_load(const st_tensor *t, int64_t at) {
  const st_dtype d = (st_dtype)t->dtype;
  const uint8_t field = (uint8_t)(*byte_at(t, at) >> shift_of(d, at));
  return st__scalar_load(d, &field);
}

void st__subbyte_store(const st_tensor *t, int64_t at, st_scalar s) {
  const st_dtype d = (st_dtype)t->dtype;
  const int shift = shift_of(d, at);
  const int mask = ((1 << st__dtype_facts[d].bits) - 1) << shift;
  uint8_t *const p = byte_at(t, at);
  uint8_t field;
  st__scalar_store(s, d, &field);
  *p = (uint8_t)((*p & ~mask) | field << shift);
}

size_t st__nbytes_of_tensor(const st_tensor *t) {
  const st_dtype d = (st_dtype)t->dtype;
  const int64_t row = t->ndim ? t->sizes[t->ndim - 1] : 1;
  if (!st__is_subbyte(d)) return (size_t)t->numel * st__itemsize(d);
  return t->numel ? (size_t)(t->numel / row) *
                    st__bytes_of_elements(d, (uint64_t)row) : 0;
}
