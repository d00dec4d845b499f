--- Quotients and rests of int64, of which small numbers are divided by vectors,
-- in blocks; and the numbers next to floats.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

--- Integers of all sizes, next to where a division by double has an end.
local function integers()
  local one = st.tensor({1}, {dtype = "int64"})
  local list = {}
  for _, k in ipairs {0, 1, 2, 3, 10, 31, 32, 49, 50, 51, 52, 53, 61, 62, 63} do
    list[#list + 1] = one:bitwise_left_shift(k)
  end
  local t = st.cat(list)
  t = st.cat {t, t:mul(3), t:mul(7), t:mul(1001)}
  return st.cat {t, t:neg(), t:add(1), t:sub(1), t:neg():add(1)}
end

local function check(a, b)
  local q, r = st.floor_divide(a, b), st.remainder(a, b)
  assert.is_true((q * b + r):equal(a + b * 0), "floor_divide and remainder")
  assert.is_true(r:eq(0):bitwise_or(r:lt(0):eq(b:lt(0))):all():item(),
                 "the sign of a remainder")
  local t, m = st.div(a, b, {rounding_mode = "trunc"}), st.fmod(a, b)
  assert.is_true((t * b + m):equal(a + b * 0), "div and fmod")
  assert.is_true(m:eq(0):bitwise_or(m:lt(0):eq(a:lt(0))):all():item(),
                 "the sign of fmod")
  for _, rest in ipairs {r, m} do -- negative, as -2^63 has no opposite
    local x, y = rest:abs():neg(), b:abs():neg()
    assert.is_true(x:gt(y):all():item(), "a rest within the divisor")
  end
end

describe("A division of int64", function()
  local before = tensors.live()

  it("is exact for numbers of all sizes", function()
    local a = integers()
    local b = a[a:ne(0)]
    check(a:unsqueeze(2), b:unsqueeze(1))
    check(b:unsqueeze(2), b:unsqueeze(1))
  end)

  it("is exact next to multiples of the divisor", function()
    local b = st.randint(1, 2 ^ 26, {2000}) * st.randint(0, 2, {2000}):mul(2)
                                                :sub(1)
    local k = st.randint(-2 ^ 24, 2 ^ 24, {2000})
    for d = -1, 1 do check(b * k + d, b) end
  end)

  it("of a block with one large number is exact", function()
    local a, b = st.arange(1000) - 500, st.arange(1000) - 1000
    a[300] = 2 ^ 62
    check(a, b)
    check(a, b:mul(2 ^ 40))
  end)

  it("leaves no tensor behind", function()
    assert.equal(before, tensors.live())
  end)
end)

describe("nextafter", function()
  local BITS = {float32 = "int32", float64 = "int64"}

  for dtype, bits in pairs(BITS) do
    it("is the next number: " .. dtype, function()
      local a = st.randn({5000}, {dtype = dtype})
      local up = st.nextafter(a, a:new_full({}, math.huge))
      local down = st.nextafter(a, a:new_full({}, -math.huge))
      local step = a:gt(0):to(bits):mul(2):sub(1) -- towards infinity
      assert.is_true((up:view(bits) - a:view(bits)):equal(step))
      assert.is_true((a:view(bits) - down:view(bits)):equal(step))
      assert.is_true(st.nextafter(a, a):equal(a))
    end)

    it("passes zero, and ends at infinity: " .. dtype, function()
      local huge = math.huge
      local a = st.tensor({0, 0, 0, huge, -huge, huge, 1, 0 / 0},
                          {dtype = dtype})
      local b = st.tensor({1, -1, 0, 0, 0, huge, 0 / 0, 1}, {dtype = dtype})
      local c = st.nextafter(a, b)
      local x = c:totable()
      assert.equal(1, c:view(bits)[1])
      assert.equal(-x[1], x[2])
      assert.equal(0, c:view(bits)[3])
      assert.is_true(x[4] < huge and x[4] > 3e38)
      assert.equal(-x[4], x[5])
      assert.equal(huge, x[6])
      assert.is_true(x[7] ~= x[7] and x[8] ~= x[8])
      assert.same({0, huge}, {st.nextafter(c[{{2}}], a[{{1}}])[1],
                              st.nextafter(c[{{4}}], a[{{4}}])[1]})
    end)
  end
end)
