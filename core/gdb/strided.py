"""Pretty-printers of gdb for what strided's C code passes around: tensors,
storages, key sets, iterators, scalars, boxed values and dtypes.

    (gdb) source core/gdb/strided.py
    (gdb) print *t
    $1 = Tensor float32 2x3 strides (3, 1) refs 1 {CPU, ADInplaceOrView,
         AutocastCPU} = {{1, 2, 3}, {4, 5, 6}}

The installation puts it where gdb finds it when it loads the library. The
printers read the debug information of a program that includes the headers of
core/, so build with -g:

    cmake -B build/debug -DCMAKE_BUILD_TYPE=Debug

They call no function of the program, so they work on a core file too.
"""
import math
import re
import struct

import gdb
import gdb.printing

MOST_PER_DIM = 6  # elements that are printed of a dimension
MOST_DIMS = 4     # of a tensor whose elements are printed

# -- Names -------------------------------------------------------------------
# In the order of the enums, of which a program may have no debug information:
# compilers leave out types that nothing uses. spec/gdb/gdb_spec.lua compares
# these with the headers.

# ORDER DTYPE
DTYPES = """uint8 int8 int16 int32 int64 float16 float32 float64 complex64
    complex128 bool bfloat16 uint16 uint32 uint64 complex32 bcomplex32
    int128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz
    float8_e8m0fnu float4_e2m1fn_x2 int4 uint4 int2 uint2""".split()
DEVICES = 'cpu meta privateuse1 privateuse2 privateuse3'.split()
KINDS = 'bool int float complex uint'.split()
TAGS = """none tensor int float bool complex string generator ints floats bools
    tensors uint""".split()
# ORDER BACKEND
BACKENDS = """CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy Meta PrivateUse1
    PrivateUse2 PrivateUse3""".split()
# ORDER FUNCTIONALITY: a star marks those with a runtime key per backend.
FUNCTIONALITIES = """*Dense FPGA ORT Vulkan Metal *Quantized CustomRNGKeyId
    MkldnnCPU *Sparse SparseCsrCPU SparseCsrCUDA *NestedTensor SubByte
    BackendSelect Lua Fake FuncTorchDynamicLayerBackMode Functionalize Named Conjugate
    Negative ZeroTensor ADInplaceOrView AutogradOther *Autograd
    AutogradNestedTensor Tracer AutocastCPU AutocastXPU AutocastCUDA
    FuncTorchBatched FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper
    DeferredInit LuaTLSSnapshot FuncTorchDynamicLayerFrontMode
    TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode
    LuaDispatcher""".split()


def nth(names, number):
    return names[number] if 0 <= number < len(names) else '?%d' % number


def dtype_name(number):
    if number == 255:
        return 'none'
    return nth(DTYPES, number)


def ints(pointer, n):
    if n == 0 or int(pointer) == 0:
        return []
    return [int(pointer[i]) for i in range(n)]


def tuple_text(values):
    return '(' + ', '.join(str(v) for v in values) + ')'


# -- Key sets ----------------------------------------------------------------

def keyset_text(keys):
    """The runtime keys of a set, from low to high priority."""
    held = [name for bit, name in enumerate(BACKENDS) if keys >> bit & 1]
    texts = []
    for i, name in enumerate(FUNCTIONALITIES):
        if not keys >> len(BACKENDS) + i & 1:
            continue
        if name[0] == '*':
            prefix = '' if name == '*Dense' else name[1:]
            texts += [prefix + b for b in held] or [name[1:] + ' of no backend']
        else:
            texts.append(name)
    return '{' + ', '.join(texts) + '}'


class KeysetPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return keyset_text(int(self.value))


# -- Elements ----------------------------------------------------------------

def element_bits(name):
    if name == 'bool' or name.endswith('_x2'):
        return 8
    return int(re.search(r'\d+', name).group())


