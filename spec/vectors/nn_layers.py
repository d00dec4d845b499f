"""Writes spec/data/nn_layers.jsonl.gz: PyTorch's modules after a seed.

    python spec/vectors/nn_layers.py

Needs torch 2.15. A line is a case: the call that makes the module, in Lua; its
inputs; its state after the seed in float32, by name and in order; then, in
float64, results, state afterwards, and gradients of inputs and parameters for
the loss that WEIGHTS of the results make.
"""
import gzip
import json
import os
import random
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "..", "data", "nn_layers.jsonl.gz")


# -- Inputs --------------------------------------------------------------------

def f(*shape):       # numbers with a gradient
    return ("f", shape, -2, 2)


def c(*shape):       # numbers without
    return ("c", shape, -2, 2)


def pos(*shape):     # positive numbers
    return ("f", shape, 0.1, 2)


def prob(*shape):    # probabilities
    return ("f", shape, 0.05, 0.95)


def sign(*shape):    # -1 and 1
    return ("s", shape, 0, 0)


def idx(high, *shape):   # indices below high
    return ("i", shape, 0, high)


def fixed(kind, values):
    return (kind, values)


def tensor_of(spec, source):
    if len(spec) == 2:
        kind = spec[0]
        dtype = torch.float64 if kind in "fc" else torch.int64
        return kind, torch.tensor(spec[1], dtype=dtype)
    kind, shape, low, high = spec
    n = 1
    for s in shape:
        n *= s
    if kind == "i":
        values = [source.randrange(high) for _ in range(n)]
        return kind, torch.tensor(values, dtype=torch.int64).reshape(shape)
    if kind == "s":
        values = [source.choice([-1.0, 1.0]) for _ in range(n)]
    else:
        # no two are equal, nor two differences, so that maxima are unique
        values = [low + (high - low) * (k + 0.2 + 0.6 * source.random()) / n
                  for k in range(n)]
        source.shuffle(values)
    values = [round(v, 6) for v in values]
    return kind, torch.tensor(values, dtype=torch.float64).reshape(shape)


# -- Cases ---------------------------------------------------------------------

A = f(3, 4)
IMAGE = f(2, 3, 5, 6)

