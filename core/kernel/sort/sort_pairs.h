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

/* Some bits of n keys: all that are 1 in one of them and those in each, the
 * least key and the greatest. */
typedef struct NAME(range) { K all, common, least, most; } NAME(range);

/* False if told to stop. */
static bool NAME(find_range)(const P *a, int64_t n, NAME(range) *to) {
  K all = 0, common = (K)-1, least = (K)-1, most = 0;
  int64_t i = 0;
  while (i < n && !st__stops_at(i)) {
    for (const int64_t end = st__period_end(i, n); i < end; i++) {
      const K k = a[i].key;
      all |= k, common &= k;
      least = k < least ? k : least, most = k > most ? k : most;
    }
  }
  *to = (NAME(range)){all, common, least, most};
  return i == n;
}

/* The bits of a digit of n keys of so many bits. More than 8 pay for few keys
 * only if they save every second or third pass. */
static int NAME(digit)(int64_t n, int width) {
  const int passes = (width + DIGIT - 1) / DIGIT, bytes = (width + 7) / 8;
  if (n >= MANY) return DIGIT;
  if (n < FEW || width == 0 || 3 * passes > 2 * bytes) return 8;
  return (width + passes - 1) / passes;
}

/* Radix sort from the least significant digit. Digits that all keys share are
 * skipped; keys in a small range, as those of integers, are sorted by their
 * distance from the least. The first digits of long keys are often enough to
 * bring them almost into order. */
static P *NAME(radix)(P *a, P *b, int64_t n) {
  NAME(range) r;
  P *t;
  if (!NAME(find_range)(a, n, &r)) return NULL;
  const K least = r.least, most = r.most, differing = r.all & ~r.common;
  const int width = NAME(width)(most - least);
  const int digit = NAME(digit)(n, width);
  const int enough = (NAME(width)((K)n) + SPARE + digit - 1) / digit * digit;
  if (width > enough && NAME(differ)(a, n, least, width - enough)) {
    for (int shift = width - enough; shift < width; shift += digit) {
      if (!NAME(pass)(a, b, n, least, shift, digit)) return NULL;
      t = a, a = b, b = t;
    }
    if (NAME(insert)(a, n)) return a;
  }
  const bool is_narrow = most - least < differing >> 8;
  const K from = is_narrow ? least : 0;
  const K differ = is_narrow ? (K)-1 : differing;
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

/* -- By parts ------------------------------------------------------------- */

/* Writes the pairs of a line that is not full, or begins before its bucket. */
static void NAME(flush)(P *b, const P *line, uint32_t first, uint32_t end,
                        uint32_t skew) {
  enum { EACH = ST_LINE / sizeof(P) };
  const uint32_t used = (end + skew) % EACH ? (end + skew) % EACH : EACH;
  const uint32_t from = end - first < used ? first : end - used;
  for (uint32_t k = from; k < end; k++) b[k] = line[(k + skew) % EACH];
}

/* Sorts by the bits of key - from at `shift` and above, at most DIGIT. False if
 * told to stop. */
static __attribute__((noinline)) bool NAME(scatter)(const P *a, P *b, int64_t n,
                                                    K from, int shift,
                                                    st_sort_room *r) {
  enum { EACH = ST_LINE / sizeof(P) };
  const uint32_t skew = (uint32_t)((uintptr_t)b / sizeof(P) % EACH);
  P (*const line)[EACH] = (P (*)[EACH])(void *)r->line;
  uint32_t sum = 0;
  int64_t i = 0;
  memset(r->end, 0, sizeof r->end);
  while (i < n && !st__stops_at(i)) {
    for (const int64_t to = st__period_end(i, n); i < to; i++) {
      r->end[(a[i].key - from) >> shift]++;
    }
  }
  if (i < n) return false;
  for (int d = 0; d < BUCKETS; d++) {
    const uint32_t count = r->end[d];
    r->first[d] = r->end[d] = sum;
    sum += count;
  }
  for (i = 0; i < n && !st__stops_at(i);) {
    for (const int64_t to = st__period_end(i, n); i < to; i++) {
      const K d = (a[i].key - from) >> shift;
      const uint32_t at = r->end[d]++, slot = (at + skew) % EACH;
      line[d][slot] = a[i];
      if (slot < EACH - 1) continue;
      if (at - r->first[d] < EACH - 1) {
        NAME(flush)(b, line[d], r->first[d], at + 1, skew);
      } else {
        st__stream_line((char *)(b + (at - (EACH - 1))), (char *)line[d]);
      }
    }
  }
  for (int d = 0; d < BUCKETS && i == n; d++) {
    if ((r->end[d] + skew) % EACH && r->end[d] > r->first[d]) {
      NAME(flush)(b, line[d], r->first[d], r->end[d], skew);
    }
  }
  st__fence_streams();
  return i == n;
}

/* The end of the pairs with the bits of the first one, of n that are sorted by
 * these bits. */
static int64_t NAME(end_of)(const P *a, int64_t n, K from, int shift) {
  const K d = (a->key - from) >> shift;
  int64_t low = 1, high = n;
  while (low < high) {
    const int64_t mid = low + (high - low) / 2;
    if ((a[mid].key - from) >> shift == d) low = mid + 1;
    else high = mid;
  }
  return low;
}

/* Sorts by the most significant digit, then parts that the cache holds: into b
 * or a. False if told to stop. */
static bool NAME(parts)(P *a, P *b, int64_t n, bool into_b,
                        st_sort_room *room) {
  const size_t bytes = (size_t)n * sizeof(P);
  P *const to = into_b ? b : a;
  NAME(range) r;
  if ((int64_t)bytes <= st__machine.sorted_part) {
    const P *sorted = NAME(order)(a, b, n);
    if (sorted && sorted != to) memcpy(to, sorted, bytes);
    return sorted != NULL;
  }
  if (!NAME(find_range)(a, n, &r)) return false;
  if (r.most == r.least) {
    if (into_b) memcpy(b, a, bytes);
    return true;
  }
  const int width = NAME(width)(r.most - r.least);
  const int shift = width > DIGIT ? width - DIGIT : 0;
  if (!NAME(scatter)(a, b, n, r.least, shift, room)) return false;
  if (shift == 0 && !into_b) memcpy(a, b, bytes);
  for (int64_t i = 0, m, unasked = 0; shift > 0 && i < n; i += m) {
    m = NAME(end_of)(b + i, n - i, r.least, shift);
    if (!NAME(parts)(b + i, a + i, m, !into_b, room)) return false;
    unasked += m;
    if (unasked < ST_PERIOD) continue;
    if (st__stops()) return false;
    unasked = 0;
  }
  return true;
}

#undef NAME
#undef P
#undef K
#undef RANK
#undef MANY
