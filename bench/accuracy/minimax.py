"""Prints core/kernel/polynomials.h: polynomials with the least largest
error, by the Remez exchange algorithm, in 200 bits (mpmath from PyPI).

    python3 bench/accuracy/minimax.py > core/kernel/polynomials.h     (a minute)
"""
import mpmath as m
from mpmath import mp, mpf

mp.prec = 200
BITS = {"f4": 24, "f8": 53}


def cosines(lo, hi, n):
    """n + 1 points of [lo, hi], dense at the ends."""
    return [(lo + hi) / 2 - (hi - lo) / 2 * m.cos(m.pi * i / n)
            for i in range(n + 1)]


def extrema(points, errors):
    """The largest error between two changes of its sign."""
    found = []
    for i, e in enumerate(errors):
        if not found or (e > 0) != (errors[found[-1]] > 0):
            found.append(i)
        elif abs(e) > abs(errors[found[-1]]):
            found[-1] = i
    return found


def fit(f, weight, first, n, lo, hi):
    """Coefficients of x^first ... x^(n-1), and the largest weighted error."""
    powers = range(first, n)
    width = len(powers)
    points = cosines(lo, hi, 40 * width)
    nodes = [(lo + hi) / 2 - (hi - lo) / 2 *
             m.cos(m.pi * (2 * i + 1) / (2 * width + 2))
             for i in range(width + 1)]
    for _ in range(15):
        rows = m.matrix(width + 1, width + 1)
        right = m.matrix(width + 1, 1)
        for i, x in enumerate(nodes):
            for j, p in enumerate(powers):
                rows[i, j] = x ** p * weight(x)
            rows[i, width] = (-1) ** i
            right[i] = f(x) * weight(x)
        solution = m.lu_solve(rows, right)
        c = [solution[j] for j in range(width)]
        errors = [(sum(k * x ** p for k, p in zip(c, powers)) - f(x)) *
                  weight(x) for x in points]
        at = extrema(points, errors)
        while len(at) > width + 1:
            at.pop(0 if abs(errors[at[0]]) < abs(errors[at[-1]]) else -1)
        if len(at) < width + 1 or [points[i] for i in at] == nodes:
            break
        nodes = [points[i] for i in at]
    return c, max(abs(e) for e in errors)


def least_squares(f, weight, first, n, lo, hi):
    """The same with the least sum of squares: near 0 there may be no powers
    that alternate."""
    points = cosines(lo, hi, 8 * n)
    rows = m.matrix(len(points), n - first)
    right = m.matrix(len(points), 1)
    for i, x in enumerate(points):
        for j in range(first, n):
            rows[i, j - first] = x ** j * weight(x)
        right[i] = f(x) * weight(x)
    solution = m.lu_solve(rows, right)
    return list(solution), max(abs(e) for e in rows * solution - right)


def rounded(v, bits):
    scale = mpf(2) ** (bits - 1 - int(m.floor(m.log(abs(v), 2))))
    return m.nint(v * scale) / scale


def text(v, bits):
    """A hexadecimal literal of C."""
    v = rounded(v, bits)
    e = int(m.floor(m.log(abs(v), 2)))
    digits = "%014x" % (int(abs(v) * mpf(2) ** (52 - e)) - (1 << 52) << 4)
    digits = digits[:13].rstrip("0")
    return "%s0x1%s%sp%d%s" % ("-" if v < 0 else "", "." if digits else "",
                               digits, e, "f" if bits == 24 else "")


def odd(fn, c3, c5):
    """(fn(s) - s) / s^3 of z = s^2."""
    def g(z):
        s = m.sqrt(z)
        return (fn(s) - s) / (s * z) if z > mpf(10) ** -15 else c3 + c5 * z
    return g


def exp_rest(x):
    small = mpf(1) / 2 + x / 6 + x * x / 24
    return (m.expm1(x) - x) / x ** 2 if abs(x) > mpf(10) ** -12 else small


def log_rest(z):
    s = m.sqrt(z)
    if z < mpf(10) ** -12:
        return mpf(2) / 3 + 2 * z / 5 + 2 * z * z / 7
    return (m.log((1 + s) / (1 - s)) - 2 * s) / (s * z)


def log_series(f):
    return (m.log1p(f) - f) / f ** 2 if abs(f) > 1e-20 else f / 3 - HALF


def erf_share(z):
    s = m.sqrt(z)
    share = 2 / m.sqrt(m.pi)
    return m.erf(s) / s - 1 if z > mpf(10) ** -15 else share - 1 - share * z / 3


def scaled_erfc(c):
    """(x + c) exp(x^2) erfc(x) of t = (x - c) / (x + c)."""
    def g(t):
        x = c * (1 + t) / (1 - t)
        return (x + c) * m.exp(x * x) * m.erfc(x)
    return g


def erfc_bend(c):
    """How much faster than 1 / (x + c) does exp(x^2) erfc(x) change?"""
    def g(t):
        x = c * (1 + t) / (1 - t)
        share = m.exp(x * x) * m.erfc(x)
        return (x + c) * (2 / m.sqrt(m.pi) / share - 2 * x)
    return g


