/* Sorting kernels: stable sort of lines with indices.
 *
 * Pairs of key (Note [Sorting keys]) and index are sorted; the values are then
 * written by key or gathered by index. Several short lines are sorted together
 * (Note [Sorting networks]), a single one by rank, in n^2 vectorised
 * comparisons, long ones by radix sort, those that the caches do not hold by
 * parts. One element of a long line is selected, the least by its key alone. A
 * sort that is told to stop returns NULL, and its line stays unwritten or half
 * written.
 *
 * Of the libraries that Debian packages, Highway's vqsort (libhwy 1.0.3) alone
 * sorts keys with positions. On an Intel Xeon with AVX-512, ns per pair, of
 * vqsort alone and of the whole of sort(), which also makes the keys and writes
 * the values and the indices:
 *
 *   pairs          1000  10000  100000  1e6   1e7
 *   32-bit keys     3.1    4.3     5.6   6.9   9.5
 *   sort, float32   6.2    6.4     6.6   8.3    19
 *   64-bit keys      11     16      21    26    32
 *   sort, int64     7.0    8.1      13    16    29
 *
 * It is a C++ class and takes less memory, not less time.
 */

#include "kernel/sort/sort.h"

#include "os/machine.h"
#include "base/threads.h"
#include "kernel/dtype_tables.h"
#include "kernel/sort/keys.h"
#include "kernel/sort/sorting_network.h"
#include "kernel/stream_line.h"

/* Most pairs that are sorted by rank, and most in each of several lines that
 * are sorted by a network. */
enum {
  RANK_pair32 = ST_BY_WIDTH(80, 128, 144),
  RANK_pair64 = ST_BY_WIDTH(32, 80, 128),
  NETWORK_pair32 = ST_BY_WIDTH(32, 192, ST_SHORT_LINE),
  NETWORK_pair64 = ST_BY_WIDTH(32, 80, 256)
};

enum {
  EXACT_pair32 = 192, EXACT_pair64 = 160, /* integers sorted by a network */
  LANES = 16,
  SELECTED = 256, /* in lines of which only some are wanted */
  DIGIT = 11, BUCKETS = ST_SORT_BUCKETS, /* digits of long lines */
  FEW = 512, /* pairs that are not worth long digits */
  SPARE = 12, /* bits more than n has, in which few of n keys are equal */
  SAMPLE = 16, /* pairs of keys */
  BLOCK = 64, COUNTED = 512, /* elements at a time */
  MANY_SELECT = 1 << 15 /* elements that are worth a large sample */
};

_Static_assert(BUCKETS == 1 << DIGIT, "a bucket for each digit");
_Static_assert(RANK_pair32 <= 256 && RANK_pair64 <= 256 &&
                 RANK_pair32 % LANES == 0 && RANK_pair64 % LANES == 0,
               "a rank has 8 bits, and lanes compare whole vectors");
_Static_assert(NETWORK_pair64 <= 256 && EXACT_pair64 <= 256 && SELECTED <= 256,
               "an index packed with a key of 64 bits has 8 bits");

typedef struct pair32 { uint32_t key, at; } pair32;
typedef struct pair64 { uint64_t key; int64_t at; } pair64;

/* -- Sorting pairs -------------------------------------------------------- */

#define NAME(f) f##_pair32
#define P pair32
#define K uint32_t
#define RANK RANK_pair32
#define MANY (1 << 16)
#include "kernel/sort/sort_pairs.h"

#define NAME(f) f##_pair64
#define P pair64
#define K uint64_t
#define RANK RANK_pair64
#define MANY (1 << 12)
#include "kernel/sort/sort_pairs.h"

/* -- Keys ----------------------------------------------------------------- */

/* Keys of n elements, step bytes apart; flip is all ones for descending
 * order, else 0. */
