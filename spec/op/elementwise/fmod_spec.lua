--- Exact remainders of floats, which are those of the C library. Operands whose
-- quotient has its units take a path of their own, in blocks.
-- axes: isa
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"

local abs, floor, fmod, huge = math.abs, math.floor, math.fmod, math.huge
local ipairs = ipairs

local DTYPES = {"float32", "float64"}

--- Numbers of many sizes that float32 holds, with their neighbours.
local function numbers()
  local all = {0, 1, 3, 7, 0.1, 1 / 3, 12345.678, 2 ^ 22, 2 ^ 24, 2 ^ 51,
               2 ^ 53, 2 ^ 100, 2 ^ -100, 2 ^ 127, 2 ^ -126, 2 ^ -149, huge}
  local t = st.tensor(all, {dtype = "float32"})
  t = st.cat {t, st.nextafter(t, t * 0), t * 3, t * 1000, -t}
  return t:to("float64"):totable()
end

local function is_same(a, b)
  if a ~= a then return b ~= b end
  return a == b and 1 / a == 1 / b
end

--- Compares the remainders of all pairs with those of the C library; `pair`
-- gives the result for a pair of tensors.
local function compare(dtype, values, want, pair)
  local n = #values
  local x = st.tensor(values, {dtype = dtype})
  local got = pair(x:view(n, 1), x:view(1, n)):to("float64"):totable()
  for i, a in ipairs(values) do
    for j, b in ipairs(values) do
      if not is_same(want(a, b), got[i][j]) then
        error(("%s of %a and %a: %a, not %a"):format(dtype, a, b, got[i][j],
              want(a, b)))
      end
    end
  end
end

--- fmod, without the error of some Luas for a divisor of 0.
local function truncated(a, b)
  if b == 0 or abs(a) == huge or a ~= a or b ~= b then return 0 / 0 end
  return fmod(a, b)
end

--- With the sign of the divisor.
local function floored(a, b)
  local r = truncated(a, b)
  if r ~= 0 and r == r and (r < 0) ~= (b < 0) then return r + b end
  return r
end

describe("Of floats", function()
  local before = tensors.live()

  for _, dtype in ipairs(DTYPES) do
    it("fmod is that of the C library: " .. dtype, function()
      compare(dtype, numbers(), truncated, st.fmod)
    end)

    it("multiples and their neighbours are exact: " .. dtype, function()
      local b = st.tensor({3, 0.7, 1.9, 1e-3}, {dtype = dtype}):view(4, 1)
      local a = b * (st.arange(4000, {dtype = dtype}) * 57)
      for _, near in ipairs {a, st.nextafter(a, a * 2), st.nextafter(a, a * 0),
                             -a} do
        local got = st.fmod(near, b):to("float64"):view(-1):totable()
        local x = near:to("float64"):view(-1):totable()
        local y = b:expand(4, 4000):reshape(-1):to("float64"):totable()
        for i = 1, #x do assert.is_true(is_same(fmod(x[i], y[i]), got[i])) end
      end
    end)

    it("a far pair in a block changes no other: " .. dtype, function()
      local x = st.arange(1000, {dtype = dtype}) * 1.7 - 300
      for _, name in ipairs {"fmod", "remainder", "floor_divide"} do
        local want, y = st[name](x, 0.9), x:clone()
        y:narrow(1, 500, 1):fill_(1e30)
        local got = st[name](y, 0.9)
        got:narrow(1, 500, 1):copy_(want:narrow(1, 500, 1))
        assert.is_true(got:equal(want), name)
        assert.is_true(st[name](y:copy_(x), 0.9):equal(want), name)
      end
    end)
  end

  it("remainder has the sign of the divisor", function()
    local values = {}
    for i = -20, 20 do values[#values + 1] = i * 0.75 end
    compare("float64", values, floored, st.remainder)
    compare("float32", values, floored, st.remainder)
  end)

  it("floor_divide gives whole numbers", function()
    local x = st.arange(-300, 300, {dtype = "float64"}) * 0.5
    local got = x:floor_divide(1.5):totable()
    for i, v in ipairs(x:totable()) do assert.equal(floor(v / 1.5), got[i]) end
  end)

  it("leaves nothing behind", function()
    assert.equal(before, tensors.live())
  end)
end)
