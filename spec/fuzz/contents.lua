--- Everything about a tensor as a string, for comparison or for people.

local st = require "strided"
local core = require "strided.core"

local ceil, concat, min = math.ceil, table.concat, math.min
local pairs, pcall = pairs, pcall
local ipairs, tostring, type = ipairs, tostring, type

local M = {}

--- Is it lazy: conjugates, negatives or zeros that are not computed?
local function is_lazy(t)
  local keys = t:keys()
  return keys:find "Conjugate" or keys:find "Negative" or
         keys:find "ZeroTensor"
end

local LARGEST_LAZY = 2 ^ 20

local function bytes_of(t)
  if t.device == "meta" or t:numel() == 0 then return "" end
  if is_lazy(t) then
    local n = t:numel() -- zeros take no memory, however many they are
    if type(n) ~= "number" or n > LARGEST_LAZY then return "lazy" end
    -- Nothing computes its conjugates and negatives.
    if t.dtype == "bcomplex32" and not t:keys():find "ZeroTensor" then
      return "lazy"
    end
    return "lazy " .. bytes_of(t:clone())
  end
  local shape, strides, last = t.shape, t:stride(), 0
  for i = 1, #shape do
    if shape[i] ~= 1 then last = last + (shape[i] - 1) * strides[i] end
  end
  return core.get_bytes(t, 0, ceil((tonumber(last) + 1) * t:element_size()))
end

--- Everything about a tensor, elements included, as a string.
function M.contents(t)
  if not pcall(t.dim, t) then return "freed" end
  return concat({tostring(t.dtype), t.device, tostring(t.shape),
                 tostring(t:stride()), tostring(t:storage_offset()),
                 bytes_of(t)}, " ")
end

--- The same for people, without the elements.
function M.show(v)
  if st.is_tensor(v) then
    if not pcall(v.dim, v) then return "freed" end
    return ("%s%s/%s+%s%s"):format(tostring(v.dtype), tostring(v.shape),
      tostring(v:stride()), tostring(v:storage_offset()),
      v.device == "meta" and "@meta" or "")
  end
  if type(v) ~= "table" then
    return type(v) == "string" and ("%q"):format(v) or tostring(v)
  end
  local out = {}
  for i = 1, min(#v, 12) do out[i] = M.show(v[i]) end
  for k, x in pairs(v) do
    if type(k) == "string" and #out < 20 then
      out[#out + 1] = k .. "=" .. M.show(x)
    end
  end
  return "{" .. concat(out, ", ") .. "}"
end

--- The contents of each tensor in a list.
function M.all_contents(tensors)
  local out = {}
  for i, t in ipairs(tensors) do out[i] = M.contents(t) end
  return out
end

return M
