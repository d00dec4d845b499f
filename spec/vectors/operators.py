"""What PyTorch answers to calls of operators whose strides, dtypes or special
values are easily missed.

Writes spec/data/operators.jsonl.gz, in the format of the golden vectors of
operators; spec/conformance/recorded_calls_spec.lua replays it.

    python spec/vectors/operators.py spec/data/operators.jsonl.gz
"""
import gzip
import json
import math
import sys
import warnings

import torch

warnings.filterwarnings("ignore")
A = torch.ops.aten
INF, NAN = math.inf, math.nan
F16, BF16, F32, F64 = (torch.float16, torch.bfloat16, torch.float32,
                       torch.float64)
U8, I8, I16, I32, I64 = (torch.uint8, torch.int8, torch.int16, torch.int32,
                         torch.int64)


def t(values, dtype=F32):
    return torch.tensor(values, dtype=dtype)


def waves(shape, strides=None, dtype=F32, offset=0):
    """Small numbers of both signs, in any layout."""
    if strides is None:
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
    n = offset + 1 + sum((a - 1) * b for a, b in zip(shape, strides))
    line = torch.arange(n, dtype=F64) * 0.7 + 0.3
    scale = 9 if not dtype.is_floating_point and not dtype.is_complex else 3
    return (line.sin() * scale).to(dtype).as_strided(shape, strides, offset)


# -- Calls --------------------------------------------------------------------

CALLS = []


def call(op, *args, **kwargs):
    CALLS.append((op, args, kwargs))


# lcm: the product of 32 bits wraps, then loses its sign.
call("lcm", t([-1580125192, 1406250554], I32), t([-7, -6], I32))
call("lcm", t([-100, 21, 7], I8), t([3, 14, 0], I8))
call("lcm", t([1 << 40, -9], I64), t([3, 1 << 41], I64))

# gradient: differences over two steps, so that the element between does not
# count.
X = [0.5, INF, -1.5, 2.25, 4, 0.125]
for dtype in F32, F64, F16, BF16:
    call("gradient.scalarint", t(X, dtype))
    call("gradient.scalarint", t(X, dtype), spacing=0.3, dim=0, edge_order=2)
call("gradient.scalarint", waves((4, 5), dtype=BF16), spacing=2.798)
call("gradient.scalarint", t([8, 2, -7, 7, 1], I64), spacing=3, edge_order=2)
call("gradient.scalarint", t([-62, 116, -26, -108, 73], I8))
call("gradient.array", waves((4, 3, 5)), dim=[2, 0])
STEPS = [0.037, 1.789, 1.847, -1.501, -1.827]
for order in 1, 2:
    call("gradient.tensorarray", waves((5,)), spacing=[t(STEPS, F64)],
         dim=[0], edge_order=order)
    call("gradient.tensorarrayint", t([66, 29, 2, -114, 75], I8),
         spacing=[t([-7, -5, 3, 5, 8], I8)], edge_order=order)
    call("gradient.tensorarray", waves((3, 5), dtype=F16),
         spacing=[t([4, 0, 7], I16), t(STEPS)], dim=[0, 1], edge_order=order)

# addr: dtypes are promoted before beta and alpha.
call("addr", t([True, False]).bool(), t([1 + 2j, 0.5j], torch.complex64),
     t([2 - 1j, 3], torch.complex64), beta=3.102, alpha=-1.832)
call("addr", t([1.134765625, -4.6640625], F16),
     t([-3.32 + 2.023j, 0.059 - 1.827j], torch.complex64),
     t([3.671875, -0.60791015625], F16), beta=-1.931)
call("addr", t([[2, 3]], I32), t([0.5, 1.5]), t([1.0, 2.0]), beta=1.5)

# Losses of integers and of mixed dtypes.
for dtype in I8, I64:
    for reduction in 0, 2:
        call("hinge_embedding_loss", t([3, 5, -2, -4], dtype),
             t([1, -1, 3, -1], dtype), 1.7, reduction)
        call("hinge_embedding_loss", t([3, 5, -2, -4], dtype),
             t([1, -1, 3, -1], dtype), -1.7, reduction)
call("margin_ranking_loss", t([3, 5], U8), t([4, 1], U8), t([1, 255], U8),
     0.0, 0)
call("margin_ranking_loss", t([3, 5], I8), t([4, 1], I8), t([1, -1], I8),
     0.5, 1)
call("soft_margin_loss", t([-1.7509765625], F16), t([1.279], F64), 1)
call("soft_margin_loss", t([-1.75, 2.5]), t([1.0, -1.0], F64), 0)

call("mse_loss", t([0.25, 0.75]), t([1, 0], torch.bool), 0)
call("mse_loss", t([1, 0], torch.bool), t([0.25, 0.75]), 2)

