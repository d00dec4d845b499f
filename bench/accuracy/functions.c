/* Measures the errors of the functions of core/kernel/math/functions.def in
 * units of the last place: of float32 over all 2^32 arguments, against the C
 * library's function in double; of float64 over N random arguments, against
 * that in long double. Prints the largest error, where it is, and how many
 * results are wrong where there is no error to measure: NaN, infinities, zeros
 * and their signs. For functions of two numbers, both types have N pairs of
 * arguments.
 *
 *   cc -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math \
 *      -fopenmp -Icore bench/accuracy/functions.c -lm -o build/functions &&
 *     build/functions [N [NAME...]]   (ten minutes for 10^8 of all)
 *
 * float32 or float64 as a NAME measures that type only.
 */
#include "kernel/expression.h"
#include "kernel/math/far_angle.h"

#include <stdio.h>
#include <stdlib.h>

#define UNARY(M) \
  M(exp) M(exp2) M(expm1) M(log) M(log2) M(log10) M(log1p) M(tanh) M(sinh) \
  M(cosh) M(asinh) M(acosh) M(atanh) M(sin) M(cos) M(tan) M(asin) M(acos) \
  M(atan) M(erf) M(erfc) M(cbrt)
/* Functions that the C library lacks, and what they are compared with; exp(-a)
 * may overflow. */
#define FORMULAS(M) \
  M(rsqrt, F(rsqrt)(a), 1 / sqrt(a)) \
  M(sigmoid, F(sigmoid)(a), 1 / (1 + exp(-a))) \
  M(silu, F(silu)(a), a / (1 + exp(-a))) \
  M(softplus, F(softplus)(a), a > 50 ? a : log1p(exp(a))) \
  M(gelu, F(gelu)(a), a / 2 * NORMAL(-a)) \
  M(gelu_tanh, F(gelu_tanh)(a), a / (1 + NEARLY_NORMAL(-a))) \
  M(mish, F(mish)(a), \
    a > 50 ? a : a * (exp(a) * (exp(a) + 2) / (exp(a) * (exp(a) + 2) + 2)))
#define BINARY(M) M(pow) M(atan2) M(hypot)

#define NORMAL(x) _Generic(x, double: normal_d, long double: normal_l)(x)
#define NEARLY_NORMAL(x) \
  _Generic(x, double: nearly_normal_d, long double: nearly_normal_l)(x)

/* erfc(x / sqrt(2)), and exp(2 sqrt(2 / pi) (x + 0.044715 x^3)), whose rounding
 * errors would be multiplied by the argument's square or size: the argument is
 * y, which is rounded, and lost. */
#define NORMALS(tag, real, wide)                                          \
  static real normal_##tag(real x) {                                      \
    const wide all = x * (wide)0.707106781186547524400844362104849039Q;   \
    const real y = (real)all, lost = fabs(y) < 200 ? (real)(all - y) : 0; \
    return erfc(y) - lost * (real)1.12837916709551257389L * exp(-y * y);  \
  }                                                                       \
  static real nearly_normal_##tag(real x) {                               \
    const wide a = x, all = (wide)1.59576912160573071175978423973751905Q  \
                            * (a + (wide)0.044715Q * a * a * a);          \
    const real y = (real)all, lost = fabs(y) < 1e4 ? (real)(all - y) : 0; \
    return exp(y) * (1 + lost);                                            \
  }
NORMALS(d, double, long double)
NORMALS(l, long double, __float128)

enum { CHUNK = 4096 };

typedef struct function {
  const char *name;
  void (*f4)(float *, const float *, const float *);
  void (*f8)(double *, const double *, const double *);
  double (*d1)(double);
  long double (*l1)(long double);
  double (*d2)(double, double);
  long double (*l2)(long double, long double);
} function;

#define LOOP(name, tag, T, ...)                                       \
  static void name##_##tag(T *out, const T *x, const T *y) {          \
    (void)y;                                                          \
    _Pragma("omp simd")                                               \
    for (int i = 0; i < CHUNK; i++) out[i] = st_##name##_##tag(__VA_ARGS__); }
#define LOOPS_1(name) LOOP(name, f4, float, x[i]) LOOP(name, f8, double, x[i])
#define LOOPS_2(name) LOOP(name, f4, float, x[i], y[i]) \
  LOOP(name, f8, double, x[i], y[i])
UNARY(LOOPS_1)
BINARY(LOOPS_2)

