/* One element: reading, writing, converting and type promotion, in the
 * plainest C there is for it.
 */

#include "property.h"

#include <math.h>

/* -- Dtypes --------------------------------------------------------------- */

bool is_unsigned(st_dtype d) {
  return d == ST_UINT8 || d == ST_UINT16 || d == ST_UINT32 || d == ST_UINT64;
}

bool is_integer(st_dtype d) {
  return d <= ST_INT64 || d == ST_BOOL || is_unsigned(d) || d == ST_INT128;
}

bool is_float(st_dtype d) {
  return d == ST_FLOAT16 || d == ST_BFLOAT16 || d == ST_FLOAT32 ||
         d == ST_FLOAT64;
}

bool is_complex(st_dtype d) {
  return d == ST_COMPLEX64 || d == ST_COMPLEX128 || d == ST_COMPLEX32 ||
         d == ST_BCOMPLEX32;
}

st_dtype real_of(st_dtype d) {
  switch (d) {
    case ST_COMPLEX32: return ST_FLOAT16;
    case ST_BCOMPLEX32: return ST_BFLOAT16;
    case ST_COMPLEX64: return ST_FLOAT32;
    case ST_COMPLEX128: return ST_FLOAT64;
    default: return d;
  }
}

whole wrapped(st_dtype d, whole i) {
  switch (d) {
    case ST_BOOL: return i != 0;
    case ST_UINT8: return (uint8_t)i;
    case ST_INT8: return (int8_t)i;
    case ST_INT16: return (int16_t)i;
    case ST_INT32: return (int32_t)i;
    case ST_UINT16: return (uint16_t)i;
    case ST_UINT32: return (uint32_t)i;
    case ST_UINT64: return (uint64_t)i;
    default: return (int64_t)i;
  }
}

/* -- Half types ----------------------------------------------------------- */

/* A float of `digits` binary digits behind the leading one, exponents from
 * `least` on, nearest and ties to even. */
static double rounded(double x, int digits, int least) {
  int e;
  if (x == 0 || x != x || isinf(x)) return x;
  frexp(x, &e);
  e = e - 1 < least ? least : e - 1;
  return ldexp(rint(ldexp(x, digits - e)), e - digits);
}

static uint16_t half_bits(float f) {
  const double x = fabs(rounded(f, 10, -14));
  const unsigned sign = signbit(f) ? 0x8000 : 0;
  int e;
  if (f != f) return 0x7e00;
  if (x > 65504) return (uint16_t)(sign | 0x7c00);
  frexp(x, &e);
  if (x < 0x1p-14) return (uint16_t)(sign | (unsigned)ldexp(x, 24));
  return (uint16_t)(sign | (unsigned)(e + 14) << 10 |
                    ((unsigned)ldexp(x, 11 - e) & 0x3ff));
}

static float half_value(uint16_t h) {
  const int e = h >> 10 & 31, m = h & 0x3ff;
  const double x = e == 31 ? (m ? NAN : INFINITY)
                 : e == 0  ? ldexp(m, -24)
                           : ldexp(m + 1024, e - 25);
  return (float)(h & 0x8000 ? -x : x);
}

static uint16_t brain_bits(float f) {
  const float x = (float)rounded(f, 7, -126);
  uint32_t u;
  if (f != f) return 0x7fc0;
  memcpy(&u, &x, sizeof u);
  return (uint16_t)(u >> 16);
}

