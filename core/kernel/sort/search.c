/* Search kernels: the place of values in a sorted line.
 *
 * Values are searched in blocks. A short line is mapped to keys (Note [Sorting
 * keys]) once; in a very short one the keys below a value are counted, which
 * vectorises. Otherwise the halving steps of several values are interleaved:
 * they have no branches and do not wait for each other.
 */

#include "kernel/inline.h"
#include "kernel/dtype_tables.h"
#include "kernel/sort/keys.h"
#include "kernel/sort/sort.h"

enum {
  BLOCK = 64,
  AT_ONCE = 8,                            /* interleaved values */
  COUNTED_uint32_t = 64, COUNTED_uint64_t = 24, /* most keys counted */
  MAPPED = 1024                           /* most keys of a mapped line */
};

/* Counts the keys of a line that are before each of BLOCK values. */
#define COUNT(K)                                                            \
  INLINE void count_##K(const K *line, int64_t n, const K *key, bool right, \
                        int64_t *to) {                                      \
    K before[BLOCK] = {0};                                                  \
    for (int64_t t = 0; t < n; t++) {                                       \
      const K at = line[t];                                                 \
      if (right) for (int i = 0; i < BLOCK; i++) before[i] += at <= key[i]; \
      else for (int i = 0; i < BLOCK; i++) before[i] += at < key[i]; }      \
    for (int i = 0; i < BLOCK; i++) to[i] = (int64_t)before[i]; }

/* The same for m values by halving. E: the key of an element. */
#define HALVE(name, T, K, E)                                                \
  INLINE void halve_##name(const T *line, int64_t n, const K *key, int m,   \
                           bool right, int64_t *to) {                       \
    for (int i = 0; i < m; i += AT_ONCE) {                                  \
      int64_t from[AT_ONCE] = {0};                                          \
      for (int64_t left = n; left > 0;) {                                   \
        const int64_t half = left > 1 ? left / 2 : 1;                       \
        for (int l = 0; l < AT_ONCE; l++) {                                 \
          const K at = E(line[from[l] + half - 1]);                         \
          const bool before = right ? at <= key[i + l] : at < key[i + l];   \
          from[l] += before ? half : 0; }                                   \
        left -= half; }                                                     \
      for (int l = 0; l < AT_ONCE; l++) to[i + l] = from[l]; } }

#define SAME(x) (x)
COUNT(uint32_t)
COUNT(uint64_t)
HALVE(uint32_t, uint32_t, uint32_t, SAME)
HALVE(uint64_t, uint64_t, uint64_t, SAME)

/* The same for n values; `line` has the keys of a mapped line. */
#define SEARCH_BLOCK(s, T, K)                                               \
  INLINE void block_##s(const T *p, const K *line, int64_t length,          \
                        const K *key, int n, bool right, int64_t *at) {     \
    if (!line) halve_##s(p, length, key, n, right, at);                     \
    else if (length <= COUNTED_##K) count_##K(line, length, key, right, at);\
    else halve_##K(line, length, key, n, right, at); }

/* Searches n0 values in one line. */
#define SEARCH_LINE(s, T, K, E)                                             \
  INLINE void side_##s(char **data, const int64_t *st, int64_t n0,          \
                       const st_search *w, bool right) {                    \
    K line[MAPPED], key[BLOCK] = {0};                                       \
    int64_t at[BLOCK];                                                      \
    const T *p = (const T *)data[2];                                        \
    const bool is_mapped = w->n <= MAPPED && w->n < 8 * n0;                 \
    for (int64_t t = 0; is_mapped && t < w->n; t++) line[t] = E(p[t]);      \
    for (int64_t i = 0, n; i < n0; i += n) {                                \
      n = n0 - i < BLOCK ? n0 - i : BLOCK;                                  \
      for (int64_t k = 0; k < n; k++)                                       \
        key[k] = E(*(const T *)(data[1] + (i + k) * st[1]));                \
      block_##s(p, is_mapped ? line : NULL, w->n, key, (int)n, right, at);  \
      for (int64_t k = 0; k < n; k++)                                       \
        *(int64_t *)(data[0] + (i + k) * st[0]) = at[k] + w->base; } }

/* The elements of a line are contiguous. */
#define SEARCH(s, T, K, E)                                                  \
  HALVE(s, T, K, E)                                                         \
  SEARCH_BLOCK(s, T, K)                                                     \
  SEARCH_LINE(s, T, K, E)                                                   \
  static ST_LOOP_FN(search_##s, st) {                                       \
    const st_search *w = ctx;                                               \
    for (int64_t j = 0; j < n1; j++) {                                      \
      char *p[] = {data[0] + j * st[3], data[1] + j * st[4],                \
                   data[2] + j * st[5]};                                    \
      if (w->right) side_##s(p, st, n0, w, true);                           \
      else side_##s(p, st, n0, w, false); } }

EACH_KEY(SEARCH)

static const st_kernel_row rows[] = {
  {"search", {ST_BY_TYPE(REAL_BOOL, search) ST_BY_TAG(FLOAT8, search)}}};

ST_EXPORT(st__search, rows)
