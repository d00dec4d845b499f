/* Operands and ctx of the sorting kernels.
 *
 * Operands of sort: values (output), indices (output, int64), input; either
 * output may be NULL. The inner dimension is a line of n0 elements, which is
 * sorted. NaN is greater than every other value. The sort is stable, also in
 * descending order.
 */
#ifndef ST_KERNEL_SORT_SORT_H
#define ST_KERNEL_SORT_SORT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct st_sort {
  bool descending;
  bool median;         /* write the lower median, or the first NaN */
  bool skip_nan;       /* with median: ignore NaN unless all are NaN */
  bool mode;           /* write the most frequent value, of several the least,
                          and its last index; NaNs are not equal */
  int64_t first, k;    /* write sorted elements [first, first + k) */
  int64_t base;        /* added to indices */
  bool in_indices;     /* pairs use the indices' memory, which has no gaps and
                          which no other thread knows */
  bool by_parts;       /* there is an st_sort_room in front of the pairs */
  char *scratch;       /* st__sort_scratch bytes, aligned to ST_SORT_ALIGN */
} st_sort;

enum { ST_SORT_ALIGN = 64, ST_SORT_BUCKETS = 1 << 11 };

/* For each bucket of pairs: the line of it that is being filled, the place
 * after its last pair, and its first place. */
typedef struct st_sort_room {
  _Alignas(ST_SORT_ALIGN) char line[ST_SORT_BUCKETS][64];
  uint32_t end[ST_SORT_BUCKETS], first[ST_SORT_BUCKETS];
} st_sort_room;

/* search: counts the elements of a sorted line that are less than a value or,
 * with right, not greater. Operands: counts (output, int64), values, the line,
 * whose inner stride is that of its elements. */
typedef struct st_search {
  int64_t n;    /* length of the line */
  bool right;
  int64_t base; /* added to counts */
} st_search;

/* Lines of at most this length may be sorted many at a time; up to the other
 * one it does not matter much how far their elements are apart. */
enum { ST_SHORT_LINE = 512, ST_DIRECT_LINE = 192 };

/* Lines of length n that are sorted together, a multiple of 8; lines: all. */
static inline int64_t st__sort_lanes(int64_t n, int64_t lines) {
  const int64_t most = n <= 16 ? 64 : n <= 64 ? 16 : 8;
  return lines < most ? (lines + 7) / 8 * 8 : most;
}

/* Bytes of a pair of key and index. */
static inline int64_t st__sort_pair(int64_t itemsize) {
  return itemsize <= 4 ? 8 : 16;
}

/* Bytes of scratch, a multiple of ST_SORT_ALIGN: two buffers of n pairs, or one
 * with in_indices; and for short lines keys and indices of those that are
 * sorted together. */
static inline int64_t st__sort_scratch(const st_sort *o, int64_t n,
                                       int64_t itemsize, int64_t lines) {
  const int64_t together = n <= ST_SHORT_LINE ? st__sort_lanes(n, lines) : 0;
  const int64_t pairs = ((o->in_indices ? 1 : 2) + together) * n;
  const int64_t bytes = pairs * st__sort_pair(itemsize) + ST_SORT_ALIGN - 1;
  return bytes - bytes % ST_SORT_ALIGN +
         (o->by_parts ? (int64_t)sizeof(st_sort_room) : 0);
}

#endif
