/* Lines of pairs P, whose keys are a K; included for each. NAME(f) is the name
 * of a function of them. Part of sort.c.
 */

/* Pairs of n keys with consecutive indices from `at` on. Like order_, which is
 * as rare, it is not inlined into the loop over a line's blocks, so that the
 * loop keeps its registers. */
static __attribute__((noinline)) void NAME(pairs)(P *a, const K *key,
                                                  int64_t at, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    a[k].key = key[k];
    a[k].at = (__typeof__(a->at))(at + k);
  }
}

/* Appends the pairs whose key is below limit to the m pairs in a and returns
 * the new m. The first loop is vectorised; most blocks end after it. */
static int64_t NAME(admit)(P *a, int64_t m, const K *key, int64_t at,
                           int64_t n, K limit) {
  int below = 0;
  for (int64_t k = 0; k < n; k++) below |= key[k] < limit;
  for (int64_t k = 0; below && k < n; k++) {
    a[m].key = key[k];
    a[m].at = (__typeof__(a->at))(at + k);
    m += key[k] < limit;
  }
  return m;
}

/* Selects and sorts the k least pairs. A full buffer is sorted and truncated
 * to k pairs; from then on only keys below the k-th are appended. The buffers
 * have room for 2k + 2 BLOCK pairs. With k = n the whole line is sorted. */
static P *NAME(filter)(P *a, P *b, const line *w, NAME(keys) keys, K flip,
                       int64_t k) {
  int64_t m = 0;
  K key[BLOCK], limit = 0;
  for (int64_t i = 0, n, full = 0; i < w->n; i += n) {
    if (st__stops_at(i)) return NULL;
    n = w->n - i < BLOCK ? w->n - i : BLOCK;
    keys(key, w->in + i * w->step[2], w->step[2], n, flip);
    if (full && n == BLOCK) m = NAME(admit)(a, m, key, i, BLOCK, limit);
    else if (full) m = NAME(admit)(a, m, key, i, n, limit);
    else NAME(pairs)(a + m, key, i, n), m += n;
    if (m < 2 * k + BLOCK && i + n < w->n) continue;
    P *sorted = !w->room ? NAME(order)(a, b, m)
                         : NAME(parts)(a, b, m, false, w->room) ? a : NULL;
    if (!sorted) return NULL;
    if (sorted == b) b = a, a = sorted;
    m = m < k ? m : k, full = m == k;
    limit = a[m - 1].key;
  }
  return a;
}

/* The first pair with the least key: which block has it is found in vectors,
 * then its place there; it may be gone if another thread writes the line. A
 * line of greatest keys has it first. */
static P *NAME(least)(P *a, const line *w, NAME(keys) keys, K flip) {
  int64_t from = 0, at = 0;
  K key[BLOCK], least = (K)-1;
  for (int64_t i = 0, n; i < w->n; i += n) {
    K low = least;
    if (st__stops_at(i)) return NULL;
    n = w->n - i < BLOCK ? w->n - i : BLOCK;
    keys(key, w->in + i * w->step[2], w->step[2], n, flip);
    for (int64_t k = 0; k < n; k++) low = key[k] < low ? key[k] : low;
    if (low < least) from = i, least = low;
  }
  const int64_t n = w->n - from < BLOCK ? w->n - from : BLOCK;
  keys(key, w->in + from * w->step[2], w->step[2], n, flip);
  while (at < n - 1 && key[at] != least) at++;
  NAME(pairs)(a, key + at, from + at, 1);
  return a;
}

/* The same in a sorted line; NaNs have the greatest key and are last. */
static int64_t NAME(median)(const P *a, const line *w, bool has_nan,
                            bool skip_nan) {
  int64_t i = w->n;
  while (has_nan && i > 0 && a[i - 1].key == (K)-1) {
    if (st__stops_at(i)) break;
    i--;
  }
  return median_rank(w->n, i, skip_nan);
}

