"""Makes spec/data/interpolate_bytes.jsonl.gz, a line of JSON per image of bytes
that PyTorch has resized, for op/vision/interpolate_bytes_spec.lua.

    python spec/vectors/interpolate_bytes.py
    python spec/vectors/interpolate_bytes.py N FOLDER

The second form writes N random cases as .safetensors files without metadata
that a script may compare: see the spec.
"""

import gzip
import itertools
import json
import os
import sys

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))


def picture(n, c, h, w):
    """Bytes that the spec computes as well."""
    i = torch.arange(n * c * h * w, dtype=torch.int64)
    return ((i * i * 7 + i * 13 + i // 3 * 29) % 256).to(torch.uint8).view(
        n, c, h, w)


def resize(x, row):
    mode, antialias, align, size, factor = row
    return F.interpolate(x, size=size, scale_factor=factor, mode=mode,
                         align_corners=align, antialias=antialias)


SHAPES = [(1, 1, 5, 7), (2, 3, 6, 4), (1, 5, 4, 4), (1, 2, 1, 3), (1, 1, 9, 2)]
TARGETS = [((3, 4), None), ((9, 11), None), ((5, 3), None), ((1, 1), None),
           ((4, 7), None), (None, (1.7, 0.6)), (None, (2.0, 2.0))]


def rows():
    kinds = [(m, a, c) for m in ("bilinear", "bicubic") for a in (False, True)
             for c in (False, True)]
    for k, (kind, (size, factor)) in enumerate(
            itertools.product(kinds, TARGETS)):
        shape = SHAPES[k % len(SHAPES)]
        h = size[0] if size else int(shape[2] * factor[0])
        w = size[1] if size else int(shape[3] * factor[1])
        if h > 0 and w > 0:
            yield shape, kind + (size, factor), k % 2 == 1


def lua(x):
    if isinstance(x, bool):
        return "true" if x else "false"
    if x is None:
        return "false"
    if isinstance(x, tuple):
        return "{%s}" % ", ".join(map(lua, x))
    return '"%s"' % x if isinstance(x, str) else repr(x)


def write_rows():
    path = os.path.join(HERE, "..", "data", "interpolate_bytes.jsonl.gz")
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as out:
        for shape, row, is_last in rows():
            x = picture(*shape)
            if is_last:
                x = x.to(memory_format=torch.channels_last)
            y = resize(x, row)
            mode, antialias, align, size, factor = row
            line = {"shape": shape, "mode": mode, "antialias": antialias,
                    "align_corners": align, "size": size or False,
                    "scale_factor": factor or False, "is_last": is_last,
                    "result": list(y.shape), "bytes": y.flatten().tolist()}
            out.write((json.dumps(line) + "\n").encode())


def write_random(n, folder):
    torch.manual_seed(7)

    def draw(low, high):
        return int(torch.randint(low, high + 1, ()))
    lines = []
    for i in range(n):
        shape = (draw(1, 2), draw(1, 6), draw(1, 40), draw(1, 40))
        x = torch.randint(0, 256, shape, dtype=torch.uint8)
        if draw(0, 1):
            x = (x > 127).to(torch.uint8) * 255
        last = draw(0, 1) == 1
        if last:
            x = x.to(memory_format=torch.channels_last)
        row = [("bilinear", "bicubic")[draw(0, 1)], draw(0, 1) == 1,
               draw(0, 1) == 1, (draw(1, 60), draw(1, 60)), None]
        if draw(0, 3) == 0:
            factor = tuple(0.3 + 2.5 * float(torch.rand(())) for _ in "hw")
            if all(int(s * f) > 0 for s, f in zip(shape[2:], factor)):
                row[3:] = None, factor
        y = resize(x, row)
        torch.save({"x": x, "y": y}, "%s/%d.pt" % (folder, i))
        lines.append("{%s}," % ", ".join(map(lua, row)))
    with open(folder + "/rows.lua", "w") as file:
        file.write("return {\n%s\n}\n" % "\n".join(lines))


if len(sys.argv) > 1:
    write_random(int(sys.argv[1]), sys.argv[2])
else:
    write_rows()