# repeat_interleave gives positions in the dtype of the counts.
for dtype in U8, I16, I32, I64:
    call("repeat_interleave.Tensor", t([2, 0, 3], dtype))

# ldexp computes in the promoted dtype.
call("ldexp.Tensor", t([[0.574, 0.268]], F64), t(1.5, BF16))
call("ldexp.Tensor", t([0.574 + 1j], torch.complex128), t(-3.265625, F16))

# equal compares values.
for other in t([1, 2], I32), t([1, 2], F16), t([1, 3], U8), t([1, 2], F64):
    call("equal", t([1, 2]), other)

# cosine_similarity promotes first.
call("cosine_similarity", t([[1.5, 2], [0.5, -3]], BF16),
     t([[3, 4], [2, -1]], I16))

# Tolerances that have more dimensions than the batch.
M = waves((2, 3), dtype=F64)
for tol in t([0.1, 0.7], F64), t([[0.1], [0.95]], F64):
    call("linalg_pinv.atol_rtol_tensor", M, atol=None, rtol=tol)
    call("linalg_pinv.rcond_tensor", M, tol)
    call("linalg_matrix_rank.atol_rtol_tensor", M, atol=tol)
    call("linalg_pinv.atol_rtol_tensor", waves((1, 3, 2), dtype=F64),
         atol=tol)

# unique_consecutive along a dimension returns all three results.
ROWS = t([[1, 2], [1, 2], [3, 4], [1, 2]])
for inverse, counts in (False, False), (False, True), (True, False):
    call("unique_consecutive", ROWS, inverse, counts, 0)
    call("unique_consecutive", ROWS.t(), inverse, counts, -1)
    call("unique_consecutive", t([5, 5, 6]), inverse, counts, 0)
    call("unique_consecutive", t([5, 5, 6]), inverse, counts, -1)

# The variance of nothing.
for correction in -2, 0, 1:
    call("var.correction", t([]), [0], correction=correction)
    call("std.correction", t([[]], F16), [1], correction=correction)

# Factors that disagree with the sizes.
IMAGE = waves((1, 2, 5, 3))
for factor in 0.02, 0.4, 1.37, 3.0:
    for size in [2, 3], [5, 3], [10, 6], [4, 4]:
        call("upsample_nearest2d", IMAGE, size, factor, None)
        call("upsample_nearest2d", IMAGE, size, None, factor)
        call("_upsample_nearest_exact2d", IMAGE, size, None, factor)
        call("upsample_bilinear2d", IMAGE, size, False, factor, None)
        call("upsample_bilinear2d", IMAGE, size, True, None, factor)
        call("upsample_bicubic2d", IMAGE, size, False, None, factor)
    for size in 5, 10, 4:
        call("upsample_nearest1d", waves((1, 2, 5)), [size], factor)
        call("upsample_linear1d", waves((1, 2, 5)), [size], False, factor)
    call("upsample_nearest3d", waves((1, 1, 2, 3, 2)), [2, 6, 3], factor,
         factor, factor)
    for shape in (1, 1, 3, 70), (1, 4, 70, 3), (1, 1, 3, 64):
        call("upsample_nearest2d", waves(shape),
             [shape[2] * 2, shape[3]], factor, factor)
call("upsample_nearest3d", waves((1, 5, 2, 3, 2), (60, 1, 30, 10, 5)),
     [4, 3, 2], 2.2, 0.4, 0.4)
call("upsample_nearest2d", waves((1, 5, 3, 70), (1050, 1, 350, 5)), [3, 140],
     None, 2.2)

IMAGE = waves((2, 2, 4, 6), dtype=F64)
for name in "bilinear", "bicubic", "lanczos":
    for size in [4, 3], [2, 6], [4, 6], [3, 4]:
        for factors in (None, 1.3), (0.7, None), (0.5, 0.8):
            call(f"_upsample_{name}2d_aa", IMAGE, size, False, *factors)

# Strides of results.
HOLES = [((3, 1), (2, 2)), ((2, 2, 5), (20, 10, 2)), ((4, 3), (1, 4)),
         ((3, 4), (0, 1))]
for shape, strides in HOLES:
    x = waves(shape, strides)
    call("slice_scatter", x, waves(shape), 0, None, None, 1)
    call("select_scatter", x, waves(shape[1:]), 0, 1)
    call("diagonal_scatter", x, waves(x.diagonal().shape))
for shape, strides in [((2, 4), (1, 2)), ((5, 5), (1, 5)), ((1, 3), (1, 1)),
                       ((3, 1, 2), (2, 7, 1))]:
    call("renorm", waves(shape, strides), 2, 0, 1.5)
for n in 0, 1, 2:
    for name in "matrix_power", "linalg_matrix_power":
        call(name, waves((5, 2, 2), (4, 1, 2)), n)
        call(name, waves((3, 1, 2, 2), (2, 1, 1, 6)), n)
