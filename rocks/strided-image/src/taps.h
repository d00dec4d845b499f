/* Filters of resize as tables of weights, and the loops that apply them to rows
 * of bytes.
 *
 * Note [Weights of 16 bits]
 * A resize is a pass along the rows, then one along the columns. A weight is an
 * int16, a multiple of 2^-bits, where bits is as large as the largest weight
 * and the sums allow: two products and their sum are then one instruction.
 * Between the passes elements have TAPS_FRACTION more bits. As in Pillow, they
 * are cut off at 0 and 255 there, too. Pillow rounds them to bytes, which moves
 * the result by up to half the sum of a filter's absolute weights, 1.6 at most:
 * a byte here differs by at most 1. All sums are exact, so every loop gives the
 * same bytes.
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

enum {
  TAPS_FRACTION = 4, /* bits of elements between the passes */
  TAPS_SLACK = 64    /* bytes that taps_across may read beyond a row */
};

/* Resizes a row of pixels of 1 to 4 channels, to bytes or, if `to16` is not
 * NULL, to elements with fractions. It reads taps pixels from each first[i] on,
 * and TAPS_SLACK bytes more. */
void taps_across(const taps_table *t, int channels, const uint8_t *from,
                 uint8_t *to, int16_t *to16);
/* Row i of the result from rows that are `step` elements apart; n elements. */
void taps_down(const taps_table *t, int64_t i, const uint8_t *from,
               int64_t step, uint8_t *to, int64_t n);
void taps_down16(const taps_table *t, int64_t i, const int16_t *from,
                 int64_t step, uint8_t *to, int64_t n);

#endif
