--- What the specs of operators over images share: whole numbers that look
-- random, nested lists, and plain loops over places.

local st = require "strided"

local unpack = unpack or table.unpack

local images = {}

--- A float64 tensor of a shape with whole numbers from -9 to 9, every time
-- the same.
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

--- Nested lists of plain numbers.
function images.lists(t)
  local function plain(v)
    if type(v) ~= "table" then
      return type(v) == "userdata" and tonumber(tostring(v)) or v
    end
    local out = {}
    for i, e in ipairs(v) do out[i] = plain(e) end
    return out
  end
  return t:dim() == 0 and plain(t:item()) or plain(t:totable())
end

--- A list of a tensor's elements, and its sizes.
function images.flat(t)
  return images.lists(t:contiguous():view(-1)), {unpack(t.shape)}
end

--- Counts through sizes: calls body with the place (from 0) and its number
-- (from 1).
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

--- Where the place is in a list of elements, nil outside.
function images.at(sizes, place)
  local number = 0
  for d = 1, #sizes do
    if place[d] < 0 or place[d] >= sizes[d] then return nil end
    number = number * sizes[d] + place[d]
  end
  return number + 1
end

return images
