"""What a call costs in PyTorch from Python: the cases of overhead.lua, named
as there.

    overhead.py [PART OF A CASE'S NAME]

As in overhead.cpp, the kernel that is written here lets autograd's key fall
through, and cases "in inference mode" have tensors without it.
"""
import platform
import sys
import time
import timeit

import torch

SAMPLES = 15
SAMPLE_SECONDS = 0.02

torch.set_num_threads(1)

lib = torch.library.Library("bench", "DEF")
lib.define("identity(Tensor(a) x) -> Tensor(a)")
lib.impl("identity", lambda x: x, "CPU")
lib.impl("identity", torch.library.fallthrough_kernel, "Autograd")


def values():
    """The names that cases can use."""
    return {
        "torch": torch, "a": torch.zeros(1), "b": torch.zeros(1),
        "out": torch.zeros(1), "vector": torch.zeros(100),
        "matrix": torch.zeros(10, 10),
        "p": torch.rand(1000, 1000), "q": torch.rand(1000, 1000),
        "r": torch.rand(1000, 1000),
        "add": torch.ops.aten.add.Tensor,
        "identity": torch.ops.bench.identity.default,
    }


CASES = [
    ("a + b", "a + b"),
    ("a + 1", "a + 1"),
    ("a:add_(b)", "a.add_(b)"),
    ("st.add(a, b, {out =})", "torch.add(a, b, out=out)"),
    ("st.ops.aten.add.Tensor(a, b)", "add(a, b)"),
    ("a kernel in the script", "identity(a)"),
    ("a:sum()", "a.sum()"),
    ("st.empty(1)", "torch.empty(1)"),
    ("a:view(1, 1)", "a.view(1, 1)"),
    ("m:t()", "matrix.t()"),
    ("m[i], a view", "matrix[5]"),
    ("v[i], a number", "vector[5].item()"),
    ("a:item()", "a.item()"),
    ("add", "torch.add(p, q, out=r)"),
    ("exp", "torch.exp(p, out=r)"),
    ("add of a transpose", "torch.add(p.t(), q, out=r)"),
    ("copy of a transpose", "r.copy_(p.t())"),
    ("sum", "p.sum()"),
    ("sum over rows", "p.sum(0)"),
    ("sort in rows", "p.sort()"),
]
IN_INFERENCE_MODE = ["a + b", "a:add_(b)", "a:view(1, 1)"]


def measure(name, expression, scope):
    """Prints the fastest and the median sample, in ns of processor time."""
    if len(sys.argv) > 1 and sys.argv[1] not in name:
        return
    loop = timeit.Timer(expression, "import gc; gc.enable()",
                        time.process_time, scope)
    n = 1
    while loop.timeit(n) < SAMPLE_SECONDS:
        n *= 2
    ns = sorted(loop.timeit(n) * 1e9 / n for _ in range(SAMPLES))
    print(f'{{"case": "{name}", "fastest": {ns[0]:.2f}, '
          f'"median": {ns[SAMPLES // 2]:.2f}, "n": {n}}}', flush=True)


print(f'{{"about": "Python {platform.python_version()} with '
      f'PyTorch {torch.__version__}"}}')
outside = values()
for case, code in CASES:
    measure(case, code, outside)
with torch.inference_mode():
    inside = values()
    for case, code in CASES:
        if case in IN_INFERENCE_MODE:
            measure(case + ", in inference mode", code, inside)
