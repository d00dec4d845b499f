"""Makes the checkpoints that io/checkpoint_spec.lua reads.

    python spec/vectors/checkpoints.py
    python spec/vectors/checkpoints.py FILE.pt

The second form prints what torch.load finds in a file of st.save.

PyTorch 2.15 writes the .pt files into spec/data/checkpoints. It writes no .t7
files; those are written here by the definition of the format in torch7's
File.lua and DiskFile.c. values.lua is what the specs expect, in Lua.
"""

import collections
import copyreg
import io
import os
import pickle
import struct
import sys
import tarfile
import textwrap
import types
import zipfile

import numpy as np
import torch
from torch import nn
from torch.utils.serialization import config

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data",
                      "checkpoints")

DTYPES = ("bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 "
          "bfloat16 float32 float64 complex64 complex128").split()


def path(name):
    return os.path.join(FOLDER, name)


# -- Expected values, in Lua -------------------------------------------------

def number(x):
    if isinstance(x, complex):
        return "{re = %s, im = %s}" % (number(x.real), number(x.imag))
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int) and abs(x) >= 2 ** 53:
        return 'int "%d"' % x
    if isinstance(x, float):
        if x != x:
            return "0 / 0"
        if x == 0 and str(x)[0] == "-":
            return "-1 / (1 / 0)"  # Lua 5.1 has one constant for both zeros
        if abs(x) == float("inf"):
            return "1 / 0" if x > 0 else "-1 / 0"
    return repr(x)


def text(s):
    if isinstance(s, str):
        s = s.encode()
    return '"' + "".join(chr(b) if 32 < b < 127 and b not in (34, 92)
                         else "\\%03d" % b for b in s) + '"'


def lua(x):
    """A value as st.load returns it."""
    if x is None:
        return "none"
    if isinstance(x, torch.dtype):
        return text(str(x)[6:])
    if isinstance(x, torch.device):
        return text(str(x))
    if isinstance(x, (torch.layout, torch.qscheme)):
        return text(str(x)[6:])
    if isinstance(x, Call):
        return lua(x.value)
    if isinstance(x, (np.ndarray, np.generic)):
        if x.ndim == 0:
            return lua(x.item())
        x = torch.from_numpy(x.astype(x.dtype.newbyteorder("=")))
        if x.numel() == 0:  # whose strides NumPy leaves open
            x = x.new_empty(x.shape)
    if isinstance(x, torch.Tensor):
        flat = [v.item() for v in x.detach().reshape(-1)]
        return "tensor(%s, {%s}, {%s}, {%s}, %s)" % (
            text(str(x.dtype)[6:]), ", ".join(map(str, x.shape)),
            ", ".join(map(str, x.stride())), ", ".join(map(number, flat)),
            "true" if x.requires_grad else "false")
    if isinstance(x, dict):
        return "{%s}" % ", ".join("[%s] = %s" % (lua(k), lua(v))
                                  for k, v in x.items() if v is not None)
    if isinstance(x, (list, tuple)):
        return "{%s}" % ", ".join(map(lua, x))
    if isinstance(x, (set, frozenset)):
        return "{%s}" % ", ".join("[%s] = true" % lua(k) for k in x)
    if isinstance(x, (str, bytes, bytearray)):
        return text(x)
    return number(x)


# -- PyTorch -----------------------------------------------------------------

