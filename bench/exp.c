/* Measures the error of st__expf (core/kernel/math/exp.h) in ulp, against the C
 * library's exp in double, over all floats whose result is not 0, 1 or inf. It
 * runs for some seconds.
 *
 *   cc -O3 -ffp-contract=off -fopenmp -Icore bench/exp.c -lm -o build/exp &&
 *     build/exp
 */
#include <math.h>
#include <stdio.h>

#include "kernel/math/exp.h"

static double units_off(float got, double want) {
  const float size = fabsf((float)want);
  return fabs(got - want) / (nextafterf(size, INFINITY) - size);
}

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

int main(void) {
  const uint32_t tiny = 0x33000000, most = 0x42d20000; /* 2^-25, 105 */
  double worst = 0;
  #pragma omp parallel for reduction(max : worst)
  for (uint32_t bits = tiny; bits <= most; bits++) {
    const float x = float_of(bits);
    const double below = units_off(st__expf(-x), exp(-(double)x));
    const double above = x > 88.7f ? 0 : units_off(st__expf(x), exp(x));
    worst = fmax(worst, fmax(below, above));
  }
  printf("%.4f units of the last place at most\n", worst);
  return worst > 1;
}
