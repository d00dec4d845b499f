--- Reads and writes NumPy's .npy format, in files and in members of .npz files.
--
-- The header is untrusted text. It is parsed, not evaluated, and compared with
-- the size of the file before anything is allocated.
--
-- @module strided.io.npy

local core = require "strided.core"
local descr = require "strided.io.npy.descr"
local failure = require "strided.io.failure"
local meter = require "strided.io.meter"

local byte, char, format, rep = string.byte, string.char, string.format,
                                string.rep
local ipairs, pairs, tonumber, tostring = ipairs, pairs, tonumber, tostring

local require = require "strided.core".require

local concat, floor = table.concat, math.floor

local MAGIC = "\147NUMPY"
local MAX_HEADER = 65536   -- bytes; 64 dimensions need less than 1500
local MAX_DIMS = 64
local MAX_EXACT = 2 ^ 53   -- integers below it are exact in a double

local npy = {MAGIC = MAGIC}

-- -- The header: a Python dict of three entries ------------------------------

--- The index of the first character from `at` on that is no space. Lines may
-- end between the tokens of a dict.
local function skip(s, at) return s:match("^%s*()", at) end

--- A string, which Python 2 may have written as u''.
local function parse_string(s, at)
  at = s:match("^[uU]?()", at)
  local text, stop = s:match("^'([^'\\\n]*)'()", at)
  if not text then text, stop = s:match('^"([^"\\\n]*)"()', at) end
  return text, stop
end

local function parse_bool(s, at)
  local word, stop = s:match("^(%a+)()", at)
  if word == "True" then return true, stop end
  if word == "False" then return false, stop end
end

