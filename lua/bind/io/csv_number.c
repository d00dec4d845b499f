/* Numbers as text: decimal to binary and back, correctly rounded.
 *
 * Note [Decimal to binary]
 * A number is w * 10^e with an integer w of at most 19 digits. If w < 2^53 and
 * |e| <= 22, both w and 10^|e| are doubles, and one product or quotient of them
 * is rounded once, so it is right (Clinger, How to read floating point numbers
 * accurately, 1990; Lemire, Number parsing at a gigabyte per second, 2021,
 * begins with the same test). For |e| <= 27, 5^|e| fits into 64 bits: w * 5^e
 * fits into 128 bits, and w / 5^-e is one division of 128 bits by 64, whose
 * remainder tells on which side of a tie it lies. The powers of two are exact.
 * All other numbers are those of strtod in the C locale.
 *
 * Note [Binary to decimal]
 * A double is m * 2^e. For 0 <= k <= 27 the product N = m * 5^k is exact in 128
 * bits, and x * 10^k is N shifted. So its integer part has exact digits, 17 of
 * them for the right k, and what is cut off is exact, too. Of the
 * decimals with 15, 16 and 17 digits that are nearest to x, the first that is
 * within half a unit in the last place of x reads back as x; that test is one
 * comparison of integers. A decimal of 15 digits or less that reads back is the
 * only one of them, up to zeros at its end. Below a power of two numbers are at
 * half the distance, so the decimal above the nearest is tried, too. Numbers
 * outside of this range of exponents try 15, 16 and 17 digits by snprintf and
 * strtod.
 */
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv.h"

__extension__ typedef unsigned __int128 wide;

enum { MAX_FIVES = 27 };

static const uint64_t fives[MAX_FIVES + 1] = {
  UINT64_C(1), UINT64_C(5), UINT64_C(25), UINT64_C(125), UINT64_C(625),
  UINT64_C(3125), UINT64_C(15625), UINT64_C(78125), UINT64_C(390625),
  UINT64_C(1953125), UINT64_C(9765625), UINT64_C(48828125),
  UINT64_C(244140625), UINT64_C(1220703125), UINT64_C(6103515625),
  UINT64_C(30517578125), UINT64_C(152587890625), UINT64_C(762939453125),
  UINT64_C(3814697265625), UINT64_C(19073486328125),
  UINT64_C(95367431640625), UINT64_C(476837158203125),
  UINT64_C(2384185791015625), UINT64_C(11920928955078125),
  UINT64_C(59604644775390625), UINT64_C(298023223876953125),
  UINT64_C(1490116119384765625), UINT64_C(7450580596923828125)
};

/* -- Scanning ------------------------------------------------------------- */

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

static const char *scan_exponent(const char *p, int *exponent) {
  const bool is_negative = *p == '-';
  int e = 0;
  if (*p == '-' || *p == '+') p++;
  if (!is_digit(*p)) return NULL;
  for (; is_digit(*p); p++) {
    if (e < 100000) e = e * 10 + (*p - '0');
  }
  *exponent += is_negative ? -e : e;
  return p;
}

/* Whether the digits at p, with a point among them, are more than 19 without
 * the zeros in front. */
static bool has_many_digits(const char *p, const char *end) {
  int n = 0;
  for (; p < end; p++) {
    if (is_digit(*p) && (n > 0 || *p != '0') && ++n > 19) return true;
  }
  return false;
}

const char *st__scan_decimal(const char *p, char point, st__decimal *out) {
  uint64_t w = 0;
  int exponent = 0;
  out->is_negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  const char *first = p;
  for (; is_digit(*p); p++) w = w * 10 + (uint64_t)(*p - '0');
  ptrdiff_t n = p - first;
  out->is_whole = *p != point;
  if (!out->is_whole) {
    const char *fraction = ++p;
    for (; is_digit(*p); p++) w = w * 10 + (uint64_t)(*p - '0');
    const ptrdiff_t places = p - fraction;
    n += places;
    exponent = places < 100000 ? -(int)places : -100000;
  }
  if (n == 0) return NULL;
  out->is_long = n > 19 && has_many_digits(first, p);
  if ((*p | 32) == 'e') {
    p = scan_exponent(p + 1, &exponent);
    if (!p) return NULL;
    out->is_whole = false;
  }
  out->digits = w;
  out->exponent = exponent;
  return p;
}

