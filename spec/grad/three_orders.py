"""Writes spec/grad/three_orders.lua: the first three derivatives of functions of
one number, by mpmath, at points where formulas for them cancel, overflow or
divide by 0. Run it with a Python that has mpmath, in the root of the source tree.
"""

import textwrap

import mpmath as mp

mp.mp.dps = 600


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def log_ndtr(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def sinc(x):
    return mp.mpf(1) if x == 0 else mp.sin(mp.pi * x) / (mp.pi * x)


def ndtri(p):
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def gelu_tanh(x):
    inner = mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x ** 3)
    return x / (1 + mp.exp(-2 * inner))


def hypot_small(x):
    return mp.sqrt(x * x + mp.mpf(4) ** -700)


FUNCTIONS = {
    "log_ndtr": (log_ndtr, "-50 -13 -1 0 0.999 1.001 5 30"),
    "sinc": (sinc, "0 1e-4 1e-2 0.3 0.49 0.51 1 3.5 -1e-4 40 500.5"),
    "logaddexp": (lambda x: mp.log(mp.exp(x) + 1), "750 -750 30 -30 0 1 800"),
    "logaddexp2": (lambda x: mp.log(mp.power(2, x) + 1, 2),
                   "1100 -1100 30 0 1"),
    "exp2": (lambda x: mp.power(2, x), "1024 1023.5 0 -3.25 1e-3"),
    "pow0": (lambda x: mp.mpf(1), "0 2 -1"),
    "pow1": (lambda x: x, "0 2 -1"),
    "pow2": (lambda x: x ** 2, "0 2 -1"),
    "pow3": (lambda x: x ** 3, "0 2 -1"),
    "prod": (lambda x: x ** 4, "1e-100 1e-3 0 2"),
    "erfcx": (erfcx, "-2 0 1 5 9.9 10.1 30 1000"),
    "i0": (lambda x: mp.besseli(0, x), "0 1e-4 1e-2 1 2.5 10"),
    "i1": (lambda x: mp.besseli(1, x), "0 1e-4 1e-2 1 1.99 2.01 10 -0.5"),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), "1e-4 0.5 2.5 -3 49 51 300 1e4"),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
            "1e-4 0.5 1.99 2.01 -3 49 51 300 1e4"),
    "atan2_large": (lambda x: mp.atan2(x, mp.mpf(2) ** 600), "4.1e180"),
    "atan2_small": (lambda x: mp.atan2(x, mp.mpf(2) ** -600), "2.4e-181"),
    "atan2": (lambda x: mp.atan2(x, 1), "0 1 -2 1e-200 50"),
    "hypot_large": (lambda x: mp.sqrt(x * x + mp.mpf(4) ** 600), "4.1e180"),
    "hypot": (lambda x: mp.sqrt(x * x + 1), "0 1 -2 50"),
    "logsumexp": (lambda x: mp.log(mp.exp(x) + 1), "800 -800 1 0"),
    "logcumsumexp": (lambda x: mp.log(mp.exp(x) + 1), "800 -800 1 0 -3"),
    "expm1": (mp.expm1, "0 1e-10 30 -3 -30 -100"),
    "log1p": (mp.log1p, "0 1e-10 30 -0.5 -0.999999 1e160"),
    "softplus": (lambda x: mp.log(mp.exp(x) + 1), "0 3 -30 17"),
    "log_sigmoid": (lambda x: -mp.log(mp.exp(-x) + 1), "0 3 -3 17 40 100"),
    "erfinv": (mp.erfinv, "0 0.5 -0.9"),
    "ndtri": (ndtri, "0.5 0.1 0.01"),
    "lgamma": (mp.loggamma, "0.5 1 2 30"),
    "digamma": (mp.digamma, "0.5 1 30 -1e-8 -0.3 1e160"),
    "cumprod": (lambda x: x * (x + 1) * (x + 2), "0 1 -1 -2 3"),
    "acosh": (mp.acosh, "2 50 1.00000001 1e160"),
    "asinh": (mp.asinh, "0 1 50 -1e160 1e20"),
    "atanh": (mp.atanh, "0 0.5 -0.9 0.99999999"),
    "asin": (mp.asin, "0 0.5 -0.99999999"),
    "acos": (mp.acos, "0 0.5 0.99999999"),
    "logit": (lambda x: mp.log(x / (1 - x)), "0.5 0.1 1e-100"),
    "gelu": (lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, "0 1 -3 -8 -30"),
    "gelu_tanh": (gelu_tanh, "0 1 -3 -8 -17 6.5"),
    "tanh": (mp.tanh, "0 1 -3"),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), "0 3 -3 -40"),
    "silu": (lambda x: x / (1 + mp.exp(-x)), "0 3 -3 20 -30"),
    "mish": (lambda x: x * mp.tanh(mp.log(1 + mp.exp(x))), "0 1 -3 8 13 -30"),
    "softsign": (lambda x: x / (1 + abs(x)), "1 700 1e10 1e100"),
    "bessel_j0": (lambda x: mp.besselj(0, x), "0 1e-12 1e-4 1.9 2.1 -5"),
    "bessel_j1": (lambda x: mp.besselj(1, x), "0 1e-12 1e-4 1.9 2.1 -5"),
    "modified_bessel_i0": (lambda x: mp.besseli(0, x), "0 1e-12 1e-4 -2.5"),
    "modified_bessel_i1": (lambda x: mp.besseli(1, x), "0 1e-12 1e-4 -2.5"),
    "addcdiv": (lambda x: 1 + mp.mpf(2) ** -600 / x, "1e-160 -1e-100"),
    "complex_abs": (hypot_small, "1e-160 1e-100 3"),
    "complex_sgn": (lambda x: x / hypot_small(x), "1e-160 -1e-200 1e-20"),
    "complex_angle": (lambda x: mp.atan2(mp.mpf(2) ** -600, x),
                      "1e-100 2.4e-181 -1e-20 50"),
    "complex_sigmoid": (lambda x: (1 / (1 + mp.exp(-x - 0.5j))).real,
                        "0 3 -20"),
    "complex_tanh": (lambda x: mp.tanh(x + 0.5j).real, "0 1"),
    "complex_asinh": (lambda x: mp.asinh(x + 0.5j).real, "0 -1 50 1e160"),
    "norm_of_power_3": (lambda x: mp.cbrt(x ** 3 + mp.mpf(2) ** 1800),
                        "4.1e180 1e182"),
    "norm_of_power_half": (
        lambda x: (mp.sqrt(x) + mp.mpf(2) ** 500) ** 2, "1e-60 1e-6 1 1e300"),
    "norm_of_power_minus_2": (
        lambda x: (x ** -2 + mp.mpf(2) ** 1328) ** mp.mpf("-0.5"),
        "1e-200 3e-200 1e-198 1 1e100 1e300"),
    "angle_of_tiny": (lambda x: mp.atan2(mp.mpf(2) ** -664, x),
                      "1e-160 -1e-160 1e-300 2e-200 1"),
    "atan2_tiny": (lambda x: mp.atan2(x, mp.mpf(2) ** -664),
                   "1e-160 -1e-160 1e-300 2e-200 1"),
    "entr": (lambda x: -x * mp.log(x), "0.3 1 1e-50"),
}