-- (), (3,), (3, 4), (3, 4,); a number may end in L (Python 2 wrote that).
local function parse_shape(s, at)
  local shape, comma = {}, true
  at = s:match("^%(()", at)
  while at do
    at = skip(s, at)
    local stop = s:match("^%)()", at)
    if stop then
      if #shape == 1 and not comma then return nil end
      return shape, stop
    end
    local digits, after = s:match("^(%d+)L?()", at)
    if not digits or not comma or #shape == MAX_DIMS then return nil end
    shape[#shape + 1] = tonumber(digits) + 0.0 -- cannot wrap
    at = skip(s, after)
    stop = s:match("^,()", at)
    comma = stop ~= nil
    at = stop or at
  end
end

local FIELDS = {
  descr = parse_string, fortran_order = parse_bool, shape = parse_shape,
}

--- Text -> {descr, fortran_order, shape}, or nil and an error message.
local function parse_header(s)
  local fields = {}
  local at = s:match "^%s*{()"
  if not at then return nil, "the header is not a dictionary" end
  while true do
    at = skip(s, at)
    if s:find("^}", at) then break end
    local name, after = parse_string(s, at)
    local colon = after and s:match("^%s*:%s*()", after)
    local parse = colon and FIELDS[name]
    if not parse or fields[name] ~= nil then
      return nil, format("the header has no field here: %q", s:sub(at, at + 20))
    end
    local value, stop = parse(s, colon)
    if value == nil and name == "descr" and s:find("^%[", colon) then
      return nil, "its elements are records: np.savez(\"a.npz\", **{n: a[n] "
                  .. "for n in a.dtype.names}) writes what st.load reads"
    elseif value == nil then
      return nil, format("field '%s' of the header is malformed", name)
    end
    fields[name] = value
    at = skip(s, stop)
    local comma = s:match("^,()", at)
    if not comma and not s:find("^}", at) then
      return nil, "the header ends early"
    end
    at = comma or at
  end
  if s:find("%S", at + 1) then
    return nil, "something follows the header's dictionary"
  end
  for name in pairs(FIELDS) do
    if fields[name] == nil then
      return nil, format("the header lacks '%s'", name)
    end
  end
  return fields
end

--- The number of elements of a shape, or nil if the number of bytes overflows.
local function count(shape, size)
  local n, nonzero = 1, size + 0.0 -- a float does not wrap around
  for _, d in ipairs(shape) do
    n = n * d
    if d > 0 then nonzero = nonzero * d end
    if nonzero >= MAX_EXACT then return nil end
  end
  return n
end

-- -- Reading -----------------------------------------------------------------

local function le(s)
  local n = 0
  for i = #s, 1, -1 do n = n * 256 + byte(s, i) end
  return n
end

--- The fields of the header, and its size in bytes.
local function read_fields(read)
  local head, why = read(8)
  if not head then return nil, why end
  if head:sub(1, 6) ~= MAGIC then return nil, "not a .npy file" end
  local major, minor = byte(head, 7, 8)
  if major < 1 or major > 3 or minor ~= 0 then
    return nil, format("version %d.%d of the format is unknown", major, minor)
  end
  local width = major == 1 and 2 or 4
  local length, text, fields
  length, why = read(width)
  if not length then return nil, why end
  length = le(length)
  if length > MAX_HEADER then return nil, "the header is too large" end
  text, why = read(length)
  if not text then return nil, why end
  fields, why = parse_header(text)
  if not fields then return nil, why end
  return fields, 8 + width + length
end

local function fortran_strides(shape)
  local strides, step = {}, 1
  for i, d in ipairs(shape) do
    strides[i] = step
    step = step * (d > 1 and d or 1)
  end
  return strides
end

--- Reads a header and checks it against the size of the file.
-- @tparam function read returns the next n bytes as a string, or nil and an
-- error message
-- @tparam number total size in bytes, including the header
-- @treturn table dtype, shape, strides (nil in C order), offset and nbytes of
-- the elements, unit of byte swapping (nil for the native order); or nil and an
-- error message
function npy.read_header(read, total)
  local fields, offset = read_fields(read)
  if not fields then return nil, offset end
  local d, why = descr.parse(fields.descr)
  if not d then return nil, why end
  local shape = fields.shape
  local n = count(shape, d.size)
  if not n then return nil, "the shape is too large" end
  if n * d.size ~= total - offset then
    return nil, format("the shape needs %.0f bytes and %.0f follow the header",
                       n * d.size, total - offset)
  end
  return {
    dtype = d.dtype, shape = shape, unit = d.swap, is_bool = d.is_bool,
    strides = fields.fortran_order and fortran_strides(shape) or nil,
    offset = offset, nbytes = n * d.size,
  }
end

--- An uninitialized tensor for the elements that a header describes.
function npy.make(info)
  local st = require "strided"
  local options = {dtype = info.dtype}
  if info.strides then
    return st.empty_strided(info.shape, info.strides, options)
  end
  return st.empty(info.shape, options)
end

--- Converts the bytes that were read into t to elements: swaps bytes and
-- normalizes booleans.
function npy.mend(t, info)
  if info.unit or info.is_bool then core.mend(t, info.unit or 1) end
end

-- -- Mapping -----------------------------------------------------------------

--- A tensor over the mapped file; nil and an error message; or nil alone if the
-- elements must be read because they are not aligned.
local function map(source, info, mode)
  if info.unit then
    return nil, "elements in the other byte order cannot be mapped"
  end
  local shared = mode == "r+"
  local ok, why = source:map(shared)
  if not ok then return nil, why end
  local t = source:view(info.offset, info.dtype, info.shape, info.strides)
  if not shared then
    if t then npy.mend(t, info) end
    return t
  end
  if not t then
    return nil, "its elements are not aligned: they cannot be mapped"
  end
  if info.is_bool and not core.are_bools(t) then
    return nil, "it has bytes that are neither true nor false"
  end
  return t
end

--- Reads the tensor of a file.
-- @param source
-- @tparam[opt] string mmap "r" or "r+"
-- @return the tensor, or nil and an error message
function npy.read(source, mmap)
  local at = 0
  local function read(n)
    local s, why = source:read(at, n)
    at = at + n
    return s, why
  end
  local info, why = npy.read_header(read, source:size())
  if not info then return nil, why end
  local t, done
  if mmap then
    t, why = map(source, info, mmap)
    if t or why then return t, why end
  end
  t = npy.make(info)
  done, why = meter.read_into(source, t, info.offset)
  if not done then return nil, why end
  npy.mend(t, info)
  return t
end

-- -- Writing -----------------------------------------------------------------

local function is_fortran(t)
  local shape, stride = t.shape, t:stride()
  local step = 1
  for i = 1, #shape do
    if shape[i] ~= 1 and stride[i] ~= step then return false end
    step = step * shape[i]
  end
  return true
end

local function header(code, fortran, shape)
  local order = tonumber(code:sub(2)) == 1 and "|" or core.byte_order
  local dims = {}
  for i = 1, #shape do dims[i] = format("%.0f", shape[i]) end
  local text = format("{'descr': '%s%s', 'fortran_order': %s, 'shape': (%s), }",
                      order, code, fortran and "True" or "False",
                      concat(dims, ", ") .. (#dims == 1 and "," or ""))
  -- the elements start at a multiple of 64
  local length = floor((10 + #text + 1 + 63) / 64) * 64 - 10
  return MAGIC .. "\1\0" .. char(length % 256, floor(length / 256)) .. text ..
         rep(" ", length - #text - 1) .. "\n"
end

local function no_equivalent(t)
  return failure.no_equivalent(tostring(t.dtype), ".npy")
end

--- Encodes t: returns the header, and a tensor whose memory holds the elements
-- in file order; or nil and an error message.
function npy.encode(t)
  local code = descr.CODES[tostring(t.dtype)]
  if not code then return nil, no_equivalent(t) end
  if t.device ~= "cpu" and t.device ~= "meta" then t = t:to {device = "cpu"} end
  if t:is_conj() or t:is_neg() or t:_is_zerotensor() then t = t:clone() end
  local fortran = not t:is_contiguous() and is_fortran(t)
  if not fortran then t = t:contiguous() end
  return header(code, fortran, t.shape), t
end

--- Writes the header of a tensor like t and reserves room for its elements,
-- which are zero; returns true, or nil and an error message.
function npy.reserve(file, t)
  local code = descr.CODES[tostring(t.dtype)]
  if not code then return nil, no_equivalent(t) end
  local ok, why = file:write(header(code, false, t.shape))
  if not ok then return nil, why end
  return file:reserve(t:numel() * t:element_size())
end

--- Writes t to a file; returns true, or nil and an error message.
function npy.write(file, t)
  local head, elements = npy.encode(t)
  if not head then return nil, elements end
  local ok, why = file:write(head)
  if not ok then return nil, why end
  return meter.write(file, elements)
end

return npy
