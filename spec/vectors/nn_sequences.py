"""Writes spec/data/nn_sequences.jsonl.gz: recurrent layers, attention and
transformers as PyTorch 2.15 computes them, a case per line.

    python spec/vectors/nn_sequences.py spec/data/nn_sequences.jsonl.gz

Inputs are waves: sin(k + 0.7 i). A mark of a tensor is the sum of its products
with a wave. The fields of a case are the class, its arguments and options, the
seed before its creation, the inputs and options of the call; then the names of
the parameters, marks of their initial values in float32, the results in
float64, and marks of the gradients of the inputs and of the parameters.
"""

import gzip
import json
import math
import sys
import warnings

import torch
from torch import nn
from torch.nn.utils import rnn

warnings.filterwarnings("ignore")
assert torch.__version__.startswith("2.15")


def wave(shape, k):
    n = math.prod(shape)
    return torch.sin(k + 0.7 * torch.arange(n, dtype=torch.float64)).reshape(shape)


def mark(t):
    return (t.double() * wave(t.shape, 1)).sum().item()


def W(*shape, k=0):
    return {"wave": list(shape), "k": k}


def packed(lengths, features, k=0):
    return {"packed": lengths, "features": features, "k": k}


def B(rows):
    return {"bool": rows}


def decode(x, leaves):
    """The argument that x stands for; leaves: those with a gradient."""
    if isinstance(x, dict) and "wave" in x:
        t = wave(x["wave"], x["k"]).requires_grad_()
        leaves.append(t)
        return t
    if isinstance(x, dict) and "packed" in x:
        shape = [len(x["packed"]), max(x["packed"]), x["features"]]
        t = wave(shape, x["k"]).requires_grad_()
        leaves.append(t)
        return rnn.pack_padded_sequence(t, x["packed"], batch_first=True,
                                        enforce_sorted=False)
    if isinstance(x, dict) and "bool" in x:
        return torch.tensor(x["bool"], dtype=torch.bool)
    if isinstance(x, dict) and "causal" in x:
        return nn.Transformer.generate_square_subsequent_mask(
            x["causal"], dtype=torch.float64)
    if isinstance(x, list):
        return tuple(decode(e, leaves) for e in x)
    return x


def tensors(x):
    if isinstance(x, rnn.PackedSequence):
        return [x.data]
    if isinstance(x, torch.Tensor):
        return [x]
    return [t for e in x if e is not None for t in tensors(e)]


def build(case, dtype):
    torch.manual_seed(case["seed"])
    options = dict(case["options"])
    if case["class"] in ("TransformerEncoder", "TransformerDecoder"):
        layer = getattr(nn, case["class"] + "Layer")
        norm = options.pop("norm", False)
        layers = options.pop("layers")
        net = getattr(nn, case["class"])(
            layer(*case["args"], dtype=dtype, **options), layers,
            nn.LayerNorm(case["args"][0], dtype=dtype) if norm else None)
    else:
        net = getattr(nn, case["class"])(*case["args"], dtype=dtype, **options)
    return net


def run(case):
    case.setdefault("options", {})
    case.setdefault("call", {})
    case.setdefault("training", False)
    case["init"] = [mark(p.detach()) for p in
                    build(case, torch.float32).parameters()]
    net = build(case, torch.float64)
    case["names"] = list(net.state_dict())
    assert case["names"] == [n for n, _ in net.named_parameters()]
    net.train(case["training"])
    leaves = []
    inputs = [decode(x, leaves) for x in case["inputs"]]
    call = {k: decode(v, leaves) for k, v in case["call"].items()}
    torch.manual_seed(case["seed"] + 1)
    out = tensors(net(*inputs, **call))
    if case.pop("only_marks", False):
        case["out_marks"] = [mark(t) for t in out]
    else:
        case["out"] = [t.flatten().tolist() for t in out]
    case["out_shapes"] = [list(t.shape) for t in out]
    sum((t * wave(t.shape, 1)).sum() for t in out).backward()
    case["grads"] = [mark(t.grad) for t in leaves]
    case["param_grads"] = [mark(p.grad) for p in net.parameters()]
    return case