def decode_float8(name, code):
    """Of float8_e4m3fn: 4 bits of exponent, 3 of mantissa, no infinities (fn).
    uz: the code of -0 is NaN, u without a sign."""
    exponent_bits, mantissa_bits = map(int, re.findall(r'[em](\d)', name))
    bias = 2 ** (exponent_bits - 1) - (not name.endswith('uz'))
    exponent, mantissa = divmod(code & 127, 2 ** mantissa_bits)
    sign = -1.0 if code & 128 else 1.0
    if mantissa_bits == 0:
        return math.nan if code == 255 else 2.0 ** (code - 127)
    if name.endswith('uz'):
        is_special, infinite = code == 128, False
    elif name.endswith('fn'):
        is_special, infinite = code & 127 == 127, False
    else:
        is_special = exponent == 2 ** exponent_bits - 1
        infinite = mantissa == 0
    if is_special:
        return sign * (math.inf if infinite else math.nan)
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / 2 ** mantissa_bits) * 2.0 ** (exponent - bias)


def decode(name, data):
    """The number of an element, by the name of its dtype."""
    if name == 'bool':
        return data[0] != 0
    if 'complex' in name:
        part = '%s%d' % (name.replace('complex', 'float').rstrip('0123456789'),
                         len(data) * 4)
        half = len(data) // 2
        return complex(decode(part, data[:half]), decode(part, data[half:]))
    if name == 'bfloat16':  # the upper half of a float
        return struct.unpack('<f', b'\0\0' + data)[0]
    if name.endswith('_x2'):  # two numbers: their code
        return data[0]
    if name.startswith('float8'):
        return decode_float8(name, data[0])
    if name.startswith('float'):
        code = {2: '<e', 4: '<f', 8: '<d'}[len(data)]
        return struct.unpack(code, data)[0]
    return int.from_bytes(data, 'little', signed=not name.startswith('u'))


def decode_bits(name, byte, shift):
    """Fewer than eight bits of a byte, from bit `shift` on."""
    bits = element_bits(name)
    number = byte >> shift & 2 ** bits - 1
    is_negative = not name.startswith('u') and number >> bits - 1
    return number - 2 ** bits if is_negative else number


def number_text(value):
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, complex):
        return '%.6g%+.6gi' % (value.real, value.imag)
    if isinstance(value, float):
        return '%.6g' % value
    return str(value)