def values():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()
    shared = torch.arange(10.)
    grid = torch.arange(12.).view(3, 4)
    return {
        "epoch": 3, "net": net.state_dict(), "opt": optimizer.state_dict(),
        "history": [1.5, None, 2], "nothing": None,
        "dtypes": {d: torch.tensor([0, 1, 1]).to(getattr(torch, d))
                   for d in DTYPES},
        "half": torch.tensor([1.5, -2.25]).half(),
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "negative": torch.tensor([1 + 2j]).conj().imag,
        "grid": grid.t(), "column": grid[:, 1], "scalar": torch.tensor(5),
        "expanded": torch.ones(1).expand(5), "empty": torch.empty(0, 3),
        "first": shared[2:5], "second": shared[4:8],
        "parameter": nn.Parameter(torch.ones(2)),
        "ints": [2 ** 53 - 1, 2 ** 53 + 1, 2 ** 63, 2 ** 64 - 1, -2 ** 63,
                 -2 ** 40, -1, 0, 255, 256, 65536, 2 ** 31, -2 ** 31],
        "floats": [0.1, -2.5e-310, 1e300, float("inf"), float("-inf"), -0.0],
        "set": {1, "a"}, "frozen": frozenset([2]), "bytes": b"\xff\x00\x01",
        "array_of_bytes": bytearray(b"hi\x80"), "text": "\u00e9\u20ac\0",
        "complex": 1 - 2j, "size": torch.Size([1, 2]), "dtype": torch.bfloat16,
        "device": torch.device("cuda", 1), "tuple": (1, (2, "z"), True),
        "ordered": collections.OrderedDict([("x", 1), (2, "y")]),
        "numpy": {"float": np.float64(1.5), "bool": np.bool_(True),
                  "array": np.arange(6).reshape(2, 3),
                  "fortran": np.asfortranarray(np.arange(6.).reshape(2, 3)),
                  "big": np.arange(3, dtype=">i4"),
                  "in_tuple": (1, np.arange(2))},
    }


def big_endian(source, target, widths):
    """The same zip with storages, of elements of these widths, in the other
    byte order."""
    old = zipfile.ZipFile(source)
    with zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "big/byteorder":
                data = b"big"
            if name.startswith("big/data/"):
                width = widths[int(name[9:])]
                data = np.frombuffer(data, "u1").reshape(-1, width)
                data = data[:, ::-1].tobytes()
            new.writestr(zipfile.ZipInfo(name), data)


def torch_files():
    expected = {}
    all_values = values()
    for name, options in {
            "zip.pt": {}, "zip5.pt": {"pickle_protocol": 5},
            "legacy.pt": {"_use_new_zipfile_serialization": False},
            "legacy4.pt": {"_use_new_zipfile_serialization": False,
                           "pickle_protocol": 4}}.items():
        torch.save(all_values, path(name), **options)
        expected[name] = all_values
    plain = {"f": torch.tensor([1.5, -2]), "i": torch.tensor([1, 2 ** 40]),
             "b": torch.tensor([True, False]), "c": torch.tensor([1 + 2j]),
             "h": torch.tensor([0.5]).bfloat16()}
    torch.save(plain, path("big.pt"))
    big_endian(path("big.pt"), path("big2.pt"), (4, 8, 1, 4, 2))
    os.rename(path("big2.pt"), path("big.pt"))
    again = torch.load(path("big.pt"))
    assert all(torch.equal(again[k], plain[k]) for k in plain)
    expected["big.pt"] = plain
    packed = zipfile.ZipFile(path("zip.pt"))
    with zipfile.ZipFile(path("packed.pt"), "w", zipfile.ZIP_DEFLATED) as new:
        for name in packed.namelist():
            new.writestr(zipfile.ZipInfo(name), packed.read(name),
                         zipfile.ZIP_DEFLATED)
    expected["packed.pt"] = all_values
    torch.save(torch.arange(3), path("tensor.pth"))
    expected["tensor.pth"] = torch.arange(3)
    module = nn.Linear(2, 1)
    torch.save(module, path("module.pt"))
    return expected


# -- What weights_only allows ------------------------------------------------

class Call:
    """An object whose pickle calls a function and sets a state. `value` is what
    that makes."""

    def __init__(self, value, function, args, *state):
        self.value, self.row = value, (function, args, *state)

    def __reduce_ex__(self, protocol):
        return self.row


class Pickler(pickle._Pickler):
    """Writes __newobj__ of any object as the opcode NEWOBJ."""

    def save_reduce(self, func, args, state=None, *rest, obj=None):
        if func is not copyreg.__newobj__:
            return super().save_reduce(func, args, state, *rest, obj=obj)
        self.save(args[0])
        self.save(args[1:])
        self.write(pickle.NEWOBJ)
        self.memoize(obj)
        self.save(state)
        self.write(pickle.BUILD)


