/* Copies of elements of one size, without conversion. dtype_conversion.c
 * includes this file once per size, after defining NAME(f): f with the size at
 * its end.
 */

#define BITS NAME(st_bits)
#define SIZE ((int64_t)sizeof(BITS))

/* Reverses rows (step -1) or repeats their first element (step 0) by blocks of
 * w elements, a constant. The last block overlaps the one before it, so a row
 * of any length from w on has no rest. */
static inline __attribute__((always_inline))
void NAME(copy_blocks)(char **data, const int64_t *s, int64_t n0, int64_t n1,
                       int64_t step, int64_t w) {
  for (int64_t j = 0; j < n1; j++) {
    BITS *to = (BITS *)(data[0] + j * s[2]);
    const BITS *from = (const BITS *)(data[1] + j * s[3]), first = from[0];
    for (int64_t i = 0; i < n0; i += w) {
      if (i > n0 - w) i = n0 - w;
      if (step == 0) ST_SIMD_FOR(k, w) to[i + k] = first;
      else ST_SIMD_FOR(k, w) to[i + k] = from[-i - k];
    }
  }
}

static inline __attribute__((always_inline))
void NAME(copy_by_blocks)(char **data, const int64_t *s, int64_t n0,
                          int64_t n1, int64_t step) {
  if (n0 * SIZE >= 64) {
    NAME(copy_blocks)(data, s, n0, n1, step, 64 / SIZE);
  } else if (n0 >= 32 && SIZE == 1) {
    NAME(copy_blocks)(data, s, n0, n1, step, 32);
  } else if (n0 >= 16 && SIZE <= 2) {
    NAME(copy_blocks)(data, s, n0, n1, step, 16);
  } else if (n0 >= 8 && SIZE <= 4) {
    NAME(copy_blocks)(data, s, n0, n1, step, 8);
  } else {
    NAME(copy_blocks)(data, s, n0, n1, step, 4);
  }
}

/* Rows of two or three elements are walked down the columns. The rest of a
 * long row does not count. An element of 16 bytes is not one store, and is
 * written once. */
static bool NAME(uses_blocks)(const int64_t *s, int64_t n0) {
  return s[0] == SIZE && SIZE < 16 && n0 >= 4 &&
         (s[1] == -SIZE || (s[1] == 0 && n0 * SIZE < 1024));
}

static void NAME(copy_rows_by_blocks)(char **data, const int64_t *s,
                                      int64_t n0, int64_t n1) {
  if (s[1] == 0) NAME(copy_by_blocks)(data, s, n0, n1, 0);
  else NAME(copy_by_blocks)(data, s, n0, n1, -1);
}

static bool NAME(copy_steps)(char **data, const int64_t *s, int64_t n0,
                             int64_t n1) {
  if (NAME(uses_blocks)(s, n0)) {
    NAME(copy_rows_by_blocks)(data, s, n0, n1);
    return true;
  }
  if (s[0] != SIZE || s[1] % SIZE != 0 || n0 < 8) return false;
  for (int64_t j = 0; j < n1; j++) {
    BITS *to = (BITS *)(data[0] + j * s[2]);
    const BITS *from = (const BITS *)(data[1] + j * s[3]);
    if (!NAME(st_copy_step)(to, from, n0, s[1] / SIZE)) return false;
  }
  return true;
}

/* Writes rows of k elements, as when colour planes become pixels; element i of
 * a row comes from array f[i]. See Note [Constant strides]. */
static void NAME(copy_interleave)(BITS *to, const BITS *const *f, int64_t n,
                                  int64_t k) {
  const BITS *f0 = f[0], *f1 = f[1], *f2 = f[2], *f3 = f[3];
  if (k == 2) {
    ST_SIMD_FOR(i, n) to[2 * i] = f0[i], to[2 * i + 1] = f1[i];
  } else if (k == 3) {
    ST_SIMD_FOR(i, n) to[3 * i] = f0[i], to[3 * i + 1] = f1[i],
                  to[3 * i + 2] = f2[i];
  } else {
    ST_SIMD_FOR(i, n) to[4 * i] = f0[i], to[4 * i + 1] = f1[i],
                  to[4 * i + 2] = f2[i], to[4 * i + 3] = f3[i];
  }
}

static void NAME(copy_interleaves)(char **data, const int64_t *s, int64_t n0,
                                   int64_t n1) {
  const BITS *f[4] = {NULL, NULL, NULL, NULL};
  for (int64_t c = 0; c < n0; c++) f[c] = (const BITS *)(data[1] + c * s[1]);
  NAME(copy_interleave)((BITS *)data[0], f, n1, n0);
}

/* The inner loop runs down the columns if the rows are short. */
static void NAME(copy_bits)(char **data, const st_tile *to,
                            const st_tile *from) {
  const bool swap = to->m0 < to->m1 && to->m0 < 16;
  const int64_t n0 = swap ? to->m1 : to->m0, n1 = swap ? to->m0 : to->m1;
  const int64_t t0 = swap ? to->s1 : to->s0, t1 = swap ? to->s0 : to->s1;
  const int64_t f0 = swap ? from->s1 : from->s0;
  const int64_t f1 = swap ? from->s0 : from->s1;
  for (int64_t j = 0; j < n1; j++) {
    char *t = data[0] + j * t1;
    const char *f = data[1] + j * f1;
    for (int64_t i = 0; i < n0; i++, t += t0, f += f0) {
      *(BITS *)t = *(const BITS *)f;
    }
  }
}

static ST_LOOP_FN(NAME(same_), s) {
  const st_tile to = {s[0], s[2], n0, n1}, from = {s[1], s[3], n0, n1};
  if (st_is_dense(&to, SIZE) && st_is_dense(&from, SIZE)) {
    copy_rows(data, s, 1, (size_t)(n0 * n1 * SIZE));
  } else if (st_has_rows(&to, SIZE) && s[1] == SIZE) {
    copy_rows(data, s, n1, (size_t)n0 * SIZE);
  } else if (is_interleaved(s, n0, n1, SIZE)) {
    NAME(copy_interleaves)(data, s, n0, n1);
  } else if (!NAME(copy_steps)(data, s, n0, n1)) {
    NAME(copy_bits)(data, &to, &from);
  }
}

#undef NAME
#undef BITS
#undef SIZE
