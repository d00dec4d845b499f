/* One result of one operator.
 *
 * Floats are computed as doubles, and where the operator computes in float32
 * each step is rounded to that: of one addition, product, quotient or root of
 * floats this gives what float32 arithmetic gives. The half types compute in
 * float32. There are no fused steps.
 */

#include "property.h"

#include <complex.h>
#include <math.h>

#ifndef CMPLX /* glibc has them for GCC alone */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#define CMPLXF(re, im) __builtin_complex((float)(re), (float)(im))
#endif

/* -- Integers and bool ---------------------------------------------------- */

static whole divide(whole a, whole b) {
  return b == -1 ? -a : b ? a / b : 0;
}

static whole modulo(whole a, whole b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

/* Rounded towards -infinity, and what that leaves. */
static whole divide_down(whole a, whole b) {
  return divide(a, b) - (modulo(a, b) != 0 && (a < 0) != (b < 0));
}

static whole modulo_down(whole a, whole b) {
  const whole m = modulo(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static whole shift(st_dtype d, whole a, whole b, bool left) {
  const int width = 8 * (int)st_dtype_size(d);
  if (b >= 0 && b < width) return left ? (whole)((natural)a << b) : a >> b;
  return left || a >= 0 ? 0 : -1;
}

static natural gcd(natural a, natural b) { return b ? gcd(b, a % b) : a; }

static natural size_of(whole a) {
  return a < 0 ? 0 - (natural)a : (natural)a;
}

/* Modulo 2^128; the caller wraps. */
static whole integer(opcode op, st_dtype d, const whole *x, const whole *p) {
  const whole a = x[0], b = x[1], c = x[2];
  const natural ua = (natural)a, ub = (natural)b, uc = (natural)c;
  const natural up = (natural)p[0];
  switch (op) {
    case OP_ADD: return (whole)(ua + up * ub);
    case OP_SUB: return (whole)(ua - up * ub);
    case OP_RSUB: return (whole)(ub - up * ua);
    case OP_MUL: return (whole)(ua * ub);
    case OP_SQUARE: return (whole)(ua * ua);
    case OP_ADDCMUL: return (whole)(ua + up * ub * uc);
    case OP_DIV_TRUNC: return divide(a, b);
    case OP_DIV_FLOOR: return divide_down(a, b);
    case OP_FMOD: return modulo(a, b);
    case OP_REMAINDER: return modulo_down(a, b);
    case OP_MAXIMUM: case OP_FMAX: case OP_CLAMP_TENSOR: {
      const whole low = a > b ? a : b;
      return op != OP_CLAMP_TENSOR || low < c ? low : c;
    }
    case OP_MINIMUM: case OP_FMIN: case OP_CLAMP_TENSOR_MAX:
      return a < b ? a : b;
    case OP_CLAMP: case OP_CLAMP_MIN: {
      const whole low = a > p[0] ? a : p[0];
      return op != OP_CLAMP || low < p[1] ? low : p[1];
    }
    case OP_CLAMP_MAX: return a < p[0] ? a : p[0];
    case OP_HEAVISIDE: return a == 0 ? b : a > 0;
    case OP_PRELU: return a > 0 ? a : (whole)(ua * ub);
    case OP_AND: return a & b;
    case OP_OR: return a | b;
    case OP_XOR: return a ^ b;
    case OP_NOT: return d == ST_BOOL ? !a : ~a;
    case OP_LSHIFT: return shift(d, a, b, true);
    case OP_RSHIFT: return shift(d, a, b, false);
    case OP_GCD: return (whole)gcd(size_of(a), size_of(b));
    case OP_NEG: return (whole)(0 - ua);
    case OP_ABS: return (whole)size_of(a);
    case OP_SIGN: return (a > 0) - (a < 0);
    case OP_RELU: return a > 0 ? a : 0;
    case OP_ISNAN: case OP_ISINF: return 0;
    case OP_ISFINITE: return 1;
    case OP_SIGNBIT: return a < 0;
    default: return a; /* floor, ceil, trunc, round */
  }
}

static bool compare(opcode op, double a, double b) {
  switch (op) {
    case OP_EQ: return a == b;
    case OP_NE: return a != b;
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_GT: return a > b;
    default: return a >= b;
  }
}

static bool compare_integers(opcode op, whole a, whole b) {
  return compare(op, (a > b) - (a < b), 0);
}

static bool logical(opcode op, bool a, bool b) {
  switch (op) {
    case OP_LOGICAL_AND: return a && b;
    case OP_LOGICAL_OR: return a || b;
    case OP_LOGICAL_XOR: return a != b;
    default: return !a;
  }
}

/* -- Floats --------------------------------------------------------------- */

static double as(bool single, double x) { return single ? (float)x : x; }
#define R(x) as(single, x)

static double floor_quotient(bool single, double a, double b) {
  if (b == 0) return R(a / b);
  const double m = fmod(a, b);
  const double q = R(R(R(a - m) / b) - (m != 0 && (b < 0) != (m < 0)));
  const double f = floor(q);
  return q == 0 ? copysign(0, R(a / b)) : R(q - f) > 0.5 ? R(f + 1) : f;
}

static double floor_rest(bool single, double a, double b) {
  const double m = fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? R(m + b) : m;
}

/* From the nearer end, so that weights 0 and 1 give the ends. */
static double mix(bool single, double a, double b, double w) {
  return fabs(w) < 0.5 ? R(a + R(w * R(b - a)))
                       : R(b - R(R(b - a) * R(1 - w)));
}

static double between(double a, double low, double high) {
  const double y = a > low ? a : low;
  return a != a ? a : low != low ? low : y < high ? y : high;
}

static double choice(opcode op, double a, double b) {
  switch (op) {
    case OP_MAXIMUM: case OP_CLAMP_TENSOR: return a > b || a != a ? a : b;
    case OP_MINIMUM: case OP_CLAMP_TENSOR_MAX:
      return a < b || a != a ? a : b;
    case OP_FMAX: return a >= b || b != b ? a : b;
    case OP_FMIN: return a <= b || b != b ? a : b;
    case OP_CLAMP_MIN: return a < b || b != b ? b : a;
    default: return a > b || b != b ? b : a;
  }
}

static double one_float(opcode op, bool single, double a) {
  switch (op) {
    case OP_NEG: return -a;
    case OP_ABS: return fabs(a);
    case OP_SIGN: return (a > 0) - (a < 0);
    case OP_SQUARE: return R(a * a);
    case OP_FLOOR: return floor(a);
    case OP_CEIL: return ceil(a);
    case OP_TRUNC: return trunc(a);
    case OP_ROUND: return rint(a);
    case OP_FRAC: return R(a - trunc(a));
    case OP_SQRT: return R(sqrt(a));
    case OP_RECIPROCAL: return R(1 / a);
    case OP_RELU: return a <= 0 ? 0 : a;
    default: return a;
  }
}

static double more_floats(opcode op, bool single, const double *x,
                          const double *p) {
  const double a = x[0], b = x[1], c = x[2];
  switch (op) {
    case OP_ADD: return R(a + R(p[0] * b));
    case OP_SUB: return R(a - R(p[0] * b));
    case OP_RSUB: return R(b - R(p[0] * a));
    case OP_MUL: return R(a * b);
    case OP_DIV: return R(a / b);
    case OP_DIV_TRUNC: return trunc(R(a / b));
    case OP_DIV_FLOOR: return floor_quotient(single, a, b);
    case OP_FMOD: return fmod(a, b);
    case OP_REMAINDER: return floor_rest(single, a, b);
    case OP_HEAVISIDE: return a == 0 ? b : a > 0;
    case OP_PRELU: return a > 0 ? a : R(a * b);
    case OP_COPYSIGN: return copysign(a, b);
    case OP_ADDCMUL: return R(a + R(R(p[0] * b) * c));
    case OP_ADDCDIV: return R(a + R(R(p[0] * b) / c));
    case OP_LERP: return mix(single, a, b, c);
    case OP_LERP_NUMBER: return mix(single, a, b, p[0]);
    case OP_CLAMP: return between(a, p[0], p[1]);
    case OP_CLAMP_MIN: case OP_CLAMP_MAX: return choice(op, a, p[0]);
    case OP_CLAMP_TENSOR: return between(a, b, c);
    default: return choice(op, a, b);
  }
}

static bool of_floats(opcode op, double a) {
  switch (op) {
    case OP_ISNAN: return a != a;
    case OP_ISINF: return isinf(a) != 0;
    case OP_ISFINITE: return isfinite(a) != 0;
    default: return signbit(a) != 0;
  }
}

/* -- Complex numbers ------------------------------------------------------ */

static number pair(double re, double im) {
  return (number){.re = re, .im = im};
}

/* A part of a complex64 is rounded once: products of floats are exact. */
static number times(bool single, number x, number y) {
  return pair(R(x.re * y.re - x.im * y.im), R(x.re * y.im + x.im * y.re));
}

static number plus(bool single, number x, number y) {
  return pair(R(x.re + y.re), R(x.im + y.im));
}

static number minus(bool single, number x, number y) {
  return pair(R(x.re - y.re), R(x.im - y.im));
}

/* Smith's way: by the larger part of the divisor. */
static number over(bool single, number x, number y) {
  const double a = x.re, b = x.im, c = y.re, d = y.im;
  if (fabs(c) >= fabs(d)) {
    if (c == 0) return pair(R(a / fabs(c)), R(b / fabs(d)));
    const double r = R(d / c), s = R(1 / R(c + R(d * r)));
    return pair(R(R(a + R(b * r)) * s), R(R(b - R(a * r)) * s));
  }
  const double r = R(c / d), s = R(1 / R(R(c * r) + d));
  return pair(R(R(R(a * r) + b) * s), R(R(R(b * r) - a) * s));
}

static double absolute(bool single, number x) {
  if (single) return cabsf(CMPLXF(x.re, x.im));
  return cabs(CMPLX(x.re, x.im));
}

static number root(bool single, number x) {
  if (single) {
    const float _Complex r = csqrtf(CMPLXF(x.re, x.im));
    return pair(crealf(r), cimagf(r));
  }
  const double _Complex r = csqrt(CMPLX(x.re, x.im));
  return pair(creal(r), cimag(r));
}

static number mix_complex(bool single, number a, number b, number w) {
  const number way = minus(single, b, a);
  if (absolute(single, w) < 0.5) return plus(single, a, times(single, w, way));
  const number back = minus(single, pair(1, 0), w);
  return minus(single, b, times(single, way, back));
}

static number complex_number(opcode op, bool single, const number *x,
                             const number *p) {
  const number a = x[0], b = x[1], c = x[2];
  const bool plain = p[0].re == 1 && p[0].im == 0;
  switch (op) {
    case OP_ADD: return plus(single, a, plain ? b : times(single, p[0], b));
    case OP_SUB: return minus(single, a, plain ? b : times(single, p[0], b));
    case OP_RSUB: return minus(single, b, plain ? a : times(single, p[0], a));
    case OP_MUL: return times(single, a, b);
    case OP_SQUARE: return times(single, a, a);
    case OP_DIV: return over(single, a, b);
    case OP_RECIPROCAL: return over(single, pair(1, 0), a);
    case OP_SQRT: return root(single, a);
    case OP_ADDCMUL:
      return plus(single, a, times(single, times(single, p[0], b), c));
    case OP_ADDCDIV:
      return plus(single, a, over(single, times(single, p[0], b), c));
    case OP_LERP: return mix_complex(single, a, b, c);
    case OP_LERP_NUMBER: return mix_complex(single, a, b, p[0]);
    case OP_NEG: return pair(-a.re, -a.im);
    case OP_CONJ: return pair(a.re, -a.im);
    case OP_ABS: return pair(absolute(single, a), 0);
    case OP_ISNAN: return (number){.i = a.re != a.re || a.im != a.im};
    case OP_ISINF: return (number){.i = isinf(a.re) || isinf(a.im)};
    case OP_ISFINITE: return (number){.i = isfinite(a.re) && isfinite(a.im)};
    default: return a;
  }
}

/* -- Any ------------------------------------------------------------------ */

static bool is_true(st_dtype d, number x) {
  return is_integer(d) ? x.i != 0 : x.re != 0 || x.im != 0;
}

static number compare_any(opcode op, st_dtype d, number a, number b) {
  if (is_integer(d)) return (number){.i = compare_integers(op, a.i, b.i)};
  if (is_complex(d)) {
    const bool same = a.re == b.re && a.im == b.im;
    return (number){.i = op == OP_EQ ? same : !same};
  }
  return (number){.i = compare(op, a.re, b.re)};
}

number compute(opcode op, st_dtype d, const number *x, const number *p) {
  const bool single = real_of(d) != ST_FLOAT64;
  if (op >= OP_EQ && op <= OP_GE) return compare_any(op, d, x[0], x[1]);
  if (op >= OP_LOGICAL_AND && op <= OP_LOGICAL_NOT) {
    return (number){.i = logical(op, is_true(d, x[0]), is_true(d, x[1]))};
  }
  if (is_integer(d)) {
    const whole i[] = {x[0].i, x[1].i, x[2].i}, k[] = {p[0].i, p[1].i};
    return (number){.i = wrapped(d, integer(op, d, i, k))};
  }
  if (is_complex(d)) return complex_number(op, single, x, p);
  if (op >= OP_ISNAN && op <= OP_SIGNBIT) {
    return (number){.i = of_floats(op, x[0].re)};
  }
  if (op >= OP_NEG && op <= OP_CONJ) {
    return (number){.re = one_float(op, single, x[0].re)};
  }
  const double f[] = {x[0].re, x[1].re, x[2].re}, k[] = {p[0].re, p[1].re};
  return (number){.re = more_floats(op, single, f, k)};
}
