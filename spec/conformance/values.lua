--- Elements: what the vectors write, as bytes and back, and how two compare.
--
-- Packing and unpacking are done here rather than by the engine, so that a
-- wrong conversion there cannot hide itself.

local byte, char, concat = string.byte, string.char, table.concat
local floor, frexp, ldexp, abs, huge = math.floor, math.frexp, math.ldexp,
                                       math.abs, math.huge

local values = {}

-- -- Dtypes ------------------------------------------------------------------

-- bytes, then what an element is made of
local DTYPES = {
  bool = {1, "int"}, uint8 = {1, "int"},
  int8 = {1, "int", signed = true}, int16 = {2, "int", signed = true},
  int32 = {4, "int", signed = true}, int64 = {8, "int", signed = true},
  float16 = {2, "float", exponent = 5}, bfloat16 = {2, "float", exponent = 8},
  float32 = {4, "float", exponent = 8}, float64 = {8, "float", exponent = 11},
  complex64 = {8, "complex", part = "float32"},
  complex128 = {16, "complex", part = "float64"},
  complex32 = {4, "complex", part = "float16"},
  bcomplex32 = {4, "complex", part = "bfloat16"},
}

values.codes = {
  b1 = "bool", u1 = "uint8", i1 = "int8", i2 = "int16", i4 = "int32",
  i8 = "int64", f2 = "float16", bf = "bfloat16", f4 = "float32",
  f8 = "float64", c4 = "complex64", c8 = "complex128",
}

function values.size(dtype) return DTYPES[dtype][1] end

function values.is_complex(dtype) return DTYPES[dtype][2] == "complex" end

-- -- Integers ----------------------------------------------------------------

local function pack_number(x, n)
  local out = {}
  if x < 0 then x = x + 256 ^ n end
  for i = 1, n do
    out[i] = char(x % 256)
    x = floor(x / 256)
  end
  return concat(out)
end

-- A decimal string of any size, two's complement in n bytes.
local function pack_decimal(text, n)
  local sign, digits = text:match "^(-?)(%d+)$"
  local out = {}
  for i = 1, n do out[i] = 0 end
  for d in digits:gmatch "%d" do
    local carry = tonumber(d)
    for i = 1, n do
      local v = out[i] * 10 + carry
      out[i] = v % 256
      carry = floor(v / 256)
    end
  end
  local carry = sign == "-" and 1 or 0
  for i = 1, n do
    local v = sign == "-" and 255 - out[i] + carry or out[i]
    out[i] = char(v % 256)
    carry = floor(v / 256)
  end
  return concat(out)
end

local function pack_int(x, n)
  if type(x) == "boolean" then x = x and 1 or 0 end
  if type(x) == "string" then return pack_decimal(x, n) end
  -- exact where x + 256^n would not be
  if x < 0 and n == 8 then return pack_decimal(("%.0f"):format(x), n) end
  return pack_number(x, n)
end

local function unpack_int(s, at, n, signed)
  local negative = signed and byte(s, at + n - 1) >= 128
  local x = 0
  for i = n - 1, 0, -1 do
    local b = byte(s, at + i)
    x = x * 256 + (negative and 255 - b or b)
  end
  return negative and -x - 1 or x
end

-- -- Floats of any width -----------------------------------------------------

local SPECIAL = {nan = 0 / 0, inf = huge, ["-inf"] = -huge}

local function number(x)
  if type(x) == "boolean" then return x and 1 or 0 end
  return type(x) == "string" and (SPECIAL[x] or tonumber(x)) or x
end

local function round_even(x)
  local r = floor(x)
  local rest = x - r
  if rest > 0.5 or (rest == 0.5 and r % 2 == 1) then r = r + 1 end
  return r
end

--- x as exponent field and mantissa field, rounded to nearest even.
local function fields(x, ebits, mbits)
  local top = 2 ^ ebits - 1
  if x ~= x then return top, 2 ^ (mbits - 1) end
  if x == huge then return top, 0 end
  if x == 0 then return 0, 0 end
  local bias = 2 ^ (ebits - 1) - 1
  local _, e = frexp(x)                    -- x = m * 2^e, 0.5 <= m < 1
  e = e - 1 < 1 - bias and 1 - bias or e - 1
  local m = round_even(ldexp(x, mbits - e))
  if m >= 2 ^ (mbits + 1) then m, e = m / 2, e + 1 end
  if m < 2 ^ mbits then return 0, m end    -- subnormal
  if e > bias then return top, 0 end
  return e + bias, m - 2 ^ mbits
end

