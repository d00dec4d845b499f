--- The arguments of a vector as Lua passes them: scalars, enumerations, lists,
-- and tensors over storages that remember what they held.

local api = require "spec.conformance.api"
local reader = require "spec.conformance.reader"
local values = require "spec.conformance.values"

local st, null = api.st, reader.null

local arguments = {}

-- PyTorch's NaN is positive; 0 / 0 is negative on some processors.
local SPECIAL = {nan = math.abs(0 / 0), inf = math.huge, ["-inf"] = -math.huge}

function arguments.number(x) return SPECIAL[x] or tonumber(x) end

function arguments.is_tensor(v)
  return type(v) == "table" and v.shape ~= nil
end

--- What was decoded of a case so far: its tensors, numbered in order of
-- appearance, over their storages. `known` are values that others refer to as
-- {"v":i}, counted from 0. With `apart` no two tensors share a storage: where
-- they should, each gets a copy.
function arguments.new(known, apart)
  return {tensors = {}, storages = {}, by_id = {}, known = known,
          apart = apart}
end

local function new_storage(seen, v)
  local known = v.storage_id ~= nil and seen.by_id[v.storage_id]
  if known and not seen.apart then return known end
  if known then
    local copy = {dtype = known.dtype, n = known.n, bytes = known.bytes}
    copy.tensor = api.storage(copy.dtype, copy.n, copy.bytes)
    seen.storages[#seen.storages + 1] = copy
    return copy
  end
  local n = v.storage_size or values.extent(v.shape, v.strides, v.offset)
  local bytes = v.storage and values.pack_list(v.dtype, v.storage)
  if bytes then n = #v.storage end
  local s = {
    dtype = v.dtype, n = n,
    bytes = bytes or ("\0"):rep(n * values.size(v.dtype)),
  }
  s.tensor = api.storage(v.dtype, n, bytes)
  seen.storages[#seen.storages + 1] = s
  if v.storage_id ~= nil then seen.by_id[v.storage_id] = s end
  return s
end

local function new_tensor(seen, v)
  local s = new_storage(seen, v)
  local base = s.tensor
  if s.dtype ~= v.dtype then base = base:view(v.dtype) end
  local t = api.view(base, v.shape, v.strides, v.offset or 0)
  seen.tensors[#seen.tensors + 1] = {tensor = t, storage = s}
  return t
end

--- One value; nil for null, which is st.none inside of a list.
function arguments.decode(seen, v)
  if v == null then return nil end
  if type(v) == "number" then return reader.integer(v) end
  if type(v) ~= "table" then return v end
  if arguments.is_tensor(v) then return new_tensor(seen, v) end
  if v.v then return seen.known[v.v + 1] end
  if v.int then return st.int(v.int) end
  if v.float ~= nil then return st.float(arguments.number(v.float)) end
  if v.complex then
    return st.complex(arguments.number(v.complex[1]),
                      arguments.number(v.complex[2]))
  end
  if v.dtype then return v.dtype end
  if v.memory_format then return v.memory_format end
  if v.device then return v.device end
  local list = {}
  for i = 1, #v do
    local x = arguments.decode(seen, v[i])
    list[i] = x == nil and st.none or x
  end
  return list
end

--- The positional arguments, with n, and the keywords of a call of op.
function arguments.of_call(seen, op, positional, keywords)
  local args, kwargs = {n = #positional}, {}
  for i = 1, #positional do
    args[i] = arguments.decode(seen, positional[i])
  end
  -- tensors among keywords are numbered after the others, in schema order
  for _, a in ipairs(op and op.arguments or {}) do
    local v = keywords[a.name]
    if v ~= nil then kwargs[a.name] = arguments.decode(seen, v) end
  end
  for k, v in pairs(keywords) do
    if v == null then kwargs[k] = st.none end
    if kwargs[k] == nil then kwargs[k] = arguments.decode(seen, v) end
  end
  return args, kwargs
end

return arguments