#define KEYS(s, T, K, E)                                                    \
  static void keys_##s(K *to, const char *p, int64_t step, int64_t n,       \
                       K flip) {                                            \
    if (step == sizeof(T)) {                                                \
      for (int64_t i = 0; i < n; i++) to[i] = E(((const T *)p)[i]) ^ flip;  \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++)                                       \
        to[i] = E(*(const T *)(p + i * step)) ^ flip; } }

KEYS(u8, uint8_t, uint32_t, UNSIGNED)
KEYS(b8, uint8_t, uint32_t, TRUTH)
KEYS(i8, int8_t, uint32_t, SIGNED32)
KEYS(i16, int16_t, uint32_t, SIGNED32)
KEYS(i32, int32_t, uint32_t, SIGNED32)
KEYS(f16, uint16_t, uint32_t, HALF_KEY)
KEYS(bf16, uint16_t, uint32_t, BF16_KEY)
#define FLOAT8_KEYS(a, tag, conversion) KEYS(tag, uint8_t, uint32_t, key_##tag)
ST_FLOAT8_TAGS(FLOAT8_KEYS, 0)
KEYS(f32, float, uint32_t, float_key)
KEYS(i64, int64_t, uint64_t, SIGNED64)
KEYS(f64, double, uint64_t, double_key)
KEYS(u16, uint16_t, uint32_t, UNSIGNED)
KEYS(u32, uint32_t, uint32_t, UNSIGNED)
KEYS(u64, uint64_t, uint64_t, UNSIGNED)

typedef void (*keys_pair32)(uint32_t *to, const char *p, int64_t step,
                            int64_t n, uint32_t flip);
typedef void (*keys_pair64)(uint64_t *to, const char *p, int64_t step,
                            int64_t n, uint64_t flip);

/* -- Lines ---------------------------------------------------------------- */

/* One line: pointers and strides of the three operands. */
typedef struct line {
  char *values, *indices;
  const char *in;
  int64_t step[3], n, size;
  st_sort_room *room; /* to sort it by parts, or NULL */
} line;

/* Pairs of n keys with consecutive indices from `at` on. Like order_, which is
 * as rare, it is not inlined into the loop over a line's blocks, so that the
 * loop keeps its registers. */
#define PAIRS(P, K)                                                         \
  static __attribute__((noinline)) void pairs_##P(P *a, const K *key,       \
                                                  int64_t at, int64_t n) {  \
    for (int64_t k = 0; k < n; k++) {                                       \
      a[k].key = key[k];                                                    \
      a[k].at = (__typeof__(a->at))(at + k); } }

/* Appends the pairs whose key is below limit to the m pairs in a and returns
 * the new m. The first loop is vectorised; most blocks end after it. */
#define ADMIT(P, K)                                                         \
  static int64_t admit_##P(P *a, int64_t m, const K *key, int64_t at,       \
                           int64_t n, K limit) {                            \
    int below = 0;                                                          \
    for (int64_t k = 0; k < n; k++) below |= key[k] < limit;                \
    for (int64_t k = 0; below && k < n; k++) {                              \
      a[m].key = key[k];                                                    \
      a[m].at = (__typeof__(a->at))(at + k);                                \
      m += key[k] < limit; }                                                \
    return m; }

/* Selects and sorts the k least pairs. A full buffer is sorted and truncated
 * to k pairs; from then on only keys below the k-th are appended. The buffers
 * have room for 2k + 2 BLOCK pairs. With k = n the whole line is sorted. */