/* The number of elements that are not NaN. */
static int64_t NAME(numbers)(const line *w, NAME(keys) keys) {
  int64_t m = 0;
  K key[COUNTED];
  for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {
    n = w->n - i < COUNTED ? w->n - i : COUNTED;
    keys(key, w->in + i * w->step[2], w->step[2], n, 0);
    int numbers = 0;
    for (int64_t k = 0; k < n; k++) numbers += key[k] != (K)-1;
    m += numbers;
  }
  return m;
}

/* Appends the pairs whose key is in [least, least + span] to the m pairs in a,
 * adds the number of lesser keys to *below, and returns the new m. */
static int64_t NAME(between)(P *a, int64_t m, const K *key, int64_t at,
                             int64_t n, const K bounds[2],
                             int64_t *below) {
  const K least = bounds[0], span = bounds[1] - bounds[0];
  int less = 0;
  for (int64_t k = 0; k < n; k++) less += key[k] < least;
  *below += less;
  for (int64_t k = 0; k < n; k++) {
    a[m].key = key[k];
    a[m].at = (__typeof__(a->at))(at + k);
    m += (K)(key[k] - least) <= span;
  }
  return m;
}

/* Adds the numbers of keys below and equal to `same`. */
static void NAME(compare)(const K *key, int64_t n, K same, int64_t *less,
                          int64_t *equal) {
  int below = 0, at = 0;
  for (int64_t k = 0; k < n; k++) {
    below += key[k] < same, at += key[k] == same;
  }
  *less += below, *equal += at;
}

/* The same for a line, up to its element that has the key and `rank` equal ones
 * before it. Returns the index of that element, or n. */
static int64_t NAME(find_equal)(const line *w, NAME(keys) keys, K flip,
                                K same, int64_t rank, int64_t found[2]) {
  K key[COUNTED];
  for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {
    int64_t at = found[1];
    n = w->n - i < COUNTED ? w->n - i : COUNTED;
    keys(key, w->in + i * w->step[2], w->step[2], n, flip);
    NAME(compare)(key, n, same, &found[0], &found[1]);
    for (int64_t k = 0; found[1] > rank && k < n; k++) {
      if (key[k] == same && at++ == rank) return i + k;
    }
  }
  return w->n;
}

/* The pair of this rank, or NULL if it is not among those that are sorted. A
 * sorted sample tells between which keys it probably is; these are sorted. If
 * the sample has many keys equal to the one at that rank, they are counted
 * first: the pair is the one of them that has this rank, or is on one side. */
static const P *NAME(select)(P *a, P *b, const line *w, NAME(keys) keys,
                             K flip, int64_t rank) {
  const bool is_long = w->n > MANY_SELECT;
  const int64_t s = is_long ? 1024 : 128, slack = is_long ? 48 : 16;
  const int64_t apart = w->n / s, mid = rank * s / w->n;
  const int64_t step = w->step[2];
  int64_t below = 0, m = 0;
  K key[BLOCK], bounds[2];
  for (int64_t i = 0; i < s; i += BLOCK) {
    keys(key, w->in + i * apart * step, apart * step, BLOCK, flip);
    NAME(pairs)(a + i, key, i, BLOCK);
  }
  const P *found = NAME(order)(a, b, s);
  if (!found) return NULL;
  bounds[0] = mid < slack ? 0 : found[mid - slack].key;
  bounds[1] = mid + slack < s ? found[mid + slack].key : (K)-1;
  const K same = found[mid].key;
  if (same == bounds[0] || same == bounds[1]) {
    int64_t count[2] = {0, 0};
    NAME(find_equal)(w, keys, flip, same, w->n, count);
    const int64_t nth = rank - count[0];
    if (nth >= 0 && nth < count[1]) {
      count[1] = 0;
      const int64_t at = NAME(find_equal)(w, keys, flip, same, nth, count);
      if (at == w->n) return NULL;
      a->key = same, a->at = (__typeof__(a->at))at;
      return a;
    }
    bounds[nth < 0] = nth < 0 ? same - 1 : same + 1;
    if (bounds[0] > bounds[1]) return NULL;
  }
  for (int64_t i = 0, n; i < w->n; i += n) {
    if (st__stops_at(i)) return NULL;
    n = w->n - i < BLOCK ? w->n - i : BLOCK;
    keys(key, w->in + i * step, step, n, flip);
    m = NAME(between)(a, m, key, i, n, bounds, &below);
  }
  if (rank < below || rank >= below + m) return NULL;
  found = NAME(order)(a, b, m);
  return found ? found + (rank - below) : NULL;
}

