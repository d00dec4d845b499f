/* Tables of roots of unity.
 */
#ifndef ST_OP_FOURIER_ROOTS_H
#define ST_OP_FOURIER_ROOTS_H

#include "abi/types.h"

/* Cosine and sine of 2 pi j / n, for 0 <= j < n < 2^60. */
void st__fft_root(int64_t j, int64_t n, double *out);

/* The powers of w = exp(-+ 2 pi i / n) by two tables of about the root of n
 * complex numbers: w^(a + (b << shift)) = low[a] high[b]. */
typedef struct st_fft_powers {
  double *low, *high;
  int shift;
  size_t bytes; /* of the block, which begins at low */
} st_fft_powers;

/* False if there is no memory. */
bool st__fft_powers_init(st_fft_powers *p, int64_t n, bool forward);
void st__fft_powers_free(st_fft_powers *p);

/* w^m for 0 <= m < n. */
static inline void st__fft_power(const st_fft_powers *p, int64_t m,
                                 double *out) {
  const double *const a = p->low + 2 * (m & ((1 << p->shift) - 1));
  const double *const b = p->high + 2 * (m >> p->shift);
  out[0] = a[0] * b[0] - a[1] * b[1];
  out[1] = a[0] * b[1] + a[1] * b[0];
}

/* The numbers u of Note [Real lines by half] (kernel/fft/fft.h), for k up to
 * n / 4; NULL if there is no memory. */
void *st__fft_halving(int64_t n, bool is_double);
void st__fft_halving_free(void *u, int64_t n, bool is_double);

/* The roots of cosine transforms of n numbers (Note [Cosine transforms],
 * dct.c), or of those of type IV; NULL if there is no memory. */
void *st__fft_twist(int64_t n, bool is_iv, bool is_double);
void st__fft_twist_free(void *roots, int64_t n, bool is_iv, bool is_double);
int64_t st__fft_twist_count(int64_t n, bool is_iv);

#endif
