--- Reads files of torch7, .t7: the binary format, with little-endian numbers
-- and longs of 64 bits, and the ASCII format.
--
-- * Numbers, strings, booleans and tables become those of Lua. A table that
--   occurs several times, also inside itself, is one table again.
-- * Tensors and storages, also those of CUDA, become tensors. Tensors on one
--   storage share their elements.
-- * Objects of other classes, such as those of nn, become tables of their
--   fields, and the name of the class is in the field `__typename`. They have
--   no methods: nothing in the file is executed.
-- * Functions are an error.
--
-- @module strided.io.t7

local failure = require "strided.io.failure"
local core = require "strided.core"
local meter = require "strided.io.meter"
local reader = require "strided.io.reader"
local strided_view = require "strided.io.strided_view"

local find, match, min, setmetatable, tonumber = string.find, string.match,
  math.min, setmetatable, tonumber

local require = require "strided.core".require

local catch, check, clean, fail = failure.catch, failure.check, failure.clean,
  failure.fail

local MAX_DEPTH = 200      -- of tables in tables
local MAX_DIMS = 64
local MAX_CLASS = 256      -- bytes of the name of a class
local CHUNK = 4096         -- numbers of the ASCII format that are read at once

local NIL, NUMBER, STRING, TABLE, TORCH, BOOLEAN = 0, 1, 2, 3, 4, 5
local FUNCTION, OLD_RECURSIVE_FUNCTION, RECURSIVE_FUNCTION = 6, 7, 8

-- name of a class -> dtype, size of an element, least and greatest integer
local DTYPES = {
  Byte = {"uint8", 1}, Char = {"int8", 1},
  Short = {"int16", 2, -32768, 32767},
  Int = {"int32", 4, -2147483648, 2147483647}, Long = {"int64", 8},
  Half = {"float16", 2}, Float = {"float32", 4}, Double = {"float64", 8},
}

--- The dtype of torch.FloatTensor, torch.CudaLongStorage, torch.CudaTensor; nil
-- for other classes. The second result is "Tensor" or "Storage".
local function dtype_of(class)
  local name, kind = match(class, "^torch%.(%a*)(Tensor)$")
  if not kind then name, kind = match(class, "^torch%.(%a*)(Storage)$") end
  if not kind then return nil end
  local rest = match(name, "^Cuda(%a*)$")
  if rest then name = rest == "" and "Float" or rest end
  return DTYPES[name], kind
end

-- -- Binary files ------------------------------------------------------------

local Binary = {}
Binary.__index = Binary

function Binary:int() return reader.int32(self.bytes:take(4)) end

--- A long that is a number of elements or bytes.
function Binary:long()
  local s = self.bytes:take(8)
  if find(s, "[^%z]", 7) then
    fail "it has a size that is negative or too large"
  end
  return reader.uint(s, 1, 6)
end

function Binary:double() return reader.double(self.bytes:take(8)) end

function Binary:text(n) return self.bytes:take(n) end

function Binary:longs(n)
  local list = {}
  for i = 1, n do list[i] = self:long() end
  return list
end

--- The elements of a storage.
function Binary:elements(n, d)
  if n * d[2] > self.bytes.left then fail "it is truncated" end
  local t = require "strided".empty({n}, {dtype = d[1]})
  check(meter.read_into(self.source, t, self.bytes:tell()))
  if core.byte_order == ">" and d[2] > 1 then core.mend(t, d[2]) end
  self.bytes = self.bytes:skipping(n * d[2])
  return t
end

-- -- ASCII files -------------------------------------------------------------

local Ascii = {}
Ascii.__index = Ascii

--- A line feed follows each group of numbers, and each string.
function Ascii:finish_line()
  local bytes = self.bytes
  if bytes.left > 0 and bytes:peek() == 10 then bytes:byte() end
end

local function integer(text)
  local digits = match(text, "^%-?(%d+)$")
  if not digits or #digits > 15 then
    fail("it has '%s' in place of an integer", clean(text))
  end
  return tonumber(text)
end

function Ascii:int()
  local x = integer(self.bytes:token())
  self:finish_line()
  return x
end

function Ascii:long()
  local x = self:int()
  if x < 0 then fail "it has a size that is negative or too large" end
  return x
end

function Ascii:longs(n)
  local list = {}
  for i = 1, n do list[i] = integer(self.bytes:token()) end
  if n > 0 then self:finish_line() end
  return list
end

local SPECIAL = {nan = 0 / 0, ["-nan"] = 0 / 0, inf = 1 / 0, ["-inf"] = -1 / 0}

local function double(text)
  local x = SPECIAL[text] or match(text, "^[%d%.eE+-]+$") and tonumber(text)
  if not x then fail("it has '%s' in place of a number", clean(text)) end
  return x
end

function Ascii:double()
  local x = double(self.bytes:token())
  self:finish_line()
  return x
end

function Ascii:text(n)
  local s = self.bytes:take(n)
  if n > 0 then self:finish_line() end
  return s
end

--- An integer of the dtype of a storage.
local function element(text, d)
  if d[1] ~= "int64" then
    local x = integer(text)
    if x < d[3] or x > d[4] then
      fail("it has %s as an element of %s", clean(text), d[1])
    end
    return x
  end
  local digits = match(text, "^%-?(%d+)$")
  if not digits or #digits > 19 or
     #digits == 19 and digits > "9223372036854775807" then
    if text == "-9223372036854775808" then
      return require "strided".int(text)
    end
    fail("it has '%s' in place of an integer", clean(text))
  end
  return #digits < 16 and tonumber(text) or require "strided".int(text)
