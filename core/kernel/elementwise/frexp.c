/* The kernel frexp: mantissa and exponent of each element, as two outputs.
 */

#include <string.h>

#include "kernel/dtype_tables.h"

#define SAME(x) (x)

/* As frexp, without branches, so that compilers vectorise loops over it. A
 * subnormal number is scaled to a normal one. Zeros, infinities and NaN are
 * their own mantissa; their exponent is 0. digits: of the stored mantissa;
 * top: the largest exponent in memory. */
#define SPLIT(name, T, B, digits, top)                                       \
  static inline T name(T x, int32_t *exponent) {                             \
    const B unit = (B)1 << digits, sign = ~((B)-1 >> 1);                     \
    const T large = x * (T)(unit * 4);                                       \
    B u, v;                                                                  \
    memcpy(&u, &x, sizeof u), memcpy(&v, &large, sizeof v);                  \
    const B size = u & ~sign;                                                \
    const bool splits = size != 0 && size < top * unit, small = size < unit; \
    const B bits = small ? v : u, half = (top / 2 - 1) * unit;               \
    const B part = (bits & (sign | (unit - 1))) | half;                      \
    const int32_t power = (int32_t)(bits >> digits & top) - (top / 2 - 1);   \
    T y; memcpy(&y, &part, sizeof y);                                        \
    *exponent = splits ? power - (small ? digits + 2 : 0) : 0;               \
    return splits ? y : x + x;                                               \
  }
SPLIT(split_f4, float, uint32_t, 23, 255)
SPLIT(split_f8, double, uint64_t, 52, 2047)

typedef void (*frexp_row)(void *m, int32_t *e, const void *x, int64_t n);

/* Operands: mantissa, int32 exponent (both outputs), input. */
static void run_rows(char **data, const int64_t *s, int64_t n0, int64_t n1,
                     frexp_row row, int64_t size) {
  const bool dense = s[0] == size && s[1] == sizeof(int32_t) && s[2] == size;
  for (int64_t j = 0; j < n1; j++) {
    char *m = data[0] + j * s[3], *e = data[1] + j * s[4];
    const char *x = data[2] + j * s[5];
    if (dense) row(m, (int32_t *)e, x, n0);
    for (int64_t i = dense ? n0 : 0; i < n0; i++) {
      row(m + i * s[0], (int32_t *)(e + i * s[1]), x + i * s[2], 1);
    }
  }
}

#define FREXP(tag, T, LOAD, STORE, split)                                    \
  static void row_##tag(void *m, int32_t *e, const void *x, int64_t n) {     \
    T *to = m;                                                               \
    const T *from = x;                                                       \
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++)                      \
      to[i] = STORE(split(LOAD(from[i]), &e[i]));                            \
  }                                                                          \
  static ST_LOOP_FN(frexp_##tag, s) {                                        \
    run_rows(data, s, n0, n1, row_##tag, sizeof(T));                         \
  }

FREXP(f2, uint16_t, st__half_to_float, st__float_to_half, split_f4)
FREXP(bf, uint16_t, st__bf16_to_float, st__float_to_bf16, split_f4)
FREXP(f4, float, SAME, SAME, split_f4)
FREXP(f8, double, SAME, SAME, split_f8)

static const st_kernel_row rows[] = {
  {"frexp", {ST_BY_TAG(FLOAT, frexp)}},
};

ST_EXPORT(st__frexp, rows)
