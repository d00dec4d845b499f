--- Random numbers against their distributions, within what so many of them
-- may be off: five standard deviations of each estimate.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

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

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
