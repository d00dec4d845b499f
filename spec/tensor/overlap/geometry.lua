--- Geometries of views, and a look at every place they reach: what the exact
-- answers are compared with.

local generator = require "spec.support.random"

local geometry = {}

--- random(low, high) from a seed, the same numbers on every machine.
function geometry.generator(seed)
  local draw = generator(seed)
  return function(low, high) return low - 1 + draw(high - low + 1) end
end

--- A view to be: sizes, and strides and an offset in elements.
function geometry.random(random, sizes, most)
  local strides = {}
  for d = 1, #sizes do strides[d] = random(0, most) end
  return {sizes = sizes, strides = strides, offset = random(0, 8)}
end

--- Up to four dimensions.
function geometry.sizes(random)
  local sizes = {}
  for d = 1, random(0, 4) do sizes[d] = random(1, 4) end
  return sizes
end

--- The view of t.
function geometry.view(t, g)
  return t:as_strided(g.sizes, g.strides, g.offset)
end

--- The places of the elements in their logical order.
local function places(g)
  local out = {g.offset}
  for d = 1, #g.sizes do
    local more = {}
    for _, place in ipairs(out) do
      for i = 0, g.sizes[d] - 1 do
        more[#more + 1] = place + i * g.strides[d]
      end
    end
    out = more
  end
  return out
end

--- Are two elements in one place?
function geometry.overlaps_itself(g)
  local seen = {}
  for _, place in ipairs(places(g)) do
    if seen[place] then return true end
    seen[place] = true
  end
  return false
end

--- Do elements of `size` bytes at g share any with others at h?
function geometry.share_bytes(g, size, h, other_size)
  local seen = {}
  for _, place in ipairs(places(g)) do
    for b = 0, size - 1 do seen[place * size + b] = true end
  end
  for _, place in ipairs(places(h)) do
    for b = 0, other_size - 1 do
      if seen[place * other_size + b] then return true end
    end
  end
  return false
end

--- For messages.
function geometry.text(g)
  return ("{%s}@{%s}+%d"):format(table.concat(g.sizes, ","),
                                 table.concat(g.strides, ","), g.offset)
end

return geometry
