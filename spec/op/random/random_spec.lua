--- Random numbers against their distributions, within what so many of them
-- may be off: five standard deviations of each estimate.
-- axes: isa
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"
local words_of = require "spec.support.words"

local has_ffi, ffi = pcall(require, "ffi")

local log, sqrt = math.log, math.sqrt

local live, raises = tensors.live, tensors.raises

local N = 200000

--- An estimate from N numbers whose standard deviation, for one number, is
-- `deviation`.
local function about(want, got, deviation)
  local off = math.abs(got - want)
  assert.is_true(off <= 5 * deviation / sqrt(N),
                 ("%.6g, should be about %.6g"):format(got, want))
end

local function mean(t) return t:mean():item() end

describe("exponential_", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(20)
  end)

  for _, dtype in ipairs {"float32", "float64"} do
    for _, rate in ipairs {0.25, 1, 3} do
      -- the k-th moment is k! / rate ^ k; p of the numbers are below
      -- -log(1 - p) / rate
      it(("has moments and quantiles, %s, rate %g"):format(dtype, rate),
         function()
        local t = st.empty({N}, {dtype = dtype})
        assert.equal(t, t:exponential_(rate))
        t = t:to "float64"
        assert.is_true(t:ge(0):all():item())
        assert.is_true(t:isfinite():all():item())
        about(1 / rate, mean(t), 1 / rate)
        about(2 / rate ^ 2, mean(t:square()), sqrt(24 - 4) / rate ^ 2)
        about(6 / rate ^ 3, mean(t:pow(3)), sqrt(720 - 36) / rate ^ 3)
        for _, p in ipairs {0.01, 0.25, 0.5, 0.9, 0.999} do
          about(p, mean(t:lt(-log(1 - p) / rate):to "float64"),
                sqrt(p * (1 - p)))
        end
      end)
    end
  end

  it("draws every number apart from the one before it", function()
    local t = st.empty({N + 1}, {dtype = "float64"}):exponential_()
    about(0, mean((t:narrow(1, 1, N) - 1) * (t:narrow(1, 2, N) - 1)), 1)
  end)

  it("repeats from a seed, and takes a rate of 1 if none is said", function()
    local function draw(...)
      return st.empty(10):exponential_(..., {generator = st.Generator(7)})
    end
    assert.is_true(draw(1):equal(draw(1)))
    assert.is_true(draw(1):equal(st.empty(10):exponential_ {
      generator = st.Generator(7)}))
  end)

  it("needs a positive rate and a floating point dtype", function()
    for _, rate in ipairs {0, -1, 0 / 0} do
      raises({"exponential_: ", "lambd"}, st.exponential_, st.empty(2), rate)
    end
    raises({"exponential_: ", "int64"}, st.exponential_, tensors.i64 {1})
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

describe("randn_like", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(20)
  end)

  for _, dtype in ipairs {"float32", "float64"} do
    -- the second and the fourth moment are 1 and 3; 0.975 of the numbers are
    -- below 1.959964
    it("has the moments of the normal distribution, " .. dtype, function()
      local like = st.zeros({N / 2, 2}, {dtype = dtype})
      local t = st.randn_like(like)
      assert.same({N / 2, 2}, tensors.lists(t.shape))
      assert.equal(dtype, tostring(t.dtype))
      assert.equal(0, like:abs():sum():item())
      t = t:to "float64"
      about(0, mean(t), 1)
      about(1, mean(t:square()), sqrt(3 - 1))
      about(0, mean(t:pow(3)), sqrt(15))
      about(3, mean(t:pow(4)), sqrt(105 - 9))
      about(0.5, mean(t:lt(0):to "float64"), 0.5)
      about(0.975, mean(t:lt(1.959964):to "float64"), sqrt(0.975 * 0.025))
    end)
  end

  it("draws what randn draws for that shape and dtype", function()
    local like = st.zeros({3, 4}, {dtype = "float64"})
    st.manual_seed(7)
    local want = st.randn({3, 4}, {dtype = "float64"})
    st.manual_seed(7)
    assert.is_true(st.randn_like(like):equal(want))
  end)

  it("needs a floating point dtype", function()
    raises({"randn_like: ", "int64"}, st.randn_like, tensors.i64 {1})
  end)

  it("refuses a generator that was finalized", function()
    local dead = st.Generator()
    debug.getmetatable(dead).__gc(dead)
    raises({"rand: ", "'generator': the Generator has no data"},
           st.rand, 2, {generator = dead})
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Other distributions ------------------------------------------------------

--- The numbers from lo up to hi.
local function uniform(lo, hi)
  local width = hi - lo
  return {lo = lo, hi = hi, mean = lo + width / 2, variance = width ^ 2 / 12,
          fourth = width ^ 4 / 80,
          below = {[lo + 0.01 * width] = 0.01, [lo + 0.5 * width] = 0.5,
                   [lo + 0.9 * width] = 0.9}}
end

--- The fourth moment is 3 standard deviations to the power of 4; 0.975 of the
-- numbers are less than 1.959964 standard deviations beyond the mean.
local function normal(mu, deviation)
  return {mean = mu, variance = deviation ^ 2, fourth = 3 * deviation ^ 4,
          below = {[mu] = 0.5, [mu + 1.959964 * deviation] = 0.975,
                   [mu - 1.959964 * deviation] = 0.025}}
end

local function empty(dtype) return st.empty({N}, {dtype = dtype}) end

-- call, function of a dtype that draws N numbers, their distribution
local CONTINUOUS = {
  {"rand", function(dtype) return st.rand({N}, {dtype = dtype}) end,
   uniform(0, 1)},
  {"rand_like", function(dtype) return st.rand_like(empty(dtype)) end,
   uniform(0, 1)},
  {"uniform_", function(dtype) return empty(dtype):uniform_() end,
   uniform(0, 1)},
  {"uniform_ from -3 to 5", function(dtype)
    return empty(dtype):uniform_(-3, 5)
  end, uniform(-3, 5)},
  {"randn", function(dtype) return st.randn({N}, {dtype = dtype}) end,
   normal(0, 1)},
  {"normal_", function(dtype) return empty(dtype):normal_() end,
   normal(0, 1)},
  {"normal_ with mean 10 and deviation 0.5", function(dtype)
    return empty(dtype):normal_(10, 0.5)
  end, normal(10, 0.5)},
  {"normal with mean -2 and deviation 3", function(dtype)
    return st.normal(-2, 3, {N}, {dtype = dtype})
  end, normal(-2, 3)},
}

-- call, function that draws N integers, the least and the greatest one, which
-- are as likely as each of those between
local INTEGERS = {
  {"randint(4)", function() return st.randint(4, {N}) end, 0, 3},
  {"randint(-2, 5)", function() return st.randint(-2, 5, {N}) end, -2, 4},
  {"randint_like(3)", function()
    return st.randint_like(empty "int32", 3)
  end, 0, 2},
  {"randint_like(-1, 2)", function()
    return st.randint_like(empty "float32", -1, 2)
  end, -1, 1},
  {"random_(6)", function() return empty "int16":random_(6) end, 0, 5},
  {"random_(-7, -2)", function() return empty "int8":random_(-7, -2) end,
   -7, -3},
  {"random_() of int8", function() return empty "int8":random_() end, 0, 127},
  {"random_() of bool", function() return empty "bool":random_() end, 0, 1},
}

describe("Random numbers:", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(20)
  end)

  for _, row in ipairs(CONTINUOUS) do
    for _, dtype in ipairs {"float32", "float64"} do
      it(("the moments and quantiles of %s, %s"):format(row[1], dtype),
         function()
        local t, want = row[2](dtype), row[3]
        assert.equal(dtype, tostring(t.dtype))
        t = t:to "float64"
        if want.lo then assert.is_true(t:ge(want.lo):all():item()) end
        if want.hi then assert.is_true(t:lt(want.hi):all():item()) end
        local deviation = sqrt(want.variance)
        about(want.mean, mean(t), deviation)
        about(want.variance, mean((t - want.mean):square()),
              sqrt(want.fourth - want.variance ^ 2))
        for x, p in pairs(want.below) do
          about(p, mean(t:lt(x):to "float64"), sqrt(p * (1 - p)))
        end
        local centred = (t - want.mean) / deviation
        local first = centred:narrow(1, 1, N - 1)
        about(0, mean(first * centred:narrow(1, 2, N - 1)), 1)
      end)
    end
  end

  it("those below 1 do not round up to 1", function()
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local t = st.rand({N}, {dtype = dtype})
      assert.is_true(t:ge(0):all():item())
      assert.is_true(t:lt(1):all():item())
    end
  end)

  for _, row in ipairs(INTEGERS) do
    it(row[1] .. " gives each integer as often", function()
      local t, n = row[2]():to "int64", row[4] - row[3] + 1
      local counts = (t - row[3]):bincount({base = 0}):totable()
      assert.equal(n, #counts)
      for _, count in ipairs(counts) do
        about(1 / n, tonumber(count) / N, sqrt((1 - 1 / n) / n))
      end
    end)
  end

  it("bernoulli is 1 with the probability that it is told", function()
    for _, p in ipairs {0, 0.125, 0.5, 1} do
      for _, t in ipairs {empty "float32":bernoulli_(p),
                          empty "int64":bernoulli_(p),
                          st.full({N}, p, {dtype = "float32"}):bernoulli()} do
        assert.is_true((t * (t - 1)):eq(0):all():item())
        about(p, mean(t:to "float64"), sqrt(p * (1 - p)))
      end
    end
  end)

  it("bernoulli_ takes a probability for each element", function()
    local p = st.tensor {0, 0.25, 0.75, 1}
    local t = st.empty({N, 4}):bernoulli_(p:expand(N, 4))
    for i, q in ipairs(p:totable()) do
      about(q, mean(t:select(2, i)), sqrt(q * (1 - q)))
    end
  end)

  it("randperm gives every permutation as often", function()
    local counts, total, n = {}, 0, 6000
    for _ = 1, n do
      local order = table.concat(st.randperm(3):totable(), " ")
      counts[order] = (counts[order] or 0) + 1
    end
    for _, order in ipairs {"1 2 3", "1 3 2", "2 1 3", "2 3 1", "3 1 2",
                            "3 2 1"} do
      assert.is_true(math.abs(counts[order] - n / 6) <=
                     5 * sqrt(n * (1 / 6) * (5 / 6)), order)
      total = total + counts[order]
    end
    assert.equal(n, total)
    local long = st.randperm(1000)
    assert.is_true(long:sort():equal(st.arange(1, 1001)))
    assert.is_false(long:equal(st.arange(1, 1001)))
  end)

  for i, row in ipairs {
    {function() st.empty(1):uniform_(2, 1) end, {"uniform_: ", "2 to 1"}},
    {function() st.empty(1):normal_(0, -1) end, {"normal_: ", "std", "-1"}},
    {function() st.empty(1):bernoulli_(2) end, {"bernoulli_: ", "p", "2"}},
    {function() st.tensor({2.5}):bernoulli() end,
     {"bernoulli: ", "probabilities must be between 0 and 1"}},
    {function() tensors.i64 {1}:bernoulli() end, {"bernoulli: ", "int64"}},
    {function() tensors.i64 {1}:uniform_() end, {"uniform_: ", "int64"}},
    {function() tensors.i64 {1}:normal_() end, {"normal_: ", "int64"}},
    {function() st.empty(1):random_(2, 1) end, {"random_: ", "[2, 1)"}},
    {function() st.randint(0, {1}) end, {"randint: ", "[0, 0)"}},
    {function() st.randperm(-1) end, {"randperm: ", "n", "-1"}},
  } do
    it("refuses what is no distribution: row " .. i, function()
      raises(row[2], row[1])
    end)
  end

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- From words to numbers ----------------------------------------------------

describe("a seed", function()
  local before
  setup(function() before = live() end)

  local function seeded() return {generator = st.Generator(11)} end
  local function words(n) return words_of(seeded().generator, n) end

  it("gives the numbers of MT19937", function()
    -- the first of the reference implementation with seed 5489, and the
    -- 10000th, which the C++ standard requires
    local t = words_of(st.Generator(5489), 10000)
    assert.equal(3499211612, t:select(1, 1):item())
    assert.equal(4123659995, t:select(1, 10000):item())
  end)

  it("gives the same numbers in pieces", function()
    local whole, g = st.empty(3000):uniform_(seeded()), seeded()
    local at = 1
    for _, n in ipairs {1, 622, 3, 624, 625, 1000, 125} do
      local piece = st.empty(n):uniform_(g)
      assert.is_true(piece:equal(whole:narrow(1, at, n)))
      at = at + n
    end
    assert.equal(3001, at)
  end)

  -- rates, shapes and probabilities for which a number takes few or many words
  local a = st.linspace(0.05, 21, 3000, {dtype = "float64"})
  local share = st.linspace(0, 1, 3000, {dtype = "float64"})
  for name, draw in pairs {
    _standard_gamma = function(at, n, g)
      return st._standard_gamma(a:narrow(1, at, n), g)
    end,
    poisson = function(at, n, g) return st.poisson(a:narrow(1, at, n), g) end,
    binomial = function(at, n, g)
      local count = st.full({n}, 60, {dtype = "float64"})
      return st.binomial(count, share:narrow(1, at, n), g)
    end,
    log_normal_ = function(_, n, g)
      return st.empty({n}, {dtype = "float64"}):log_normal_(0, 1,
                                                            {generator = g})
    end,
  } do
    it("gives the same numbers in pieces, " .. name, function()
      for offset = 0, 1 do
        local g, h = seeded().generator, seeded().generator
        for _, generator in ipairs {g, h} do
          st.empty(offset):uniform_ {generator = generator}
        end
        local whole, at = draw(1, 3000, h), 1
        for _, n in ipairs {1, 2, 31, 33, 127, 129, 500, 1177, 1000} do
          assert.is_true(draw(at, n, g):equal(whole:narrow(1, at, n)), n)
          at = at + n
        end
        assert.equal(3001, at)
        assert.is_true(g:get_state():equal(h:get_state()))
      end
    end)
  end

  it("gives the same numbers whatever the strides are", function()
    for _, draw in ipairs {"uniform_", "bernoulli_", "exponential_",
                           "random_"} do
      local flat = st.empty({40, 700})
      flat[draw](flat, seeded())
      local wide = st.zeros({42, 1500}):narrow(1, 2, 40):narrow(2, 51, 1400)
      local gaps = wide:view(40, 700, 2):select(3, 1)
      gaps[draw](gaps, seeded())
      assert.is_true(gaps:equal(flat), draw)
    end
  end)

  it("gives the remainders of its words as integers", function()
    local w = words(2000)
    for _, n in ipairs {1, 2, 3, 7, 100, 641, 65537, 2 ^ 27 - 1, 2 ^ 27,
                        2 ^ 27 + 1, 2 ^ 28 - 2, 2 ^ 28 - 1} do
      local t = st.empty({2000}, {dtype = "int64"}):random_(0, n, seeded())
      assert.is_true(t:to "float64":equal(w:remainder(n)), "below " .. n)
    end
  end)

  it("gives the remainders of pairs of words as large integers", function()
    local w = words(400)
    local high, low = w:view(200, 2):select(2, 1), w:view(200, 2):select(2, 2)
    for _, n in ipairs {2 ^ 28, 2 ^ 28 + 1, 2 ^ 31 - 1, 2 ^ 32 - 1, 2 ^ 32 + 1,
                        3e12, 2 ^ 45, 2 ^ 51 - 1} do
      local want = high:fmod(n)
      for _ = 1, 32 do want = (want * 2):fmod(n) end
      want = (want + low):fmod(n)
      local t = st.empty({200}, {dtype = "int64"}):random_(0, n, seeded())
      assert.is_true(t:to "float64":equal(want), "below " .. n)
    end
  end)

  it("gives 1 where a uniform number is below the probability", function()
    local u = st.empty({2000}, {dtype = "float64"}):uniform_(seeded())
    local first = u:select(1, 1):item()
    for _, p in ipairs {0, 1e-300, 0.3, first, first + 2 ^ -53, 1} do
      local t = st.empty({2000}, {dtype = "bool"}):bernoulli_(p, seeded())
      assert.is_true(t:equal(u:lt(p)), "p " .. p)
    end
  end)

  -- the functions of other C libraries may be less exact
  local glibc = has_ffi and ffi.os == "Linux"

  it("gives normal numbers by the C library's functions", function()
    if not glibc then return end
    ffi.cdef "float logf(float); float cosf(float); float sinf(float);"
    local function single(x) return tonumber(ffi.cast("float", x)) end
    local u = st.empty(N):uniform_(seeded()):totable()
    local t = st.empty(N):normal_(seeded()):totable()
    for i = 1, N do
      local j = (i - 1) % 16
      local k = j < 8 and i or i - 8
      local theta = single(2 * math.pi * u[k + 8])
      local radius = single(sqrt(single(-2 * ffi.C.logf(1 - u[k]))))
      local side = j < 8 and ffi.C.cosf(theta) or ffi.C.sinf(theta)
      if t[i] ~= single(radius * side) then
        assert.equal(single(radius * side), t[i], "number " .. i)
      end
    end
  end)

  it("gives functions of uniform numbers", function()
    local function draw(name, ...)
      local t = st.empty({3000}, {dtype = "float64"})
      return t[name](t, ...):totable()
    end
    local u = draw("uniform_", seeded())
    local function check(want, name, ...)
      for i, x in ipairs(draw(name, ...)) do
        local y = want(i)
        assert.is_true(math.abs(x - y) <= 4e-16 * math.abs(y), name .. " " .. i)
      end
    end
    check(function(i) return -log(1 - u[i]) / 3 end, "exponential_", 3,
          seeded())
    check(function(i) return math.ceil(log(u[i]) / log(0.25)) end, "geometric_",
          0.75, seeded())
    check(function(i) return math.tan(math.pi * (u[i] - 0.5)) end, "cauchy_",
          0, 1, seeded())
    local function check_normal(x, i, is_first, u1, u2, error)
      local theta = 2 * math.pi * u1
      local y = sqrt(-2 * log(1 - u2)) *
                (is_first and math.cos(theta) or math.sin(theta))
      assert.is_true(math.abs(x - y) <= error * math.abs(y), "normal_ " .. i)
    end
    local gaps = st.empty({3000, 2}, {dtype = "float64"}):select(2, 1)
    for i, x in ipairs(gaps:normal_(seeded()):totable()) do
      local k = i % 2 == 1 and i or i - 1
      check_normal(x, i, i == k, u[k], u[k + 1], 6e-16)
    end
    local dense = draw("normal_", seeded())
    for i = 1, 2976 do -- whole blocks
      local k = (i - 1) % 16 < 8 and i or i - 8
      check_normal(dense[i], i, i == k, u[k + 8], u[k], glibc and 0 or 6e-16)
    end
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