#define FILTER(P, K)                                                        \
  static P *filter_##P(P *a, P *b, const line *w, keys_##P keys, K flip,    \
                       int64_t k) {                                         \
    int64_t m = 0;                                                          \
    K key[BLOCK], limit = 0;                                                \
    for (int64_t i = 0, n, full = 0; i < w->n; i += n) {                    \
      if (st__stops_at(i)) return NULL;                                     \
      n = w->n - i < BLOCK ? w->n - i : BLOCK;                              \
      keys(key, w->in + i * w->step[2], w->step[2], n, flip);               \
      if (full && n == BLOCK) m = admit_##P(a, m, key, i, BLOCK, limit);    \
      else if (full) m = admit_##P(a, m, key, i, n, limit);                 \
      else pairs_##P(a + m, key, i, n), m += n;                             \
      if (m < 2 * k + BLOCK && i + n < w->n) continue;                      \
      P *sorted = !w->room ? order_##P(a, b, m)                             \
                           : parts_##P(a, b, m, false, w->room) ? a : NULL; \
      if (!sorted) return NULL;                                             \
      if (sorted == b) b = a, a = sorted;                                   \
      m = m < k ? m : k, full = m == k;                                     \
      limit = a[m - 1].key; }                                               \
    return a; }

/* The first pair with the least key: which block has it is found in vectors,
 * then its place there; it may be gone if another thread writes the line. A
 * line of greatest keys has it first. */
#define LEAST(P, K)                                                         \
  static P *least_##P(P *a, const line *w, keys_##P keys, K flip) {         \
    int64_t from = 0, at = 0;                                               \
    K key[BLOCK], least = (K)-1;                                            \
    for (int64_t i = 0, n; i < w->n; i += n) {                              \
      K low = least;                                                        \
      if (st__stops_at(i)) return NULL;                                     \
      n = w->n - i < BLOCK ? w->n - i : BLOCK;                              \
      keys(key, w->in + i * w->step[2], w->step[2], n, flip);               \
      for (int64_t k = 0; k < n; k++) low = key[k] < low ? key[k] : low;    \
      if (low < least) from = i, least = low; }                             \
    const int64_t n = w->n - from < BLOCK ? w->n - from : BLOCK;            \
    keys(key, w->in + from * w->step[2], w->step[2], n, flip);              \
    while (at < n - 1 && key[at] != least) at++;                            \
    pairs_##P(a, key + at, from + at, 1);                                   \
    return a; }

/* Sorted index of the lower median of n elements, of which m are not NaN, or of
 * the first NaN. */
static int64_t median_rank(int64_t n, int64_t m, bool skip_nan) {
  if (skip_nan) return m > 0 ? (m - 1) / 2 : 0;
  return m < n ? m : (n - 1) / 2;
}

/* The same in a sorted line; NaNs have the greatest key and are last. */
#define MEDIAN(P, K)                                                        \
  static int64_t median_##P(const P *a, const line *w, bool has_nan,        \
                            bool skip_nan) {                                \
    int64_t i = w->n;                                                       \
    while (has_nan && i > 0 && a[i - 1].key == (K)-1) {                     \
      if (st__stops_at(i)) break;                                           \
      i--; }                                                                \
    return median_rank(w->n, i, skip_nan); }

/* The number of elements that are not NaN. */
#define NUMBERS(P, K)                                                       \
  static int64_t numbers_##P(const line *w, keys_##P keys) {                \
    int64_t m = 0;                                                          \
    K key[COUNTED];                                                         \
    for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {          \
      n = w->n - i < COUNTED ? w->n - i : COUNTED;                          \
      keys(key, w->in + i * w->step[2], w->step[2], n, 0);                  \
      int numbers = 0;                                                      \
      for (int64_t k = 0; k < n; k++) numbers += key[k] != (K)-1;           \
      m += numbers; }                                                       \
    return m; }

/* Appends the pairs whose key is in [least, least + span] to the m pairs in a,
 * adds the number of lesser keys to *below, and returns the new m. */
#define BETWEEN(P, K)                                                       \
  static int64_t between_##P(P *a, int64_t m, const K *key, int64_t at,     \
                             int64_t n, const K bounds[2],                  \
                             int64_t *below) {                              \
    const K least = bounds[0], span = bounds[1] - bounds[0];                \
    int less = 0;                                                           \
    for (int64_t k = 0; k < n; k++) less += key[k] < least;                 \
    *below += less;                                                         \
    for (int64_t k = 0; k < n; k++) {                                       \
      a[m].key = key[k];                                                    \
      a[m].at = (__typeof__(a->at))(at + k);                                \
      m += (K)(key[k] - least) <= span; }                                   \
    return m; }