def allowed_values():
    """Names of _weights_only_unpickler._get_allowed_globals, and more that
    PyTorch writes beside state dicts."""
    a = torch.arange(6.).view(2, 3)
    parameter, tensor, buffer = nn.Parameter(a.clone()), a.clone(), a.clone()
    parameter.tag, tensor.tag = "x", torch.ones(1)
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1)
    ordered = collections.OrderedDict(x=1)
    ordered._metadata = {"": {"version": 1}}
    rebuild, names = torch._utils, [
        "complex32", "bcomplex32", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
        "float4_e2m1fn_x2", "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2",
        "qint8", "qint32", "quint8", "quint2x4", "quint4x2"] + [
            sign + "int%d" % i for i in range(1, 8) for sign in ("", "u")]
    legacy = (a.storage(), 0, (2, 3), (3, 1))
    return {
        "counter": collections.Counter([3, 8, 8]),
        "no_counter": collections.Counter(), "ordered": ordered,
        "multistep": torch.optim.lr_scheduler.MultiStepLR(
            optimizer, [3, 8]).state_dict(),
        "nothing": [bytearray(), set(), (), {}],
        "parameter": parameter, "tensor": tensor,
        "fixed": nn.Parameter(torch.ones(2), requires_grad=False),
        "buffer": nn.Buffer(buffer), "size": a.size(),
        "layouts": [torch.strided, torch.sparse_coo, torch.sparse_csr],
        "schemes": [torch.per_tensor_affine, torch.per_channel_affine,
                    torch.per_tensor_symmetric, torch.per_channel_symmetric,
                    torch.per_channel_affine_float_qparams],
        "dtypes": [getattr(torch, name) for name in names],
        "devices": [torch.device("cpu"), torch.device("cuda", 3)],
        "storages": [torch.arange(4, dtype=torch.uint8).untyped_storage(),
                     a.double().storage()],
        "from_numpy": Call(a.double(),
                           rebuild._rebuild_device_tensor_from_numpy,
                           (a.numpy(), torch.float64, "cpu", False)),
        "from_cpu": Call(a.clone().requires_grad_(),
                         rebuild._rebuild_device_tensor_from_cpu_tensor,
                         (a, torch.float32, "cpu", True)),
        "old_parameter": Call(nn.Parameter(a), copyreg.__newobj__,
                              (nn.Parameter, a), (True, False, None)),
        "old_fixed": Call(a, copyreg.__newobj__, (nn.Parameter, a),
                          (False, False, None)),
        "called_parameter": Call(nn.Parameter(a), nn.Parameter, (a,)),
        "old_tensor": Call(a, copyreg.__newobj__, (torch.Tensor,), legacy),
        "rebuilt": Call(a, rebuild._rebuild_tensor, legacy),
        "state": Call(nn.Parameter(a), rebuild._rebuild_parameter_with_state,
                      (a, True, None, ({"x": 1}, {"y": 2}))),
    }


def refused_values():
    """Files that torch.load reads; what st.load says of them."""
    a = torch.arange(6.).view(2, 3)
    return {
        "sparse": (a.to_sparse(), "sparse tensors"),
        "sparse_csr": (a.to_sparse_csr(), "sparse tensors"),
        "quantized": (torch.quantize_per_tensor(a, 0.1, 0, torch.qint8),
                      "quantized tensors"),
        "nested": (torch.nested.nested_tensor([a[0], a[1, :2]]),
                   "nested tensors"),
        "bits8": (a.to(torch.uint8).view(torch.bits8),
                  "the dtype bits8, which has no equivalent here"),
    }


def same(x, y):
    if isinstance(x, Call):
        x = x.value
    if isinstance(x, (np.ndarray, torch.Tensor)):
        return torch.equal(torch.as_tensor(x), torch.as_tensor(y))
    if isinstance(x, (torch.UntypedStorage, torch.TypedStorage)):
        return list(x) == list(y)
    if isinstance(x, dict):
        return set(x) == set(y) and all(same(v, y[k]) for k, v in x.items())
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(map(same, x, y))
    return x == y


