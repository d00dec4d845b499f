--- Helpers for specs of image operators: pseudo-random integers, lists, and
-- loops over indices.

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = unpack or table.unpack

local images = {}

--- A float64 tensor of pseudo-random integers from -9 to 9, always the same.
function images.whole(...)
  local n = st.zeros(...):numel()
  local values, x = {}, 7
  for i = 1, n do
    x = x * 16807 % 2147483647
    values[i] = x % 19 - 9
  end
  return st.tensor(values, {dtype = "float64"}):view(...)
end

--- The same as integers.
function images.integers(...) return images.whole(...):to "int64" end

--- A list of a tensor's elements, and its sizes.
function images.flat(t)
  return tensors.lists(t:contiguous():view(-1)), {unpack(t.shape)}
end

--- Iterates over all indices of a shape: calls body with the index (from 0) and
-- the linear index (from 1).
function images.each(sizes, body)
  local at, number = {}, 0
  local function go(d)
    if d > #sizes then
      number = number + 1
      return body(at, number)
    end
    for i = 0, sizes[d] - 1 do
      at[d] = i
      go(d + 1)
    end
  end
  go(1)
end

--- The linear index (from 1) of an index, nil out of bounds.
function images.at(sizes, place)
  local number = 0
  for d = 1, #sizes do
    if place[d] < 0 or place[d] >= sizes[d] then return nil end
    number = number * sizes[d] + place[d]
  end
  return number + 1
end

return images
