/* Memory formats: those that a geometry has, and the strides of each.
 *
 * Note [Ambiguous layouts]
 * A tensor can be contiguous and channels_last at once, since the stride of a
 * dimension of size 1 is arbitrary. So there are two flags per format.
 * ST_FLAG_CL_CONTIGUOUS is set if the elements are in the order of the format,
 * whatever the strides of sizes of 1. ST_FLAG_CL takes these strides into
 * account as well; it determines the format of results of operators.
 */

#include "tensor/memory_format.h"

#include <string.h>

/* Dimensions from the fastest to the slowest. */
static const uint8_t order_2d[] = {1, 3, 2, 0};
static const uint8_t order_3d[] = {1, 4, 3, 2, 0};

/* -- Names ---------------------------------------------------------------- */

static const char *const names[] = {
#define NAME(id, name) name,
  ST_FORMAT_MAP(NAME)
#undef NAME
};

const char *st_format_name(st_format f) {
  return (unsigned)f < ST_FORMAT_COUNT ? names[f] : "no format";
}

bool st_format_parse(const char *s, st_format *out) {
  for (int i = 0; i < ST_FORMAT_COUNT; i++) {
    if (strcmp(s, names[i]) == 0) {
      *out = (st_format)i;
      return true;
    }
  }
  return false;
}

/* -- Flags ---------------------------------------------------------------- */

static bool is_contiguous(int ndim, const int64_t *sizes,
                          const int64_t *strides) {
  int64_t expect = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    if (sizes[d] == 1) continue;
    if (strides[d] != expect) return false;
    expect *= sizes[d];
  }
  return true;
}

static bool has_format_order(int ndim, const uint8_t *order,
                             const int64_t *sizes, const int64_t *strides) {
  int64_t expect = 1;
  for (int i = 0; i < ndim; i++) {
    const int d = order[i];
    if (sizes[d] == 1) continue;
    if (strides[d] != expect) return false;
    expect *= sizes[d];
  }
  return true;
}

static bool has_format_strides(int ndim, const uint8_t *order,
                               const int64_t *sizes, const int64_t *strides) {
  int64_t least = 0;
  if (strides[1] == 0) return false;
  for (int i = 0; i < ndim; i++) {
    const int d = order[i];
    if (sizes[d] == 0 || strides[d] < least) return false;
    /* Only N is larger than 1: contiguous, by convention. */
    if (d == 0 && least == strides[1]) return false;
    least = strides[d] * (sizes[d] > 1 ? sizes[d] : 1);
  }
  return true;
}

static bool is_dense(int ndim, const int64_t *sizes, const int64_t *strides) {
  uint8_t perm[ST_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < ndim; d++) {
    int i = n;
    if (sizes[d] < 2) continue;
    for (; i > 0 && strides[perm[i - 1]] > strides[d]; i--) {
      perm[i] = perm[i - 1];
    }
    perm[i] = (uint8_t)d;
    n++;
  }
  int64_t expect = 1;
  for (int i = 0; i < n; i++) {
    if (strides[perm[i]] != expect) return false;
    expect *= sizes[perm[i]];
  }
  return true;
}

/* The same for two dimensions. */
static uint8_t flags_of_matrix(const int64_t *n, const int64_t *s) {
  if (n[0] == 0 || n[1] == 0 ||
      ((n[1] == 1 || s[1] == 1) && (n[0] == 1 || s[0] == n[1]))) {
    return ST_FLAG_CONTIGUOUS | ST_FLAG_DENSE;
  }
  const bool is_transposed = (n[0] == 1 || s[0] == 1) &&
                             (n[1] == 1 || s[1] == n[0]);
  return is_transposed ? ST_FLAG_DENSE : 0;
}

uint8_t st__compute_flags(int ndim, const int64_t *sizes,
                          const int64_t *strides) {
  bool empty = false;
  int flags = 0;
  if (ndim == 2) return flags_of_matrix(sizes, strides);
  for (int d = 0; d < ndim; d++) empty |= sizes[d] == 0;
  if (empty || is_contiguous(ndim, sizes, strides)) {
    flags |= ST_FLAG_CONTIGUOUS;
  }
  if (ndim == 4) {
    if (has_format_order(4, order_2d, sizes, strides)) {
      flags |= ST_FLAG_CL_CONTIGUOUS;
    }
    if (has_format_strides(4, order_2d, sizes, strides)) flags |= ST_FLAG_CL;
  } else if (ndim == 5) {
    if (has_format_order(5, order_3d, sizes, strides)) {
      flags |= ST_FLAG_CL3_CONTIGUOUS;
    }
    if (has_format_strides(5, order_3d, sizes, strides)) flags |= ST_FLAG_CL3;
  }
  if (flags & (ST_FLAG_CONTIGUOUS | ST_FLAG_CL_CONTIGUOUS |
               ST_FLAG_CL3_CONTIGUOUS) || is_dense(ndim, sizes, strides)) {
    flags |= ST_FLAG_DENSE;
  }
  return (uint8_t)flags;
}

