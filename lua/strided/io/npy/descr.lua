--- Dtypes as NumPy writes them in headers: a byte order and a code, `<f4`, a
-- code alone, `f4`, one character, `f`, or a name, `float32`.
--
-- @module strided.io.npy.descr

local core = require "strided.core"

local format, pairs, tonumber = string.format, pairs, tonumber

-- NumPy's kind and size -> dtype, unit of byte swapping in bytes
local DTYPES = {
  b1 = {"bool", 1},
  u1 = {"uint8", 1},      u2 = {"uint16", 2},
  u4 = {"uint32", 4},     u8 = {"uint64", 8},
  i1 = {"int8", 1},       i2 = {"int16", 2},
  i4 = {"int32", 4},      i8 = {"int64", 8},
  f2 = {"float16", 2},    f4 = {"float32", 4},  f8 = {"float64", 8},
  c8 = {"complex64", 4},  c16 = {"complex128", 8},
}

-- Characters, which may follow a byte order; those of C's long are as on 64-bit
-- systems other than Windows.
local CHARACTERS = {
  ["?"] = "b1", b = "i1", B = "u1", h = "i2", H = "u2", i = "i4", I = "u4",
  l = "i8", L = "u8", q = "i8", Q = "u8", p = "i8", P = "u8", n = "i8",
  N = "u8", e = "f2", f = "f4", d = "f8", F = "c8", D = "c16",
}

-- Names, in the machine's byte order, beside those that the dtypes have here.
local NAMES = {
  bool_ = "b1", byte = "i1", ubyte = "u1", short = "i2", ushort = "u2",
  intc = "i4", uintc = "u4", int = "i8", int_ = "i8", intp = "i8", long = "i8",
  longlong = "i8", uint = "u8", uintp = "u8", ulong = "u8", ulonglong = "u8",
  half = "f2", single = "f4", float = "f8", double = "f8", float_ = "f8",
  csingle = "c8", complex = "c16", cdouble = "c16", complex_ = "c16",
}

-- What to write in NumPy, by the word that a code or a name begins with.
local TEXT = ", it is text: np.savetxt(\"a.csv\", a, \"%s\") writes what "
  .. "st.read_csv reads"
local OBJECTS = ", it is objects of Python"
local TIMES = ", it is times: a.astype(\"int64\") are their numbers"
local FLOATS = ", a.astype(\"float64\") has one"
local COMPLEX = ", a.astype(\"complex128\") has one"
local INSTEAD = {
  U = TEXT, S = TEXT, a = TEXT, str = TEXT, bytes = TEXT, O = OBJECTS,
  object = OBJECTS, M = TIMES, m = TIMES, datetime = TIMES, timedelta = TIMES,
  f = FLOATS, g = FLOATS, float = FLOATS, longdouble = FLOATS, c = COMPLEX,
  G = COMPLEX, complex = COMPLEX, clongdouble = COMPLEX,
}

local descr = {CODES = {}} -- dtype -> code

for code, d in pairs(DTYPES) do
  descr.CODES[d[1]], NAMES[d[1]] = code, code
end

--- Parses a dtype.
-- @tparam string text
-- @treturn table dtype, size of an element in bytes, unit of byte swapping or
-- nil, is_bool; or nil and an error message
function descr.parse(text)
  local order, code = text:match "^([<>|=]?)(.+)$"
  code = CHARACTERS[code] or order == "" and NAMES[code] or code
  local d = DTYPES[code]
  if not d then
    local word = text:match "^[<>|=](%a)%f[%A]" or text:match "^%a+"
    return nil, format("dtype '%s' has no equivalent here%s", text,
                       INSTEAD[word or ""] or "")
  end
  local swapped = d[2] > 1 and (order == "<" or order == ">") and
                  order ~= core.byte_order
  return {dtype = d[1], size = tonumber(code:sub(2)),
          swap = swapped and d[2] or nil, is_bool = code == "b1"}
end

return descr