# Lua, Python, inputs
CASES = [
    # linear
    ("nn.Linear(4, 3)", "nn.Linear(4, 3)", [A]),
    ("nn.Linear(4, 3, {bias = false})", "nn.Linear(4, 3, bias=False)", [A]),
    ("nn.Bilinear(4, 3, 2)", "nn.Bilinear(4, 3, 2)", [f(5, 4), f(5, 3)]),
    ("nn.Bilinear(4, 3, 2, {bias = false})",
     "nn.Bilinear(4, 3, 2, bias=False)", [f(2, 5, 4), f(2, 5, 3)]),
    ("nn.Identity(7)", "nn.Identity(7)", [A]),
    ("nn.Flatten()", "nn.Flatten()", [f(2, 3, 4)]),
    ("nn.Flatten(1, 2)", "nn.Flatten(0, 1)", [f(2, 3, 4)]),
    ("nn.Unflatten(2, {2, 2})", "nn.Unflatten(1, (2, 2))", [A]),
    ("nn.CosineSimilarity()", "nn.CosineSimilarity()", [A, f(3, 4)]),
    ("nn.CosineSimilarity {dim = 1, eps = 1e-3}",
     "nn.CosineSimilarity(dim=0, eps=1e-3)", [A, f(3, 4)]),
    ("nn.PairwiseDistance()", "nn.PairwiseDistance()", [A, f(3, 4)]),
    ("nn.PairwiseDistance(1, {keepdim = true})",
     "nn.PairwiseDistance(1, keepdim=True)", [A, f(3, 4)]),
    ("nn.AdaptiveLogSoftmaxWithLoss(8, 10, {3, 6}, {div_value = 2})",
     "nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2)",
     [f(5, 8), fixed("i", [0, 4, 9, 2, 7])]),
    ("nn.AdaptiveLogSoftmaxWithLoss(8, 10, {4}, {head_bias = true})",
     "nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4], head_bias=True)",
     [f(8), fixed("i", 5)]),
    # containers
    ("nn.Sequential {nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)}",
     "nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))", [A]),
    ("nn.Sequential {{'a', nn.Linear(4, 3)}, {'b', nn.ReLU()}}",
     "nn.Sequential(OrderedDict(a=nn.Linear(4, 3), b=nn.ReLU()))", [A]),
    # convolutions
    ("nn.Conv1d(3, 4, 3)", "nn.Conv1d(3, 4, 3)", [f(2, 3, 7)]),
    ("nn.Conv1d(4, 6, 3, {stride = 2, padding = 2, dilation = 2, groups = 2, "
     "padding_mode = 'circular'})",
     "nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2, "
     "padding_mode='circular')", [f(2, 4, 7)]),
    ("nn.Conv1d(2, 3, 4, {padding = 'same', padding_mode = 'replicate'})",
     "nn.Conv1d(2, 3, 4, padding='same', padding_mode='replicate')",
     [f(2, 6)]),
    ("nn.Conv2d(3, 4, 3, {stride = 2, padding = 1, bias = false})",
     "nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)", [IMAGE]),
    ("nn.Conv2d(3, 2, {3, 2}, {padding = {1, 2}, padding_mode = 'reflect'})",
     "nn.Conv2d(3, 2, (3, 2), padding=(1, 2), padding_mode='reflect')",
     [IMAGE]),
    ("nn.Conv2d(3, 3, 3, {padding = 'same', groups = 3})",
     "nn.Conv2d(3, 3, 3, padding='same', groups=3)", [IMAGE]),
    ("nn.Conv3d(2, 3, 2, {stride = {1, 2, 1}})",
     "nn.Conv3d(2, 3, 2, stride=(1, 2, 1))", [f(1, 2, 3, 4, 3)]),
    ("nn.Conv3d(1, 2, 2, {padding = 1, padding_mode = 'circular'})",
     "nn.Conv3d(1, 2, 2, padding=1, padding_mode='circular')",
     [f(1, 1, 2, 3, 2)]),
    ("nn.ConvTranspose1d(3, 2, 3, {stride = 2, output_padding = 1})",
     "nn.ConvTranspose1d(3, 2, 3, stride=2, output_padding=1)",
     [f(2, 3, 4)]),
    ("nn.ConvTranspose2d(4, 6, 3, {stride = 2, padding = 1, groups = 2, "
     "dilation = 2, bias = false})",
     "nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2, dilation=2, "
     "bias=False)", [f(1, 4, 3, 3)]),
    ("nn.ConvTranspose2d(2, 3, 3, {stride = 2})",
     "nn.ConvTranspose2d(2, 3, 3, stride=2)", [f(2, 3, 3)],
     {"lua_args": "{8, 7}", "py_args": "[8, 7]"}),
    ("nn.ConvTranspose3d(2, 3, {2, 1, 2})",
     "nn.ConvTranspose3d(2, 3, (2, 1, 2))", [f(1, 2, 2, 3, 2)]),
    # pooling
    ("nn.MaxPool1d(2)", "nn.MaxPool1d(2)", [f(2, 3, 7)]),
    ("nn.MaxPool1d(3, 2, {padding = 1, return_indices = true})",
     "nn.MaxPool1d(3, 2, padding=1, return_indices=True)", [f(2, 3, 7)]),
    ("nn.MaxPool2d(3, 2, {padding = 1, ceil_mode = true})",
     "nn.MaxPool2d(3, 2, padding=1, ceil_mode=True)", [IMAGE]),
    ("nn.MaxPool2d({2, 3}, {return_indices = true, dilation = 2, stride = 1})",
     "nn.MaxPool2d((2, 3), return_indices=True, dilation=2, stride=1)",
     [IMAGE]),
    ("nn.MaxPool3d(2)", "nn.MaxPool3d(2)", [f(1, 2, 3, 4, 4)]),
    ("nn.AvgPool1d(3, 2, {padding = 1, count_include_pad = false})",
     "nn.AvgPool1d(3, 2, padding=1, count_include_pad=False)", [f(2, 3, 7)]),
    ("nn.AvgPool2d(2)", "nn.AvgPool2d(2)", [IMAGE]),
    ("nn.AvgPool2d({3, 2}, {stride = {2, 1}, ceil_mode = true, "
     "divisor_override = 5})",
     "nn.AvgPool2d((3, 2), (2, 1), ceil_mode=True, divisor_override=5)",
     [IMAGE]),
    ("nn.AvgPool3d(2, 1)", "nn.AvgPool3d(2, 1)", [f(1, 2, 3, 3, 3)]),
    ("nn.LPPool1d(2, 3, 2)", "nn.LPPool1d(2, 3, 2)", [pos(2, 3, 7)]),
    ("nn.LPPool2d(3, 2, {ceil_mode = true})",
     "nn.LPPool2d(3, 2, ceil_mode=True)", [pos(2, 3, 5, 5)]),
    ("nn.LPPool3d(2, 2)", "nn.LPPool3d(2, 2)", [pos(1, 2, 3, 4, 4)]),
    ("nn.AdaptiveMaxPool1d(3, {return_indices = true})",
     "nn.AdaptiveMaxPool1d(3, return_indices=True)", [f(2, 3, 7)]),
    ("nn.AdaptiveMaxPool2d {2, false}", "nn.AdaptiveMaxPool2d((2, None))",
     [IMAGE]),
    ("nn.AdaptiveMaxPool3d(2)", "nn.AdaptiveMaxPool3d(2)",
     [f(1, 2, 3, 4, 3)]),
    ("nn.AdaptiveAvgPool1d(3)", "nn.AdaptiveAvgPool1d(3)", [f(2, 3, 7)]),
    ("nn.AdaptiveAvgPool2d {false, 2}", "nn.AdaptiveAvgPool2d((None, 2))",
     [IMAGE]),
    ("nn.AdaptiveAvgPool3d {1, 2, 2}", "nn.AdaptiveAvgPool3d((1, 2, 2))",
     [f(1, 2, 3, 4, 3)]),
    ("nn.FractionalMaxPool2d(2, {output_size = {3, 4}})",
     "nn.FractionalMaxPool2d(2, output_size=(3, 4))", [IMAGE]),
    ("nn.FractionalMaxPool2d(2, {output_ratio = 0.6, return_indices = true})",
     "nn.FractionalMaxPool2d(2, output_ratio=(0.6, 0.6), "
     "return_indices=True)", [IMAGE]),
    ("nn.FractionalMaxPool3d(2, {output_ratio = {0.6, 0.5, 0.7}})",
     "nn.FractionalMaxPool3d(2, output_ratio=(0.6, 0.5, 0.7))",
     [f(2, 4, 4, 4)]),
    ("nn.MaxUnpool1d(2)", "nn.MaxUnpool1d(2)",
     [f(1, 1, 3), fixed("i", [[[1, 2, 5]]])]),
    ("nn.MaxUnpool2d(2, {stride = 2})", "nn.MaxUnpool2d(2, stride=2)",
     [f(1, 1, 2, 2), fixed("i", [[[[0, 6], [16, 18]]]])],
     {"lua_args": "{4, 5}", "py_args": "(4, 5)"}),
    ("nn.MaxUnpool3d(2)", "nn.MaxUnpool3d(2)",
     [f(1, 1, 1, 2, 2), fixed("i", [[[[[0, 7], [24, 31]]]]])]),
    # padding
    ("nn.CircularPad1d(2)", "nn.CircularPad1d(2)", [f(2, 3, 4)]),
    ("nn.CircularPad2d {1, 2, 0, 1}", "nn.CircularPad2d((1, 2, 0, 1))",
     [f(1, 2, 3, 3)]),
    ("nn.CircularPad3d(1)", "nn.CircularPad3d(1)", [f(1, 1, 2, 2, 3)]),
    ("nn.ConstantPad1d({3, 1}, 3.5)", "nn.ConstantPad1d((3, 1), 3.5)",
     [f(2, 3)]),
    ("nn.ConstantPad2d({-1, 2, 1, 0}, 2)",
     "nn.ConstantPad2d((-1, 2, 1, 0), 2)", [f(2, 3, 4)]),
    ("nn.ConstantPad3d(1, -1)", "nn.ConstantPad3d(1, -1)", [f(1, 2, 2, 2)]),
    ("nn.ReflectionPad1d {2, 1}", "nn.ReflectionPad1d((2, 1))", [f(2, 4)]),
    ("nn.ReflectionPad2d(1)", "nn.ReflectionPad2d(1)", [f(1, 2, 3, 3)]),
    ("nn.ReflectionPad3d {1, 0, 1, 1, 0, 1}",
     "nn.ReflectionPad3d((1, 0, 1, 1, 0, 1))", [f(1, 1, 2, 2, 2)]),
    ("nn.ReplicationPad1d {2, 1}", "nn.ReplicationPad1d((2, 1))",
     [f(2, 3, 4)]),
    ("nn.ReplicationPad2d(2)", "nn.ReplicationPad2d(2)", [f(1, 1, 2, 3)]),
    ("nn.ReplicationPad3d(1)", "nn.ReplicationPad3d(1)", [f(1, 1, 2, 2, 2)]),
    ("nn.ZeroPad1d(2)", "nn.ZeroPad1d(2)", [f(2, 3)]),
    ("nn.ZeroPad2d {1, 0, 2, -1}", "nn.ZeroPad2d((1, 0, 2, -1))",
     [f(1, 2, 3, 3)]),
    ("nn.ZeroPad3d(1)", "nn.ZeroPad3d(1)", [f(1, 1, 2, 2, 2)]),
    # norms
    ("nn.BatchNorm1d(4)", "nn.BatchNorm1d(4)", [f(5, 4)]),
    ("nn.BatchNorm1d(4)", "nn.BatchNorm1d(4)", [f(5, 4)], {"eval": True}),
    ("nn.BatchNorm1d(3, {momentum = false, eps = 0.01})",
     "nn.BatchNorm1d(3, momentum=None, eps=0.01)", [f(4, 3, 2)]),
    ("nn.BatchNorm2d(3, {affine = false})", "nn.BatchNorm2d(3, affine=False)",
     [IMAGE]),
    ("nn.BatchNorm2d(3, {track_running_stats = false})",
     "nn.BatchNorm2d(3, track_running_stats=False)", [IMAGE],
     {"eval": True}),
    ("nn.BatchNorm3d(2, {momentum = 0.3})", "nn.BatchNorm3d(2, momentum=0.3)",
     [f(2, 2, 2, 3, 2)]),
    ("nn.InstanceNorm1d(3)", "nn.InstanceNorm1d(3)", [f(2, 3, 5)]),
    ("nn.InstanceNorm1d(3, {eps = 0.1})", "nn.InstanceNorm1d(3, eps=0.1)",
     [f(2, 3, 5)], {"eval": True}),
    ("nn.InstanceNorm2d(3, {affine = true, track_running_stats = true})",
     "nn.InstanceNorm2d(3, affine=True, track_running_stats=True)", [IMAGE]),
    ("nn.InstanceNorm2d(3, {affine = true, track_running_stats = true})",
     "nn.InstanceNorm2d(3, affine=True, track_running_stats=True)",
     [f(3, 5, 6)], {"eval": True}),
    ("nn.InstanceNorm3d(2)", "nn.InstanceNorm3d(2)", [f(2, 2, 3, 2)]),
    ("nn.LayerNorm(4)", "nn.LayerNorm(4)", [A]),
    ("nn.LayerNorm({3, 4}, {eps = 0.01, bias = false})",
     "nn.LayerNorm((3, 4), eps=0.01, bias=False)", [f(2, 3, 4)]),
    ("nn.LayerNorm(4, {elementwise_affine = false})",
     "nn.LayerNorm(4, elementwise_affine=False)", [A]),
    ("nn.RMSNorm(4)", "nn.RMSNorm(4)", [A]),
    ("nn.RMSNorm({3, 4}, {eps = 0.1, elementwise_affine = false})",
     "nn.RMSNorm((3, 4), eps=0.1, elementwise_affine=False)", [f(2, 3, 4)]),
    ("nn.GroupNorm(2, 4)", "nn.GroupNorm(2, 4)", [f(2, 4, 3)]),
    ("nn.GroupNorm(3, 6, {affine = false, eps = 0.1})",
     "nn.GroupNorm(3, 6, affine=False, eps=0.1)", [f(2, 6)]),
    ("nn.LocalResponseNorm(2, {alpha = 0.1})",
     "nn.LocalResponseNorm(2, alpha=0.1)", [f(2, 5, 3)]),
    # activations
    ("nn.CELU(0.7)", "nn.CELU(0.7)", [A]),
    ("nn.ELU {alpha = 0.7}", "nn.ELU(0.7)", [A]),
    ("nn.GELU()", "nn.GELU()", [A]),
    ("nn.GELU {approximate = 'tanh'}", "nn.GELU('tanh')", [A]),
    ("nn.GLU()", "nn.GLU()", [A]),
    ("nn.GLU(2)", "nn.GLU(1)", [f(2, 4, 3)]),
    ("nn.Hardshrink(0.8)", "nn.Hardshrink(0.8)", [A]),
    ("nn.Hardsigmoid()", "nn.Hardsigmoid()", [f(4, 4)]),
    ("nn.Hardswish()", "nn.Hardswish()", [A]),
    ("nn.Hardtanh(-0.5, 1.2)", "nn.Hardtanh(-0.5, 1.2)", [A]),
    ("nn.LeakyReLU(0.2)", "nn.LeakyReLU(0.2)", [A]),
    ("nn.LogSigmoid()", "nn.LogSigmoid()", [A]),
    ("nn.LogSoftmax(2)", "nn.LogSoftmax(1)", [A]),
    ("nn.Mish()", "nn.Mish()", [A]),
    ("nn.PReLU()", "nn.PReLU()", [A]),
    ("nn.PReLU(4, 0.1)", "nn.PReLU(4, 0.1)", [A]),
    ("nn.ReLU()", "nn.ReLU()", [A]),
    ("nn.ReLU6()", "nn.ReLU6()", [A]),
    ("nn.RReLU(0.1, 0.4)", "nn.RReLU(0.1, 0.4)", [f(4, 5)]),
    ("nn.RReLU()", "nn.RReLU()", [A], {"eval": True}),
    ("nn.SELU()", "nn.SELU()", [A]),
    ("nn.SiLU()", "nn.SiLU()", [A]),
    ("nn.Sigmoid()", "nn.Sigmoid()", [A]),
    ("nn.Softmax(-1)", "nn.Softmax(-1)", [A]),
    ("nn.Softmax2d()", "nn.Softmax2d()", [f(2, 3, 2, 2)]),
    ("nn.Softmin {dim = 1}", "nn.Softmin(dim=0)", [A]),
    ("nn.Softplus(2, 1)", "nn.Softplus(2, 1)", [A]),
    ("nn.Softshrink(0.8)", "nn.Softshrink(0.8)", [A]),
    ("nn.Softsign()", "nn.Softsign()", [A]),
    ("nn.Tanh()", "nn.Tanh()", [A]),
    ("nn.Tanhshrink()", "nn.Tanhshrink()", [A]),
    ("nn.Threshold(0.1, 20)", "nn.Threshold(0.1, 20)", [A]),
    # dropout
    ("nn.Dropout(0.3)", "nn.Dropout(0.3)", [f(6, 5)]),
    ("nn.Dropout(0.3)", "nn.Dropout(0.3)", [A], {"eval": True}),
    ("nn.Dropout()", "nn.Dropout()", [f(6, 5)], {"transpose": True}),
    ("nn.AlphaDropout()", "nn.AlphaDropout()", [f(6, 5)],
     {"transpose": True}),
    ("nn.Dropout1d()", "nn.Dropout1d()", [f(3, 4, 2)]),
    ("nn.Dropout2d(0.4)", "nn.Dropout2d(0.4)", [f(2, 4, 2, 2)]),
    ("nn.Dropout3d(0.4)", "nn.Dropout3d(0.4)", [f(2, 4, 1, 2, 2)]),
    ("nn.AlphaDropout(0.3)", "nn.AlphaDropout(0.3)", [f(5, 5)]),
    ("nn.FeatureAlphaDropout(0.3)", "nn.FeatureAlphaDropout(0.3)",
     [f(3, 4, 3)]),
    # embeddings
    ("nn.Embedding(5, 3)", "nn.Embedding(5, 3)", [idx(5, 2, 4)]),
    ("nn.Embedding(6, 3, {padding_idx = 2, scale_grad_by_freq = true})",
     "nn.Embedding(6, 3, padding_idx=1, scale_grad_by_freq=True)",
     [idx(6, 12)]),
    ("nn.Embedding(6, 3, {max_norm = 1, norm_type = 1, padding_idx = -1})",
     "nn.Embedding(6, 3, max_norm=1, norm_type=1, padding_idx=-1)",
     [fixed("i", [1, 3, 5, 1])]),
    ("nn.EmbeddingBag(5, 3)", "nn.EmbeddingBag(5, 3)", [idx(5, 2, 4)]),
    ("nn.EmbeddingBag(5, 3, {mode = 'sum', padding_idx = 1})",
     "nn.EmbeddingBag(5, 3, mode='sum', padding_idx=0)",
     [fixed("i", [0, 3, 2, 0, 4, 4]), fixed("i", [0, 2, 2])]),
    ("nn.EmbeddingBag(5, 3, {mode = 'max', include_last_offset = true})",
     "nn.EmbeddingBag(5, 3, mode='max', include_last_offset=True)",
     [fixed("i", [0, 3, 2, 0, 4, 4]), fixed("i", [0, 2, 6])]),
    # images
    ("nn.Upsample {scale_factor = 2}", "nn.Upsample(scale_factor=2)",
     [f(1, 2, 2, 3)]),
    ("nn.Upsample {size = {4, 5}, mode = 'bilinear', align_corners = true}",
     "nn.Upsample((4, 5), mode='bilinear', align_corners=True)",
     [f(1, 2, 2, 3)]),
    ("nn.Upsample {size = 7, mode = 'linear'}",
     "nn.Upsample(7, mode='linear')", [f(1, 2, 4)]),
    ("nn.UpsamplingNearest2d {size = {4, 4}}",
     "nn.UpsamplingNearest2d((4, 4))", [f(1, 2, 2, 3)]),
    ("nn.UpsamplingBilinear2d {scale_factor = 2}",
     "nn.UpsamplingBilinear2d(scale_factor=2)", [f(1, 2, 2, 3)]),
    ("nn.PixelShuffle(2)", "nn.PixelShuffle(2)", [f(1, 8, 2, 2)]),
    ("nn.PixelUnshuffle(2)", "nn.PixelUnshuffle(2)", [f(1, 2, 4, 2)]),
    ("nn.ChannelShuffle(2)", "nn.ChannelShuffle(2)", [f(1, 4, 2, 2)]),
    ("nn.Fold({4, 5}, {2, 3}, {padding = 1, stride = {2, 1}})",
     "nn.Fold((4, 5), (2, 3), padding=1, stride=(2, 1))", [f(1, 12, 15)]),
    ("nn.Unfold({2, 3}, {dilation = {2, 1}, padding = 1})",
     "nn.Unfold((2, 3), dilation=(2, 1), padding=1)", [f(1, 2, 4, 4)]),
    # losses of numbers
    ("nn.MSELoss()", "nn.MSELoss()", [A, f(3, 4)]),
    ("nn.L1Loss {reduction = 'sum'}", "nn.L1Loss(reduction='sum')",
     [A, f(3, 4)]),
    ("nn.SmoothL1Loss {beta = 0.5}", "nn.SmoothL1Loss(beta=0.5)",
     [A, c(3, 4)]),
    ("nn.HuberLoss {delta = 0.5, reduction = 'none'}",
     "nn.HuberLoss(delta=0.5, reduction='none')", [A, c(3, 4)]),
    ("nn.PoissonNLLLoss()", "nn.PoissonNLLLoss()", [A, c(3, 4)]),
    ("nn.PoissonNLLLoss {log_input = false, full = true, eps = 0.01}",
     "nn.PoissonNLLLoss(log_input=False, full=True, eps=0.01)",
     [pos(3, 4), fixed("c", [[0, 1, 2, 3], [4, 5, 6, 7], [1, 1, 2, 9]])]),
    ("nn.GaussianNLLLoss()", "nn.GaussianNLLLoss()", [A, c(3, 4), pos(3, 4)]),
    ("nn.GaussianNLLLoss {full = true, eps = 0.5, reduction = 'none'}",
     "nn.GaussianNLLLoss(full=True, eps=0.5, reduction='none')",
     [A, c(3, 4), pos(3, 4)]),
    ("nn.KLDivLoss {reduction = 'batchmean'}",
     "nn.KLDivLoss(reduction='batchmean')", [A, prob(3, 4)]),
    ("nn.KLDivLoss {log_target = true}", "nn.KLDivLoss(log_target=True)",
     [A, f(3, 4)]),
    # losses of classes
    ("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss()", [A, idx(4, 3)]),
    ("nn.CrossEntropyLoss {weight = W, ignore_index = 2, "
     "label_smoothing = 0.1}",
     "nn.CrossEntropyLoss(W, ignore_index=1, label_smoothing=0.1)",
     [f(5, 4), fixed("i", [0, 1, 3, 2, 1])]),
    ("nn.CrossEntropyLoss {reduction = 'sum'}",
     "nn.CrossEntropyLoss(reduction='sum')", [f(2, 4, 3), idx(4, 2, 3)]),
    ("nn.LinearCrossEntropyLoss(4, 3)", "nn.LinearCrossEntropyLoss(4, 3)",
     [A, idx(3, 3)]),
    ("nn.LinearCrossEntropyLoss(3, 4, {out_features = {2, 3}, bias = true, "
     "weight = W, label_smoothing = 0.1, ignore_index = 2})",
     "nn.LinearCrossEntropyLoss(3, 4, out_features=(2, 3), bias=True, "
     "weight=W, label_smoothing=0.1, ignore_index=1)",
     [f(2, 3), idx(4, 2, 2, 3)]),
    ("nn.NLLLoss {weight = W}", "nn.NLLLoss(W)", [A, idx(4, 3)]),
    ("nn.NLLLoss2d {reduction = 'none'}", "nn.NLLLoss2d(reduction='none')",
     [f(1, 4, 2, 2), idx(4, 1, 2, 2)]),
    ("nn.MultiMarginLoss()", "nn.MultiMarginLoss()", [A, idx(4, 3)]),
    ("nn.MultiMarginLoss {p = 2, margin = 0.5, weight = W}",
     "nn.MultiMarginLoss(p=2, margin=0.5, weight=W)", [A, idx(4, 3)]),
    ("nn.MultiLabelMarginLoss()", "nn.MultiLabelMarginLoss()",
     [f(2, 4), fixed("i", [[3, 0, -1, 1], [2, -1, 0, 0]])]),
    ("nn.BCELoss()", "nn.BCELoss()", [prob(3, 4), prob(3, 4)]),
    ("nn.BCELoss {weight = W, reduction = 'sum'}",
     "nn.BCELoss(W, reduction='sum')", [prob(3, 4), prob(3, 4)]),
    ("nn.BCEWithLogitsLoss {pos_weight = W}",
     "nn.BCEWithLogitsLoss(pos_weight=W)", [A, prob(3, 4)]),
    ("nn.MultiLabelSoftMarginLoss {weight = W}",
     "nn.MultiLabelSoftMarginLoss(W)", [A, prob(3, 4)]),
    ("nn.SoftMarginLoss()", "nn.SoftMarginLoss()", [A, sign(3, 4)]),
    ("nn.HingeEmbeddingLoss {margin = 0.5}",
     "nn.HingeEmbeddingLoss(margin=0.5)", [A, sign(3, 4)]),
    # losses of pairs and sequences
    ("nn.CosineEmbeddingLoss {margin = 0.1}",
     "nn.CosineEmbeddingLoss(margin=0.1)", [A, f(3, 4), sign(3)]),
    ("nn.MarginRankingLoss {margin = 0.5}",
     "nn.MarginRankingLoss(margin=0.5)", [A, f(3, 4), sign(3, 4)]),
    ("nn.TripletMarginLoss()", "nn.TripletMarginLoss()",
     [A, f(3, 4), f(3, 4)]),
    ("nn.TripletMarginLoss {margin = 2, p = 1, swap = true}",
     "nn.TripletMarginLoss(2, p=1, swap=True)", [A, f(3, 4), f(3, 4)]),
    ("nn.TripletMarginWithDistanceLoss {swap = true, margin = 2}",
     "nn.TripletMarginWithDistanceLoss(swap=True, margin=2)",
     [A, f(3, 4), f(3, 4)]),
    ("nn.CTCLoss()", "nn.CTCLoss()",
     [f(5, 2, 4), fixed("i", [[1, 2], [3, 3]]), fixed("n", [5, 4]),
      fixed("n", [2, 2])]),
    ("nn.CTCLoss {blank = 4, zero_infinity = true, reduction = 'sum'}",
     "nn.CTCLoss(blank=3, zero_infinity=True, reduction='sum')",
     [f(4, 2, 4), fixed("i", [[1, 2, 0], [0, 0, 0]]), fixed("n", [4, 4]),
      fixed("n", [2, 3])]),
    # weights
    ("nn.utils.weight_norm(nn.Linear(4, 3))",
     "nn.utils.weight_norm(nn.Linear(4, 3))", [A]),
    ("nn.utils.weight_norm(nn.Conv1d(2, 3, 2), {dim = false})",
     "nn.utils.weight_norm(nn.Conv1d(2, 3, 2), dim=None)", [f(1, 2, 4)]),
    ("nn.utils.spectral_norm(nn.Linear(4, 3))",
     "nn.utils.spectral_norm(nn.Linear(4, 3))", [A]),
    ("nn.utils.spectral_norm(nn.ConvTranspose1d(2, 3, 2), "
     "{n_power_iterations = 2})",
     "nn.utils.spectral_norm(nn.ConvTranspose1d(2, 3, 2), "
     "n_power_iterations=2)", [f(1, 2, 3)]),
    ("nn.utils.spectral_norm(nn.Linear(4, 3))",
     "nn.utils.spectral_norm(nn.Linear(4, 3))", [A], {"eval": True}),
    ("nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))",
     "nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))", [A]),
    ("nn.utils.parametrizations.spectral_norm(nn.Conv1d(2, 3, 2))",
     "nn.utils.parametrizations.spectral_norm(nn.Conv1d(2, 3, 2))",
     [f(1, 2, 4)]),
    ("nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 2))",
     "nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 2))",
     [f(1, 2, 3)], {"eval": True}),
]