/* Adds the numbers of keys below and equal to `same`. */
#define COMPARE_KEYS(P, K)                                                  \
  static void compare_##P(const K *key, int64_t n, K same, int64_t *less,   \
                          int64_t *equal) {                                 \
    int below = 0, at = 0;                                                  \
    for (int64_t k = 0; k < n; k++)                                         \
      below += key[k] < same, at += key[k] == same;                         \
    *less += below, *equal += at; }

/* The same for a line, up to its element that has the key and `rank` equal ones
 * before it. Returns the index of that element, or n. */
#define FIND_EQUAL(P, K)                                                    \
  static int64_t find_equal_##P(const line *w, keys_##P keys, K flip,       \
                                K same, int64_t rank, int64_t found[2]) {   \
    K key[COUNTED];                                                         \
    for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {          \
      int64_t at = found[1];                                                \
      n = w->n - i < COUNTED ? w->n - i : COUNTED;                          \
      keys(key, w->in + i * w->step[2], w->step[2], n, flip);               \
      compare_##P(key, n, same, &found[0], &found[1]);                      \
      for (int64_t k = 0; found[1] > rank && k < n; k++)                    \
        if (key[k] == same && at++ == rank) return i + k; }                 \
    return w->n; }

/* The pair of this rank, or NULL if it is not among those that are sorted. A
 * sorted sample tells between which keys it probably is; these are sorted. If
 * the sample has many keys equal to the one at that rank, they are counted
 * first: the pair is the one of them that has this rank, or is on one side. */
#define SELECT(P, K)                                                        \
  static const P *select_##P(P *a, P *b, const line *w, keys_##P keys,      \
                             K flip, int64_t rank) {                        \
    const bool is_long = w->n > MANY_SELECT;                                \
    const int64_t s = is_long ? 1024 : 128, slack = is_long ? 48 : 16;      \
    const int64_t apart = w->n / s, mid = rank * s / w->n;                  \
    const int64_t step = w->step[2];                                        \
    int64_t below = 0, m = 0;                                               \
    K key[BLOCK], bounds[2];                                                \
    for (int64_t i = 0; i < s; i += BLOCK) {                                \
      keys(key, w->in + i * apart * step, apart * step, BLOCK, flip);       \
      pairs_##P(a + i, key, i, BLOCK); }                                    \
    const P *found = order_##P(a, b, s);                                    \
    if (!found) return NULL;                                                \
    bounds[0] = mid < slack ? 0 : found[mid - slack].key;                   \
    bounds[1] = mid + slack < s ? found[mid + slack].key : (K)-1;           \
    const K same = found[mid].key;                                          \
    if (same == bounds[0] || same == bounds[1]) {                           \
      int64_t count[2] = {0, 0};                                            \
      find_equal_##P(w, keys, flip, same, w->n, count);                     \
      const int64_t nth = rank - count[0];                                  \
      if (nth >= 0 && nth < count[1]) {                                     \
        count[1] = 0;                                                       \
        const int64_t at = find_equal_##P(w, keys, flip, same, nth, count); \
        if (at == w->n) return NULL;                                        \
        a->key = same, a->at = (__typeof__(a->at))at;                       \
        return a; }                                                         \
      bounds[nth < 0] = nth < 0 ? same - 1 : same + 1;                      \
      if (bounds[0] > bounds[1]) return NULL; }                             \
    for (int64_t i = 0, n; i < w->n; i += n) {                              \
      if (st__stops_at(i)) return NULL;                                     \
      n = w->n - i < BLOCK ? w->n - i : BLOCK;                              \
      keys(key, w->in + i * step, step, n, flip);                           \
      m = between_##P(a, m, key, i, n, bounds, &below); }                   \
    if (rank < below || rank >= below + m) return NULL;                     \
    found = order_##P(a, b, m);                                             \
    return found ? found + (rank - below) : NULL; }

/* Sorted index of the last element of the longest run of equal keys. */
#define MODE(P, K)                                                          \
  static int64_t mode_##P(const P *a, int64_t n, bool has_nan) {            \
    int64_t at = 0, longest = 0, run = 0;                                   \
    for (int64_t i = 0; i < n && !st__stops_at(i); i++) {                   \
      run++;                                                                \
      if (i + 1 < n && a[i].key == a[i + 1].key &&                          \
          !(has_nan && a[i].key == (K)-1)) continue;                        \
      if (run > longest) longest = run, at = i;                             \
      run = 0; }                                                            \
    return at; }

#define PUT(P, T)                                                           \
  static void put_##P##_##T(const line *w, const P *a, int64_t n) {         \
    const T *in = (const T *)w->in;                                         \
    if (w->step[0] == sizeof(T) && w->step[2] == sizeof(T)) {               \
      T *to = (T *)w->values;                                               \
      for (int64_t i = 0; i < n; i++) to[i] = in[a[i].at];                  \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++)                                       \
        *(T *)(w->values + i * w->step[0]) =                                \
          *(const T *)(w->in + (int64_t)a[i].at * w->step[2]); } }

