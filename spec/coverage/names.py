"""Writes names.txt: the public names of PyTorch and of the Array API standard.

    python spec/coverage/names.py >spec/coverage/names.txt

Needs torch, and array-api-strict for the standard.
"""
import textwrap
import types

import array_api_strict as standard
import torch
import torch.amp
import torch.distributions
import torch.masked
import torch.nn.functional
import torch.nn.utils
import torch.optim.lr_scheduler
import torch.signal.windows
import torch.utils.data


def functions(module):
    return [name for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
            and not isinstance(value, (type, types.ModuleType))]


def exported(module):
    return [name for name in module.__all__ if name != "Tensor"]


def classes(module):
    return [name for name, value in vars(module).items()
            if not name.startswith("_") and isinstance(value, type)
            and value.__module__.startswith("torch.")]


def named(module):
    # What a module of the standard exports, without what is strict's own.
    own = {"Device", "__version__"}
    return [name for name in module.__all__ if "strict" not in name.lower()
            and name not in own
            and not isinstance(getattr(module, name), types.ModuleType)]


def methods(array):
    # The operators, without what every object has, and strict's own.
    own = ["__annotations__", "__array__", "__buffer__", "__module__",
           "__slots__", "__weakref__"]
    own += vars(object).keys() - {"__eq__", "__ge__", "__gt__", "__le__",
                                  "__lt__", "__ne__"}
    return ["__array_namespace__"] + [
        name for name in vars(array) if name not in own
        and (name.startswith("__") or not name.startswith("_"))]


FAMILIES = [
    ("torch", functions(torch)),
    ("torch.Tensor", [name for name in dir(torch.Tensor)
                      if not name.startswith("_")]),
    ("torch.linalg", functions(torch.linalg)),
    ("torch.fft", functions(torch.fft)),
    ("torch.special", functions(torch.special)),
    ("torch.nn.functional", functions(torch.nn.functional)),
    ("torch.nn", classes(torch.nn)),
    ("torch.nn.init", [name for name in functions(torch.nn.init)
                       if name != "Literal"]),
    ("torch.nn.utils", exported(torch.nn.utils)),
    ("torch.optim", classes(torch.optim)),
    ("torch.optim.lr_scheduler", exported(torch.optim.lr_scheduler)),
    ("torch.utils.data", exported(torch.utils.data)),
    ("torch.amp", classes(torch.amp) + functions(torch.amp)),
    ("torch.signal.windows", exported(torch.signal.windows)),
    ("torch.masked", functions(torch.masked)),
    ("torch.distributions", exported(torch.distributions)),
    ("Array API", named(standard)),
    # 2025.12 adds eig and eigvals.
    ("Array API linalg", named(standard.linalg) + ["eig", "eigvals"]),
    ("Array API fft", named(standard.fft)),
    ("Array API array", methods(type(standard.asarray(1)))),
]

print("Names of PyTorch", torch.__version__.split("+")[0],
      "and of the Array API", standard.__array_api_version__ + ".")
for family, names in FAMILIES:
    print("\n[%s]" % family)
    print(textwrap.fill(" ".join(sorted(set(names))), 80,
                        break_on_hyphens=False))
