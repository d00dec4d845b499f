--- Writes .pt files, which torch.load of PyTorch reads, also with weights_only:
-- a zip of a pickle and of the elements of each storage.
--
-- * A table of a list's keys 1, 2, ... becomes a list, any other a dict. A
--   table that occurs twice is one object twice.
-- * Tensors that share memory share a storage, which has the elements from the
--   first to the last that a tensor uses.
-- * A number that is an integer becomes an int; in Lua 5.3 and later that is
--   one of the subtype integer. st.none becomes None. Strings that are not
--   UTF-8 become bytes.
--
-- @module strided.io.pt.writer

local core = require "strided.core"
local failure = require "strided.io.failure"
local is_utf8 = require "strided.io.utf8".is_valid
local json = require "strided.io.json"
local values = require "strided.io.values"
local zip = require "strided.io.zip"

local byte, char, concat, floor, format, gsub, sub = string.byte, string.char,
  table.concat, math.floor, string.format, string.gsub, string.sub
local ipairs, rawget, tostring = ipairs, rawget, tostring

local require = require "strided.core".require

local catch, check, fail = failure.catch, failure.check, failure.fail
local math_type = rawget(math, "type") -- Lua 5.3

local ALIGN = 64           -- of storages in the file, as in PyTorch
local MAX_EXACT = 2 ^ 53   -- integers below it are exact in a double
local ROOT = "archive/"

-- dtype -> name of the class of storages, or "" for bytes
local STORAGES = {}
for _, d in ipairs(core.dtypes()) do STORAGES[d.name] = d.pt end

-- -- Storages ----------------------------------------------------------------

--- The distance of the last element from the first.
local function extent(t)
  local shape, strides, last = t.shape, t:stride(), 0
  for i = 1, #shape do last = last + (shape[i] - 1) * strides[i] end
  return last
end

--- A tensor on the CPU whose memory holds its elements.
local function plain(t)
  if t.device ~= "cpu" then t = t:to {device = "cpu"} end
  if t:is_conj() or t:is_neg() or t:_is_zerotensor() then t = t:clone() end
  return t
end

