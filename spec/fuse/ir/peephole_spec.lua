--- Two instructions of an expression that are one kernel
-- (kernel/elementwise/fused_pairs.def): the result has the bits of the two
-- operators.
-- axes: isa
-- sampled: 3

local st = require "strided"

local fused = require "spec.support.fused_functions"

local unpack = unpack or table.unpack

local KINDS, same, special = fused.KINDS, fused.same, fused.special
local fuse = fused.library "peephole_spec"

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
    local operator
    setup(function() operator = fuse(n, body) end)

    for dtype in pairs(fused.BITS) do
      it(("give what the operators give: %s, %s"):format(name, dtype),
         function()
        for _, kind in ipairs(KINDS) do
          local a, b, c, d = special(kind, dtype)
          same(body(a, b, c, d), operator(unpack({a, b, c, d}, 1, n)))
        end
        for size = 1, 70 do
          local y = {}
          for i = 1, n do y[i] = st.randn({size}, {dtype = dtype}) end
          same(body(unpack(y)), operator(unpack(y)))
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
    local operator = fuse(3, body)
    local one, row, all = st.randn({}), st.randn({9}), st.randn({200, 9})
    same(body(one, one, all), operator(one, one, all))
    same(body(row, one, all), operator(row, one, all))
    same(body(all, row, all:t():contiguous():t()),
         operator(all, row, all:t():contiguous():t()))
  end)

  it("take half types through each rounding", function()
    local function body(a, b, c) return a * b + c end
    local operator = fuse(3, body)
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local x = st.randn({3, 500}):to(dtype)
      local a, b, c = x:select(1, 1), x:select(1, 2), x:select(1, 3)
      assert.is_true(body(a, b, c):equal(operator(a, b, c)))
    end
  end)

  it("take whole numbers apart", function()
    local function body(a, b, c) return (a - b) ^ 2 * c end
    local x = st.arange(3000):view(3, 1000)
    local a, b, c = x:select(1, 1), x:select(1, 2), x:select(1, 3)
    assert.is_true(body(a, b, c):equal(fuse(3, body)(a, b, c)))
  end)
end)