def tar_file(value, tensors, storages, views=()):
    """A file of PyTorch 0.1, whose torch.save is in no PyTorch of today: by the
    definition in its torch/serialization.py. `tensors` has (key, key of the
    storage, class, sizes, strides, offset), `storages` (key, elements)."""
    def dump(x):
        return pickle.dumps(x, protocol=2)

    class Pickler(pickle.Pickler):
        def persistent_id(self, x):
            return x.key if isinstance(x, Key) else None

    info = dict(protocol_version=1000, little_endian=True,
                type_sizes=dict(short=2, int=4, long=4))
    kinds = {"f": "Float", "d": "Double", "i": "Int", "l": "Long", "B": "Byte"}
    out = io.BytesIO()
    Pickler(out, protocol=2).dump(value)
    parts = {"sys_info": dump(info), "pickle": out.getvalue(),
             "tensors": dump(len(tensors)), "storages": dump(len(storages))}
    for key, storage, char, sizes, strides, offset in tensors:
        parts["tensors"] += dump_triple(key, storage, kinds[char] + "Tensor")
        parts["tensors"] += struct.pack("<ii", len(sizes), 0)
        parts["tensors"] += struct.pack("<%dq" % (2 * len(sizes) + 1),
                                        *sizes, *strides, offset)
    for key, data in storages:
        parts["storages"] += dump_triple(key, "cpu",
                                         kinds[data.dtype.char] + "Storage")
        parts["storages"] += struct.pack("<q", len(data)) + data.tobytes()
    parts["storages"] += dump(list(views))
    with tarfile.open(path("tar.pt"), "w", format=tarfile.PAX_FORMAT) as file:
        for name, data in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))


class Key:
    """In place of a tensor or storage of tar_file."""

    def __init__(self, key):
        self.key = key


def dump_triple(key, second, name):
    """The pickle of (key, second, a class of torch)."""
    data = pickle.dumps((key, second, torch.Tensor), protocol=2)
    assert data.count(b"ctorch\nTensor\n") == 1
    return data.replace(b"ctorch\nTensor\n", b"ctorch\n%s\n" % name.encode())


def weights_only_files():
    values = allowed_values()
    module = types.ModuleType("pickler")
    module.Pickler = Pickler
    torch.save(values, path("allowed.pt"), pickle_module=module)
    with torch.serialization.safe_globals(
            [np._core.multiarray._reconstruct, np.ndarray, np.dtype,
             np.dtypes.Float32DType, bytes]):
        again = torch.load(path("allowed.pt"), weights_only=True)
    for name, value in values.items():
        assert same(value, again[name]), name
    values["storages"] = [
        torch.tensor(list(s), dtype=getattr(s, "dtype", torch.uint8))
        for s in values["storages"]]
    more = {"array": np.zeros((0, 3)), "frozen": frozenset(), "bytes": b"",
            "missing": collections.defaultdict(list, a=[1])}
    torch.save(more, path("more.pt")) # PyTorch reads it without weights_only
    config.save.compute_crc32 = False
    torch.save({"a": torch.arange(3)}, path("nocrc.pt"))
    config.save.compute_crc32 = True
    refused = {}
    for name, (value, why) in refused_values().items():
        torch.save(value, path("refused_%s.pt" % name))
        refused["refused_%s.pt" % name] = why
    grid = np.arange(6, dtype="f")
    key = 2 ** 46 + 1
    tar_file({"grid": Key(key), "again": Key(key), "column": Key("7"), "n": [1],
              "scalar": Key(8), "part": Key(9), "longs": Key(5)},
             [(key, 5000, "f", (2, 3), (3, 1), 0), (7, 5000, "f", (2,), (3,), 1),
              (8, 5000, "f", (), (), 0), (9, 6, "f", (2,), (1,), 1)],
             [(5000, grid), (5, np.array([2 ** 40, -1]))], [(6, 5000, 2, 3)])
    a = torch.from_numpy(grid).view(2, 3)
    tar = {"grid": a, "again": a, "column": a[:, 1], "n": [1],
           "scalar": torch.tensor(0.), "part": torch.tensor([3., 4]),
           "longs": torch.tensor([2 ** 40, -1])}
    again = torch.load(path("tar.pt"), weights_only=False)
    assert same({**tar, "longs": None}, {**again, "longs": None})
    globals_of = torch._weights_only_unpickler._get_allowed_globals
    with open(path("names.lua"), "w") as file:
        file.write("-- Made by spec/vectors/checkpoints.py with PyTorch %s: "
                   "what weights_only\n-- allows; what is said of files that "
                   "are refused.\nreturn {\n" % torch.__version__.split("+")[0])
        row = "allowed = [[%s]]," % " ".join(sorted(globals_of()))
        file.write(textwrap.fill(row, 78, break_long_words=False) + "\n")
        file.write("refused = {\n%s}}\n" % "".join(
            '["%s"] =\n"%s",\n' % row for row in refused.items()))
    return {"allowed.pt": values, "more.pt": more,
            "nocrc.pt": {"a": torch.arange(3)}, "tar.pt": tar}


