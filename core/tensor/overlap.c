/* Exact tests for overlapping memory, by solving for indices of elements with
 * the same address.
 *
 * Note [Overlap as an equation]
 * The address of an element is base + s1 x1 + ... + sn xn, 0 <= xi < size i.
 * Two tensors overlap if two such sums are equal. If the indices of one are
 * counted from its end, all coefficients of the difference are positive:
 *
 *     c1 z1 + ... + cm zm = r,   0 <= zk <= uk
 *
 * Such a bounded linear Diophantine equation is as hard as subset sum, but
 * those of tensors are short and nearly always regular. Two terms that together
 * reach every multiple of the smaller coefficient are merged into one. The
 * remaining terms are searched depth first, the largest coefficient first, each
 * zk within the range that the later terms leave open, and in steps that their
 * gcd determines. The search is that of NumPy's solve_may_share_memory
 * (numpy/core/src/common/mem_overlap.c), whose comments explain why it is
 * sufficient in practice. The comment of `absorb` shows that merging is exact.
 *
 * No sum overflows: those of one tensor are below 2^63 (Note [Geometry that
 * cannot overflow]), so those of two fit in 64 bits.
 */

#include "tensor/overlap.h"

#include <stdlib.h>

#include "base/memory.h"
#include "tensor/subbyte.h"

/* -- The equation --------------------------------------------------------- */

typedef struct term { uint64_t c, u; } term; /* c z for 0 <= z <= u */

enum { MAX_TERMS = 2 * ST_MAX_DIMS + 1 };

typedef struct equation {
  int n, steps;
  term t[MAX_TERMS];
  uint64_t r;
  /* For the search, of the terms from k on: */
  uint64_t reach[MAX_TERMS + 1];  /* the largest sum */
  uint64_t gcd[MAX_TERMS + 1];
  uint64_t inverse[MAX_TERMS];    /* of ck / gcd[k] modulo gcd[k+1]/gcd[k] */
} equation;

typedef enum answer { NO, YES, UNKNOWN } answer;

/* Keeps the terms sorted by ascending coefficient. */
static void add_term(equation *e, uint64_t c, uint64_t u) {
  int at = e->n;
  if (u == 0) return;
  ST_ASSERT(c > 0 && e->n < MAX_TERMS);
  for (; at > 0 && e->t[at - 1].c > c; at--) e->t[at] = e->t[at - 1];
  e->t[at] = (term){c, u};
  e->n++;
}

/* Merges `other` into t if its coefficient is k times t's with k <= u + 1: then
 * the values z + k w of 0 <= z <= u and 0 <= w <= v are all integers from 0 to
 * u + k v, so the merged term has the same solutions. */
static bool absorb(term *t, const term *other) {
  const uint64_t k = other->c / t->c;
  if (other->c % t->c != 0 || k - 1 > t->u) return false;
  t->u += k * other->u;
  return true;
}

static void merge_terms(equation *e) {
  int n = 0;
  for (int i = 0; i < e->n; i++) {
    bool absorbed = false;
    for (int j = n - 1; j >= 0 && !absorbed; j--) {
      absorbed = absorb(&e->t[j], &e->t[i]);
    }
    if (!absorbed) e->t[n++] = e->t[i];
  }
  e->n = n;
}