bool st__is_contiguous_in(const st_tensor *t, st_format f) {
  switch (f) {
    case ST_FORMAT_CHANNELS_LAST: return t->flags & ST_FLAG_CL_CONTIGUOUS;
    case ST_FORMAT_CHANNELS_LAST_3D: return t->flags & ST_FLAG_CL3_CONTIGUOUS;
    default: return t->flags & ST_FLAG_CONTIGUOUS;
  }
}

/* -- Strides -------------------------------------------------------------- */

static void ordered_strides(int ndim, const uint8_t *order,
                            const int64_t *sizes, int64_t *strides) {
  int64_t step = 1;
  for (int i = 0; i < ndim; i++) {
    strides[order[i]] = step;
    step *= sizes[order[i]];
  }
}

st_status st__format_strides(int ndim, const int64_t *sizes, st_format f,
                             int64_t *strides) {
  if (f == ST_FORMAT_CONTIGUOUS) {
    st__contiguous_strides(ndim, sizes, strides);
    return ST_OK;
  }
  if (f != ST_FORMAT_CHANNELS_LAST && f != ST_FORMAT_CHANNELS_LAST_3D) {
    return st__fail(ST_BAD_LAYOUT, "%s is not the format of a new tensor; name "
                    "another one", st_format_name(f));
  }
  const int rank = f == ST_FORMAT_CHANNELS_LAST ? 4 : 5;
  if (ndim != rank) {
    return st__fail(ST_BAD_LAYOUT, "%s needs %d dimensions, got shape %s",
                    st_format_name(f), rank,
                    st__shape_text(ndim, sizes, (char[160]){0}, 160));
  }
  ordered_strides(rank, rank == 4 ? order_2d : order_3d, sizes, strides);
  return ST_OK;
}

static bool has_strides_of(const st_tensor *t, const uint8_t *order) {
  int64_t strides[5];
  ordered_strides(t->ndim, order, t->sizes, strides);
  return memcmp(strides, t->strides, t->ndim * sizeof *strides) == 0;
}

st_format st__suggest_format(const st_tensor *t, bool exact) {
  if (t->flags & ST_FLAG_CL) {
    if (!exact || has_strides_of(t, order_2d)) return ST_FORMAT_CHANNELS_LAST;
  } else if (t->flags & ST_FLAG_CL3) {
    if (!exact || has_strides_of(t, order_3d)) {
      return ST_FORMAT_CHANNELS_LAST_3D;
    }
  }
  return ST_FORMAT_CONTIGUOUS;
}

/* -- Preserved strides ---------------------------------------------------- */

/* 1 if dimension a is slower than b, -1 if it is faster, 0 if unknown, as with
 * a stride of 0. The iterator orders dimensions in the same way. */
static int compare_dims(const st_tensor *t, int a, int b) {
  const int64_t x = t->strides[a], y = t->strides[b];
  if (x == 0 || y == 0) return 0;
  if (x != y) return x < y ? -1 : 1;
  return t->sizes[a] > t->sizes[b] ? 1 : 0;
}

void st__preserved_strides(const st_tensor *t, int64_t *strides) {
  const int n = t->ndim;
  int perm[ST_MAX_DIMS];
  if (t->flags & ST_FLAG_DENSE) {
    memcpy(strides, t->strides, (size_t)n * sizeof *strides);
    return;
  }
  for (int i = 0; i < n; i++) perm[i] = n - 1 - i;
  /* An insertion sort that skips unknown pairs. The relation is not transitive,
   * so the result depends on the exact sequence of comparisons. */
  for (int i = 1; i < n; i++) {
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      const int order = compare_dims(t, perm[j], perm[at]);
      if (order < 0) break;
      if (order > 0) {
        const int d = perm[j];
        perm[j] = perm[at];
        perm[at] = d;
        at = j;
      }
    }
  }
  int64_t step = 1;
  for (int i = 0; i < n; i++) {
    strides[perm[i]] = step;
    if (t->sizes[perm[i]] > 1) step *= t->sizes[perm[i]];
  }
}
