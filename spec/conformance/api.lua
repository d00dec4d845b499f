--- What the replay needs of the library, in one place.

local st = require "strided"
local core = require "strided.core"
local schema = require "spec.conformance.schema"
local values = require "spec.conformance.values"

local unpack = unpack or table.unpack

local api = {}

-- -- Operators ---------------------------------------------------------------

local handles = {}

--- "aten::add.Tensor" -> {call, arguments}, or nil when there is none.
function api.operator(name)
  local known = handles[name]
  if known ~= nil then return known or nil end
  local ns, base, overload = name:match "^([%w_]+)::([%w_]+)%.?([%w_]*)$"
  local ok, op = pcall(function()
    local packet = st.ops[ns][base]
    return packet[overload == "" and "default" or overload]
  end)
  handles[name] = ok and op and
    {call = op, arguments = schema.arguments(op:schema())} or false
  return handles[name] or nil
end

--- Full names of the overloads of "aten::add".
function api.overloads(name)
  local ns, base = name:match "^([%w_]+)::([%w_]+)$"
  local ok, names = pcall(function() return st.ops[ns][base]:overloads() end)
  return ok and names or {}
end

local NUMBERS = {int = true, Dim = true, Index = true, End = true, float = true}

--- A value of a vector as the argument takes it. Where an integer or a float is
-- asked for, PyTorch takes a tensor of one.
local function convert(argument, value)
  if not argument then return value end
  if NUMBERS[argument.kind] and api.is_tensor(value) then
    value = value:item()
  end
  return schema.position(argument, value)
end

--- Calls with the arguments of a vector: positions as they are there.
function api.call(name, args, kwargs)
  local op = api.operator(name)
  local list, keywords, has_keywords = {}, {}, false
  for i = 1, args.n or #args do
    list[i] = convert(op.arguments[i], args[i])
  end
  for k, v in pairs(kwargs or {}) do
    keywords[k] = convert(op.arguments[k], v)
    has_keywords = true
  end
  if op.arguments.base and op.arguments.base.default == "0" then
    keywords.base, has_keywords = 0, true
  end
  local n = args.n or #args
  if has_keywords then
    n = n + 1
    list[n] = keywords
  end
  return op.call(unpack(list, 1, n))
end

--- Something in our own code went wrong, rather than the call refusing.
function api.is_defect(message)
  return type(message) ~= "string" or message:find "attempt to " ~= nil
end

-- -- Tensors -----------------------------------------------------------------

--- A one-dimensional tensor of n elements, zeros or the bytes given.
function api.storage(dtype, n, bytes)
  local t = st.zeros({n}, {dtype = dtype})
  if bytes and #bytes > 0 then core.set_bytes(t, 0, bytes) end
  return t
end

--- A view of a storage; offset in elements.
function api.view(storage, shape, strides, offset)
  return api.call("aten::as_strided", {storage, shape, strides, offset})
end

function api.is_tensor(x) return type(x) == "userdata" and st.is_tensor(x) end

function api.dtype(t) return tostring(t.dtype) end

local function plain(list)
  local out = {}
  for i = 1, #list do out[i] = tonumber(list[i]) end
  return out
end

function api.shape(t) return plain(t.shape) end

function api.strides(t) return plain(t:stride()) end

function api.offset(t) return tonumber(t:storage_offset()) end

function api.address(t) return t:data_ptr() end

--- The bytes from the first element to the last, gaps included.
function api.bytes(t)
  local n = values.extent(api.shape(t), api.strides(t))
  return core.get_bytes(t, 0, n * t:element_size())
end

api.st, api.core = st, core

return api
