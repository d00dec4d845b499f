"""What PyTorch's optimizers and schedulers do in 20 steps.

Writes spec/data/optim.jsonl.gz: a line of JSON per optimizer and options, with
the parameters after each fifth step, one per scheduler, with lr (and the
momentum) after each step, and one per fused operator, with what it has written.
spec/strided/nn/optim_vectors_spec.lua and spec/op/optim/fused_spec.lua compute
the same starts and gradients.

    python spec/vectors/optim.py spec/data/optim.jsonl.gz
"""
import gzip
import json
import math
import sys

import torch
from torch.optim import lr_scheduler as lrs

STEPS = 20
torch.set_default_dtype(torch.float64)

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True,
             "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1,
              "betas": [0.5, 0.9]}),
    ("AdamW", {"lr": 0.1, "maximize": True}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1,
               "betas": [0.5, 0.9]}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.01,
               "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "betas": [0.8, 0.9],
               "decoupled_weight_decay": True, "maximize": True}),
    ("RMSprop", {"lr": 0.1, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True,
                 "alpha": 0.9, "maximize": True}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5}),
    ("RMSprop", {"lr": 0.01, "centered": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1,
                 "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1,
                  "maximize": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "betas": [0.5, 0.8], "weight_decay": 0.1,
                "maximize": True}),
    ("ASGD", {"lr": 0.1, "lambd": 0.01}),
    ("ASGD", {"lr": 0.1, "t0": 5, "alpha": 0.5, "weight_decay": 0.1,
              "maximize": True}),
    ("Rprop", {"lr": 0.1}),
    ("Rprop", {"lr": 0.05, "etas": [0.3, 1.5], "step_sizes": [0.01, 0.2],
               "maximize": True}),
    ("Muon", {"lr": 0.1}),
    ("Muon", {"lr": 0.1, "nesterov": False, "weight_decay": 0,
              "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3}),
    ("Adafactor", {"lr": 0.1}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": [1e-3, 0.1],
                   "d": 2, "weight_decay": 0.1, "maximize": True}),
]

LBFGS = [
    {},
    {"line_search_fn": "strong_wolfe", "history_size": 5, "max_iter": 4},
    {"lr": 0.1, "max_iter": 3, "maximize": True},
    {"line_search_fn": "strong_wolfe", "lr": 30, "max_iter": 3},
    {"line_search_fn": "strong_wolfe", "lr": 7, "max_iter": 2,
     "maximize": True},
    {"line_search_fn": "strong_wolfe", "lr": 29, "max_iter": 4},
]


def start(n):
    """n numbers from -0.5."""
    return (torch.arange(n) * 0.3).sin() - 0.25


def gradient(step, n):
    """Whole quarters, so that each dtype has them exactly."""
    return ((step * 7 + torch.arange(1, n + 1) * 3) % 11 - 5) / 4.0


def as_dtype(t, dtype):
    if dtype.is_complex:
        return torch.view_as_complex(t.view(-1, 2)).to(dtype)
    return t.to(dtype)


def numbers(p):
    p = p.detach()
    p = torch.view_as_real(p) if p.is_complex() else p
    return p.double().reshape(-1).tolist()


def is_matrix(name, options):
    return name == "Muon" or (name == "Adafactor" and "d" not in options)


def optimizer_row(name, options, dtype):
    """The parameters after steps 5, 10, 15 and 20."""
    n = 12
    p = as_dtype(start(n), dtype)
    p = p.view(4, 3) if is_matrix(name, options) else p
    p = p.clone().requires_grad_()
    optimizer = getattr(torch.optim, name)([p], **options)
    after = []
    for step in range(1, STEPS + 1):
        p.grad = as_dtype(gradient(step, n), dtype).view(p.shape)
        optimizer.step()
        if step % 5 == 0:
            after.append(numbers(p))
    return {"kind": "optimizer", "name": name, "options": options,
            "dtype": str(dtype).split(".")[1], "after": after}


def lbfgs_row(options):
    """Rosenbrock's function of six numbers, the same without squares (lr 29,
    its line searches are long), or the negative of a bowl."""
    p = start(6).clone().requires_grad_()
    optimizer = torch.optim.LBFGS([p], **options)

    def closure():
        optimizer.zero_grad()
        if options.get("maximize"):
            loss = -((p - 1) ** 2).sum() - (p ** 4).sum()
        elif options.get("lr") == 29:
            loss = (10 * (p[1:] - p[:-1] ** 2).abs()
                    + (1 - p[:-1]).abs()).sum()
        else:
            loss = (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()
        loss.backward()
        return loss

    after, losses = [], []
    for step in range(1, 6):
        losses.append(optimizer.step(closure).item())
        after.append(numbers(p))
    return {"kind": "lbfgs", "options": options, "after": after,
            "losses": losses,
            "evals": optimizer.state[p]["func_evals"]}


FUSED = [
    ("adam", {"amsgrad": True, "maximize": False, "weight_decay": 0.1}),
    ("adamw", {"amsgrad": False, "maximize": True, "weight_decay": 0.1}),
    ("sgd", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1,
             "dampening": 0.0, "maximize": False, "is_first_step": False}),
    ("sgd", {"momentum": 0.5, "nesterov": False, "weight_decay": 0.0,
             "dampening": 0.5, "maximize": True, "is_first_step": True}),
    ("adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "maximize": False,
                 "eps": 1e-8}),
]


