--- Two instructions of an expression that are one kernel (kernel/pairs.def):
-- what comes out is bit for bit what the two operators give.

local st = require "strided"

local unpack = unpack or table.unpack

local BITS = {float32 = "int32", float64 = "int64"}

-- Bits of zeros and of numbers with a NaN among them, and of zeros, subnormal
-- and large numbers and infinities. One NaN at a time: where two meet, either
-- may go on.
local KINDS = {
  {0x00000000, 0x80000000, 0x00000001, 0x3f800000, 0xc0490fdb, 0x7fc12345},
  {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x3f800000, 0xc0490fdb,
   0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000},
}

local lib = st.library "pairs_spec"
local made = 0

--- A function of n tensors as an operator.
local function fuse(n, body, results)
  made = made + 1
  local names = {}
  for i = 1, n do names[i] = "Tensor x" .. i end
  local name = "f" .. made
  lib:elementwise(("%s(%s) -> %s"):format(name, table.concat(names, ", "),
                                          results or "Tensor"), body)
  return st.ops.pairs_spec[name].default
end

--- Every combination of special numbers three at a time, one after the other.
local function special(kind, dtype)
  local bits = {}
  for i, b in ipairs(kind) do bits[i] = b >= 2 ^ 31 and b - 2 ^ 32 or b end
  local n = #bits
  local x = st.tensor(bits, {dtype = "int32"}):view "float32":to(dtype)
  local function along(...)
    return x:view(...):expand(n, n, n):contiguous():view(n * n * n)
  end
  return along(n, 1, 1), along(1, n, 1), along(1, 1, n), along(n, 1, 1):flip(1)
end

--- To the bit, but for which NaN it is: where two meet, either may come out.
local function same(want, got)
  local bits = BITS[tostring(want.dtype)] or want.dtype
  assert.same(want:size(), got:size())
  assert.same(want:stride(), got:stride())
  local is_nan = want:ne(want)
  assert.is_true(is_nan:equal(got:ne(got)))
  assert.is_true(want:masked_fill(is_nan, 0):view(bits):equal(
    got:masked_fill(is_nan, 0):view(bits)))
end

local ROWS = {
  {"a * b + c", 3, function(a, b, c) return a * b + c end},
  {"c + a * b", 3, function(a, b, c) return c + a * b end},
  {"a * b - c", 3, function(a, b, c) return a * b - c end},
  {"c - a * b", 3, function(a, b, c) return c - a * b end},
  {"a * b * c", 3, function(a, b, c) return a * b * c end},
  {"c * (a * b)", 3, function(a, b, c) return c * (a * b) end},
  {"a + b + c", 3, function(a, b, c) return a + b + c end},
  {"c + (a + b)", 3, function(a, b, c) return c + (a + b) end},
  {"(a + b) * c", 3, function(a, b, c) return (a + b) * c end},
  {"c * (a + b)", 3, function(a, b, c) return c * (a + b) end},
  {"(a - b) * c", 3, function(a, b, c) return (a - b) * c end},
  {"c * (a - b)", 3, function(a, b, c) return c * (a - b) end},
  {"(a + b)^2", 2, function(a, b) return (a + b) ^ 2 end},
  {"(a - b)^2", 2, function(a, b) return (a - b):square() end},
  {"t * t, t = a - b", 2, function(a, b)
    local t = a - b
    return t * t
  end},
  {"a^2 + b^2", 2, function(a, b) return a ^ 2 + b * b end},
  {"a < b and c or d", 4, function(a, b, c, d)
    return st.where(a:lt(b), c, d)
  end},
  {"a <= b and c or d", 4, function(a, b, c, d)
    return st.where(a:le(b), c, d)
  end},
  {"a > b and c or d", 4, function(a, b, c, d)
    return st.where(a:gt(b), c, d)
  end},
  {"a >= b and c or d", 4, function(a, b, c, d)
    return st.where(a:ge(b), c, d)
  end},
  {"with numbers: (a * 3 + 1) * b", 2, function(a, b)
    return (a * 3 + 1) * b
  end},
  {"a chain: ((a * b + c) * b + c) * b", 3, function(a, b, c)
    return ((a * b + c) * b + c) * b
  end},
  {"both sides of a sum: a * b + c * d", 4, function(a, b, c, d)
    return a * b + c * d
  end},
  -- nothing to join
  {"a result that is read twice: t * c + t", 3, function(a, b, c)
    local t = a + b
    return t * c + t
  end},
  {"another choice: a < b and a or b as whole numbers", 3, function(a, b, c)
    return st.where(a:lt(b), c:lt(b):to "int32", c:gt(a):to "int32")
  end},
  {"a long way between the halves", 4, function(a, b, c, d)
    local t = (a - d) * (b + d)
    return (c - d):abs() * c:sqrt() + t
  end},
}

describe("Two instructions that one kernel does", function()
  for _, row in ipairs(ROWS) do
    local name, n, body = row[1], row[2], row[3]
    local fused
    setup(function() fused = fuse(n, body) end)

    for dtype in pairs(BITS) do
      it(("give what the operators give: %s, %s"):format(name, dtype),
         function()
        for _, kind in ipairs(KINDS) do
          local a, b, c, d = special(kind, dtype)
          same(body(a, b, c, d), fused(unpack({a, b, c, d}, 1, n)))
        end
        for size = 1, 70 do
          local y = {}
          for i = 1, n do y[i] = st.randn({size}, {dtype = dtype}) end
          same(body(unpack(y)), fused(unpack(y)))
        end
      end)
    end
  end

  it("leave both results when both are asked for", function()
    local function body(a, b, c)
      local t = a * b
      return t, t + c
    end
    local a, b, c = special(KINDS[2], "float32")
    local t, sum = fuse(3, body, "(Tensor, Tensor)")(a, b, c)
    same(a * b, t)
    same(a * b + c, sum)
  end)

  it("leave the layout to the leftmost tensor", function()
    local function body(a, b, c) return c - a * b end
    local a = st.randn({5, 7, 3})
    local c = st.randn({3, 7, 5}):permute(3, 2, 1)
    same(body(a, a, c), fuse(3, body)(a, a, c))
    same(body(c, a, a), fuse(3, body)(c, a, a))
  end)

  it("may meet tensors of one element and broadcast ones", function()
    local function body(a, b, c) return (a + b) * c end
    local fused = fuse(3, body)
    local one, row, all = st.randn({}), st.randn({9}), st.randn({200, 9})
    same(body(one, one, all), fused(one, one, all))
    same(body(row, one, all), fused(row, one, all))
    same(body(all, row, all:t():contiguous():t()),
         fused(all, row, all:t():contiguous():t()))
  end)

  it("take half types through each rounding", function()
    local function body(a, b, c) return a * b + c end
    local fused = fuse(3, body)
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local x = st.randn({3, 500}):to(dtype)
      local a, b, c = x:select(1, 1), x:select(1, 2), x:select(1, 3)
      assert.is_true(body(a, b, c):equal(fused(a, b, c)))
    end
  end)

  it("take whole numbers apart", function()
    local function body(a, b, c) return (a - b) ^ 2 * c end
    local x = st.arange(3000):view(3, 1000)
    local a, b, c = x:select(1, 1), x:select(1, 2), x:select(1, 3)
    assert.is_true(body(a, b, c):equal(fuse(3, body)(a, b, c)))
  end)
end)
