--- Cumulative sums and products of integers are those of a loop over the
-- elements, whatever the length of a line, also in place.
-- axes: isa threads

local st = require "strided"
local live = require("spec.support.tensors").live

local ROWS, MODULUS = 2, 13

--- The expected rows of a scan: fn(running value, element) along each row.
local function scanned(rows, fn)
  local out = {}
  for r, row in ipairs(rows) do
    out[r] = {row[1]}
    for i = 2, #row do out[r][i] = fn(out[r][i - 1], row[i]) end
  end
  return out
end

local function plus(a, b) return (a + b) % 256 end
local function times(a, b) return a * b % 256 end

--- The low eight bits of the elements, so that all dtypes agree.
local function low_bits(t)
  return t:to "int64":remainder(256):to "float64":totable()
end

describe("A scan of integers", function()
  local before = live()

  local function check(dtype)
    for length = 1, 40 do
      local t = st.arange(ROWS * length):mul(5):remainder(MODULUS):to(dtype)
      t = t:view(ROWS, length)
      local rows, options = low_bits(t), {dtype = dtype}
      local sums, products = scanned(rows, plus), scanned(rows, times)
      assert.same(sums, low_bits(t:cumsum(2, options)), dtype)
      assert.same(products, low_bits(t:cumprod(2, options)), dtype)
      assert.same(sums, low_bits(t:clone():cumsum_(2)), dtype)
      assert.same(products, low_bits(t:clone():cumprod_(2)), dtype)
    end
  end

  for _, dtype in ipairs {"uint8", "int8", "int16", "int32", "int64"} do
    it("wraps: " .. dtype, function() check(dtype) end)
  end

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