RECURRENT = [
    {"inputs": [W(4, 2, 3)]},
    {"inputs": [W(2, 4, 3)],
     "options": {"num_layers": 2, "bidirectional": True, "batch_first": True}},
    {"inputs": [W(4, 3)], "options": {"bias": False}},
    {"inputs": [packed([2, 4, 1], 3)],
     "options": {"bidirectional": True, "num_layers": 2}},
    {"inputs": [W(4, 2, 3)], "training": True,
     "options": {"num_layers": 3, "dropout": 0.4}},
]

CASES = []
for cls in ("RNN", "LSTM", "GRU"):
    CASES += [dict(case, **{"class": cls, "args": [3, 4]})
              for case in RECURRENT]

    def hx(*shape, cls=cls):
        h = W(*shape, k=0.5)
        return [h, W(*shape, k=0.8)] if cls == "LSTM" else h

    CASES += [
        {"class": cls, "args": [3, 4], "inputs": [W(4, 2, 3), hx(1, 2, 4)]},
        {"class": cls, "args": [3, 4], "inputs": [W(4, 3), hx(1, 4)],
         "options": {"batch_first": True}},
        {"class": cls, "args": [3, 4],
         "inputs": [packed([2, 4, 1], 3), hx(2, 3, 4)],
         "options": {"bidirectional": True}},
        {"class": cls + "Cell", "args": [3, 4], "inputs": [W(2, 3)]},
        {"class": cls + "Cell", "args": [3, 4], "inputs": [W(3), hx(4)],
         "options": {"bias": False}},
    ]
CASES += [
    {"class": "RNN", "args": [3, 4], "inputs": [W(4, 2, 3)],
     "options": {"nonlinearity": "relu", "num_layers": 2}},
    {"class": "RNNCell", "args": [3, 4], "inputs": [W(2, 3), W(2, 4, k=2)],
     "options": {"nonlinearity": "relu"}},
    {"class": "LSTM", "args": [3, 4],
     "inputs": [W(4, 2, 3), [W(4, 2, 2, k=1), W(4, 2, 4, k=2)]],
     "options": {"proj_size": 2, "num_layers": 2, "bidirectional": True}},
    {"class": "LSTM", "args": [3, 4], "inputs": [packed([4, 3], 3)],
     "options": {"proj_size": 2}},
]

PADDING = B([[False] * 5, [False] * 3 + [True] * 2])
DIAGONAL = B([[i < j for j in range(5)] for i in range(4)])


def attention(inputs, options=None, **call):
    extra = {k: call.pop(k) for k in ("training", "only_marks") if k in call}
    return dict({"class": "MultiheadAttention", "args": [6, 2],
                 "inputs": inputs, "options": options or {}, "call": call},
                **extra)