# Initial values: Lua, Python, the shape
INITS = [
    ("uniform_(t, -1, 3)", "uniform_(t, -1, 3)", (4, 5)),
    ("normal_(t, {mean = 2, std = 0.5})", "normal_(t, 2, 0.5)", (4, 5)),
    ("constant_(t, 7)", "constant_(t, 7)", (2,)),
    ("ones_(t)", "ones_(t)", (2,)),
    ("zeros_(t)", "zeros_(t)", (2,)),
    ("eye_(t)", "eye_(t)", (3, 4)),
    ("dirac_(t)", "dirac_(t)", (4, 3, 3)),
    ("dirac_(t, {groups = 2})", "dirac_(t, 2)", (4, 3, 2, 3)),
    ("dirac_(t, 3)", "dirac_(t, 3)", (6, 1, 2, 3, 3)),
    ("xavier_uniform_(t)", "xavier_uniform_(t)", (4, 3, 2)),
    ("xavier_normal_(t, {gain = 2})", "xavier_normal_(t, 2)", (5, 4)),
    ("kaiming_uniform_(t, {nonlinearity = 'relu', mode = 'fan_out'})",
     "kaiming_uniform_(t, nonlinearity='relu', mode='fan_out')", (4, 3, 2)),
    ("kaiming_normal_(t, {a = 0.3})", "kaiming_normal_(t, 0.3)", (4, 5)),
    ("orthogonal_(t)", "orthogonal_(t)", (4, 3)),
    ("orthogonal_(t, {gain = 1.5})", "orthogonal_(t, 1.5)", (2, 3, 2)),
    ("sparse_(t, {sparsity = 0.4, std = 1})", "sparse_(t, 0.4, 1)", (5, 4)),
    ("trunc_normal_(t, {a = -1, b = 0.5})", "trunc_normal_(t, a=-1, b=0.5)",
     (4, 5)),
]