def cos_rest(z):
    small = mpf(1) / 24 - z / 720
    return (m.cos(m.sqrt(z)) - 1 + z / 2) / z ** 2 if z > 1e-12 else small


def log_quotient(z):
    s = m.sqrt(z)
    if z < mpf(10) ** -14:
        return mpf(3) / 5 + 3 * z / 7
    rest = m.log((1 + s) / (1 - s)) - 2 * s - 2 * s ** 3 / 3
    return rest / (2 * s ** 5 / 3)


LN2, HALF = m.log(2), mpf(1) / 2
EXP = LN2 / 2 * mpf("1.0001")
LOG = ((m.sqrt(2) - 1) / (m.sqrt(2) + 1) * mpf("1.0001")) ** 2
QUARTER = (m.pi / 4 * mpf("1.001")) ** 2
QUOTIENT = ((m.sqrt(mpf(3) / 2) - 1) / (m.sqrt(mpf(3) / 2) + 1)) ** 2
C = mpf(4)  # of erfc
LAST4 = (mpf("10.2") - C) / (mpf("10.2") + C)
LAST8 = (mpf("27.3") - C) / (mpf("27.3") + C)
z1, z2, square = (lambda z: z), (lambda z: z * z), (lambda x: x * x + 1e-30)

# name, function, weight of its error, degrees + 1 and ends of both types
ROWS = [
    ("EXP", exp_rest, square, (5, 10), (-EXP, EXP), None),
    ("EXPM1", exp_rest, square, (6, 12), (-HALF, HALF), None),
    ("EXP2", lambda x: m.expm1(x * LN2) / x if abs(x) > 1e-20 else LN2,
     lambda x: HALF, (6, 12), (-mpf(".5001"), mpf(".5001")), None),
    ("LOG", log_rest, z1, (3, 7), (0, LOG), None),
    ("LOG_SERIES", log_series, lambda f: abs(f) + 1e-30, (10, 0),
     (m.sqrt(HALF) - 1, m.sqrt(2) - 1), None),
    ("TANH", odd(m.tanh, -mpf(1) / 3, mpf(2) / 15), z1, (7, 10),
     (0, 1), (0, mpf(".25"))),
    ("SINH", odd(m.sinh, mpf(1) / 6, mpf(1) / 120), z1, (4, 7), (0, 1), None),
    ("ERF", erf_share, lambda z: mpf(1), (6, 11), (0, mpf(".5625")), None),
    ("LOG_ERFC", lambda x: m.log(m.erfc(x)), m.erfc, (8, 20),
     (mpf(".75"), mpf(4)), (mpf(".75"), mpf(6))),
    ("ERFC", scaled_erfc(C), lambda t: 1 / scaled_erfc(C)(t), (11, 23),
     (-1, LAST4), (-1, LAST8)),
    ("ERFC_BEND", erfc_bend(C), lambda t: 1 / erfc_bend(C)(t), (3, 3),
     (-1, LAST4), (-1, LAST8)),
    ("ATAN", odd(m.atan, -mpf(1) / 3, mpf(1) / 5), z1, (5, 11),
     (0, mpf(".4376") ** 2), None),
    ("ASIN", odd(m.asin, mpf(1) / 6, mpf(3) / 40), z1, (5, 12),
     (0, mpf(".2501")), None),
    ("SIN", odd(m.sin, -mpf(1) / 6, mpf(1) / 120), z1, (4, 7), (0, QUARTER),
     None),
    ("COS", cos_rest, z2, (3, 6), (0, QUARTER), None),
    ("ASINH", odd(m.asinh, -mpf(1) / 6, mpf(3) / 40), z1, (5, 12),
     (0, mpf(".2501")), None),
    ("ATANH", odd(m.atanh, mpf(1) / 3, mpf(1) / 5), z1, (6, 13),
     (0, mpf(".2501")), None),
    ("CBRT", lambda f: (1 + f) ** (-mpf(1) / 3),
     lambda f: (1 + f) ** (mpf(1) / 3), (6, 11),
     (m.sqrt(HALF) - 1, m.sqrt(2) - 1), None),
    ("LOG_QUOTIENT", log_quotient, z2, (3, 6), (0, QUOTIENT), None),
]

