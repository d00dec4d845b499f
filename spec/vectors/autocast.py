"""Writes spec/data/autocast.jsonl.gz: mixed precision on the CPU as PyTorch
2.15 computes it, a case per line.

    python spec/vectors/autocast.py spec/data/autocast.jsonl.gz

A case with `op` is a call of an operator: the dtypes of its results in a region
of bfloat16, by the dtype of its floats, "mixed" for a first float32 and then
bfloat16; null where PyTorch raises an error. A case with `net` is a network:
its seed, output and gradients in a region. A case with `scaler` is the scale,
the steps since it changed, a parameter and the norm of its gradient after each
step of a GradScaler.

Inputs are waves, sin(k + 0.7 i); `unit` is one between 0 and 1. `spd` is a
positive definite matrix; `ints`, and `labels`, where -1 is none, are positions
from 0; `numbers` are int64.
"""

import gzip
import json
import math
import sys
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
assert torch.__version__.startswith("2.15")


def wave(shape, k=0):
    n = math.prod(shape)
    w = torch.sin(k + 0.7 * torch.arange(n, dtype=torch.float64))
    return w.float().reshape(shape)


def autocast():
    return torch.autocast("cpu", dtype=torch.bfloat16)


# -- Operators ---------------------------------------------------------------

def W(*shape):
    return {"wave": shape}


def ints(*list_):
    return {"ints": list_}


def numbers(*list_):
    return {"numbers": list_}


def all_of(names, *args):
    return [(name, args) for name in names.split()]


SPD, SQUARE = {"spd": 3}, W(3, 3)
IMAGE = {1: W(1, 2, 5), 2: W(1, 2, 5, 5), 3: W(1, 2, 5, 5, 5)}
KERNEL = {1: W(3, 2, 2), 2: W(3, 2, 2, 2), 3: W(3, 2, 2, 2, 2)}
BACK = {1: W(2, 3, 2), 2: W(2, 3, 2, 2), 3: W(2, 3, 2, 2, 2)}
POINTS = {2: W(1, 3, 3, 2), 3: W(1, 3, 3, 3, 3)}

