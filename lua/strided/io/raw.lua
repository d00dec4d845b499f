--- Raw binary files: elements and nothing else.
--
-- `st.frombuffer(string, options)` and `t:tostring_bytes()` do the same with
-- strings.
--
-- @module strided.io.raw

local core = require "strided.core"
local failure = require "strided.io.failure"
local options_of = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local replace = require "strided.io.replace"

local ceil, find, floor, format, pcall, tostring, type = math.ceil,
  string.find, math.floor, string.format, pcall, tostring, type

local require = require "strided.core".require

local KNOWN = {dtype = true, count = true, offset = true, shape = true,
               mmap = true}
local MODES = {[true] = "r", r = "r", c = "r", ["r+"] = "r+"}
local MAX_EXACT = 2 ^ 53

local raw = {}

-- -- Arguments ---------------------------------------------------------------

local function check_path(name, path)
  if type(path) ~= "string" then
    raise("%s: the path must be a string, got %s", name,
          core.is_tensor(path) and "a Tensor" or type(path))
  end
  if find(path, "%z") then raise("%s: the path has a NUL in it", name) end
end

local function complain(name, verb, path, why)
  raise("%s: cannot %s %s: %s", name, verb, failure.quote(path), why)
end

local function check_count(option, value)
  if value ~= nil and (type(value) ~= "number" or value < 0 or
                       value ~= floor(value) or value >= MAX_EXACT) then
    raise("fromfile: option '%s' must be a number from 0 on, got %s", option,
          tostring(value))
  end
end

--- Checks the options; returns the mode to map in, or nil.
local function check(options)
  check_count("count", options.count)
  check_count("offset", options.offset)
  local shape = options.shape
  if shape ~= nil and options.count ~= nil then
    raise "fromfile: options 'shape' and 'count' exclude each other"
  end
  if shape ~= nil and type(shape) ~= "table" and type(shape) ~= "userdata" then
    raise("fromfile: option 'shape' must be a list of sizes, got %s",
          type(shape))
  end
  if not options.mmap then return nil end
  return MODES[options.mmap] or
    raise "fromfile: option 'mmap' must be true, \"r\", \"c\", \"r+\" or false"
end

--- The shape and the number of elements; nil and an error message if the file
-- does not have them.
local function shape_of(options, size, each)
  local offset, shape, n = options.offset or 0, {}, 1
  if offset > size then
    return nil, format("the offset is %.0f, and it has %.0f bytes", offset,
                       size)
  end
  local rest = size - offset
  if options.shape then
    for i = 1, #options.shape do
      shape[i] = options.shape[i]
      check_count("shape", shape[i])
      n = n * shape[i]
    end
  elseif options.count then
    shape[1], n = options.count, options.count
  else
    if rest % each ~= 0 then
      return nil, format("%.0f bytes from offset %.0f on are no whole number "
                         .. "of elements of %d bytes", rest, offset, each)
    end
    n = floor(rest / each)
    shape[1] = n
  end
  local last = shape[#shape]
  local need = n * each
  -- rows of elements of fewer than eight bits end with a byte
  if each < 1 and n > 0 then need = n / last * ceil(last * each) end
  if need > rest then
    return nil, format("the elements need %.0f bytes from offset %.0f on, and "
                       .. "there are %.0f", need, offset, rest)
  end
  return shape, n
end

-- -- Reading -----------------------------------------------------------------

--- A tensor over the mapped file; nil alone if it must be read.
local function map(source, offset, t, shape, mode)
  local ok, why = source:map(mode == "r+")
  if not ok then return nil, why end
  local view = source:view(offset, t.dtype, shape)
  local is_bool = tostring(t.dtype) == "bool"
  if mode == "r+" and not view then
    return nil, "its elements are not aligned: they cannot be mapped"
  elseif mode == "r+" and is_bool and not core.are_bools(view) then
    return nil, "it has bytes that are neither true nor false"
  end
  if view and is_bool and mode == "r" then core.mend(view, 1) end
  return view
end

local function read(source, options, none, mode)
  local st = require "strided"
  local offset = options.offset or 0
  local shape, n = shape_of(options, source:size(), none:element_size())
  if not shape then return nil, n end
  if mode and n > 0 then
    local t, why = map(source, offset, none, shape, mode)
    if t or why then return t, why end
  end
  local t = st.empty(shape, {dtype = none.dtype})
  local ok, why = source:read_into(t, offset)
  if not ok then return nil, why end
  if tostring(t.dtype) == "bool" then core.mend(t, 1) end
  return t
end

-- -- The module --------------------------------------------------------------

--- Reads a raw binary file: elements in this machine's byte order, one after
-- the other.
--
--     st.tensor({1, 2, 3}, {dtype = "int16"}):tofile("a.bin")
--     st.fromfile("a.bin", {dtype = "int16"})        -- 1, 2, 3
--
-- `dtype` is the default dtype if it is not given; `offset` are the bytes to
-- skip; `shape`, or `count`, the number of elements, is all that there are.
-- With `mmap` the file is mapped as st.load does: true, "r" or "c" privately,
-- "r+" so that what is written to the tensor is written to the file.
-- @tparam string path
-- @tparam[opt] table options `dtype`; `shape` or `count`; `offset`; `mmap`
-- @treturn Tensor
function raw.fromfile(path, options)
  check_path("fromfile", path)
  options = options_of("fromfile", options, KNOWN)
  local mode = check(options)
  local dtype = options.dtype or core.get_default_dtype()
  local ok, none = core.try(require "strided".empty, {0}, {dtype = dtype})
  if not ok then
    raise("fromfile: there is no dtype '%s'", tostring(options.dtype))
  end
  local source, why = core.open_source(path, mode == "r+")
  if not source then complain("fromfile", "read", path, why) end
  local t
  ok, t, why = pcall(read, source, options, none, mode)
  source:close()
  if not ok then raise("%s", failure.refusal(t)) end
  if not t then complain("fromfile", "read", path, why) end
  return t
end

--- Writes the elements of a tensor in index order to a raw binary file, which
-- is replaced when all of them are on the disk. `st.fromfile` reads it; neither
-- the dtype nor the shape is in the file.
-- @param t a tensor
-- @tparam string path
function raw.tofile(t, path)
  check_path("tofile", path)
  if not core.is_tensor(t) then
    raise("tofile: argument 't' must be a Tensor, got %s", type(t))
  end
  if t.device == "meta" then
    raise "tofile: a tensor on the meta device has no data"
  end
  if t.device ~= "cpu" then t = t:to {device = "cpu"} end
  if t:is_conj() or t:is_neg() or t:_is_zerotensor() then t = t:clone() end
  t = t:contiguous()
  local done, why = replace(path, function(file) return file:write(t) end)
  if not done then complain("tofile", "write", path, why) end
end

return raw
