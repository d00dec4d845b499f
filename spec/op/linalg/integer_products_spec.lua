--- Products of matrices of integers wrap as their elements do: those of small
-- sizes, packed ones, and pairs of 16 bits, of any layout. _int_mm does not.
-- axes: isa
-- sampled: 3

local cases = require "spec.op.linalg.product_bits.cases"
local st = require "strided"

local ipairs, pairs, unpack = ipairs, pairs, table.unpack or unpack

local LIMITS = {uint8 = {0, 256}, int8 = {-128, 128}, int16 = {-32768, 32768},
                int32 = {-2 ^ 31, 2 ^ 31}, int64 = {-2 ^ 45, 2 ^ 45}}

-- rows, terms, columns[, batch]: even and odd numbers of terms, rests of tiles,
-- vectors, several blocks of terms
local SIZES = {{16, 16, 16}, {64, 13, 70}, {65, 33, 97}, {1, 300, 70},
               {70, 300, 1}, {20, 301, 40, 2}, {30, 520, 33}, {3, 600, 100},
               {40, 12, 90}, {100, 14, 5}}

local function random(dtype, ...)
  local low, high = unpack(LIMITS[dtype])
  return st.randint(low, high, {...}, {dtype = "int64"}):to(dtype)
end

--- Two factors.
local function factors(dtype, size)
  local m, k, n, batch = unpack(size)
  if not batch then return random(dtype, m, k), random(dtype, k, n) end
  return random(dtype, batch, m, k), random(dtype, batch, k, n)
end

--- The product in int64, a sum of outer products.
local function expected(a, b)
  a, b = a:to "int64", b:to "int64"
  local sum = a:narrow(-1, 1, 1) * b:narrow(-2, 1, 1)
  for k = 2, a:size(-1) do
    sum:add_(a:narrow(-1, k, 1) * b:narrow(-2, k, 1))
  end
  return sum
end

describe("A product of integers", function()
  before_each(function() st.manual_seed(4) end)

  for dtype in pairs(LIMITS) do
    it("of " .. dtype .. " wraps, in every layout", function()
      for _, size in ipairs(SIZES) do
        local a, b = factors(dtype, size)
        local want, name = expected(a, b):to(dtype), table.concat(size, " ")
        for left, place in pairs(cases.layouts) do
          for right, lay in pairs(cases.layouts) do
            local x, y, out = place(a), lay(b), lay(st.zeros_like(want))
            local words = name .. ", " .. left .. ", " .. right
            assert.is_true(st.matmul(x, y):equal(want), words)
            assert.is_true(st.matmul(x, y, {out = out}):equal(want), words)
          end
        end
      end
    end)

    it("of " .. dtype .. " is scaled and added to", function()
      for _, size in ipairs {{20, 301, 40}, {64, 13, 70}, {10, 8, 12}} do
        local a, b = factors(dtype, size)
        local c = random(dtype, size[1], size[3])
        local by = {alpha = 3, beta = 5}
        local want = expected(a, b) * 3 + c:to "int64" * 5
        assert.is_true(st.addmm(c, a, b, by):equal(want:to(dtype)))
        want = expected(a, b) * 3 + c[1]:to "int64" * 5
        assert.is_true(st.addmm(c[1], a, b, by):equal(want:to(dtype)))
        by.alpha, want = 0, c:to "int64" * 5
        assert.is_true(st.addmm(c, a, b, by):equal(want:to(dtype)))
      end
    end)
  end

  -- The largest sum of a pair, which does not fit 32 bits with a sign.
  it("of the least int16 wraps", function()
    local a = st.full({70, 40}, -32768, {dtype = "int16"})
    assert.is_true(a:mm(a:t()):equal(st.zeros({70, 70}, {dtype = "int16"})))
    a[{1, 1}] = 1
    local want = expected(a, a:t()):to "int16"
    assert.is_true(a:mm(a:t()):equal(want))
  end)

  describe("of 8 bits in int32", function()
    local function check(a, b)
      local want = expected(a, b):to "int32"
      local got = st._int_mm(a, b)
      assert.equal("int32", tostring(got.dtype))
      assert.is_true(got:equal(want))
      for _, lay in pairs(cases.layouts) do
        local out = lay(st.zeros_like(want))
        st._int_mm(lay(a), lay(b), {out = out})
        assert.is_true(out:equal(want))
      end
    end

    it("is exact", function()
      for _, size in ipairs {{1, 1, 1}, {7, 3, 5}, {33, 257, 20}, {1, 40, 9},
                             {40, 9, 1}, {64, 64, 64}} do
        local _, b = factors("int8", size)
        for _, dtype in ipairs {"int8", "uint8"} do
          check(factors(dtype, size), b)
        end
      end
      local a = st.full({5, 700}, 255, {dtype = "uint8"})
      check(a, st.full({700, 3}, -128, {dtype = "int8"}))
    end)

    it("may be empty", function()
      local function zeros(m, n) return st.zeros({m, n}, {dtype = "int8"}) end
      assert.is_true(st._int_mm(zeros(3, 0), zeros(0, 2)):equal(
                       st.zeros({3, 2}, {dtype = "int32"})))
      assert.same({0, 2}, st._int_mm(zeros(0, 4), zeros(4, 2)):size())
    end)

    it("says what it takes", function()
      local a = st.ones({2, 3}, {dtype = "int8"})
      local function fails(words, ...)
        local ok, message = pcall(st._int_mm, ...)
        assert.is_false(ok)
        assert.truthy(tostring(message):find(words, 1, true), message)
      end
      fails("self must be int8 or uint8, not int16", a:to "int16", a:t())
      fails("mat2 must be int8, not uint8", a, a:t():to "uint8")
      fails("shapes [2, 3] of self and [2, 3] of mat2 cannot be multiplied",
            a, a)
      fails("mat2 must have 2 dimensions, but its shape is [3]", a, a[1])
    end)
  end)
end)