local function pack_float(x, n, ebits)
  x = number(x)
  local mbits = n * 8 - 1 - ebits
  local negative = x < 0 or (x == 0 and 1 / x < 0)
  local e, m = fields(abs(x), ebits, mbits)
  local out = {}
  local left = mbits
  while left >= 8 do
    out[#out + 1] = char(m % 256)
    m = floor(m / 256)
    left = left - 8
  end
  local high = m + e * 2 ^ left + (negative and 2 ^ (ebits + left) or 0)
  while #out < n do
    out[#out + 1] = char(high % 256)
    high = floor(high / 256)
  end
  return concat(out)
end

local function unpack_float(s, at, n, ebits)
  local mbits = n * 8 - 1 - ebits
  local left = mbits % 8
  local high = 0
  local whole = floor(mbits / 8)
  for i = n - 1, whole, -1 do high = high * 256 + byte(s, at + i) end
  local sign = 1
  if high >= 2 ^ (ebits + left) then
    sign, high = -1, high - 2 ^ (ebits + left)
  end
  local e = floor(high / 2 ^ left)
  local m = high % 2 ^ left
  for i = whole - 1, 0, -1 do m = m * 256 + byte(s, at + i) end
  local bias = 2 ^ (ebits - 1) - 1
  if e == 2 ^ ebits - 1 then return m == 0 and sign * huge or 0 / 0 end
  if e == 0 then return sign * ldexp(m, 1 - bias - mbits) end
  return sign * ldexp(m + 2 ^ mbits, e - bias - mbits)
end

-- -- Elements ----------------------------------------------------------------

--- One element as bytes; a complex is {re, im}.
function values.pack(dtype, x)
  local d = DTYPES[dtype]
  if d[2] == "int" then return pack_int(x, d[1]) end
  if d[2] == "float" then return pack_float(x, d[1], d.exponent) end
  local re, im = x, 0
  if type(x) == "table" then re, im = x[1], x[2] end
  return values.pack(d.part, re) .. values.pack(d.part, im)
end

--- The element that starts at byte `at` (from 1): a number, or two.
function values.unpack(dtype, s, at)
  local d = DTYPES[dtype]
  if d[2] == "int" then return unpack_int(s, at, d[1], d.signed) end
  if d[2] == "float" then return unpack_float(s, at, d[1], d.exponent) end
  return values.unpack(d.part, s, at),
         values.unpack(d.part, s, at + d[1] / 2)
end

--- A list of elements as bytes.
function values.pack_list(dtype, list)
  local out, pack = {}, values.pack
  for i = 1, #list do out[i] = pack(dtype, list[i]) end
  return concat(out)
end

-- -- Comparing ---------------------------------------------------------------

local function close(got, want, tol)
  if got ~= got or want ~= want then return got ~= got and want ~= want end
  if got == want then return true end
  if abs(got) == huge or abs(want) == huge then return false end
  return tol ~= nil and abs(got - want) <= tol[2] + tol[1] * abs(want)
end

local function finite(x) return x == x and abs(x) ~= huge end

local function close_complex(gr, gi, wr, wi, tol)
  if tol and finite(gr) and finite(gi) and finite(wr) and finite(wi) then
    local dr, di = gr - wr, gi - wi
    return (dr * dr + di * di) ^ 0.5 <=
           tol[2] + tol[1] * (wr * wr + wi * wi) ^ 0.5
  end
  return close(gr, wr, tol) and close(gi, wi, tol)
end

local function same_zero(got, want)
  return got ~= 0 or want ~= 0 or 1 / got == 1 / want
end

--- Whether the element of `got` at byte `at` is what `want` (one packed
-- element) says. options.tol: {relative, absolute}; options.zero_sign.
function values.equal(dtype, got, at, want, options)
  local n = DTYPES[dtype][1]
  if got:sub(at, at + n - 1) == want then return true end
  if DTYPES[dtype][2] == "int" then return false end
  local gr, gi = values.unpack(dtype, got, at)
  local wr, wi = values.unpack(dtype, want, 1)
  local tol = options and options.tol
  if not gi then
    return close(gr, wr, tol) and
           (not (options and options.zero_sign) or same_zero(gr, wr))
  end
  return close_complex(gr, gi, wr, wi, tol) and
         (not (options and options.zero_sign) or
          (same_zero(gr, wr) and same_zero(gi, wi)))
end

--- For messages.
function values.show(dtype, s, at)
  local re, im = values.unpack(dtype, s, at)
  return im and ("%.17g%+.17gi"):format(re, im) or ("%.17g"):format(re)
end

-- -- Layouts -----------------------------------------------------------------

--- The offset in elements of every element, in logical order.
function values.offsets(shape, strides)
  local offsets = {0}
  for i = 1, #shape do
    local n, step, next_offsets = shape[i], strides[i], {}
    for _, base in ipairs(offsets) do
      for k = 0, n - 1 do
        next_offsets[#next_offsets + 1] = base + k * step
      end
    end
    offsets = next_offsets
  end
  return offsets
end

--- Elements a storage needs for this layout.
function values.extent(shape, strides, offset)
  local last = offset or 0
  for i = 1, #shape do
    if shape[i] == 0 then return offset or 0 end
    last = last + (shape[i] - 1) * strides[i]
  end
  return last + 1
end

--- Whether `got` has the elements of the tensor `want`: in its window, or,
-- without in_window, one after the other in logical order. Or false and why.
function values.compare(dtype, got, want, options, in_window)
  local n = values.size(dtype)
  for k, at in ipairs(values.offsets(want.shape, want.strides)) do
    local element = values.pack(dtype, want.storage[at + 1])
    local from = (in_window and at or k - 1) * n + 1
    if not values.equal(dtype, got, from, element, options) then
      return false, ("element %d is %s, should be %s"):format(
        in_window and at or k, values.show(dtype, got, from),
        values.show(dtype, element, 1))
    end
  end
  return true
end

function values.numel(shape)
  local n = 1
  for i = 1, #shape do n = n * shape[i] end
  return n
end

function values.same_list(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do if a[i] ~= b[i] then return false end end
  return true
end

function values.show_list(t)
  local out = {}
  for i = 1, #t do out[i] = ("%.14g"):format(t[i]) end
  return "{" .. concat(out, ",") .. "}"
end

return values
