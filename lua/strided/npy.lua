--- Tensors in NumPy's .npy files.
--
-- The header of a file is text that somebody else wrote: it is parsed by a
-- small total parser, never run, and compared with the size of the file
-- before anything is allocated. A file is saved under a temporary name beside
-- its place and renamed once it is complete.
--
-- @module strided.npy

local core = require "strided.core"

local byte, char, format, rep = string.byte, string.char, string.format,
                                string.rep
local concat, floor, min = table.concat, math.floor, math.min

local MAGIC = "\147NUMPY"
local CHUNK = 1048576      -- bytes read or written at once
local MAX_HEADER = 65536   -- bytes; 64 dimensions need less than 1500
local MAX_DIMS = 64
local MAX_EXACT = 2 ^ 53   -- integers below it are exact in a double

-- -- Failing -----------------------------------------------------------------

--- The text of an error without the place that complain puts before it.
local function text_of(failure)
  return (tostring(failure):gsub("^[^\n]-:%d+: ", ""))
end

-- -- Dtypes ------------------------------------------------------------------

-- kind and bytes -> dtype, bytes that are swapped as one
local DTYPES = {
  b1 = {"bool", 1},
  u1 = {"uint8", 1},
  i1 = {"int8", 1},       i2 = {"int16", 2},
  i4 = {"int32", 4},      i8 = {"int64", 8},
  f2 = {"float16", 2},    f4 = {"float32", 4},  f8 = {"float64", 8},
  c8 = {"complex64", 4},  c16 = {"complex128", 8},
}

local CODES = {}
for code, d in pairs(DTYPES) do CODES[d[1]] = code end

local function host_order()
  local one = require "strided".tensor({1}, {dtype = "int16"})
  return core.get_bytes(one, 0, 2) == "\1\0" and "<" or ">"
end

--- descr -> {dtype, bytes per element, unit to swap or nil}
local function parse_descr(descr)
  local order, code = descr:match "^([<>|=])(%a%d+)$"
  local d = DTYPES[code]
  if not d then
    return nil, format("dtype '%s' has no equivalent here", descr)
  end
  local swapped = d[2] > 1 and (order == "<" or order == ">") and
                  order ~= host_order()
  return {dtype = d[1], size = tonumber(code:sub(2)),
          swap = swapped and d[2] or nil, is_bool = code == "b1"}
end

-- -- The header: a Python dict of three entries ------------------------------

local function skip(s, at) return s:match("^[ \t]*()", at) end