static uint64_t gcd_of(uint64_t a, uint64_t b) {
  while (b) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* x with a x = 1 modulo m, for a and m coprime; 0 for m = 1. */
static uint64_t inverse_of(uint64_t a, uint64_t m) {
  int64_t r0 = (int64_t)m, r1 = (int64_t)(a % m), x0 = 0, x1 = 1;
  if (m == 1) return 0;
  while (r1 > 1) {
    const int64_t q = r0 / r1, r2 = r0 - q * r1, x2 = x0 - q * x1;
    r0 = r1, r1 = r2;
    x0 = x1, x1 = x2;
  }
  return (uint64_t)(x1 < 0 ? x1 + (int64_t)m : x1);
}

static uint64_t multiply_mod(uint64_t a, uint64_t b, uint64_t m) {
  __extension__ typedef unsigned __int128 wide;
  return (uint64_t)((wide)a * b % m);
}

/* -- The search ----------------------------------------------------------- */

/* Reverses the terms and fills reach, gcd and inverse from the end. */
static void prepare(equation *e) {
  for (int i = 0, j = e->n - 1; i < j; i++, j--) {
    const term t = e->t[i];
    e->t[i] = e->t[j];
    e->t[j] = t;
  }
  e->reach[e->n] = e->gcd[e->n] = 0;
  for (int k = e->n - 1; k >= 0; k--) {
    const uint64_t c = e->t[k].c, behind = e->gcd[k + 1];
    const uint64_t g = e->gcd[k] = gcd_of(c, behind);
    e->reach[k] = e->reach[k + 1] + c * e->t[k].u;
    e->inverse[k] = behind ? inverse_of(c / g, behind / g) : 0;
  }
  e->steps = ST_OVERLAP_STEPS;
}

/* Whether the terms from k on have a solution for r. The last two need no
 * search: any z that the loop of the last but one tries leaves a multiple of
 * the last coefficient that is within the last term's reach. */
static answer search(equation *e, int k, uint64_t r) {
  if (r > e->reach[k]) return NO;
  if (k == e->n) return YES;
  if (r % e->gcd[k] != 0) return NO;
  if (k == e->n - 1) return YES;
  const uint64_t c = e->t[k].c, behind = e->reach[k + 1];
  const uint64_t step = e->gcd[k + 1] / e->gcd[k];
  const uint64_t last = r / c < e->t[k].u ? r / c : e->t[k].u;
  uint64_t z = r > behind ? (r - behind - 1) / c + 1 : 0;
  const uint64_t want = multiply_mod(r / e->gcd[k], e->inverse[k], step);
  z += (want + step - z % step) % step;
  for (; z <= last; z += step) {
    if (e->steps-- == 0) return UNKNOWN;
    const answer a = search(e, k + 1, r - z * c);
    if (a != NO) return a;
    if (last - z < step) break;
  }
  return NO;
}

static answer solve(equation *e) {
  merge_terms(e);
  prepare(e);
  return search(e, 0, e->r);
}

/* -- Within one tensor ---------------------------------------------------- */

/* The dimensions with a size other than 1, by ascending stride. */
typedef struct dims { int n; term t[ST_MAX_DIMS]; } dims;

static void sort_dims(const st_tensor *t, dims *d) {
  d->n = 0;
  for (int i = 0; i < t->ndim; i++) {
    if (t->sizes[i] == 1) continue;
    const uint64_t stride = (uint64_t)t->strides[i];
    int at = d->n++;
    for (; at > 0 && d->t[at - 1].c > stride; at--) d->t[at] = d->t[at - 1];
    d->t[at] = (term){stride, (uint64_t)t->sizes[i] - 1};
  }
}

/* For two indices with the same address let k be the last dimension in which
 * they differ:
 *     sk dk = sum over j < k of sj ej,   1 <= dk <= uk,   -uj <= ej <= uj.
 * Counting dk from uk down and ej from -uj up gives the equation. */
static answer collides_along(const dims *d, int k, uint64_t below) {
  equation e;
  e.n = 0;
  for (int j = 0; j < k; j++) add_term(&e, d->t[j].c, 2 * d->t[j].u);
  add_term(&e, d->t[k].c, d->t[k].u - 1);
  e.r = d->t[k].c * d->t[k].u + below;
  return solve(&e);
}

static answer overlaps_itself(const st_tensor *t) {
  dims d;
  uint64_t below = 0;
  answer all = NO;
  if (t->flags & ST_FLAG_DENSE || t->numel == 0 || t->storage->layout) {
    return NO;
  }
  sort_dims(t, &d);
  if (d.n == 0) return NO;
  if (d.t[0].c == 0) return YES;
  for (int k = 0; k < d.n; k++) below += d.t[k].c * d.t[k].u;
  if ((uint64_t)t->numel - 1 > below) return YES; /* too few addresses */
  for (int k = d.n - 1; k > 0; k--) {
    below -= d.t[k].c * d.t[k].u;
    if (d.t[k].c > below) continue; /* k steps over all smaller dimensions */
    const answer a = collides_along(&d, k, below);
    if (a == YES) return YES;
    if (a == UNKNOWN) all = UNKNOWN;
  }
  return all;
}

static int compare_addresses(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Compares the addresses of all elements. */
static st_status compare_all(const st_tensor *t, bool *out) {
  int64_t at[ST_MAX_DIMS] = {0}, address = 0;
  const size_t bytes = (size_t)t->numel * sizeof address;
  int64_t *addresses = st__alloc(ST_MEM_SCRATCH, bytes);
  if (!addresses) return ST_NO_MEMORY;
  for (int64_t i = 0; i < t->numel; i++) {
    addresses[i] = address;
    for (int d = t->ndim - 1; d >= 0; d--) {
      address += t->strides[d];
      if (++at[d] < t->sizes[d]) break;
      address -= at[d] * t->strides[d];
      at[d] = 0;
    }
  }
  qsort(addresses, (size_t)t->numel, sizeof address, compare_addresses);
  *out = false;
  for (int64_t i = 1; i < t->numel && !*out; i++) {
    *out = addresses[i] == addresses[i - 1];
  }
  st__free(ST_MEM_SCRATCH, addresses, bytes);
  return ST_OK;
}

st_status st_tensor_overlaps_itself(const st_tensor *t, bool *out) {
  const answer a = overlaps_itself(t);
  *out = a != NO;
  if (a != UNKNOWN || t->numel > ST_OVERLAP_SORTED) return ST_OK;
  return compare_all(t, out);
}

/* -- Between two tensors -------------------------------------------------- */

/* The address of t's first byte, so that two storages of the same foreign
 * memory are compared; on the meta device an offset. */
static uint64_t first_byte(const st_tensor *t) {
  return (uint64_t)(uintptr_t)t->storage->data +
         st__bytes_of_elements((st_dtype)t->dtype, (uint64_t)t->offset);
}

/* The distance from the first element to the last, in elements. */
static uint64_t reach_of(const st_tensor *t) {
  uint64_t reach = 0;
  if (t->flags & ST_FLAG_DENSE) return (uint64_t)t->numel - 1;
  for (int d = 0; d < t->ndim; d++) {
    reach += (uint64_t)(t->sizes[d] - 1) * (uint64_t)t->strides[d];
  }
  return reach;
}

/* True if sizes and strides are equal, ignoring dimensions of size 1. */
static bool same_order(const st_tensor *a, const st_tensor *b) {
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a->ndim && a->sizes[i] == 1) i++;
    while (j < b->ndim && b->sizes[j] == 1) j++;
    if (i == a->ndim || j == b->ndim) return i == a->ndim && j == b->ndim;
    if (a->sizes[i] != b->sizes[j] || a->strides[i] != b->strides[j]) {
      return false;
    }
  }
}

