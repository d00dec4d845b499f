/* Weights of filters, as in Pillow: a filter grows with the reduction, so that
 * every pixel counts.
 */

#include <math.h>
#include <string.h>

#include "taps.h"

/* -- Filters -------------------------------------------------------------- */

static double cubic(double x) {
  const double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x) {
  const double y = 3.14159265358979323846 * x;
  return x == 0 ? 1 : sin(y) / y;
}

static double filtered(taps_filter f, double x) {
  const double far = fabs(x);
  switch (f) {
    case TAPS_AREA: return x > -0.5 && x <= 0.5;
    case TAPS_BILINEAR: return far < 1 ? 1 - far : 0;
    case TAPS_BICUBIC: return cubic(far);
    case TAPS_LANCZOS: return far < 3 ? sinc(far) * sinc(far / 3) : 0;
  }
  return 0;
}

static double support(taps_filter f, double scale) {
  static const double radius[] = {0.5, 1, 2, 3}; /* ORDER FILTER */
  return radius[f] * (scale > 1 ? scale : 1);
}

int64_t taps_count(taps_filter filter, int64_t in, int64_t out) {
  const double reach = support(filter, (double)in / (double)out);
  const double count = ceil(reach) * 2 + 1;
  if (count > (double)(1 << 24)) return 0;
  return ((int64_t)count + 7) / 8 * 8;
}

int64_t taps_weights(taps_filter filter, int64_t in, int64_t out, int64_t i,
                     int64_t *count, double *weight) {
  const double scale = (double)in / (double)out;
  const double reach = support(filter, scale);
  const double shrink = scale > 1 ? 1 / scale : 1;
  const double center = ((double)i + 0.5) * scale;
  int64_t first = (int64_t)(center - reach + 0.5);
  int64_t last = (int64_t)(center + reach + 0.5);
  double sum = 0;
  if (center - reach + 0.5 < 0) first = 0;
  if (last > in) last = in;
  for (int64_t k = 0; k < last - first; k++) {
    weight[k] = filtered(filter,
                         ((double)(k + first) - center + 0.5) * shrink);
    sum += weight[k];
  }
  for (int64_t k = 0; k < last - first && sum != 0; k++) weight[k] /= sum;
  *count = last - first;
  return first;
}

/* -- Tables --------------------------------------------------------------- */

/* The largest weight must be an int16, and the sums of elements of 12 bits
 * times the weights, which are less than 2 in absolute value together, an
 * int32. */
static int find_bits(const double *weight, int64_t n) {
  double most = 0;
  int bits = 0;
  for (int64_t i = 0; i < n; i++) {
    if (fabs(weight[i]) > most) most = fabs(weight[i]);
  }
  while (bits < 18 && most * (double)(1 << (bits + 1)) < 32767) bits++;
  return bits;
}

void taps_fill(taps_table *t, taps_filter filter, double *scratch) {
  memset(scratch, 0, (size_t)(t->n * t->taps) * sizeof *scratch);
  for (int64_t i = 0; i < t->n; i++) {
    double *weight = scratch + i * t->taps;
    int64_t count;
    int64_t first = taps_weights(filter, t->in, t->n, i, &count, weight);
    /* All taps are inside of the row, if it is long enough. */
    int64_t shift = first + t->taps - t->in;
    if (shift > first) shift = first;
    if (shift > 0) {
      memmove(weight + shift, weight, (size_t)count * sizeof *weight);
      memset(weight, 0, (size_t)shift * sizeof *weight);
      first -= shift;
    }
    t->first[i] = first;
  }
  t->bits = find_bits(scratch, t->n * t->taps);
  const double one = (double)(1 << t->bits);
  for (int64_t i = 0; i < t->n * t->taps; i++) {
    t->weights[i] = (int16_t)lrint(scratch[i] * one);
  }
}