local function parse_string(s, at)
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
    shape[#shape + 1] = tonumber(digits)
    at = skip(s, after)
    stop = s:match("^,()", at)
    comma = stop ~= nil
    at = stop or at
  end
end

local FIELDS = {
  descr = parse_string, fortran_order = parse_bool, shape = parse_shape,
}

--- Text -> {descr, fortran_order, shape}, or nil and why not.
local function parse_header(s)
  local fields = {}
  local at = s:match "^[ \t]*{()"
  if not at then return nil, "the header is not a dictionary" end
  while true do
    at = skip(s, at)
    if s:find("^}", at) then break end
    local name, after = parse_string(s, at)
    local colon = after and s:match("^[ \t]*:[ \t]*()", after)
    local parse = colon and FIELDS[name]
    if not parse or fields[name] ~= nil then
      return nil, format("the header has no field here: %q", s:sub(at, at + 20))
    end
    local value, stop = parse(s, colon)
    if value == nil then
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
  if s:find("[^ \t\n]", at + 1) then
    return nil, "something follows the header's dictionary"
  end
  for name in pairs(FIELDS) do
    if fields[name] == nil then
      return nil, format("the header lacks '%s'", name)
    end
  end
  return fields
end

--- Elements of a shape, or nil if their bytes could not be counted.
local function count(shape, size)
  local n, nonzero = 1, size
  for _, d in ipairs(shape) do
    n = n * d
    if d > 0 then nonzero = nonzero * d end
    if nonzero >= MAX_EXACT then return nil end
  end
  return n
end

-- -- Loading -----------------------------------------------------------------

local function le(s)
  local n = 0
  for i = #s, 1, -1 do n = n * 256 + byte(s, i) end
  return n
end

--- Leaves file at the first element: fields, bytes that follow.
local function read_header(file)
  local size = file:seek "end"
  file:seek "set"
  local head = file:read(8)
  if not head or #head < 8 or head:sub(1, 6) ~= MAGIC then
    return nil, "not a .npy file"
  end
  local major, minor = byte(head, 7, 8)
  if major < 1 or major > 3 or minor ~= 0 then
    return nil, format("version %d.%d of the format is unknown", major, minor)
  end
  local width = major == 1 and 2 or 4
  local length = file:read(width)
  if not length or #length < width then return nil, "the file is truncated" end
  length = le(length)
  if length > MAX_HEADER then return nil, "the header is too large" end
  local text = file:read(length)
  if length > 0 and (not text or #text < length) then
    return nil, "the file is truncated"
  end
  local fields, why = parse_header(text or "")
  if not fields then return nil, why end
  return fields, size - 8 - width - length
end

local SWAP = {
  [2] = {"(.)(.)", "%2%1"},
  [4] = {"(.)(.)(.)(.)", "%4%3%2%1"},
  [8] = {"(.)(.)(.)(.)(.)(.)(.)(.)", "%8%7%6%5%4%3%2%1"},
}

local function read_elements(file, t, total, d)
  local at = 0
  while at < total do
    local n = min(CHUNK, total - at)
    local s = file:read(n)
    if not s or #s < n then return nil, "the file is truncated" end
    if d.swap then s = s:gsub(SWAP[d.swap][1], SWAP[d.swap][2]) end
    -- any other byte would be neither true nor false
    if d.is_bool then s = s:gsub("[^%z\1]", "\1") end
    core.set_bytes(t, at, s)
    at = at + n
  end
  return true
end

local function fortran_strides(shape)
  local strides, step = {}, 1
  for i, d in ipairs(shape) do
    strides[i] = step
    step = step * (d > 1 and d or 1)
  end
  return strides
end

local function load_from(file)
  local fields, rest = read_header(file)
  if not fields then return nil, rest end
  local d, why = parse_descr(fields.descr)
  if not d then return nil, why end
  local shape = fields.shape
  local n = count(shape, d.size)
  if not n then return nil, "the shape is too large" end
  if n * d.size ~= rest then
    return nil, format("the shape needs %.0f bytes and %.0f follow the header",
                       n * d.size, rest)
  end
  local st = require "strided"
  local options = {dtype = d.dtype}
  local t = fields.fortran_order
            and st.empty_strided(shape, fortran_strides(shape), options)
            or st.empty(shape, options)
  local ok
  ok, why = read_elements(file, t, rest, d)
  if not ok then return nil, why end
  return t
end

-- -- Saving ------------------------------------------------------------------

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
  local order = tonumber(code:sub(2)) == 1 and "|" or host_order()
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

local function write_elements(file, t, total)
  for at = 0, total - 1, CHUNK do
    local ok, why = file:write(core.get_bytes(t, at, min(CHUNK, total - at)))
    if not ok then return nil, why end
  end
  return true
end

--- A name beside path that no file has.
local function temporary(path)
  for i = 1, 1000 do
    local name = format("%s.%d.tmp", path, i)
    local file = io.open(name, "rb")
    if not file then return name end
    file:close()
  end
  return nil, "all names for a temporary file beside it are taken"
end

--- Writes everything under a temporary name, then renames it.
local function save_to(path, head, t, total)
  local name, why = temporary(path)
  if not name then return nil, why end
  local file
  file, why = io.open(name, "wb")
  if not file then return nil, why end
  local ok, done
  ok, done, why = pcall(function()
    local written, reason = file:write(head)
    if not written then return nil, reason end
    return write_elements(file, t, total)
  end)
  local closed, reason = file:close()
  if not ok then done, why = nil, text_of(done) end
  if done and not closed then done, why = nil, reason end
  if done then done, why = os.rename(name, path) end
  if not done then
    os.remove(name)
    return nil, why
  end
  return true
end

local function save(path, t)
  local code = CODES[tostring(t.dtype)]
  if not code then
    return nil, format("%s has no equivalent in .npy; convert it first",
                       tostring(t.dtype))
  end
  if t.device ~= "cpu" and t.device ~= "meta" then t = t:to {device = "cpu"} end
  if t:is_conj() or t:is_neg() or t:_is_zerotensor() then t = t:clone() end
  local fortran = not t:is_contiguous() and is_fortran(t)
  if not fortran then t = t:contiguous() end
  return save_to(path, header(code, fortran, t.shape), t,
                 t:numel() * t:element_size())
end

-- -- The module --------------------------------------------------------------

local npy = {}

local function complain(name, path, why)
  error(format("%s: cannot %s '%s': %s", name, name, path, why), 3)
end

local function check_path(name, path)
  if type(path) ~= "string" then
    error(format("%s: the path must be a string, not a %s", name, type(path)),
          3)
  end
end

--- Reads a tensor from a .npy file: versions 1 to 3, either byte order, C and
-- Fortran order (as strides, without a copy).
-- @tparam string path
-- @return a new tensor
function npy.load(path)
  check_path("load", path)
  local file, why = io.open(path, "rb")
  if not file then complain("load", path, why) end
  local ok, t
  ok, t, why = pcall(load_from, file)
  file:close()
  if not ok then why = text_of(t) end
  if not ok or not t then complain("load", path, why) end
  return t
end

--- Writes a tensor as .npy, in C order, or in Fortran order when that is how
-- it lies in memory. The file is replaced at once when all is written, or not
-- at all.
-- @tparam string path
-- @param t a tensor with data; every dtype but bfloat16
function npy.save(path, t)
  check_path("save", path)
  if not core.is_tensor(t) then
    error("save: argument 't' must be a Tensor, got " .. type(t), 2)
  end
  local ok, done, why = pcall(save, path, t)
  if not ok then why = text_of(done) end
  if not ok or not done then complain("save", path, why) end
end

return npy
