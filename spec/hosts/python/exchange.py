"""Tensors between Python's libraries and a Lua state in the same process.

Usage: exchange.py LIBRARY, the shared library of a Lua, or "lupa". What goes
over are addresses of DLPack structures, and all capsules are Python's own.
Prints a line per library that took part.
"""

import ctypes
import gc
import os
import sys

import numpy

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p,
                              ctypes.c_void_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
USED = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}

SCRIPT = """
st = require "strided"
function take(address, versioned)
  t = st.from_dlpack(address, {versioned = versioned ~= 0})
  return 0
end
function give(versioned)
  return t:to_dlpack({versioned = versioned ~= 0}):take()
end
function double() t:mul_(2) return 0 end
function ends_here() t:free() collectgarbage() collectgarbage() return 0 end
function held() collectgarbage() return st.memory().shared.count end
function left() t = nil collectgarbage() collectgarbage()
  return st.memory().tensors.count end
"""


class Plain:
    """A Lua by its C functions: addresses become light userdata."""

    def __init__(self, library):
        lua = self.lua = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        lua.luaL_newstate.restype = ctypes.c_void_p
        lua.lua_tonumber.restype = ctypes.c_double
        lua.lua_tolstring.restype = ctypes.c_char_p
        self.state = ctypes.c_void_p(lua.luaL_newstate())
        lua.luaL_openlibs(self.state)
        self.check(lua.luaL_loadstring(self.state, SCRIPT.encode()))
        self.check(lua.lua_pcall(self.state, 0, 0, 0))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lua.lua_tolstring(self.state, -1, None))

    def call(self, name, address=None, versioned=False):
        lua, state, globals_index = self.lua, self.state, -10002
        lua.lua_getfield(state, globals_index, name.encode())
        if address is not None:
            lua.lua_pushlightuserdata(state, ctypes.c_void_p(address))
        lua.lua_pushnumber(state, ctypes.c_double(versioned))
        self.check(lua.lua_pcall(state, 2 if address else 1, 1, 0))
        result = lua.lua_tonumber(state, -1)
        lua.lua_settop(state, -2)
        return int(result)

    def close(self):
        self.lua.lua_close(self.state)


class Lupa:
    """A LuaJIT by lupa: addresses become pointers of its ffi."""

    def __init__(self):
        flags = sys.getdlopenflags()
        sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
        try:
            from lupa.luajit21 import LuaRuntime
        except ImportError:  # lupa 1 has but one Lua
            from lupa import LuaRuntime
        sys.setdlopenflags(flags)
        self.runtime = LuaRuntime()
        self.runtime.execute("package.path = %r package.cpath = %r" % (
            os.environ["LUA_PATH"], os.environ["LUA_CPATH"]))
        self.runtime.execute(SCRIPT)
        self.cast = self.runtime.eval(
            "function(f, p, v) "
            "return f(require 'ffi'.cast('void *', p), v) end")

    def call(self, name, address=None, versioned=False):
        function = self.runtime.globals()[name]
        if address is None:
            return int(function(int(versioned)))
        return int(self.cast(function, address, int(versioned)))

    def close(self):
        pass


class Carrier:
    """What from_dlpack of Python's libraries takes."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def into_lua(host, producer, **options):
    capsule = producer.__dlpack__(**options)
    name = api.PyCapsule_GetName(capsule)
    address = api.PyCapsule_GetPointer(capsule, name)
    host.call("take", address, name == VERSIONED)
    api.PyCapsule_SetName(capsule, USED[name])
    # the name of a capsule is not copied
    capsule_names.append((capsule, USED[name]))
    return name


capsule_names = []


def out_of_lua(host, consume, versioned=False):
    address = host.call("give", versioned=versioned)
    name = VERSIONED if versioned else PLAIN
    capsule = api.PyCapsule_New(address, name, None)
    result = consume(Carrier(capsule))
    assert api.PyCapsule_GetName(capsule) == USED[name]
    return result


def strides_of(array):
    if isinstance(array, numpy.ndarray):
        return [s // array.itemsize for s in array.strides]
    return list(array.stride())


def check(host, arrays, consume, equal, versioned):
    options = {"max_version": (1, 0)} if versioned else {}
    for array in arrays:
        before = sys.getrefcount(array)
        name = into_lua(host, array, **options)
        assert name == (VERSIONED if versioned else PLAIN)
        host.call("double")
        back = out_of_lua(host, consume, versioned)
        assert host.call("held") == 1
        assert tuple(back.shape) == tuple(array.shape)
        assert equal(back, array), (back, array)
        if 0 not in array.shape:
            for size, ours, theirs in zip(array.shape, strides_of(back),
                                          strides_of(array)):
                assert size < 2 or ours == theirs
        host.call("double")  # each sees what the other writes
        assert equal(back, array)
        host.call("ends_here")
        assert equal(back, array)  # and keeps it alive
        del back
        gc.collect()
        capsule_names.clear()
        assert host.call("held") == 0
        assert sys.getrefcount(array) == before


def numpy_arrays():
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2",
                  "f4", "f8", "c8", "c16"):
        base = numpy.arange(24).astype(dtype).reshape(2, 3, 4)
        yield from (base, base[:, ::2, 1:], base.transpose(2, 0, 1),
                    base[:0], numpy.ones((), dtype))


def refuse(host, producer, message):
    try:
        into_lua(host, producer)
    except Exception as error:
        assert message in str(error), error
        return
    raise AssertionError("not refused: " + message)


def with_numpy(host):
    new = tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 1)
    for versioned in (False, True) if new else (False,):
        check(host, numpy_arrays(), numpy.from_dlpack, numpy.array_equal,
              versioned)
    refuse(host, numpy.ones(3)[::-1], "cannot be negative")
    if new:
        frozen = numpy.arange(3.0)
        frozen.flags.writeable = False
        into_lua(host, frozen, max_version=(1, 0))
        host.call("double")
        assert frozen.tolist() == [0, 1, 2]  # a copy was doubled
    print("NumPy", numpy.__version__, "versioned" if new else "unversioned")


def with_torch(host):
    try:
        import torch
    except ImportError:
        return
    arrays = []
    for dtype in (torch.uint8, torch.int64, torch.float16, torch.bfloat16,
                  torch.float32, torch.complex64):
        base = torch.arange(24).to(dtype).reshape(2, 3, 4)
        arrays += [base, base[:, ::2, 1:], base.permute(2, 0, 1), base[:0],
                   base[1, 2, 3], base[0, 0].expand(5, 4).clone().t()]

    def consume(carrier):
        return torch.from_dlpack(carrier.capsule)

    check(host, arrays, consume, torch.equal, False)
    into_lua(host, torch.tensor([True, False]))
    back = out_of_lua(host, consume)
    assert back.tolist() == [True, False] and back.dtype == torch.bool
    print("PyTorch", torch.__version__)


def main(library):
    host = Lupa() if library == "lupa" else Plain(library)
    with_numpy(host)
    with_torch(host)
    assert host.call("left") == 0
    host.close()


main(sys.argv[1])
