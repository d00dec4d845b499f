--- Random counts and the distributions that transform a uniform or normal
-- number: chi-square of their frequencies, or quantiles, against the formulas;
-- the numbers of a seed are PyTorch 2.15's.
-- axes: isa
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"

local abs, exp, log, sqrt, tan = math.abs, math.exp, math.log, math.sqrt,
                                 math.tan
local ipairs, pairs, tonumber, tostring = ipairs, pairs, tonumber, tostring

local live, raises = tensors.live, tensors.raises

local N = 200000

local function f64(list) return st.tensor(list, {dtype = "float64"}) end
local function f32(list) return st.tensor(list, {dtype = "float32"}) end

--- log(n!) by summing.
local function log_factorial(n)
  local sum = 0
  for i = 2, n do sum = sum + log(i) end
  return sum
end

local function poisson(rate)
  return function(k) return exp(-rate + k * log(rate) - log_factorial(k)) end
end

local function binomial(n, p)
  return function(k)
    if k > n then return 0 end
    return exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) +
               k * log(p) + (n - k) * log(1 - p))
  end
end

local function geometric(p)
  return function(k) return k < 1 and 0 or p * (1 - p) ^ (k - 1) end
end

--- Compares the frequencies of counts with their probabilities: those that are
-- rare together, the others by chi-square, 5 standard deviations at most.
local function check_counts(t, probability)
  t = t:to "float64"
  assert.is_true(t:eq(t:floor()):all():item())
  assert.is_true(t:ge(0):all():item())
  local counts = t:to "int64":bincount({base = 0}):totable()
  local square, cells, rest, seen = 0, 0, 1, 0
  for k = 0, #counts - 1 do
    local p = probability(k)
    if p * N >= 10 then
      local count = tonumber(counts[k + 1])
      square = square + (count - p * N) ^ 2 / (p * N)
      cells, rest, seen = cells + 1, rest - p, seen + count
    end
  end
  assert.is_true(cells > 2)
  assert.is_true(abs(square - cells) <= 5 * sqrt(2 * cells),
                 ("chi-square %g of %d cells"):format(square, cells))
  assert.is_true(abs(N - seen - rest * N) <= 5 * sqrt(abs(rest) * N) + 1)
end

local function check_below(t, quantiles)
  for p, x in pairs(quantiles) do
    local share = t:lt(x):to "float64":mean():item()
    assert.is_true(abs(share - p) <= 5 * sqrt(p * (1 - p) / N),
                   ("%g below %g, not %g"):format(share, x, p))
  end
end

local function full(x, dtype) return st.full({N}, x, {dtype = dtype}) end

