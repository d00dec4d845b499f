/* Roots of unity, in integers.
 *
 * Note [Roots of unity]
 * The C library's sine and cosine differ in the last bit from one version and
 * one processor to the next. So the tables of transforms are computed here: an
 * angle is reduced to an eighth of a turn in integers, and the series of cosine
 * and sine are summed in fixed point, with 63 bits. Only the results are
 * rounded to float64: they are within 0.51 units in the last place, and the
 * same on every machine.
 */

#include "op/fourier/roots.h"

#include <math.h>

#include "base/memory.h"

__extension__ typedef unsigned __int128 wide;

static const uint64_t QUARTER_PI = 0xC90FDAA22168C235; /* times 2^64 */
static const uint64_t ONE = (uint64_t)1 << 63;

static uint64_t high(uint64_t a, uint64_t b) {
  return (uint64_t)((wide)a * b >> 64);
}

/* 1 - u / (k (k + 1)) (1 - u / ((k + 2) (k + 3)) (1 - ...)), times ONE, for
 * u < 1, which is times 2^64. */
static uint64_t sum_series(uint64_t u, int k) {
#define BY(i) UINT64_MAX / ((i) * ((i) + 1))
  static const uint64_t by[] = {
    0, BY(1), BY(2), BY(3), BY(4), BY(5), BY(6), BY(7), BY(8), BY(9), BY(10),
    BY(11), BY(12), BY(13), BY(14), BY(15), BY(16), BY(17), BY(18)};
  uint64_t sum = ONE;
  for (int i = k + 16; i >= k; i -= 2) sum = ONE - high(high(u, by[i]), sum);
  return sum;
}

/* Cosine and sine of pi / 4 * at / n, for 0 <= at <= n. */
static void eighth(int64_t at, int64_t n, double *out) {
  if (at == 0 || at == n) {
    out[0] = at == 0 ? 1 : 0.70710678118654752440;
    out[1] = at == 0 ? 0 : 0.70710678118654752440;
    return;
  }
  int shift = 0; /* the angle is 2^-(64 + shift) times a number of 64 bits */
  while (at << (shift + 1) < n) shift++;
  const uint64_t part = (uint64_t)(((wide)at << (64 + shift)) / (wide)n);
  const uint64_t angle = high(part, QUARTER_PI);
  const uint64_t square = shift < 32 ? high(angle, angle) >> 2 * shift : 0;
  const uint64_t sine = (uint64_t)((wide)angle * sum_series(square, 2) >> 63);
  out[0] = ldexp((double)sum_series(square, 1), -63);
  out[1] = ldexp((double)sine, -64 - shift);
}

void st__fft_root(int64_t j, int64_t n, double *out) {
  int64_t at = 8 * j; /* of 8 n in a turn */
  const bool is_below = at > 4 * n;
  if (is_below) at = 8 * n - at;
  const bool is_left = at > 2 * n;
  if (is_left) at = 4 * n - at;
  const bool is_steep = at > n;
  if (is_steep) at = 2 * n - at;
  double x[2];
  eighth(at, n, x);
  out[0] = x[is_steep];
  out[1] = x[!is_steep];
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

/* -- Roots of cosine transforms ------------------------------------------- */

int64_t st__fft_twist_count(int64_t n, bool is_iv) {
  if (!is_iv) return n / 2 + 1;
  return n % 2 == 0 ? n : 2 * n;
}

/* The turn of root i, of 8 n. */
static int64_t twist_of(int64_t n, bool is_iv, int64_t i) {
  const int64_t half = n / 2;
  if (!is_iv) return 2 * i;
  if (n % 2 == 0) return i < half ? 4 * i + 1 : 4 * (i - half);
  return i < n ? 2 * i : 2 * (i - n) + 1;
}

void *st__fft_twist(int64_t n, bool is_iv, bool is_double) {
  const int64_t count = st__fft_twist_count(n, is_iv);
  void *const roots = st__alloc_block((size_t)count * (is_double ? 16 : 8));
  if (!roots) return NULL;
  for (int64_t i = 0; i < count; i++) {
    double w[2];
    st__fft_root(twist_of(n, is_iv, i), 8 * n, w);
    for (int part = 0; part < 2; part++) {
      if (is_double) ((double *)roots)[2 * i + part] = w[part];
      else ((float *)roots)[2 * i + part] = (float)w[part];
    }
  }
  return roots;
}

void st__fft_twist_free(void *roots, int64_t n, bool is_iv, bool is_double) {
  if (!roots) return;
  st__free_block(roots, (size_t)st__fft_twist_count(n, is_iv) *
                        (is_double ? 16 : 8));
}