GAINS = ["linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu",
         "leaky_relu", "selu"]


# -- Writing -------------------------------------------------------------------

def plain(value, digits=12):
    if isinstance(value, list):
        return [plain(v, digits) for v in value]
    if isinstance(value, float):
        # JSON has no infinities
        if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        return float(f"%.{digits}g" % value)
    return value


def numbers(t, digits=12):
    kind = "f" if t.is_floating_point() else "i"
    return {"shape": list(t.shape), "kind": kind,
            "values": plain(t.detach().reshape(-1).tolist(), digits)}


def weights(t):
    n = torch.arange(t.numel(), dtype=torch.float64)
    return ((n * 7) % 11 - 5.5).div(5).reshape(t.shape)


def evaluate(text, **names):
    from collections import OrderedDict
    return eval(text, {"nn": nn, "torch": torch, "OrderedDict": OrderedDict,
                       "init": nn.init, **names})


def module_case(number, lua, py, specs, options):
    source = random.Random(number)
    W = torch.tensor([0.5, 1.0, 2.0, 1.5])
    torch.manual_seed(number)
    module = evaluate(py, W=W)
    state = module.state_dict()
    case = {"lua": lua, "seed": number, "options": {
        k: v for k, v in options.items() if k != "py_args"}}
    case["names"] = list(state)
    case["state"] = [numbers(t, 9) for t in state.values()]
    module.double()
    if options.get("eval"):
        module.eval()
    inputs = []
    case["inputs"] = []
    for spec in specs:
        kind, t = tensor_of(spec, source)
        case["inputs"].append({"shape": list(t.shape), "kind": kind,
                               "values": t.reshape(-1).tolist()})
        inputs.append(t.requires_grad_() if kind == "f" else t)
    more = evaluate(options["py_args"]) if "py_args" in options else None
    torch.manual_seed(number + 1000)
    if options.get("transpose"):
        got = module(inputs[0].t())
    else:
        got = module(*inputs, *([more] if more is not None else []))
    got = list(got) if isinstance(got, tuple) else [got]
    case["results"] = [numbers(t) for t in got]
    loss = sum((t * weights(t)).sum() for t in got if t.requires_grad)
    loss.backward()
    case["after"] = [numbers(t) for t in module.state_dict().values()]
    case["input_grads"] = [numbers(t.grad) for t in inputs if t.requires_grad]
    case["grads"] = [numbers(p.grad) if p.grad is not None else None
                     for p in module.parameters()]
    return case


