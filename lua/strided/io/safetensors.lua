--- Reads and writes .safetensors files: a JSON header, followed by the elements
-- of one tensor after the other.
--
-- A table of names and tensors alone is written as such. The metadata of any
-- other table describe it: see strided.io.tree.
--
-- The header is untrusted text, parsed by a parser for this subset of JSON. The
-- byte ranges that it names must cover the rest of the file without gaps or
-- overlaps, as the reference implementation requires.
--
-- @module strided.io.safetensors

local core = require "strided.core"
local no_equivalent = require "strided.io.failure".no_equivalent
local is_utf8 = require "strided.io.utf8".is_valid
local json = require "strided.io.json"
local meter = require "strided.io.meter"
local tree = require "strided.io.tree"

local byte, char, concat, floor, format, sort =
  string.byte, string.char, table.concat, math.floor, string.format,
  table.sort
local ipairs, next, pairs, tonumber, tostring, type = ipairs, next, pairs,
  tonumber, tostring, type

local require = require "strided.core".require

local parse_string, quote, skip = json.parse_string, json.quote, json.skip

local MAX_HEADER = 100000000 -- bytes, as in the reference implementation
local MAX_DIMS = 64
local MAX_EXACT = 2 ^ 53     -- integers below it are exact in a double
local ALIGN = 8              -- of the first element in the file
local METADATA = "__metadata__"

local DTYPES = {} -- dtype in the file -> what is known of the dtype
local CODES = {}  -- dtype -> dtype in the file
for _, d in ipairs(core.dtypes()) do
  if d.safetensors then
    DTYPES[d.safetensors], CODES[d.name] = d, d.safetensors
  end
end

-- -- Grammar -----------------------------------------------------------------

-- Each function takes an index of the text, and returns a value and the index
-- after it.

local function parse_number(s, at)
  local digits, stop = s:match("^(%d+)()", at)
  if not digits or digits:find "^0%d" or s:find("^[%.eE]", stop) then
    return nil
  end
  return tonumber(digits) + 0.0, stop -- not an integer that could wrap
end

