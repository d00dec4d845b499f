--- Draws dtypes, sizes and layouts, and writes them in the language of
-- inputs.lua.

local chance = require "bench.drawn.chance"

local concat, floor, ipairs = table.concat, math.floor, ipairs
local max, min, huge = math.max, math.min, math.huge

-- -- Dtypes ------------------------------------------------------------------

-- class -> kinds; the first of the floats is drawn more often
local KINDS = {
  f = {"f32", "f32", "f32", "f64", "f64", "f16", "bf16"},
  d = {"f32", "f32", "f64"}, -- what NumPy is exact in
  i = {"u8", "i8", "i16", "i32", "i64", "i64"},
  s = {"i8", "i16", "i32", "i64"}, -- signed
  l = {"i32", "i64"},
  b = {"bool"},
}

local IS_FLOAT = {f16 = true, bf16 = true, f32 = true, f64 = true}
local IS_HALF = {f16 = true, bf16 = true}
local NAMES = {
  f16 = "float16", bf16 = "bfloat16", f32 = "float32", f64 = "float64",
  u8 = "uint8", i8 = "int8", i16 = "int16", i32 = "int32", i64 = "int64",
  bool = "bool", pos = "int64",
}

-- the greatest difference of two results, relative to their magnitude
local TOLERANCES = {f64 = 1e-9, f32 = 2e-4, f16 = 1e-2, bf16 = 6e-2}

--- A kind of the classes, "fi" for instance.
function chance:kind(classes)
  local n = self:int(1, #classes)
  -- half of the cases are of the class that is first
  if self:happens(0.3) then n = 1 end
  return self:pick(KINDS[classes:sub(n, n)])
end

-- -- Sizes -------------------------------------------------------------------

local function is_prime(n)
  for d = 2, floor(n ^ 0.5) do
    if n % d == 0 then return false end
  end
  return n > 1
end

-- the next number that is not greater and of some kind
local CHARACTERS = {
  function(n) return n end,
  function(n) return n end,
  function(n) return n - (n + 1) % 2 end, -- odd
  function(n) -- prime
    while n > 1 and not is_prime(n) do n = n - 1 end
    return n
  end,
  function(n) -- a power of two
    local power = 1
    while power * 2 <= n do power = power * 2 end
    return power
  end,
  function(n) return n > 100 and n - n % 100 or n end,
}

--- A size of the kind that people use: some are prime, odd, powers of two.
function chance:size(lo, hi)
  hi = max(lo, min(hi, self.limit or huge))
  local n = floor(self:log(lo, hi + 0.999))
  return max(lo, self:pick(CHARACTERS)(n))
end

--- Sizes of some ten to `most` elements, at least `least` and at most four
-- dimensions, or exactly `rank`.
function chance:sizes(most, least, rank)
  most = min(most, self.limit or most)
  rank = rank or max(least or 1, self:pick {1, 1, 2, 2, 2, 3, 3, 4})
  local n = self:log(min(16, most), most)
  local sizes, weights, sum = {}, {}, 0
  local last = rank
  if rank > 1 and self:happens(0.2) then -- short rows
    sizes[rank] = self:int(1, 8)
    n, last = max(1, n / sizes[rank]), rank - 1
  end
  for d = 1, last do
    weights[d] = 0.2 + self:uniform()
    sum = sum + weights[d]
  end
  local character = self:pick(CHARACTERS)
  for d = 1, last do
    local share = max(1, floor(n ^ (weights[d] / sum) + 1e-9))
    sizes[d] = max(1, (self:happens(0.5) and character or
                       self:pick(CHARACTERS))(share))
  end
  return sizes
end

--- Sizes which can be broadcast to these: a row, a column, or anything else.
function chance:broadcast(sizes)
  local result, first = {}, self:int(1, #sizes)
  for d = first, #sizes do
    result[#result + 1] = self:happens(0.4) and 1 or sizes[d]
  end
  return result
end

--- The number of elements.
local function product(sizes)
  local n = 1
  for _, size in ipairs(sizes) do n = n * size end
  return n
end

--- "2x3"
local function joined(sizes, separator)
  return concat(sizes, separator or "x")
end

-- -- Layouts -----------------------------------------------------------------

local function identity(rank)
  local dims = {}
  for d = 1, rank do dims[d] = d end
  return dims
end

--- The words for a tensor whose dimension d is the dimension dims[d] of one
-- that is contiguous.
local function permuted(sizes, dims)
  local base, digits = {}, {}
  for d, from in ipairs(dims) do
    base[from], digits[d] = sizes[d], from - 1
  end
  return joined(base) .. " perm=" .. concat(digits)
end

--- The sizes with another last one.
local function with_last(sizes, n)
  local result = {}
  for d, size in ipairs(sizes) do result[d] = size end
  result[#result] = n
  return joined(result)
end

-- layout -> the words for it
local LAYOUTS = {
  contiguous = function(_, sizes) return joined(sizes) end,
  transposed = function(_, sizes)
    local dims = identity(#sizes)
    dims[#dims], dims[#dims - 1] = #dims - 1, #dims
    return permuted(sizes, dims)
  end,
  permuted = function(g, sizes)
    return permuted(sizes, g:shuffled(identity(#sizes)))
  end,
  channels_last = function(_, sizes) return permuted(sizes, {1, 4, 2, 3}) end,
  sliced = function(g, sizes)
    local cut = g:int(1, 5)
    return with_last(sizes, sizes[#sizes] + cut) .. " cut=" .. cut
  end,
  stepped = function(g, sizes)
    local step = g:int(2, 3)
    return with_last(sizes, sizes[#sizes] * step) .. " step=" .. step
  end,
  expanded = function(g, sizes)
    local base, from = {}, g:int(1, #sizes)
    for d, size in ipairs(sizes) do
      base[d] = (d == from or g:happens(0.3)) and 1 or size
    end
    return joined(base) .. " expand=" .. joined(sizes)
  end,
}

--- A layout that tensors of that many dimensions can have; `is_out` if it is
-- written to.
function chance:layout(rank, is_out)
  local list = {"sliced", "stepped"}
  if not is_out then list[#list + 1] = "expanded" end
  if rank >= 2 then list[#list + 1] = "transposed" end
  if rank >= 3 then list[#list + 1] = "permuted" end
  if rank == 4 then list[#list + 1] = "channels_last" end
  return self:happens(0.45) and "contiguous" or self:pick(list)
end

--- The group of an input, as text: "a, b: f32 2x3 -1:1". `range` is {lo, hi};
-- unsigned integers begin at 0.
function chance:input(names, kind, sizes, layout, range)
  local words = LAYOUTS[layout or "contiguous"](self, sizes)
  local text = ""
  if range and kind ~= "bool" then
    local lo = kind == "u8" and max(0, range[1]) or range[1]
    -- the range follows the sizes, before the views
    text = (" %s:%s"):format(lo, range[2])
  end
  return ("%s: %s %s%s"):format(names, kind, words, text)
end

--- The group of a result, and what follows the expression: a tensor in some
-- layout that is written to, or nothing if the result is a new one.
function chance:result(kind, sizes)
  if not self:happens(0.35) then return "", "", "" end
  local layout = self:happens(0.6) and "contiguous" or self:layout(#sizes, true)
  return "; " .. self:input("r", kind, sizes, layout), " -> r",
         layout == "contiguous" and ", out=" or ", out= " .. layout
end

return {IS_FLOAT = IS_FLOAT, IS_HALF = IS_HALF, NAMES = NAMES,
        TOLERANCES = TOLERANCES, product = product, joined = joined,
        permuted = permuted}