def init_case(number, lua, py, shape):
    t = torch.full(shape, -1.0)
    torch.manual_seed(number)
    evaluate("init." + py, t=t)
    return {"init": lua, "seed": number, **numbers(t, 9)}


def clip_cases():
    def fresh(scale=1):
        a, b = torch.zeros(2, 3), torch.zeros(4)
        a.grad = (torch.arange(6.0).reshape(2, 3) - 2) * scale
        b.grad = torch.arange(4.0) * (-1.5 * scale)
        return [a, b]

    inf = float("inf")
    for p, most, scale in ((2.0, 2.5, 1), (1.0, 2.5, 1), (3.0, 2.5, 1),
                           (inf, 2.5, 1), (2.0, 9, 1), (2.0, 1e-6, 2**-20)):
        ps = fresh(scale)
        norm = nn.utils.clip_grad_norm_(ps, most, norm_type=p)
        yield {"clip": plain(p), "most": most, "scale": scale,
               "norm": norm.item(), "grads": [numbers(t.grad, 9) for t in ps]}
    ps = fresh()
    nn.utils.clip_grad_value_(ps, 1.25)
    yield {"clip": "value", "norm": 1.25,
           "grads": [numbers(t.grad, 9) for t in ps]}
    norm = nn.utils.get_total_norm([p.grad for p in fresh()])
    yield {"clip": "total", "norm": norm.item(), "grads": []}


def fuse_case():
    torch.manual_seed(5)
    conv, bn = nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3)
    bn(torch.randn(4, 3, 5))
    with torch.no_grad():
        bn.weight.uniform_()
    fused = nn.utils.fuse_conv_bn_eval(conv.eval(), bn.eval())
    return {"fuse": "conv",
            "conv": [numbers(t, 9) for t in conv.state_dict().values()],
            "norm": [numbers(t, 9) for t in bn.state_dict().values()],
            "fused": [numbers(t, 9) for t in fused.state_dict().values()]}


def cases():
    yield {"torch": torch.__version__, "classes": sorted(
        name for name, value in vars(nn).items()
        if isinstance(value, type) and issubclass(value, nn.Module))}
    for number, row in enumerate(CASES):
        yield module_case(number + 1, *row[:3],
                          row[3] if len(row) > 3 else {})
    for number, row in enumerate(INITS):
        yield init_case(number + 500, *row)
    for name in GAINS:
        yield {"gain": name, "value": nn.init.calculate_gain(name)}
    yield from clip_cases()
    yield fuse_case()


with gzip.GzipFile(FILE, "wb", mtime=0) as out:
    for case in cases():
        out.write((json.dumps(case) + "\n").encode())
