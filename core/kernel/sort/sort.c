/* Sorting kernels: stable sort of lines with indices, and binary search.
 *
 * Note [Sorting keys]
 * Elements are mapped to unsigned keys of the same order: the sign bit of
 * integers is flipped, negative floats are inverted, -0 becomes 0, every NaN
 * becomes the greatest key, and keys are inverted for descending order. Pairs
 * of key and index are sorted; values are then gathered by index. Short lines
 * are sorted by rank, in n^2 vectorised comparisons, long ones by radix sort
 * from the least significant digit. A sort that is told to stop returns
 * NULL, and its line stays unwritten or half written.
 */

#include "kernel/sort/sort.h"

#include "base/threads.h"
#include "kernel/kernel.h"

enum {
  RANK_pair32 = 192, RANK_pair64 = 160, /* most pairs sorted by rank */
  LANES = 16,
  MANY_pair32 = 1 << 16, MANY_pair64 = 1 << 12, /* pairs, of long lines */
  DIGIT = 11, BUCKETS = 1 << DIGIT,             /* whose digits are long */
  BLOCK = 64
};

typedef struct pair32 { uint32_t key, at; } pair32;
typedef struct pair64 { uint64_t key; int64_t at; } pair64;

/* -- Sorting pairs -------------------------------------------------------- */

/* Sorts few pairs: the number of smaller keys is a pair's place, behind those
 * with an equal key before it. The inner loop is vectorised; its length is a
 * multiple of LANES, and what it does to places behind the n-th is not read. */
#define SORT_RANK(P, K)                                                     \
  static void rank_##P(const P *a, P *b, int64_t n) {                       \
    _Alignas(64) K key[RANK_##P + LANES], place[RANK_##P + LANES];          \
    uint8_t before[RANK_##P] = {0};                                         \
    const int64_t m = (n + LANES - 1) / LANES * LANES;                      \
    for (int64_t i = 0; i < n; i++) key[i] = a[i].key;                      \
    for (int64_t i = n; i < m; i++) key[i] = 0;                             \
    memset(place, 0, (size_t)m * sizeof *place);                            \
    for (int64_t j = 0; j < n; j++) {                                       \
      const K k = key[j];                                                   \
      for (int64_t i = 0; i < m; i += LANES)                                \
        for (int64_t l = 0; l < LANES; l++)                                 \
          place[i + l] += k < key[i + l]; }                                 \
    for (int64_t i = 0; i < n; i++)                                         \
      b[place[i] + before[place[i]]++] = a[i]; }

/* Radix sort. Digits that all keys share are skipped; keys in a small range,
 * as those of integers, are sorted by their distance from the least. */
#define SORT_RADIX(P, K)                                                    \
  static P *radix_##P(P *a, P *b, int64_t n) {                              \
    K all = 0, common = (K)-1, least = (K)-1, most = 0;                     \
    int64_t i = 0;                                                          \
    while (i < n && !st__stops_at(i))                                       \
      for (const int64_t to = st__period_end(i, n); i < to; i++) {          \
        const K k = a[i].key;                                               \
        all |= k, common &= k;                                              \
        least = k < least ? k : least, most = k > most ? k : most; }        \
    if (i < n) return NULL;                                                 \
    const bool is_narrow = most - least < (all & ~common) >> 8;             \
    const K from = is_narrow ? least : 0;                                   \
    const K differ = is_narrow ? (K)-1 : all & ~common;                     \
    const int digit = n < MANY_##P ? 8 : DIGIT;                             \
    const K mask = ((K)1 << digit) - 1;                                     \
    for (int shift = 0; shift < 8 * (int)sizeof(K); shift += digit) {       \
      if ((most - from) >> shift == 0) break;                               \
      if (!(differ >> shift & mask)) continue;                              \
      uint32_t at[BUCKETS], sum = 0;                                        \
      memset(at, 0, (mask + 1) * sizeof *at);                               \
      for (i = 0; i < n && !st__stops_at(i);)                               \
        for (const int64_t to = st__period_end(i, n); i < to; i++)          \
          at[(a[i].key - from) >> shift & mask]++;                          \
      if (i < n) return NULL;                                               \
      for (K d = 0; d <= mask; d++) {                                       \
        const uint32_t count = at[d]; at[d] = sum; sum += count; }          \
      for (i = 0; i < n && !st__stops_at(i);)                               \
        for (const int64_t to = st__period_end(i, n); i < to; i++)          \
          b[at[(a[i].key - from) >> shift & mask]++] = a[i];                \
      if (i < n) return NULL;                                               \
      P *t = a; a = b; b = t; }                                             \
    return a; }

#define SORT_ORDER(P, K)                                                    \
  SORT_RANK(P, K)                                                           \
  SORT_RADIX(P, K)                                                          \
  static __attribute__((noinline)) P *order_##P(P *a, P *b, int64_t n) {    \
    if (n > RANK_##P) return radix_##P(a, b, n);                            \
    rank_##P(a, b, n);                                                      \
    return b; }

SORT_ORDER(pair32, uint32_t)
SORT_ORDER(pair64, uint64_t)

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

/* Writes the elements of n pairs, and their indices. */
#define PUT_PAIRS(P)                                                        \
  PUT(P, uint8_t)                                                           \
  PUT(P, uint16_t)                                                          \
  PUT(P, uint32_t)                                                          \
  PUT(P, uint64_t)                                                          \
  static void put_##P(const line *w, const P *a, int64_t n, int64_t base) { \
    if (w->values) {                                                        \
      switch (w->size) {                                                    \
        case 1: put_##P##_uint8_t(w, a, n); break;                          \
        case 2: put_##P##_uint16_t(w, a, n); break;                         \
        case 4: put_##P##_uint32_t(w, a, n); break;                         \
        default: put_##P##_uint64_t(w, a, n); } }                           \
    for (int64_t i = 0; w->indices && i < n; i++)                           \
      *(int64_t *)(w->indices + i * w->step[1]) = (int64_t)a[i].at + base; }

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
    line part = *w;                                                         \
    for (int64_t i = 0, to; i < o->k && !st__stops_at(i); i = to) {         \
      to = st__period_end(i, o->k);                                         \
      put_##P(&part, a + from + i, to - i, o->base);                        \
      part.values = w->values ? w->values + to * w->step[0] : NULL;         \
      part.indices = w->indices ? w->indices + to * w->step[1] : NULL; } }

#define LINES(P, K) \
  PAIRS(P, K)       \
  ADMIT(P, K)       \
  FILTER(P, K)      \
  MEDIAN(P, K)      \
  MODE(P, K)        \
  PUT_PAIRS(P)      \
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
