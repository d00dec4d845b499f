/* Another C library, and a system without LAPACK, for operator_bits_spec.lua:
 * preloaded, it stands before them.
 *
 * OTHER=libm: the last bit of elementary functions is another one, as in other
 * versions of the library, unless the result is a whole number, which they
 * agree on. OTHER=lapack: no library of that name, or of BLAS, is there.
 */

#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_other(const char *what) {
  const char *other = getenv("OTHER");
  return other && strcmp(other, what) == 0;
}

static void *next_of(const char *name) { return dlsym(RTLD_NEXT, name); }

/* -- Numbers -------------------------------------------------------------- */

static bool is_changed(void) {
  static int known; /* 0: not yet */
  if (known == 0) known = is_other("libm") ? 1 : 2;
  return known == 1;
}

static double change(double x) {
  if (!is_changed() || !isfinite(x) || x == rint(x)) return x;
  return nextafter(x, INFINITY);
}
static float changef(float x) {
  if (!is_changed() || !isfinite(x) || x == rintf(x)) return x;
  return nextafterf(x, INFINITY);
}
static double complex cchange(double complex z) {
  return CMPLX(change(creal(z)), change(cimag(z)));
}
static float complex cchangef(float complex z) {
  return CMPLXF(changef(crealf(z)), changef(cimagf(z)));
}

#define ONE(T, name, change)                                                 \
  T name(T x) {                                                              \
    static T (*real)(T);                                                     \
    if (!real) *(void **)&real = next_of(#name);                             \
    return change(real(x));                                                  \
  }
#define TWO(T, name, change)                                                 \
  T name(T x, T y) {                                                         \
    static T (*real)(T, T);                                                  \
    if (!real) *(void **)&real = next_of(#name);                             \
    return change(real(x, y));                                               \
  }
#define BOTH(M, name) M(double, name, change) M(float, name##f, changef)
#define COMPLEX(M, name)                                                     \
  M(double complex, name, cchange) M(float complex, name##f, cchangef)

BOTH(ONE, exp) BOTH(ONE, exp2) BOTH(ONE, expm1) BOTH(ONE, log) BOTH(ONE, log2)
BOTH(ONE, log10) BOTH(ONE, log1p) BOTH(ONE, sin) BOTH(ONE, cos) BOTH(ONE, tan)
BOTH(ONE, sinh) BOTH(ONE, cosh) BOTH(ONE, tanh) BOTH(ONE, asin) BOTH(ONE, acos)
BOTH(ONE, atan) BOTH(ONE, asinh) BOTH(ONE, acosh) BOTH(ONE, atanh)
BOTH(ONE, cbrt) BOTH(ONE, erf) BOTH(ONE, erfc) BOTH(ONE, lgamma)
BOTH(ONE, tgamma) BOTH(ONE, j0) BOTH(ONE, j1) BOTH(ONE, y0) BOTH(ONE, y1)
BOTH(TWO, pow) BOTH(TWO, atan2) BOTH(TWO, hypot)

COMPLEX(ONE, cexp) COMPLEX(ONE, clog) COMPLEX(ONE, csqrt) COMPLEX(ONE, csin)
COMPLEX(ONE, ccos) COMPLEX(ONE, ctan) COMPLEX(ONE, csinh) COMPLEX(ONE, ccosh)
COMPLEX(ONE, ctanh) COMPLEX(ONE, casin) COMPLEX(ONE, cacos)
COMPLEX(ONE, catan) COMPLEX(ONE, casinh) COMPLEX(ONE, cacosh)
COMPLEX(ONE, catanh) COMPLEX(TWO, cpow)

#define ABS(T, name, change)                                                 \
  T name(T complex z) {                                                      \
    static T (*real)(T complex);                                             \
    if (!real) *(void **)&real = next_of(#name);                             \
    return change(real(z));                                                  \
  }
BOTH(ABS, cabs) BOTH(ABS, carg)

#define LGAMMA(T, name, change)                                              \
  T name(T x, int *sign) {                                                   \
    static T (*real)(T, int *);                                              \
    if (!real) *(void **)&real = next_of(#name);                             \
    return change(real(x, sign));                                            \
  }
LGAMMA(double, lgamma_r, change) LGAMMA(float, lgammaf_r, changef)

#define SINCOS(T, name, change)                                              \
  void name(T x, T *s, T *c) {                                               \
    static void (*real)(T, T *, T *);                                        \
    if (!real) *(void **)&real = next_of(#name);                             \
    real(x, s, c);                                                           \
    *s = change(*s);                                                         \
    *c = change(*c);                                                         \
  }
BOTH(SINCOS, sincos)

/* -- Libraries ------------------------------------------------------------ */

void *dlopen(const char *name, int flags) {
  static void *(*real)(const char *, int);
  if (!real) *(void **)&real = next_of("dlopen");
  if (name && is_other("lapack") &&
      (strstr(name, "blas") || strstr(name, "lapack"))) {
    return NULL;
  }
  return real(name, flags);
}