def element_text(data, name, at):
    bits = element_bits(name)
    start, shift = divmod(at * bits, 8)
    read = bytes(gdb.selected_inferior().read_memory(data + start,
                                                     max(bits // 8, 1)))
    return number_text(decode_bits(name, read[0], shift) if bits < 8
                       else decode(name, read))


def elements_text(data, name, at, sizes, strides):
    """The elements of a storage from number `at` on, nested in braces."""
    if not sizes:
        return element_text(data, name, at)
    shown = min(sizes[0], MOST_PER_DIM)
    texts = [elements_text(data, name, at + i * strides[0], sizes[1:],
                           strides[1:]) for i in range(shown)]
    if shown < sizes[0]:
        texts.append('...')
    return '{' + ', '.join(texts) + '}'


# -- Tensors -----------------------------------------------------------------

def shape_text(sizes):
    return 'x'.join(str(n) for n in sizes) or 'scalar'


def tensor_text(t):
    if not t.type.strip_typedefs().fields():
        return 'Tensor 0x%x without debug information' % int(t.address)
    ndim = int(t['ndim'])
    dtype = int(t['dtype'])
    name = dtype_name(dtype)
    sizes, strides = ints(t['sizes'], ndim), ints(t['strides'], ndim)
    offset = int(t['offset'])
    text = 'Tensor %s %s' % (name, shape_text(sizes))
    if ndim:
        text += ' strides ' + tuple_text(strides)
    if offset:
        text += ' offset %d' % offset
    text += ' refs %d %s' % (int(t['refs']['n']), keyset_text(int(t['keys'])))
    storage = t['storage']
    if int(storage) == 0:
        return text
    device = int(t['device'])
    data = int(storage.dereference()['data'])
    layout = int(storage.dereference()['layout'])
    if layout != 0:  # of an extension: no elements
        return text + ' layout %d' % layout
    if device != 0 or data == 0 or dtype >= len(DTYPES) or ndim > MOST_DIMS:
        return text
    try:
        return text + ' = ' + elements_text(data, name, offset, sizes,
                                            strides)
    except gdb.MemoryError:
        return text + ' = <memory that cannot be read>'


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return tensor_text(self.value)


class StoragePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        s = self.value
        device = nth(DEVICES, int(s['device']))
        return 'Storage %d bytes at 0x%x on %s refs %d version %d%s' % (
            int(s['nbytes']), int(s['data']), device, int(s['refs']['n']),
            int(s['version']), ' shared' if int(s['is_shared']) else '')


# -- Iterators ---------------------------------------------------------------

class IteratorPrinter:
    """One line of facts; a child per operand, whose strides are in bytes."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        it = self.value
        text = 'Iterator %s of %d operands (%d outputs)' % (
            tuple_text(ints(it['shape'], int(it['ndim']))),
            int(it['noperands']), int(it['noutputs']))
        common = dtype_name(int(it['common_dtype']))
        text += ' common dtype ' + common
        for flag in ('coalesced', 'is_meta', 'same_shape', 'accumulate'):
            if int(it[flag]):
                text += ' ' + flag
        return text

    def children(self):
        it = self.value
        for i in range(int(it['noperands'])):
            op = it['op'][i]
            kind = 'output' if int(op['is_output']) else 'input'
            stride = ints(op['stride'], int(it['ndim']))
            casts = ''
            if int(op['casts']):
                casts = ' seen as ' + dtype_name(int(op['target']))
            tensor = op['tensor']
            name = 'none'
            if int(tensor) != 0:
                name = dtype_name(int(tensor.dereference()['dtype']))
            yield '[%d]' % i, '%s %s strides %s%s' % (
                kind, name, tuple_text(stride), casts)


class PlanPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return 'Plan'

    def children(self):
        yield 'it', self.value['it']


# -- Scalars and values ------------------------------------------------------

def scalar_text(s):
    kind = nth(KINDS, int(s['kind']))
    u = s['u']
    if kind == 'bool':
        return 'true' if int(u['i']) else 'false'
    if kind == 'int':
        return str(int(u['i']))
    if kind == 'uint':
        return str(int(u['u']))
    if kind == 'float':
        return '%.17g' % float(u['f'])
    return number_text(complex(float(u['c'][0]), float(u['c'][1])))


class ScalarPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        kind = nth(KINDS, int(self.value['kind']))
        return kind + ' ' + scalar_text(self.value)


def value_text(v):
    tag = nth(TAGS, int(v['tag']))
    u, n = v['u'], int(v['len'])
    if tag == 'none' or tag[0] == '?':
        return tag
    if tag == 'tensor':
        return tensor_text(u['tensor'].dereference())
    if tag in ('int', 'bool'):
        return '%s %d' % (tag, int(u['i']))
    if tag == 'uint':
        return 'uint %d' % int(u['u'])
    if tag == 'float':
        return 'float %.17g' % float(u['f'])
    if tag == 'complex':
        pair = u['pair']
        return 'complex ' + number_text(complex(float(pair[0]),
                                                float(pair[1])))
    if tag == 'string':
        return 'string "%s"' % u['string'].string(length=n)
    if tag == 'generator':
        return 'generator 0x%x' % int(u['generator'])
    items = u[tag]
    if tag == 'tensors':
        texts = [tensor_text(items[i].dereference()) if int(items[i])
                 else 'none' for i in range(n)]
    elif tag == 'floats':
        texts = [number_text(float(items[i])) for i in range(n)]
    else:
        texts = [str(int(items[i])) for i in range(n)]
    return '%s {%s}' % (tag, ', '.join(texts))


class ValuePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return value_text(self.value)


class DtypePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return dtype_name(int(self.value))


# -- Registration ------------------------------------------------------------

PRINTERS = {
    'st_tensor': TensorPrinter, 'st_storage': StoragePrinter,
    'st_keyset': KeysetPrinter, 'st_iter': IteratorPrinter,
    'st_plan': PlanPrinter, 'st_scalar': ScalarPrinter,
    'st_value': ValuePrinter, 'st_dtype': DtypePrinter,
}


class Collection(gdb.printing.PrettyPrinter):
    def __init__(self):
        super().__init__('strided', [])

    def __call__(self, value):
        # st_keyset and st_dtype are known by the name of the typedef only.
        kind = value.type.unqualified()
        while True:
            if kind.name in PRINTERS:
                return PRINTERS[kind.name](value)
            if kind.code != gdb.TYPE_CODE_TYPEDEF:
                return None
            kind = kind.target().unqualified()


gdb.printing.register_pretty_printer(gdb.current_objfile(), Collection(),
                                     replace=True)