def gamma_density(x):
    return x ** mp.mpf("1.5") * mp.exp(-x) / mp.gamma(mp.mpf("2.5"))


# Functions that are given by their first derivative.
SLOPES = {
    "igamma": (gamma_density, "1e-300 1e-100 0.5 0.999 1.001 30"),
    "igammac": (lambda x: -gamma_density(x),
                "1e-300 1e-100 0.5 0.999 1.001 30"),
}


def derivative(f, x, order):
    """By central differences of a step that is small beside x and 1."""
    h = mp.mpf(10) ** -100 * (abs(x) if 0 < abs(x) < 1 or abs(x) > 1e3 else 1)
    return mp.diff(f, x, order, h=h)


def number(value, x):
    """At 0 the differences of a polynomial leave powers of the step."""
    least = mp.mpf("1e-95") if x == 0 else mp.mpf("1e-320")
    text = mp.nstr(value, 20)
    return "0" if abs(value) < least else text.replace("+", "")


def main():
    lines = ["--- Written by three_orders.py: by function its points, and its "
             "first three", "-- derivatives there.", "", "return {"]
    for name, (f, points) in {**FUNCTIONS, **SLOPES}.items():
        first = 0 if name in SLOPES else 1
        rows = []
        for text in points.split():
            x = mp.mpf(float(text))
            row = [derivative(f, x, first + k) for k in range(3)]
            rows.append("{%s}," % ", ".join([text] +
                                            [number(v, x) for v in row]))
        lines += ["  %s = {" % name,
                  textwrap.fill(" ".join(rows), 80, initial_indent="    ",
                                subsequent_indent="    ",
                                break_on_hyphens=False), "  },"]
    lines.append("}")
    with open("spec/grad/three_orders.lua", "w") as out:
        out.write("\n".join(lines) + "\n")


main()