CALLS = [
    ("bmm", (W(1, 2, 3), W(1, 3, 2))),
    ("mm", (SQUARE, SQUARE)),
    ("matmul", (SQUARE, W(3))),
    ("linalg_vecdot", (SQUARE, SQUARE)),
    ("baddbmm", (W(1, 2, 2), W(1, 2, 3), W(1, 3, 2))),
    ("addmm", (W(3), SQUARE, SQUARE)),
    ("addbmm", (W(2, 2), W(1, 2, 3), W(1, 3, 2))),
    ("linear", (W(2, 3), W(4, 3), W(4))),
    ("conv_tbc", (W(4, 1, 2), W(2, 2, 3), W(3))),
    ("conv_transpose1d", (IMAGE[1], BACK[1])),
    ("conv_transpose2d.input", (IMAGE[2], BACK[2])),
    ("conv_transpose3d.input", (IMAGE[3], BACK[3])),
    ("prelu", (SQUARE, W(1))),
    ("scaled_dot_product_attention", (W(1, 2, 3, 4), W(1, 2, 3, 4),
                                      W(1, 2, 3, 4))),
    ("lu_solve", (SQUARE, SPD, {"int32": [1, 2, 3]})),
    ("cholesky_solve", (SQUARE, SPD)),
    ("triangular_solve", (SQUARE, SPD)),
    ("linalg_solve", (SPD, SQUARE)),
    ("linalg_lstsq", (SPD, SQUARE)),
    ("linalg_tensorsolve", (SPD, W(3))),
    ("linalg_tensorinv", (W(3, 3), 1)),
    ("linalg_householder_product", (SQUARE, W(3))),
    ("orgqr", (SQUARE, W(3))),
    ("ormqr", (SQUARE, W(3), SQUARE)),
    ("linalg_cond.p_str", (SPD, "fro")), ("linalg_matrix_rank", (SPD, 0.5)),
    ("linalg_matrix_rank.tol_tensor", (SPD, W(1))),
    ("cdist", (SQUARE, SQUARE)),
    ("polar", (W(3), W(3))),
    ("view_as_complex", (W(3, 2),)),
    ("prod.dim_int", (SQUARE, -1)),
    ("quantile", (SQUARE, W(1), -1)),
    ("quantile.scalar", (SQUARE, 0.5)),
    ("nanquantile", (SQUARE, W(1), -1)),
    ("nanquantile.scalar", (SQUARE, 0.5)),
    ("binary_cross_entropy", ({"unit": (2, 3)}, {"unit": (2, 3)})),
    ("cosine_embedding_loss", (SQUARE, SQUARE, W(3))),
    ("nll_loss", (SQUARE, ints(0, 1, 2))),
    ("nll_loss2d", (W(1, 2, 1, 2), {"ints": [[[0, 1]]]})),
    ("hinge_embedding_loss", (SQUARE, SQUARE)),
    ("cross_entropy_loss", (SQUARE, ints(0, 1, 2))),
    ("margin_ranking_loss", (W(3), W(3), W(3))),
    ("triplet_margin_loss", (SQUARE, SQUARE, SQUARE)),
    ("multi_margin_loss", (SQUARE, ints(0, 1, 2))),
    ("multilabel_margin_loss", (SQUARE, {"labels": [[0, -1, 1]] * 3})),
    ("poisson_nll_loss", (SQUARE, SQUARE, True, False, 1e-8, 1)),
    ("ctc_loss.IntList", (W(4, 1, 3), numbers([1, 2]), [4], [2])),
    ("ctc_loss.Tensor", (W(4, 1, 3), numbers([1, 2]), numbers(4), numbers(2))),
    ("grid_sampler", (IMAGE[2], POINTS[2], 0, 0, False)),
    ("grid_sampler_2d", (IMAGE[2], POINTS[2], 0, 0, False)),
    ("grid_sampler_3d", (IMAGE[3], POINTS[3], 0, 0, False)),
    ("max_unpool2d", (W(1, 1, 1, 1), {"ints": [[[[0]]]]}, [2, 2])),
    ("max_unpool3d", (W(1, 1, 1, 1, 1), {"ints": [[[[[0]]]]]}, [2, 2, 2],
                      [2, 2, 2], [0, 0, 0])),
    ("fractional_max_pool2d", (IMAGE[2], [2, 2], [2, 2], {"unit": (1, 2, 2)})),
    ("fractional_max_pool3d", (IMAGE[3], [2, 2, 2], [2, 2, 2],
                               {"unit": (1, 2, 3)})),
    ("stft", (W(16), 4, None, None, None, False, True, True)),
    ("stft.center", (W(16), 4, None, None, None, True, "reflect", False, True,
                     True)),
    ("stack", ([SQUARE, SQUARE],)),
    ("cat", ([SQUARE, SQUARE],)),
    ("index_copy", (SQUARE, -1, ints(0, 1, 2), SQUARE)),
    ("bilinear", (W(2, 3), W(2, 4), W(5, 3, 4), W(5))),
    # no kernels
    ("add.Tensor", (SQUARE, SQUARE)), ("softmax.int", (SQUARE, -1)),
    ("layer_norm", (SQUARE, [3])), ("mv", (SQUARE, W(3))),
    ("dot", (W(3), W(3))), ("addr", (SQUARE, W(3), W(3))),
    ("einsum", ("ij,jk->ik", [SQUARE, SQUARE])),
    ("where.self", ({"bool": [True, False, True]}, W(3), W(3))),
    ("avg_pool2d", (IMAGE[2], [2, 2])), ("sum", (SQUARE,)),
]
for n in (1, 2, 3):
    CALLS += [("conv%dd" % n, (IMAGE[n], KERNEL[n])),
              ("conv%dd.padding" % n, (IMAGE[n], KERNEL[n], None, [1] * n,
                                       "same"))]
CALLS += all_of("""
    cholesky_inverse geqrf inverse linalg_cholesky linalg_cholesky_ex
    linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
    linalg_inv linalg_inv_ex
    linalg_matrix_rank.atol_rtol_float linalg_matrix_rank.atol_rtol_tensor
    linalg_matrix_sqrth linalg_polar linalg_matrix_exp linalg_qr
    linalg_svd linalg_svdvals pinverse svd trace prod relu gelu sigmoid exp
    fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_rfft fft_rfft2
    fft_rfftn fft_ihfft""", SPD)
CALLS += all_of("fft_hfft fft_irfft fft_irfft2 fft_irfftn", SPD)
CALLS += all_of("""
    binary_cross_entropy_with_logits huber_loss kl_div l1_loss mse_loss
    smooth_l1_loss soft_margin_loss""", SQUARE, SQUARE)
CALLS += all_of("avg_pool3d max_pool3d", IMAGE[3], [2, 2, 2])
CALLS += all_of("adaptive_avg_pool3d adaptive_max_pool3d", IMAGE[3], [2, 2, 2])
CALLS += all_of("reflection_pad1d replication_pad1d", IMAGE[1], [1, 1])
CALLS += all_of("reflection_pad2d replication_pad2d", IMAGE[2], [1, 1, 1, 1])
CALLS += all_of("replication_pad3d", IMAGE[3], [1] * 6)