end

--- The elements of a storage: bytes as they are, other dtypes as numbers.
function Ascii:elements(n, d)
  local st, bytes = require "strided", self.bytes
  if n * (d[2] == 1 and 1 or 2) > bytes.left + 1 then fail "it is truncated" end
  if d[2] == 1 then
    local t = st.frombuffer(bytes:take(n), {dtype = d[1], shape = {n}})
    if n > 0 then self:finish_line() end
    return t
  end
  local t, is_integer = st.empty({n}, {dtype = d[1]}), d[1]:find "^int"
  for first = 1, n, CHUNK do
    local values, count = {}, min(CHUNK, n - first + 1)
    for i = 1, count do
      local text = bytes:token()
      values[i] = is_integer and element(text, d) or double(text)
    end
    t:narrow(1, first, count):copy_(st.tensor(values, {
      dtype = is_integer and d[1] or "float64"}))
  end
  if n > 0 then self:finish_line() end
  return t
end

-- -- Objects -----------------------------------------------------------------

local read_object

--- The sizes of a tensor, its strides, the offset and the storage.
local function read_tensor(file, d, depth)
  local n = file:int()
  if n < 0 or n > MAX_DIMS then
    fail("a tensor has %.0f dimensions", n)
  end
  local sizes, strides = file:longs(n), file:longs(n)
  local offset = file:long() - 1
  local base = read_object(file, depth)
  if base == nil then
    base = require "strided".empty({0}, {dtype = d[1]})
    file.storages[base] = true
  end
  if not file.storages[base] or base.dtype ~= d[1] then
    fail("a tensor of %s has no storage of it", d[1])
  end
  if n == 0 then return base:new_empty {0} end -- no scalar but an empty tensor
  return strided_view.make(base, offset < 0 and 0 or offset, sizes, strides)
end

--- A table, which has its place before its fields are read.
local function read_table(file, t, depth)
  local n = file:int()
  if n < 0 or n * 2 > file.bytes.left then fail "it is truncated" end
  for _ = 1, n do
    local key = read_object(file, depth)
    local value = read_object(file, depth)
    if key == nil or key ~= key then
      fail("a table has the key %s", key == nil and "nil" or "NaN")
    end
    t[key] = value
  end
  return t
end

--- The name of the class of an object.
local function read_class(file)
  local n = file:int()
  if n < 0 or n > MAX_CLASS then fail "an object has no class" end
  local text = file:text(n)
  if not find(text, "^V %d+$") then return text end
  n = file:int()
  if n < 0 or n > MAX_CLASS then fail "an object has no class" end
  return file:text(n)
end

--- An object of a class that is no tensor: the table of its fields.
local function read_fields(file, index, class, depth)
  local kind = file:int()
  if kind ~= TABLE then
    fail("class %s has a format of its own", clean(class))
  end
  local inner = file:int()
  local t = {__typename = class}
  file.objects[index], file.objects[inner] = t, t
  read_table(file, t, depth)
  t.__typename = class
  return t
end

local function read_torch(file, index, depth)
  local class = read_class(file)
  local d, kind = dtype_of(class)
  if not d and find(class, "^torch%.") then
    fail("class %s has no equivalent here", clean(class))
  end
  if not d then return read_fields(file, index, class, depth) end
  local t
  if kind == "Storage" then
    t = file:elements(file:long(), d)
    file.storages[t] = true
  else
    t = read_tensor(file, d, depth)
  end
  file.objects[index] = t
  return t
end

function read_object(file, depth)
  local kind = file:int()
  if kind == NIL then return nil end
  if kind == NUMBER then return file:double() end
  if kind == STRING then
    local n = file:int()
    if n < 0 then fail "a string has a negative length" end
    return file:text(n)
  end
  if kind == BOOLEAN then return file:int() ~= 0 end
  if kind == FUNCTION or kind == OLD_RECURSIVE_FUNCTION or
     kind == RECURSIVE_FUNCTION then
    fail "it has a function, which is not read"
  end
  if kind ~= TABLE and kind ~= TORCH then
    fail("it has an object of the unknown type %.0f", kind)
  end
  if depth >= MAX_DEPTH then
    fail("its tables are more than %d deep", MAX_DEPTH)
  end
  local index = file:int()
  local known = file.objects[index]
  if known ~= nil then return known end
  if kind == TORCH then return read_torch(file, index, depth + 1) end
  local t = {}
  file.objects[index] = t
  return read_table(file, t, depth + 1)
end

-- -- The module --------------------------------------------------------------

local t7 = {}

--- True if a file may be one of torch7: it begins with the type of an object,
-- in binary or in ASCII.
-- @tparam string head its first bytes
function t7.is_t7(head)
  return find(head, "^[\1-\5]%z%z%z") ~= nil or find(head, "^[1-5]\n") ~= nil
end

local function read(source)
  local bytes = reader.of_source(source, 0)
  local file = {source = source, bytes = bytes, objects = {}, storages = {}}
  setmetatable(file, find(bytes:take(1), "[%d%-]") and Ascii or
                     Binary)
  file.bytes = reader.of_source(source, 0)
  local value = read_object(file, 0)
  if value == nil then fail "it holds nil" end
  return value
end

--- Reads the object of a file.
-- @param source
-- @return the object; or nil and an error message
function t7.read(source)
  return catch(read, source)
end

return t7