print("""\
/* Polynomials of functions.def, as bench/accuracy/minimax.py prints them, by
 * the Remez exchange algorithm (E. Y. Remez, Sur la determination des polynomes
 * d'approximation de degre donnee, 1934). A list has the coefficients from the
 * highest degree on: POLYNOMIAL(p, x, NAME) declares p, their value at x.
 */
#ifndef ST_KERNEL_POLYNOMIALS_H
#define ST_KERNEL_POLYNOMIALS_H

#define ST_FIRST(p, x, c) T p = c;
#define ST_NEXT(p, x, c) p = FMA(p, x, c);

/* Horner's rule, for 2 to 19 coefficients. */
#define ST_HORNER(p, x, c, ...) \\
  ST_FIRST(p, x, c) ST_NTH(__VA_ARGS__, 18, 17, 16, 15, 14, 13, 12, 11, 10, \\
                           9, 8, 7, 6, 5, 4, 3, 2, 1, 0)(p, x, __VA_ARGS__)
#define ST_NTH(a, b, c, d, e, f, g, h, i, j, k, l, m, o, q, r, s, t, n, ...) \\
  ST_H##n
#define ST_H1(p, x, c) ST_NEXT(p, x, c)
#define ST_H2(p, x, c, ...) ST_NEXT(p, x, c) ST_H1(p, x, __VA_ARGS__)
#define ST_H3(p, x, c, ...) ST_NEXT(p, x, c) ST_H2(p, x, __VA_ARGS__)
#define ST_H4(p, x, c, ...) ST_NEXT(p, x, c) ST_H3(p, x, __VA_ARGS__)
#define ST_H5(p, x, c, ...) ST_NEXT(p, x, c) ST_H4(p, x, __VA_ARGS__)
#define ST_H6(p, x, c, ...) ST_NEXT(p, x, c) ST_H5(p, x, __VA_ARGS__)
#define ST_H7(p, x, c, ...) ST_NEXT(p, x, c) ST_H6(p, x, __VA_ARGS__)
#define ST_H8(p, x, c, ...) ST_NEXT(p, x, c) ST_H7(p, x, __VA_ARGS__)
#define ST_H9(p, x, c, ...) ST_NEXT(p, x, c) ST_H8(p, x, __VA_ARGS__)
#define ST_H10(p, x, c, ...) ST_NEXT(p, x, c) ST_H9(p, x, __VA_ARGS__)
#define ST_H11(p, x, c, ...) ST_NEXT(p, x, c) ST_H10(p, x, __VA_ARGS__)
#define ST_H12(p, x, c, ...) ST_NEXT(p, x, c) ST_H11(p, x, __VA_ARGS__)
#define ST_H13(p, x, c, ...) ST_NEXT(p, x, c) ST_H12(p, x, __VA_ARGS__)
#define ST_H14(p, x, c, ...) ST_NEXT(p, x, c) ST_H13(p, x, __VA_ARGS__)
#define ST_H15(p, x, c, ...) ST_NEXT(p, x, c) ST_H14(p, x, __VA_ARGS__)
#define ST_H16(p, x, c, ...) ST_NEXT(p, x, c) ST_H15(p, x, __VA_ARGS__)
#define ST_H17(p, x, c, ...) ST_NEXT(p, x, c) ST_H16(p, x, __VA_ARGS__)
#define ST_H18(p, x, c, ...) ST_NEXT(p, x, c) ST_H17(p, x, __VA_ARGS__)""")

first_two, erfc_first = {}, {}
for name, f, weight, degrees, ends, ends8 in ROWS:
    for tag, n in zip(("f4", "f8"), degrees):
        if not n:
            continue
        lo, hi = ends8 if ends8 and tag == "f8" else ends
        bits = BITS[tag]
        c, worst = fit(f, weight, 0, n, mpf(lo), mpf(hi))
        if name == "LOG_ERFC":
            # The first one has few bits, so that a difference with it is
            # exact; each is rounded before the next ones are fitted.
            c = [rounded(c[0], bits // 3)]
            while len(c) < n:
                rest = lambda x: f(x) - sum(k * x ** i
                                            for i, k in enumerate(c))
                more, _ = fit(rest, weight, len(c), n, mpf(lo), mpf(hi))
                c.append(rounded(more[0], bits))
            first_two[tag] = [text(k, bits) for k in c[:2]]
            c = c[2:]
        if name == "ERFC":
            # Three have a bit less, so that their differences with partial
            # sums are exact; what the first one has lost is added. Each is
            # rounded before the next ones are fitted.
            first, fixed = [], c[:1]
            for i in range(4):
                first.append(rounded(c[i], bits - (i < 3)))
                fixed = c[:1] + first[1:]
                rest = lambda x: f(x) - sum(k * x ** i
                                            for i, k in enumerate(fixed))
                more, worst = least_squares(rest, weight, i + 1, n, mpf(lo),
                                            mpf(hi))
                c = fixed + more
            first.append(c[0] - first[0])
            erfc_first[tag] = [text(k, bits) for k in first]
            c = c[4:]
        print("\n/* error 2^%.1f */" % m.log(worst, 2))
        print("#define %s_%s(p, x) \\" % (name, tag))
        lines = ["  ST_HORNER(p, x"]
        for k in reversed(c):
            lines[-1] += ","
            if len(lines[-1]) + len(text(k, bits)) > 75:
                lines.append("           ")
            lines[-1] += " " + text(k, bits)
        print(" \\\n".join(lines) + ")")

print()
for i, name in enumerate(("BASE", "SLOPE")):
    print("#define LOG_ERFC_%s K(%s, %s)" %
          (name, first_two["f4"][i].rstrip("f"), first_two["f8"][i]))
for i in range(5):
    print("#define ERFC_%s K(%s, %s)" %
          ("LOST" if i == 4 else i, erfc_first["f4"][i].rstrip("f"),
           erfc_first["f8"][i]))
print("\n#endif")