static float brain_value(uint16_t h) {
  const uint32_t u = (uint32_t)h << 16;
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

/* -- Memory --------------------------------------------------------------- */

#define READ(T) (*(T *)memcpy(&(T){0}, p, sizeof(T)))
#define WRITE(T, value) memcpy(p, &(T){(T)(value)}, sizeof(T))

number load(st_dtype d, const void *p) {
  switch (d) {
    case ST_BOOL: return (number){.i = READ(uint8_t) != 0};
    case ST_UINT8: return (number){.i = READ(uint8_t)};
    case ST_INT8: return (number){.i = READ(int8_t)};
    case ST_INT16: return (number){.i = READ(int16_t)};
    case ST_INT32: return (number){.i = READ(int32_t)};
    case ST_INT64: return (number){.i = READ(int64_t)};
    case ST_UINT16: return (number){.i = READ(uint16_t)};
    case ST_UINT32: return (number){.i = READ(uint32_t)};
    case ST_UINT64: return (number){.i = READ(uint64_t)};
    case ST_FLOAT16: return (number){.re = half_value(READ(uint16_t))};
    case ST_BFLOAT16: return (number){.re = brain_value(READ(uint16_t))};
    case ST_FLOAT32: return (number){.re = READ(float)};
    case ST_FLOAT64: return (number){.re = READ(double)};
    case ST_COMPLEX64: {
      float c[2];
      memcpy(c, p, sizeof c);
      return (number){.re = c[0], .im = c[1]};
    }
    case ST_COMPLEX32: case ST_BCOMPLEX32: {
      const number re = load(real_of(d), p);
      return (number){.re = re.re,
                      .im = load(real_of(d), (const char *)p + 2).re};
    }
    default: {
      double c[2];
      memcpy(c, p, sizeof c);
      return (number){.re = c[0], .im = c[1]};
    }
  }
}

void store(st_dtype d, number x, void *p) {
  switch (d) {
    case ST_BOOL: WRITE(uint8_t, x.i != 0); break;
    case ST_UINT8: WRITE(uint8_t, x.i); break;
    case ST_INT8: WRITE(int8_t, x.i); break;
    case ST_INT16: WRITE(int16_t, x.i); break;
    case ST_INT32: WRITE(int32_t, x.i); break;
    case ST_INT64: WRITE(int64_t, x.i); break;
    case ST_UINT16: WRITE(uint16_t, x.i); break;
    case ST_UINT32: WRITE(uint32_t, x.i); break;
    case ST_UINT64: WRITE(uint64_t, x.i); break;
    case ST_FLOAT16: WRITE(uint16_t, half_bits((float)x.re)); break;
    case ST_BFLOAT16: WRITE(uint16_t, brain_bits((float)x.re)); break;
    case ST_FLOAT32: WRITE(float, x.re); break;
    case ST_FLOAT64: WRITE(double, x.re); break;
    case ST_COMPLEX64: {
      const float c[2] = {(float)x.re, (float)x.im};
      memcpy(p, c, sizeof c);
      break;
    }
    case ST_COMPLEX32: case ST_BCOMPLEX32:
      store(real_of(d), x, p);
      store(real_of(d), (number){.re = x.im}, (char *)p + 2);
      break;
    default: {
      const double c[2] = {x.re, x.im};
      memcpy(p, c, sizeof c);
    }
  }
}

number negative(st_dtype d, number x) {
  const whole i = wrapped(d, -x.i);
  return (number){i, -x.re, is_complex(d) ? -x.im : 0};
}

static bool same_float(double a, double b) {
  return (a != a && b != b) || (a == b && signbit(a) == signbit(b));
}

bool same_number(st_dtype d, const void *a, const void *b) {
  if (is_integer(d)) return memcmp(a, b, st_dtype_size(d)) == 0;
  const number x = load(d, a), y = load(d, b);
  return same_float(x.re, y.re) && same_float(x.im, y.im);
}

void print_number(FILE *f, st_dtype d, const void *p) {
  const number x = load(d, p);
  const unsigned char *byte = p;
  if (d == ST_UINT64) fprintf(f, "%llu", (unsigned long long)x.i);
  else if (is_integer(d)) fprintf(f, "%lld", (long long)x.i);
  else fprintf(f, "%.17g", x.re);
  if (is_complex(d)) fprintf(f, "%+.17gi", x.im);
  fprintf(f, " (0x");
  for (int i = (int)st_dtype_size(d) - 1; i >= 0; i--) {
    fprintf(f, "%02x", byte[i]);
  }
  fprintf(f, ")");
}

/* -- Conversions ---------------------------------------------------------- */

/* Beyond the range, and for NaN, the least integer: what x86 answers. For
 * uint64, numbers from 2^63 on are cut 2^63 lower. */
static int64_t cut64(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static int64_t cut32(double x) {
  return x > -2147483649.0 && x < 2147483648.0 ? (int64_t)x : INT32_MIN;
}

static whole cut64_unsigned(double x) {
  return x >= 0x1p63 ? cut64(x - 0x1p63) + (whole)0x1p63 : cut64(x);
}

/* Narrow integers are cut from 32 bits, uint32 and uint8 of a double from
 * 64. */
static whole to_integer(number x, st_dtype from, st_dtype to) {
  if (is_integer(from)) return wrapped(to, x.i);
  if (to == ST_BOOL) return x.re != 0 || x.im != 0;
  const bool is_double = real_of(from) == ST_FLOAT64;
  const bool wide = to == ST_INT64 || to == ST_UINT32 ||
                    (to == ST_UINT8 && is_double);
  if (to == ST_UINT64) return wrapped(to, cut64_unsigned(x.re));
  return wrapped(to, wide ? cut64(x.re) : cut32(x.re));
}

/* Rounded as the memory of dtype d has it. */
static double in_memory(st_dtype d, double x) {
  switch (real_of(d)) {
    case ST_FLOAT16: return half_value(half_bits((float)x));
    case ST_BFLOAT16: return brain_value(brain_bits((float)x));
    case ST_FLOAT32: return (float)x;
    default: return x;
  }
}

/* An integer is rounded once when it becomes a float32. */
static double to_float(whole i, st_dtype to) {
  if (to == ST_FLOAT64 || to == ST_COMPLEX128) return (double)i;
  return (double)(float)i;
}

number convert(number x, st_dtype from, st_dtype to) {
  if (from == to) return x;
  if (is_integer(to)) return (number){.i = to_integer(x, from, to)};
  if (is_integer(from)) x = (number){.re = to_float(x.i, to)};
  x.re = in_memory(to, x.re);
  x.im = is_complex(to) ? in_memory(to, x.im) : 0;
  return x;
}

/* -- Plain numbers -------------------------------------------------------- */

st_dtype widest(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_BOOL: return ST_BOOL;
    case ST_SCALAR_INT: return ST_INT64;
    case ST_SCALAR_UINT: return ST_UINT64;
    case ST_SCALAR_FLOAT: return ST_FLOAT64;
    default: return ST_COMPLEX128;
  }
}

number number_of(st_scalar s) {
  switch (s.kind) {
    case ST_SCALAR_FLOAT: return (number){.re = s.u.f};
    case ST_SCALAR_COMPLEX: return (number){.re = s.u.c[0], .im = s.u.c[1]};
    case ST_SCALAR_UINT: return (number){.i = s.u.u};
    default: return (number){.i = s.u.i};
  }
}

static bool is_whole(st_scalar s) {
  return s.kind == ST_SCALAR_INT || s.kind == ST_SCALAR_UINT;
}

static bool float_fits(double x, st_dtype d) {
  const double most = real_of(d) == ST_FLOAT16 ? 65504
                    : real_of(d) == ST_BFLOAT16 ? 0x1.fep127
                    : real_of(d) == ST_FLOAT32 ? 0x1.fffffep127 : INFINITY;
  return x != x || isinf(x) || fabs(x) <= most;
}

/* Negative numbers may wrap into unsigned dtypes, but for those further from 0
 * than the greatest number. */
bool fits(st_scalar s, st_dtype d) {
  const number x = number_of(s);
  if (d == ST_BOOL || s.kind == ST_SCALAR_BOOL) return true;
  if (!is_complex(d) && x.im != 0) return false;
  if (!is_integer(d)) {
    return float_fits(is_whole(s) ? (double)x.i : x.re, d) &&
           float_fits(x.im, d);
  }
  if (is_whole(s)) {
    return wrapped(d, x.i) == x.i ||
           (is_unsigned(d) && x.i < 0 && wrapped(d, -x.i) == -x.i);
  }
  const int bits = 8 * (int)st_dtype_size(d) - !is_unsigned(d);
  const double low = is_unsigned(d) ? 0 : -ldexp(1, bits);
  const double end = ldexp(1, bits); /* the first that is too large */
  return x.re >= low && x.re < end && (bits > 53 || x.re <= end - 1);
}

/* -- Promotion ------------------------------------------------------------ */

bool can_cast(st_dtype from, st_dtype to) {
  if (is_complex(from)) return is_complex(to);
  if (is_float(from)) return !is_integer(to);
  return from == ST_BOOL || to != ST_BOOL;
}

/* bool, integer, float, complex */
static int category(st_dtype d) {
  return d == ST_BOOL ? 0 : is_integer(d) ? 1 : is_float(d) ? 2 : 3;
}

static st_dtype complex_of(st_dtype d) {
  return d == ST_FLOAT16 ? ST_COMPLEX32
       : d == ST_BFLOAT16 ? ST_BCOMPLEX32
       : d == ST_FLOAT64 || d == ST_COMPLEX128 ? ST_COMPLEX128
       : d == ST_COMPLEX32 || d == ST_BCOMPLEX32 ? d : ST_COMPLEX64;
}

/* The narrowest dtype that holds the numbers of both. */
static st_dtype integers(st_dtype a, st_dtype b) {
  static const st_dtype wider[] = {ST_UINT8, ST_INT8, ST_UINT16, ST_INT16,
                                   ST_UINT32, ST_INT32, ST_UINT64, ST_INT64};
  for (int i = 0; i < 8 && a != ST_INT128 && b != ST_INT128; i++) {
    bool holds = true;
    for (int k = 0; k < 2; k++) {
      const st_dtype d = k ? a : b;
      const whole most = ((whole)1 << (8 * st_dtype_size(d) -
                                       !is_unsigned(d))) - 1;
      const whole least = is_unsigned(d) ? 0 : -most - 1;
      holds = holds && wrapped(wider[i], most) == most &&
              wrapped(wider[i], least) == least;
    }
    if (holds) return wider[i];
  }
  return ST_INT128;
}

/* The dtype both convert to; ST_DTYPE_NONE is nothing. */
static st_dtype promote(st_dtype a, st_dtype b) {
  if (a == ST_DTYPE_NONE || a == b) return b;
  if (b == ST_DTYPE_NONE) return a;
  if (category(a) < category(b)) return promote(b, a);
  if (category(a) == 3) {
    if (category(b) < 2) return a;
    const st_dtype c = complex_of(b);
    return a == ST_COMPLEX128 || c == ST_COMPLEX128 ? ST_COMPLEX128
         : a == c ? a : ST_COMPLEX64;
  }
  if (category(a) != category(b)) return a;
  if (category(a) == 2) {
    return a == ST_FLOAT64 || b == ST_FLOAT64 ? ST_FLOAT64 : ST_FLOAT32;
  }
  return integers(a, b);
}

static st_dtype combine(st_dtype high, st_dtype low) {
  if (high == ST_DTYPE_NONE || low == ST_DTYPE_NONE) return promote(high, low);
  if (category(high) >= category(low)) return high;
  if (category(low) == 3 && category(high) == 2) return complex_of(high);
  return low;
}

/* A higher rank alone decides within its category; plain floats are float32,
 * the default. */
st_dtype result_type(const typed *t, int n) {
  st_dtype rank[3] = {ST_DTYPE_NONE, ST_DTYPE_NONE, ST_DTYPE_NONE};
  for (int i = 0; i < n; i++) {
    st_dtype d = t[i].dtype;
    if (t[i].rank == PLAIN && is_float(d)) d = ST_FLOAT32;
    if (t[i].rank == PLAIN && is_complex(d)) d = ST_COMPLEX64;
    rank[t[i].rank] = promote(rank[t[i].rank], d);
  }
  return combine(rank[TENSOR], combine(rank[ZERO_DIM], rank[PLAIN]));
}
