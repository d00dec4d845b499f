/* Sorting pairs of key and index, stably by key. Included by sort.c once per
 * type P of pairs, after defining
 *
 *   NAME(f)  f, with a suffix for P
 *   K        the type of a key
 *   RANK     the most pairs that are sorted by rank
 *   MANY     pairs of a long line
 */

/* Sorts few pairs: the number of smaller keys is a pair's place, behind those
 * with an equal key before it. The inner loop is vectorised; its length is a
 * multiple of LANES, and what it does to places behind the n-th is not read. */
static void NAME(rank)(const P *a, P *b, int64_t n) {
  _Alignas(64) K key[RANK + LANES], place[RANK + LANES];
  uint8_t before[RANK] = {0};
  const int64_t m = (n + LANES - 1) / LANES * LANES;
  for (int64_t i = 0; i < n; i++) key[i] = a[i].key;
  for (int64_t i = n; i < m; i++) key[i] = 0;
  memset(place, 0, (size_t)m * sizeof *place);
  for (int64_t j = 0; j < n; j++) {
    const K k = key[j];
    for (int64_t i = 0; i < m; i += LANES) {
      for (int64_t l = 0; l < LANES; l++) place[i + l] += k < key[i + l];
    }
  }
  for (int64_t i = 0; i < n; i++) b[place[i] + before[place[i]]++] = a[i];
}

/* Sorts by the digit of key - from at bit `shift`. False if told to stop. */
static bool NAME(pass)(const P *a, P *b, int64_t n, K from, int shift,
                       int digit) {
  const K mask = ((K)1 << digit) - 1;
  uint32_t at[BUCKETS], sum = 0;
  int64_t i = 0;
  memset(at, 0, (size_t)(mask + 1) * sizeof *at);
  while (i < n && !st__stops_at(i)) {
    for (const int64_t to = st__period_end(i, n); i < to; i++) {
      at[(a[i].key - from) >> shift & mask]++;
    }
  }
  if (i < n) return false;
  for (K d = 0; d <= mask; d++) {
    const uint32_t count = at[d];
    at[d] = sum;
    sum += count;
  }
  for (i = 0; i < n && !st__stops_at(i);) {
    for (const int64_t to = st__period_end(i, n); i < to; i++) {
      b[at[(a[i].key - from) >> shift & mask]++] = a[i];
    }
  }
  return i == n;
}

/* Sorts pairs most of which are in order. False if that takes more than 2 n
 * steps, or if told to stop. */
static bool NAME(insert)(P *a, int64_t n) {
  int64_t left = 2 * n, i = 1;
  for (; i < n && left > 0 && !st__stops_at(i); i++) {
    if (a[i].key >= a[i - 1].key) continue;
    const P x = a[i];
    int64_t k = i;
    for (; k > 0 && x.key < a[k - 1].key; k--, left--) a[k] = a[k - 1];
    a[k] = x;
  }
  return i == n && left > 0;
}

/* Whether few different keys are equal in the bits from `shift` on, as a sample
 * of neighbours tells. */
static bool NAME(differ)(const P *a, int64_t n, K least, int shift) {
  int same = 0;
  for (int64_t k = 0; k < SAMPLE; k++) {
    const P *p = a + k * (n - 1) / SAMPLE;
    const K x = p[0].key - least, y = p[1].key - least;
    same += x != y && x >> shift == y >> shift;
  }
  return same < 2;
}

/* The number of bits of x. */
static int NAME(width)(K x) {
  int bits = 0;
  for (; x; x >>= 1) bits++;
  return bits;
}

/* Radix sort from the least significant digit. Digits that all keys share are
 * skipped; keys in a small range, as those of integers, are sorted by their
 * distance from the least. The first digits of long keys are often enough to
 * bring them almost into order. */
static P *NAME(radix)(P *a, P *b, int64_t n) {
  K all = 0, common = (K)-1, least = (K)-1, most = 0;
  int64_t i = 0;
  P *t;
  while (i < n && !st__stops_at(i)) {
    for (const int64_t to = st__period_end(i, n); i < to; i++) {
      const K k = a[i].key;
      all |= k, common &= k;
      least = k < least ? k : least, most = k > most ? k : most;
    }
  }
  if (i < n) return NULL;
  const int digit = n < MANY ? 8 : DIGIT;
  const int width = NAME(width)(most - least);
  const int enough = (NAME(width)((K)n) + SPARE + digit - 1) / digit * digit;
  if (width > enough && NAME(differ)(a, n, least, width - enough)) {
    for (int shift = width - enough; shift < width; shift += digit) {
      if (!NAME(pass)(a, b, n, least, shift, digit)) return NULL;
      t = a, a = b, b = t;
    }
    if (NAME(insert)(a, n)) return a;
  }
  const bool is_narrow = most - least < (all & ~common) >> 8;
  const K from = is_narrow ? least : 0;
  const K differ = is_narrow ? (K)-1 : all & ~common;
  const K mask = ((K)1 << digit) - 1;
  for (int shift = 0; shift < 8 * (int)sizeof(K); shift += digit) {
    if ((most - from) >> shift == 0) break;
    if (!(differ >> shift & mask)) continue;
    if (!NAME(pass)(a, b, n, from, shift, digit)) return NULL;
    t = a, a = b, b = t;
  }
  return a;
}

static __attribute__((noinline)) P *NAME(order)(P *a, P *b, int64_t n) {
  if (n > RANK) return NAME(radix)(a, b, n);
  NAME(rank)(a, b, n);
  return b;
}

#undef NAME
#undef P
#undef K
#undef RANK
#undef MANY
