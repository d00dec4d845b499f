--- Special functions: gamma and zeta, Bessel, the normal distribution.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local nan, inf, pi = 0 / 0, math.huge, math.pi

local f64, live = tensors.f64, tensors.live
local near = tensors.elements_near

-- -- Values ------------------------------------------------------------------

-- from series in 50 digits
local VALUES = {
  {"i0", {0, 1, -3, 19.5, 21, inf, nan},
   {1, 1.2660658777520083, 4.8807925858650241, 26760525.339838766,
    115513961.92215806, inf, nan}},
  {"special_i0e", {0, 1, -3, 500, inf},
   {1, 0.46575960759364044, 0.2430003541618254, 0.017845706500153167, 0}},
  {"special_i1", {0, 1, -3, 21, 0.001, -inf},
   {0, 0.56515910399248503, -3.9533702174026094, 112729199.13777553,
    0.00050000006250000261, -inf}},
  {"special_i1e", {0, 1, -3, 500},
   {0, 0.20791041534970845, -0.19682671329730085, 0.017827851852898056}},
  {"special_erfcx", {-30, -1, 0, 0.5, 24, 26, 1e9, inf},
   {inf, 5.0089800807622835, 1, 0.61569034419292587, 0.023487546063682641,
    0.021683584850562907, 5.6418958354775629e-10, 0}},
  {"special_log_ndtr", {-inf, -1000, -2, 0, 1, inf},
   {-inf, -500007.82669481218, -3.7831843336820319, -0.69314718055994531,
    -0.17275377902344989, 0}},
  {"special_ndtr", {-inf, -5, 0, 1, inf},
   {0, 2.866515718791939e-07, 0.5, 0.8413447460685429, 1}},
  {"special_ndtri", {0, 1e-20, 0.025, 0.5, 0.975, 1, 2, -1, nan},
   {-inf, -9.2623400897984076, -1.9599639845400542, 0, 1.9599639845400539,
    inf, nan, nan, nan}},
  {"special_entr", {-1, 0, 1, 2, inf, nan},
   {-inf, 0, 0, -1.3862943611198906, -inf, nan}},
}

local ZETA3 = 1.2020569031595942

-- n, x, value
local POLYGAMMAS = {
  {0, 1, -0.5772156649015329}, {1, 1, pi ^ 2 / 6}, {1, 0.5, pi ^ 2 / 2},
  {1, -0.5, pi ^ 2 / 2 + 4}, {2, 1, -2 * ZETA3}, {2, 0.5, -14 * ZETA3},
  {3, 1, pi ^ 4 / 15}, {3, 0.5, pi ^ 4}, {1, 0, inf}, {1, -3, inf},
  {1, inf, 0}, {4, nan, nan}, {1, 1e10, 1.00000000005e-10},
  {10, -4.5, -0.031369304343914058},
}

--- The same where n! overflows or zeta(n + 1, x) underflows (mpmath). An
-- error of x in its last place is one of n in that of the value.
local EXTREME_POLYGAMMAS = {
  {20, 100, -1.3423500975739655e-23}, {30, 1e11, -8.8417619950659663e-300},
  {170, 100, -8.8841193781856054e-36}, {171, 100, 1.5158124172677881e-35},
  {171, 1000, 7.8957036584269071e-207}, {200, 75.5, -0.0028949089276653825},
  {1000, 400.25, -5.1083008058848851e-38},
  {1000, 300, -1.0521717652801775e+88},
  {100000, 36790, -8.6305754173143245e-5},
  {200, -1000.5, -3.2234238694294654e-228}, {200, -60.75, -inf},
  {201, -90.75, inf}, {171, inf, 0}, {1e6, 2, -inf}, {1e6, 1e6, 0},
  {171, nan, nan}, {171, 0, inf}, {171, -3, inf},
}

-- s, q, value
local ZETAS = {
  {2, 1, pi ^ 2 / 6}, {3, 1, ZETA3}, {4, 1, pi ^ 4 / 90}, {1, 1, inf},
  {0.5, 1, nan}, {2, 0, inf}, {2, -3, inf}, {2.5, -0.5, nan},
  {2, -0.5, pi ^ 2 / 2 + 4}, {3, -1.5, 7 * ZETA3 - 8 - 8 / 27},
  {1.5, 1, 2.612375348685488}, {2, 1e18, 1e-18}, {100, 1, 1},
  {1e5, 2, 0}, {inf, 2, 0}, {2, inf, 0}, {nan, 1, nan},
}

