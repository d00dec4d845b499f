--- Sums are at least as close to the exact ones as PyTorch's (V1 to V6), of
-- smaller tensors where they would take long, and those of integers are exact.
-- axes: isa threads

local st = require "strided"

-- what, how to make it, its exact sum, the smallest of PyTorch's errors with
-- one thread and with two
local ROWS = {
  {"2^20 times 0.1", function() return st.full({2 ^ 20}, 0.1):sum():item() end,
   104857.6015625, 104857.6171875 - 104857.6015625},
  {"every second of 2^21 times 0.1", function()
    return st.full({2 ^ 21}, 0.1):slice(1, 1, 2 ^ 21, 2):sum():item()
  end, 104857.6015625, 104857.6015625 - 104857.5703125},
  {"the columns of 2^18 x 4 times 0.1", function()
    return st.full({2 ^ 18, 4}, 0.1):sum(1)[4]
  end, 26214.400390625, 26214.400390625 - 26214.384765625},
  {"1.01 expanded to 1000 x 1000", function()
    return st.full({1}, 1.01):expand({1000, 1000}):sum():item()
  end, 1009999.9904632568, 1010000.1875 - 1009999.9904632568},
  {"what cancels out", function()
    return (st.arange(4096000):to "float32" - 2048000 + 0.5):sum():item()
  end, 0, 0},
  {"random numbers", function()
    st.manual_seed(0)
    return st.rand({1000003}):sum():item()
  end, 500269.6535511613, 500269.65625 - 500269.6535511613},
}

describe("The sum of", function()
  local threads
  setup(function() threads = st.get_num_threads() end)
  teardown(function() st.set_num_threads(threads) end)

  for _, row in ipairs(ROWS) do
    local what, sum, exact, bound = row[1], row[2], row[3], row[4]
    for n = 1, 2 do
      it(("%s is as close as PyTorch's, %d threads"):format(what, n),
         function()
        st.set_num_threads(n)
        assert.is_true(math.abs(sum() - exact) <= bound)
      end)
    end
  end

  it("float64 loses little more than its result's rounding", function()
    local t = st.full({2 ^ 20 + 1}, 0.1, {dtype = "float64"})
    local exact = 0.1 * (2 ^ 20 + 1)
    assert.is_true(math.abs(t:sum():item() - exact) <= exact * 2 ^ -50)
  end)

  it("halves is that of float32, rounded once", function()
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local t = st.full({5000}, 0.1, {dtype = dtype})
      local exact = t:to "float64":sum():to(dtype)
      assert.is_true(t:sum():equal(exact))
      assert.is_true(t:view {50, 100}:sum(1):equal(
        t:to "float64":view {50, 100}:sum(1):to(dtype)))
    end
  end)

  it("integers is exact, and wraps", function()
    local most = st.full({3}, 2 ^ 62, {dtype = "int64"})
    assert.equal("-4611686018427387904", (tostring(most:sum():item())
                                          :gsub("LL$", "")))
    assert.equal(127 * 40000, st.full({200, 200}, 127, {dtype = "int8"})
                              :t():sum():item())
  end)
end)

describe("Extrema", function()
  local nan = 0 / 0
  local SIZES = {{5}, {1000}, {40, 70}, {70000}}

  for _, name in ipairs {"amax", "amin", "argmax", "argmin"} do
    it("find NaN wherever it is: " .. name, function()
      for _, dtype in ipairs {"float16", "bfloat16", "float32", "float64"} do
        for _, size in ipairs(SIZES) do
          local t = st.zeros(size, {dtype = dtype}):view(-1)
          for _, at in ipairs {1, math.floor(t:numel() / 2), t:numel()} do
            t:zero_()[at] = nan
            local got = t[name](t:view(size)):item()
            if name:find "arg" then assert.equal(at, tonumber(got))
            else assert.is_true(got ~= got) end
          end
        end
      end
    end)
  end
end)