#define FORMULA_LOOP(name, tag, real, ...)                            \
  static void name##_##tag(real *out, const real *x, const real *y) { \
    typedef real T;                                                   \
    (void)y;                                                          \
    _Pragma("omp simd")                                               \
    for (int i = 0; i < CHUNK; i++) {                                 \
      const T a = x[i];                                               \
      out[i] = __VA_ARGS__;                                           \
    } }
#define FORMULA_LOOPS(name, formula, want)                       \
  FORMULA_LOOP(name, f4, float, formula)                         \
  FORMULA_LOOP(name, f8, double, formula)                        \
  static double name##_d(double a) { return want; }              \
  static long double name##_l(long double a) { return want; }
FORMULAS(FORMULA_LOOPS)

/* The names without a following parenthesis are the C library's. */
#define ROW_1(name) {#name, name##_f4, name##_f8, name, name##l, NULL, NULL},
#define ROW_2(name) {#name, name##_f4, name##_f8, NULL, NULL, name, name##l},
#define ROW_FORMULA(name, formula, want) \
  {#name, name##_f4, name##_f8, name##_d, name##_l, NULL, NULL},
static const function functions[] = {
  UNARY(ROW_1) FORMULAS(ROW_FORMULA) BINARY(ROW_2)};

typedef struct worst { double error, x, y; long nwrong; } worst;

/* want is more precise than got, whose type has `bits` bits of mantissa and
 * the least exponent `least`; shown is want in that type. */
static void compare(worst *w, double x, double y, double got, long double want,
                    double shown, int bits, int least) {
  if (isnan(got) || isnan(shown) || isinf(got) || isinf(shown) || want == 0) {
    const int both = isnan(got) && isnan(shown);
    /* half a unit at most lies between the largest number and infinity */
    const double most = bits == 24 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    const int is_end = (isinf(got) || isinf(shown)) &&
                       fabsl(want) > most && fabs(got) >= most;
    if (!both && !is_end &&
        (got != shown || signbit(got) != signbit(shown))) w->nwrong++;
    return;
  }
  int exponent;
  frexpl(want, &exponent);
  if (exponent < least) exponent = least;
  const double error = (double)(fabsl((long double)got - want) /
                                ldexpl(1, exponent - bits));
  if (error > w->error) w->error = error, w->x = x, w->y = y;
}

/* The same for float32, in double: true if there is an error to measure. */
static int measure(worst *w, float x, float got, double want) {
  uint64_t bits;
  double unit;
  const double size = fabs(want);
  if (!(size < 0x1.fffffep127 && size > 0) || !isfinite(got)) return 0;
  memcpy(&bits, &want, sizeof bits);
  const uint64_t exponent = bits >> 52 & 0x7ff, least = 1023 - 126;
  bits = ((exponent < least ? least : exponent) - 23) << 52;
  memcpy(&unit, &bits, sizeof unit);
  const double error = fabs(got - want) / unit;
  if (error > w->error) w->error = error, w->x = x;
  return 1;
}

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
  return *s;
}

/* Of all bits, of some size, or one of the special numbers. */
static double argument(uint64_t *s) {
  static const double special[] = {
    0, -0.0, 1, -1, 2, -2, .5, -.5, 3, -3, INFINITY, -INFINITY, NAN, 1e308,
    -1e308, 5e-324, -5e-324, 1e-310, 8388609, 16777217, 4503599627370497.,
    9007199254740993., 1e30, -1e30, 3.4e38, 1e-40};
  const uint64_t bits = next_random(s), how = next_random(s);
  const double unit = (double)(int64_t)bits * 0x1p-63;
  double x;
  switch (how % 8) {
    case 0: memcpy(&x, &bits, sizeof x); return x;
    case 1: return special[how / 8 % (sizeof special / sizeof *special)];
    case 2: return unit * 800;
    case 3: return unit * 30;
    case 4: return 1 + unit * .02;
    case 5: return (double)(int)(unit * 1e6) * 1.57079632679489661923;
    default: return unit * 2;
  }
}

/* far_angle.h reduces the larger ones. */
static int is_angle(const char *name) {
  return !strcmp(name, "sin") || !strcmp(name, "cos") || !strcmp(name, "tan");
}