-- a, x, the lower and the upper incomplete gamma function (mpmath)
local GAMMAS = {
  {0.5, 0.2, 0.47291074313446193, 0.52708925686553807},
  {1e-10, 0.3, 0.99999999990943233, 9.056766516920478e-11},
  {0.3, 1, 0.91567415624110877, 0.084325843758891234},
  {2.5, 3, 0.6937810815867216, 0.3062189184132784},
  {3, 0.01, 1.6542165280748769e-7, 0.99999983457834719},
  {40, 0.001, 1.2244222982349101e-168, 1},
  {100, 130, 0.99724959163269347, 0.0027504083673065263},
  {100, 20, 3.4888786696896532e-37, 1},
  {1e5, 1e5, 0.50042052211036518, 0.49957947788963482},
  {1e5, 1.02e5, 0.99999999983493939, 1.6506061359362834e-10},
  {0, 1, 1, 0}, {0, 0, nan, nan}, {2, 0, 0, 1}, {2, inf, 1, 0},
  {inf, 2, 0, 1}, {inf, inf, nan, nan}, {-1, 1, nan, nan}, {1, -1, nan, nan},
  {nan, 1, nan, nan}, {1, nan, nan, nan},
}

describe("a special function", function()
  local before = live()

  -- Floats have series of their own, in two ranges that meet at 8.
  it("of Bessel gives floats that are the doubles rounded", function()
    local x = st.cat {st.linspace(-130, 130, 2601), st.linspace(-9, 9, 1801),
                      st.tensor {7.9999995, 8.0000005, 1e-45, 1e30, inf}}
    for _, name in ipairs {"i0", "special_i0e", "special_i1", "special_i1e"} do
      local y = st[name](x:to "float64"):to "float32"
      assert.is_true(st.equal(st.nan_to_num(y), st.nan_to_num(st[name](x))),
                     name)
    end
  end)

  for _, row in ipairs(VALUES) do
    it("is right: " .. row[1], function()
      near(st[row[1]](f64(row[2])), row[3], 2e-14)
      local narrow = st[row[1]](st.tensor(row[2], {dtype = "float32"}))
      assert.equal("float32", tostring(narrow.dtype))
    end)
  end

  it("is right: polygamma", function()
    for _, row in ipairs(POLYGAMMAS) do
      near(st.polygamma(row[1], f64 {row[2]}), {row[3]}, 2e-14)
      near(f64 {row[2]}:polygamma_(row[1]), {row[3]}, 2e-14)
    end
  end)

  it("ends at numbers that are their successors: polygamma", function()
    -- log of n! / x^(n + 1) by Stirling's series: n (log(n / x) - 1)
    local n = 2 ^ 62
    assert.same({-math.huge, 0, 0, -math.huge},
                st.polygamma(n, f64 {2 ^ 60, 2 ^ 61, 2 ^ 62, 2 ^ 53}):totable())
    assert.same({-math.huge, 0},
                st.polygamma(n, st.tensor {2 ^ 60, 2 ^ 61}):totable())
  end)

  it("is right where its factors leave the range: polygamma", function()
    for _, row in ipairs(EXTREME_POLYGAMMAS) do
      near(st.polygamma(row[1], f64 {row[2]}), {row[3]}, 1e-15 * (20 + row[1]))
    end
  end)

  it("is right: zeta", function()
    for _, row in ipairs(ZETAS) do
      near(st.special_zeta(f64 {row[1]}, f64 {row[2]}), {row[3]}, 2e-14)
      near(st.special_zeta(f64 {row[1]}, row[2]), {row[3]}, 2e-14)
      near(st.special_zeta(row[1], f64 {row[2]}), {row[3]}, 2e-14)
    end
  end)

  it("is right: igamma and igammac", function()
    for _, row in ipairs(GAMMAS) do
      local a, x = f64 {row[1]}, f64 {row[2]}
      near(st.igamma(a, x), {row[3]}, 2e-13)
      near(st.igammac(a, x), {row[4]}, 2e-13)
    end
    assert.is_true(st.special_gammainc(f64 {2}, f64 {3}):equal(
                   st.igamma(f64 {2}, f64 {3})))
    local y = f64 {2}
    assert.is_true(y:igammac_(f64 {3}):equal(st.igammac(f64 {2}, f64 {3})))
  end)

  -- The arguments are exact, the values mpmath's; they are within 20 units in
  -- the last place.
  it("keeps its precision far out and near poles and zeros", function()
    for _, row in ipairs {
      {"special_ndtr", 1.076467325879096e-93, -20.5},
      {"special_log_ndtr", -2.1142167446758033e-9, 5.875},
      {"digamma", -126.10271282823237, -5.9921875},
      {"sinc", 0.002596359618570595, 6.015625},
      {"igamma", 1.2357274197924732e-268, 85.25, 0.0234375},
      {"igamma", 3.5057712862835935e-33, 21, 0.25},
      {"igammac", 0.0073970739197748865, 0.0546875, 1.34375},
    } do
      local args = {f64 {row[3]}, row[4] and f64 {row[4]}}
      near(st[row[1]]((unpack or table.unpack)(args)), {row[2]}, 4e-15)
    end
    near(st.special_ndtr(f64 {-38}), {2.8854283600687843e-316}, 1e-7)
    assert.same({0, 0}, st.sinc(f64 {1, -7}):abs():totable())
  end)

  it("is right: xlog1py", function()
    local x, y = f64 {0, 0, 2, -1, 1}, f64 {-1, nan, 0.5, 3, -1}
    near(st.special_xlog1py(x, y), {0, nan, 2 * math.log(1.5),
                                    -math.log(4), -inf}, 1e-15)
    near(st.special_xlog1py(x, 1e-20), {0, 0, 2e-20, -1e-20, 1e-20}, 1e-15)
    near(st.special_xlog1py(0, y), {0, nan, 0, 0, 0}, 0)
  end)

  it("is right: mvlgamma", function()
    local function lgamma(x) return f64(x):lgamma():item() end
    local want = lgamma(4) + lgamma(3.5) + lgamma(3) + 1.5 * math.log(pi)
    near(f64 {4}:mvlgamma(3), {want}, 1e-14)
    near(st.special_multigammaln(f64 {4}, 1), {lgamma(4)}, 1e-15)
    near(f64 {4}:mvlgamma_(3), {want}, 1e-14)
  end)

  it("turns integers into floats", function()
    local t = st.tensor({1, 2}, {dtype = "int64"})
    for _, name in ipairs {"special_i1", "special_ndtr", "special_entr",
                           "special_erfcx"} do
      assert.equal("float32", tostring(st[name](t).dtype))
    end
    assert.equal("float32", tostring(st.polygamma(1, t).dtype))
    assert.equal("float32", tostring(t:mvlgamma(1).dtype))
    assert.equal("float32", tostring(st.special_zeta(t, t).dtype))
  end)

  it("does not depend on the neighbours in a tensor", function()
    local x = st.linspace(-3, 40, 101, {dtype = "float64"})
    for _, name in ipairs {"special_i1", "special_erfcx", "special_ndtri"} do
      local all = st[name](x)
      local strided = st[name](x:as_strided({34}, {3}))
      for i = 1, 34 do
        local a, b = all[3 * i - 2], strided[i]
        assert.is_true(a == b or (a ~= a and b ~= b))
      end
    end
  end)

  it("refuses what it is not for", function()
    assert.error_matches(function() st.polygamma(-1, f64 {1}) end,
                         "polygamma: n must not be negative, it is %-1")
    assert.error_matches(function() f64 {1}:mvlgamma(0) end,
                         "mvlgamma: p must be at least 1, it is 0")
    assert.error_matches(function()
      st.special_i1(st.ones({1}, {dtype = "complex64"}))
    end, "special_i1: not implemented for dtype complex64")
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Two series -------------------------------------------------------------

describe("A Bessel function", function()
  for _, name in ipairs {"i0", "special_i0e", "special_i1", "special_i1e"} do
    it("is the same next to large arguments: " .. name, function()
      for _, dtype in ipairs {"float32", "float16", "bfloat16"} do
        local x = st.linspace(-8, 8, 1000):to(dtype)
        local want, y = st[name](x), x:clone()
        for i = 30, 1000, 64 do y:narrow(1, i, 1):fill_(-50) end
        local got = st[name](y)
        for i = 30, 1000, 64 do
          got:narrow(1, i, 1):copy_(want:narrow(1, i, 1))
        end
        assert.is_true(got:equal(want))
      end
    end)
  end
end)

-- -- Other names -------------------------------------------------------------

-- special name, name
local NAMES = {
  {"expm1", "expm1"}, {"exp2", "exp2"}, {"log1p", "log1p"}, {"sinc", "sinc"},
  {"erf", "erf"}, {"erfc", "erfc"}, {"erfinv", "erfinv"},
  {"gammaln", "lgamma"}, {"digamma", "digamma"}, {"psi", "digamma"},
  {"i0", "i0"}, {"expit", "sigmoid"}, {"logit", "logit"},
}

describe("another name", function()
  local before = live()
  local x = {0.25, 0.5, 0.75}

  for _, row in ipairs(NAMES) do
    it("does the same: special_" .. row[1], function()
      local t, out = f64(x), f64 {0, 0, 0}
      local want = t[row[2]](t):totable()
      assert.same(want, st["special_" .. row[1]](t):totable())
      assert.equal(out, st["special_" .. row[1]](t, {out = out}))
      assert.same(want, out:totable())
    end)
  end

  it("takes the same arguments", function()
    local t = f64 {1.25, 2.5}
    assert.same(t:round {decimals = 1}:totable(),
                st.special_round(t, {decimals = 1}):totable())
    assert.same({1, 2}, st.special_round(t):totable())
    assert.same(t:logit(0.25):totable(), st.special_logit(t, 0.25):totable())
    assert.same(t:softmax(1):totable(), st.special_softmax(t, 1):totable())
    assert.same(t:log_softmax(1, "float32"):totable(),
                st.special_log_softmax(t, 1, {dtype = "float32"}):totable())
    assert.equal(t:logsumexp(1):item(), st.special_logsumexp(t, 1):item())
    assert.same(t:xlogy(t):totable(), st.special_xlogy(t, t):totable())
    assert.same(st.xlogy(2, t):totable(), st.special_xlogy(2, t):totable())
    assert.same(t:xlogy(2):totable(), st.special_xlogy(t, 2):totable())
    assert.same(st.polygamma(2, t):totable(),
                st.special_polygamma(2, t):totable())
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Gradients ---------------------------------------------------------------

-- function, where
local SMOOTH = {
  {"i0", {-2, 0, 0.5, 5}}, {"special_i0e", {-2, 0.5, 25}},
  {"special_i1", {-2, 0, 0.5, 5}}, {"special_i1e", {-2, 0.5, 25}},
  {"special_erfcx", {-2, 0, 3}}, {"special_log_ndtr", {-5, 0, 2}},
  {"special_ndtr", {-2, 0, 2}}, {"special_ndtri", {0.1, 0.5, 0.9}},
  {"special_entr", {0.5, 2}}, {"digamma", {0.5, 3, -1.5}},
}

--- By a difference of fourth order.
local function slope(f, x)
  local h = 1e-3 * math.max(1, math.abs(x))
  local function at(y) return f(f64 {y}):item() end
  return (8 * (at(x + h) - at(x - h)) - (at(x + 2 * h) - at(x - 2 * h))) /
         (12 * h)
end

describe("the gradient of a special function", function()
  local before = live()

  for _, row in ipairs(SMOOTH) do
    it("is its slope: " .. row[1], function()
      local f = st[row[1]]
      for _, x in ipairs(row[2]) do
        local t = f64 {x}:requires_grad_()
        f(t):sum():backward()
        local got, want = t.grad:item(), slope(f, x)
        assert.is_true(math.abs(got - want) <= 1e-8 * math.max(1,
                       math.abs(want)), ("%g at %g: %.17g, %.17g"):format(
                       x, x, got, want))
      end
    end)
  end

  it("is its slope: polygamma and zeta", function()
    for n = 0, 3 do
      local t = f64 {1.5}:requires_grad_()
      st.polygamma(n, t):sum():backward()
      near(t.grad, st.polygamma(n + 1, f64 {1.5}):totable(), 1e-15)
    end
    local q = f64 {1.5}:requires_grad_()
    st.special_zeta(f64 {3}, q):sum():backward()
    near(q.grad, {slope(function(t) return st.special_zeta(3, t) end, 1.5)},
         1e-8)
  end)

  it("of xlog1py is 0 where the logarithm does not count", function()
    local x, y = f64 {0, 2}:requires_grad_(), f64 {-1, 1}:requires_grad_()
    st.special_xlog1py(x, y):sum():backward()
    near(x.grad, {0, math.log(2)}, 1e-15)
    assert.equal(1, y.grad[2])
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
