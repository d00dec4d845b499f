--- Dtypes in the headers of .npy files, under all of NumPy's names.
-- axes: none

local core = require "strided.core"
local files = require "spec.support.files"
local refuses = require "spec.support.refusal"
local st = require "strided"

local path

local function npy(descr, shape, data)
  local text = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n")
               :format(descr, shape)
  return "\147NUMPY\1\0" .. string.char(#text, 0) .. text .. (data or "")
end

local function load(...)
  files.write(path, npy(...))
  return st.load(path)
end

describe("A dtype in the header of a .npy file", function()
  setup(function() path = os.tmpname() end)
  teardown(function() os.remove(path) end)

  -- what numpy.dtype takes: {codes, bytes, elements}
  for _, row in ipairs {
    {"i2 =i2 |i2 h <h short int16", "\1\0\2\0", {1, 2}},
    {">h", "\0\1\0\2", {1, 2}},
    {"H ushort uint16", "\1\0\255\255", {1, 65535}},
    {"i4 i <i intc int32", "\1\0\0\0\255\255\255\255", {1, -1}},
    {"u4 I uintc uint32", "\1\0\0\0\255\255\255\255", {1, 4294967295}},
    {"i8 q l p <q int int_ intp int64 longlong long",
     "\7\0\0\0\0\0\0\0" .. ("\255"):rep(8), {7, -1}},
    {"u8 Q L P uint uintp uint64 ulonglong ulong",
     "\7\0\0\0\0\0\0\0\8\0\0\0\0\0\0\0", {7, 8}},
    {"f2 e <e half float16", "\0\60\0\193", {1, -2.5}},
    {"f4 f =f single float32", "\0\0\128\63\0\0\32\192", {1, -2.5}},
    {">f", "\63\128\0\0\192\32\0\0", {1, -2.5}},
    {"f8 d <d double float float64",
     "\0\0\0\0\0\0\240\63\0\0\0\0\0\0\4\192", {1, -2.5}},
    {"b1 ? |? >b1 bool bool_", "\1\0", {true, false}},
    {"i1 b |b byte int8", "\1\255", {1, -1}},
    {"u1 B |B ubyte uint8", "\1\255", {1, 255}},
  } do
    for code in row[1]:gmatch "%S+" do
      it("may be " .. code, function()
        local t = load(code, "(2,)", row[2])
        assert.same(row[3], t:totable())
      end)
    end
  end

  it("may be complex under each of its names", function()
    local one = "\0\0\128\63\0\0\32\192"
    for code in ("c8 F <F csingle complex64"):gmatch "%S+" do
      local t = load(code, "()", one)
      assert.equal("complex64", t.dtype)
      assert.equal(one, core.get_bytes(t, 0, 8))
    end
    for code in ("c16 D cdouble complex complex128"):gmatch "%S+" do
      assert.equal("complex128", load(code, "()", ("\0"):rep(16)).dtype)
    end
  end)

  for _, row in ipairs {
    {"is a name in another order", "<float32",
     "'<float32' has no equivalent here$"},
    {"is a character with a size", "d8",
     "'d8' has no equivalent here$"},
    {"is a word for a dtype", "foo",
     "'foo' has no equivalent here$"},
    {"is longdouble", "longdouble",
     'no equivalent here, a.astype%("float64"%)'},
    {"is complex256", "complex256",
     'no equivalent here, a.astype%("complex128"%)'},
    {"is times", "<M8[ns]", "it is times"},
  } do
    it("that " .. row[1] .. " is refused", function()
      files.write(path, npy(row[2], "(2,)"))
      refuses(path, row[3], true)
    end)
  end
end)
