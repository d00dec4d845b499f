--- For every overload of the registry calls whose tensors have no elements:
-- a dimension of size 0, and others of any size.
--
-- They come from a call that goes through, whose tensors get other shapes:
-- dimensions of one size become 0 in all tensors, one dimension of one tensor
-- does, or each tensor gets one of SHAPES.

local st = require "strided"
local core = require "strided.core"
local calls = require "spec.fuzz.calls"
local operators = require "spec.fuzz.operators"

local concat, ipairs, pairs, pcall = table.concat, ipairs, pairs, pcall
local sort, tostring, type = table.sort, tostring, type
local unpack = unpack or table.unpack -- luacheck: ignore 143

local M = {}

local TRIES = 60   -- cases in search of one that goes through
local ENOUGH = 6   -- cases of which the one with the most numbers is taken
local HUGE = st.int "9223372036854775807"

local SHAPES = {
  {0}, {0, 3}, {3, 0}, {0, 0}, {2, 0, 3}, {0, 2, 3}, {2, 3, 0}, {1, 0, 4, 4},
  {0, 3, 4, 4}, {2, 3, 0, 4}, {2, 4, 4, 0}, {1, 2, 0, 4, 4}, {0, 2, 3, 4, 4},
}

--- Replaces every tensor of v, and of its lists, by f(tensor).
local function replace(v, f)
  if st.is_tensor(v) then return f(v) end
  if type(v) == "table" and v ~= core then
    for k, x in pairs(v) do
      if st.is_tensor(x) or type(x) == "table" then v[k] = replace(x, f) end
    end
  end
  return v
end

--- A tensor of the sizes and of t's dtype. If it has no elements, sizes of
-- huge become HUGE, by a stride of 0.
local function empty(t, sizes, huge)
  local small, large, is_empty = {}, {}, false
  for d, n in ipairs(sizes) do
    small[d], large[d] = n, n
    is_empty = is_empty or n == 0
    if n == huge then small[d], large[d] = 1, HUGE end
  end
  local options = {dtype = t.dtype, device = t.device}
  if not huge or not is_empty then return st.zeros(sizes, options) end
  local made = st.zeros(small, options)
  local ok, expanded = pcall(made.expand, made, unpack(large))
  return ok and expanded or made
end

--- The sizes of t as a list of numbers.
local function sizes_of(t)
  local out = {}
  for d = 1, t:dim() do out[d] = t:size(d) end
  return out
end

--- The changes of a call: functions of a tensor and its index that give the
-- tensor in its place.
local function changes(base)
  local out, values, seen = {}, {}, {}
  for _, t in ipairs(base.tensors) do
    for _, n in ipairs(sizes_of(t)) do
      if not seen[n] then values[#values + 1], seen[n] = n, true end
    end
  end
  sort(values)
  local function all(zero, huge)
    out[#out + 1] = function(t)
      local sizes = sizes_of(t)
      for d, n in ipairs(sizes) do if n == zero then sizes[d] = 0 end end
      return empty(t, sizes, huge)
    end
  end
  for _, zero in ipairs(values) do
    all(zero)
    for _, huge in ipairs(values) do
      if huge ~= zero and huge > 0 then all(zero, huge) end
    end
  end
  if #base.tensors > 1 then
    for i, t in ipairs(base.tensors) do
      for d = 1, t:dim() do
        out[#out + 1] = function(u, k)
          if k ~= i then return u end
          local sizes = sizes_of(u)
          sizes[d] = 0
          return empty(u, sizes)
        end
      end
    end
  end
  for _, shape in ipairs(SHAPES) do
    out[#out + 1] = function(t) return empty(t, shape) end
  end
  return out
end

local function shapes(call)
  local out = {}
  for i, t in ipairs(call.tensors) do
    out[i] = tostring(t.shape)
  end
  return concat(out, " ")
end

--- A copy of base's call with its tensors changed.
local function changed(o, i, change)
  local call = calls.make(o, i)
  local index = {}
  for k, t in ipairs(call.tensors) do index[t] = index[t] or k end
  for k = 1, call.n do
    call.list[k] = replace(call.list[k], function(t)
      return change(t, index[t])
    end)
  end
  call.tensors = operators.tensors_of(call.list, {})
  return call
end

--- The case of o with the most numbers, as count says, that goes through.
local function find(o, count)
  local best, most, enough = nil, -1, 0
  for i = 1, TRIES do
    local call = calls.make(o, i)
    local n = #call.tensors > 0 and count(call) or -1
    if n > most and pcall(call.run) then best, most = i, n end
    if best then enough = enough + 1 end
    if enough >= ENOUGH then break end
  end
  return best
end

--- The calls of an overload, of which none may go through; count says how
-- many numbers a call has: {{shapes = a text, make = function}}.
function M.of(o, count)
  local i = find(o, count)
  if not i then return {} end
  local out, seen = {}, {}
  for _, change in ipairs(changes(calls.make(o, i))) do
    local function make() return changed(o, i, change) end
    local text = shapes(make())
    if not seen[text] then
      out[#out + 1], seen[text] = {shapes = text, make = make}, true
    end
  end
  return out
end

return M
