--- Numbers beside float16 and bfloat16: which are rounded to the dtype of the
-- tensor, and which are used in float32, as PyTorch 2.15 does. What is expected
-- is computed in float32 and rounded once.
-- axes: isa
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"

local lists, raises = tensors.lists, tensors.raises

local NUMBERS = {0.3, -1.7, 3.14159, 1001, 1e-3}

local function in_float32(x) return x:to {dtype = "float32"} end

local function rounded(number, dtype)
  return st.tensor(number, {dtype = dtype}):item()
end

--- Tensors of few and many elements, with rows apart and transposed, and
-- without dimensions.
local function inputs(dtype)
  st.manual_seed(1)
  local x = st.randn(7, 900):mul(5):to {dtype = dtype}
  return {x[1]:narrow(1, 1, 5):clone(), x, x:narrow(2, 3, 800), x:t(),
          x:select(1, 1):select(1, 1)}
end

-- name, function of a tensor and a number, the same in float32
local UNROUNDED = {
  {"x * n", function(x, n) return x * n end},
  {"n * x", function(x, n) return n * x end},
  {"x / n", function(x, n) return x / n end},
  {"x times a tensor of another dtype", function(x, n)
    return st.mul(x, st.tensor(n, {dtype = "float32"}))
  end, function(x, n) return x * n end},
  {"mul_", function(x, n) return x:clone():mul_(n) end},
  {"out=", function(x, n)
    return st.div(x, n, {out = st.empty(0, {dtype = x.dtype})})
  end, function(x, n) return x / n end},
  {"div, no mode", function(x, n)
    return st.div(x, n, {rounding_mode = st.none})
  end, function(x, n) return x / n end},
  {"floor_divide", function(x, n) return st.floor_divide(x, n) end},
  {"div, trunc", function(x, n)
    return st.div(x, n, {rounding_mode = "trunc"})
  end},
  {"deg2rad", function(x) return st.deg2rad(x) end},
  {"addcmul", function(x, n) return st.addcmul(x, x, x, {value = n}) end},
}

local ROUNDED = {
  {"x + n", function(x, n) return x + n end},
  {"n - x", function(x, n) return n - x end},
  {"alpha of add", function(x, n) return st.add(x, x, {alpha = n}) end},
  {"alpha of rsub", function(x, n) return st.rsub(x, x, {alpha = n}) end},
  {"x % n", function(x, n) return x % n end},
  {"n / x", function(x, n) return n / x end},
  {"an exponent", function(x, n) return x:abs() ^ n end},
  {"lambd of softshrink", function(x, n)
    return st.softshrink(x, math.abs(n))
  end},
  {"lambd of hardshrink", function(x, n)
    return st.hardshrink(x, math.abs(n))
  end},
  {"x < n", function(x, n) return st.lt(x, n) end},
}

local function same(dtype, case, number_of)
  local run, expected = case[2], case[3] or case[2]
  for _, x in ipairs(inputs(dtype)) do
    for _, n in ipairs(NUMBERS) do
      local y = run(x, n)
      local want = expected(in_float32(x), number_of(n)):to {dtype = y.dtype}
      assert.same({lists(want), want:stride()}, {lists(y), y:stride()}, n)
    end
  end
end

describe("A number beside a tensor of a half dtype", function()
  for _, dtype in ipairs {"float16", "bfloat16"} do
    for _, case in ipairs(UNROUNDED) do
      it(("is not rounded: %s, %s"):format(case[1], dtype), function()
        same(dtype, case, function(n) return n end)
      end)
    end
    for _, case in ipairs(ROUNDED) do
      it(("is rounded to %s: %s"):format(dtype, case[1]), function()
        same(dtype, case, function(n) return rounded(n, dtype) end)
      end)
    end

    it("is the same in a fused function and on Meta: " .. dtype, function()
      local function f(x, n) return (x * n + 1) / n end
      local fused = st.fuse(f)
      for _, x in ipairs(inputs(dtype)) do
        for _, n in ipairs(NUMBERS) do
          assert.same(lists(f(x, n)), lists(fused(x, n)))
          local m = x:to {device = "meta"} * n
          assert.same({(x * n):stride(), dtype}, {m:stride(), m.dtype})
        end
      end
    end)

    it("has a gradient that is not rounded: " .. dtype, function()
      local x = inputs(dtype)[1]:requires_grad_();
      (x * 0.3):sum():backward()
      assert.same(lists(st.full_like(x, 0.3):detach()), lists(x.grad))
    end)
  end

  it("must fit the dtype that it is rounded to", function()
    local x = st.tensor({1, -1}, {dtype = "float16"})
    raises("add: argument 'alpha': value 131072 does not fit in float16",
           st.add, x, x, {alpha = 2 ^ 17})
    raises("pow: argument 'exponent': value 100000 does not fit in float16",
           st.pow, x, 1e5)
    raises("softshrink: argument 'lambd': value 100000 does not fit in " ..
           "float16", st.softshrink, x, 1e5)
    -- 2^17 does not fit, 2^17 times 2^-10 does
    assert.same({128, -128}, (x * 2 ^ -10 * 2 ^ 17):totable())
  end)
end)
