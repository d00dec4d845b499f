/* Sorting networks, for many short lines.
 *
 * Note [Sorting networks]
 * A network exchanges the elements of fixed places when they are out of order,
 * whatever the values are, so one vector operation does that for many lines.
 * Words of a group of lines are stored place by place, `lanes` words for each:
 * that of line l and place i is at i * lanes + l. A word is a key above the
 * element's index. No two words of a line are equal, so the order is that of a
 * stable sort. If a 64-bit key leaves no room for the index, the index has a
 * word of its own, and moves with the key.
 */
#ifndef ST_KERNEL_SORT_SORTING_NETWORK_H
#define ST_KERNEL_SORT_SORTING_NETWORK_H

#include <stddef.h>
#include <stdint.h>

/* Puts the lesser word into a; n is a multiple of 8. */
static inline void exchange_words(uint64_t *restrict a, uint64_t *restrict b,
                                  int64_t n) {
  for (int64_t i = 0; i < n / 8 * 8; i++) {
    const uint64_t x = a[i], y = b[i];
    a[i] = x < y ? x : y;
    b[i] = x < y ? y : x;
  }
}

/* Likewise by key, of equal keys by index. */
static inline void exchange_pairs(uint64_t *restrict a, uint64_t *restrict b,
                                  uint64_t *restrict at_a,
                                  uint64_t *restrict at_b, int64_t n) {
  for (int64_t i = 0; i < n / 8 * 8; i++) {
    const uint64_t x = a[i], y = b[i], ix = at_a[i], iy = at_b[i];
    const uint64_t first = ix < iy ? ix : iy, last = ix < iy ? iy : ix;
    const uint64_t even_a = x < y ? ix : iy, even_b = x < y ? iy : ix;
    a[i] = x < y ? x : y;
    b[i] = x < y ? y : x;
    at_a[i] = x == y ? first : even_a;
    at_b[i] = x == y ? last : even_b;
  }
}

/* Exchanges n words at offset i with those at j; at: NULL, or the indices. */
static inline void exchange(uint64_t *word, uint64_t *at, int64_t i, int64_t j,
                            int64_t n) {
  if (at) exchange_pairs(word + i, word + j, at + i, at + j, n);
  else exchange_words(word + i, word + j, n);
}

/* Batcher's merge exchange (Knuth, The Art of Computer Programming, 5.2.2,
 * Algorithm M) on n places. Its neighbouring exchanges are one run. */
static inline void sort_places(uint64_t *word, uint64_t *at, int64_t n,
                               int64_t lanes) {
  int64_t half = 1;
  while (2 * half < n) half *= 2;
  for (int64_t p = half; p > 0 && n > 1; p /= 2) {
    int64_t distance = p, from = 0;
    for (int64_t q = half;; q /= 2) {
      for (int64_t i = from; i + distance < n; i += 2 * p) {
        const int64_t left = n - distance - i, run = left < p ? left : p;
        exchange(word, at, i * lanes, (i + distance) * lanes, run * lanes);
      }
      if (q == p) break;
      distance = q - p;
      from = p;
    }
  }
}

/* Moves the k least of n places to the front, in order: each is the winner of
 * a tournament of those left. */
static inline void select_places(uint64_t *word, uint64_t *at, int64_t n,
                                 int64_t k, int64_t lanes) {
  for (int64_t i = 0; i < k; i++) {
    for (int64_t m = n - i; m > 1; m -= m / 2) {
      exchange(word, at, i * lanes, (i + m - m / 2) * lanes, m / 2 * lanes);
    }
  }
}

/* Sorts the k least of n places by the network with fewer exchanges. */
static __attribute__((noinline)) void run_network(uint64_t *word, uint64_t *at,
                                                  int64_t n, int64_t k,
                                                  int64_t lanes) {
  int64_t log = 0;
  while ((INT64_C(1) << log) < n) log++;
  if (4 * k < log * log - log + 4) select_places(word, at, n, k, lanes);
  else sort_places(word, at, n, lanes);
}

#endif