call("one_hot", t([[8, 4], [6, 3], [3, 6]], I64).t(), -1)
call("rms_norm", waves((5, 2, 2), (2, 1, 10)), [2, 2], None, None)
call("rms_norm", waves((5, 2, 2), (2, 1, 10)), [2], t([2, 3]), None)
call("huber_loss", waves((1, 3, 5), (1, 5, 1)), waves((1, 3, 5)), 0, 1.0)
call("huber_loss", waves((5, 3), (1, 5)), waves((5, 3)), 0, 0.5)
call("soft_margin_loss", waves((5, 3), (1, 5)), waves((5, 3)), 0)
call("soft_margin_loss", waves((1, 2), (2, 1)), waves((1, 2), (1, 1)), 0)
call("soft_margin_loss", waves((1, 3, 1), (3, 1, 3)), waves((1, 3, 1)), 0)
call("group_norm", waves((1, 3, 1, 4), (4, 4, 1, 1)), 1)
call("linalg_matrix_norm.str_ord", waves((4, 5, 4, 2)), "nuc", [2, 1], True)
call("linalg_matrix_norm", waves((4, 5, 4, 2)), 2, [2, 1], True)
call("conv2d", waves((4, 2, 1, 1), (2, 1, 2, 2)),
     waves((4, 2, 1, 1), (2, 1, 8, 2)), None, [1, 3], [0, 0], [1, 3])
call("channel_shuffle", waves((0, 1, 3), (1, 3, 1)), 1)
for shape, strides in [((2, 1, 2), (1, 1, 2)), ((2, 2, 3), (3, 6, 1))]:
    call("upsample_linear1d", waves(shape, strides), [shape[2]], False)
    call("upsample_nearest1d", waves(shape, strides), [shape[2]])
call("upsample_bilinear2d", waves((4, 3, 3, 3), (27, 1, 9, 3)), [1, 3], True)
call("upsample_bilinear2d", waves((3, 4, 2, 3), (6, 18, 1, 2)), [2, 3], True)
call("upsample_bilinear2d", waves((3, 1, 2, 3), (6, 1, 3, 1)), [2, 3], True)


# -- Format -------------------------------------------------------------------

TOLERANCE = {F16: [2e-3, 1e-3], BF16: [1.6e-2, 8e-3], F32: [2e-5, 2e-6],
             F64: [1e-10, 1e-12], torch.complex64: [2e-5, 2e-6],
             torch.complex128: [1e-10, 1e-12]}


def number(v):
    if isinstance(v, complex):
        return [number(v.real), number(v.imag)]
    if isinstance(v, bool):
        return int(v)
    if v != v:
        return "nan"
    if abs(v) == INF:
        return "inf" if v > 0 else "-inf"
    if isinstance(v, float) and v == int(v) and (v or
                                                 math.copysign(1, v) > 0):
        return int(v)
    return v if abs(v) < 2 ** 53 else str(v)


def tensor(x, whole):
    n = 1 + sum((a - 1) * b for a, b in zip(x.shape, x.stride()))
    n = n if x.numel() else 0
    start = x.storage_offset()
    if whole:
        n, start = x.untyped_storage().nbytes() // x.element_size(), 0
    line = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage(), start, (n,),
                                              (1,))
    return {"dtype": str(x.dtype)[6:], "shape": list(x.shape),
            "strides": list(x.stride()),
            "offset": x.storage_offset() if whole else 0,
            "storage": [number(v) for v in line.tolist()]}


def value(v, whole=True):
    if isinstance(v, torch.Tensor):
        return tensor(v, whole)
    if isinstance(v, (list, tuple)):
        return [value(x, whole) for x in v]
    if isinstance(v, torch.dtype):
        return {"dtype": str(v)[6:]}
    if isinstance(v, float):
        return {"float": number(v)}
    return v


def record(n, op, args, kwargs):
    name, _, overload = op.partition(".")
    f = getattr(getattr(A, name), overload or "default")
    given = [value(a) for a in args], {k: value(v) for k, v in kwargs.items()}
    result = f(*args, **kwargs)
    results = list(result) if isinstance(result, tuple) else [result]
    tol = [0, 0]
    for x in results:
        for y in x if isinstance(x, list) else [x]:
            own = TOLERANCE.get(getattr(y, "dtype", None), [0, 0])
            tol = [max(a, b) for a, b in zip(tol, own)]
    return {"id": f"call-{n}", "op": "aten::" + op, "args": given[0],
            "kwargs": given[1], "tol": tol,
            "expect": {"out": [value(x, False) for x in results]}}


with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
    for n, (op, args, kwargs) in enumerate(CALLS, 1):
        line = json.dumps(record(n, op, args, kwargs))
        f.write((line + "\n").encode())