# -- torch7 ------------------------------------------------------------------

class Storage:
    def __init__(self, kind, data):
        self.kind, self.data = kind, data


class Tensor:
    def __init__(self, sizes, strides, offset, storage):
        self.sizes, self.strides = sizes, strides
        self.offset, self.storage = offset, storage


class Object:
    def __init__(self, name, fields):
        self.name, self.fields = name, fields


KINDS = {  # struct format, printf format of the ASCII files
    "Byte": ("B", None), "Char": ("b", None), "Short": ("h", "%d"),
    "Int": ("i", "%d"), "Long": ("q", "%d"), "Half": ("e", "%.9g"),
    "Float": ("f", "%.9g"), "Double": ("d", "%.17g"), "Cuda": ("f", "%.9g"),
}
TORCH_DTYPES = dict(Byte="uint8", Char="int8", Short="int16", Int="int32",
                    Long="int64", Half="float16", Float="float32",
                    Double="float64", Cuda="float32")


class Binary:
    """Integers of 32 bits, longs of 64, all little-endian."""

    def __init__(self):
        self.out, self.seen = io.BytesIO(), {}

    def ints(self, *xs):
        self.out.write(struct.pack("<%di" % len(xs), *xs))

    def longs(self, *xs):
        self.out.write(struct.pack("<%dq" % len(xs), *xs))

    def double(self, x):
        self.out.write(struct.pack("<d", x))

    def chars(self, s):
        self.out.write(s)

    def elements(self, kind, data):
        self.out.write(struct.pack("<%d%s" % (len(data), KINDS[kind][0]),
                                   *data))

    def string(self, s):
        self.ints(len(s))
        self.chars(s)

    def object(self, x):
        if x is None:
            self.ints(0)
        elif isinstance(x, bool):
            self.ints(5)
            self.ints(int(x))
        elif isinstance(x, (int, float)):
            self.ints(1)
            self.double(x)
        elif isinstance(x, bytes):
            self.ints(2)
            self.string(x)
        else:
            self.reference(x)

    def reference(self, x):
        self.ints(3 if isinstance(x, dict) else 4)
        known = id(x) in self.seen
        index = self.seen.setdefault(id(x), len(self.seen) + 1)
        self.ints(index)
        if known:
            return
        if isinstance(x, dict):
            self.ints(len(x))
            for k, v in x.items():
                self.object(k)
                self.object(v)
            return
        self.string(b"V 1")
        if isinstance(x, Object):
            self.string(x.name)
            self.object(x.fields)
        elif isinstance(x, Storage):
            self.string(b"torch.%sStorage" % x.kind.encode())
            self.longs(len(x.data))
            self.elements(x.kind, x.data)
        else:
            kind = x.storage.kind if x.storage else "Double"
            self.string(b"torch.%sTensor" % kind.encode())
            self.ints(len(x.sizes))
            self.longs(*x.sizes)
            self.longs(*x.strides)
            self.longs(x.offset)
            self.object(x.storage)


