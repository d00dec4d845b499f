/* Products of a vector and a matrix of few rows whose columns are adjacent: a
 * vector holds elements of several columns. Included by mv_template.h.
 */

#ifndef WIDEN
/* -- Up to eight rows ------------------------------------------------------ */

/* The elements of x for vector v of LANES columns of m elements each. */
INLINE V N(spread)(const char *x, const int v, const int m) {
  typedef INT indices __attribute__((vector_size(BYTES)));
  const T *by = (const T *)(const void *)x;
  const int first = v * NUMBERS / m, end = (v * NUMBERS + NUMBERS - 1) / m + 1;
  V elements = by[first] - (V){0};
  UNROLL for (int i = first + 1; i < end; i++) {
    const V next = by[i] - (V){0};
    indices is_next;
    UNROLL for (int e = 0; e < NUMBERS; e++) {
      is_next[e] = -(e >= i * m - v * NUMBERS);
    }
    elements = (V)(((indices)next & is_next) |
                   ((indices)elements & ~is_next));
  }
  return elements;
}

/* Sums of m rows whose columns are adjacent. Element e of LANES columns is in
 * row e % m and belongs to partial sum e / m: m lines hold them all. Zeros fill
 * up the last columns. */
INLINE void N(sum_adjacent)(T *out, const char *a, const char *x, int64_t k,
                            const int m) {
  const int vectors = m * VECTORS;
  const int64_t left = k % LANES;
  T block[MOST_ADJACENT * LANES] = {0}, last[LANES] = {0};
  V sum[MOST_ADJACENT * VECTORS];
  memcpy(block, a + (k - left) * m * SIZE, (size_t)(left * m * SIZE));
  memcpy(last, x + (k - left) * SIZE, (size_t)(left * SIZE));
  UNROLL for (int v = 0; v < vectors; v++) sum[v] = (V){0};
  for (int64_t i = 0; i < k && !st__stops_at(i);) {
    const bool is_last = i + LANES > k;
    const int64_t to = is_last ? i + 1 : st__period_end(i, k - left);
    if (is_last) {
      a = (const char *)block;
      x = (const char *)last;
    }
    for (; i < to; i += LANES, x += LANES * SIZE) {
      UNROLL for (int v = 0; v < vectors; v++, a += BYTES) {
        sum[v] += *(const V *)(const void *)a * N(spread)(x, v, m);
      }
    }
  }
  memcpy(block, sum, (size_t)vectors * BYTES);
  N(halve)(block, LANES, m);
  memcpy(out, block, (size_t)m * sizeof(T));
}

#define ADJACENT(m) case m: N(sum_adjacent)(sum, data[1], data[2], k, m); break;

static void N(by_fewest_rows)(char **data, const int64_t *st, int64_t k,
                              int64_t m, const N(scale) *s) {
  T sum[MOST_ADJACENT];
  switch (m) {
    ADJACENT(2) ADJACENT(3) ADJACENT(4) ADJACENT(5) ADJACENT(6) ADJACENT(7)
    ADJACENT(8)
    default: return;
  }
  if (st__stops()) return;
  for (int64_t r = 0; r < m; r++) N(store)(data[0] + r * st[3], sum + r, s);
}

#undef ADJACENT
#endif

/* -- Few rows ------------------------------------------------------------- */

/* The element of x that each number of LANES columns of m rows is multiplied
 * by. These numbers are m lines. Of vector v the elements are x[first[v] + i],
 * for each index i in which[v]. */
typedef struct N(places) {
  V which[MOST_FEW * VECTORS];
  int64_t first[MOST_FEW * VECTORS];
} N(places);

static void N(find_places)(N(places) *to, int64_t m) {
  INT *const which = (INT *)(void *)to->which;
  int64_t column = 0, row = 0, first = 0;
  for (int64_t i = 0; i < m * LANES; i++) {
    if (i % NUMBERS == 0) first = to->first[i / NUMBERS] = column;
    which[i] = (INT)(column - first);
    if (++row < m) continue;
    row = 0;
    column++;
  }
}

/* Adds the products of some blocks of LANES columns; fetches the next ones. */
INLINE void N(add_blocks)(V *sum, const char *a, const char *x,
                          const N(places) *at, int64_t m, const int blocks) {
  const int64_t next = m * LANES * A_SIZE;
  for (int64_t v = 0; v < m * VECTORS; v++, a += A_BYTES) {
    const char *by = x + at->first[v] * SIZE;
    V s = sum[v];
    UNROLL for (int b = 0; b < blocks; b++, by += LINE) {
      __builtin_prefetch(a + (b + blocks) * next, 0, 3);
      s += N(get)(a + b * next, NUMBERS) *
           F(PICK)(*(const V *)(const void *)by, at->which[v]);
    }
    sum[v] = s;
  }
}

/* Adds those of the last k columns, fewer than 5 LANES. */
static void N(add_last)(V *sum, const char *a, const char *x,
                        const N(places) *at, int64_t k, int64_t m) {
  char block[MOST_FEW * LANES * A_SIZE] = {0}, last[6 * LINE] = {0};
  memcpy(last, x, (size_t)(k * SIZE));
  for (int64_t i = 0; i < k; i += LANES, a += m * LANES * A_SIZE) {
    const int64_t left = (k - i) * m * A_SIZE;
    if (k - i < LANES) a = memcpy(block, a, (size_t)left);
    N(add_blocks)(sum, a, last + i * SIZE, at, m, 1);
  }
}

/* The sums of m rows whose columns are adjacent: their partial sums are in
 * memory, in the order of the elements of LANES columns. */
static void N(by_few_rows)(char **data, const int64_t *st, int64_t k, int64_t m,
                           const N(scale) *s) {
  N(places) at;
  V sum[MOST_FEW * VECTORS];
  T part[MOST_FEW * LANES];
  const char *a = data[1], *x = data[2];
  const int64_t end = k - 5 * LANES + 1, block = m * LANES * A_SIZE;
  int64_t i = 0;
  N(find_places)(&at, m);
  memset(sum, 0, (size_t)(m * LINE));
  while (i < end && !st__stops_at(i)) {
    for (const int64_t to = st__period_end(i, end); i < to; i += 4 * LANES) {
      N(add_blocks)(sum, a, x, &at, m, 4);
      a += 4 * block;
      x += 4 * LINE;
    }
  }
  if (st__stops()) return;
  N(add_last)(sum, a, x, &at, k - i, m);
  memcpy(part, sum, (size_t)(m * LINE));
  N(halve_lanes)(part, m);
  for (int64_t r = 0; r < m; r++) N(store)(data[0] + r * st[3], part + r, s);
}

/* False if columns are not adjacent, or others are as fast. */
static bool N(by_adjacent)(char **data, const int64_t *st, int64_t k, int64_t m,
                           const N(scale) *s) {
  if (m < 2 || m > MOST_FEW || st[1] != m * A_SIZE) return false;
#ifndef WIDEN
  if (m <= MOST_ADJACENT && k > NARROW) {
    N(by_fewest_rows)(data, st, k, m, s);
    return true;
  }
#endif
  if (k < LONG * A_SIZE / SIZE || m % LANES == 0) return false;
  N(by_few_rows)(data, st, k, m, s);
  return true;
}