static void add_dims(equation *e, const st_tensor *t, uint64_t unit) {
  for (int d = 0; d < t->ndim; d++) {
    if (t->sizes[d] == 1 || t->strides[d] == 0) continue;
    add_term(e, (uint64_t)t->strides[d] * unit, (uint64_t)t->sizes[d] - 1);
  }
}

/* Elements of equal size that are aligned to each other overlap as a whole. In
 * other cases their bytes are one more dimension. `distance` is from a's
 * first byte to b's last. */
static bool elements_overlap(const st_tensor *a, const st_tensor *b,
                             uint64_t distance) {
  const uint64_t x = st__itemsize(a->dtype);
  const uint64_t y = st__itemsize(b->dtype);
  const bool whole = x == y && (distance + 1) % x == 0;
  equation e;
  e.n = 0;
  add_dims(&e, a, whole ? 1 : x);
  add_dims(&e, b, whole ? 1 : y);
  if (!whole) add_term(&e, 1, x + y - 2);
  e.r = whole ? (distance + 1) / x - 1 : distance;
  return solve(&e) != NO;
}

/* Of layouts the storages are compared, of elements of fewer than eight bits
 * the ranges of bytes. */
static st_overlap unstrided_overlap(const st_tensor *a, const st_tensor *b) {
  if (a->storage->layout || b->storage->layout) {
    return a->storage == b->storage ? ST_OVERLAP_SAME : ST_OVERLAP_NO;
  }
  const uint64_t a0 = first_byte(a), b0 = first_byte(b);
  const size_t an = st__bytes_of_elements((st_dtype)a->dtype, reach_of(a) + 1);
  const size_t bn = st__bytes_of_elements((st_dtype)b->dtype, reach_of(b) + 1);
  if (a0 + an <= b0 || b0 + bn <= a0) return ST_OVERLAP_NO;
  return a0 == b0 && a->dtype == b->dtype && same_order(a, b)
         ? ST_OVERLAP_SAME : ST_OVERLAP_SOME;
}

st_overlap st__overlap_of(const st_tensor *a, const st_tensor *b) {
  if (a->numel == 0 || b->numel == 0 || a->device != b->device) {
    return ST_OVERLAP_NO;
  }
  if (a == b) return ST_OVERLAP_SAME;
  if (!st__is_strided(a) || !st__is_strided(b)) return unstrided_overlap(a, b);
  const uint64_t x = st__itemsize(a->dtype);
  const uint64_t y = st__itemsize(b->dtype);
  const uint64_t a0 = first_byte(a), a1 = a0 + reach_of(a) * x + x - 1;
  const uint64_t b0 = first_byte(b), b1 = b0 + reach_of(b) * y + y - 1;
  if (a1 < b0 || b1 < a0) return ST_OVERLAP_NO;
  if (a0 == b0 && a->dtype == b->dtype && same_order(a, b)) {
    return ST_OVERLAP_SAME;
  }
  if (a->flags & b->flags & ST_FLAG_DENSE) return ST_OVERLAP_SOME;
  return elements_overlap(a, b, b1 - a0) ? ST_OVERLAP_SOME : ST_OVERLAP_NO;
}

/* -- Checks --------------------------------------------------------------- */

st_status st__check_internal_overlap(const st_tensor *t) {
  bool overlaps;
  if (t->flags & ST_FLAG_DENSE) return ST_OK;
  ST_TRY(st_tensor_overlaps_itself(t, &overlaps));
  if (!overlaps) return ST_OK;
  return st__fail(ST_OVERLAP, "the tensor to be written, shape %s, strides "
                  "%s, has several elements in one place; clone it first",
                  ST_SHAPE_TEXT(t),
                  st__shape_text(t->ndim, t->strides, (char[160]){0}, 160));
}

st_status st__check_no_overlap(const st_tensor *out, const st_tensor *in) {
  return st__overlap(out, in) == ST_OVERLAP_NO ? ST_OK
    : st__fail(ST_OVERLAP, "the tensor to be written, shape %s, shares "
               "memory with another operand, shape %s; clone one of them "
               "first", ST_SHAPE_TEXT(out), ST_SHAPE_TEXT(in));
}
