/* The kernel find for one dtype: its bodies, and its loop NAME. Included with
 * the parameters T, the type; NAME, default: find_T; and LOAD(x), default: x.
 */

#ifndef NAME
#define NAME JOIN(find, T)
#endif
#ifndef LOAD
#define LOAD SAME
#endif

/* True if one of w elements matches; the compiler vectorises it. */
static ST_ALWAYS_INLINE bool JOIN(NAME, among)(const T *x, T r, const int w) {
  int hit = 0;
  if (IS_NAN(r)) {
#pragma omp simd reduction(|:hit)
    for (int l = 0; l < w; l++) hit |= IS_NAN(LOAD(x[l]));
  } else {
#pragma omp simd reduction(|:hit)
    for (int l = 0; l < w; l++) hit |= LOAD(x[l]) == r;
  }
  return hit;
}

/* Searches a row in blocks of 256 elements, then of 64 and 16. */
static void JOIN(NAME, row)(const span *p) {
  const T *x = (const T *)p->in;
  const T r = *(const T *)p->pivot;
  int64_t i = 0, n = p->n0;
  while (i + 256 <= n && !JOIN(NAME, among)(x + i, r, 256)) i += 256;
  while (i + 64 <= n && !JOIN(NAME, among)(x + i, r, 64)) i += 64;
  while (i + 16 <= n && !JOIN(NAME, among)(x + i, r, 16)) i += 16;
  while (i < n && !SAME_AS(LOAD(x[i]), r)) i++;
  *(int64_t *)p->acc = i < n ? p->start + i : ST_NO_INDEX;
}

/* Searches short rows, 16 elements at a time. They are compared as integers,
 * which compilers turn into vectors of bytes: an element matches if its bits
 * are in a range, without the sign if the pivot is a zero or a NaN. Matches
 * beyond the row do not count. */
static void JOIN(NAME, rows)(const span *p) {
  typedef JOIN(T, bits) bits;
  const T *r = (const T *)p->pivot;
  const int64_t n = p->n0;
  for (int64_t j = 0; j < p->n1; j++, r += p->more) {
    const bits *x = (const bits *)(p->in + j * p->skip);
    const JOIN(T, range) to = JOIN(T, range_of)(*r);
    int64_t at = n;
    for (int64_t i = 0; i < n && at >= n; i += 16) {
      uint8_t hit[16];
      for (int l = 0; l < 16; l++) {
        const bits u = LOAD(x[i + l]);
        hit[l] = (bits)((bits)(u & to.mask) - to.least) <= to.span;
      }
      at = i + first_hit(hit);
    }
    ((int64_t *)p->acc)[j] = at < n ? p->start + at : ST_NO_INDEX;
  }
}

/* Most blocks of outputs have no match. The others are vectorised, too. */
static void JOIN(NAME, next)(const span *p) {
  enum { WIDE = 32 };
  int64_t *restrict a = (int64_t *)p->acc;
  const T *r = (const T *)p->pivot, *x = (const T *)p->x[0];
  const int64_t n = p->n1, start = p->start;
  int64_t j = 0;
  for (int hit = 0; j + WIDE <= n; j += WIDE, hit = 0) {
    for (int l = 0; l < WIDE; l++) hit |= SAME_AS(LOAD(x[j + l]), r[j + l]);
    for (int l = 0; hit && l < WIDE; l++) {
      const bool same = SAME_AS(LOAD(x[j + l]), r[j + l]);
      const int64_t at = same ? start : ST_NO_INDEX;
      a[j + l] = at < a[j + l] ? at : a[j + l];
    }
  }
  for (; j < n; j++)
    if (SAME_AS(LOAD(x[j]), r[j]) && a[j] == ST_NO_INDEX) a[j] = start;
}

static void JOIN(NAME, first)(const span *p) {
  for (int64_t j = 0; j < p->n1; j++) ((int64_t *)p->acc)[j] = ST_NO_INDEX;
  JOIN(NAME, next)(p);
}

FIND_LOOP(NAME, LOAD_OF(T), sizeof(T), NAME, T)

#undef NAME
#undef T
#undef LOAD