def decode(x, dtypes):
    if isinstance(x, list) and x and isinstance(x[0], dict):
        return [decode(e, dtypes) for e in x]
    if not isinstance(x, dict):
        return x
    (kind, value), = x.items()
    if kind == "ints" or kind == "labels" or kind == "numbers":
        return torch.tensor(value)
    if kind == "int32":
        return torch.tensor(value, dtype=torch.int32)
    if kind == "bool":
        return torch.tensor(value)
    if kind == "spd":
        w = wave((value, value)) / 10
        t = w + w.T + 3 * torch.eye(value)
    else:
        t = wave(value)
        t = (t + 1) / 2 if kind == "unit" else t
    return t.to(dtypes.pop(0) if len(dtypes) > 1 else dtypes[0])


def result_dtypes(name, args, dtypes):
    op = getattr(torch.ops.aten, name.split(".")[0])
    op = getattr(op, name.split(".")[1] if "." in name else "default")
    args = [decode(x, dtypes) for x in args]
    try:
        with autocast():
            out = op(*args)
    except (RuntimeError, NotImplementedError):
        return None
    out = out if isinstance(out, (tuple, list)) else [out]
    return [str(t.dtype)[6:] for t in out if isinstance(t, torch.Tensor)]


def op_case(name, args):
    results = {str(d)[6:]: result_dtypes(name, args, [d]) for d in
               (torch.float32, torch.bfloat16, torch.float16)}
    results["mixed"] = result_dtypes(name, args,
                                     [torch.float32, torch.bfloat16])
    return {"op": name, "args": args, "results": results}


# -- Networks ----------------------------------------------------------------

def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(),
                         nn.Linear(8, 3))


def cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3),
                         nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))


NETS = [
    ("mlp", mlp, (5, 6)), ("cnn", cnn, (2, 1, 8, 8)),
    ("lstm", lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True),
     (5, 2, 3)),
    ("gru", lambda: nn.GRU(3, 4), (5, 2, 3)),
    ("rnn", lambda: nn.RNN(3, 4), (5, 2, 3)),
    ("transformer", lambda: nn.TransformerEncoderLayer(
        8, 2, dim_feedforward=16, dropout=0.0, batch_first=True), (2, 5, 8)),
]


def net_case(name, make, shape, seed):
    torch.manual_seed(seed)
    net = make()
    x = wave(shape).requires_grad_()
    with autocast():
        out = net(x)
        states = [t for e in out[1:] for t in
                  (e if isinstance(e, tuple) else [e])] \
            if isinstance(out, tuple) else []
        out = out[0] if isinstance(out, tuple) else out
        flat = out.reshape(-1, out.shape[-1])
        target = torch.arange(flat.shape[0]) % flat.shape[1]
        loss = nn.functional.cross_entropy(flat, target)
    loss.backward()
    parameters = list(net.parameters())
    assert all(p.grad.dtype == torch.float32 for p in parameters + [x])
    return {
        "net": name, "seed": seed, "shape": shape, "dtype": str(out.dtype)[6:],
        "states": [str(t.dtype)[6:] for t in states],
        "loss_dtype": str(loss.dtype)[6:], "loss": loss.item(),
        "out": out.detach().float().flatten().tolist(),
        "grads": [p.grad.flatten().tolist() for p in parameters + [x]]}


# -- Loss scaling ------------------------------------------------------------

INF, NAN = float("inf"), float("nan")
STEPS = [[1.5, -2.0], [INF, 1.0], [3.0, 4.0], [0.5, 0.25], [1.0, NAN],
         [2.0, 2.0], [-1.0, 1.0], [1.0, 0.0], [0.125, 8.0], [5.0, -5.0]]
OPTIONS = {"init_scale": 1000.0, "growth_factor": 1.7, "backoff_factor": 0.3,
           "growth_interval": 2}


def scaler_case(options):
    """The gradient of each step is given, that of the scaled loss is this
    times the scale."""
    scaler = torch.amp.GradScaler("cpu", **options)
    p = nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    trace = []
    for g in STEPS:
        optimizer.zero_grad()
        scaler.scale((p * torch.tensor(g)).sum()).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_([p], 3.0)
        scaler.step(optimizer)
        scaler.update()
        state = scaler.state_dict()
        trace.append([state["scale"], state["_growth_tracker"], *p.tolist(),
                      norm.item() if math.isfinite(norm.item()) else None])
    gradients = [[str(x) for x in g] for g in STEPS]
    return {"scaler": options, "steps": gradients, "trace": trace}


with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as file:
    CASES = [op_case(name, args) for name, args in CALLS]
    CASES += [net_case(*net, seed) for seed, net in enumerate(NETS)]
    CASES += [scaler_case(OPTIONS), scaler_case({"init_scale": 1e38,
                                                 "growth_interval": 1})]
    for case in CASES:
        file.write((json.dumps(case) + "\n").encode())
    for case in CASES:
        if "op" in case and not case["results"]["float32"]:
            print(case["op"], "fails with float32")