/* Writes the elements of n pairs, and their indices, which may be in the same
 * place as the pairs. */
#define PUT_PAIRS(P)                                                        \
  PUT(P, uint8_t)                                                           \
  PUT(P, uint16_t)                                                          \
  PUT(P, uint32_t)                                                          \
  PUT(P, uint64_t)                                                          \
  static void put_values_##P(const line *w, const P *a, int64_t n) {        \
    switch (w->size) {                                                      \
      case 1: put_##P##_uint8_t(w, a, n); break;                            \
      case 2: put_##P##_uint16_t(w, a, n); break;                           \
      case 4: put_##P##_uint32_t(w, a, n); break;                           \
      default: put_##P##_uint64_t(w, a, n); } }                             \
  static void put_indices_##P(const line *w, const P *a, int64_t n,         \
                              int64_t base) {                               \
    int64_t at[BLOCK];                                                      \
    for (int64_t i = 0, m; i < n; i += m) {                                 \
      m = n - i < BLOCK ? n - i : BLOCK;                                    \
      for (int64_t k = 0; k < m; k++) at[k] = (int64_t)a[i + k].at + base;  \
      if (w->step[1] == sizeof *at) {                                       \
        memcpy(w->indices + i * w->step[1], at, (size_t)m * sizeof *at);    \
        continue; }                                                         \
      for (int64_t k = 0; k < m; k++)                                       \
        *(int64_t *)(w->indices + (i + k) * w->step[1]) = at[k]; } }

/* Writes n sorted elements without a gap from their keys, or from the line
 * where a key is one of several elements. In a long line they are far apart. */
#define VALUES(s, T, P, K, VALUE, LOST)                                     \
  static void values_##s(const line *w, const P *a, int64_t n, K flip) {    \
    T *to = (T *)w->values;                                                 \
    for (int64_t i = 0, m; i < n; i += m) {                                 \
      int lost = 0;                                                         \
      m = n - i < BLOCK ? n - i : BLOCK;                                    \
      for (int64_t k = i; k < i + m; k++) {                                 \
        const K key = a[k].key ^ flip;                                      \
        to[k] = VALUE(key);                                                 \
        lost |= LOST(key); }                                                \
      for (int64_t k = i; lost && k < i + m; k++)                           \
        to[k] = *(const T *)(w->in + (int64_t)a[k].at * w->step[2]); } }