/* Sorted index of the last element of the longest run of equal keys. */
static int64_t NAME(mode)(const P *a, int64_t n, bool has_nan) {
  int64_t at = 0, longest = 0, run = 0;
  for (int64_t i = 0; i < n && !st__stops_at(i); i++) {
    run++;
    if (i + 1 < n && a[i].key == a[i + 1].key &&
        !(has_nan && a[i].key == (K)-1)) {
      continue;
    }
    if (run > longest) longest = run, at = i;
    run = 0;
  }
  return at;
}

#define PUT(T)                                                              \
  static void NAME(put_##T)(const line *w, const P *a, int64_t n) {         \
    const T *in = (const T *)w->in;                                         \
    if (w->step[0] == sizeof(T) && w->step[2] == sizeof(T)) {               \
      T *to = (T *)w->values;                                               \
      for (int64_t i = 0; i < n; i++) to[i] = in[a[i].at];                  \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++)                                       \
        *(T *)(w->values + i * w->step[0]) =                                \
          *(const T *)(w->in + (int64_t)a[i].at * w->step[2]); } }

PUT(uint8_t)
PUT(uint16_t)
PUT(uint32_t)
PUT(uint64_t)

/* Writes the elements of n pairs, and their indices, which may be in the same
 * place as the pairs. */
static void NAME(put_values)(const line *w, const P *a, int64_t n) {
  switch (w->size) {
    case 1: NAME(put_uint8_t)(w, a, n); break;
    case 2: NAME(put_uint16_t)(w, a, n); break;
    case 4: NAME(put_uint32_t)(w, a, n); break;
    default: NAME(put_uint64_t)(w, a, n);
  }
}

static void NAME(put_indices)(const line *w, const P *a, int64_t n,
                              int64_t base) {
  int64_t at[BLOCK];
  for (int64_t i = 0, m; i < n; i += m) {
    m = n - i < BLOCK ? n - i : BLOCK;
    for (int64_t k = 0; k < m; k++) at[k] = (int64_t)a[i + k].at + base;
    if (w->step[1] == sizeof *at) {
      memcpy(w->indices + i * w->step[1], at, (size_t)m * sizeof *at);
      continue;
    }
    for (int64_t k = 0; k < m; k++) {
      *(int64_t *)(w->indices + (i + k) * w->step[1]) = at[k];
    }
  }
}

/* Writes what is asked for of a sorted line. `values` is NULL or writes the
 * elements that have no gap between them. */
static void NAME(finish)(const line *w, const P *a, bool has_nan,
                         NAME(values) values, const st_sort *o) {
  const bool from_keys = values && w->step[0] == w->size;
  const int64_t from =
    o->median ? NAME(median)(a, w, has_nan, o->skip_nan)
              : o->mode ? NAME(mode)(a, w->n, has_nan) : o->first;
  line part = *w;
  for (int64_t i = 0, to; i < o->k && !st__stops_at(i); i = to) {
    const P *p = a + from + i;
    to = st__period_end(i, o->k);
    if (w->values) {
      part.values = w->values + i * w->step[0];
      if (from_keys) values(&part, p, to - i, o->descending ? (K)-1 : 0);
      else NAME(put_values)(&part, p, to - i);
    }
    if (w->indices) {
      part.indices = w->indices + i * w->step[1];
      NAME(put_indices)(&part, p, to - i, o->base);
    }
  }
}

/* Writes the one element that is asked for; false if it was not found. Short
 * lines of integers, which often are in a small range, are sorted faster. */