q, k, v = W(4, 2, 6), W(5, 2, 6, k=1), W(5, 2, 6, k=2)
CASES += [
    attention([q, k, v]),
    attention([q, k, v], need_weights=False),
    attention([q, k, v], average_attn_weights=False, key_padding_mask=PADDING,
              attn_mask=DIAGONAL),
    attention([q, k, v], need_weights=False, key_padding_mask=PADDING,
              attn_mask=DIAGONAL),
    attention([q, k, v], need_weights=False, key_padding_mask=PADDING),
    attention([W(2, 4, 6), W(2, 5, 6, k=1), W(2, 5, 6, k=2)],
              {"batch_first": True, "bias": False}, need_weights=False,
              attn_mask=W(4, 4, 5, k=3)),
    attention([W(4, 6), W(5, 6, k=1), W(5, 6, k=2)], {"batch_first": True}),
    attention([W(4, 6), W(5, 6, k=1), W(5, 6, k=2)], need_weights=False),
    attention([q, k, v], {"add_bias_kv": True, "add_zero_attn": True},
              attn_mask=DIAGONAL, key_padding_mask=PADDING),
    attention([q, k, v], {"add_bias_kv": True}, need_weights=False),
    attention([q, W(5, 2, 3, k=1), W(5, 2, 7, k=2)], {"kdim": 3, "vdim": 7}),
    attention([q, W(5, 2, 3, k=1), W(5, 2, 7, k=2)], {"kdim": 3, "vdim": 7},
              need_weights=False),
    attention([q, k, v], {"dropout": 0.3}, training=True),
    attention([q, k, v], {"dropout": 0.3}, training=True, need_weights=False),
    attention([W(200, 2, 6), W(210, 2, 6, k=1), W(210, 2, 6, k=2)],
              {"dropout": 0.3}, training=True, need_weights=False,
              only_marks=True),
    attention([W(2, 200, 6), W(2, 210, 6, k=1), W(2, 210, 6, k=2)],
              {"batch_first": True}, need_weights=False, only_marks=True,
              attn_mask=W(200, 210, k=3)),
]

SMALL = {"dim_feedforward": 10}
BOTH = {"src_key_padding_mask": B([[False] * 4, [False, False, True, True]])}


def net(cls, inputs, options=None, **call):
    extra = {k: call.pop(k) for k in ("training", "only_marks") if k in call}
    return dict({"class": cls, "args": [6, 2], "inputs": inputs,
                 "options": dict(SMALL, **(options or {})), "call": call},
                **extra)


x, y, m = W(4, 2, 6), W(3, 2, 6), W(4, 2, 6, k=1)
CASES += [
    net("TransformerEncoderLayer", [x]),
    net("TransformerEncoderLayer", [W(2, 4, 6)],
        {"batch_first": True, "norm_first": True, "activation": "gelu"},
        src_mask={"causal": 4}, is_causal=True),
    net("TransformerEncoderLayer", [x], {"bias": False}, training=True),
    net("TransformerEncoderLayer", [W(4, 6)], {"layer_norm_eps": 0.1},
        src_mask={"causal": 4}),
    net("TransformerEncoderLayer", [x], **BOTH),
    net("TransformerEncoder", [x], {"layers": 2, "norm": True},
        mask={"causal": 4}),
    net("TransformerEncoder", [x], {"layers": 2}, training=True, **BOTH),
    net("TransformerEncoder", [W(2, 190, 6)], {"layers": 2,
                                               "batch_first": True},
        mask={"causal": 190}, only_marks=True),
    net("TransformerEncoder", [W(2, 190, 6)], {"layers": 1,
                                               "batch_first": True},
        mask={"causal": 190}, training=True, only_marks=True),
    net("TransformerDecoderLayer", [y, m]),
    net("TransformerDecoderLayer", [W(2, 3, 6), W(2, 4, 6, k=1)],
        {"batch_first": True, "norm_first": True},
        tgt_mask={"causal": 3}, tgt_is_causal=True,
        memory_key_padding_mask=BOTH["src_key_padding_mask"]),
    net("TransformerDecoder", [y, m], {"layers": 2, "norm": True},
        tgt_mask={"causal": 3}),
    net("TransformerDecoder", [y, m], {"layers": 2}, training=True),
    net("Transformer", [W(4, 2, 6), y], {"num_encoder_layers": 2,
                                         "num_decoder_layers": 1},
        tgt_mask={"causal": 3}, **BOTH),
    net("Transformer", [W(2, 4, 6), W(2, 3, 6)],
        {"num_encoder_layers": 1, "num_decoder_layers": 2, "batch_first": True,
         "norm_first": True, "activation": "gelu"}, training=True),
]

with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as file:
    for i, case in enumerate(CASES):
        case = dict(case, seed=i)
        file.write((json.dumps(run(case)) + "\n").encode())