--- A list such as [1, 2], of at most max numbers.
local function parse_numbers(s, at, max)
  local list = {}
  at = s:match("^%[()", at)
  if not at then return nil end
  at = skip(s, at)
  local stop = s:match("^%]()", at)
  while not stop do
    local n
    n, at = parse_number(s, at)
    if not n or #list == max then return nil end
    list[#list + 1] = n
    at = skip(s, at)
    stop = s:match("^%]()", at)
    if not stop then
      at = s:match("^,()", at)
      if not at then return nil end
      at = skip(s, at)
    end
  end
  return list, stop
end

--- An object {"name": value, ...}. parse also gets the name; it returns a value
-- and the next index, or nil and an error message.
local function parse_object(s, at, parse)
  local object = {}
  at = s:match("^{()", at)
  if not at then return nil, "the header is malformed" end
  at = skip(s, at)
  local stop = s:match("^}()", at)
  while not stop do
    local name, after = parse_string(s, at)
    local colon = after and s:match("^[ \t\r\n]*:[ \t\r\n]*()", after)
    if not colon then return nil, "the header is malformed" end
    if object[name] ~= nil then
      return nil, format("the header has '%s' twice", name)
    end
    local value
    value, at = parse(s, colon, name)
    if value == nil then return nil, at end
    object[name] = value
    at = skip(s, at)
    stop = s:match("^}()", at)
    if not stop then
      at = s:match("^,()", at)
      if not at then return nil, "the header is malformed" end
      at = skip(s, at)
    end
  end
  return object, stop
end

local function parse_text(s, at, name)
  local text, stop = parse_string(s, at)
  if not text then return nil, format("metadata '%s' is not a string", name) end
  return text, stop
end

local FIELDS = {
  dtype = parse_string,
  shape = function(s, at) return parse_numbers(s, at, MAX_DIMS) end,
  data_offsets = function(s, at) return parse_numbers(s, at, 2) end,
}

local function parse_field(s, at, name)
  local parse = FIELDS[name]
  if not parse then return nil, format("a tensor has no field '%s'", name) end
  local value, stop = parse(s, at)
  if value == nil then return nil, format("field '%s' is malformed", name) end
  return value, stop
end

--- The metadata, or null where there are none.
local function parse_metadata(s, at)
  local stop = s:match("^null()", at)
  if stop then return {}, stop end
  return parse_object(s, at, parse_text)
end

local function parse_member(s, at, name)
  if name == METADATA then return parse_metadata(s, at) end
  local info, stop = parse_object(s, at, parse_field)
  if not info then return nil, format("tensor '%s': %s", name, stop) end
  for field in pairs(FIELDS) do
    if info[field] == nil then
      return nil, format("tensor '%s' has no %s", name, field)
    end
  end
  return info, stop
end

-- -- The header --------------------------------------------------------------

--- Sets the dtype and byte range of a tensor from its fields; returns nil or an
-- error message. A tensor of an unsupported dtype is an error only when it is
-- loaded; only its byte range is checked here.
local function check_info(info, name)
  local d = DTYPES[info.dtype]
  local first, last = info.data_offsets[1], info.data_offsets[2]
  if not last then
    return format("tensor '%s': data_offsets must be a beginning and an end",
                  name)
  end
  info.name, info.first, info.last = name, first, last
  if not d then
    info.why = format("dtype %s has no equivalent here", info.dtype)
    return first > last and
           format("tensor '%s' ends before it begins", name) or nil
  end
  local n, nonzero = d.size, d.size
  if d.lanes > 1 then -- the file counts numbers, a tensor elements
    local dim = #info.shape
    local size = info.shape[dim]
    if not size or size % d.lanes ~= 0 then
      return format("tensor '%s': the last dimension of %s must be a multiple "
                    .. "of %d", name, info.dtype, d.lanes)
    end
    info.shape[dim] = size / d.lanes
  end
  for _, size in ipairs(info.shape) do
    n = n * size
    if size > 0 then nonzero = nonzero * size end
    if nonzero >= MAX_EXACT then
      return format("tensor '%s': the shape is too large", name)
    end
  end
  if last - first ~= n then
    return format("tensor '%s' needs %.0f bytes and has %.0f", name, n,
                  last - first)
  end
  info.dtype, info.unit = d.name, d.unit
end

--- The tensors in file order; or nil and an error message, if they do not cover
-- exactly `total` bytes.
local function check_cover(tensors, total)
  local list, at = {}, 0
  for name, info in pairs(tensors) do
    local why = check_info(info, name)
    if why then return nil, why end
    list[#list + 1] = info
  end
  sort(list, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    if a.last ~= b.last then return a.last < b.last end
    return a.name < b.name
  end)
  for _, info in ipairs(list) do
    if info.first ~= at then
      return nil, format("tensor '%s' begins at byte %.0f, not at %.0f",
                         info.name, info.first, at)
    end
    at = info.last
  end
  if at ~= total then
    return nil, format("the tensors need %.0f bytes and %.0f follow the "
                       .. "header", at, total)
  end
  return list
end

local function read_text(source)
  local head, why = source:read(0, 8)
  if not head then return nil, why end
  local length = 0.0 -- not an integer that could wrap
  for i = 8, 1, -1 do length = length * 256 + byte(head, i) end
  if length > MAX_HEADER then return nil, "the header is too large" end
  local text
  text, why = source:read(8, length)
  if not text then return nil, why end
  if not is_utf8(text) then return nil, "the header is not UTF-8" end
  return text
end

--- The tensors in file order, the metadata, and the offset of the elements.
local function read_header(source)
  local text, why = read_text(source)
  if not text then return nil, why end
  local tensors, stop = parse_object(text, 1, parse_member)
  if not tensors then return nil, stop end
  if text:find("[^ \t\r\n]", stop) then
    return nil, "something follows the header's object"
  end
  local metadata = tensors[METADATA]
  tensors[METADATA] = nil
  local list
  list, why = check_cover(tensors, source:size() - 8 - #text)
  if not list then return nil, why end
  return list, metadata or {}, 8 + #text
end

-- -- Reading -----------------------------------------------------------------

local function mend(t, info)
  local swapped = core.byte_order == ">" and info.unit > 1
  if swapped or info.dtype == "bool" then
    core.mend(t, swapped and info.unit or 1)
  end
end

--- A tensor over the mapped source, or a copy of the elements if they cannot be
-- mapped.
local function read_tensor(source, info, start, mode)
  local st = require "strided"
  local t = mode and source:view(start + info.first, info.dtype, info.shape)
  if mode == "r+" then
    if not t then
      return nil, "its elements are not aligned: they cannot be mapped"
    end
    if info.dtype == "bool" and not core.are_bools(t) then
      return nil, "it has bytes that are neither true nor false"
    end
    meter.add_tensor(t)
    return t
  end
  if not t then
    t = st.empty(info.shape, {dtype = info.dtype})
    local done, why = meter.read_into(source, t, start + info.first)
    if not done then return nil, why end
  else
    meter.add_tensor(t)
  end
  mend(t, info)
  return t
end

--- The tensors with these names, or all; or nil and an error message.
local function choose(list, names)
  if names == nil then return list end
  if type(names) ~= "table" then
    return nil, "option 'names' must be a list of names"
  end
  local found, chosen = {}, {}
  for _, info in ipairs(list) do found[info.name] = info end
  for i, name in ipairs(names) do
    chosen[i] = found[name]
    if not chosen[i] then
      return nil, format("it has no tensor '%s'", tostring(name))
    end
  end
  return chosen
end

--- The tensors to load; or nil and an error message, if one has an unsupported
-- dtype.
local function check_names(list, names)
  local chosen, why = choose(list, names)
  for _, info in ipairs(chosen or {}) do
    if info.why then
      return nil, format("tensor '%s': %s", info.name, info.why)
    end
  end
  return chosen, why
end

local safetensors = {}

--- Reads the tensors of a file, and its metadata.
-- @param source
-- @tparam table options `mmap` (by default "r"), `names`
-- @treturn table names and tensors, or the tree that was saved, unless there
-- are `names`; or nil and an error message
-- @treturn table the metadata, strings by name
function safetensors.read(source, options)
  local list, metadata, start = read_header(source)
  if not list then return nil, metadata end
  local mode, ok, why = options.mmap
  if mode == nil then mode = "r" end
  if core.byte_order == ">" then mode = false end
  list, why = check_names(list, options.names)
  if not list then return nil, why end
  if mode then
    ok, why = source:map(mode == "r+")
    if not ok then return nil, why end
  end
  local tensors = {}
  for _, info in ipairs(list) do
    tensors[info.name], why = read_tensor(source, info, start, mode)
    if why then return nil, format("tensor '%s': %s", info.name, why) end
  end
  local description = metadata[tree.NAME]
  if not description or options.names then return tensors, metadata end
  metadata[tree.NAME] = nil
  local value
  value, why = tree.decode(description, tensors)
  if value == nil then return nil, why end
  return value, metadata
end

-- -- Writing -----------------------------------------------------------------

--- The tensors in file order: by decreasing element size, so that all elements
-- are aligned, then by name. Or nil and an error message.
local function arrange(tensors)
  local list = {}
  for name, t in next, tensors do
    local code = CODES[tostring(t.dtype)]
    if not code then
      return nil, format("'%s': %s", name,
                         no_equivalent(tostring(t.dtype), ".safetensors"))
    end
    local lanes = DTYPES[code].lanes
    if lanes > 1 and #t.shape == 0 then
      return nil, format("'%s': a tensor of %s without dimensions has no "
                         .. "equivalent in .safetensors", name, t.dtype)
    end
    list[#list + 1] = {name = name, code = code, lanes = lanes, tensor = t}
  end
  sort(list, function(a, b)
    local m, n = DTYPES[a.code].size, DTYPES[b.code].size
    if m ~= n then return m > n end
    return a.name < b.name
  end)
  return list
end

local function metadata_text(metadata)
  if type(metadata) ~= "table" then
    return nil, "option 'metadata' must be a table of strings"
  end
  local names, parts = {}, {}
  for name, text in next, metadata do
    if type(name) ~= "string" or type(text) ~= "string" or
       not is_utf8(name) or not is_utf8(text) then
      return nil, format("metadata '%s' is not a string", tostring(name))
    end
    names[#names + 1] = name
  end
  sort(names)
  for i, name in ipairs(names) do
    parts[i] = quote(name) .. ":" .. quote(metadata[name])
  end
  return quote(METADATA) .. ":{" .. concat(parts, ",") .. "}"
end

local function entry(item, at, nbytes)
  local sizes, shape = {}, item.tensor.shape
  for i = 1, #shape do
    sizes[i] = format("%.0f", shape[i] * (i == #shape and item.lanes or 1))
  end
  return format('%s:{"dtype":"%s","shape":[%s],"data_offsets":[%.0f,%.0f]}',
                quote(item.name), item.code, concat(sizes, ","), at,
                at + nbytes)
end

--- The encoded header of a list of tensors; or nil and an error message.
local function header(list, metadata)
  local parts, at = {}, 0
  if metadata ~= nil then
    local text, why = metadata_text(metadata)
    if not text then return nil, why end
    parts[1] = text
  end
  for _, item in ipairs(list) do
    local nbytes = item.tensor:numel() * item.tensor:element_size()
    parts[#parts + 1] = entry(item, at, nbytes)
    at = at + nbytes
  end
  local text = "{" .. concat(parts, ",") .. "}"
  text = text .. (" "):rep(-#text % ALIGN)
  if #text > MAX_HEADER then return nil, "the header is too large" end
  local length, n = {}, #text
  for i = 1, 8 do
    length[i] = char(n % 256)
    n = floor(n / 256)
  end
  return concat(length) .. text
end

--- t as a tensor whose memory holds the elements in file order.
local function plain(t)
  if t.device ~= "cpu" and t.device ~= "meta" then t = t:to {device = "cpu"} end
  if t:is_conj() or t:is_neg() or t:_is_zerotensor() then t = t:clone() end
  t = t:contiguous()
  if core.byte_order == ">" then
    t = t:clone()
    core.mend(t, DTYPES[CODES[tostring(t.dtype)]].unit)
  end
  return t
end

--- True for a table of names and tensors alone, whose names the file can have.
local function is_flat(value)
  for name, t in next, value do
    if type(name) ~= "string" or name == METADATA or not is_utf8(name) or
       not core.is_tensor(t) then
      return false
    end
  end
  return true
end

--- The tensors of a value, and the metadata; or nil and an error message.
local function describe(value, metadata)
  if type(metadata) == "table" and metadata[tree.NAME] ~= nil then
    return nil, format("metadata cannot have the name '%s'", tree.NAME)
  end
  if is_flat(value) then return value, metadata end
  local tensors, text = tree.encode(value)
  if not tensors then return nil, text end
  local all = {[tree.NAME] = text}
  if metadata == nil then return tensors, all end
  if type(metadata) ~= "table" then return tensors, metadata end
  for name, text_of in next, metadata do all[name] = text_of end
  return tensors, all
end

--- Writes a table of names and tensors, or a tree of values; returns true, or
-- nil and an error message.
function safetensors.write(file, value, options)
  local tensors, metadata = describe(value, options.metadata)
  if not tensors then return nil, metadata end
  local list, why = arrange(tensors)
  if not list then return nil, why end
  local head, done
  head, why = header(list, metadata)
  if not head then return nil, why end
  done, why = file:write(head)
  for _, item in ipairs(list) do
    if not done then return nil, why end
    done, why = meter.write(file, plain(item.tensor))
  end
  return done, why
end

return safetensors
