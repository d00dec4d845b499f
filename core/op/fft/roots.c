/* Roots of unity: angles are reduced to an eighth of a turn in integers, so
 * that each part is off by about a rounding.
 */

#include "op/fft/roots.h"

#include <math.h>

#include "base/memory.h"

static const double TURN = 6.283185307179586476925286766559;

void st__fft_root(int64_t j, int64_t n, double *out) {
  int64_t at = 8 * j; /* of 8 n in a turn */
  const bool is_below = at > 4 * n;
  if (is_below) at = 8 * n - at;
  const bool is_left = at > 2 * n;
  if (is_left) at = 4 * n - at;
  const bool is_steep = at > n;
  if (is_steep) at = 2 * n - at;
  const double angle = TURN * (double)at / (double)(8 * n);
  const double x = cos(angle), y = sin(angle);
  out[0] = is_steep ? y : x;
  out[1] = is_steep ? x : y;
  if (is_left) out[0] = -out[0];
  if (is_below) out[1] = -out[1];
}

bool st__fft_powers_init(st_fft_powers *p, int64_t n, bool forward) {
  int shift = 0;
  while ((int64_t)1 << 2 * shift < n) shift++;
  const int64_t low = (int64_t)1 << shift, high = (n >> shift) + 1;
  p->shift = shift;
  p->bytes = (size_t)(2 * (low + high)) * sizeof(double);
  p->low = st__alloc_block(p->bytes);
  if (!p->low) return false;
  p->high = p->low + 2 * low;
  for (int64_t i = 0; i < low + high; i++) {
    const int64_t m = i < low ? i : (i - low) << shift;
    double *const to = p->low + 2 * i;
    st__fft_root(m % n, n, to);
    if (forward) to[1] = -to[1];
  }
  return true;
}

void st__fft_powers_free(st_fft_powers *p) {
  if (p->low) st__free_block(p->low, p->bytes);
  p->low = NULL;
}

static int64_t halving_count(int64_t n) { return n / 4 + 1; }

static size_t halving_bytes(int64_t n, bool is_double) {
  return (size_t)halving_count(n) * (is_double ? 16 : 8);
}

void *st__fft_halving(int64_t n, bool is_double) {
  void *const u = st__alloc_block(halving_bytes(n, is_double));
  if (!u) return NULL;
  for (int64_t k = 0; k < halving_count(n); k++) {
    double w[2]; /* -i (x - i y) = -y - i x */
    st__fft_root(k, n, w);
    if (is_double) {
      ((double *)u)[2 * k] = -w[1];
      ((double *)u)[2 * k + 1] = -w[0];
    } else {
      ((float *)u)[2 * k] = (float)-w[1];
      ((float *)u)[2 * k + 1] = (float)-w[0];
    }
  }
  return u;
}

void st__fft_halving_free(void *u, int64_t n, bool is_double) {
  if (u) st__free_block(u, halving_bytes(n, is_double));
}
