/* Sorting kernels: stable sort of lines with indices, and binary search.
 *
 * Note [Sorting keys]
 * Elements are mapped to unsigned keys of the same order: the sign bit of
 * integers is flipped, negative floats are inverted, -0 becomes 0, every NaN
 * becomes the greatest key, and keys are inverted for descending order. Pairs
 * of key and index are sorted; values are then gathered by index. Short lines
 * use merge sort, long ones radix sort from the least significant digit,
 * which skips digits that all keys share. A sort that is told to stop returns
 * NULL, and its line stays unwritten or half written.
 */

#include "kernel/sort/sort.h"

#include "base/threads.h"
#include "kernel/kernel.h"

enum { RUN = 16, MERGE = 1024, DIGIT = 11, BUCKETS = 1 << DIGIT, BLOCK = 64 };

typedef struct pair32 { uint32_t key, at; } pair32;
typedef struct pair64 { uint64_t key; int64_t at; } pair64;

/* -- Sorting pairs -------------------------------------------------------- */

#define SORT_RUNS(P)                                                        \
  static void runs_##P(P *a, int64_t n) {                                   \
    for (int64_t from = 0; from < n; from += RUN) {                         \
      const int64_t to = from + RUN < n ? from + RUN : n;                   \
      for (int64_t i = from + 1; i < to; i++) {                             \
        const P p = a[i];                                                   \
        int64_t j = i;                                                      \
        for (; j > from && a[j - 1].key > p.key; j--) a[j] = a[j - 1];      \
        a[j] = p; } } }

#define SORT_MERGE(P)                                                       \
  static P *merge_##P(P *a, P *b, int64_t n) {                              \
    runs_##P(a, n);                                                         \
    for (int64_t run = RUN; run < n; run *= 2) {                            \
      for (int64_t from = 0; from < n; from += 2 * run) {                   \
        const int64_t mid = from + run < n ? from + run : n;                \
        const int64_t to = mid + run < n ? mid + run : n;                   \
        for (int64_t i = from, j = mid, k = from; k < to; k++)              \
          b[k] = i < mid && (j == to || a[i].key <= a[j].key) ? a[i++]      \
                                                              : a[j++]; }   \
      P *t = a; a = b; b = t; }                                             \
    return a; }

#define SORT_RADIX(P)                                                       \
  static P *radix_##P(P *a, P *b, int64_t n) {                              \
    for (int shift = 0; shift < 8 * (int)sizeof a->key; shift += DIGIT) {   \
      int64_t at[BUCKETS] = {0}, sum = 0, i = 0;                            \
      while (i < n && !st__stops_at(i))                                     \
        for (const int64_t to = st__period_end(i, n); i < to; i++)          \
          at[a[i].key >> shift & (BUCKETS - 1)]++;                          \
      if (i < n) return NULL;                                               \
      if (at[a[0].key >> shift & (BUCKETS - 1)] == n) continue;             \
      for (int d = 0; d < BUCKETS; d++) {                                   \
        const int64_t count = at[d]; at[d] = sum; sum += count; }           \
      for (i = 0; i < n && !st__stops_at(i);)                               \
        for (const int64_t to = st__period_end(i, n); i < to; i++)          \
          b[at[a[i].key >> shift & (BUCKETS - 1)]++] = a[i];                \
      if (i < n) return NULL;                                               \
      P *t = a; a = b; b = t; }                                             \
    return a; }

#define SORT_ORDER(P)                                                       \
  SORT_RUNS(P)                                                              \
  SORT_MERGE(P)                                                             \
  SORT_RADIX(P)                                                             \
  static __attribute__((noinline)) P *order_##P(P *a, P *b, int64_t n) {    \
    return n <= MERGE ? merge_##P(a, b, n) : radix_##P(a, b, n); }

SORT_ORDER(pair32)
SORT_ORDER(pair64)

/* -- Keys ----------------------------------------------------------------- */

#define UNSIGNED(x) (x)
#define TRUTH(x) ((x) != 0)
#define SIGNED32(x) ((uint32_t)(int32_t)(x) ^ 0x80000000u)
#define SIGNED64(x) ((uint64_t)(x) ^ 0x8000000000000000u)

static inline uint32_t float_key(float x) {
  const uint32_t u = st__float_bits(x + 0.0f);
  const uint32_t key = u ^ ((u >> 31) ? 0xffffffffu : 0x80000000u);
  return x != x ? 0xffffffffu : key;
}
static inline uint64_t double_key(double x) {
  uint64_t u;
  x += 0.0;
  memcpy(&u, &x, 8);
  const uint64_t key = u ^ ((u >> 63) ? ~UINT64_C(0) : UINT64_C(1) << 63);
  return x != x ? ~UINT64_C(0) : key;
}
#define HALF_KEY(x) float_key(st__half_to_float(x))
#define BF16_KEY(x) float_key(st__bf16_to_float(x))

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
KEYS(f32, float, uint32_t, float_key)
KEYS(i64, int64_t, uint64_t, SIGNED64)
KEYS(f64, double, uint64_t, double_key)

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
} line;

static void copy_element(char *to, const char *from, int64_t size) {
  switch (size) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8);
  }
}

static void put(const line *w, int64_t i, int64_t at, int64_t base) {
  if (w->values) {
    copy_element(w->values + i * w->step[0], w->in + at * w->step[2],
                 w->size);
  }
  if (w->indices) *(int64_t *)(w->indices + i * w->step[1]) = at + base;
}

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
      P *sorted = order_##P(a, b, m);                                       \
      if (!sorted) return NULL;                                             \
      if (sorted == b) b = a, a = sorted;                                   \
      m = m < k ? m : k, full = m == k;                                     \
      limit = a[m - 1].key; }                                               \
    return a; }