bool st__scan_integer(const char *p, uint64_t *out, bool *is_negative) {
  uint64_t u = 0;
  *is_negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  for (; is_digit(*p); p++) {
    if (__builtin_mul_overflow(u, 10, &u)) return false;
    if (__builtin_add_overflow(u, (uint64_t)(*p - '0'), &u)) return false;
  }
  *out = u;
  return !*is_negative || u <= UINT64_C(1) << 63;
}

/* -- Decimal to binary, see the note -------------------------------------- */

static double power_of_two(int e) {
  const uint64_t bits = (uint64_t)(e + 1023) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* w / 10^k. The quotient has 63 bits or 64, so that its lowest may stand for
 * the remainder: the conversion to double, which rounds, drops ten. */
static double divide(uint64_t w, int k) {
  const int up = __builtin_clzll(w), by = __builtin_clzll(fives[k]);
  const wide n = (wide)(w << up) << 63;
  const uint64_t d = fives[k] << by;
  const uint64_t q = (uint64_t)(n / d);
  const bool has_rest = (wide)q * d != n;
  return (double)(q | has_rest) * power_of_two(by - up - 63 - k);
}

/* w * 10^k */
static double multiply(uint64_t w, int k) {
  const wide n = (wide)w * fives[k];
  const uint64_t high = (uint64_t)(n >> 64);
  if (high == 0) return (double)(uint64_t)n * power_of_two(k);
  const int down = 64 - __builtin_clzll(high);
  const bool has_rest = (n << (128 - down)) != 0;
  return (double)((uint64_t)(n >> down) | has_rest) * power_of_two(down + k);
}

static const double tens[] = {
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
  1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
};

bool st__decimal_to_double(const st__decimal *d, double *out) {
  const uint64_t w = d->digits;
  const int e = d->exponent;
  double x;
  if (d->is_long) return false;
  if (w == 0) {
    x = 0;
  } else if (FLT_EVAL_METHOD == 0 && w <= UINT64_C(1) << 53 && e >= -22 &&
             e <= 22) {
    x = e < 0 ? (double)w / tens[-e] : (double)w * tens[e];
  } else if (e < 0 && e >= -MAX_FIVES) {
    x = divide(w, -e);
  } else if (e >= 0 && e <= MAX_FIVES) {
    x = multiply(w, e);
  } else {
    return false;
  }
  *out = d->is_negative ? -x : x;
  return true;
}

static locale_t c_locale; /* stays until the process ends */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void open_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", NULL); }

double st__text_to_double(const char *text) {
  pthread_once(&once, open_locale);
  return c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
}

float st__text_to_float(const char *text) {
  pthread_once(&once, open_locale);
  return c_locale ? strtof_l(text, NULL, c_locale) : strtof(text, NULL);
}

/* -- Comparison ------------------------------------------------------------ */

static int sign_of(double x) { return (x > 0) - (x < 0); }

/* The digits of a number in text, without the zeros in front. */
typedef struct decimals { const char *p, *end; } decimals;

/* The next digit, or -1. */
static int next_digit(decimals *s) {
  while (s->p < s->end && !is_digit(*s->p)) s->p++;
  return s->p < s->end ? *s->p++ - '0' : -1;
}

static decimals significant(const char *p, const char *end) {
  while (p < end && (!is_digit(*p) || *p == '0')) p++;
  return (decimals){p, end};
}

/* The digits of x are exact: a double has at most 767 of them. */
static int compare_digits(decimals a, int exponent, double x) {
  char text[800];
  int64_t n = 0;
  snprintf(text, sizeof text, "%.766e", x);
  const char *e = strchr(text, 'e');
  decimals b = significant(text, e);
  for (decimals s = a; next_digit(&s) >= 0;) n++;
  if (n == 0 || b.p == e) return (n != 0) - (b.p != e);
  const int64_t place = exponent + n - 1, other = atoi(e + 1);
  if (place != other) return place < other ? -1 : 1;
  for (;;) {
    const int i = next_digit(&a), j = next_digit(&b);
    if (i < 0 && j < 0) return 0;
    if ((i > 0 ? i : 0) != (j > 0 ? j : 0)) return i < j ? -1 : 1;
  }
}

int st__compare_decimal(const st__decimal *d, const char *p, const char *end,
                        double x) {
  const uint64_t w = d->digits;
  const int e = d->exponent;
  if (!d->is_long && w <= UINT64_C(1) << 53 && e >= -22 && e <= 22) {
    return e < 0 ? -sign_of(fma(x, tens[-e], -(double)w))
                 : sign_of(fma((double)w, tens[e], -x));
  }
  for (const char *q = p; q < end; q++) {
    if ((*q | 32) == 'e') end = q;
  }
  return compare_digits(significant(p, end), e, x);
}

/* -- Binary to decimal, see the note -------------------------------------- */

/* A positive number: m * 2^e; what its kind of numbers needs. */
typedef struct binary {
  uint64_t m;
  int e;
  int fewest, most;  /* digits: any decimal of as few survives; all do */
  bool is_power;     /* the numbers below it are at half the distance */
} binary;

static uint64_t ten_to(int n) { return fives[n] << n; } /* n <= 19 */

/* x * 10^k = (n shifted right by `down`); unit is the distance of numbers */
typedef struct scaled { wide n, unit; int down; } scaled;

static uint64_t scale(const binary *b, int k, scaled *s) {
  s->n = (wide)b->m * fives[k];
  s->unit = fives[k];
  s->down = -(b->e + k);
  if (s->down < 0) {
    s->n <<= -s->down;
    s->unit <<= -s->down;
    s->down = 0;
  }
  return (uint64_t)(s->n >> s->down);
}

/* Whether c / 10^k reads back as the number. */
static bool survives(const binary *b, const scaled *s, uint64_t c) {
  const wide n = (wide)c << s->down;
  const bool is_below = n < s->n;
  const wide far = is_below ? s->n - n : n - s->n;
  const wide twice = far * (is_below && b->is_power ? 4 : 2);
  return twice < s->unit || (twice == s->unit && b->m % 2 == 0);
}

/* The nearest multiple of unit, a power of ten, to q and a rest below 1. */
static uint64_t round_to(uint64_t q, bool has_rest, uint64_t unit) {
  const uint64_t r = q % unit, t = q - r;
  const bool is_tie = r * 2 == unit && !has_rest;
  return t + (is_tie ? (t / unit % 2) * unit : r * 2 >= unit ? unit : 0);
}

/* The digits of b, which are those of the result divided by 10^k; 0 if its
 * exponent is out of range. */
static uint64_t shortest(const binary *b, int *k) {
  const int bits = 64 - __builtin_clzll(b->m) + b->e; /* x < 2^bits */
  *k = b->most - 1 - (int)floor((bits - 1) * 0.30102999566398120);
  if (*k > 0 && *k <= MAX_FIVES) {
    const uint64_t limit = ten_to(b->most);
    scaled s;
    if (-(b->e + *k) > 120 || b->e + *k > 8) return 0;
    uint64_t q = scale(b, *k, &s);
    if (q >= limit) q = scale(b, --*k, &s);
    const wide rest = s.n - ((wide)q << s.down);
    for (int n = b->fewest; n < b->most; n++) {
      const uint64_t step = ten_to(b->most - n);
      const uint64_t c = round_to(q, rest != 0, step);
      if (survives(b, &s, c)) return c;
      if (b->is_power && survives(b, &s, c + step)) return c + step;
    }
    const wide half = s.down > 0 ? (wide)1 << (s.down - 1) : 0;
    return q + (s.down > 0 && (rest > half || (rest == half && q % 2)));
  }
  return 0;
}

/* Whether digits / 10^k reads back as x. */
static bool reads_back(double x, const binary *b, uint64_t digits, int k) {
  char text[48];
  snprintf(text, sizeof text, "%" PRIu64 "e%d", digits, -k);
  return b->most < 17 ? st__text_to_float(text) == (float)x
                      : st__text_to_double(text) == x;
}

/* shortest by snprintf. Subnormal numbers have fewer digits. */
static uint64_t print_shortest(double x, const binary *b, int *k) {
  const bool is_subnormal = b->m >> (b->most < 17 ? 23 : 52) == 0;
  uint64_t digits = 0;
  for (int n = is_subnormal ? 1 : b->fewest; n <= b->most; n++) {
    char text[48];
    snprintf(text, sizeof text, "%.*e", n - 1, x);
    const char *e = strchr(text, 'e');
    digits = (uint64_t)(text[0] - '0');
    for (const char *p = e - (n - 1); p < e; p++) { /* behind any point */
      digits = digits * 10 + (uint64_t)(*p - '0');
    }
    *k = n - 1 - atoi(e + 1);
    if (reads_back(x, b, digits, *k)) break;
    if (b->is_power && reads_back(x, b, digits + 1, *k)) return digits + 1;
  }
  return digits;
}

int st__format_integer(uint64_t u, bool is_negative, char *out) {
  static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536"
    "37383940414243444546474849505152535455565758596061626364656667686970717273"
    "7475767778798081828384858687888990919293949596979899";
  char text[24];
  char *p = text + sizeof text;
  while (u >= 100) {
    p -= 2;
    memcpy(p, pairs + 2 * (u % 100), 2);
    u /= 100;
  }
  if (u >= 10) {
    p -= 2;
    memcpy(p, pairs + 2 * u, 2);
  } else {
    *--p = (char)('0' + u);
  }
  if (is_negative) *--p = '-';
  const int n = (int)(text + sizeof text - p);
  memcpy(out, p, (size_t)n);
  return n;
}

/* Writes digits / 10^k as Python does: 0.0001, 1234.5, 1e+16, 1.5e-05. */
static int lay_out(uint64_t digits, int k, char *out) {
  char text[24];
  for (; digits % 10000 == 0; k -= 4) digits /= 10000;
  for (; digits % 10 == 0; k--) digits /= 10;
  const int n = st__format_integer(digits, false, text);
  const int e = n - 1 - k; /* exponent of the first digit */
  char *p = out;
  if (e < -4 || e >= 16) {
    *p++ = text[0];
    if (n > 1) *p++ = '.';
    memcpy(p, text + 1, (size_t)n - 1);
    p += n - 1;
    return (int)(p - out) + snprintf(p, 8, "e%+03d", e);
  }
  if (e < 0) {
    memcpy(p, "0.0000", 6);
    memcpy(p + 1 - e, text, (size_t)n);
    return 1 - e + n;
  }
  const int whole = e + 1 < n ? e + 1 : n;
  memcpy(p, text, (size_t)whole);
  memset(p + whole, '0', (size_t)(e + 1 - whole));
  p += e + 1;
  *p++ = '.';
  if (n <= e + 1) *p++ = '0';
  memcpy(p, text + whole, (size_t)(n - whole));
  return (int)(p - out) + n - whole;
}

static int format(double x, const binary *b, char *out) {
  int k;
  char *p = out;
  if (isnan(x)) {
    memcpy(out, "nan", 3);
    return 3;
  }
  if (signbit(x)) *p++ = '-';
  if (isinf(x) || x == 0) {
    memcpy(p, isinf(x) ? "inf" : "0.0", 3);
    return (int)(p - out) + 3;
  }
  uint64_t digits = shortest(b, &k);
  if (digits == 0) digits = print_shortest(fabs(x), b, &k);
  return (int)(p - out) + lay_out(digits, k, p);
}

int st__format_double(double x, char *out) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  const int e = (int)(bits >> 52 & 2047);
  const binary b = {e ? fraction | UINT64_C(1) << 52 : fraction,
                    (e ? e : 1) - 1075, 15, 17, fraction == 0 && e > 1};
  return format(x, &b, out);
}

int st__format_float(float x, char *out) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t fraction = bits & ((UINT32_C(1) << 23) - 1);
  const int e = (int)(bits >> 23 & 255);
  const binary b = {e ? fraction | UINT32_C(1) << 23 : fraction,
                    (e ? e : 1) - 150, 6, 9, fraction == 0 && e > 1};
  return format((double)x, &b, out);
}