#define FAR(tag, T)                                                    \
  static void far_##tag(const char *name, T *out, const T *x) {        \
    for (int i = 0; i < CHUNK; i++) {                                  \
      if (!(fabs(x[i]) > ST_FAR_##tag)) continue;                      \
      out[i] = *name == 's' ? st_far_sin_##tag(x[i])                   \
             : *name == 'c' ? st_far_cos_##tag(x[i])                   \
                            : st_far_tan_##tag(x[i]);                  \
    }                                                                  \
  }
FAR(f4, float)
FAR(f8, double)

static void merge(worst *to, const worst *w) {
  if (w->error > to->error) to->error = w->error, to->x = w->x, to->y = w->y;
  to->nwrong += w->nwrong;
}

static worst all_floats(const function *f) {
  worst all = {0, 0, 0, 0};
  #pragma omp parallel for schedule(dynamic, 64)
  for (int64_t k = 0; k < (int64_t)1 << 20; k++) {
    float x[CHUNK], out[CHUNK];
    worst w = {0, 0, 0, 0};
    for (uint32_t i = 0; i < CHUNK; i++) {
      const uint32_t bits = (uint32_t)k * CHUNK + i;
      memcpy(&x[i], &bits, sizeof bits);
    }
    f->f4(out, x, x);
    if (is_angle(f->name)) far_f4(f->name, out, x);
    for (int i = 0; i < CHUNK; i++) {
      const double want = f->d1(x[i]);
      if (measure(&w, x[i], out[i], want)) continue;
      compare(&w, x[i], 0, out[i], want, (float)want, 24, -125);
    }
    #pragma omp critical
    merge(&all, &w);
  }
  return all;
}

static worst some(const function *f, int64_t n, int is_float) {
  worst all = {0, 0, 0, 0};
  #pragma omp parallel for schedule(dynamic, 64)
  for (int64_t k = 0; k < n / CHUNK; k++) {
    double x[CHUNK], y[CHUNK], out[CHUNK];
    float x4[CHUNK], y4[CHUNK], out4[CHUNK];
    worst w = {0, 0, 0, 0};
    uint64_t s = (uint64_t)(k + 1) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < CHUNK; i++) {
      x[i] = argument(&s), y[i] = argument(&s);
      x4[i] = (float)x[i], y4[i] = (float)y[i];
      if (is_float) x[i] = x4[i], y[i] = y4[i];
    }
    if (is_float) f->f4(out4, x4, y4);
    else f->f8(out, x, y);
    if (is_angle(f->name)) far_f8(f->name, out, x);
    for (int i = 0; i < CHUNK; i++) {
      const long double want = f->l1 ? f->l1(x[i]) : f->l2(x[i], y[i]);
      if (is_float) {
        compare(&w, x[i], y[i], out4[i], want, (float)want, 24, -125);
      } else {
        compare(&w, x[i], y[i], out[i], want, (double)want, 53, -1021);
      }
    }
    #pragma omp critical
    merge(&all, &w);
  }
  return all;
}

static void print(const char *type, const function *f, const worst *w) {
  printf("%-8s%-8s%.4f at %a", f->name, type, w->error, w->x);
  if (f->l2) printf(", %a", w->y);
  printf("; %ld wrong\n", w->nwrong);
  fflush(stdout);
}

/* Splits names into functions and types, 1 for float32, 2 for float64, which
 * have bits. No names select all. */
static int select_names(int n, char **names, char *is_selected) {
  int types = 0, nnames = 0;
  for (int i = 0; i < n; i++) {
    if (!strcmp(names[i], "float32")) types |= 1;
    else if (!strcmp(names[i], "float64")) types |= 2;
    else names[nnames++] = names[i];
  }
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    is_selected[k] = nnames == 0;
    for (int i = 0; i < nnames; i++) {
      is_selected[k] |= !strcmp(functions[k].name, names[i]);
    }
  }
  return types ? types : 3;
}

int main(int n, char **args) {
  const int64_t count = n > 1 ? (int64_t)atof(args[1]) : 100000000;
  char is_selected[sizeof functions / sizeof *functions];
  const int types = select_names(n - 2, args + 2, is_selected);
  int failed = 0;
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    const function *f = &functions[k];
    for (int is_float = 1; is_float >= 0; is_float--) {
      if (!is_selected[k] || !(types & (is_float ? 1 : 2))) continue;
      const worst w = is_float && f->d1 ? all_floats(f)
                                        : some(f, count, is_float);
      print(is_float ? "float32" : "float64", f, &w);
      failed |= w.error > 1 || w.nwrong;
    }
  }
  return failed;
}
