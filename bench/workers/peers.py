"""The side of PyTorch or of NumPy: what strided.lua does, word for word.

    peers.py torch|compile|numpy|numexpr|scipy|ducc0|pyfftw

`compile` and `numexpr` are these with what fused.py has compiled.
"""
import contextlib
import importlib
import math
import statistics
import subprocess
import sys
import time
import timeit

import numpy as np

import fused
import transforms

ENGINE = sys.argv[1]
SAMPLE_NS, LONG_NS = 20000, 5e7
MIN_SAMPLES, MAX_SAMPLES = 1, 1000
DIGESTED = 1000000
# Idle threads spin before they sleep: OpenMP's some ms, OpenBLAS's 0.1 s.
REST_SECONDS, RESTS = 0.01, 50
WARM = 0.15  # part of the time that is for warming up

scipy = importlib.import_module("scipy") if ENGINE == "scipy" else None
if scipy:
    importlib.import_module("scipy.fft")
workers = contextlib.ExitStack()  # the number of threads of scipy.fft
IS_TORCH = ENGINE in ("torch", "compile")
torch = importlib.import_module("torch") if IS_TORCH else None
networks = importlib.import_module("networks") if IS_TORCH else None


# -- Inputs: see inputs.lua ---------------------------------------------------

# kind: how it is filled, what it becomes in PyTorch, usual range
KINDS = {
    "f32": (np.float32, None, 0, 1), "f64": (np.float64, None, 0, 1),
    "f16": (np.float16, None, 0, 1), "bf16": (np.float32, "bfloat16", 0, 1),
    "u8": (np.uint8, None, 0, 100), "i8": (np.int8, None, 0, 100),
    "i16": (np.int16, None, 0, 100), "i32": (np.int32, None, 0, 100),
    "i64": (np.int64, None, 0, 100), "bool": (np.bool_, None, 0, 2),
    "c64": (np.complex64, None, 0, 1), "c128": (np.complex128, None, 0, 1),
    "pos": (np.int64, None, 0, 1),
}
K1, K2, LOW = (np.uint64(k) for k in (0x9E3779B9, 0x85EBCA77, 0xFFFFFFFF))
PERIOD = 1000003


def uniform(n, stream):
    """Numbers in [0, 1) with 24 bits, one per linear index."""
    x = (K1 * np.arange(1, n + 1, dtype=np.uint64) + K2 * np.uint64(stream))
    x &= LOW
    x ^= x >> np.uint64(15)
    x = (K2 * x) & LOW
    x ^= x >> np.uint64(13)
    return (x >> np.uint64(8)) / 16777216.0


def make(kind, sizes, words, stream):
    dtype, becomes, lo, hi = KINDS[kind]
    views = dict(word.split("=") for word in words if "=" in word)
    for word in words:
        if ":" in word:
            lo, hi = (float(end) for end in word.split(":"))
    n = math.prod(sizes)
    values = lo + uniform(min(n, PERIOD), stream) * (hi - lo)
    if not np.issubdtype(dtype, np.inexact):
        values = np.floor(values)
    values = values.astype(np.float32) if dtype is np.float16 else values
    t = np.resize(values.astype(dtype), sizes)
    if "sorted" in words:
        t.sort()
    if "diagonal" in views:
        rows = np.arange(sizes[-1])
        t[..., rows, rows] += dtype(views["diagonal"])
    if torch:
        t = torch.from_numpy(t)
        t = t.to(getattr(torch, becomes)) if becomes else t
    elif becomes:
        raise TypeError(f"NumPy has no {becomes}")
    if "perm" in views:
        dims = [int(d) for d in views["perm"]]
        t = t.permute(dims) if torch else t.transpose(dims)
    if "cut" in views:
        t = t[..., int(views["cut"]):]
    if "keep" in views:
        t = t[..., :int(views["keep"])]
    if "step" in views:
        t = t[..., ::int(views["step"])]
    if "expand" in views:
        to = [int(n) for n in views["expand"].split("x")]
        t = t.expand(to) if torch else np.broadcast_to(t, to)
    if "grad" in words:
        t.requires_grad_()
    return t


def inputs(text):
    scope, stream = {}, 0
    for group in text.split(";"):
        names, rest = group.split(":", 1)
        kind, sizes, *words = rest.split()
        sizes = [int(n) for n in sizes.split("x")]
        for name in names.split(","):
            stream += 1
            scope[name.strip()] = make(kind, sizes, words, stream)
    return scope


# -- Functions that cases can call --------------------------------------------

SHOW_RESIDENT = """
import re
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


def start(code):
    return subprocess.run([sys.executable, "-c", code], check=True).returncode


def resident(code):
    """The peak of resident memory of a process that runs the code, in KB."""
    return int(subprocess.run([sys.executable, "-c", code + SHOW_RESIDENT],
                              check=True, capture_output=True).stdout)


SHOW_GROWTH = """
import re, sys
sys.path.insert(0, {path!r})
import networks
open("/proc/self/clear_refs", "w").write("5")
def kb(name):
    return int(re.search(name + r":\\s*(\\d+)",
                         open("/proc/self/status").read())[1])
