/* Transforms of lines whose length has a large prime factor.
 *
 * Note [Lengths with large primes]
 * By Bluestein, with b[j] = exp(+- pi i j^2 / n), which is conj w[j]:
 *
 *   X[k] = w[k] sum_j (x[j] w[j]) b[k - j]
 *
 * is a convolution with b, for which two transforms of any length m >= 2 n - 1
 * are enough.
 */
#ifndef ST_OP_FOURIER_CONVOLUTION_H
#define ST_OP_FOURIER_CONVOLUTION_H

#include "op/fourier/plans.h"

/* Sets p->line, p->back, p->chirp and p->size, for p->count numbers. They must
 * be freed after a failure, too. */
st_status st__fft_chirp_init(st_fft_plan *p, st_fft_kind kind, bool is_double);
void st__fft_chirp_free(st_fft_plan *p, bool is_double);

typedef struct st_fft_convolved {
  const st_fft_plan *plan;
  bool is_double;
  bool from_real; /* in has real numbers */
  bool to_real;   /* in has half of the numbers, out gets real ones */
  int shares;     /* threads that share the line */
  int64_t results;
} st_fft_convolved;

/* Bytes of scratch memory, which is aligned to cache lines. */
int64_t st__fft_chirp_bytes(const st_fft_plan *p, bool is_double, int shares);
/* in and out may be the same. */
st_status st__fft_convolve(const st_fft_convolved *c, const char *in,
                           char *out, char *scratch);

#endif
