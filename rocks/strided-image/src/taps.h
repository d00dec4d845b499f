/* Filters of resize as tables of weights, and the loops that apply them to rows
 * of bytes.
 *
 * Note [Weights of 16 bits]
 * As in Pillow, a resize is a pass along the rows, whose results are rounded to
 * bytes, then a pass along the columns. A weight is an int16, a multiple of
 * 2^-bits, where bits is as large as the largest weight allows: a pair of
 * products and their sum is then one instruction. Pillow has weights of 32
 * bits, so a byte differs by 1 where a sum is close to a half. All sums are
 * exact, so every loop gives the same bytes.
 */
#ifndef STRIDED_IMAGE_TAPS_H
#define STRIDED_IMAGE_TAPS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum taps_filter {
  TAPS_AREA, TAPS_BILINEAR, TAPS_BICUBIC, TAPS_LANCZOS
} taps_filter;

/* Element i of n is the sum of `taps` elements from first[i] on, weighted. */
typedef struct taps_table {
  int64_t n, in;
  int64_t taps;       /* a multiple of 8; weights beyond a filter are 0 */
  int bits;           /* weights are multiples of 2^-bits */
  int64_t *first;
  int16_t *weights;   /* n x taps */
} taps_table;

/* Elements of a weight table for a resize from in to out; 0 if there are too
 * many. */
int64_t taps_count(taps_filter filter, int64_t in, int64_t out);
/* The exact weights of element i of out: returns the first element and sets
 * *count; weight has room for taps_count. */
int64_t taps_weights(taps_filter filter, int64_t in, int64_t out, int64_t i,
                     int64_t *count, double *weight);
/* Fills t->first and t->weights; scratch has room for n * taps. */
void taps_fill(taps_table *t, taps_filter filter, double *scratch);

enum { TAPS_SLACK = 64 }; /* bytes that taps_across may read beyond a row */

/* Resizes a row of pixels of 1 to 4 channels. It reads taps pixels from each
 * first[i] on, and TAPS_SLACK bytes more. */
void taps_across(const taps_table *t, int channels, const uint8_t *from,
                 uint8_t *to);
/* Row i of the result from the rows at `from`, which are `step` bytes apart; n
 * bytes. */
void taps_down(const taps_table *t, int64_t i, const uint8_t *from,
               int64_t step, uint8_t *to, int64_t n);

#endif
