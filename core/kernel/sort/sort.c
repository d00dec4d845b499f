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

EACH_KEY(KEYS)

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

/* Sorted index of the lower median of n elements, of which m are not NaN, or of
 * the first NaN. */
static int64_t median_rank(int64_t n, int64_t m, bool skip_nan) {
  if (skip_nan) return m > 0 ? (m - 1) / 2 : 0;
  return m < n ? m : (n - 1) / 2;
}

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

/* -- Groups of short lines ------------------------------------------------ */

#include "kernel/sort/sort_groups.h"

#define NAME(f) f##_pair32
#define P pair32
#define K uint32_t
#include "kernel/sort/sort_lines.h"

#define NAME(f) f##_pair64
#define P pair64
#define K uint64_t
#include "kernel/sort/sort_lines.h"

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

/* Line j of n0 elements of a call of the loop. */
static inline line line_of(char *const *data, const int64_t *s, int64_t j,
                           int64_t n0, int64_t size, const st_sort *o) {
  return (line){data[0] ? data[0] + j * s[3] : NULL,
                data[1] ? data[1] + j * s[4] : NULL,
                data[2] + j * s[5], {s[0], s[1], s[2]}, n0, size,
                o->by_parts ? (void *)o->scratch : NULL};
}

#define SORT(name, T, P, keys, values, has_nan)                             \
  static ST_LOOP_FN(sort_##name, s) {                                       \
    const st_sort *o = ctx;                                                 \
    for (int64_t j = 0, n; j < n1; j += n) {                                \
      const line w = line_of(data, s, j, n0, sizeof(T), o);                 \
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
