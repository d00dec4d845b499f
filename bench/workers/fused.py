"""The functions of bench/cases/fused.lua for PyTorch, torch.compile, NumPy and
numexpr."""
import importlib
import inspect
import re
import sys
import types

import numpy as np

ENGINE = sys.argv[1]

m = importlib.import_module("torch" if ENGINE in ("torch", "compile")
                            else "numpy")


# -- Elementwise --------------------------------------------------------------

def erf(x):
    """NumPy has none: 7.1.26 of Abramowitz and Stegun, good to 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    y = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t -
          0.284496736) * t + 0.254829592) * t
    return np.copysign(1 - y * np.exp(-x * x), x)


erf = getattr(m, "erf", erf)


def muladd(a, b, c):
    return a * b + c


def square(a, b):
    return (a - b) ** 2


def saxpy(x, b):
    return m.clip(0.75 * x + b, 0, 1)


def smoothstep(x):
    lo, hi = 0.25, 0.75
    t = m.clip((x - lo) / (hi - lo), 0, 1)
    return t * t * (3 - 2 * t)


def length(x, y, z):
    return m.sqrt(x * x + y * y + z * z)


def silu(x):
    return x / (1 + m.exp(-x))


def gated(x, y):
    return silu(x) * y


def gelu(x):
    return 0.5 * x * (1 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softplus(x):
    return m.log1p(m.exp(-m.abs(x))) + m.clip(x, 0, None)


def leaky(x, b, c):
    return m.where(x < 0, 0.125 * x, b * x + c)


COEFFICIENTS = (2.4801587e-5, 1.9841270e-4, 1.3888889e-3, 8.3333333e-3,
                4.1666667e-2, 0.16666667, 0.5, 1, 1)


def horner(x):
    y = COEFFICIENTS[0]
    for c in COEFFICIENTS[1:]:
        y = y * x + c
    return y


RATE, VOLATILITY = 0.02, 0.3


def normal(d):
    return 0.5 * (1 + erf(d * 0.70710678))


def black_scholes(s, k, t):
    spread = VOLATILITY * m.sqrt(t)
    drift = (RATE + 0.5 * VOLATILITY * VOLATILITY) * t
    d = (m.log(s / k) + drift) / spread
    return s * normal(d) - k * m.exp(-RATE * t) * normal(d - spread)


def mandelbrot(zr, zi, cr, ci):
    real, imag = zr * zr - zi * zi + cr, 2 * zr * zi + ci
    return real * real + imag * imag


# -- Reductions ---------------------------------------------------------------

def distance(x, y):
    return m.sum((x - y) ** 2)


def peak(x, w):
    return m.max(m.abs(x) * w)


def softmax(x):
    e = m.exp(x - m.amax(x, 1, keepdims=True))
    return e / m.sum(e, 1, keepdims=True)


BODIES = (muladd, square, saxpy, smoothstep, length, silu, gated, gelu,
          softplus, leaky, horner, black_scholes, mandelbrot, distance, peak, softmax)


# -- numexpr ------------------------------------------------------------------

def numexpr():
    return importlib.import_module("numexpr")


def clamped(x):
    return f"where(({x}) < 0, 0, where(({x}) > 1, 1, {x}))"


def horner_text(coefficients, x):
    text = f"{coefficients[0]:.12f}"
    for c in coefficients[1:]:
        text = f"({text}) * {x} + {c:.12f}"
    return text


def normal_text(d):
    x = f"(({d}) * 0.70710678)"
    t = f"(1 / (1 + 0.3275911 * abs{x}))"
    y = (f"(1 - ((((1.061405429 * {t} - 1.453152027) * {t} + 1.421413741) * "
         f"{t} - 0.284496736) * {t} + 0.254829592) * {t} * exp(-{x} * {x}))")
    return f"0.5 * (1 + where({x} < 0, -{y}, {y}))"


STEP = clamped("(x - 0.25) / 0.5")
D = "(log(s / k) + 0.065 * t) / (0.3 * sqrt(t))"
TEXTS = {
    "muladd": "a * b + c",
    "square": "(a - b) ** 2",
    "saxpy": clamped("0.75 * x + b"),
    "smoothstep": f"{STEP} * {STEP} * (3 - 2 * {STEP})",
    "length": "sqrt(x * x + y * y + z * z)",
    "silu": "x / (1 + exp(-x))",
    "gated": "x / (1 + exp(-x)) * y",
    "gelu": "0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
    "softplus": "log1p(exp(-abs(x))) + where(x < 0, 0, x)",
    "leaky": "where(x < 0, 0.125 * x, b * x + c)",
    "horner": horner_text(COEFFICIENTS, "x"),
    "black_scholes": f"s * {normal_text(D)} - k * exp(-0.02 * t) * "
                     f"({normal_text(f'{D} - 0.3 * sqrt(t)')})",
    "mandelbrot": "(zr * zr - zi * zi + cr) ** 2 + (2 * zr * zi + ci) ** 2",
    "distance": "sum(1. * (x - y) ** 2)",  # in float64, or it is far off
    "peak": "max(abs(x) * w)",
}


def by_numexpr(body):
    """The expression compiled once, as ours are. Literals are float64 and make
    everything float64; those like 0.5, not 1., become arguments."""
    numbers = {}

    def named(literal):
        return numbers.setdefault(literal[0], f"k{len(numbers)}")

    text = re.sub(r"\b\d+\.\d+", named, TEXTS[body.__name__])
    names = [*inspect.signature(body).parameters, *numbers.values()]
    # float is numexpr's float32
    program = numexpr().NumExpr(text, [(name, float) for name in names])
    numbers = [np.float32(number) for number in numbers]
    return lambda *arguments: program(*arguments, *numbers)


# -- Functions that cases call ------------------------------------------------

def made(body):
    if ENGINE == "compile":
        return m.compile(body, dynamic=False)
    return by_numexpr(body) if ENGINE == "numexpr" else body


def expressions():
    if ENGINE == "compile":  # it needs a C++ compiler and Python's headers
        m.compile(muladd)(*m.rand(3, 1))
    return types.SimpleNamespace(**{
        body.__name__: made(body) for body in BODIES
        if ENGINE != "numexpr" or body.__name__ in TEXTS})


def set_num_threads(n):
    """Of numexpr; NumPy has one, and PyTorch knows already."""
    if ENGINE == "numexpr":
        numexpr().set_num_threads(n)


def reset():
    """Drops what was compiled for the sizes of the previous case."""
    if ENGINE == "compile":
        m._dynamo.reset()