before = kb("VmRSS")
networks.train({name!r}, 8)
print(kb("VmHWM") - before)
"""


def growth(name):
    """By how much the resident memory of a process grows while it trains a
    network, at most, in KB."""
    text = SHOW_GROWTH.format(path=sys.path[0], name=name)
    return int(subprocess.run([sys.executable, "-c", text], check=True,
                              capture_output=True).stdout)


VALUES = {"np": np, "torch": torch, "scipy": scipy,
          "F": torch and torch.nn.functional,
          "rng": np.random.default_rng(0), "networks": networks,
          "start": start,
          "ducc0": transforms.ducc0() if ENGINE == "ducc0" else None,
          "pyfftw": transforms.pyfftw() if ENGINE == "pyfftw" else None,
          "philox": np.random.Generator(np.random.Philox(0)),
          "resident": resident, "growth": growth}


# -- Cases --------------------------------------------------------------------

def digest(value, name):
    """As in strided.lua; of several results, of the first."""
    if isinstance(value, (tuple, list)):
        value = value[0]
    is_tensor = torch and isinstance(value, torch.Tensor)
    value = value.detach() if is_tensor else np.asarray(value)
    if is_tensor and value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    elif not is_tensor and np.iscomplexobj(value):
        value = np.stack([value.real, value.imag], -1)
    shape = "x".join(str(n) for n in value.shape)
    x = value.reshape(-1)[::1 + math.prod(value.shape) // DIGESTED]
    x = x.to(torch.float64).numpy() if is_tensor else x.astype(np.float64)
    if name:
        x.tofile(name)
    finite = np.isfinite(x)
    terms = np.where(finite, x, 0) * (np.arange(x.size) % 251 + 1)
    return "\t".join([shape, str(int(x.size - finite.sum())),
                      repr(float(terms.sum())),
                      repr(float(np.abs(terms).sum()))])


class Case:
    """The case that is measured."""
    timer = None
    passes = None
    is_recorded = False


def mode():
    """PyTorch takes part without what gradients cost, where none are asked
    for."""
    if torch:
        return torch.inference_mode(not Case.is_recorded)
    return contextlib.nullcontext()


def threads(n):
    if torch:
        torch.set_num_threads(int(n))
    if scipy:
        workers.close()
        workers.enter_context(scipy.fft.set_workers(int(n)))
    transforms.set_threads(int(n))
    fused.set_num_threads(int(n))
    return ""


def case(text, expression, _base, is_recorded, name):
    Case.timer = Case.passes = None
    Case.is_recorded = is_recorded == "true"
    if networks:
        networks.reset()
    fused.reset()
    with mode():
        scope = VALUES | inputs(text)
        value = eval(expression, scope)
        # What returns nothing, like np.copyto, leaves its result in r.
        result = digest(scope["r"] if value is None else value, name)
    Case.timer = timeit.Timer(expression, timer=time.perf_counter_ns,
                              globals=scope)
    return result


def sample(n):
    return Case.timer.timeit(n) / n


def passes(least):
    n = max(1, min(least, int(LONG_NS / sample(1))))
    while sample(n) * n < SAMPLE_NS:
        n *= 2
    return n


def measure(ms, least):
    start = time.perf_counter_ns()
    finish = start + float(ms) * 1e6
    warm = start + float(ms) * 1e6 * WARM
    Case.passes = Case.passes or passes(int(least))
    while time.perf_counter_ns() < warm:
        sample(1)
    ns = []
    while len(ns) < MAX_SAMPLES and (len(ns) < MIN_SAMPLES or
                                     time.perf_counter_ns() < finish):
        ns.append(sample(Case.passes))
    return f"{min(ns):.2f}\t{statistics.median_low(ns):.2f}\t{len(ns)}"


# -- Commands -----------------------------------------------------------------

def measure_in_mode(ms, least):
    with mode():
        return measure(ms, least)


COMMANDS = {"threads": threads, "case": case, "time": measure_in_mode}
NAMES = {"torch": ("PyTorch", "torch"), "compile": ("torch.compile", "torch"),
         "numpy": ("NumPy", "numpy"), "numexpr": ("numexpr", "numexpr"),
         "scipy": ("SciPy", "scipy"), "ducc0": ("ducc0", "ducc0"),
         "pyfftw": ("pyFFTW", "pyfftw")}


def begin():
    """Describes the engine; raises if it cannot run."""
    VALUES["fused"] = fused.expressions()
    name, module = NAMES[ENGINE]
    return f"{name} {importlib.import_module(module).__version__}"


def rest():
    """Waits until the threads of this process sleep, at most RESTS times."""
    for _ in range(RESTS):
        before = time.process_time()
        time.sleep(REST_SECONDS)
        if time.process_time() - before < REST_SECONDS / 10:
            return


def main():
    try:
        print("ok\t" + begin(), flush=True)
    except Exception as reason:  # pylint: disable=broad-except
        lines = str(reason).strip().splitlines() or [""]
        print(f"error\t{type(reason).__name__}: {lines[0][:200]}", flush=True)
        return
    for line in sys.stdin:
        name, *words = line.rstrip("\n").split("\t")
        try:
            answer = "ok\t" + COMMANDS[name](*words)
        except Exception as reason:  # pylint: disable=broad-except
            answer = f"error\t{type(reason).__name__}: {reason}"
        rest()
        print(answer.replace("\n", " "), flush=True)


main()
