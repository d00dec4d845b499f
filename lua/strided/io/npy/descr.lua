--- Dtypes as NumPy writes them in headers: a byte order and a code, `<f4`, a
-- code alone, `f4`, one character, `f`, or a name, `float32`.
--
-- @module strided.io.npy.descr

local core = require "strided.core"

local format, ipairs = string.format, ipairs

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
local DTYPES = {}          -- NumPy's kind and size -> what is known of a dtype

for _, d in ipairs(core.dtypes()) do
  if d.npy then
    DTYPES[d.npy], descr.CODES[d.name], NAMES[d.name] = d, d.npy, d.npy
  end
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
  local swapped = d.unit > 1 and (order == "<" or order == ">") and
                  order ~= core.byte_order
  return {dtype = d.name, size = d.size, swap = swapped and d.unit or nil,
          is_bool = d.kind == "bool"}
end

return descr