--- Adds a tensor to the storages.
local function add_tensor(w, t, path)
  if w.tensors[t] then return end
  local dtype = tostring(t.dtype)
  if not STORAGES[dtype] then
    fail("%s: %s", path, failure.no_equivalent(dtype, "PyTorch"))
  end
  if t.device == "meta" then
    fail("%s is a tensor on the meta device, without elements", path)
  end
  local kept = plain(t:detach())
  local first = kept:storage_offset()
  local item = {t = kept, first = first, last = first + extent(kept),
                dtype = dtype, requires_grad = t.requires_grad}
  w.tensors[t] = item
  local key = kept:numel() == 0 and t or
    format("%.0f %s", kept:data_ptr() - first * kept:element_size(), dtype)
  local storage = w.storages[key]
  if not storage then
    storage = {dtype = dtype, number = #w.list, first = first,
               last = item.last, items = {}}
    w.storages[key], w.list[#w.list + 1] = storage, storage
  end
  item.storage = storage
  storage.items[#storage.items + 1] = item
  if item.first < storage.first then storage.first = item.first end
  if item.last > storage.last then storage.last = item.last end
end

--- Sets the elements of a storage. A tensor that is alone and leaves elements
-- between its own unused is copied.
local function finish_storage(storage)
  local item = storage.items[1]
  local t = item.t
  if t:numel() == 0 then
    storage.elements, storage.first = t:new_empty {0}, item.first
    return
  end
  if not storage.items[2] and not t:is_non_overlapping_and_dense() then
    t = t:contiguous()
    item.t, item.first, storage.first = t, 0, 0
    storage.last = t:numel() - 1
    storage.elements = t:view(-1)
    return
  end
  storage.elements = t:as_strided({storage.last - storage.first + 1}, {1},
                                  storage.first)
end

-- -- Pickles -----------------------------------------------------------------

local function put(w, text) w.parts[#w.parts + 1] = text end

--- A number as n little-endian bytes.
local function bytes_of(x, n)
  local list = {}
  for i = 1, n do
    list[i] = char(x % 256)
    x = floor(x / 256)
  end
  return concat(list)
end

--- The bytes of a number as an element, from the lowest.
local function element_bytes(x, dtype)
  local t = require "strided".full({1}, x, {dtype = dtype})
  local text = core.get_bytes(t, 0, 8)
  return core.byte_order == ">" and text:reverse() or text
end

local function put_float(w, x)
  if x == 0 then -- st.full has no negative zero
    return put(w, "G" .. (1 / x < 0 and "\128" or "\0") .. ("\0"):rep(7))
  end
  put(w, "G" .. element_bytes(x, "float64"):reverse())
end

--- An integer: the shortest bytes in two's complement.
local function put_long(w, x, is_unsigned)
  local text = element_bytes(x, is_unsigned and "uint64" or "int64")
  if is_unsigned then text = text .. "\0" end
  put(w, "\138" .. char(#text) .. text)
end

local function put_integer(w, x)
  if x >= 0 and x < 256 then return put(w, "K" .. char(x)) end
  if x >= -2 ^ 31 and x < 2 ^ 31 then
    return put(w, "J" .. bytes_of(x % 2 ^ 32, 4))
  end
  put_long(w, x, false)
end

local function put_number(w, x)
  if math_type then
    if math_type(x) == "integer" then return put_integer(w, x) end
  elseif x == floor(x) and x > -MAX_EXACT and x < MAX_EXACT and
         (x ~= 0 or 1 / x > 0) then
    return put_integer(w, x)
  end
  put_float(w, x)
end

local function put_text(w, s) put(w, "X" .. bytes_of(#s, 4) .. s) end

local function put_global(w, module, name)
  put(w, "c" .. module .. "\n" .. name .. "\n")
end

local function put_string(w, s)
  if is_utf8(s) then return put_text(w, s) end
  put_global(w, "_codecs", "encode")
  put_text(w, gsub(s, "[\128-\255]", function(c) return json.utf8(byte(c)) end))
  put_text(w, "latin1")
  put(w, "\134R") -- TUPLE2, REDUCE
end

local function put_tuple(w, list)
  put(w, "(")
  for i = 1, #list do put_integer(w, list[i]) end
  put(w, "t")
end

--- A call of torch._utils._rebuild_tensor_v2, or of v3 for the dtypes that have
-- no class of storages.
local function put_tensor(w, item)
  local storage, t = item.storage, item.t
  local class = STORAGES[item.dtype]
  local has_class = class ~= ""
  local n = storage.elements:numel()
  put_global(w, "torch._utils", has_class and "_rebuild_tensor_v2" or
                                "_rebuild_tensor_v3")
  put(w, "((")
  put_text(w, "storage")
  if has_class then
    put_global(w, "torch", class .. "Storage")
  else
    put_global(w, "torch.storage", "UntypedStorage")
    n = n * storage.elements:element_size()
  end
  put_text(w, format("%.0f", storage.number))
  put_text(w, "cpu")
  put_integer(w, n)
  put(w, "tQ") -- TUPLE, BINPERSID
  put_integer(w, item.first - storage.first)
  put_tuple(w, t.shape)
  put_tuple(w, t:stride())
  put(w, item.requires_grad and "\136" or "\137")
  put_global(w, "collections", "OrderedDict")
  put(w, ")R") -- no hooks
  if not has_class then put_global(w, "torch", item.dtype) end
  put(w, "tR")
end

local put_value

--- Begins a table: true if it was written before.
local function put_known(w, t)
  local n = w.memo[t]
  if n then
    put(w, "j" .. bytes_of(n, 4))
    return true
  end
  w.memo[t] = w.memos
  return false
end

local function put_memo(w)
  put(w, "r" .. bytes_of(w.memos, 4))
  w.memos = w.memos + 1
end

local function put_table(w, t)
  if put_known(w, t) then return end
  local n = values.length(t)
  put(w, n and "]" or "}")
  put_memo(w)
  if n then
    put(w, "(")
    for i = 1, n do put_value(w, rawget(t, i)) end
    return put(w, "e")
  end
  put(w, "(")
  for _, key in ipairs(values.keys(t)) do
    put_value(w, key)
    put_value(w, rawget(t, key))
  end
  put(w, "u")
end

local function put_complex(w, re, im)
  put_global(w, "__builtin__", "complex")
  put_float(w, re)
  put_float(w, im)
  put(w, "\134R")
end

local PUT = {
  table = put_table, number = put_number, string = put_string,
  none = function(w) put(w, "N") end,
  boolean = function(w, x) put(w, x and "\136" or "\137") end,
  tensor = function(w, t)
    if put_known(w, t) then return end
    put_tensor(w, w.tensors[t])
    put_memo(w)
  end,
}

function put_value(w, value)
  local kind, a, b = values.kind(value)
  if kind == "complex" then return put_complex(w, a, b) end
  if kind == "int" then
    local digits = ("0"):rep(20 - #a) .. a
    return put_long(w, value, sub(a, 1, 1) ~= "-" and
                              digits > "09223372036854775807")
  end
  PUT[kind](w, value)
end

-- -- The module --------------------------------------------------------------

local function write(file, value)
  local w = {parts = {"\128\2"}, memo = {}, memos = 0, tensors = {},
             storages = {}, list = {}}
  values.walk(value, function(t, path) add_tensor(w, t, path) end)
  for _, storage in ipairs(w.list) do finish_storage(storage) end
  put_value(w, value)
  put(w, ".")
  local members = {}
  local function add(name, parts, size)
    members[#members + 1] = check(zip.add(file, ROOT .. name, parts, size,
                                          false, ALIGN))
  end
  local text = concat(w.parts)
  add("data.pkl", {text}, #text)
  local order = core.byte_order == "<" and "little" or "big"
  add("byteorder", {order}, #order)
  for _, storage in ipairs(w.list) do
    local elements = storage.elements
    add(format("data/%.0f", storage.number), {elements},
        elements:numel() * elements:element_size())
  end
  add("version", {"3\n"}, 2)
  check(zip.finish(file, members))
  return true
end

local pt_writer = {}

--- Writes a tensor or a table; returns true, or nil and an error message.
function pt_writer.write(file, value)
  return catch(write, file, value)
end

return pt_writer