describe("Random counts:", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(31)
  end)
  teardown(function() assert.equal(before, live()) end)

  for _, rate in ipairs {0.3, 4, 9.99, 10, 57.5, 3000} do
    it("poisson of rate " .. rate, function()
      check_counts(st.poisson(full(rate, "float64")), poisson(rate))
    end)
  end

  for _, row in ipairs {{7, 0.25}, {1000, 0.004}, {60, 0.3}, {500, 0.5},
                        {12, 0.9}, {90, 0.75}, {5000, 0.999}} do
    it(("binomial of %d trials, %g"):format(row[1], row[2]), function()
      check_counts(st.binomial(full(row[1], "float64"),
                               full(row[2], "float64")),
                   binomial(row[1], row[2]))
    end)
  end

  for _, p in ipairs {0.2, 0.5, 0.85} do
    it("geometric_ of probability " .. p, function()
      for _, dtype in ipairs {"float32", "int64"} do
        check_counts(st.empty({N}, {dtype = dtype}):geometric_(p),
                     geometric(p))
      end
    end)
  end

  it("have the limits of their parameters", function()
    assert.same({0, 0, 5},
                st.binomial(f64 {0, 5, 5}, f64 {0.5, 0, 1}):totable())
    assert.same({0}, st.poisson(f64 {0}):totable())
    local b = st.binomial(f64 {{3}, {4}}, f64 {1, 0})
    assert.same({{3, 0}, {4, 0}}, b:totable())
    assert.equal("float16", tostring(st.poisson(st.ones({2}, {
      dtype = "float16"})).dtype))
  end)

  it("cauchy_ and log_normal_ have their quantiles", function()
    local pi = math.pi
    for _, dtype in ipairs {"float32", "float64"} do
      local quantiles, logs = {}, {}
      for _, p in ipairs {0.02, 0.25, 0.5, 0.75, 0.98} do
        quantiles[p] = 3 + 2 * tan(pi * (p - 0.5))
      end
      check_below(st.empty({N}, {dtype = dtype}):cauchy_(3, 2), quantiles)
      for p, z in pairs {[0.025] = -1.959964, [0.5] = 0, [0.975] = 1.959964} do
        logs[p] = exp(-1 + 0.5 * z)
      end
      check_below(st.empty({N}, {dtype = dtype}):log_normal_(-1, 0.5), logs)
    end
  end)

  it("multinomial draws indices by their weights", function()
    local weights = f32 {1, 0, 3, 4, 0}
    local again = st.multinomial(weights, N, true)
    local counts = again:bincount():totable()
    for i, p in ipairs {1 / 8, 0, 3 / 8, 1 / 2} do
      assert.is_true(abs(counts[i] - p * N) <= 5 * sqrt(p * N), i)
    end
    assert.equal(4, #counts) -- from position 1 to 4
    local first = st.multinomial(weights:expand(N, 5), 1):view(-1)
    counts = first:bincount():totable()
    for i, p in ipairs {1 / 8, 0, 3 / 8, 1 / 2} do
      assert.is_true(abs(counts[i] - p * N) <= 5 * sqrt(p * N), i)
    end
  end)

  it("multinomial without replacement draws each index once", function()
    local t = st.multinomial(st.rand(300, 7), 7)
    assert.is_true(t:sort():equal(st.arange(1, 8):expand(300, 7)))
    local p = f64 {0.5, 0.3, 0.2}:expand(N, 3)
    local second = st.multinomial(p, 2):select(2, 2)
    -- 1 is second after 2 or 3
    local want = 0.3 * 0.5 / 0.7 + 0.2 * 0.5 / 0.8
    local share = second:eq(1):to "float64":mean():item()
    assert.is_true(abs(share - want) <= 5 * sqrt(want * (1 - want) / N))
  end)

  it("take a generator, out= and Meta", function()
    local function draw(g)
      return st.multinomial(f32 {1, 2, 3}, 20, true, {generator = g})
    end
    assert.is_true(draw(st.Generator(5)):equal(draw(st.Generator(5))))
    local out = st.empty({4}, {dtype = "int64"})
    st.multinomial(f32 {1, 2, 3}, 4, true, {out = out,
                                            generator = st.Generator(1)})
    assert.is_true(out:ge(1):all():item() and out:le(3):all():item())
    local meta = st.multinomial(st.ones({2, 3}, {device = "meta"}), 2)
    assert.equal(st.Size {2, 2}, meta.shape)
    assert.equal("meta", tostring(st.poisson(meta:to "float32").device))
  end)

  it("a seed gives PyTorch's numbers", function()
    local function seeded(draw)
      st.manual_seed(3)
      return draw():totable()
    end
    assert.same({1, 2, 4, 2, 4, 4, 2, 3, 3, 4}, seeded(function()
      return st.multinomial(f32 {1, 2, 3, 4}, 10, true)
    end))
    assert.same({1, 4, 2, 3}, seeded(function()
      return st.multinomial(f32 {1, 2, 3, 4}, 4)
    end))
    assert.same({0, 2, 24, 970}, seeded(function()
      return st.poisson(f32 {0.5, 3, 20, 1000})
    end))
    assert.same({3, 2, 703}, seeded(function()
      return st.binomial(f32 {10, 100, 1000}, f32 {0.5, 0.01, 0.7})
    end))
    -- PyTorch takes float32(1000) * float32(0.01) for 10
    assert.same({13, 13, 991, 6, 3, 1}, seeded(function()
      return st.binomial(f32 {1000, 1000, 1000, 1000, 30, 10},
                         f32 {0.01, 0.01, 0.99, 0.01, 0.1, 0.3})
    end))
    assert.same({10, 4, 1, 5, 1}, seeded(function()
      return st.empty(5):geometric_(0.3)
    end))
    for dtype, row in pairs {
      float32 = {0.017351727932691574, 0.1689547896385193, 0.7412153482437134,
                 0.09614172577857971, 0.7040039300918579},
      float64 = {0.017351727410758706, 0.16895479326183505, 0.7412153185467434,
                 0.09614172360143163, 0.7040039446700539},
    } do
      local got = seeded(function()
        return st.empty({5}, {dtype = dtype}):exponential_(2)
      end)
      for i, x in ipairs(row) do
        assert.is_true(abs(got[i] / x - 1) < 1e-15)
      end
    end
    local cauchy = seeded(function() return st.empty(5):cauchy_() end)
    for i, x in ipairs {-9.2966, -0.7922, 1.1554, -1.6327, 1.0343} do
      assert.is_true(abs(cauchy[i] - x) < 1e-4)
    end
    local logs = seeded(function() return st.empty(5):log_normal_() end)
    for i, x in ipairs {13.5522, 3.8561, 3.2477, 0.7966, 2.9813} do
      assert.is_true(abs(logs[i] - x) < 1e-4)
    end
  end)

  for i, row in ipairs {
    {function() st.poisson(f64 {-1}) end,
     {"poisson: ", "self must be finite and not negative", "-1"}},
    {function() st.poisson(f64 {1 / 0}) end, {"poisson: ", "finite", "inf"}},
    {function() st.poisson(f64 {0 / 0}) end, {"poisson: ", "nan"}},
    {function() st.poisson(tensors.i64 {1}) end, {"poisson: ", "int64"}},
    {function() st.binomial(f64 {-1}, f64 {0.5}) end, {"count must be", "-1"}},
    {function() st.binomial(f64 {1}, f64 {1.5}) end,
     {"prob must be from 0 to 1", "1.5"}},
    {function() st.binomial(f64 {1}, f32 {0.5}) end,
     {"binomial: ", "count is float64, but prob is float32"}},
    {function() st.binomial(f64 {1, 2}, f64 {0.5, 0.5, 0.5}) end,
     {"binomial: ", "broadcast"}},
    {function() st.empty(1):cauchy_(0, 0) end, {"cauchy_: ", "sigma", "0"}},
    {function() st.empty(1):log_normal_(0, -1) end, {"log_normal_: ", "std"}},
    {function() st.empty(1):geometric_(1) end, {"geometric_: ", "p must be"}},
    {function() st.multinomial(f32 {1, 2}, 3) end,
     {"multinomial: ", "num_samples must be positive, and at most", "3"}},
    {function() st.multinomial(f32 {1, 2}, 0, true) end,
     {"multinomial: ", "num_samples must be positive"}},
    {function() st.multinomial(f32 {1, -2}, 1) end,
     {"multinomial: ", "finite and not negative"}},
    {function() st.multinomial(f32 {0, 0}, 1) end,
     {"multinomial: ", "the sum of a row of self is 0"}},
    {function() st.multinomial(st.ones(1, 2, 3), 1) end,
     {"multinomial: ", "1 or 2 dimensions", "[1, 2, 3]"}},
  } do
    it("refuse what is no distribution: row " .. i, function()
      raises(row[2], row[1])
    end)
  end
end)