VALUES(i32, int32_t, pair32, uint32_t, SIGNED32_OF, NEVER_LOST)
VALUES(f32, float, pair32, uint32_t, float_of_key, FLOAT_LOST)
VALUES(i64, int64_t, pair64, uint64_t, SIGNED64_OF, NEVER_LOST)
VALUES(f64, double, pair64, uint64_t, double_of_key, DOUBLE_LOST)
VALUES(u32, uint32_t, pair32, uint32_t, UNSIGNED, NEVER_LOST)
VALUES(u64, uint64_t, pair64, uint64_t, UNSIGNED, NEVER_LOST)

typedef void (*values_pair32)(const line *w, const pair32 *a, int64_t n,
                              uint32_t flip);
typedef void (*values_pair64)(const line *w, const pair64 *a, int64_t n,
                              uint64_t flip);

/* Writes what is asked for of a sorted line. `values` is NULL or writes the
 * elements that have no gap between them. */
#define FINISH(P, K)                                                        \
  static void finish_##P(const line *w, const P *a, bool has_nan,           \
                         values_##P values, const st_sort *o) {             \
    const bool from_keys = values && w->step[0] == w->size;                 \
    const int64_t from =                                                    \
      o->median ? median_##P(a, w, has_nan, o->skip_nan)                    \
                : o->mode ? mode_##P(a, w->n, has_nan) : o->first;          \
    line part = *w;                                                         \
    for (int64_t i = 0, to; i < o->k && !st__stops_at(i); i = to) {         \
      const P *p = a + from + i;                                            \
      to = st__period_end(i, o->k);                                         \
      if (w->values) {                                                      \
        part.values = w->values + i * w->step[0];                           \
        if (from_keys) values(&part, p, to - i, o->descending ? (K)-1 : 0); \
        else put_values_##P(&part, p, to - i); }                            \
      if (w->indices) {                                                     \
        part.indices = w->indices + i * w->step[1];                         \
        put_indices_##P(&part, p, to - i, o->base); } } }

/* Writes the one element that is asked for; false if it was not found. Short
 * lines of integers, which often are in a small range, are sorted faster. */
#define RUN_ONE(P, K)                                                       \
  static bool one_##P(const line *w, keys_##P keys, bool has_nan,           \
                      const st_sort *o) {                                   \
    if (w->n <= (has_nan ? SELECTED : MANY_SELECT)) return false;           \
    P *a = (P *)o->scratch;                                                 \
    const int64_t rank = !o->median ? o->first : median_rank(               \
      w->n, has_nan ? numbers_##P(w, keys) : w->n, o->skip_nan);            \
    const P *found = select_##P(a, a + w->n, w, keys,                       \
                                o->descending ? (K)-1 : 0, rank);           \
    if (found && w->values) put_values_##P(w, found, 1);                    \
    if (found && w->indices) put_indices_##P(w, found, 1, o->base);         \
    return found != NULL; }

#define RUN_LINE(P, K)                                                      \
  static void line_##P(const line *w, keys_##P keys, values_##P values,     \
                       bool has_nan, const st_sort *o) {                    \
    const K flip = o->descending ? (K)-1 : 0;                               \
    const int64_t few = o->first + o->k;                                    \
    const bool all = o->median || o->mode || 4 * few + 4 * BLOCK > w->n;    \
    P *a = (P *)(o->scratch + (w->room ? sizeof *w->room : 0));             \
    P *b = o->in_indices ? (P *)(void *)w->indices : a + w->n;              \
    if (all && o->k == 1 && !o->mode && one_##P(w, keys, has_nan, o))       \
      return;                                                               \
    if (all) a = filter_##P(a, b, w, keys, flip, w->n);                     \
    else if (few == 1) a = least_##P(a, w, keys, flip);                     \
    else a = filter_##P(a, b, w, keys, flip, few);                          \
    if (a) finish_##P(w, a, has_nan, values, o); }

/* -- Groups of short lines ------------------------------------------------ */

#include "kernel/sort/sort_groups.h"

#define LINES(P, K)  \
  PAIRS(P, K)        \
  ADMIT(P, K)        \
  FILTER(P, K)       \
  LEAST(P, K)        \
  MEDIAN(P, K)       \
  NUMBERS(P, K)      \
  BETWEEN(P, K)      \
  COMPARE_KEYS(P, K) \
  FIND_EQUAL(P, K)   \
  SELECT(P, K)       \
  MODE(P, K)         \
  PUT_PAIRS(P)       \
  FINISH(P, K)       \
  RUN_ONE(P, K)      \
  RUN_LINE(P, K)     \
  RUN_GROUP(P, K)

LINES(pair32, uint32_t)
LINES(pair64, uint64_t)

/* -- The table ------------------------------------------------------------ */

/* The lines to sort together, of those left; 0: the next one is sorted alone.
 * For fewer than four lines a network pays only if they are very short, or if
 * only a few elements are wanted. Integers of more than `exact` elements often
 * are in a small range, which radix sort takes advantage of. */
static int64_t lines_together(int64_t n, int64_t left, int64_t network,
                              int64_t exact, const st_sort *o) {
  const bool one = o->median || o->mode;
  const int64_t few = one ? n : o->first + o->k;
  const int64_t lanes = st__sort_lanes(n, left);
  const int64_t most = few > 4 && (!one || network < SELECTED) ? network
                                                               : SELECTED;
  if (n > most || (n > exact && few > 4)) return 0;
  if (left < 4 && 16 * left < n && few > 4) return 0;
  return left < lanes ? left : lanes;
}

#define SORT(name, T, P, keys, values, has_nan)                             \
  static void sort_##name(char **data, const int64_t *s, int64_t n0,        \
                          int64_t n1, const void *ctx) {                    \
    const st_sort *o = ctx;                                                 \
    for (int64_t j = 0, n; j < n1; j += n) {                                \
      const line w = {                                                      \
        data[0] ? data[0] + j * s[3] : NULL,                                \
        data[1] ? data[1] + j * s[4] : NULL,                                \
        data[2] + j * s[5], {s[0], s[1], s[2]}, n0, sizeof(T),              \
        o->by_parts ? (void *)o->scratch : NULL};                           \
      n = lines_together(n0, n1 - j, NETWORK_##P,                           \
                         has_nan ? n0 : EXACT_##P, o);                      \
      group g = {w, {s[3], s[4], s[5]}, n, st__sort_lanes(n0, n1 - j),      \
                 (uint64_t *)o->scratch, NULL, 0, 0, 0};                    \
      if (n) group_##P(&g, keys, has_nan, o);                               \
      else line_##P(&w, keys, values, has_nan, o), n = 1; } }

SORT(u8, uint8_t, pair32, keys_u8, NULL, false)
SORT(b8, uint8_t, pair32, keys_b8, NULL, false)
SORT(i8, int8_t, pair32, keys_i8, NULL, false)
SORT(i16, int16_t, pair32, keys_i16, NULL, false)
SORT(i32, int32_t, pair32, keys_i32, values_i32, false)
SORT(f16, uint16_t, pair32, keys_f16, NULL, true)
SORT(bf16, uint16_t, pair32, keys_bf16, NULL, true)
#define FLOAT8_SORT(a, tag, conversion) \
  SORT(tag, uint8_t, pair32, keys_##tag, NULL, true)
ST_FLOAT8_TAGS(FLOAT8_SORT, 0)
SORT(f32, float, pair32, keys_f32, values_f32, true)
SORT(i64, int64_t, pair64, keys_i64, values_i64, false)
SORT(f64, double, pair64, keys_f64, values_f64, true)
SORT(u16, uint16_t, pair32, keys_u16, NULL, false)
SORT(u32, uint32_t, pair32, keys_u32, values_u32, false)
SORT(u64, uint64_t, pair64, keys_u64, values_u64, false)

static const st_kernel_row rows[] = {
  {"sort", {ST_BY_TYPE(REAL_BOOL, sort) ST_BY_TAG(FLOAT8, sort)}}};

ST_EXPORT(st__sort, rows)