/* Sorted index of the lower median, or of the first NaN; NaNs have the
 * greatest key and are last. */
#define MEDIAN(P, K)                                                        \
  static int64_t median_##P(const P *a, const line *w, bool has_nan,        \
                            bool skip_nan) {                                \
    int64_t i = w->n;                                                       \
    while (has_nan && i > 0 && a[i - 1].key == (K)-1) {                     \
      if (st__stops_at(i)) break;                                           \
      i--; }                                                                \
    if (skip_nan) return i > 0 ? (i - 1) / 2 : 0;                           \
    return i < w->n ? i : (w->n - 1) / 2; }

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

#define RUN_LINE(P, K)                                                      \
  static void line_##P(const line *w, keys_##P keys, bool has_nan,          \
                       const st_sort *o) {                                  \
    const K flip = o->descending ? (K)-1 : 0;                               \
    const int64_t few = o->first + o->k;                                    \
    const bool all = o->median || o->mode || 4 * few + 4 * BLOCK > w->n;    \
    P *a = (P *)o->scratch, *b = a + w->n;                                  \
    a = all ? filter_##P(a, b, w, keys, flip, w->n)                         \
            : filter_##P(a, b, w, keys, flip, few);                         \
    if (!a) return;                                                         \
    const int64_t from =                                                    \
      o->median ? median_##P(a, w, has_nan, o->skip_nan)                    \
                : o->mode ? mode_##P(a, w->n, has_nan) : o->first;          \
    for (int64_t i = 0; i < o->k && !st__stops_at(i);)                      \
      for (const int64_t to = st__period_end(i, o->k); i < to; i++)         \
        put(w, i, (int64_t)a[from + i].at, o->base); }

#define LINES(P, K) \
  PAIRS(P, K)       \
  ADMIT(P, K)       \
  FILTER(P, K)      \
  MEDIAN(P, K)      \
  MODE(P, K)        \
  RUN_LINE(P, K)

LINES(pair32, uint32_t)
LINES(pair64, uint64_t)

/* -- Searching ------------------------------------------------------------ */

#define SEARCH(s, T, K, E)                                                  \
  static void search_##s(char **data, const int64_t *st, int64_t n0,        \
                         int64_t n1, const void *ctx) {                     \
    const st_search *w = ctx;                                               \
    for (int64_t j = 0; j < n1; j++)                                        \
      for (int64_t i = 0; i < n0; i++) {                                    \
        const K key = E(*(const T *)(data[1] + j * st[4] + i * st[1]));     \
        const char *p = data[2] + j * st[5];                                \
        int64_t low = 0, high = w->n;                                       \
        while (low < high) {                                                \
          const int64_t mid = low + (high - low) / 2;                       \
          const K at = E(*(const T *)(p + mid * st[2]));                    \
          if (at < key || (w->right && at == key)) low = mid + 1;           \
          else high = mid; }                                                \
        *(int64_t *)(data[0] + j * st[3] + i * st[0]) = low + w->base; } }

SEARCH(u8, uint8_t, uint32_t, UNSIGNED)
SEARCH(b8, uint8_t, uint32_t, TRUTH)
SEARCH(i8, int8_t, uint32_t, SIGNED32)
SEARCH(i16, int16_t, uint32_t, SIGNED32)
SEARCH(i32, int32_t, uint32_t, SIGNED32)
SEARCH(f16, uint16_t, uint32_t, HALF_KEY)
SEARCH(bf16, uint16_t, uint32_t, BF16_KEY)
SEARCH(f32, float, uint32_t, float_key)
SEARCH(i64, int64_t, uint64_t, SIGNED64)
SEARCH(f64, double, uint64_t, double_key)

/* -- The table ------------------------------------------------------------ */

#define SORT(name, T, P, keys, has_nan)                                     \
  static void sort_##name(char **data, const int64_t *s, int64_t n0,        \
                          int64_t n1, const void *ctx) {                    \
    for (int64_t j = 0; j < n1; j++) {                                      \
      const line w = {data[0] + j * s[3], data[1] + j * s[4],               \
                      data[2] + j * s[5], {s[0], s[1], s[2]}, n0,           \
                      sizeof(T)};                                           \
      line_##P(&w, keys, has_nan, ctx); } }

SORT(u8, uint8_t, pair32, keys_u8, false)
SORT(b8, uint8_t, pair32, keys_b8, false)
SORT(i8, int8_t, pair32, keys_i8, false)
SORT(i16, int16_t, pair32, keys_i16, false)
SORT(i32, int32_t, pair32, keys_i32, false)
SORT(f16, uint16_t, pair32, keys_f16, true)
SORT(bf16, uint16_t, pair32, keys_bf16, true)
SORT(f32, float, pair32, keys_f32, true)
SORT(i64, int64_t, pair64, keys_i64, false)
SORT(f64, double, pair64, keys_f64, true)

#define BY_DTYPE(what) {                                                    \
  [ST_UINT8] = what##_u8, [ST_INT8] = what##_i8, [ST_INT16] = what##_i16,   \
  [ST_INT32] = what##_i32, [ST_INT64] = what##_i64, [ST_BOOL] = what##_b8,  \
  [ST_FLOAT16] = what##_f16, [ST_BFLOAT16] = what##_bf16,                   \
  [ST_FLOAT32] = what##_f32, [ST_FLOAT64] = what##_f64}

static const st_kernel_row rows[] = {
  {ST_K_sort, BY_DTYPE(sort)}, {ST_K_search, BY_DTYPE(search)}};

ST_EXPORT(st__sort, rows)