static bool NAME(one)(const line *w, NAME(keys) keys, bool has_nan,
                      const st_sort *o) {
  if (w->n <= (has_nan ? SELECTED : MANY_SELECT)) return false;
  P *a = (P *)o->scratch;
  const int64_t rank = !o->median ? o->first : median_rank(
    w->n, has_nan ? NAME(numbers)(w, keys) : w->n, o->skip_nan);
  const P *found = NAME(select)(a, a + w->n, w, keys,
                                o->descending ? (K)-1 : 0, rank);
  if (found && w->values) NAME(put_values)(w, found, 1);
  if (found && w->indices) NAME(put_indices)(w, found, 1, o->base);
  return found != NULL;
}

static void NAME(line)(const line *w, NAME(keys) keys, NAME(values) values,
                       bool has_nan, const st_sort *o) {
  const K flip = o->descending ? (K)-1 : 0;
  const int64_t few = o->first + o->k;
  const bool all = o->median || o->mode || 4 * few + 4 * BLOCK > w->n;
  P *a = (P *)(o->scratch + (w->room ? sizeof *w->room : 0));
  P *b = o->in_indices ? (P *)(void *)w->indices : a + w->n;
  if (all && o->k == 1 && !o->mode && NAME(one)(w, keys, has_nan, o)) return;
  if (all) a = NAME(filter)(a, b, w, keys, flip, w->n);
  else if (few == 1) a = NAME(least)(a, w, keys, flip);
  else a = NAME(filter)(a, b, w, keys, flip, few);
  if (a) NAME(finish)(w, a, has_nan, values, o);
}

/* -- Groups of short lines ------------------------------------------------ */

/* Lanes without a line get a copy of the first. */
static void NAME(load)(const group *g, NAME(keys) keys, K flip) {
  const line *w = &g->first;
  K key[ST_SHORT_LINE];
  if (w->n <= 8 || g->across[2] == w->size) {
    for (int64_t i = 0; i < w->n; i++) {
      uint64_t *to = g->word + i * g->lanes;
      keys(key, w->in + i * w->step[2], g->across[2], g->lines, flip);
      for (int64_t l = 0; l < g->lines; l++) to[l] = NAME(WORD)(key[l], i);
    }
  } else {
    for (int64_t l = 0; l < g->lines; l++) {
      keys(key, w->in + l * g->across[2], w->step[2], w->n, flip);
      for (int64_t i = 0; i < w->n; i++) {
        g->word[i * g->lanes + l] = NAME(WORD)(key[i], i);
      }
    }
  }
  for (int64_t i = 0; g->lines < g->lanes && i < w->n; i++) {
    for (int64_t l = g->lines; l < g->lanes; l++) {
      g->word[i * g->lanes + l] = g->word[i * g->lanes];
    }
  }
}

static void NAME(group)(group *g, NAME(keys) keys, bool has_nan,
                        const st_sort *o) {
  line w = g->first;
  const bool one = o->median || o->mode;
  NAME(load)(g, keys, o->descending ? (K)-1 : 0);
  NAME(index_words)(g);
  run_network(g->word, g->index == g->word ? NULL : g->index, w.n,
              one ? w.n : o->first + o->k, g->lanes);
  if (!one) {
    put_group(g, o);
    return;
  }
  P *a = (P *)(g->word + w.n * g->lanes * (int64_t)sizeof(K) / 4);
  for (int64_t l = 0; l < g->lines; l++) {
    for (int64_t i = 0; i < w.n; i++) {
      const int64_t at = i * g->lanes + l;
      a[i].key = (K)((g->word[at] >> g->shift) + g->least);
      a[i].at = (__typeof__(a->at))(g->index[at] & g->mask);
    }
    NAME(finish)(&w, a, has_nan, NULL, o);
    w.values = w.values ? w.values + g->across[0] : NULL;
    w.indices = w.indices ? w.indices + g->across[1] : NULL;
    w.in += g->across[2];
  }
}

#undef PUT
#undef NAME
#undef P
#undef K