class Ascii(Binary):
    """Numbers as text, separated by spaces; a line feed after each group."""

    def line(self, texts):
        if texts:
            self.out.write(" ".join(texts).encode() + b"\n")

    def ints(self, *xs):
        self.line(["%d" % x for x in xs])

    longs = ints

    def double(self, x):
        self.line(["%.17g" % x])

    def chars(self, s):
        if s:
            self.out.write(s + b"\n")

    def elements(self, kind, data):
        form = KINDS[kind][1]
        if form:
            self.line([form % x for x in data])
        else:
            self.chars(struct.pack("%d%s" % (len(data), KINDS[kind][0]),
                                   *data))


def torch7_files():
    floats = Storage("Float", [0.5, 1, 2, 3, 4, 5])
    kinds = {k: Storage(k, [1, 10, 32]) for k in KINDS}
    longs = Storage("Long", [2 ** 53 + 1, -2 ** 63])
    inner = {b"x": 1}
    layer = {b"weight": Tensor([2], [1], 1, floats), b"train": True}
    root = {
        b"number": 1.5, b"text": b"two\nlines\0", b"empty": b"", b"yes": True,
        b"no": False, b"inner": inner, b"again": inner, 1: b"one", 2.5: b"x",
        b"nan": float("nan"), b"inf": float("-inf"),
        b"matrix": Tensor([2, 3], [3, 1], 1, floats),
        b"column": Tensor([2], [3], 2, floats),
        b"nothing": Tensor([], [], 1, None), b"longs": longs,
        b"kinds": {k.encode(): s for k, s in kinds.items()},
        b"net": Object(b"nn.Sequential", {
            b"modules": {1: Object(b"nn.Linear", layer)}}),
    }
    for name, writer in (("binary.t7", Binary()), ("ascii.t7", Ascii())):
        writer.object(root)
        with open(path(name), "wb") as file:
            file.write(writer.out.getvalue())

    def tensor(data, kind, *shape):
        t = torch.tensor(data, dtype=getattr(torch, TORCH_DTYPES[kind]))
        return t.reshape(shape) if shape else t
    column = tensor(floats.data, "Float", 2, 3)[:, 1]
    net = {"__typename": "nn.Sequential", "modules": [
        {"__typename": "nn.Linear", "train": True,
         "weight": tensor([0.5, 1], "Float")}]}
    value = {
        "number": 1.5, "text": "two\nlines\0", "empty": "", "yes": True,
        "no": False, "inner": {"x": 1}, "again": {"x": 1}, 1: "one", 2.5: "x",
        "nan": float("nan"), "inf": float("-inf"),
        "matrix": tensor(floats.data, "Float", 2, 3), "column": column,
        "nothing": tensor([], "Double"), "longs": tensor(longs.data, "Long"),
        "kinds": {k: tensor(s.data, k) for k, s in kinds.items()}, "net": net}
    return {"binary.t7": value, "ascii.t7": value}


# ----------------------------------------------------------------------------

def main():
    os.makedirs(FOLDER, exist_ok=True)
    expected = torch_files()
    expected.update(weights_only_files())
    expected.update(torch7_files())
    with open(path("values.lua"), "w") as file:
        file.write("-- Made by spec/vectors/checkpoints.py with PyTorch %s.\n"
                   "return function(tensor, int, none) return {\n"
                   % torch.__version__.split("+")[0])
        shown = {}
        for name, value in expected.items():
            text_of = lua(value)
            shown.setdefault(text_of, []).append(name)
        for text_of, names in shown.items():
            row = "{files = %s, value = %s}," % (lua(names), text_of)
            file.write(textwrap.fill(row, 78, break_long_words=False,
                                     break_on_hyphens=False) + "\n")
        file.write("} end\n")


if len(sys.argv) > 1:
    print(torch.load(sys.argv[1], weights_only=True))
else:
    main()
