/* The kernel frexp: mantissa and exponent of each element, as two outputs.
 */

#include <math.h>

#include "kernel/kernel.h"

#define SAME(x) (x)
#define AT(T, p) (*(T *)(p))

/* Operands: mantissa, int32 exponent (both outputs), input. */
#define FREXP(tag, T, LOAD, STORE, split)                                    \
  static void frexp_##tag(char **data, const int64_t *s, int64_t n0,         \
                          int64_t n1, const void *ctx) {                     \
    (void)ctx;                                                               \
    for (int64_t j = 0; j < n1; j++) {                                       \
      char *m = data[0] + j * s[3], *e = data[1] + j * s[4];                 \
      const char *x = data[2] + j * s[5];                                    \
      for (int64_t i = 0; i < n0; i++, m += s[0], e += s[1], x += s[2]) {    \
        int exponent = 0;                                                    \
        AT(T, m) = STORE(split(LOAD(AT(const T, x)), &exponent));            \
        AT(int32_t, e) = exponent;                                           \
      }                                                                      \
    }                                                                        \
  }

FREXP(f2, uint16_t, st__half_to_float, st__float_to_half, frexpf)
FREXP(bf, uint16_t, st__bf16_to_float, st__float_to_bf16, frexpf)
FREXP(f4, float, SAME, SAME, frexpf)
FREXP(f8, double, SAME, SAME, frexp)

static const st_kernel_row rows[] = {
  {ST_K_frexp,
   {[ST_FLOAT16] = frexp_f2, [ST_BFLOAT16] = frexp_bf,
    [ST_FLOAT32] = frexp_f4, [ST_FLOAT64] = frexp_f8}},
};

ST_EXPORT(st__frexp, rows)