def fused_row(name, options, dtype):
    """A call of aten::_fused_NAME_ for tensors of 21 and 3 elements."""
    def tensors(shift):
        return [(start(n) + shift).to(dtype) for n in (21, 3)]

    options = dict(options, lr=0.1)
    p, g = tensors(0), [(gradient(2, n) * 4).to(dtype) for n in (21, 3)]
    lists, steps = [], [torch.tensor(s) for s in (3.0, 7.0)]
    if name.startswith("adam"):
        options.update(beta1=0.8, beta2=0.9, eps=1e-3)
        lists = [tensors(0.1), tensors(2), tensors(2.5)]
        args = [p, g] + lists[:2 + options["amsgrad"]]
        args += [[]] * (not options["amsgrad"]) + [steps]
    elif name == "sgd":
        lists = [tensors(0.1)]
        args = [p, g] + lists
    else:
        lists = [tensors(2)]
        args = [p, g] + lists + [steps]
    getattr(torch.ops.aten, f"_fused_{name}_")(
        *args, **options, grad_scale=torch.tensor(4.0, dtype=torch.float32),
        found_inf=torch.tensor(0.0, dtype=torch.float32))
    return {"kind": "fused", "name": name, "options": options,
            "dtype": str(dtype).split(".")[1],
            "after": [numbers(torch.cat(l)) for l in [p, g] + lists]}


SCHEDULERS = [
    ("StepLR", [3], {}),
    ("StepLR", [4], {"gamma": 0.5}),
    ("MultiStepLR", [[2, 5, 5, 11]], {"gamma": 0.5}),
    ("ConstantLR", [], {"factor": 0.25, "total_iters": 4}),
    ("LinearLR", [], {}),
    ("LinearLR", [], {"start_factor": 0.2, "end_factor": 0.5,
                      "total_iters": 7}),
    ("ExponentialLR", [0.9], {}),
    ("PolynomialLR", [], {"total_iters": 8, "power": 2.0}),
    ("CosineAnnealingLR", [7], {"eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", [3], {"T_mult": 2, "eta_min": 0.01}),
    ("CyclicLR", [0.01, 0.2], {"step_size_up": 4, "step_size_down": 3,
                               "mode": "triangular2"}),
    ("CyclicLR", [0.01, 0.2], {"step_size_up": 5, "mode": "exp_range",
                               "gamma": 0.9}),
    ("OneCycleLR", [0.5], {"total_steps": 20}),
    ("OneCycleLR", [0.5], {"total_steps": 24, "three_phase": True,
                           "anneal_strategy": "linear"}),
    ("ReduceLROnPlateau", [], {"patience": 2, "factor": 0.5, "cooldown": 1}),
    ("ReduceLROnPlateau", [], {"mode": "max", "patience": 0, "min_lr": 0.02,
                               "threshold_mode": "abs", "threshold": 0.2}),
    ("LambdaLR", ["lambda"], {}),
    ("MultiplicativeLR", ["lambda"], {}),
    ("SWALR", [0.3], {"anneal_epochs": 6}),
    ("Sequential", [], {}),
    ("Restarted", [], {}),
    ("Chained", [], {}),
]


def function(epoch):
    return 1 / (1 + epoch)


def make_scheduler(name, args, options, optimizer):
    if name == "Sequential":
        return lrs.SequentialLR(optimizer, [
            lrs.LinearLR(optimizer, start_factor=0.1, total_iters=4),
            lrs.StepLR(optimizer, 3, gamma=0.5),
            lrs.CosineAnnealingLR(optimizer, 6)], [4, 11])
    if name == "Restarted":
        return lrs.SequentialLR(optimizer, [
            lrs.ExponentialLR(optimizer, 0.9),
            lrs.LinearLR(optimizer, total_iters=3),
            lrs.ConstantLR(optimizer, total_iters=2),
            lrs.MultiStepLR(optimizer, [2], gamma=0.5),
            lrs.PolynomialLR(optimizer, total_iters=9),
            lrs.CosineAnnealingWarmRestarts(optimizer, 3)],
            [2, 5, 9, 13, 16])
    if name == "Chained":
        return lrs.ChainedScheduler([
            lrs.ConstantLR(optimizer, factor=0.1, total_iters=5),
            lrs.ExponentialLR(optimizer, 0.9),
            lrs.MultiStepLR(optimizer, [6], gamma=0.5)])
    if name == "SWALR":
        return torch.optim.swa_utils.SWALR(optimizer, *args, **options)
    args = [function if a == "lambda" else a for a in args]
    return getattr(lrs, name)(optimizer, *args, **options)


def scheduler_row(name, args, options):
    p, q = torch.zeros(1).requires_grad_(), torch.zeros(1).requires_grad_()
    optimizer = torch.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.4}],
                                lr=0.1, momentum=0.9)
    scheduler = make_scheduler(name, args, options, optimizer)
    lr, momentum = [], []
    for step in range(STEPS):
        lr.append([g["lr"] for g in optimizer.param_groups])
        momentum.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if name == "ReduceLROnPlateau":
            scheduler.step(math.cos(step * 0.7) * 2 - step * 0.05)
        else:
            scheduler.step()
    return {"kind": "scheduler", "name": name, "args": args,
            "options": options, "lr": lr, "momentum": momentum}


def main():
    rows = []
    for name, options in OPTIMIZERS:
        dtypes = [torch.float64, torch.float32]
        if name not in ("Muon", "Adafactor"):
            dtypes.append(torch.complex128)
        rows += [optimizer_row(name, options, d) for d in dtypes]
    rows += [lbfgs_row(options) for options in LBFGS]
    rows += [scheduler_row(*row) for row in SCHEDULERS]
    for dtype in (torch.float64, torch.float32, torch.bfloat16,
                  torch.float16):
        rows += [fused_row(name, options, dtype) for name, options in FUSED]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with open(sys.argv[1], "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, 0) as out:
            out.write(text.encode())


main()
